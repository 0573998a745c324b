"""A result has what a study has: predictions, a table, a study that goes on, a picture in a notebook."""

import builtins
import json
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, Scripted, trials_of, wave
from unbribable.study.result import Result

SPACE: dict[str, Any] = {"z": (0.0, 1.0), "a": ["<b>", "c"]}
"""Declared in an order that is not that of the alphabet; an option that is no HTML."""


def told(n: int = 9, **words: Any) -> ub.Study:
    study = ub.Study(BOX, seed=0, **words)
    f = Scripted(script={4: 9.0})
    for _ in range(n):
        query = study.ask()
        study.tell(query, f(query.x))
    return study


def test_it_predicts_as_a_study_does() -> None:
    study, X = told(), [[0.2], [0.7]]
    for there, here in zip(study.predict(X), study.result().predict(X), strict=True):
        assert there.tolist() == here.tolist()
    with pytest.raises(TypeError, match=r"X must be a list of points, got X='x'; one alone is \[x\]"):
        study.result().predict("x")
    with pytest.raises(RuntimeError, match="needs a reading, there is none yet"):
        ub.Study(BOX).result().predict(X)


def test_its_table_is_the_studys() -> None:
    pytest.importorskip("pandas")
    study = told()
    assert study.result().to_dataframe().equals(study.to_dataframe())
    named = ub.Study(SPACE, seed=0)
    named.tell({"z": 0.25, "a": "c"}, 1.0)
    table = named.result().to_dataframe()
    assert [*table.columns][:4] == ["round", "z", "a", "y"]
    assert [*table.iloc[0]][:4] == [1, 0.25, "c", 1.0]


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match="a table needs pandas: pip install pandas"):
        told(1).result().to_dataframe()


def test_a_study_of_it_goes_on_as_if_nothing_had_stopped() -> None:
    f, whole = Scripted(), ub.maximize(Scripted(), BOX, 12, seed=3)
    part = ub.maximize(f, BOX, 12, seed=3, callbacks=[lambda _, trial: trial.t == 9])
    study = part.study()
    while len(study.trials) < 12:
        query = study.ask()
        study.tell(query, f(query.x))
    assert trials_of(study.result()) == trials_of(whole)
    assert len(part.trials) == 9, "the result stays as it is"


def test_what_was_pending_is_pending_in_a_study_of_it() -> None:
    study = told()
    asked = study.ask(2)
    again = study.result().study()
    again.tell(asked[1], 0.5)
    assert [query.t for query in again.pending] == [asked[0].t]
    assert len(study.pending) == 2, "another one"
    assert again.ask().t == asked[1].t + 1


def test_a_run_with_a_gap_does_not_go_on() -> None:
    """A trial of Optuna that still runs is in no result: its round would be asked a second time."""
    study = told(4)
    engine = study.engine.replayed(trial for trial in study.trials if trial.t != 2)
    result = Result(study.space, engine, list(engine.log.values()))
    with pytest.raises(RuntimeError, match=r"all told or pending, got rounds \[1, 3, 4\]"):
        result.study()


def test_a_notebook_shows_the_summary_and_the_suspects_as_a_table() -> None:
    study = ub.Study(SPACE, seed=0)
    for k in range(16):
        x = k / 15
        study.tell({"z": x, "a": "<b>"}, 9.0 if k == 6 else wave([x]))
    for shown in (study._repr_html_(), study.result()._repr_html_()):
        assert shown.startswith("<pre>use z=")
        assert shown.count("<tr>") == 2, "a head and a row"
        assert ">z=0.4 a=&lt;b&gt;</td>" in shown
        assert "<b>" not in shown
        assert ">9</td>" in shown
    empty = ub.Study(BOX)
    assert empty._repr_html_() == "<pre>No reading yet; 0 of 0 evaluations failed.</pre>"


# --- what it rests on ------------------------------------------------------------------------------


def test_assumptions_are_in_the_users_units_and_print_as_words() -> None:
    space = {"temp": (200.0, 500.0), "gas": ["N2", "Ar", "He"]}
    study = ub.Study(space, seed=0, noise_std=2.0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        query = study.ask()
        study.tell(query, 1000.0 + query.params["temp"] + 2.0 * rng.standard_normal())
    found = study.result().assumptions
    assert found is not None
    model = study.engine.fit()
    assert found.noise_std == pytest.approx(2.0)
    assert pytest.approx(model.units.scale * model.assumptions.B) == found.B
    assert pytest.approx(model.units.scale * model.assumptions.B0) == found.B0
    assert 1100.0 < found.center < 1600.0
    assert found.delta == 0.1
    assert [*found.lengthscales] == ["temp", "gas=N2", "gas=Ar", "gas=He"]
    assert tuple(found.lengthscales.values()) == found.kernel.lengthscale
    assert found.fitted == ("kernel", "B", "B0")
    assert str(found).startswith(
        "f lies in the RKHS of Matern(nu=2.5, lengthscales as shares of the ranges: "
    )
    assert f"Assumed: {str(found)[:60]}" in study.result().guarantee
    plain = json.loads(json.dumps(study.result().to_dict()))["assumptions"]
    assert plain == json.loads(json.dumps(found.to_dict()))
    assert plain["words"] == str(found)
    assert plain["c_max"] is None
    with pytest.raises(AttributeError):
        found.units = None  # type: ignore[misc]


def test_assumptions_that_were_given_are_what_was_given() -> None:
    found = ub.maximize(Scripted(), GRID, 2, assumptions=ASSUMED, corruption=0).assumptions
    assert found is not None
    assert found.assumptions is ASSUMED
    names = ("kernel", "B", "B0", "noise_std", "delta", "c_max")
    assert all(getattr(found, name) == getattr(ASSUMED, name) for name in names)
    assert found.lengthscales == {"x": 0.2}
    assert (found.center, found.fitted, str(found)) == (0.0, (), str(ASSUMED))


def test_a_kernel_without_lengthscales_has_none() -> None:
    study = ub.Study(BOX, kernel=ub.Linear(1.0))
    study.tell([0.5], 1.0)
    found = study.result().assumptions
    assert found is not None
    assert found.lengthscales == {}
