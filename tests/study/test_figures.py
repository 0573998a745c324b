"""Figures of a run: what they hold is what the result says, and they can be read."""

import itertools
import sys
import warnings

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.say.figures.belief import MAX_SLICES, axes_of, belief, section
from unbribable.say.figures.importance import importance
from unbribable.say.figures.marks import window
from unbribable.say.figures.plots import (
    plot_history,
    plot_importance,
    plot_posterior,
    plot_suspects,
    plot_worst_case,
)
from unbribable.say.figures.run import against, band_label, band_note, history, run_of

LIES = {12: 1.9, 17: -1.1}
MIXED = {"rate": ub.Real(1e-4, 1.0, log=True), "n": ub.Whole(1, 6), "kind": ["a", "b", "c"], "one": [7]}


def assumed(**words):
    return ub.Assumptions(
        **{"kernel": ub.SquaredExponential(0.2), "B": 3.0, "B0": 2.0, "noise_std": 0.05, "lam": 0.01}
        | words
    )


def truth(x):
    return float(np.sin(6.0 * x[0]))


def with_lies(f, sign=1.0):
    """f with noise, and lies in rounds 12 and 17; the sign turns everything round."""
    rounds, noise = itertools.count(1), np.random.default_rng(0)
    return lambda x: sign * (f(x) + 0.05 * noise.standard_normal() + LIES.get(next(rounds), 0.0))


def run_on_a_line(direction="maximize", **words):
    sign = 1.0 if direction == "maximize" else -1.0
    given = {"assumptions": assumed(), "corruption": 3.0, "seed": 0} | words
    return ub.maximize(with_lies(truth, sign), [(0.0, 1.0)], 24, direction=direction, **given)


@pytest.fixture(scope="module")
def line():
    return run_on_a_line()


@pytest.fixture(scope="module")
def line_down():
    return run_on_a_line("minimize")


@pytest.fixture(scope="module")
def mixed():
    def f(p):
        if p["n"] == 6:
            raise ArithmeticError("too large")
        return (np.log10(p["rate"]) + 2.0) ** 2 + 0.2 * (p["n"] - 3) ** 2 + (p["kind"] == "b")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f fails at times, and B is a guess that is too small
        return ub.maximize(
            f, MIXED, 14, assumptions=assumed(), corruption=1.0, seed=0, direction="minimize",
            initial=[({"rate": 0.1, "n": 2, "kind": "b", "one": 7}, 2.2)],
        )  # fmt: skip


def algorithm_on(domain, f, n=12, kind=ub.RobustGPUCB, **words):
    algorithm = kind(domain, assumed(), **words)
    for _ in range(n):
        query = algorithm.ask()
        algorithm.tell(query, f(query.x))
    return algorithm


# --- history -------------------------------------------------------------------------------------


def test_the_naive_line_is_the_running_maximum_or_minimum(line, line_down):
    up, down = run_of(line).naive_so_far, run_of(line_down).naive_so_far
    assert up.tolist() == np.maximum.accumulate([trial.y for trial in line.trials]).tolist()
    assert down.tolist() == np.minimum.accumulate([trial.y for trial in line_down.trials]).tolist()
    assert up[-1] == line.naive.y
    assert down[-1] == line_down.naive.y


def test_a_history_is_what_the_result_said_then(line):
    past = history(line, n_checks=5)
    assert len(past) == 5
    assert past[-1].t == 24
    for k in (1, 4):
        then = line.at(past[k].t).recommendation
        assert (past[k].lower, past[k].upper) == (then.lower, then.upper)
        assert past[k].x.tolist() == then.x.tolist()


def test_a_lie_lifts_the_naive_line_for_good_and_not_the_estimate(line):
    last = history(line)[-1]
    assert run_of(line).naive_so_far[-1] > 1.5
    assert last.mean == pytest.approx(truth(line.x), abs=0.15)
    assert last.lower <= last.mean <= last.upper


def test_failed_evaluations_are_in_the_history_and_in_no_line(mixed):
    failed = [trial.t for trial in mixed.trials if trial.y is None]
    marks = {one.get_label(): one.get_xdata().tolist() for one in plot_history(mixed).axes[0].lines}
    assert marks["failed evaluation"] == failed != []
    assert not set(failed) & set(marks["reading"])
    assert len(run_of(mixed).naive_so_far) + len(failed) == len(mixed.trials)


