"""The site (`make docs`): Markdown pages, the reference from docstrings, code run while it is built."""

import sys
from pathlib import Path

import unbribable as ub

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "unbribable"
author = "The unbribable authors"
release = ub.__version__
html_title = f"unbribable {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_parts"]
exclude_patterns = ["_made", "_site"]
html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
html_show_sourcelink = html_show_copyright = False

myst_heading_anchors = 4

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_inherit_docstrings = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
