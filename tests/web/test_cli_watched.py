"""Studies of a database, watched: by the numbers of their trials, with what their sampler says."""

import time

import pytest

pytest.importorskip("optuna")

import optuna

from unbribable.cli.storage import database
from unbribable.cli.watched import StudiesInDatabase
from unbribable.integrations.optuna_sampler import UnbribableSampler
from web.pages import client

SPACE = {"power": optuna.distributions.FloatDistribution(0.0, 5.0)}
NAME = "../a study with a path in its name"


@pytest.fixture
def browser(tmp_path):
    """A page on a database with a study of eight trials, the fourth a lie, and one without any."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with database(str(tmp_path / "lab.db"), is_new=True) as opened:
        for name in (NAME, "empty"):
            sampler = UnbribableSampler(n_trials=30, search_space=SPACE, seed=987654321)
            study = optuna.create_study(
                study_name=name, storage=opened, direction="maximize", sampler=sampler
            )
            sampler.start(study)
            for k in range(8 if name == NAME else 0):
                trial = optuna.trial.create_trial(
                    params={"power": 5.0 * k / 7.0},
                    distributions=SPACE,
                    value=k * (6.0 - k) + 40.0 * (k == 3),
                )
                study.add_trial(trial)
        yield client(source=StudiesInDatabase(opened))


def looked(browser, name, after=0):
    for _ in range(600):
        found = browser.get("/api/study", params={"name": name}).json()
        if found["number"] > after and not found["is_behind"]:
            return found
        time.sleep(0.02)
    raise AssertionError("the study was not worked out in time")


def test_studies_of_a_database_are_watched_and_changed_by_their_numbers(browser):
    assert browser.get("/api/studies").json() == {"names": [NAME, "empty"]}
    assert looked(browser, "empty")["answer"] is None
    found = looked(browser, NAME)
    assert (found["counted"], found["first"]) == ("trial", 0)
    assert found["naive"]["t"] == 4
    assert "987654321" not in str(found)
    sent = {"name": NAME, "t": 4, "reason": "mistyped", "unrelated_to_value": True}
    assert browser.post("/api/retract", json=sent).status_code == 200
    after = looked(browser, NAME, found["number"])
    assert 4 not in after["t"]
    assert browser.post("/api/retract", json=sent).status_code == 400  # once is enough
