"""Studies of an Optuna database, as the page watches them."""

import json
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import optuna
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import SQLAlchemyError

from unbribable.cli.storage import what_failed
from unbribable.cli.study import has_reading, open_study
from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.hosts.optuna.terms import STUDY_KEY, retracted_of
from unbribable.page.source import Source
from unbribable.say.counting import TRIALS
from unbribable.study.result import Result

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study

    from unbribable.hosts.optuna.sampler import UnbribableSampler


class _Opened(NamedTuple):
    """A study with two samplers: who reads need not wait for what is being worked out."""

    key: tuple[int, str, datetime | None]
    """Its id, what it was started with, and when its first trial was: SQLite gives ids again."""
    study: "Study"
    reader: "UnbribableSampler"
    adviser: "UnbribableSampler"


class StudiesInDatabase(Source):
    """Holds changing state: the studies that were looked at, with their samplers."""

    counting = TRIALS

    def __init__(self, storage: "RDBStorage") -> None:
        self._storage = storage
        self._open: dict[str, _Opened] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        with self._reached():
            return optuna.get_all_study_names(storage=self._storage)

    def version(self, name: str) -> Hashable:
        with self._reached(name):
            key, study, *_ = self._opened(name)
            trials = study.get_trials(deepcopy=False)
            n_finished = sum(trial.state.is_finished() for trial in trials)
            return key, len(trials), n_finished, *retracted_of(study)

    def result(self, name: str) -> Result:
        with self._reached(name):
            opened = self._opened(name)
            return opened.reader.result(opened.study)

    def answer(self, name: str, result: Result) -> tuple[Recommendation | None, Price | None]:
        with self._reached(name):
            _, study, _, adviser = self._opened(name)
            if not has_reading(study):
                return None, None
            return adviser.recommend(study), adviser.price(study)

    def left_to_gain(self, name: str, result: Result) -> LeftToGain:
        with self._reached(name):
            _, study, _, adviser = self._opened(name)
            return adviser.left_to_gain(study)

    def retract(self, name: str, t: int, reason: str, unrelated_to_value: bool) -> None:
        with self._reached(name):
            opened = self._opened(name)
            number = t - 1
            opened.reader.retract(opened.study, number, reason, unrelated_to_value=unrelated_to_value)

    def _opened(self, name: str) -> _Opened:
        with self._lock:
            key = self._key(name)
            if name not in self._open or self._open[name].key != key:
                study, adviser = open_study(name, self._storage)
                _, reader = open_study(name, self._storage)
                self._open[name] = _Opened(key, study, reader, adviser)
            return self._open[name]

    def _key(self, name: str) -> tuple[int, str, datetime | None]:
        db = self._storage
        study_id = db.get_study_id_from_name(name)
        started = json.dumps(db.get_study_system_attrs(study_id).get(STUDY_KEY), sort_keys=True)
        if not db.get_n_trials(study_id):
            return study_id, started, None
        first = db.get_trial(db.get_trial_id_from_study_id_trial_number(study_id, 0))
        return study_id, started, first.datetime_start

    @contextmanager
    def _reached(self, name: str | None = None) -> Iterator[None]:
        """Says so in a sentence if the database cannot be reached, or the study is deleted meanwhile."""
        try:
            yield
        except (SQLAlchemyError, StorageInternalError) as error:
            words = what_failed(self._storage.url, error)
            raise OSError(f"the database must be within reach, got {words}") from None
        except KeyError:
            if name is None or self._is_there(name):
                raise
            raise RuntimeError(
                f"{name!r} must stay while it is read, got a study just deleted"
            ) from None

    def _is_there(self, name: str) -> bool:
        """Whether the study still is the one that was opened."""
        ids = {each.study_name: each._study_id for each in self._storage.get_all_studies()}
        return name in ids and (name not in self._open or self._open[name].key[0] == ids[name])
