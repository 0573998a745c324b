"""A table has no order, and readings that are there while others are open have one by value."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.run_files import held
from study.tables import (
    ASSUMED,
    GRID,
    KERNEL,
    NOISE_STD,
    ORDERS,
    B,
    X,
    f,
    pairs,
    said,
    table,
    wrong,
)
from unbribable.decision.policies.gp_ucb import RobustGPUCB
from unbribable.decision.proposal import Query
from unbribable.decision.proven.left_out import own_shares
from unbribable.decision.recommend import left_out
from unbribable.say.figures.run import history
from unbribable.study import engine as engines

PLANS: dict[str, dict[str, Any]] = {
    "no lies": {"corruption": 0},
    "a total": {"corruption": 0.5},
    "one lie": {"lies": 1},
    "unknown": {"corruption": "unknown"},
}
SORTED = [order for order in ORDERS if order != "as measured"]


def bounds_of(study: ub.Study) -> np.ndarray:
    found = study.engine.algorithm().bounds()
    assert found is not None
    return np.array(found)


# --- every door ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", SORTED)
@pytest.mark.parametrize("name", PLANS)
def test_an_audit_of_a_sorted_table_says_nothing_false(name: str, order: str) -> None:
    points, y = table(0, order)
    audit = ub.audit(points, y, GRID, assumptions=ASSUMED, **PLANS[name])
    algorithm = audit.result.engine.algorithm()
    assert wrong(algorithm) == ""
    if name == "unknown":
        assert str(algorithm.policy.notes(350, ())[0]).endswith("the lowest level.")
    best = audit.recommendation
    assert best.lower <= f(best.x)[0] <= best.upper
    assert f(X).max() - f(best.x)[0] <= best.regret_bound


@pytest.mark.parametrize("order", SORTED)
def test_a_sorted_file_with_kernel_noise_and_norm_given_says_nothing_false(
    tmp_path: Path, order: str
) -> None:
    points, y = table(0, order, 35)  # from 256 readings on they were learned at once anyway
    path = tmp_path / "table.csv"
    rows = [f"{x:.6f},{value:.6f}" for x, value in zip(points[:, 0], y, strict=True)]
    path.write_text("\n".join(["temperature,yield", *rows]))
    given: dict[str, Any] = {"kernel": KERNEL, "noise_std": NOISE_STD, "B": B, "corruption": 0.5}
    engine = ub.audit(path, target="yield", **given).result.engine
    assert wrong(engine.algorithm(), engine.model().units.scale) == ""


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("order", SORTED)
def test_sorted_initial_readings_say_nothing_false(order: str, direction: str) -> None:
    points, y = table(0, order)
    sign = 1.0 if direction == "maximize" else -1.0
    words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 0.5, "seed": 0}
    initial = pairs(points, sign * y)
    study = ub.Study(GRID, direction=direction, initial=initial, **words)
    assert said(study) == ""
    play = ub.maximize if direction == "maximize" else ub.minimize
    run = play(lambda x: sign * float(f(x)[0]), GRID, 2, initial=initial, **words)
    assert wrong(run.engine.algorithm()) == ""


@pytest.mark.parametrize("place", ["first", "after two trials"])
@pytest.mark.parametrize("order", SORTED)
def test_a_sorted_table_added_to_an_optuna_study_says_nothing_false(order: str, place: str) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    from unbribable.hosts.optuna.sampler import UnbribableSampler

    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    sampler = UnbribableSampler(search_space=space, assumptions=ASSUMED, corruption=0.5, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    if place != "first":
        study.optimize(lambda trial: float(f([[trial.suggest_float("x", 0.0, 1.0)]])[0]), n_trials=2)
        sampler.recommend(study)
    for x, y in zip(*table(0, order), strict=True):
        study.add_trial(optuna.trial.create_trial(params={"x": x[0]}, distributions=space, value=y))
    result = sampler.result(study)
    assert [trial.is_row for trial in result.trials] == [False] * (place != "first") * 2 + [True] * 350
    assert wrong(result.engine.algorithm()) == ""
    study.ask(space)
    study.optimize(lambda trial: float(f([[trial.suggest_float("x", 0.0, 1.0)]])[0]), n_trials=1)
    assert result.engine.n_table == sampler.result(study).engine.n_table


def test_while_a_trial_before_an_added_table_runs_nothing_is_concluded_from_the_table() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    from unbribable.hosts.optuna.sampler import UnbribableSampler

    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    sampler = UnbribableSampler(search_space=space, assumptions=ASSUMED, corruption=0.5, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: float(f([[trial.suggest_float("x", 0.0, 1.0)]])[0]), n_trials=1)
    running = study.ask(space)
    for x, y in zip(*table(0, "best first", 5), strict=True):
        study.add_trial(optuna.trial.create_trial(params={"x": x[0]}, distributions=space, value=y))
    words = "The 36 readings cannot tighten this yet: a table is among them"
    assert words in sampler.recommend(study).guarantee
    proof = ub.audit(sampler.result(study)).proof
    assert proof is not None
    assert "This rests on none of the 36 readings" in str(proof)
    study.tell(running, 0.5)
    assert "cannot tighten" not in sampler.recommend(study).guarantee


def test_a_running_trial_of_an_audited_optuna_study_is_a_missing_reading() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    study.optimize(lambda trial: float(f([[trial.suggest_float("x", 0.0, 1.0)]])[0]), n_trials=5)
    study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    study.enqueue_trial({"x": 0.3})  # has not begun: there is no reading to miss
    audit = ub.audit(study, assumptions=ASSUMED, corruption=0.5)
    assert "the one missing reading is not missing because of its value" in audit.result.guarantee
    assert "Still running, so their readings are missing: trial 5." in audit.notes


# --- the order of a table changes nothing ----------------------------------------------------------


@pytest.mark.parametrize("name", ["no lies", "a total", "one lie", "unknown"])
def test_bounds_and_proof_are_the_same_in_any_order_of_a_table(name: str) -> None:
    """With three lies in it, so that something is proven. Hands hold rows by their place."""
    found, totals = [], []
    for order in ORDERS:
        points, y = table(1, "as measured", 10)
        y[:3] += 6.0 * np.sign(y[:3])
        at = {"worst first": np.argsort(y), "best first": np.argsort(-y)}.get(order, np.arange(70))
        audit = ub.audit(points[at], y[at], GRID, assumptions=ASSUMED, **PLANS[name])
        if name == "one lie":
            algorithm = audit.result.engine.algorithm()
            rest = left_out(algorithm, own_shares(ASSUMED.delta))
            found.append([rest.interval(np.array([u]), k) for u in (0.1, 0.6) for k in (3, 4)])
        else:
            instance = audit.result.engine.algorithm().instances["main"]
            found.append((instance.lcb_bar, instance.ucb_bar))
        totals.append(audit.least_corruption)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-9)
    assert totals[0] > 1.0
    np.testing.assert_allclose(totals, totals[0], rtol=1e-4)


def test_the_most_extreme_reading_of_a_table_gets_the_noise_limit_of_the_last_row() -> None:
    """At the top of a sorted table it had that of the first reading ever taken, 3.0 noise_std."""
    grid, rng = ub.Grid([[0.1], [0.5], [0.9]]), np.random.default_rng(1)
    kernel = ub.SquaredExponential(0.2)
    values = np.array([0.5, 0.55, 0.6])
    norm = float(np.sqrt(values @ np.linalg.solve(kernel(grid.points, grid.points), values)))
    assumed = ub.Assumptions(kernel, B=norm, B0=0.7, noise_std=0.5, lam=0.25, delta=0.5)
    at = rng.integers(3, size=800)
    y = values[at] + 0.5 * rng.standard_normal(800)
    order = np.argsort(y)
    audit = ub.audit(grid.points[at][order], y[order], grid, assumptions=assumed, corruption=0.5)
    assert audit.least_corruption == 0.0


# --- what comes after a table ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no lies", "a total", "unknown"])
def test_after_a_table_bounds_are_intersected_reading_by_reading(name: str) -> None:
    """Those of the table and one reading, of the table and two, and so on, all at once."""
    words: dict[str, Any] = {"assumptions": ASSUMED, "seed": 0, **PLANS[name]}
    points, y = table(2, "worst first", 3)
    study = ub.Study(GRID, initial=pairs(points, y), **words)
    told = pairs(points, y)
    upper, lower = np.full(7, np.inf), np.full(7, -np.inf)
    noise = np.random.default_rng(0)
    for k in range(6):
        alone = ub.Study(GRID, initial=told, **words).engine.algorithm().instances["main"]
        upper, lower = np.minimum(upper, alone.ucb_bar), np.maximum(lower, alone.lcb_bar)
        held = study.engine.algorithm().instances["main"]
        np.testing.assert_allclose(held.ucb_bar, upper, atol=1e-9)
        np.testing.assert_allclose(held.lcb_bar, lower, atol=1e-9)
        x, value = X[(3 * k) % 7], float(f(X[(3 * k) % 7])[0] + 1.5 * noise.standard_normal())
        study.tell(x, value)
        told.append((x, value))


def test_a_row_that_is_taken_back_leaves_the_table_a_table() -> None:
    """As if it had never been in it."""
    points, y = table(0, "best first")
    words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 0.5}
    study = ub.Study(GRID, initial=pairs(points, y), **words)
    study.tell(X[0], 0.4)
    study.retract(350, "wrong sample", unrelated_to_value=True)
    study.retract(7, "wrong sample", unrelated_to_value=True)
    kept = [k for k in range(350) if k not in (6, 349)]
    other = ub.Study(GRID, initial=pairs(points[kept], y[kept]), **words)
    other.tell(X[0], 0.4)
    assert said(study) == ""
    np.testing.assert_allclose(bounds_of(study), bounds_of(other), atol=1e-9)
    assert study.engine.algorithm().journal.n_table == 348


def test_an_algorithm_restored_or_without_a_reading_knows_its_table() -> None:
    points, y = table(0, "best first")
    study = ub.Study(GRID, initial=pairs(points, y), assumptions=ASSUMED, corruption=0.5)
    algorithm = study.engine.algorithm()
    again = RobustGPUCB(GRID, ASSUMED, C=0.5).restore(json_or_array(algorithm.state()))
    np.testing.assert_array_equal(again.bounds(), algorithm.bounds())
    again.retract(350, unrelated_to_value=True)
    assert wrong(again) == ""
    assert again.journal.n_table == 349


def json_or_array(state: dict[str, Any]) -> dict[str, Any]:
    """As it is read from a file: JSON, and arrays."""
    plain = {name: value for name, value in state.items() if name != "readings"}
    back: dict[str, Any] = json.loads(json.dumps(plain))
    return {**back, "readings": state["readings"]}


def test_a_long_table_in_a_fitted_run_is_learned_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one go: all of it is there when the model is fitted."""
    monkeypatch.setattr(engines, "N_AT_ONCE", 20)
    points, y = table(3, "best first", 10)
    study = ub.Study(ub.Box([0.0], [1.0]), initial=pairs(points, y), seed=0, corruption=1.0)
    algorithm = study.engine.algorithm()
    assert algorithm.journal.n_at_once == algorithm.journal.n_table == 70
    main = algorithm.instances["main"]
    before_any = main.ucb_bar.max()
    np.testing.assert_allclose(main.ucb_bar, np.minimum(main.mu + main.width, before_any), atol=1e-9)


