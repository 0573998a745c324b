"""Files of the repository: clean of machines, and in agreement about the version."""

import ast
import re
import subprocess
from pathlib import Path

import unbribable as ub

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "unbribable"

# Put together here, so that this file does not hold what it looks for.
FORBIDDEN = [
    re.compile(r"(?<![\w.])/" + folder + r"/[\w.-]")
    for folder in ("home", "Users", "root", "work", "mnt", "opt", "private")
] + [
    re.compile(r"[A-Za-z]:\\\\?" + "Users"),
    re.compile("pypi" + r"\.org|" + "pythonhosted" + r"\.org|" + "index" + "-url|" + "registry" + r"\."),
]
SUFFIXES = {".py", ".md", ".toml", ".cff", ".bib", ".json", ".txt", ".yml", ".yaml", ".cfg", ""}


def repository_files():
    """Tracked files, and new ones that git does not ignore; all files where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        paths = [ROOT / line for line in done.stdout.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        hidden = {".venv", ".git", "__pycache__", "build", "dist"}
        paths = [path for path in ROOT.rglob("*") if not hidden & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file() and path.suffix in SUFFIXES]


def test_no_file_names_a_machine_or_a_package_registry():
    found = []
    for path in repository_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if any(pattern.search(line) for pattern in FORBIDDEN):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_nothing_that_is_installed_sends_a_reader_to_a_file_that_is_not():
    """Messages, help and docstrings name pages of the documentation, not paths of the repository."""
    there = re.compile(r"\b(?:docs|benchmarks|tests)/\w")
    found = []
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix == ".py":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            texts = [each.value for each in nodes if isinstance(each, ast.Constant)]
        elif path.suffix in (".js", ".html", ".css"):
            texts = [path.read_text(encoding="utf-8")]
        else:
            texts = []
        for text in texts:
            if isinstance(text, str) and there.search(text):
                found.append(f"{path.relative_to(PACKAGE)}: {there.search(text)[0]}")
    assert found == []


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_citation_and_package_name_the_same_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (\S+)$", citation, flags=re.MULTILINE)
    assert version == ub.__version__


def test_every_reference_that_is_cited_is_in_the_bibliography():
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/refs.bib").read_text("utf-8"), re.MULTILINE))
    cited = set()
    for path in [*PACKAGE.rglob("*.py"), *ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        cited |= set(re.findall(r"\[([A-Z][A-Za-z]*\d\d), ", path.read_text(encoding="utf-8")))
    assert cited
    assert cited <= known
