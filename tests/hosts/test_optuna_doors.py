"""Which trials speak against a reading is said by their numbers, at every door of a study."""

import json
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial
from typer.testing import CliRunner

import unbribable as ub
from printed import unwrapped
from unbribable.cli.main import app
from unbribable.cli.storage import database
from unbribable.cli.watched import StudiesInDatabase
from unbribable.hosts.optuna.sampler import UnbribableSampler
from unbribable.page.watch import answered, as_told

SPACE = {"power": FloatDistribution(0.0, 5.0)}
STUCK, BURST = (5, 11, 17), (24, 25, 26, 27, 28)
N = 36


def others(number):
    """The other stuck trials, in words."""
    return "trials " + ", ".join(str(each) for each in STUCK if each != number)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study in a database: a sensor stuck at 7.25 in three trials, and a burst of five."""
    path = str(tmp_path_factory.mktemp("lab") / "lab.db")
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with database(path, is_new=True) as opened:
            sampler = UnbribableSampler(n_trials=N, search_space=SPACE, seed=1)
            study = optuna.create_study(
                study_name="coat", storage=opened, direction="maximize", sampler=sampler
            )
            sampler.start(study)
            for k in range(N):
                power = 2.5 + 0.02 * (k - 24) if k in BURST else 5.0 * ((0.61803 * k) % 1.0)
                value = 3.0 - 0.5 * (power - 2.0) ** 2 + 0.02 * rng.standard_normal()
                value = 7.25 if k in STUCK else value + 2.0 * (k in BURST)
                study.add_trial(
                    create_trial(params={"power": power}, distributions=SPACE, value=float(value))
                )
            yield study, sampler, path, opened


def test_the_sampler_says_it_by_trials_as_data_and_in_words(study):
    study, sampler, _, _ = study
    found = {each.number: each for each in sampler.suspects(study, flagged_only=True)}
    assert found.keys() == {*STUCK, *BURST}
    assert {*list(found)[:8]} == {*STUCK, *BURST}
    for number in STUCK:
        (equal,) = [reason for reason in found[number].reasons if reason.kind == "equal"]
        assert equal.rounds == tuple(each + 1 for each in STUCK if each != number)
        assert f"the same value to the last digit as in {others(number)}" in found[number].evidence
        (plain,) = [each for each in found[number].to_dict()["reasons"] if each["kind"] == "equal"]
        assert plain["trials"] == [each for each in STUCK if each != number]
        assert "rounds" not in plain
    for number in BURST:
        assert "(trials 24 to 28)" in " ".join(found[number].evidence)
        assert json.dumps(found[number].to_dict())


def test_a_note_for_the_dashboard_says_it_by_trials(study):
    study, sampler, _, _ = study
    sampler.note(study)
    notes = study.user_attrs["unbribable:suspicious"]
    assert notes.keys() == {str(number) for number in (*STUCK, *BURST)}
    for number in STUCK:
        assert notes[str(number)].endswith(f"as in {others(number)}")
    for number in BURST:
        assert "(trials 24 to 28)" in notes[str(number)]


def test_the_commands_say_it_by_trials(study):
    study, _, path, _ = study

    def call(*words):
        done = CliRunner().invoke(app, ["study", *words, "--storage", path])
        assert done.exit_code == 0, done.output
        return done.stdout

    found = {each["number"]: each for each in json.loads(call("suspects", "coat", "--json"))}
    assert found.keys() == {*STUCK, *BURST}
    assert found[11]["evidence"][-1] == f"the same value to the last digit as in {others(11)}"
    words = " ".join(call("suspects", "coat").replace("│", " ").split())
    assert "rounds" not in words
    assert "trials 24 to 28" in words
    listed = call("recommend", "coat")
    assert "5, 11, 17 (each time 7.25, expected " in listed
    assert "24 to 28 (a burst, " in listed


def test_the_page_says_it_by_trials(study):
    _, _, _, opened = study
    source = StudiesInDatabase(opened)
    result = source.result("coat")
    told = as_told(source, "coat", result)
    assert (told["counted"], told["first"]) == ("trial", 0)
    by_trial = {each["t"] - 1: each for each in answered(source, "coat", result)["suspects"]}
    for number in STUCK:
        assert f"as in {others(number)}" in " ".join(by_trial[number]["evidence"])
    assert "(trials 24 to 28)" in " ".join(by_trial[BURST[0]]["evidence"])


def test_a_result_counts_rounds_and_an_audit_names_the_trials_beside_its_readings(study):
    study, sampler, _, _ = study
    result = sampler.result(study)
    assert "6, 12, 18 (each time " in result.summary()
    (first,) = [each for each in result.suspects if each.t == 6]
    assert first.evidence[-1] == "the same value to the last digit as in rounds 12, 18"
    assert first.to_dict()["reasons"][-1]["rounds"] == [12, 18]
    study.sampler = optuna.samplers.RandomSampler()
    audit = ub.audit(study)
    words = "the same value to the last digit as in readings 12 (trial 11), 18 (trial 17)"
    assert words in unwrapped(str(audit))
    assert words in audit.to_html()
    (plain,) = [each for each in audit.to_dict()["suspects"] if each["t"] == 6]
    assert words in plain["evidence"]
    assert plain["label"] == "reading 6 (trial 5)"
    study.sampler = sampler