# --- files, resuming, looking back -----------------------------------------------------------------


def test_a_study_with_a_table_resumes_exactly_and_its_file_says_which_rounds_it_was(
    tmp_path: Path,
) -> None:
    points, y = table(0, "worst first", 8)
    words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 0.5, "seed": 4}
    path = tmp_path / "study.json"
    with ub.Study(GRID, initial=pairs(points, y), file=path, **words) as study:
        for _ in range(3):
            study.tell(study.ask(), 0.5)
        expected, then = bounds_of(study), study.ask()
    stored = held(path)["trials"]
    assert [trial["is_row"] for trial in stored] == [True] * 56 + [False] * 3
    for again in (ub.Study(GRID, file=path, **words), ub.Study.load(path)):
        np.testing.assert_array_equal(bounds_of(again), expected)
        assert again.pending[0].x == then.x
        again.close()


def test_a_file_that_says_something_else_than_yes_or_no_is_refused(tmp_path: Path) -> None:
    study = ub.Study(GRID, assumptions=ASSUMED, initial=[(X[0], 0.1)])
    path = tmp_path / "study.json"
    study.save(path)
    path.write_text(path.read_text().replace('"is_row": true', '"is_row": 1'))
    with pytest.raises(ValueError, match="is_row must be True or False"):
        ub.Study.load(path)


