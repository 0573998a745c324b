"""Audits: lies in a table are found, what is proven is true, and every door says the same."""

import json
import math
import sys

import numpy as np
import pytest

import unbribable as ub
from auditing.experiments import furnace, write
from printed import unwrapped
from unbribable.auditing.audit import N_POINTS
from unbribable.say.audit import SOLVER
from unbribable.say.figures.audit_page import _lying
from unbribable.say.price import sentence
from unbribable.say.proof import of as proven_of


@pytest.fixture(scope="module")
def audited():
    columns, _, _ = furnace(0)
    return ub.audit(columns, target="yield")


@pytest.mark.parametrize("seed", [0, 1])
def test_of_fifty_experiments_the_lies_are_found_and_nobody_is_accused(tmp_path, seed):
    columns, lies, f = furnace(seed)
    audit = ub.audit(write(tmp_path / "furnace.csv", columns), target="yield")
    text = str(audit)
    found = [suspect.t - 1 for suspect in audit.suspects]
    assert len(found) >= 4
    assert set(found) <= set(lies)
    planted = np.abs(np.array(columns["yield"]) - f)[lies].sum()
    assert 0.3 * planted < audit.least_corruption <= planted
    assert text.startswith(f"{len(found)} of the 50 readings of yield look false.")
    assert f"line {found[0] + 2}" in text
    assert f"at least {audit.least_corruption:.4g}" in text
    assert audit.naive.t - 1 in lies
    assert "which looks false" in text
    params = audit.recommendation.params
    assert params["gas"] == "argon"
    assert abs(params["temperature [C]"] - 420.0) < 50.0
    assert abs(audit.recommendation.estimate - 0.9) < 0.1


def test_honest_experiments_are_not_accused_and_nothing_is_proven():
    columns, _, _ = furnace(2, n_lies=0)
    audit = ub.audit(columns, target="yield")
    assert audit.suspects == ()
    assert audit.least_corruption == 0.0
    assert "None of the 50 readings of yield looks false." in str(audit)
    assert "Nothing proves that anybody lied." in str(audit)


def test_a_minimum_is_audited_as_the_maximum_of_the_opposite(audited):
    columns, _, _ = furnace(0)
    columns["yield"] = [-y for y in columns["yield"]]
    audit = ub.audit(columns, target="yield", direction="minimize")
    assert [each.t for each in audit.suspects] == [each.t for each in audited.suspects]
    assert audit.recommendation.params == audited.recommendation.params
    assert audit.least_corruption == pytest.approx(audited.least_corruption, rel=1e-3)
    assert audit.recommendation.estimate == pytest.approx(-audited.recommendation.estimate)


def test_every_source_gives_the_same_audit(tmp_path, audited):
    pandas, optuna = pytest.importorskip("pandas"), pytest.importorskip("optuna")
    columns, _, _ = furnace(0)
    frame = pandas.DataFrame(columns)
    parameters = frame[["temperature [C]", "hours", "gas"]]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    low, high = frame["temperature [C]"].min(), frame["temperature [C]"].max()
    distributions = {
        "temperature [C]": optuna.distributions.FloatDistribution(low, high),
        "hours": optuna.distributions.IntDistribution(1, 8),
        "gas": optuna.distributions.CategoricalDistribution(["air", "argon", "nitrogen"]),
    }
    for params, y in zip(parameters.to_dict("records"), columns["yield"], strict=True):
        trial = optuna.trial.create_trial(params=params, distributions=distributions, value=y)
        study.add_trial(trial)
    audits = [
        ub.audit(parameters, frame["yield"]),
        ub.audit(study),
        ub.audit(audited.result),
    ]
    for audit in audits:
        assert [each.t for each in audit.suspects] == [each.t for each in audited.suspects]
        assert audit.recommendation.params == audited.recommendation.params
        assert audit.least_corruption == pytest.approx(audited.least_corruption)
    assert audits[1].label(7) == "reading 7 (trial 6)"
    assert audits[2].label(7) == "reading 7"


def test_a_pruned_trial_voids_what_is_guaranteed():
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study()
    distributions = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    pruned = optuna.trial.create_trial(
        params={"x": 0.5}, distributions=distributions, state=optuna.trial.TrialState.PRUNED
    )
    for k in range(12):
        x = k / 12
        trial = optuna.trial.create_trial(params={"x": x}, distributions=distributions, value=x * x)
        study.add_trial(trial)
    study.add_trial(pruned)
    audit = ub.audit(study)
    assert audit.result.engine.plan.direction == "minimize"
    assert audit.recommendation.regret_bound is None
    assert "because of their value, which voids guarantees: trial 12." in audit.notes[0]


