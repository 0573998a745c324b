"""What the documents show is what happens: every Python block runs."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """Line number and text of every Python block, in order."""
    text = path.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in BLOCK.finditer(text)]


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if blocks(path)], ids=lambda path: path.name
)
def test_every_python_block_of_a_document_runs(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "document"}
    for line, block in blocks(path):
        code = compile("\n" * line + block, str(path), "exec")  # so that a traceback names the line
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, namespace)
    assert len(namespace) > 1, "a document with blocks defines something"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_between_documents_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target