def test_the_history_of_a_design_that_was_not_finished_is_its_end():
    result = ub.maximize(lambda x: float(x.sum()), [(0.0, 1.0)] * 2, 9, n_init=9, seed=0).at(3)
    (only,) = history(result)
    assert (only.t, only.lower) == (3, result.lower)


# --- suspects ------------------------------------------------------------------------------------


def test_the_flagged_readings_are_those_of_the_result(line):
    flagged = {suspect.t for suspect in line.suspects if suspect.is_flagged}
    run = run_of(line)
    assert flagged == {12, 17}
    assert set(run.rounds[run.is_flagged].tolist()) == flagged
    assert [one.t for one in run.suspects] == [one.t for one in line.suspects]
    for one in run.suspects:
        assert against(one).endswith("not flagged") == (not one.is_flagged)
        assert all(evidence in against(one) for evidence in one.evidence)
        assert one.y == line.trials[one.t - 1].y


def test_there_are_no_more_rows_than_readings():
    algorithm = algorithm_on(ub.Grid([[0.0], [1.0]]), truth, n=3, C=1.0)
    assert len(plot_suspects(algorithm).axes[0].get_yticks()) == 3
    assert len(plot_suspects(algorithm, 2).axes[0].get_yticks()) == 2
    with pytest.raises(ValueError, match="k must be >= 1, got k=0"):
        plot_suspects(algorithm, 0)


# --- importance ----------------------------------------------------------------------------------


def test_importance_is_the_share_of_the_variance_that_a_parameter_causes():
    box = ub.Box([0.0] * 3, [1.0] * 3)
    learner = ub.RobustGPUCB(box, assumed(kernel=ub.SquaredExponential(1.0), noise_std=0.001), C=0.0)
    for x in np.random.default_rng(0).random((40, 3)):
        learner.tell(x=x, y=float(x[0] - 0.5 + (2.0 * x[0] - 1.0) * (2.0 * x[1] - 1.0)))
    found = importance(run_of(learner))  # of the variance: x[0] alone 1/12, both together 1/9
    assert found.names == ("x[0]", "x[1]", "x[2]")
    assert found.alone == pytest.approx([3.0 / 7.0, 0.0, 0.0], abs=0.02)
    assert found.total == pytest.approx([1.0, 4.0 / 7.0, 0.0], abs=0.02)
    assert found.sd == pytest.approx((7.0 / 36.0) ** 0.5, rel=0.05)
    assert found.doubt < 0.1


# --- belief --------------------------------------------------------------------------------------


def test_the_estimate_is_the_mixture_of_posteriors_of_the_readings_that_look_honest(line):
    """Each hypothesis leaves out those that it calls lies, and all of them the one that is a lie."""
    run, chains = run_of(line), line.engine.judge().chains
    data, kernel, U = chains.data, run.algorithm.assumptions.kernel, np.array([[0.1], [0.5]])
    assert chains.z[:, run.is_flagged].all(axis=0).any()
    _, scale2, noise2, center = chains.parts()
    means, variances = np.empty((len(center), 2)), np.empty((len(center), 2))
    for p, is_lie in enumerate(chains.z > 0.5):
        kept, off = run.U[~is_lie], (run.y[~is_lie] - data.origin) / data.unit - center[p]
        K = scale2[p] * kernel(kept, kept) + noise2[p] * np.eye(len(off))
        cross = scale2[p] * kernel(kept, U)
        means[p] = center[p] + cross.T @ np.linalg.solve(K, off)
        variances[p] = scale2[p] - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
    mean, sd = run.estimate(U)
    assert mean == pytest.approx(data.origin + data.unit * means.mean(axis=0), abs=1e-4)
    total = (variances + (means - means.mean(axis=0)) ** 2).mean(axis=0)
    assert sd == pytest.approx(data.unit * np.sqrt(total), abs=1e-4)


