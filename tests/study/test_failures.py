"""maximize: evaluations that fail, runs in which all fail, and Ctrl-C."""

import json
import math
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, Scripted, answer_of, assert_same_run, wave
from unbribable.decision.instance import Instance
from unbribable.doubt.hypotheses import Hypotheses
from unbribable.study.advice import advise
from unbribable.study.engine import Engine


class Tensor:
    """What other libraries return: numbers that say what they are by item() and float()."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def item(self) -> Any:
        if len(self.entries) != 1:
            raise RuntimeError(f"a tensor with {len(self.entries)} elements is no number")
        return self.entries[0]

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        return f"Tensor{self.entries}"


class Amount:
    """Says what it is by float() alone."""

    def __float__(self) -> float:
        return 1.0

    def __repr__(self) -> str:
        return "Amount()"


GIVEN: dict[str, Any] = {"domain": GRID, "assumptions": ASSUMED, "corruption": 1.5}

# what f does -> words of the reason
FAILURES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "raises": (ZeroDivisionError("the furnace is cold"), ("ZeroDivisionError", "furnace is cold")),
    "raises a warning": (UserWarning("hm"), ("UserWarning", "hm")),
    "raises StopIteration": (StopIteration(), ("StopIteration",)),
    "nan": (math.nan, ("ValueError", "y must be finite", "nan")),
    "inf": (math.inf, ("ValueError", "y must be finite", "inf")),
    "-inf": (np.float64(-math.inf), ("ValueError", "y must be finite", "-inf")),
    "text": ("1.0", ("TypeError", "y must be a real number", "'1.0'")),
    "nothing": (None, ("TypeError", "y must be a real number", "None")),
    "truth": (True, ("TypeError", "y must be a real number", "True")),
    "complex": (1j, ("TypeError", "y must be a real number", "1j")),
    "two numbers": (np.ones(2), ("TypeError", "y must be a real number", "array")),
    "a tuple": ((1.0,), ("TypeError", "y must be a real number", "(1.0,)")),
    "too many digits": (10**400, ("ValueError", "float64", "401 digits")),
    "digits nobody can count": (10**5000, ("ValueError", "float64", "5001 digits")),
    "too large a fraction": (Fraction(10**400), ("ValueError", "float64")),
    "too large": (1e151, ("ValueError", "y must be at most 1e+150 in absolute value", "1e+151")),
    "too small": (-1.7e308, ("ValueError", "y must be at most 1e+150", "-1.7e+308")),
    "masked": (np.ma.masked, ("TypeError", "y must be a real number", "masked")),
    "an array, masked": (
        np.ma.array([1.0], mask=[True]),
        ("TypeError", "y must be a real number", "--"),
    ),
    "bytes": (b"1", ("TypeError", "y must be a real number", "b'1'")),
    "an array of text": (np.array(["1"]), ("TypeError", "y must be a real number", "array(['1']")),
    "an array of truth": (np.array([True]), ("TypeError", "y must be a real number", "array([ True])")),
    "a tensor of truth": (Tensor(True), ("TypeError", "y must be a real number", "Tensor(True,)")),
    "a tensor of nan": (Tensor(math.nan), ("ValueError", "y must be finite", "nan")),
    "a complex tensor": (Tensor(1j), ("TypeError", "y must be a real number", "Tensor(1j,)")),
    "two in a tensor": (Tensor(1.0, 2.0), ("TypeError", "y must be a real number", "Tensor(1.0, 2.0)")),
}
ALL = pytest.mark.parametrize(("told", "words"), FAILURES.values(), ids=FAILURES)
TOO_LARGE = [value for value, words in FAILURES.values() if words[-1] in (
    "inf", "-inf", "401 digits", "5001 digits", "float64", "1e+151", "-1.7e+308"
)]  # fmt: skip


@ALL
def test_a_failed_evaluation_is_recorded_with_its_reason_and_nothing_is_learned(
    told: Any, words: tuple[str, ...]
) -> None:
    """One warning for all of them, and f is asked as often as was said.

    What is infinite, or too large, is missing because of its value: then nothing is guaranteed.
    """
    is_too_large = any(told is each for each in TOO_LARGE)
    f = Scripted(script={3: told, 6: told})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ub.maximize(f, n_rounds=8, **GIVEN)
    assert [entry.category for entry in caught] == [RuntimeWarning]
    assert caught[0].filename == __file__
    for word in ("round 3 failed", "nothing was learned", *words):
        assert word in str(caught[0].message)
    assert len(f.points) == len(run.trials) == 8
    assert run.n_failed == 2
    for trial in run.trials:
        assert (trial.y is None) == (trial.error is not None) == (trial.number in (3, 6))
    for word in words:
        assert word in str(run.trials[2].error)
    assert [told.t for told in run.engine.told] == [1, 2, 4, 5, 7, 8]
    engine = Engine(GRID, run.engine.plan)
    for trial in run.trials:
        assert trial.because_of_value == (is_too_large and trial.y is None)
        engine.take(trial)
    assert answer_of(advise(engine)) == answer_of(run.recommendation)
    if is_too_large:
        assert run.regret_bound is run.recommendation.probability is None
        assert run.recommendation.guarantee.endswith(
            "No guarantee: 2 readings are missing because of their values, as with pruned trials and "
            "infinite values."
        )
    else:
        assert "if none of the 2 missing readings is missing because of its value" in run.guarantee
    assert "failed: 2" in run.summary()


@pytest.mark.parametrize(
    "told",
    [
        np.ones((1, 1)),
        np.array(1.0),
        np.float32(1.0),
        1,
        np.int64(1),
        Decimal(1),
        Fraction(2, 2),
        np.array([Decimal(1)]),
        np.ma.array([1.0], mask=[False]),
        Tensor(1.0),
        Tensor(np.float32(1.0)),
        Amount(),
    ],
    ids=repr,
)
def test_whatever_is_one_number_is_a_reading(told: Any) -> None:
    run = ub.maximize(lambda x: told, n_rounds=2, **GIVEN)
    assert [trial.y for trial in run.trials] == [1.0, 1.0]
    assert all(type(trial.y) is float for trial in run.trials)


@ALL
def test_where_failures_are_to_be_raised_they_are(told: Any, words: tuple[str, ...]) -> None:
    """The very error, where f raised it; with a file, the rounds before are not lost."""
    f = Scripted(script={3: told})
    with pytest.raises(Exception, match=re.escape(words[-1]) if words[1:] else None) as caught:
        ub.maximize(f, n_rounds=8, on_error="raise", **GIVEN)
    assert type(caught.value).__name__ == words[0]
    if isinstance(told, Exception):
        assert caught.value is told
    assert len(f.points) == 3


WITHOUT_READING = [
    pytest.param({"domain": BOX}, id="fitted"),
    pytest.param(GIVEN, id="given"),
    pytest.param({**GIVEN, "explore": 2.0}, id="given, scout"),
]


def test_what_is_no_error_but_an_end_is_not_recorded() -> None:
    with pytest.raises(SystemExit):
        ub.maximize(Scripted(script={2: SystemExit(3)}), n_rounds=8, **GIVEN)


@pytest.mark.parametrize("words", WITHOUT_READING)
def test_where_every_evaluation_fails_there_is_no_answer_and_it_is_said(words: dict[str, Any]) -> None:
    f = Scripted(script=dict.fromkeys(range(1, 9), math.nan))
    with pytest.warns(RuntimeWarning, match="round 1 failed"):
        run = ub.maximize(f, n_rounds=8, **words)
    assert len(f.points) == run.n_failed == 8
    assert run.x is run.recommendation is run.lower is run.upper is run.regret_bound is None
    assert run.naive is None
    assert run.suspects == ()
    assert run.refuted is None
    assert run.summary() == "No reading yet; 8 of 8 evaluations failed."
    assert run.guarantee == "No guarantee: there is no reading yet."
    assert json.loads(json.dumps(run.to_dict(), allow_nan=False))["x"] is None


HOPELESS: dict[str, tuple[Any, int, str]] = {
    "ten of any kind": (ZeroDivisionError("the furnace is cold"), 10, "ZeroDivisionError: the furnace"),
    "ten without a finite number": (math.nan, 10, "ValueError: y must be finite, got y=nan"),
    "ten in too small a unit": (1e300, 10, "y must be at most 1e+150 in absolute value"),
    "five of no number": ((0.5, 0.1), 5, "TypeError: y must be a real number, got y=(0.5, 0.1)"),
    "five of a wrong call": (TypeError("f takes 2 arguments"), 5, "TypeError: f takes 2 arguments"),
}


@pytest.mark.filterwarnings("ignore:round 2 failed:RuntimeWarning")
@pytest.mark.parametrize(("told", "n", "words"), HOPELESS.values(), ids=HOPELESS)
def test_where_the_first_evaluations_all_fail_the_rest_is_not_spent(
    told: Any, n: int, words: str
) -> None:
    """The error says why, how much was spent, and where f raised."""
    f = Scripted(script=dict.fromkeys(range(1, 51), told))
    with pytest.raises(RuntimeError, match="f must return a number") as caught:
        ub.maximize(f, n_rounds=50, initial=[([0.5], 0.1)], **GIVEN)
    assert len(f.points) == n
    for word in (f"none in {n} evaluations", words, f"{n} of 50 rounds are spent; mend f"):
        assert word in str(caught.value)
    if isinstance(told, Exception):
        assert caught.value.__cause__ is told


@pytest.mark.filterwarnings("ignore:round 1 failed:RuntimeWarning")
@pytest.mark.parametrize(
    "script",
    [
        pytest.param({k: math.nan if k < 10 else 0.5 for k in range(1, 30)}, id="the tenth succeeds"),
        pytest.param({k: math.nan for k in range(1, 30) if k != 3}, id="the third alone succeeds"),
        pytest.param({k: None if k < 6 else math.nan for k in range(1, 10)}, id="not types alone"),
    ],
)
def test_one_reading_is_hope(script: dict[int, Any]) -> None:
    f = Scripted(script={**script, 5: math.nan})
    assert len(ub.maximize(f, n_rounds=14, **GIVEN).trials) == 14


@pytest.mark.filterwarnings("ignore:round 1:RuntimeWarning")
def test_what_a_hopeless_run_did_is_kept_and_a_call_again_goes_on(tmp_path: Path) -> None:
    words: dict[str, Any] = {**GIVEN, "n_rounds": 25, "file": tmp_path / "run.json"}
    script = dict.fromkeys(range(1, 15), math.nan)
    for first, n in ((1, 10), (11, 14)):
        f = Scripted(script={**script, 15: KeyboardInterrupt()}, first=first)
        if n == 10:
            with pytest.raises(RuntimeError, match=re.escape(f"kept in {words['file']}: mend f")):
                ub.maximize(f, **words)
        else:
            ub.maximize(f, **words)
        assert len(ub.Result.load(words["file"]).trials) == n
    run = ub.maximize(Scripted(first=15), **words)
    assert [trial.y is None for trial in run.trials] == [True] * 14 + [False] * 11


def test_without_a_reading_fitted_assumptions_are_said_to_be_missing() -> None:
    run = ub.maximize(Scripted(script={1: KeyboardInterrupt()}), BOX, 3)
    assert run.assumptions is None


def test_without_a_reading_given_assumptions_are_said_all_the_same() -> None:
    run = ub.maximize(Scripted(script={1: KeyboardInterrupt()}), n_rounds=3, **GIVEN)
    assert str(run.assumptions) == str(ASSUMED)


def test_the_initial_design_goes_on_where_an_evaluation_fails() -> None:
    """Round t reads the t-th point whatever happened before, and the fit waits for its readings."""
    whole = Scripted()
    ub.maximize(whole, BOX, 20, seed=3, callbacks=[lambda result, trial: trial.number == 6])
    f = Scripted(script={2: math.nan, 3: math.nan})
    seen: list[bool] = []

    def see(result: ub.Result, trial: ub.Trial) -> None:
        seen.append(not result.engine.is_ready)

    with pytest.warns(RuntimeWarning, match="round 2 failed"):
        ub.maximize(f, BOX, 20, seed=3, callbacks=[see, lambda result, trial: trial.number == 8])
    np.testing.assert_array_equal(f.points[:6], whole.points)
    assert seen == [True] * 7 + [False]
    assert len({float(x[0]) for x in f.points}) == 8


def test_before_the_design_is_finished_the_answer_is_a_fit_to_what_there_is() -> None:
    """And looking at it changes nothing that follows."""
    answers: list[Any] = []

    def look(result: ub.Result, trial: ub.Trial) -> None:
        answers.append((result.x, result.lower, result.upper, len(result.suspects)))

    looked = ub.maximize(Scripted(), BOX, 9, seed=0, callbacks=[look])
    assert_same_run(looked, ub.maximize(Scripted(), BOX, 9, seed=0))
    for n, (x, lower, upper, n_readings) in enumerate(answers, 1):
        assert 0.0 <= x[0] <= 1.0
        assert lower < upper
        assert n_readings == n


@pytest.mark.parametrize("words", [{"domain": BOX}, GIVEN], ids=["fitted", "given"])
def test_a_region_where_f_fails_does_not_use_up_the_rounds(words: dict[str, Any]) -> None:
    """f grows towards the region: whoever asks only there learns nothing more."""

    def fails_beyond(x: Any) -> float:
        return float(x[0]) if x[0] <= 0.7 else math.nan

    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(fails_beyond, n_rounds=16, seed=0, **words)
    last = {tuple(trial.x) for trial in run.trials[-6:]}
    assert len(last) > 1


def test_the_edge_of_a_region_where_f_fails_is_found_by_halves() -> None:
    """The best point lies there; one that crept along the highest bounds would fail to the end."""
    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(lambda x: float(x[0]) if x[0] <= 0.7 else math.nan, [(0, 1)], 20, seed=0)
    assert run.n_failed <= 8
    assert run.x[0] == pytest.approx(0.7, abs=0.005)


def fails_at_eight(p: dict[str, int]) -> float:
    """The best of eight values always fails."""
    return math.nan if p["n"] == 8 else float(p["n"])


GIVEN_EIGHT = ub.Assumptions(ub.Matern(2.5, 0.5), B=10.0, B0=8.0, noise_std=0.1, lam=0.05)


@pytest.mark.parametrize("n_init", [None, 12], ids=["short design", "long design"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_point_that_failed_is_not_asked_again_and_the_choice_goes_on(
    seed: int, n_init: int | None
) -> None:
    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(fails_at_eight, {"n": ub.Whole(1, 8)}, 24, seed=seed, n_init=n_init)
    assert run.n_failed == 1
    assert [trial.params["n"] for trial in run.trials[14:]] == [7] * 10, "the best of the others"


@pytest.mark.parametrize("words", [{"corruption": "unknown"}, {"lies": 2}, {"corruption": 0}])
def test_an_algorithm_that_chooses_itself_does_not_ask_a_failed_point_again(
    words: dict[str, Any],
) -> None:
    words = {**words, "assumptions": GIVEN_EIGHT, "seed": 0}
    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(fails_at_eight, {"n": ub.Whole(1, 8)}, 20, **words)
    assert run.n_failed == 1


def test_where_every_point_has_failed_they_are_asked_again() -> None:
    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(lambda p: math.nan, {"n": ub.Whole(1, 8)}, 9, seed=0)
    assert {trial.params["n"] for trial in run.trials[:8]} == {*range(1, 9)}
    assert len(run.trials) == 9


def test_one_failure_does_not_rule_out_a_point_that_was_read() -> None:
    """But a point that has come to fail always is given up."""
    read: list[int] = []

    def failing(after: range) -> Any:
        def f(p: dict[str, int]) -> float:
            n = p["n"]
            read.append(n)
            return math.nan if n == 8 and read.count(8) in after else float(n)

        read.clear()
        return f

    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(failing(range(4, 5)), {"n": ub.Whole(1, 8)}, 20, seed=0)
    assert run.trials[-1].params["n"] == 8
    with pytest.warns(RuntimeWarning, match="failed"):
        run = ub.maximize(failing(range(4, 99)), {"n": ub.Whole(1, 8)}, 20, seed=0)
    assert run.n_failed == 4
    assert run.trials[-1].params["n"] == 7


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", WITHOUT_READING)
def test_control_c_in_the_first_round_returns_a_result_without_an_answer(words: dict[str, Any]) -> None:
    run = ub.maximize(Scripted(script={1: KeyboardInterrupt()}), n_rounds=10, **words)
    assert run.is_interrupted
    assert run.trials == ()
    assert run.recommendation is None
    assert run.summary() == "No reading yet; 0 of 0 evaluations failed."


@pytest.mark.parametrize("words", [{"domain": BOX, "seed": 1}, GIVEN], ids=["fitted", "given"])
@pytest.mark.parametrize("k", [2, 4, 9])
def test_control_c_in_f_returns_the_result_so_far(k: int, words: dict[str, Any]) -> None:
    f = Scripted(script={k: KeyboardInterrupt()})
    run = ub.maximize(f, n_rounds=10, **words)
    assert run.is_interrupted
    assert len(f.points) == k
    assert len(run.trials) == k - 1
    assert run.n_failed == 0
    assert run.to_dict()["stopped"] == "Ctrl-C"
    assert "stopped: Ctrl-C" in run.summary()
    assert_same_run(run, run.at(k - 1))


def test_control_c_in_a_callback_keeps_the_round() -> None:
    def interrupt(result: ub.Result, trial: ub.Trial) -> None:
        if trial.number == 3:
            raise KeyboardInterrupt

    run = ub.maximize(Scripted(), n_rounds=9, callbacks=[interrupt], **GIVEN)
    assert run.is_interrupted
    assert len(run.trials) == 3


def test_a_run_that_was_not_interrupted_says_so() -> None:
    assert not ub.maximize(Scripted(), n_rounds=2, **GIVEN).is_interrupted


@pytest.mark.parametrize(
    ("owner", "name", "k", "words"),
    [
        pytest.param(Instance, "learn", 7, GIVEN, id="while learning"),
        pytest.param(Hypotheses, "sweep", 30, {"domain": BOX, "seed": 1}, id="while judging"),
        pytest.param(Hypotheses, "sweep", 70, {"domain": BOX, "seed": 1}, id="while judging anew"),
    ],
)
def test_control_c_while_choosing_returns_the_answer_to_the_readings_so_far(
    owner: Any, name: str, k: int, words: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it interrupts: the k-th call of an inner step here."""
    original, calls = getattr(owner, name), [0]

    def interrupted(*arguments: Any, **words: Any) -> Any:
        calls[0] += 1
        if calls[0] == k:
            raise KeyboardInterrupt
        return original(*arguments, **words)

    monkeypatch.setattr(owner, name, interrupted)
    run = ub.maximize(Scripted(lambda x: 0.8 * wave(x)), n_rounds=14, **words)
    assert run.is_interrupted
    n = len(run.trials)
    assert 0 < n < 14
    monkeypatch.setattr(owner, name, original)
    assert_same_run(run, run.at(n))
