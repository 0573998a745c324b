"""Copies of study files that were dropped onto the page."""

import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Collection, Hashable
from pathlib import Path

from unbribable.page.audits import file_name
from unbribable.page.source import Source, StudyFile
from unbribable.study.result import Result

N_KEPT = 8
"""Copies, at most: the oldest one goes first."""


class Dropped(Source):
    """Holds changing state: the last study files that were dropped, each as it was then."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files: OrderedDict[str, StudyFile] = OrderedDict()

    def take(self, name: str, content: bytes, taken: Collection[str] = ()) -> str:
        """Keep a copy: the name by which it is watched, which is none of those `taken`.

        A file of the same name that was dropped before is replaced.

        Raises:
            ValueError: It is no study's file; the message says why.
        """
        called = file_name(name)
        while called in taken:
            called = f"copy of {called}"
        path = self._folder / called
        new = path.with_name("new file")
        new.write_bytes(content)
        try:
            StudyFile(new)
        except (ValueError, TypeError, OSError) as error:
            new.unlink()
            words = str(error).replace(str(new), called)
            raise ValueError(f"a study's file must be given, as file= writes it: {words}") from None
        new.replace(path)
        self._files[called] = StudyFile(path)
        self._files.move_to_end(called)
        if len(self._files) > N_KEPT:
            gone, _ = self._files.popitem(last=False)
            (self._folder / gone).unlink()
        return called

    def names(self) -> list[str]:
        return list(self._files)

    def version(self, name: str) -> Hashable:
        return self._files[name].version(name)

    def result(self, name: str) -> Result:
        return self._files[name].result(name)

    def retract(self, name: str, t: int, reason: str, unrelated_to_value: bool) -> None:
        raise ValueError(
            f"a reading must be retracted in the study itself, got {name!r}, a copy of its file; "
            "start `unbribable page FILE`"
        )