def test_the_interval_contains_the_estimate_and_the_truth(line):
    (only,) = belief(line, truth=truth).sections
    band = only
    assert only.axes[0].values[[0, -1]].tolist() == [0.0, 1.0]
    assert np.all((band.lower <= band.mean) & (band.mean <= band.upper))
    assert np.all((band.lower <= only.truth) & (only.truth <= band.upper))
    low, high = band.near
    assert np.all((band.lower <= low) & (low <= band.mean) & (band.mean <= high) & (high <= band.upper))


def test_the_interval_at_a_candidate_is_not_narrower_than_the_recommended_one(line):
    known = belief(line)
    assert known.u.tolist() == line.recommendation.x.tolist()
    assert known.at_u.lower <= line.lower + 1e-9
    assert known.at_u.upper >= line.upper - 1e-9


def test_minimising_shows_the_mirror_image_in_the_users_units(line, line_down):
    up, down = belief(line), belief(line_down)
    assert down.run.y.tolist() == [trial.y for trial in line_down.trials]
    assert down.run.y == pytest.approx(-up.run.y)
    (one,), (other,) = up.sections, down.sections
    assert other.mean == pytest.approx(-one.mean, abs=1e-9)
    assert other.lower == pytest.approx(-one.upper, abs=1e-9)
    assert other.upper == pytest.approx(-one.lower, abs=1e-9)
    assert up.run.naive == down.run.naive


def test_a_fitted_run_is_shown_in_the_users_units():
    rng = np.random.default_rng(1)
    result = ub.maximize(
        lambda x: 500.0 + 40.0 * truth(x) + rng.standard_normal(), [(0.0, 1.0)], 16, seed=0
    )
    known = belief(result)
    (only,) = known.sections
    near = np.interp(result.x[0], only.axes[0].values, only.mean)
    assert near == pytest.approx(500.0 + 40.0 * truth(result.x), abs=5.0)
    assert "the fitted model is right" in band_note(known.run)


def test_named_parameters_have_axes_of_their_own_kind(mixed):
    known = belief(mixed)
    rate, n, kind = (one.axes[0] for one in known.sections)  # "one" has one value: no axis
    assert (rate.name, rate.is_log, rate.is_points, rate.options) == ("rate", True, False, None)
    assert rate.values[[0, -1]].tolist() == [1e-4, 1.0]
    assert (n.values.tolist(), n.is_points) == ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], True)
    assert (kind.values.tolist(), kind.options) == ([0.0, 1.0, 2.0], ("a", "b", "c"))
    for k, trial in enumerate(trial for trial in mixed.trials if trial.y is not None):
        x = known.run.U[k : k + 1]
        assert rate.positions(x)[0] == pytest.approx(trial.params["rate"])
        assert n.positions(x)[0] == trial.params["n"]
        assert kind.options[int(kind.positions(x)[0])] == trial.params["kind"]


def test_slices_go_through_the_point_asked_for(mixed):
    at = {"rate": 1e-4, "n": 5, "kind": "b", "one": 7}
    known = belief(mixed, at=at)
    rate, n, kind = known.sections
    here = known.at_u.mean
    assert rate.mean[0] == pytest.approx(here)
    assert n.mean[4] == pytest.approx(here)
    assert kind.mean[1] == pytest.approx(here)
    assert not known.is_recommended


def test_a_plane_is_laid_out_as_it_is_drawn():
    algorithm = algorithm_on(ub.Box([0.0, -1.0], [2.0, 1.0]), lambda x: float(x[0] - 0.5 * x[1]), C=1.0)
    known = belief(algorithm, truth=lambda x: x[0] + 10.0 * x[1])
    (plane,) = known.sections
    up, across = plane.axes
    x, y = across.values[3], up.values[70]
    assert plane.truth[70, 3] == pytest.approx(x + 10.0 * y)
    there = section(known.run, np.array([x / 2.0, (y + 1.0) / 2.0]))
    assert plane.mean[70, 3] == pytest.approx(float(there.mean))
    assert plane.sd[70, 3] == pytest.approx(float(there.sd))


