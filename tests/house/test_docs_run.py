"""What the documents show is what happens: every block of code runs, every link leads somewhere."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import unbribable as ub
from unbribable.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_site" not in path.parts)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
BLOCK = re.compile(r"^```(?:\{run\} )?(python|sh)\n(?::\w+:.*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"\n\n```\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def blocks(path):
    """Line number, language and text of every block that runs, and what it is shown to print."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        shown = PRINTED.match(text, match.end())
        line = text.count("\n", 0, match.start(2))
        found.append((line, match.group(1), match.group(2), shown and shown.group(1)))
    return found


def is_printed(shown, printed):
    """Whether that was printed, or begins so where it ends in dots; numbers up to rounding."""
    shown = shown.removesuffix(" ...")
    numbers = [float(each) for each in NUMBER.findall(shown)]
    found = [float(each) for each in NUMBER.findall(printed)]
    says = NUMBER.sub("#", printed).startswith(NUMBER.sub("#", shown))
    return says and found[: len(numbers)] == pytest.approx(numbers, rel=0.05, abs=0.01)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path)], ids=name_of)
def test_every_block_of_a_document_runs(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    namespace = {"__name__": "document"}
    for line, language, block, shown in blocks(path):
        if language == "sh":
            done = subprocess.run(
                ["sh", "-eu", "-c", block], capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, f"{path.name}:{line}: {done.stderr}"
            continue
        code = compile("\n" * line + block, str(path), "exec")  # so that a traceback names the line
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        assert shown is None or is_printed(shown, printed.getvalue()), printed.getvalue()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_between_documents_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_reference_documents_every_public_name_once():
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto\w+:: unbribable\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(ub.__all__)


def test_the_page_of_commands_shows_every_command_once():
    def walk(command, words):
        for name, inner in getattr(command, "commands", {}).items():
            yield " ".join([*words, name])
            yield from walk(inner, [*words, name])

    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{command\} (.+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(walk(typer.main.get_command(app), []))


def test_every_page_stands_in_the_index_once():
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = [
        line
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in tree.splitlines()
        if line and not line.startswith(":")
    ]
    pages = [str(path.relative_to(ROOT / "docs").with_suffix("")) for path in PAGES]
    assert sorted([*listed, "index"]) == sorted(pages)