def test_readings_of_arrays_may_be_missing_and_repeated():
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0.0, 1.0, 10), 4)[:, None]
    y = np.sin(4.0 * X[:, 0]) + 0.02 * rng.standard_normal(40)
    y[5], y[9] = 3.0, np.nan
    audit = ub.audit(X, y)
    assert [suspect.t for suspect in audit.suspects] == [6]
    assert "the median of 3 other readings of the same point" in audit.suspects[0].evidence[0]
    assert audit.result.n_failed == 1
    assert "Counted as failed, since 'y' is missing: row 9." in audit.notes


def test_with_true_assumptions_and_a_known_total_a_lie_is_proven():
    rng = np.random.default_rng(0)
    x = np.repeat(np.linspace(0.0, 1.0, 5), 6)
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=1.0, B0=1.0, noise_std=0.02, lam=0.01, c_max=9.0)
    y = 0.3 * x + 0.02 * rng.standard_normal(30)
    y[7] += 2.0
    audit = ub.audit(x, y, [(0.0, 1.0)], assumptions=assumed, corruption=2.5)
    proof = audit.proof
    assert [*proof.lies_within] == [8]
    assert 1.0 < proof.lies_within[8] <= 2.0
    assert proof.lies.get(8, 0.0) <= proof.lies_within[8]
    assert "if lies total at most 2.5, if what is assumed is right" in proven_of(proof, 8)
    assert proven_of(proof, 8) in audit.against(audit.suspects[0])
    assert any(proven_of(proof, 8) in part for part in _lying(audit))
    assert proven_of(proof, 1) == ""


def test_a_stated_total_that_is_too_small_is_said_to_be():
    columns, _, _ = furnace(0)
    audit = ub.audit(columns, target="yield", corruption=1.0)
    assert audit.least_corruption > 1.0
    assert ", more than the 1 that was stated (with" in str(audit.proof)
    assert audit.proof.lies_within == {}


def test_readings_that_no_lies_explain_are_called_a_wrong_model():
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=1.0, B0=1.0, noise_std=0.01, lam=0.01, c_max=0.5)
    words = {"assumptions": assumed, "corruption": 1.0}
    audit = ub.audit([0.0, 0.5, 1.0], [0.0, 9.0, 0.0], [(0.0, 1.0)], **words)
    with pytest.warns(ub.AssumptionsRefuted):
        text = str(audit)
    assert audit.least_corruption == math.inf
    assert "No lies explain these readings: what is assumed is wrong" in text
    json.dumps(audit.to_dict())


def test_without_the_solver_everything_else_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    columns, lies, _ = furnace(0)
    audit = ub.audit(columns, target="yield")
    assert {suspect.t - 1 for suspect in audit.suspects} <= set(lies)
    assert audit.least_corruption is None
    assert SOLVER in str(audit)
    assert 'pip install "unbribable[audit]"' in SOLVER
    assert any("pip install" in part for part in _lying(audit))
    assert audit.to_dict()["least_corruption"] is None


def test_equal_readings_are_said_to_be_nothing_to_compare():
    audit = ub.audit({"a": [1, 2, 4, 5, 9], "y": [2.5] * 5}, target="y")
    assert "All readings are 2.5: there is nothing to compare." in audit.notes
    assert audit.suspects == ()
    assert "None is more likely a lie than not." in audit.to_html()


def test_many_flags_are_said_to_speak_against_the_model():
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 40)
    y = np.sin(5.0 * x) + 0.01 * rng.standard_normal(40)
    y[rng.choice(40, 14, replace=False)] = rng.uniform(-3.0, 3.0, 14)
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=3.0, B0=1.5, noise_std=0.01, lam=0.01)
    audit = ub.audit(x, y, [(0.0, 1.0)], assumptions=assumed, corruption=60.0)
    assert len(audit.suspects) > 10
    assert "speak against the model rather than against the readings" in audit.notes[0]


def test_a_price_is_that_of_the_answer(audited):
    price = audited.price(50.0)
    assert np.array_equal(price.x, audited.recommendation.x)
    assert price.eps == 50.0
    assert price.value > 0.0
    assert sentence(audited.price(), audited.counting) in unwrapped(str(audited))


def test_an_audit_is_plain_data(audited):
    data = json.loads(json.dumps(audited.to_dict()))
    assert data["target"] == "yield"
    assert data["n_readings"] == 50
    assert data["suspects"][0]["label"] == audited.label(audited.suspects[0].t)
    assert data["naive"]["y"] == audited.naive.y
    assert data["parameters"]["hours"] == "whole numbers from 1 to 8"
    assert repr(audited) == f"<Audit: {audited.verdict}>"


def test_an_audit_changes_nothing(audited):
    before = audited.result.trials
    again = ub.audit(audited.result)
    str(again)
    assert again.result.trials == before
    assert str(again.recommendation) == str(audited.recommendation)


