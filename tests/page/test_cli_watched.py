"""Studies of a database, watched: by the numbers of their trials, with what their sampler says."""

import time

import pytest

pytest.importorskip("optuna")

import optuna

from page.pages import client
from unbribable.cli.storage import database
from unbribable.cli.watched import StudiesInDatabase
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {"power": optuna.distributions.FloatDistribution(0.0, 5.0)}
NAME = "../a study with a path in its name"


@pytest.fixture
def lab(tmp_path):
    """Where the database is."""
    return tmp_path / "lab.db"


def started(opened, name, values=(), seed=987654321):
    sampler = UnbribableSampler(n_trials=30, search_space=SPACE, seed=seed)
    study = optuna.create_study(study_name=name, storage=opened, direction="maximize", sampler=sampler)
    sampler.start(study)
    for k, value in enumerate(values):
        params = {"power": 5.0 * k / max(len(values) - 1, 1)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=SPACE, value=value))


@pytest.fixture
def browser(lab):
    """A page on a database with a study of eight trials, the fourth a lie, and one without any."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with database(str(lab), is_new=True) as opened:
        started(opened, NAME, [k * (6.0 - k) + 40.0 * (k == 3) for k in range(8)])
        started(opened, "empty")
        yield client(source=StudiesInDatabase(opened))


def looked(browser, name, after=0):
    for _ in range(600):
        answer = browser.get("/api/study", params={"name": name})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        if found["number"] > after and not found["is_behind"]:
            return found
        time.sleep(0.02)
    raise AssertionError("the study was not worked out in time")


@pytest.mark.long
def test_studies_of_a_database_are_watched_and_changed_by_their_numbers(browser):
    assert browser.get("/api/studies").json() == {"names": [NAME, "empty"], "copies": []}
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


def test_a_database_that_is_gone_is_a_sentence_and_comes_back_by_itself(browser, lab, caplog):
    looked(browser, "empty")
    whole = lab.read_bytes()
    lab.write_bytes(b"no database " * 5000)
    for path in ("/api/studies", "/api/study?name=empty"):
        answer = browser.get(path)
        assert answer.status_code == 409
        assert "the database must be within reach, got sqlite:///" in answer.json()["error"]
        assert "file is not a database" in answer.json()["error"]
    assert not caplog.records
    lab.write_bytes(whole)
    assert browser.get("/api/studies").status_code == 200
    assert looked(browser, "empty")["error"] is None


@pytest.mark.parametrize("seed", [987654321, pytest.param(5, marks=pytest.mark.long)])
def test_a_study_made_anew_under_its_name_is_another_study(browser, lab, seed):
    """SQLite gives the ids of the old one again, to the study and to its trials."""
    before = looked(browser, "empty")
    url = f"sqlite:///{lab}"
    optuna.delete_study(study_name="empty", storage=url)
    assert "study must be one of" in browser.get("/api/study?name=empty").json()["error"]
    with database(str(lab)) as opened:
        started(opened, "empty", [5.0, 7.0], seed=seed)
    found = looked(browser, "empty", before["number"])
    assert found["y"] == [5.0, 7.0]
    with database(str(lab)) as opened:
        optuna.delete_study(study_name="empty", storage=opened)
        started(opened, "empty", [1.0, 2.0], seed=seed)
    found = looked(browser, "empty", found["number"])
    assert found["y"] == [1.0, 2.0]
    sent = {"name": "empty", "t": 2, "reason": "mistyped", "unrelated_to_value": True}
    assert browser.post("/api/retract", json=sent).status_code == 200
    assert looked(browser, "empty", found["number"])["y"] == [1.0]
