"""One list of players for all laws: a new one adds a line to contracts/members.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.members import ALGORITHMS

TESTS = Path(__file__).parents[1]
KINDS = {member.kind.__name__ for member in ALGORITHMS.values()}
FILES = sorted(path for path in TESTS.rglob("*.py") if path != TESTS / "contracts" / "members.py")


def outside_tests(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations and the bodies of test functions."""
    yield node
    for name, part in ast.iter_fields(node):
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if name in ("annotation", "returns") or (is_test and name == "body"):
            continue
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                yield from outside_tests(child)


def kinds_built(source: str) -> set[str]:
    """The algorithms that a file builds where several tests can share them."""
    names = {
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        for node in outside_tests(ast.parse(source))
    }
    return names & KINDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_other_file_has_a_list_of_algorithms(path: Path) -> None:
    """Two of them may be compared; three are a list, and that is in contracts/members.py."""
    assert len(kinds_built(path.read_text())) < 3, "use ALGORITHMS or algorithms() of contracts.members"


LISTS = {
    "dict": "MAKERS = {1: lambda: ub.GPUCB(X), 2: lambda: ub.RobustGPUCB(X), 3: ub.LayeredGPUCB}",
    "function": "def make(n):\n    return [ub.GPUCB, ub.RobustGPUCB, LayeredGPUCB][n]",
    "decorator": "@cases([ub.GPUCB, ub.RobustGPUCB, ub.LayeredGPUCB])\ndef test_it(kind):\n    pass",
}


@pytest.mark.parametrize("source", LISTS.values(), ids=LISTS)
def test_a_list_is_seen_wherever_it_stands(source: str) -> None:
    assert kinds_built(source) == {"GPUCB", "RobustGPUCB", "LayeredGPUCB"}


def test_what_one_test_builds_is_its_own_business() -> None:
    assert not kinds_built("def test_it():\n    ub.GPUCB(X), ub.RobustGPUCB(X), ub.LayeredGPUCB(X)")
    assert not kinds_built("def play(one: ub.GPUCB | ub.RobustGPUCB | ub.LayeredGPUCB) -> None: ...")