def test_a_study_that_goes_on_from_an_audit_keeps_its_table(tmp_path: Path) -> None:
    points, y = table(0, "best first")
    audit = ub.audit(points, y, GRID, assumptions=ASSUMED, corruption=0.5)
    for study in (audit.study(), audit.study(file=tmp_path / "study.json")):
        assert said(study) == ""
        assert study.engine.n_table == 350
        study.close()


def test_no_look_back_cuts_a_table() -> None:
    points, y = table(0, "best first")
    study = ub.Study(GRID, initial=pairs(points, y), assumptions=ASSUMED, corruption=0.5)
    for _ in range(4):
        study.tell(study.ask(), 0.5)
    result = study.result()
    assert len(result.at(200).trials) == len(result.at(350).trials) == 350
    assert len(result.at(352).trials) == 352
    for check in history(result):
        assert check.t >= 350
        assert check.lower <= f(check.x)[0] <= check.upper


# --- while rounds are open -------------------------------------------------------------------------


def open_study(
    seed: int, n: int, assumed: ub.Assumptions = ASSUMED
) -> tuple[ub.Study, list[Query], np.ndarray]:
    """With so many queries pending, and the noise of their readings."""
    study = ub.Study(GRID, seed=seed, n_rounds=n, assumptions=assumed, corruption=40.0)
    queries = study.ask(n)
    noise = NOISE_STD * np.random.default_rng([26, seed]).standard_normal(n)
    return study, queries, noise


