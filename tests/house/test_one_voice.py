"""Values inside, words at the edge: no floor below `say` builds a sentence, and none is parsed back."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "unbribable"

FLOORS = ("model", "theory", "decision", "doubt", "study", "auditing")
"""Those below `say`."""

MOST = 3
"""Words in a row that a name or the value of an enumeration may have."""

AT_THE_EDGE = {
    "auditing/columns.py": "what is refused in a user's table, said in its words",
    "auditing/table.py": "the same",
}
"""Rooms that a user's file or eye meets directly, each with the reason."""

ALLOWED = {
    "model/dimensions.py": "low must be >= 1, high <= 2**40 and step 1 on a log scale",
    "decision/asking/draws.py": "; an integer >= 0, a SeedSequence or None for fresh entropy is allowed",
    "decision/journal.py": "asked here, tell its query",
    "decision/policies/ladder.py": "that there are lies",
    "decision/policies/layered.py": "that there are lies",
    "study/maximize.py": "they are kept in {}: mend f, or call again to resume from there",
    "study/saving.py": "a file that cannot be written",
}
"""Parts of errors that are put together before they are raised, and values of an enumeration."""

OF_ERRORS = ("warn", "missing", "add_note", "Error", "Warning")
"""How calls end to which a message is given."""

LONG = {"study/plan.py": "what the settings are, for the documentation of five functions"}


def files():
    for floor in FLOORS:
        for path in sorted((PACKAGE / floor).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            if not any(name.startswith(edge) for edge in AT_THE_EDGE):
                yield name


def sentences(source):
    """Strings of several words that are neither documentation nor the message of an error."""
    tree = ast.parse(source)
    passed = set()
    for node in ast.walk(tree):
        is_message = isinstance(node, ast.Raise | ast.Assert)
        if isinstance(node, ast.Call):
            is_message |= ast.unparse(node.func).endswith(
                ("warn", "missing", "add_note", "Error", "Warning")
            )
        if isinstance(node, ast.keyword):
            is_message |= node.arg in ("hint", "doc")
        if isinstance(node, ast.Assign):
            is_message |= any(ast.unparse(each) in ("hint", "more", "most") for each in node.targets)
        for name in ("annotation", "returns"):
            if (kind := getattr(node, name, None)) is not None:
                passed |= {id(each) for each in ast.walk(kind)}
        if is_message:
            passed |= {id(each) for each in ast.walk(node)}
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                passed.add(id(each.value))
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            passed |= {id(each) for each in ast.walk(node)}
            parts = [each.value if isinstance(each, ast.Constant) else "{}" for each in node.values]
            text = "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(re.findall(r"(?<![\w.])[A-Za-z][a-z']+(?![\w(=])", text)) > MOST:
            yield node.lineno, text


@pytest.mark.parametrize("name", list(files()))
def test_no_floor_below_say_builds_a_sentence(name):
    found = dict(sentences((PACKAGE / name).read_text(encoding="utf-8")))
    built = {line: text for line, text in found.items() if text != ALLOWED.get(name)}
    built = {line: text for line, text in built.items() if name not in LONG or "\n" not in text}
    assert not built, f"{name} builds {built}: say it in say/, of a value"


def test_control_a_sentence_is_found_and_documentation_and_errors_are_not():
    source = """
def price(value):
    \'\'\'What it takes before another point can be better.\'\'\'
    if value < 0:
        raise ValueError(f"value must be at least zero here, got {value} instead of that")
    name, label = "one two three", "of_a_single_name_with_many_words"
    return f"Lies totalling less than {value} could not have made another better."
"""
    ((_, text),) = sentences(source)
    assert text.startswith("Lies totalling less than {} could")


PARSED = re.compile(
    r"removeprefix|removesuffix|\bre\.(sub|match|search|fullmatch|findall|split)\(|\.(starts|ends)with\("
)
"""How a display string would be parsed."""

OF_INPUT = {
    "auditing/columns.py": "cells of a user's table",
    "auditing/csv_file.py": "the beginning of a user's file",
    "hosts/optuna/terms.py": "keys of attributes in Optuna's storage",
    "cli/storage.py": "addresses of databases",
    "cli/parameters.py": "parameters as the user types them",
    "page/guard.py": "paths of requests",
    "cli/page.py": "lines of a log",
    "say/figures/worst_case.py": "labels of its own legend",
    "study/run_file.py": "the beginning of a file",
    "lab/report/table.py": "cells that a spreadsheet would run as formulas",
    "lab/runs/hanging.py": "a traceback of Python",
    "lab/runs/kinds.py": "names of classes",
    "lab/runs/record.py": "names in an archive",
}
"""Who may look at strings as text, and what strings those are; none of them is a sentence of `say`."""


def test_no_display_string_is_parsed_back():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if PARSED.search(path.read_text(encoding="utf-8")):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == set(OF_INPUT)
