"""docs/paper_map.md and the source agree, in both directions, and no item of the paper is missing."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "unbribable"
MAP = ROOT / "docs" / "paper_map.md"

# What the paper holds, by its printed numbers; lemmas and theorems share one counter.
PAPER = (
    [f"Eq. {number}" for number in range(1, 118)]
    + [f"Lem. {number}" for number in (1, 2, 3, 4, 6, 7, 8, 11)]
    + [f"Thm. {number}" for number in (5, 9, 10)]
    + [f"Alg. {number}" for number in (1, 2, 3)]
    + [f"App. {letter}" for letter in "ABCDEFGHIJK"]
    + ["Sec. 2", "Fig. 1"]
)
TAG = re.compile(r"\[BKS20, ([^\]]+)\]")
CODE = re.compile(r"`(unbribable(?:\.\w+)+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def items(words):
    """'Eqs. 17, 18' or 'Eqs. 17–18' -> ['Eq. 17', 'Eq. 18']; 'Alg. 2, line 6' -> ['Alg. 2']."""
    kind, _, rest = re.sub(r", line \d+$", "", words.strip()).partition(" ")
    kind = kind.replace("Eqs.", "Eq.")
    found = []
    for part in rest.split(","):
        first, _, last = part.strip().partition("–")
        numbers = range(int(first), int(last) + 1) if last else [first]
        found += [f"{kind} {number}" for number in numbers]
    return found


def table(heading):
    """The rows of the first table under a heading, as lists of cells."""
    section = MAP.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


PAPER_ROWS = table("The paper")
OWN_ROWS = table("Ours")
ROWS = PAPER_ROWS + OWN_ROWS
CODE_NAMES = sorted({name for row in ROWS for name in CODE.findall(row[2])})
TESTS = sorted({found for row in ROWS for found in TEST.findall(row[3])})


def tags():
    """(dotted name of the innermost class or function, words of the tag) of every tag in the source."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        module = ".".join(["unbribable", *path.relative_to(PACKAGE).with_suffix("").parts])
        scopes = list(scopes_of(ast.parse(text), module))
        for number, line in enumerate(text.splitlines(), 1):
            for words in TAG.findall(line):
                around = [scope for scope in scopes if scope[0] <= number <= scope[1]]
                yield (max(around)[2] if around else module), words


def scopes_of(node, name):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inner = f"{name}.{child.name}"
            yield child.lineno, child.end_lineno, inner
            yield from scopes_of(child, inner)
        else:
            yield from scopes_of(child, name)


TAGS = sorted(set(tags()))


def resolved(name):
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[k:], module)
    raise ModuleNotFoundError(name)


def test_every_item_of_the_paper_is_listed_exactly_once():
    listed = [item for row in PAPER_ROWS for item in items(row[0])]
    assert sorted(listed) == sorted(PAPER)


def test_there_are_tags_to_check():
    assert len(TAGS) > 20


@pytest.mark.parametrize(("name", "words"), TAGS)
def test_every_tag_in_the_source_is_in_the_map_with_its_function(name, words):
    for item in items(words):
        (row,) = [row for row in PAPER_ROWS if item in items(row[0])]
        assert name in CODE.findall(row[2]), f"{item} must list {name}"


@pytest.mark.parametrize("name", CODE_NAMES)
def test_every_function_in_the_map_exists(name):
    assert resolved(name) is not None


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_every_test_in_the_map_exists(path, name):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in names


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_names_a_function_and_a_test_or_says_why_not(row):
    assert len(row) == (4 if row in PAPER_ROWS else 5)
    assert CODE.findall(row[2]) or row[2] == "none"
    assert TEST.findall(row[3]) or re.match(r"none: \w+", row[3]), row[3]


@pytest.mark.parametrize("row", OWN_ROWS, ids=lambda row: row[0])
def test_what_is_ours_is_called_so_in_its_docstring(row):
    documents = [resolved(name).__doc__ or "" for name in CODE.findall(row[2])]
    owners = [resolved(name.rpartition(".")[0]).__doc__ or "" for name in CODE.findall(row[2])]
    assert any("ours" in text.lower() for text in documents + owners)
