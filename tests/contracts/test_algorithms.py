"""Laws every algorithm keeps, whatever is told."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import ALGORITHMS

POINTS = np.random.default_rng(13).random((16, 2))
DOMAIN = ub.Grid(POINTS)
ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.5), B=3.0, B0=1.0, noise_std=0.1, lam=0.05)

OPTIONS = [
    {},
    {"width": "capped", "noise": "paper"},
    {"width": "paper", "noise": "paper", "tail": "paper", "gain": "certified"},
    {"beta": 2.0},
]
Build = Callable[..., Any]
ALL = pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS)
readings = st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=25)
options = st.sampled_from(OPTIONS)
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
LAWS = settings(max_examples=12, deadline=None, derandomize=True)


@ALL
@LAWS
@given(told=readings, words=options, seed=st.integers(0, 999))
def test_variance_never_grows_and_bounds_only_tighten(
    build: Build, told: list[float], words: dict[str, Any], seed: int
) -> None:
    """Of every instance, at every candidate, after every reading."""
    algorithm = build(DOMAIN, ASSUMED, seed=seed, **words)
    for y in told:
        before = {
            label: (i.sigma.copy(), i.ucb_bar.copy(), i.lcb_bar.copy(), i.posterior.gain)
            for label, i in algorithm.instances.items()
        }
        algorithm.tell(algorithm.ask(), y)
        for label, instance in algorithm.instances.items():
            sigma, upper, lower, gain = before[label]
            assert (instance.sigma <= sigma + 1e-12).all()
            assert (instance.ucb_bar <= upper).all()
            assert (instance.lcb_bar >= lower).all()
            assert instance.posterior.gain >= gain
            assert (instance.width > 0.0).all()


@ALL
@LAWS
@given(told=readings, words=options, seed=st.integers(0, 999))
def test_intersected_bounds_lie_within_the_current_ones(
    build: Build, told: list[float], words: dict[str, Any], seed: int
) -> None:
    """ucb_bar <= mu + width and lcb_bar >= mu - width, up to the slack of the comparison."""
    algorithm = build(DOMAIN, ASSUMED, seed=seed, **words)
    for y in told:
        algorithm.tell(algorithm.ask(), y)
    for instance in algorithm.instances.values():
        assert (instance.ucb_bar <= instance.mu + instance.width + ASSUMED.tolerance).all()
        assert (instance.lcb_bar >= instance.mu - instance.width - ASSUMED.tolerance).all()


@ALL
@LAWS
@given(told=readings, words=options, seed=st.integers(0, 999))
def test_the_same_seed_and_readings_give_the_same_run(
    build: Build, told: list[float], words: dict[str, Any], seed: int
) -> None:
    """Looking (propose, recommend, summary, state) and asking ahead change nothing."""
    plain, watched = (build(DOMAIN, ASSUMED, seed=seed, **words) for _ in range(2))
    for y in told:
        one = plain.ask()
        watched.propose()
        watched.recommend()
        watched.summary()
        watched.state()
        other = watched.ask()
        assert (one.index, one.instance, one.mu, one.sigma) == (
            other.index,
            other.instance,
            other.mu,
            other.sigma,
        )
        assert (one.width, one.ucb) == (other.width, other.ucb)
        plain.tell(one, y)
        watched.tell(other, y)


@ALL
@pytest.mark.parametrize("words", OPTIONS, ids=str)
def test_reports_are_plain_data(build: Build, words: dict[str, Any]) -> None:
    """summary() for JSON as it is, state() once its arrays are lists."""
    algorithm = build(DOMAIN, ASSUMED, **words)
    for k in range(10):
        algorithm.tell(algorithm.ask(), 0.1 * k)
    algorithm.ask()
    summary = algorithm.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    state = algorithm.state()
    columns = state.pop("readings")
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    for values in columns.values():
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        assert json.loads(json.dumps(plain)) == plain


@ALL
def test_the_clean_optimum_is_found_and_certified(build: Build) -> None:
    """300 honest rounds: a certificate that holds, and that is not trivial."""
    kernel = ASSUMED.kernel
    coefficients = np.array([0.9, -0.6])
    f = kernel(POINTS, POINTS[[3, 9]]) @ coefficients
    algorithm = build(DOMAIN, ASSUMED)
    rng = np.random.default_rng(0)
    for _ in range(300):
        query = algorithm.ask()
        algorithm.tell(query, f[query.index] + 0.1 * rng.normal())
    best = algorithm.recommend()
    assert algorithm.refuted is None
    assert f.max() - f[best.index] <= best.regret_bound < 2.0
    assert best.lower <= f[best.index] <= best.upper
    regret = sum(f.max() - f[algorithm.candidates.index_of(reading.u)] for reading in algorithm.readings)
    assert regret <= algorithm.regret_certificate().value