def test_nobody_is_accused_because_the_higher_readings_come_first() -> None:
    """As where a run that does well ends sooner."""
    study, queries, noise = open_study(0, 300)
    first = np.argsort(-noise)
    for k in first[:150]:
        study.tell(queries[k], float(f(queries[k].x)[0] + noise[k]))
    proof = study.audit().proof
    assert proof is not None
    assert proof.total == 0.0
    assert proof.n_readings < 10
    assert proof.n_readings + proof.n_waiting == 150
    assert f"This rests on {proof.n_readings or 'none'} of the 150 readings" in str(proof)
    for k in first[150:]:
        study.tell(queries[k], float(f(queries[k].x)[0] + noise[k]))
    proof = study.audit().proof
    assert proof is not None
    assert (proof.total, proof.n_readings, proof.n_waiting) == (0.0, 300, 0)
    assert "rests on" not in str(proof)


def test_a_proof_rests_on_the_rounds_before_the_first_open_one_whatever_came_when(
    tmp_path: Path,
) -> None:
    """Two lies are told before it, and one after: that one is neither counted nor named."""
    path = tmp_path / "study.json"
    study, queries, noise = open_study(1, 40, replace(ASSUMED, c_max=10.0))
    values = {query.t: float(f(query.x)[0] + noise[query.t - 1]) for query in queries}
    for t in (3, 12, 35):
        values[t] += 9.0
    study.save(path)
    totals = []
    for order in ([*range(1, 31), *range(32, 41)], [*range(40, 31, -1), *range(30, 0, -1)]):
        other = ub.Study.load(path)
        pending = {query.t: query for query in other.pending}
        for t in order:
            other.tell(pending[t], values[t])
        proof = other.audit().proof
        assert proof is not None
        assert (proof.n_readings, proof.n_waiting) == (30, 9)
        assert set(proof.lies) == {3, 12}
        totals.append(proof.total)
    alone = ub.Study.load(path)
    for query in itertools.islice(alone.pending, 30):
        alone.tell(query, values[query.t])
    assert totals[0] == totals[1] == alone.audit().least_corruption > 5.0


def test_a_round_given_up_is_not_open() -> None:
    study, queries, noise = open_study(2, 12)
    for query in queries[1:]:
        study.tell(query, float(f(query.x)[0] + noise[query.t - 1]))
    assert study.audit().proof.n_readings == 0
    study.tell(queries[0], None)
    assert study.audit().proof.n_readings == 11
