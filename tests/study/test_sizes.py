"""Amounts that the readings do not match at all: a sentence, not an overflow, at every door."""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import assert_refused

SIZES: dict[str, tuple[dict[str, float], float]] = {
    "noise": ({"noise_std": 0.1}, 1e-160),
    "noise, the smallest": ({"noise_std": 0.1}, 5e-324),
    "norm": ({"B": 1.0}, 1e-200),
    "norm, the smallest": ({"B": 1.0, "noise_std": 0.0}, 5e-324),
    "corruption": ({"corruption": 1e300}, 1e-20),
}


@pytest.mark.parametrize(("given", "unit"), SIZES.values(), ids=SIZES)
def test_an_amount_beyond_all_readings_is_refused_with_a_sentence(
    given: dict[str, Any], unit: float
) -> None:
    name, amount = next(iter(given.items()))
    words = (f"{name} must be at most 1e+100 times what the readings differ by", f"{name}={amount!r}")
    space = {"a": (0.0, 1.0)}
    f = lambda params: unit * round(9 * params["a"])  # noqa: E731
    study = ub.Study(space, seed=1, **given)
    for a in np.linspace(0.0, 1.0, 8):
        study.tell({"a": a}, f({"a": a}))
    for call in (study.ask, study.recommend, study.suspects, study.price):
        assert_refused(call, ValueError, words)
    assert_refused(lambda: str(study.audit()), ValueError, words)
    assert_refused(lambda: ub.maximize(f, space, 12, seed=1, **given), ValueError, words)
    table = {"a": [trial.params["a"] for trial in study.trials], "y": [each.y for each in study.trials]}
    assert_refused(lambda: str(ub.audit(table, target="y", **given)), ValueError, words)


@pytest.mark.parametrize("unit", [0.0, 1e-90, 1.0, 1e90])
def test_readings_that_match_are_taken_in_any_unit(unit: float) -> None:
    study = ub.Study({"a": (0.0, 1.0)}, seed=1, noise_std=0.1 * (unit or 1.0), B=2.0 * (unit or 1.0))
    for a in np.linspace(0.0, 1.0, 8):
        study.tell({"a": a}, unit * a)
    best = study.recommend()
    assert best.lower is not None
    assert best.upper is not None
    assert best.lower <= best.estimate <= best.upper
