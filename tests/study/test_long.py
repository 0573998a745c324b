"""Long histories: what a cold process works out at once is what a live one says, bit for bit."""

from typing import Any

import numpy as np
import pytest

from study.scripted import ASSUMED, BOX, GRID, answer_of, wave
from unbribable.doubt import judge
from unbribable.study import engine as engines
from unbribable.study.advice import advise, doubt
from unbribable.study.engine import Engine
from unbribable.study.plan import Plan

PLANS: dict[str, tuple[Any, dict[str, Any]]] = {
    "fitted": (BOX, {}),
    "fitted, none": (BOX, {"corruption": 0}),
    "fitted, unknown": (BOX, {"corruption": "unknown"}),
    "fitted, on a grid": (GRID, {"lies": 3}),
    "given": (BOX, {"corruption": 1.5, "assumptions": ASSUMED}),
}
N = 70


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long: 20 readings before a fit are learned at once.

    From 24 readings on hypotheses are drawn anew at stops, by 40 of the readings.
    """
    monkeypatch.setattr(engines, "N_AT_ONCE", 20)
    monkeypatch.setattr(judge, "N_EACH", 24)
    monkeypatch.setattr(judge, "N_HEARD", 40)
    monkeypatch.setattr(judge, "N_WHOLE", 60)


def engine_of(name: str, n: int) -> Engine:
    """With so many readings, every third of them chosen by the user."""
    domain, words = PLANS[name]
    engine = Engine(domain, Plan(n_rounds=N, **words), seed=3)
    rng = np.random.default_rng(0)
    for t in range(1, n + 1):
        x = rng.random(1) if domain is BOX else GRID.points[rng.integers(len(GRID.points))]
        noise = 0.05 * rng.standard_normal()
        engine.take(engine.trial(t, x, wave(x) + noise, is_given=t % 3 == 0))
    return engine


@pytest.mark.long
@pytest.mark.parametrize("name", PLANS)
def test_a_cold_engine_says_what_a_live_one_says(name: str, short: None) -> None:
    """One that was asked for advice all the way against one that wakes up at the end."""
    live, cold = engine_of(name, 0), engine_of(name, N)
    for n, trial in enumerate(cold.log.values(), 1):
        live.take(trial)
        if n > 20 and (n % 8 == 0 or n > N - 3):
            advise(live)
    assert answer_of(advise(live)) == answer_of(advise(cold))
    assert [each.to_dict() for each in doubt(live)] == [each.to_dict() for each in doubt(cold)]
    if name != "given":
        assert live.algorithm().journal.n_at_once >= 20
    asked = [engine.ask(N + 1).u.tolist() for engine in (live, cold)]
    assert asked[0] == asked[1]
