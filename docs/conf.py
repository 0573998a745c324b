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

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "site_parts",
]
exclude_patterns = ["_made", "_site"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "furo"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0072b2",
        "color-brand-content": "#0072b2",
        "sidebar-item-spacing-vertical": "0.25rem",
    },
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
html_logo = html_favicon = "../src/unbribable/page/static/icon.svg"
html_show_sourcelink = html_show_copyright = False

# what is copied is what is typed: not what was printed
copybutton_selector = ", ".join(
    f"div.highlight-{kind} pre"
    for kind in ("python", "sh", "none:not(.highlight-python + .highlight-none)")
)
highlight_language = "none"  # of blocks that name none: commands, and what was printed

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_inherit_docstrings = True
autosummary_generate = True
# files of one name but for capitals are one file on some systems
autosummary_filename_map = {"unbribable.Audit": "unbribable.Audit-class"}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
