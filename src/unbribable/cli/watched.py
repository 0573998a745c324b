"""Studies of an Optuna database, as the page watches them."""

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING

import optuna

from unbribable.cli.study import has_reading, open_study
from unbribable.decision.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.integrations.optuna_terms import retracted_of
from unbribable.practice.result import Result
from unbribable.say.counting import TRIALS
from unbribable.web.source import Source

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study

    from unbribable.integrations.optuna_sampler import UnbribableSampler


class StudiesInDatabase(Source):
    """Holds changing state: the studies that were looked at, with their samplers."""

    counting = TRIALS

    def __init__(self, storage: "RDBStorage") -> None:
        self._storage = storage
        self._open: dict[str, tuple[Study, UnbribableSampler]] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        return optuna.get_all_study_names(storage=self._storage)

    def version(self, name: str) -> Hashable:
        study, _ = self._opened(name)
        trials = study.get_trials(deepcopy=False)
        return len(trials), sum(trial.state.is_finished() for trial in trials), *retracted_of(study)

    def result(self, name: str) -> Result:
        study, sampler = self._opened(name)
        return sampler.result(study)

    def answer(self, name: str, result: Result) -> tuple[Recommendation | None, Price | None]:
        study, sampler = self._opened(name)
        if not has_reading(study):
            return None, None
        return sampler.recommend(study), sampler.price(study)

    def retract(self, name: str, t: int, reason: str, unrelated_to_value: bool) -> None:
        study, sampler = self._opened(name)
        sampler.retract(study, t - 1, reason, unrelated_to_value=unrelated_to_value)

    def _opened(self, name: str) -> "tuple[Study, UnbribableSampler]":
        with self._lock:
            if name not in self._open:
                self._open[name] = open_study(name, self._storage, None)
            return self._open[name]