def test_a_grid_that_is_a_lattice_is_shown_at_its_values_and_another_one_between_them():
    lattice = ub.Grid([[a, b, 1.0] for a in (0.0, 0.5, 2.0) for b in (0.0, 1.0)])
    (plane,) = belief(algorithm_on(lattice, truth, n=4, C=1.0)).sections
    assert plane.mean.shape == (2, 3)  # the third coordinate has one value: no axis
    assert plane.axes[1].values.tolist() == [0.0, 0.5, 2.0]
    scattered = ub.Grid(np.random.default_rng(0).random((20, 3)))
    lines = belief(algorithm_on(scattered, truth, n=4, C=1.0)).sections
    assert [one.axes[0].name for one in lines] == ["x[0]", "x[1]", "x[2]"]
    assert all(len(one.axes[0].values) > 100 for one in lines)


def test_of_many_parameters_those_are_shown_along_which_the_estimate_moves():
    rng = np.random.default_rng(0)
    d, algorithm = 14, ub.RobustGPUCB(ub.Box([0.0] * 14, [1.0] * 14), assumed(
        kernel=ub.SquaredExponential(tuple([100.0] * 12 + [0.5] * 2))), C=1.0)  # fmt: skip
    for x in rng.random((10, d)):
        algorithm.tell(x=x, y=float(x[-1] + x[-2] - 1.0))
    known = belief(algorithm)
    names = [one.axes[0].name for one in known.sections]
    assert len(names) == MAX_SLICES
    assert known.n_left_out == 2
    assert names[-2:] == ["x[12]", "x[13]"]
    assert "2 parameters" in plot_posterior(algorithm).legends[0].get_title().get_text()


def test_a_refuted_interval_is_not_drawn(line):
    run = run_of(line)
    for instance in run.algorithm.instances.values():
        assert not instance.is_crossed
    run.algorithm.assumptions.__dict__["B0"], kept = -1.0, run.algorithm.assumptions.B0
    try:
        band = section(run, np.array([0.5]))
    finally:
        run.algorithm.assumptions.__dict__["B0"] = kept
    assert np.isnan(band.lower).all()
    assert np.isfinite(band.mean).all()
    assert band.near[0] <= band.mean


@pytest.mark.parametrize(
    ("name", "words", "label"),
    [
        ("gp-ucb", {}, "interval if no reading lies, 90 %"),
        ("gp-ucb", {"beta": 2.0}, "interval (no guarantee)"),
        ("robust", {"C": 1.5}, "robust interval, 90 %"),
        ("fast-slow", {"C": 1.5}, "robust interval, 94 %"),
        ("layered", {"T": 12}, "robust interval, 95 %"),
    ],
)
def test_the_legend_says_what_the_band_is(name, words, label):
    domain = ub.Grid(np.linspace(0.0, 1.0, 30)[:, None])
    algorithm = algorithm_on(domain, truth, kind=ALGORITHMS[name], **words)
    run = run_of(algorithm)
    assert band_label(run.best) == label
    assert ("at most 1.5" in band_note(run)) == (words.get("C") == 1.5)
    assert label in legend_of(plot_posterior(algorithm))


def test_the_window_keeps_the_core_and_cuts_what_is_far():
    low, high = window(np.array([0.0, 1.0, np.nan]), np.array([2.0, 50.0, -1e9]), 3.0)
    assert -0.2 < low < 0.0
    assert 2.0 < high < 2.2
    assert window(np.array([3.0]))[0] < 3.0 < window(np.array([3.0]))[1]
    assert window(np.array([])) != (0.0, 0.0)


