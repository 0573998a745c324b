"""How many false readings it would take, in words and as a picture of the worst case."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from printed import assert_short, unwrapped
from study.scripted import ASSUMED, BOX, wave
from unbribable.decision.recommend import Recommendation
from unbribable.say.figures.run import run_of
from unbribable.say.figures.worst_case import WorstCase, plot_worst_case, worst_case
from unbribable.say.recommendation import needs
from unbribable.study.advice import _clearly_worse

ANY_SIZE = replace(ASSUMED, c_max=math.inf)
X = np.linspace(0.0, 1.0, 16)
KNOWN: dict[str, Any] = {"assumptions": replace(ANY_SIZE, noise_std=0.02), "lies": 1}
"""Nothing is fitted, and few lies change little."""
SIGN = {"maximize": 1.0, "minimize": -1.0}


def told(script: dict[int, float], direction: str = "maximize", **words: Any) -> ub.Result:
    """A run of 16 readings along an arch, those of the script others; turned round to be minimised."""
    noise = np.random.default_rng(3).standard_normal(len(X))
    pairs = [([x], script.get(k, np.sin(3.0 * x) + 0.02 * noise[k])) for k, x in enumerate(X)]
    initial = [(x, SIGN[direction] * y) for x, y in pairs]
    return ub.Study(BOX, initial=initial, direction=direction, seed=0, **words).result()


def advised(**words: Any) -> Recommendation:
    best = told(**{"script": {}} | words).recommendation
    assert best is not None
    return best


# --- the sentence --------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", SIGN)
def test_it_names_the_least_number_that_does_not_exclude_a_value_clearly_worse(direction: str) -> None:
    sign, run = SIGN[direction], told({}, direction, **KNOWN)
    best = run.recommendation
    assert best is not None
    by = sign * (best.estimate - best.clearly_worse)
    honest = [each.y for each in run.suspects if not each.is_flagged]
    assert 0.25 <= by / (max(honest) - min(honest)) <= 0.375 + 1e-9
    n = best.n_needed
    end = 0 if direction == "maximize" else 1
    assert sign * run.worst_case(n)[end] < sign * best.clearly_worse
    assert sign * run.worst_case(n - 1)[end] >= sign * best.clearly_worse
    assert n == run.lies_needed(best.clearly_worse) > 1
    claim = f"f(x) {'<' if sign > 0 else '>'} {best.clearly_worse:g}"
    said = f"{claim} would need at least {n} false readings of 16, with the same probability"
    assert needs(best) == said
    assert f"  {said}" in run.summary().splitlines()
    assert f"  {said}" in str(best).splitlines()
    assert_short(run.summary())


def test_it_supposes_the_fit_where_there_is_one() -> None:
    run = told({}, kernel=ASSUMED.kernel, B=2.0, lies=1)  # the noise is fitted
    said = needs(run.recommendation)
    assert said.endswith(" false readings of 16, with the same probability if the fitted model is right")
    assert f"  {said}" in run.summary().splitlines()


def test_it_is_the_same_whichever_way_is_better() -> None:
    up, down = advised(**KNOWN), advised(direction="minimize", **KNOWN)
    assert down.clearly_worse == -up.clearly_worse
    assert needs(down) == needs(up).replace("<", ">").replace("> ", "> -")


@pytest.mark.parametrize("direction", SIGN)
@pytest.mark.parametrize("n_lies", [1, 2, 3])
def test_it_names_no_more_lies_than_a_liar_needed(n_lies: int, direction: str) -> None:
    """Lies of 1 at a point where f is -0.9; whenever f(x) is clearly worse, so many were enough."""
    sign, rng = SIGN[direction], np.random.default_rng(0)
    is_fooled = []
    for n_honest in range(1, 6):
        study = ub.Study(BOX, assumptions=ANY_SIZE, lies=0.5, direction=direction, seed=0)
        for x in (0.0, 0.35, 0.7):
            study.tell([x], sign * (wave([x]) + 0.05 * rng.standard_normal()))
        for y in [1.0] * n_lies + [wave([0.52])] * (n_honest - 1):
            study.tell([0.52], sign * (y + 0.05 * rng.standard_normal()))
        best = study.recommend()
        assert best is not None
        assert best.clearly_worse is not None
        value = sign * wave(best.x)
        if sign * value < sign * best.clearly_worse:
            assert best.n_needed <= n_lies
            is_fooled.append(n_honest)
    assert is_fooled


def test_where_every_number_of_lies_leaves_it_open_it_says_that() -> None:
    study = ub.Study(BOX, assumptions=ANY_SIZE, lies=1, seed=0)
    study.tell([0.1], 0.7)
    study.tell([0.9], 0.9)
    best = study.recommend()
    assert best is not None
    assert best.n_needed == 0
    assert needs(best) == f"f(x) < {best.clearly_worse:g} is not excluded even if no reading is false"


def test_where_those_that_there_must_be_are_enough_it_says_that() -> None:
    study = ub.Study(BOX, assumptions=ANY_SIZE, lies=1, seed=0)
    for x, y in ((0.9, 0.9), (0.9, -0.9), (0.5, 0.2)):
        study.tell([x], y)
    best = study.recommend()
    assert best is not None
    assert best.lies is not None
    assert best.n_needed == best.lies.least == 1
    assert needs(best) == (
        f"f(x) < {best.clearly_worse:g} is not excluded, since there must be 1 false reading of 3"
    )


def test_nothing_is_said_where_nothing_is_guaranteed_or_lies_are_not_counted() -> None:
    with pytest.warns(ub.AssumptionsRefuted):
        refuted = advised(script=dict.fromkeys(range(5, 9), -8.0), assumptions=ASSUMED, corruption=0)
    assert refuted.lower is None
    total = advised(corruption=0.5)
    assert total.lower is not None
    for best in (refuted, total, replace(advised(), probability=None), replace(advised(), lies=None)):
        assert needs(best) == ""
        assert "false reading" not in str(best)


def test_nothing_is_said_of_values_that_the_assumptions_exclude() -> None:
    """f is at least -B0 = -1.2, so no number of lies takes it below."""
    study = ub.Study(BOX, assumptions=ANY_SIZE, lies=1, seed=0)
    for x in (0.2, 0.5, 0.9):
        study.tell([x], wave([x]))
    best = study.recommend()
    assert best is not None
    assert needs(best)
    assert replace(best, clearly_worse=-1.3).n_needed == 12
    assert needs(replace(best, clearly_worse=-1.3)) == ""


@pytest.mark.parametrize(
    ("value", "spread", "sign", "worse"),
    [
        (2.01, 3.828, 1.0, 1.0),
        (-2.01, 3.828, -1.0, -1.0),
        (123456.78, 1.0, 1.0, 123456.5),
        (0.8972, 0.4739, 1.0, 0.77),
        (1e150, 1e149, 1.0, 9.7e149),
        (3e-9, 4e-9, 1.0, 1.9e-9),
        (1.0, 0.0, 1.0, None),
        (1.0, 5e-324, 1.0, None),
    ],
)
def test_a_value_clearly_worse_is_round(
    value: float, spread: float, sign: float, worse: float | None
) -> None:
    found = _clearly_worse(value, spread, sign)
    assert found == (worse if worse is None else pytest.approx(worse, rel=1e-12))
    if found is not None:
        assert 0.25 - 1e-9 <= sign * (value - found) / spread <= 0.375 + 1e-9


def test_every_door_says_it() -> None:
    run = told({3: 5.0})
    audit = ub.audit(run)
    said = needs(run.recommendation)
    assert said
    assert said in unwrapped(str(audit))
    for plain in (run.to_dict(), audit.to_dict()):
        assert plain["n_needed"] == run.recommendation.n_needed
        assert plain["clearly_worse"] == run.recommendation.clearly_worse


# --- the picture ---------------------------------------------------------------------------------


def shown(run: ub.Result) -> WorstCase:
    return worst_case(run.recommendation, run.n_suspects)


def bars(figure: Any) -> dict[int, tuple[float, float]]:
    """Number of lies -> the ends of its bar."""
    found = {}
    for bar in itertools.chain(*figure.axes[0].containers):
        low = bar.get_y()
        found[round(bar.get_x() + bar.get_width() / 2)] = (low, low + bar.get_height())
    return found


def words_of(figure: Any) -> tuple[list[str], str]:
    """Labels and note of the legend."""
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()], unwrapped(legend.get_title().get_text())


@pytest.mark.parametrize("direction", SIGN)
def test_the_bars_are_the_worst_case_by_the_number_of_lies(direction: str) -> None:
    run = told({3: 5.0, 9: -5.5}, direction, **KNOWN)
    figure, found = plot_worst_case(run), shown(run)
    low, high = figure.axes[0].get_ylim()
    drawn = bars(figure)
    best = run.recommendation
    assert min(drawn) == found.least == 2
    assert max(drawn) == found.last >= best.n_needed > 3
    assert {k: row for k, *row in found.rows} == {
        k: list(run.recommendation.lies.table(found.last)[k - 2][1:]) for k in drawn
    }
    for k, lower, upper in found.rows:
        assert run.worst_case(k)[0] <= lower <= run.estimate <= upper <= run.worst_case(k)[1]
        assert drawn[k] == pytest.approx((max(lower, low), min(upper, high)))
    assert drawn[best.n_lies] == pytest.approx((best.lower, best.upper))


def test_the_number_allowed_and_the_number_flagged_are_marked() -> None:
    run = told({3: 5.0, 9: -5.5, 15: 5.2}, lies=1)
    figure = plot_worst_case(run)
    labels, _ = words_of(figure)
    assert (run.n_suspects, run.recommendation.n_lies) == (3, 3)
    assert "number that looks false: 3" in labels
    assert "worst case as printed, for 3" in labels
    assert "excluded: at least 3 are lies" in labels
    (dark,) = [bar for bar in figure.axes[0].containers if bar.get_label().startswith("worst case as")]
    assert [round(bar.get_x() + bar.get_width() / 2) for bar in dark] == [3]
    (cross,) = [one for one in figure.axes[0].lines if one.get_label().startswith("number that")]
    assert cross.get_xdata().tolist() == [3]


def test_the_caption_says_what_is_guaranteed_and_what_it_supposes() -> None:
    run = told({3: 5.0, 9: -5.5})
    labels, note = words_of(plot_worst_case(run, what="yield"))
    assert "if at most so many readings are lies, of any size" in note
    assert "at once with probability at least 0.9, against weak and strong adversaries" in note
    assert note.endswith("if the fitted model is right.")
    assert note.startswith(f"The point: x = [{run.x[0]:.6g}].")
    best = run.recommendation
    assert f"yield < {best.clearly_worse:g} needs at least {best.n_needed} lies" in labels
    assert "value to expect (an estimate)" in labels
    given = told({}, **KNOWN)
    assert words_of(plot_worst_case(given))[1].endswith("if what is assumed is right.")


def test_a_bar_at_which_nothing_is_left_ends_the_axis_and_stands_for_all_larger_numbers() -> None:
    study = ub.Study({"t": (0.0, 1.0)}, assumptions=ANY_SIZE, lies=3, seed=0)
    for x in (0.1, 0.5, 0.9, 0.52):
        study.tell({"t": x}, wave([x]))
    found, figure = shown(study.result()), plot_worst_case(study)
    assert found.is_open
    assert found.rows[-1] == (found.last, -1.2, 1.2)
    assert found.last < 3 == found.n_allowed
    assert found.place(3) == found.last
    labels, note = words_of(figure)
    assert "worst case as printed, for 3" in labels
    assert "no bound is left but |f| ≤ B0" in labels
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()][-1] == f"{found.last}+"
    assert note.startswith("The point: t=")


def test_bars_that_are_cut_end_in_an_arrow() -> None:
    run = told({k: 5.0 for k in range(0, 16, 3)}, assumptions=replace(ANY_SIZE, B=40.0, B0=40.0), lies=7)
    figure, found = plot_worst_case(run), shown(run)
    low, high = figure.axes[0].get_ylim()
    beyond = {k for k, lower, upper in found.rows if lower < low or upper > high}
    arrows = [one for one in figure.axes[0].lines if one.get_marker() in ("v", "^")]
    assert {int(x) for one in arrows for x in one.get_xdata()} == beyond != set()
    for one in arrows:
        assert one.get_ydata()[0] == (low if one.get_marker() == "v" else high)


def test_a_picture_of_a_refuted_run_shows_what_is_left_and_no_worst_case_as_printed() -> None:
    run = told(dict.fromkeys(range(5, 9), -8.0), assumptions=ASSUMED, corruption=0)
    with pytest.warns(ub.AssumptionsRefuted):
        found = shown(run)
    assert found.n_allowed is None
    assert found.least == 4
    labels, _ = words_of(plot_worst_case(run))
    assert not [label for label in labels if "as printed" in label or " needs " in label]


@pytest.mark.parametrize(
    "source",
    [
        lambda: ub.Study(BOX, initial=[([0.5], 1.0)], seed=0),
        lambda: ub.Study(BOX, initial=[([x], 1.0) for x in X], seed=0),
        lambda: quorum(),
    ],
    ids=["one reading", "equal readings", "an algorithm"],
)
def test_a_picture_can_be_made_of_little(source: Callable[[], Any]) -> None:
    made = source()
    best = run_of(made).best
    assert sorted(bars(plot_worst_case(made))) == [k for k, _, _ in worst_case(best, 0).rows]


def quorum() -> ub.QuorumGPUCB:
    algorithm = ub.QuorumGPUCB(BOX, ANY_SIZE, n_lies=1, seed=0)
    for x in X[::3]:
        algorithm.tell(x=[x], y=wave([x]))
    return algorithm
