"""What the site needs beyond Sphinx: blocks that run, the help of commands, pages kept elsewhere."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
MADE = HERE / "_made"
# page of the site -> where its text is kept
ELSEWHERE = {
    "contributing": "CONTRIBUTING.md",
    "changes": "CHANGELOG.md",
    "speed": "benchmarks/results.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


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


def output_of_python(text: str, namespace: dict[str, Any], folder: Path) -> str:
    """What the code prints; names live on in `namespace`."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(text, "<page>", "exec"), namespace)
    return printed.getvalue()


def folded(line: str) -> str:
    """The line in lines of at most 90 characters, unless it is one of a table."""
    return line if line[:1] in "┏┃┡│└" else textwrap.fill(line, 90, subsequent_indent="    ")


class Run(SphinxDirective):
    """Runs a block while the site is built, and shows it with what it printed and drew.

    The blocks of a page share their names (Python) and their folder (both languages).
    """

    required_arguments = 1  # python or sh
    option_spec: ClassVar = {"alt": directives.unchanged}  # what the pictures show
    has_content = True

    def run(self) -> list[nodes.Node]:
        language, text = self.arguments[0], "\n".join(self.content)
        page = self.env.temp_data.setdefault("run", {"namespace": {"__name__": "page"}, "n": 0})
        if "folder" not in page:
            page["keep"] = tempfile.TemporaryDirectory()
            page["folder"] = Path(page["keep"].name)
        if language == "python":
            printed = output_of_python(text, page["namespace"], page["folder"])
        else:
            printed = output_of_shell(text, page["folder"])
        made: list[nodes.Node] = [nodes.literal_block(text, text, language=language)]
        if printed.strip():
            lines = "\n".join(folded(line) for line in printed.splitlines())
            made.append(nodes.literal_block(printed, lines, language="text"))
        return [*made, *self.pictures(page)]

    def pictures(self, page: dict[str, Any]) -> list[nodes.Node]:
        """The figure that a block calls `figure`."""
        figure = page["namespace"].pop("figure", None)
        if figure is None:
            return []
        MADE.mkdir(exist_ok=True)
        page["n"] += 1
        name = f"{self.env.docname.replace('/', '-')}-{page['n']}.png"
        figure.savefig(MADE / name, dpi=150)
        return [nodes.image(uri=f"/_made/{name}", alt=self.options.get("alt", ""))]


class Command(SphinxDirective):
    """The help of one command, as the program prints it."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        text = output_of_shell(f"unbribable {self.arguments[0]} --help", HERE).rstrip()
        return [nodes.literal_block(text, text, language="text")]


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fetch the text of pages that live elsewhere, and lead every link to a page of the site.

    A link to a file that has no page loses its target, and its words stay.
    """
    root = HERE.parent
    kept = root / ELSEWHERE[docname] if docname in ELSEWHERE else HERE / f"{docname}.md"
    pages = {(root / place).resolve(): HERE / f"{name}.md" for name, place in ELSEWHERE.items()}

    def on_site(match: re.Match[str]) -> str:
        words, target, anchor = match.groups()
        file = (kept.parent / target).resolve()
        file = pages.get(file, file)
        if not file.is_relative_to(HERE):
            return words
        return f"[{words}]({os.path.relpath(file, (HERE / docname).parent)}{anchor or ''})"

    source[0] = LINK.sub(on_site, kept.read_text(encoding="utf-8"))


def plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: bars and stars are mathematics, but for the stars of a list."""
    for i, line in enumerate(lines):
        bullet = re.match(r"\s*(?:\* )?", line)[0]
        parts = line.removeprefix(bullet).split("`")
        parts[::2] = [re.sub(r"([|*\\])", r"\\\1", part) for part in parts[::2]]
        lines[i] = bullet + "`".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("run", Run)
    app.add_directive("command", Command)
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain, priority=100)
    return {"parallel_read_safe": False}
