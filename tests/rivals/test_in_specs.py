"""Rivals in a spec, by their import path."""

from typing import Any

import pytest

from contracts.members import RIVALS
from unbribable.lab.runs.play import play
from unbribable.lab.runs.spec import read_spec

SPEC: dict[str, Any] = {
    "name": "rivals",
    "T": 12,
    "seeds": 1,
    "noise_std": 0.1,
    "budgets": [2],
    "objective": {"kind": "figure_1", "n": 15},
    "adversaries": [{"kind": "flip"}],
    "assumptions": {"lam": 0.1},
}


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_is_a_kind(name: str) -> None:
    kind = RIVALS[name].kind.__name__
    table = {"kind": f"unbribable.lab.rivals:{kind}", **RIVALS[name].words}
    if "C" in RIVALS[name].takes:
        table["knows_C"] = True
    record = play(read_spec({**SPEC, "algorithms": [table]}).runs()[0].to_plain())
    assert record.meta["run"]["algorithm"] == kind
    told = record.meta["algorithm"]
    for word, value in RIVALS[name].words.items():
        assert told[word] == value
    if "C" in RIVALS[name].takes:
        assert told["C"] == record.meta["C"]
