"""Blocks and a drift in a study of Optuna, and on the command line."""

import json

import optuna
import pytest
from typer.testing import CliRunner

from hosts.optuna_studies import X, f, fitted, new_study, sampler
from unbribable.cli.main import app
from unbribable.hosts.optuna.sampler import UnbribableSampler
from unbribable.hosts.optuna.terms import STUDY_KEY

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.WARNING)
OFF = {"Monday": -0.5, "Tuesday": 0.5}


def by_day(trial):
    """With an offset for each of two days."""
    day = "Monday" if trial.number < 6 else "Tuesday"
    trial.set_user_attr("day", day)
    return f(trial.suggest_float("x", -2.0, 2.0)) + OFF[day]


def test_the_block_of_a_trial_is_a_user_attribute():
    study = new_study(fitted(block="day"))
    study.optimize(by_day, 12)
    offsets = study.sampler.result(study).offsets
    assert {name: round(2.0 * found) for name, (found, _) in offsets.items()} == {
        "Monday": -1,
        "Tuesday": 1,
    }
    best = study.sampler.recommend(study)
    assert best.estimate == pytest.approx(f(best.params["x"]), abs=0.15)
    assert "the offsets of 2 blocks are right to" in best.guarantee
    assert "2 blocks were estimated" in str(best.assumptions)
    again = UnbribableSampler.from_study(study)
    assert again.block == "day"
    assert again.result(study).offsets == offsets


def test_a_trial_without_the_attribute_has_no_block_and_a_bad_one_is_said():
    study = new_study(fitted(block="day"))
    study.optimize(by_day, 3)
    trial = study.ask(X)
    trial.set_user_attr("day", ["Monday"])
    study.tell(trial, 0.1)
    with pytest.warns(
        UserWarning, match=r"block must be a string or a finite number, got .* in trial 3"
    ):
        assert list(study.sampler.result(study).offsets) == ["Monday", None]


def test_drift_is_by_the_number_of_the_trial():
    study = new_study(fitted(drift=True))
    for t in range(14):
        trial = study.ask(X)
        study.tell(trial, f(trial.params["x"]) + 0.05 * t)
    engine = study.sampler.result(study).engine
    off = [told.y - each.y for told, each in zip(engine.told, engine.corrected, strict=True)]
    assert off[-1] - off[0] == pytest.approx(0.65, abs=0.15)
    assert "the drift is right to" in study.sampler.recommend(study).guarantee
    assert UnbribableSampler.from_study(study)._plan.drift


@pytest.mark.parametrize("words", [{"block": "day"}, {"drift": True}])
def test_all_processes_of_a_study_have_to_agree_on_it(words):
    study = new_study(fitted(**words))
    study.optimize(by_day, 1)
    (word,) = words
    with pytest.raises(ValueError, match=f"^{word} must be what the study was started with"):
        fitted().recommend(study)


def test_a_study_from_before_there_were_blocks_goes_on():
    study = new_study(fitted())
    study.optimize(by_day, 4)
    old = json.loads(json.dumps(study._storage.get_study_system_attrs(study._study_id)[STUDY_KEY]))
    del old["block"], old["plan"]["drift"]
    study._storage.set_study_system_attr(study._study_id, STUDY_KEY, old)
    best = fitted().recommend(study)
    assert best.params == UnbribableSampler.from_study(study).recommend(study).params
    assert UnbribableSampler.from_study(study).block is None


@pytest.mark.parametrize("words", [{"block": "day"}, {"drift": True}])
def test_where_lies_have_a_total_there_is_neither(words):
    with pytest.raises(ValueError, match="needs lies that are counted"):
        sampler(corruption=2.0, **words)


def test_the_name_of_the_attribute_must_be_words():
    with pytest.raises(TypeError, match="block must be words, got block=3"):
        UnbribableSampler(block=3)


# --- the command line ------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNBRIBABLE_STORAGE", raising=False)
    return tmp_path


def call(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


CREATE = ("study", "create", "laser", "--param", "power=0:5", "--trials", "20", "--seed", "1")


def read(number, off=0.0):
    asked = json.loads(call("study", "ask", "laser", "--json"))
    assert asked["number"] == number
    return 3.0 - (asked["params"]["power"] - 2.0) ** 2 + off


def test_tell_takes_a_block_and_status_shows_its_offset(here):
    call(*CREATE, "--drift")
    for number in range(4):
        day = "Monday" if number < 2 else "Tuesday"
        value = read(number, OFF[day])
        told = call("study", "tell", "laser", number, "--block", day, "--json", "--", value)
        assert json.loads(told) == {"number": number, "value": value, "block": day}
    status = json.loads(call("study", "status", "laser", "--json"))
    assert [*status["offsets"]] == ["Monday", "Tuesday"]
    assert "offsets of blocks" in call("study", "status", "laser")
    assert "offsets of 2 blocks and the drift" in call("study", "recommend", "laser", "--why")


def test_a_table_with_blocks_goes_out_and_in(here):
    call(*CREATE)
    (here / "past.csv").write_text("power,who,value\n1.5,Ann,2\n2.5,Bo,3\n1,,2\n")
    call("study", "import", "laser", "past.csv", "--block", "who")
    assert "imported into laser: readings 0, failed 0, there already 3" in call(
        "study", "import", "laser", "past.csv", "--block", "who"
    )
    call("study", "export", "laser", "out.csv")
    head, *rows = (here / "out.csv").read_text().splitlines()
    assert head.endswith(",block")
    assert [row.split(",")[-1] for row in rows] == ["Ann", "Bo", ""]
    call(*[word.replace("laser", "other") for word in CREATE])
    call("study", "import", "other", "out.csv", "--block", "block")


def test_where_lies_have_a_total_a_block_is_refused(here):
    call(*CREATE, "--corruption", "2")
    read(0)
    said = " ".join(call("study", "tell", "laser", 0, "1.5", "--block", "Monday", code=2).split())
    assert "block needs a study in which lies are counted" in said
    call("study", "tell", "laser", 0, "1.5")
    (here / "past.csv").write_text("power,who,value\n1.5,Ann,2\n")
    call("study", "import", "laser", "past.csv", "--block", "who", code=2)


def test_audit_takes_a_column_of_blocks(here):
    rows = [f"{(0.37 * k) % 1:.3f},{'ab'[k % 2]},{(0.37 * k) % 1 + (k % 2):.3f}" for k in range(12)]
    (here / "data.csv").write_text("\n".join(["x,who,y", *rows]))
    said = json.loads(call("audit", "data.csv", "--target", "y", "--block", "who", "--drift", "--json"))
    assert [*said["parameters"]] == ["x"]
    assert "offsets of 2 blocks and the drift" in said["guarantee"]