def test_a_study_goes_on_from_the_readings_and_resumes(tmp_path, audited):
    columns, _, _ = furnace(0)
    columns["yield"][3] = None
    audit = ub.audit(columns, target="yield", corruption=30.0)
    file = tmp_path / "study.json"
    assert len(audit.study().trials) == 50
    with audit.study(file=file) as study:
        assert [each.t for each in study.audit().suspects] == [each.t for each in audit.suspects]
        assert len(study.trials) == 50
        assert study.engine.plan.corruption == 30.0
        assert {*study.ask().params} == {"temperature [C]", "hours", "gas"}
    with audit.study(file=file) as study:
        assert len(study.trials) == 50
        (query,) = study.pending
        study.tell(query, 0.9)
    with pytest.raises(ValueError, match="holds another run: plan corruption was 30"):
        audited.study(file=file)
    columns["yield"][3] = 0.5
    other = ub.audit(columns, target="yield", corruption=30.0)
    with pytest.raises(ValueError, match=r"hold a study of these readings, got .*study.json"):
        other.study(file=file)


def test_a_reading_that_was_retracted_for_its_value_leaves_fewer_events():
    study = ub.Study([(0.0, 1.0)], seed=0)
    rng = np.random.default_rng(0)
    for k in range(30):
        study.tell([k / 30], math.sin(k / 5) + 0.01 * rng.standard_normal() + 3.0 * (k in (5, 15, 25)))
    before = study.audit().least_corruption
    study.retract(6, "looks false")
    after = study.audit()
    assert after.recommendation.regret_bound is None
    assert 0.0 < after.least_corruption < before <= 9.0


MANY = np.linspace(0.0, 1.0, N_POINTS + 1)
BAD = {
    "two readings": (([0.0, 1.0], [1.0, 2.0]), {}, "at least 3 readings to compare, got 2"),
    "too many points": ((MANY, MANY), {}, "at most 2000 different points.*got 2001; audit a part"),
    "no table": ((object(),), {"target": "y"}, "points must be"),
    "no target": (({"a": [1, 2], "y": [1, 2]},), {}, "target must name the column"),
    "direction": (([0.0, 1.0], [1.0, 2.0]), {"direction": "up"}, "direction must be one of"),
    "corruption": (([0.0, 1.0], [1.0, 2.0]), {"corruption": -1.0}, "corruption must be .*>= 0"),
    "an unknown word": (([0.0, 1.0], [1.0, 2.0]), {"colour": 1}, "keywords must be among"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_a_sentence(name):
    arguments, words, message = BAD[name]
    with pytest.raises((TypeError, ValueError), match=message):
        ub.audit(*arguments, **words)


def test_a_run_says_everything_itself(audited):
    with pytest.raises(ValueError, match="says everything itself, got target, corruption besides"):
        ub.audit(audited.result, target="yield", corruption=1.0)


def test_a_study_with_two_objectives_is_refused():
    optuna = pytest.importorskip("optuna")
    with pytest.raises(ValueError, match="one objective, got 2"):
        ub.audit(optuna.create_study(directions=["maximize", "minimize"]))
    with pytest.raises(ValueError, match="a complete trial, got none in 0"):
        ub.audit(optuna.create_study())


def test_a_stuck_sensor_is_named_at_all_its_places_with_their_lines(tmp_path):
    """Four exact zeros far from everything else: what the others predict says little about each."""
    rng = np.random.default_rng(0)
    X = rng.random((50, 6))
    y = np.round(250.0 + 785.0 * np.exp(-((X - 0.6) ** 2).sum(axis=1) / 0.9) + rng.normal(0, 8, 50), 1)
    y[[7, 19, 23, 41]] = 0.0
    columns = {f"x{k}": X[:, k].tolist() for k in range(6)} | {"hardness": y.tolist()}
    audit = ub.audit(write(tmp_path / "coat.csv", columns), target="hardness")
    assert {each.t for each in audit.suspects[:4]} == {8, 20, 24, 42}
    for each in audit.suspects[:4]:
        others = ", ".join(f"{t} (line {t + 1})" for t in (8, 20, 24, 42) if t != each.t)
        assert f"the same value to the last digit as in readings {others}" in each.evidence
        assert each.evidence[-1] in unwrapped(str(audit))
    assert len(audit.suspects) == 4
    assert "8, 20, 24, 42 (each time 0, expected " in audit.result.summary()


def test_clean_readings_in_whole_numbers_are_not_called_stuck():
    """Many are equal, as honest ones on a coarse grid are."""
    rng = np.random.default_rng(1)
    X = rng.random((40, 2))
    y = np.round(30.0 * np.exp(-((X - 0.6) ** 2).sum(axis=1) / 0.3) + rng.normal(0, 1.0, 40))
    assert len(np.unique(y)) < 30
    assert ub.audit(X, y).suspects == ()
