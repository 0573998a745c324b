"""Where studies to watch come from: a file, or whatever the command line opens."""

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable
from pathlib import Path

from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.say.counting import ROUNDS, Counting
from unbribable.study.files import locked
from unbribable.study.result import Result
from unbribable.study.study import Study


class Source(ABC):
    """Abstract. Studies by name; other processes may be telling readings all the time."""

    counting: Counting = ROUNDS
    """What a reading is called by."""

    @abstractmethod
    def names(self) -> list[str]:
        """Of all studies, none of them a path."""

    @abstractmethod
    def version(self, name: str) -> Hashable:
        """Changes whenever something was told or retracted; cheap."""

    @abstractmethod
    def result(self, name: str) -> Result:
        """Everything told so far; it does not wait for an `answer` that is being worked out."""

    @abstractmethod
    def retract(self, name: str, t: int, reason: str, unrelated_to_value: bool) -> None:
        """Take out the reading of round t, for everybody."""

    def answer(self, name: str, result: Result) -> tuple[Recommendation | None, Price | None]:
        """What to use, and what it would cost a briber; None before the first reading."""
        best = result.recommendation
        return best, None if best is None else result.price()

    def left_to_gain(self, name: str, result: Result) -> LeftToGain:
        """By how much another point may be better than the one to use."""
        return result.left_to_gain


class StudyFile(Source):
    """A study, or a run of `maximize`, in a file; it is read while others write it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.result(self._path.name)  # refuses what is no study

    def names(self) -> list[str]:
        return [self._path.name]

    def version(self, name: str) -> Hashable:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def result(self, name: str) -> Result:
        return Result.load(self._path)

    def retract(self, name: str, t: int, reason: str, unrelated_to_value: bool) -> None:
        with locked(self._path):
            study = Study.load(self._path)
            study.retract(t, reason, unrelated_to_value=unrelated_to_value)
            study.save(self._path)
