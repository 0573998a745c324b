"""Plain data becomes exactly the game it describes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unbribable as ub
from unbribable.lab.runs.kinds import OBJECTIVE, SqrtLog, build_game, build_objective
from unbribable.lab.runs.places import build_candidates, build_target, read_candidates, read_target
from unbribable.lab.runs.play import play
from unbribable.lab.runs.spec import load_spec, read_spec
from unbribable.lab.world.objectives import Objective, figure_1

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
KERNEL = {"kind": "squared_exponential", "lengthscale": 0.1}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_every_cell_of_every_experiment_can_be_played(path):
    spec = replace(load_spec(path), T=(4,), seeds=(0,))
    for run in spec.runs():
        record = play(run.to_plain())
        assert record.T == 4
        assert record.spent[-1] <= run.game["C"] * (1 + 1e-12)
        assert record.meta["run"] == {
            **run.labels,
            "C": run.game["C"],
            "C_assumed": run.game["algorithm"].get("C"),
            "T": 4,
            "seed": 0,
            "key": run.key,
        }


def game(**changes):
    raw = {
        "name": "test",
        "T": 30,
        "seeds": [3],
        "noise_std": 0.1,
        "budgets": [2],
        "objective": {"kind": "random_rkhs", "kernel": KERNEL, "candidates": {"n": 20}, "norm": 2.0},
        "assumptions": {"lam": 0.05},
        "algorithms": [{"kind": "RobustGPUCB"}],
        "adversaries": [{"kind": "top_k"}],
        **changes,
    }
    (run,) = read_spec(raw).runs()
    return run


def test_assumptions_default_to_the_truth():
    algorithm, environment = build_game(game().game)
    a, objective = algorithm.assumptions, environment.objective
    assert a.kernel == objective.kernel == ub.SquaredExponential(0.1)
    assert a.B == objective.norm == 2.0
    assert a.B0 == a.c_max == environment.c_max == np.abs(objective.f).max()
    assert a.noise_std == environment.noise_std == 0.1
    assert a.lam == 0.05
    assert algorithm.C == environment.C == 2.0


def test_assumptions_can_differ_from_the_truth():
    assumed = {"B": 5, "B0": 3, "noise_std": 0.2, "c_max": 0.5, "delta": 0.01}
    algorithm, environment = build_game(game(assumptions=assumed, c_max=1.5).game)
    a = algorithm.assumptions
    assert (a.B, a.B0, a.noise_std, a.c_max, a.delta, a.lam) == (5.0, 3.0, 0.2, 0.5, 0.01, 1.0)
    assert environment.c_max == 1.5


def test_the_objective_depends_on_the_seed_and_nothing_else_of_the_game():
    objectives = [
        build_game(game(algorithms=[{"kind": kind}], adversaries=[{"kind": liar}]).game)[1].objective
        for kind in ("GPUCB", "LayeredGPUCB")
        for liar in ("flip", "none")
    ]
    for other in objectives[1:]:
        assert np.array_equal(other.f, objectives[0].f)
    other = build_game(game(seeds=[4]).game)[1].objective
    assert not np.array_equal(other.f, objectives[0].f)


def test_comparisons_are_paired_noise_and_draws_are_the_same_under_any_adversary():
    records = [
        play(game(algorithms=[{"kind": "LayeredGPUCB"}], adversaries=[{"kind": liar}]).to_plain())
        for liar in ("flip", "none")
    ]
    assert np.array_equal(records[0].columns["noise"], records[1].columns["noise"])
    assert records[0].meta["algorithm_seed"] == records[1].meta["algorithm_seed"]


def test_options_reach_the_learner():
    options = {"width": "paper", "noise": "paper", "tail": "paper", "alpha": 2.5, "with_all": True}
    algorithm, _ = build_game(game(algorithms=[{"kind": "FastSlowGPUCB", **options}]).game)
    assert algorithm.alpha == 2.5
    assert algorithm.with_all
    assert algorithm.options.width == algorithm.options.noise == algorithm.options.tail == "paper"


def test_dials_reach_the_learner_and_those_of_the_paper_are_the_default():
    def fast_slow(**dials):
        return game(algorithms=[{"kind": "FastSlowGPUCB", **dials}])

    algorithm, _ = build_game(fast_slow(share=0.5, trust=0.25).game)
    assert (algorithm.share, algorithm.trust) == (0.5, 0.25)
    papers = fast_slow()
    algorithm, _ = build_game(papers.game)
    assert (algorithm.share, algorithm.trust) == (1.0, 0.0)
    assert fast_slow(share=1.0, trust=0).key == papers.key
    assert len({fast_slow(**dials).key for dials in ({"share": 0.5}, {"trust": 0.5}, {})}) == 3


def test_the_ladders_unit_may_be_given_as_a_share_of_the_largest_lie():
    """Which may differ from draw to draw."""

    def unit(**words):
        algorithm, _ = build_game(game(algorithms=[{"kind": "LadderGPUCB", **words}]).game)
        return algorithm.unit / algorithm.assumptions.c_max

    assert unit() == 0.25
    assert unit(unit={"share_of_c_max": 0.5}) == 0.5


def test_layers_that_share_reach_the_learner_and_the_others_play_games_of_their_own():
    def layered(**words):
        return game(algorithms=[{"kind": "LayeredGPUCB", **words}])

    sharing, alone = layered(with_all=True), layered(with_all=False)
    assert build_game(sharing.game)[0].with_all
    assert not build_game(alone.game)[0].with_all
    assert sharing.key != alone.key


def test_the_published_beta_is_half_the_root_of_the_logarithm():
    beta = {"kind": "sqrt_log", "scale": 0.5}
    algorithm, _ = build_game(game(algorithms=[{"kind": "GPUCB", "beta": beta}]).game)
    assert isinstance(algorithm.options.beta, SqrtLog)
    assert algorithm.options.beta_at(1) == 0.0
    assert algorithm.options.beta_at(100) == pytest.approx(0.5 * np.sqrt(np.log(100)))


def test_refuted_assumptions_are_kept_in_the_record_and_warn_nobody():
    wrong = {"B": 0.01, "B0": 0.01, "noise_std": 0.001}
    record = play(game(assumptions=wrong, algorithms=[{"kind": "GPUCB"}]).to_plain())
    assert record.meta["refuted"] is not None


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        ({"n": 7}, (7, 1)),
        ({"n": 4, "low": [0, -1], "high": [1, 1]}, (16, 2)),
        ({"n": [2, 3], "low": -1}, (6, 2)),
        ({"kind": "sobol", "n": 10, "low": [0, 0, 0]}, (10, 3)),
        ({"kind": "uniform", "n": 9, "high": [2, 2]}, (9, 2)),
    ],
)
def test_candidates_fill_their_box(raw, shape):
    plain = read_candidates("c", raw)
    X = build_candidates(plain, seed=1)
    assert X.shape == shape
    assert len(ub.Grid(X)) == shape[0]
    assert (X.min(axis=0) >= plain["low"]).all()
    assert (X.max(axis=0) <= plain["high"]).all()


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "figure_1", "n": 40},
        {"kind": "gp_draw", "kernel": KERNEL, "candidates": {"n": 12}},
        {"kind": "lower_bound", "kernel": KERNEL, "n": 30, "which": 1},
        {"kind": "test_function", "name": "branin", "candidates": {"n": 6}},
        {"kind": "test_function", "name": "hartmann6", "candidates": {"kind": "sobol", "n": 50}},
        {"kind": "test_function", "name": "camelback", "candidates": {"kind": "uniform", "n": 20}},
    ],
    ids=lambda raw: f"{raw['kind']} {raw.get('name', '')}",
)
def test_every_kind_of_objective_is_built_the_same_way_twice(raw):
    plain = OBJECTIVE.read("objective", raw)
    one, two = build_objective(plain, 5), build_objective(plain, 5)
    assert np.array_equal(one.X, two.X)
    assert np.array_equal(one.f, two.f)
    assert one.f.shape == (len(one.X),)


def test_a_target_never_holds_the_maximiser():
    objective = figure_1(50)
    for sign in (1, -1):
        region = build_target(read_target("t", {"halfspace": [sign], "offset": sign * 0.5}), objective)
        assert not region[objective.best]
        assert region.sum() == 25
    cube = build_target(read_target("t", {"centre": 0.2, "side": 0.1}), objective)
    assert np.abs(objective.X[cube, 0] - 0.2).max() <= 0.05 + 1e-12
    with pytest.raises(ValueError, match="target must not hold the maximiser"):
        build_target(read_target("t", {"centre": 0.78, "side": 0.1}), objective)
    flat = Objective("plane", np.zeros((3, 2)), np.arange(3.0))
    with pytest.raises(ValueError, match=r"target.centre must have one number per axis \(2\)"):
        build_target(read_target("t", {"centre": 0.2, "side": 0.1}), flat)
