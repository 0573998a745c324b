"""What the site needs beyond Sphinx: blocks that run, help of commands, parts of README, dark twins."""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from site_text import ELSEWHERE, HERE, KEPT, ROOT, as_page, darken, folded, led
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

MADE = HERE / "_made"
TAG = re.compile(r"\b(Alg|App|Cor|Eq|Fig|Lem|Prop|Sec|Thm)\. (?=\w)")
"""What an abbreviation of a source's part looks like: no end of a sentence."""


def output_of_shell(text: str, folder: Path) -> str:
    """What the commands print, run in `folder` with this Python's programs first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-eu", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} of:\n{text}\n{done.stdout}")
    return done.stdout


def output_of_python(text: str, namespace: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """What the code prints, and the value of its last line if that is an expression.

    Names live on in `namespace`.
    """
    tree, printed, value = ast.parse(text), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(tree, "<page>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)
    return printed.getvalue(), value


class Run(SphinxDirective):
    """Runs a block while the site is built, and shows it with what it printed and drew.

    The blocks of a page share their names (Python) and their folder (both languages). The last line of a
    block shows its value, a figure as a picture, as in a notebook.
    """

    required_arguments = 1  # python or sh
    option_spec: ClassVar = {"alt": directives.unchanged}  # what the picture shows
    has_content = True

    def run(self) -> list[nodes.Node]:
        language, text = self.arguments[0], "\n".join(self.content)
        page = self.env.temp_data.setdefault("run", {"namespace": {"__name__": "page"}, "n": 0})
        if "folder" not in page:
            page["keep"] = tempfile.TemporaryDirectory()
            page["folder"] = Path(page["keep"].name)
        if language == "python":
            printed, value = output_of_python(text, page["namespace"], page["folder"])
        else:
            printed, value = output_of_shell(text, page["folder"]), None
        made: list[nodes.Node] = [nodes.literal_block(text, text, language=language)]
        is_drawn = hasattr(value, "savefig")
        if value is not None and not is_drawn:
            printed += f"{value}\n"
        if printed.strip():
            made.append(nodes.literal_block(printed, folded(printed), language="text"))
        if is_drawn:
            made.append(self.picture(page, value))
        return made

    def picture(self, page: dict[str, Any], figure: Any) -> nodes.Node:
        """The figure, in a file."""
        MADE.mkdir(exist_ok=True)
        page["n"] += 1
        name = f"{self.env.docname.replace('/', '-')}-{page['n']}.png"
        figure.savefig(MADE / name, dpi=150)
        return nodes.image(uri=f"/_made/{name}", alt=self.options.get("alt", ""))


class Command(SphinxDirective):
    """The help of one command, as the program prints it."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        text = output_of_shell(f"unbribable {self.arguments[0]} --help", HERE).rstrip()
        return [nodes.literal_block(text, text, language="text")]


class Readme(SphinxDirective):
    """A part of README, from some words of it on, up to others."""

    option_spec: ClassVar = {"from": directives.unchanged_required, "to": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(ROOT / "README.md"))
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        begin = text.index(self.options["from"])
        part = text[begin : text.index(self.options["to"], begin)]
        return self.parse_text_to_nodes(led(part, ROOT, self.env.docname))


class DarkTwins(SphinxTransform):
    """Beside each figure on white ground, the same for readers of the site in the dark."""

    default_priority = 100

    def apply(self, **words: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            uri = image["uri"]
            if not uri.endswith(".png") or {"only-light", "only-dark"} & {*image["classes"]}:
                continue
            place = HERE if uri.startswith("/") else (HERE / self.env.docname).parent
            file = (place / uri.lstrip("/")).resolve()
            MADE.mkdir(exist_ok=True)
            name = f"{file.stem}-dark.png"
            darken(file, MADE / name)
            twin = image.deepcopy()
            twin["uri"] = f"/_made/{name}"
            image["classes"].append("only-light")
            twin["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, twin)


def fetch(app: Sphinx) -> None:
    """Write the pages whose text is kept elsewhere, those that have changed."""
    KEPT.mkdir(exist_ok=True)
    for name, place in ELSEWHERE.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        page = KEPT / f"{name}.md"
        text = as_page(text) if place.endswith(".ipynb") else text
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Lead the links of a page to other pages of the site."""
    if not docname.startswith("reference/"):
        folder = (HERE / docname).parent
        if folder == KEPT:
            folder = (ROOT / ELSEWHERE[Path(docname).name]).parent
        source[0] = led(source[0], folder, docname)


def plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: bars and stars are mathematics, but for the stars of a list."""
    for i, line in enumerate(lines):
        bullet = re.match(r"\s*(?:\* )?", line)[0]
        parts = line.removeprefix(bullet).split("`")
        parts[::2] = [re.sub(r"([|*\\])", r"\\\1", part) for part in parts[::2]]
        lines[i] = bullet + TAG.sub("\\1.\u2060 ", "`".join(parts))  # a word joiner


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("run", Run)
    app.add_directive("command", Command)
    app.add_directive("readme", Readme)
    app.add_transform(DarkTwins)
    app.connect("builder-inited", fetch, priority=100)
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain, priority=100)
    return {"parallel_read_safe": False}