# --- figures -------------------------------------------------------------------------------------


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def tick_labels(axis):
    """Those that are drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [tick.label1 for tick in ticks if tick.label1.get_visible()]


def check_readable(figure, are_turned=False):
    """Every axis is named, no word leaves the figure, none hides another unless turned."""
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None  # pyplot does not know it, and never shows it
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [*figure.legends[0].get_texts(), figure.legends[0].get_title()]
    for ax in figure.axes:
        texts += ax.texts
        if ax.axison:
            assert ax.get_xlabel()
            texts += [ax.xaxis.label, ax.yaxis.label, *tick_labels(ax.xaxis), *tick_labels(ax.yaxis)]
    found = [text.get_window_extent(canvas.get_renderer()) for text in texts if text.get_text()]
    whole = figure.bbox.padded(1.0)
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in found)
    assert all(whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in found)
    for one, other in () if are_turned else itertools.combinations(found, 2):
        assert not one.padded(-1.0).overlaps(other.padded(-1.0))


def test_the_figures_of_a_line_can_be_read(line):
    figure = plot_posterior(line, truth=truth)
    check_readable(figure)
    assert {"estimate", "estimate ± 2 sd", "robust interval, 90 %", "reading", "suspicious reading",
            "best reading (naive)", "recommended point", "truth"} == set(legend_of(figure))  # fmt: skip
    check_readable(plot_history(line))
    check_readable(plot_suspects(line))
    check_readable(plot_importance(line))
    check_readable(plot_worst_case(line))
    assert "reading" not in legend_of(plot_posterior(line, trials=False))


def test_a_notebook_is_given_a_picture_of_the_width_asked_for(line):
    for plot in (plot_posterior, plot_history, plot_suspects, plot_importance, plot_worst_case):
        png, size = plot(line, width=4.0)._repr_png_()
        assert png.startswith(b"\x89PNG")
        assert size["width"] == 4 * 96
    with pytest.raises(ValueError, match="width must be finite and >= 2, got width=1"):
        plot_history(line, width=1)


def test_figures_are_drawn_into_the_axes_given_and_leave_their_legend_to_the_user(line, mixed):
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 5).ravel()
    for plot, ax in zip(
        (plot_posterior, plot_history, plot_suspects, plot_importance, plot_worst_case),
        axes,
        strict=True,
    ):
        assert plot(line, ax=ax) is figure
        assert ax.get_legend_handles_labels()[1]
    assert not figure.legends
    plane = algorithm_on(ub.Box([0.0, 0.0], [1.0, 1.0]), truth, n=4, C=1.0)
    plot_posterior(plane, ax=axes[0])
    with pytest.raises(ValueError, match="ax must be left out with more than two parameters, got 3"):
        plot_posterior(mixed, ax=axes[0])
    with pytest.raises(ValueError, match="width must be left out where ax is given"):
        plot_history(line, ax=axes[0], width=3.0)
    with pytest.raises(TypeError, match="ax must be matplotlib's Axes, got 3"):
        plot_history(line, ax=3)


def test_a_study_is_drawn_as_its_result_is():
    study = ub.Study([(0.0, 1.0)], assumptions=assumed(), corruption=1.0, seed=0)
    for _ in range(3):
        query = study.ask()
        study.tell(query, truth(query.x))
    assert legend_of(plot_history(study)) == legend_of(plot_history(study.result()))
    assert run_of(study).y.tolist() == [trial.y for trial in study.result().trials]


@pytest.mark.parametrize(("C", "is_drawn"), [(0.0, True), (100.0, False)])
def test_an_interval_that_would_fill_the_axes_is_left_out(C, is_drawn):
    assumed = ub.Assumptions(ub.Matern(2.5, 0.4), B=3.0, B0=3.0, noise_std=0.01, lam=0.01)
    learner = ub.RobustGPUCB(ub.Grid(np.linspace(0.0, 1.0, 21)[:, None]), assumed, C=C)
    for x in np.linspace(0.0, 1.0, 21):
        learner.tell(x=[x], y=np.sin(5.0 * x))
    figure = plot_posterior(learner)
    assert any("interval," in label for label in legend_of(figure)) == is_drawn
    assert "interval at the recommended point: [" in figure.legends[0].get_title().get_text()


def test_the_figures_of_named_parameters_can_be_read(mixed):
    figure = plot_posterior(mixed)
    check_readable(figure)
    rate, n, kind = figure.axes
    assert (rate.get_xscale(), n.get_xscale()) == ("log", "linear")
    assert [text.get_text() for text in kind.get_xticklabels()] == ["a", "b", "c"]
    assert [ax.get_xlabel() for ax in figure.axes] == ["rate", "n", "kind"]
    figure = plot_history(mixed)
    check_readable(figure)
    assert "failed evaluation" in legend_of(figure)


def test_the_figure_of_two_parameters_can_be_read(mixed):
    algorithm = algorithm_on(ub.Box([0.0, -1.0], [2.0, 1.0]), lambda x: float(x[0] - 0.5 * x[1]), C=1.0)
    for truth_ in (None, lambda x: float(x[0])):
        figure = plot_posterior(algorithm, truth=truth_)
        check_readable(figure)
        bars = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
        assert len(bars) == (2 if truth_ is None else 3)
        assert all("units of f" in bar.get_xlabel() for bar in bars)
    pair = {"kind": ["long name of an option", "b", "c"], "rate": ub.Real(1e-4, 1.0, log=True)}
    result = ub.maximize(
        lambda p: -abs(np.log10(p["rate"]) + 2.0), pair, 8, assumptions=assumed(B0=4.0), seed=0
    )
    check_readable(plot_posterior(result))


def test_a_lie_of_any_size_leaves_the_axes_readable():
    lies = iter([0.0] * 6 + [1e7] + [0.0] * 20)
    result = ub.maximize(lambda x: truth(x) + next(lies), [(0.0, 1.0)], 16, seed=0)
    check_readable(plot_worst_case(result))
    for figure in (plot_posterior(result), plot_history(result)):
        check_readable(figure)
        assert "reading beyond the axis" in legend_of(figure)
        low, high = figure.axes[0].get_ylim()
        assert high - low < 50.0
    figure = plot_suspects(result, 4)
    check_readable(figure)
    assert any("1e+07" in text.get_text() for text in figure.axes[1].texts)


def test_figures_can_be_made_of_one_reading():
    algorithm = algorithm_on(ub.Grid(np.linspace(0.0, 1.0, 9)[:, None]), truth, n=1, C=1.0)
    check_readable(plot_posterior(algorithm))
    check_readable(plot_suspects(algorithm))
    result = ub.maximize(truth, [(0.0, 1.0)], 1, seed=0)
    check_readable(plot_posterior(result))
    check_readable(plot_history(result))
    check_readable(plot_worst_case(result))


def test_figures_can_be_made_where_every_reading_is_flagged():
    algorithm = ub.RobustGPUCB(ub.Box([0.0], [1.0]), assumed(c_max=100.0), C=100.0)
    algorithm.tell(x=[0.5], y=50.0)
    assert run_of(algorithm).is_flagged.all()
    check_readable(plot_posterior(algorithm))
    check_readable(plot_suspects(algorithm))


def test_many_options_with_long_names_do_not_hide_each_other():
    names = [f"option number {k} of all of them" for k in range(6)]
    space = {"which": names, "n": ub.Whole(1, 20, log=True), "x": (0.0, 1.0)}
    result = ub.maximize(lambda p: p["x"], space, 6, assumptions=assumed(), corruption=1.0, seed=0)
    figure = plot_posterior(result)
    check_readable(figure, are_turned=True)
    low, high = figure.axes[1].get_xlim()
    assert low < 1.0
    assert high > 20.0


def test_drawing_changes_nothing(line):
    n = len(line.engine.algorithm().readings)
    query = line.engine.ask(25)
    plot_posterior(line)
    plot_history(line)
    plot_worst_case(line)
    assert len(line.engine.algorithm().readings) == n
    assert line.engine.ask(25).x.tolist() == query.x.tolist()


@pytest.mark.parametrize("plot", [plot_posterior, plot_history, plot_suspects, plot_worst_case])
def test_a_figure_of_nothing_is_refused(plot):
    def fails(x):
        raise ArithmeticError

    with pytest.warns(RuntimeWarning, match="failed"):
        nothing = ub.maximize(fails, [(0.0, 1.0)], 1, seed=0)
    with pytest.raises(ValueError, match="at least one reading, got a result without any"):
        plot(nothing)
    with pytest.raises(TypeError, match="a Result, a study or an algorithm, got 3"):
        plot(3)


def test_a_bare_algorithm_has_no_history_and_one_value_no_posterior():
    algorithm = algorithm_on(ub.Grid([[1.0]]), truth, n=1, C=1.0)
    with pytest.raises(TypeError, match="a history needs a Result of maximize"):
        plot_history(algorithm)
    with pytest.raises(ValueError, match="needs a parameter with two values, there is none"):
        axes_of(run_of(algorithm).space, 10)
    with pytest.raises(ValueError, match="got an algorithm without any"):
        plot_suspects(ub.GPUCB(ub.Grid([[1.0]]), assumed()))


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, line):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"unbribable\[plot\]\""):
        plot_suspects(line)
