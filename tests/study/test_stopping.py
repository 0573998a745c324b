"""When nothing is left to gain: what is thought and what is proven, and runs that end on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, Scripted, trials_of, wave
from unbribable.decision.left_to_gain import LeftToGain, NotYet
from unbribable.study.advice import N_AFTER, N_SD

EPS = 0.4
FALSE, STOPPED = 9.0, "nothing is left to gain above 0.4 (a heuristic)"
EXACT: dict[str, Any] = {
    "assumptions": ub.Assumptions(ub.SquaredExponential(0.3), B=1.5, B0=1.2, noise_std=0.01, lam=0.01),
    "corruption": 0,
}
"""So much is known that something can be proven."""


def smooth(x: Any) -> float:
    return float(np.sin(3.0 * x[0]))


def run(n_rounds: int = 40, f: Any = None, **words: Any) -> ub.Result:
    given: dict[str, Any] = {"domain": BOX, "seed": 0, "stop_below": EPS}
    return ub.maximize(f or Scripted(), n_rounds=n_rounds, **given | words)


def told(script: dict[int, float], n: int = 14, **words: Any) -> ub.Study:
    """A study told the wave at points of its own, those of the script with other readings."""
    study = ub.Study(BOX, seed=0, **words)
    for k, x in enumerate(np.linspace(0.02, 0.98, n)):
        study.tell([x], script.get(k, wave([x])))
    return study


# --- what is left ----------------------------------------------------------------------------------


def test_what_is_expected_is_the_largest_mean_and_two_deviations_less_the_mean_at_the_answer() -> None:
    study = ub.Study(GRID, seed=0)
    f = Scripted()
    for _ in range(12):
        query = study.ask()
        study.tell(query, f(query.x))
        left, points = study.left_to_gain(), [[x] for x in GRID.points[:, 0]]
        if left.expected is None:
            continue
        mean, sd = study.predict(points)
        (here,), _ = study.predict([study.recommend().x])
        assert left.expected == pytest.approx(float(np.max(mean + N_SD * sd)) - here, abs=1e-9)
    assert left.expected is not None


def test_points_without_a_reading_are_not_promising() -> None:
    """They are not asked again, however good they might have been."""
    study = ub.Study(ub.Grid([[0.0], [0.5], [1.0]]), seed=0)
    for y in (0.0, 0.01, 0.0, 0.02, 0.01, 0.0) * 2:
        study.tell([0.0], y)
    assert study.engine.most_promising(N_SD) != [0.0]
    for x in (0.5, 1.0):
        study.tell([x], None)
    assert study.engine.most_promising(N_SD) == [0.0]
    _, (sd,) = study.predict([[0.0]])
    assert study.left_to_gain().expected == pytest.approx(N_SD * sd)


def test_it_is_too_early_until_some_rounds_after_the_design() -> None:
    study, f = ub.Study(BOX, seed=0), Scripted()
    n_least = study.engine.n_design + N_AFTER
    assert study.left_to_gain() == LeftToGain(None, NotYet.EARLY, None)
    for t in range(1, n_least + 1):
        query = study.ask()
        study.tell(query, f(query.x))
        assert (study.left_to_gain().not_yet == NotYet.EARLY) == (t < n_least)


def test_a_minimum_leaves_as_much_as_the_maximum_of_the_opposite() -> None:
    def left(sign: float, direction: str) -> LeftToGain:
        study, f = ub.Study(BOX, seed=0, direction=direction), Scripted()
        for _ in range(14):
            query = study.ask()
            study.tell(query, sign * f(query.x))
        return study.left_to_gain()

    high, low = left(1.0, "maximize"), left(-1.0, "minimize")
    assert high.expected == pytest.approx(low.expected)
    assert high.proven == pytest.approx(low.proven)


def test_it_changes_nothing() -> None:
    asked, silent = told({5: FALSE}), told({5: FALSE})
    asked.left_to_gain()
    asked.result().to_dict()
    assert asked.ask(2)[1].x == silent.ask(2)[1].x


def test_a_lone_peak_ends_nothing() -> None:
    """A stuck reading in a corner looks like a peak until its neighbourhood is read."""
    assumed = ub.Assumptions(ub.Matern(2.5, 0.2), B=5.0, B0=3.0, noise_std=0.05, lam=0.01)
    words: dict[str, Any] = {"assumptions": assumed, "corruption": 0.5, "explore": 2.0}
    initial = [([x], 2.0 if x == 0.1 else 0.1 * x) for x in (0.1, 0.1, 0.5, 0.6, 0.7, 0.8, 0.9)]
    lone = ub.Study(GRID, initial=initial, **words)
    assert lone.recommend().x.tolist() == pytest.approx([0.1])
    assert lone.left_to_gain().not_yet == NotYet.ALONE
    assert not lone.left_to_gain().is_below(1e9)
    near = [*initial, *(([x], 2.0) for x in (0.05, 0.15))]
    assert ub.Study(GRID, initial=near, **words).left_to_gain().is_below(1e9)


def test_a_point_whose_readings_look_false_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    study = told({k: 1.0 + 0.0 * k for k in range(14)} | {5: FALSE, 9: -FALSE})
    engine = study.engine
    flagged = {suspect.t for suspect in study.suspects(flagged_only=True)}
    assert 6 in flagged
    u = next(reading.u for reading in engine.told if reading.t == 6)
    monkeypatch.setattr(type(engine), "incumbent", lambda self, among=None: self.x_of(u))
    left = study.left_to_gain()
    assert left.not_yet == NotYet.FALSE
    assert not left.is_below(1e9)


def test_the_two_kinds_never_stand_for_each_other() -> None:
    thought, proven = LeftToGain(0.1, None, None), LeftToGain(None, NotYet.EARLY, 0.1)
    assert (thought.is_below(0.1), thought.is_proven_below(0.1)) == (True, False)
    assert (proven.is_below(0.1), proven.is_proven_below(0.1)) == (False, True)
    assert not LeftToGain(0.1, NotYet.ALONE, None).is_below(0.1)
    assert not thought.is_below(0.09)
    assert json.loads(json.dumps(proven.to_dict())) == {
        "expected": None,
        "not_yet": "early",
        "proven": 0.1,
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            LeftToGain(0.1234567, None, 2.5),
            "Left to gain (a heuristic): at most 0.123, the largest mean + 2 standard deviations "
            "of any point less the value expected at the recommended one.\nLeft to gain (proven): no "
            "candidate is better by more than 2.5, if what the guarantee supposes holds.",
        ),
        (
            LeftToGain(None, NotYet.EARLY, None),
            "Left to gain (a heuristic): not known yet, there are too few readings after the initial "
            "design.\nLeft to gain (proven): nothing is guaranteed.",
        ),
    ],
)
def test_it_prints_as_two_sentences_that_say_their_kind(value: LeftToGain, said: str) -> None:
    assert str(value) == said


def test_every_reason_has_words() -> None:
    for reason in NotYet:
        assert "(a heuristic): not known" in str(LeftToGain(0.1, reason, None))


# --- runs that end on it ---------------------------------------------------------------------------


def test_a_run_ends_once_nothing_is_expected_to_be_left_and_says_which_kind() -> None:
    result = run()
    assert len(result.trials) < 40
    assert result.stopped == STOPPED
    assert f"; stopped: {STOPPED}" in result.summary()
    assert result.left_to_gain.is_below(EPS)
    assert not result.at(len(result.trials) - 1).left_to_gain.is_below(EPS)
    assert result.to_dict()["left_to_gain"] == result.left_to_gain.to_dict()


def test_a_run_goes_on_while_more_is_left() -> None:
    result = run(14, stop_below=1e-6)
    assert (result.stopped, len(result.trials)) == (None, 14)


def test_a_lie_is_read_past() -> None:
    """The highest reading by far; believing it, nothing would be left to gain."""
    result = run(f=Scripted(script={3: FALSE, 8: FALSE + 1.0}))
    assert result.stopped == STOPPED
    assert {3, 8} <= {suspect.t for suspect in result.suspects if suspect.is_flagged}
    assert wave(result.x) > 0.85


def test_a_callback_ends_a_run_where_the_option_does() -> None:
    """It is slower: every callback is given a result of its own, with all that follows from it."""
    few: dict[str, Any] = {"n_init": 3, "f": lambda x: wave(x)}
    heard = run(stop_below=None, callbacks=[lambda result, _: result.left_to_gain.is_below(1.5)], **few)
    assert trials_of(heard) == trials_of(run(stop_below=1.5, **few))
    assert 8 <= len(heard.trials) < 40
    assert heard.stopped == "a callback"


def test_a_run_that_was_interrupted_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    whole, at, words = run(), 9, {"file": tmp_path / "run.json"}
    assert len(whole.trials) > at
    run(f=Scripted(script={at: KeyboardInterrupt()}), **words)
    resumed = run(f=Scripted(first=at), **words)
    assert trials_of(resumed) == trials_of(whole)
    assert resumed.stopped == STOPPED
    again = run(f=Scripted(script={1: AssertionError("nothing more is asked")}), **words)
    assert trials_of(again) == trials_of(whole)


def test_several_evaluations_at_a_time_end_too() -> None:
    result = run(n_jobs=2, f=lambda x: wave(x))
    assert result.stopped == STOPPED
    assert not result.pending


def test_a_run_ends_once_it_is_proven_and_says_so() -> None:
    result = run(f=smooth, domain=GRID, stop_below=None, stop_proven_below=0.25, **EXACT)
    assert result.stopped == (
        "nothing is left to gain above 0.25 (proven, if what the guarantee supposes holds)"
    )
    n = len(result.trials)
    assert n < 40
    assert result.regret_bound <= 0.25
    assert result.left_to_gain.proven == result.regret_bound
    assert result.at(n - 1).regret_bound > 0.25
    assert max(smooth(x) for x in GRID.points) - smooth(result.x) <= 0.25


def test_a_point_that_the_algorithm_chooses_is_the_one_to_beat() -> None:
    result = run(12, f=smooth, domain=GRID, stop_below=None, **EXACT)
    left = result.left_to_gain
    mean, sd = result.predict([[x] for x in GRID.points[:, 0]])
    (here,), _ = result.predict([result.x])
    assert left.expected == pytest.approx(float(np.max(mean + N_SD * sd)) - here, abs=1e-9)


def test_where_nothing_is_guaranteed_nothing_is_proven_below() -> None:
    given: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 0, "f": inf_first()}
    with pytest.warns(RuntimeWarning, match="must be finite"):
        result = run(16, stop_below=None, stop_proven_below=1e9, **given)
    assert result.left_to_gain.proven is None
    assert result.stopped is None


def inf_first() -> Scripted:
    """A reading that is missing because of its value voids every guarantee."""
    return Scripted(script={1: float("inf")})


@pytest.mark.parametrize("name", ["stop_below", "stop_proven_below"])
@pytest.mark.parametrize("eps", [0.0, -0.1, float("nan"), "0.1", True])
def test_what_may_be_left_is_a_number_above_zero(name: str, eps: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"{name} must be .*, got {name}="):
        run(**{"stop_below": None, name: eps})
