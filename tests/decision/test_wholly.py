"""A reading is learned wholly or not at all, whatever goes wrong on the way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import algorithms
from told import told
from unbribable.decision.instance import Instance
from unbribable.decision.proposal import Reading

GRID = ub.Grid(np.linspace(0.0, 1.0, 100)[:, None])
BOX = ub.Box([0.0], [1.0], n_candidates=64)
BUILDS = algorithms(C=0.5, T=60, seed=1)
ALL = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
Build = Callable[..., Any]


def assumptions(lam: float) -> ub.Assumptions:
    """No noise to speak of where lam is 1e-15: float64 does not resolve the system for long."""
    return ub.Assumptions(
        ub.SquaredExponential(1.0), B=1.0, B0=1.0, noise_std=np.sqrt(lam), lam=lam, c_max=1.0
    )


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])
@ALL
def test_a_reading_that_float64_cannot_take_in_leaves_no_trace(build: Build, domain: Any) -> None:
    """At lam = 1e-15 some reading fails: of a pending query, and of a point nobody asked for."""
    algorithm = build(domain, assumptions(1e-15))
    rng = np.random.default_rng(0)
    query = algorithm.ask()
    failed = 0
    for _ in range(150):
        x = [float(rng.random())] if domain is BOX else GRID.points[rng.integers(100)]
        before = told(algorithm)
        try:
            algorithm.tell(x=x, y=0.1 * float(rng.random()))
        except np.linalg.LinAlgError:
            failed += 1
            assert told(algorithm) == before
            break
    assert failed
    try:
        before = told(algorithm)
        algorithm.tell(query, 0.1)
    except np.linalg.LinAlgError:
        assert told(algorithm) == before
    else:
        assert not algorithm.pending


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])
@ALL
@pytest.mark.parametrize("error", [np.linalg.LinAlgError, MemoryError, KeyboardInterrupt])
def test_after_a_failure_the_query_is_pending_and_can_be_told_again(
    build: Build, domain: Any, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it happens: the last instance to learn fails when the others have learned already."""
    failing, smooth = build(domain, assumptions(0.01)), build(domain, assumptions(0.01))
    for algorithm in (failing, smooth):
        for y in (0.1, 0.2, -0.1):
            algorithm.tell(algorithm.ask(), y)
        algorithm.ask()
    query = failing.ask()
    smooth.ask()
    reading = Reading(query.t, query.u, 0.0, query.drawn, query.instance, 0.01)
    learners = [instance for instance, _ in failing.policy.lessons(reading)]
    plain = Instance.learn

    def learn(self: Instance, *words: Any, settles: bool) -> None:
        plain(self, *words, settles=settles)
        if self is learners[-1]:
            raise error("no")

    before = told(failing)
    monkeypatch.setattr(Instance, "learn", learn)
    with pytest.raises(error):
        failing.tell(query, 0.3)
    monkeypatch.undo()
    assert told(failing) == before
    assert [one.t for one in failing.pending] == [4, 5]
    for algorithm in (failing, smooth):
        algorithm.tell(query.id, 0.3)
    assert told(failing) == told(smooth)
    np.testing.assert_array_equal(failing.ask().x, smooth.ask().x)


@ALL
def test_a_retraction_that_fails_leaves_no_trace(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """All others are learned again for it, and if that fails, all of them."""
    algorithm = build(GRID, assumptions(0.01))
    for y in (0.1, 0.2, -0.1, 0.3):
        algorithm.tell(algorithm.ask(), y)
    before = told(algorithm)
    plain, calls = Instance.learn, []

    def learn(self: Instance, *words: Any, settles: bool) -> None:
        calls.append(self)
        if len(calls) == 2:
            raise MemoryError("no")
        plain(self, *words, settles=settles)

    monkeypatch.setattr(Instance, "learn", learn)
    with pytest.raises(MemoryError):
        algorithm.retract(2)
    assert told(algorithm) == before
    assert not algorithm.journal.retracted


def test_a_second_failure_is_said() -> None:
    """Then the readings themselves are all that is left."""
    algorithm = ub.GPUCB(GRID, assumptions(0.01))
    algorithm.tell(algorithm.ask(), 0.1)
    main = algorithm.instances["main"]

    def fail(*words: Any, **named: Any) -> None:
        raise MemoryError("no")

    main.learn = fail  # type: ignore[method-assign]
    algorithm._replay = fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="that failed too, got MemoryError"):
        algorithm.tell(algorithm.ask(), 0.2)
