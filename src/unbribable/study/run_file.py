"""Run files: a line of JSON for the run, then one for each step, on the disk before the next."""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbribable.files import BINARY, written
from unbribable.study.plan import LATER, Plan

FORMAT = 4

_RUN = ("domain", "plan", "seed")
_END = ("stopped", "seconds_per_ask")
_STEP = {"asked", "told", *_END}
_N_LAST = 256
"""Bytes at the end of a file by which it is recognised."""


class RunFile:
    """Holds changing state: the file of a run, and how this process left it.

    Steps are appended. Everything is written anew, in place of the file, where there is none yet, where
    it ends in the middle of a line, and after anything has gone wrong.

    Attributes:
        path: As the user named it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self._end: _End | None = None

    def read(self) -> dict[str, Any]:
        """What `read` finds in it."""
        content = _content(self.path)
        stored = _parsed(self.path, content)
        if content.endswith(b"\n"):
            self._end = _End.of(content)
        return stored

    def anew(self) -> None:
        """Let the next step write everything: what is in memory is not what the file says."""
        self._end = None

    def add(self, step: Mapping[str, Any], whole: Callable[[], dict[str, Any]]) -> None:
        """Bring a step to the disk, or all of it or nothing.

        Args:
            step: "asked", "told" (rows that were told, or that took back what was), "stopped" and
                "seconds_per_ask", or some of these.
            whole: The run with this step, as `write` takes it.

        Raises:
            OSError: It cannot be written, or another process has told the file something meanwhile.
        """
        line, end = _line(step), self._end
        self._end = None  # until it is certain how the file ends
        try:
            is_appended = end is not None and _is_appended(self.path, end, line)
        except OSError as error:
            error.filename = str(self.path)  # also where the system names none
            raise
        if end is not None and is_appended:
            self._end = _End(end.size + len(line), line[-_N_LAST:])
            return
        stored = whole()
        if not _holds_all(stored, self.path):
            raise OSError(
                errno.EBUSY,
                "another run has written to this file since; open it again, or use another file",
                str(self.path),
            )
        self._end = _End.of(write(self.path, stored))


def write(path: str | os.PathLike[str], stored: Mapping[str, Any]) -> bytes:
    """Write a run in place of what the file held.

    Args:
        path: The file.
        stored: domain, plan, seed, trials, pending, stopped and seconds_per_ask, as plain data.

    Returns:
        What the file holds.
    """
    steps: list[dict[str, Any]] = [{"told": [row]} for row in stored["trials"]]
    if stored["pending"]:
        steps.append({"asked": stored["pending"]})
    if any(stored[name] is not None for name in _END):
        steps.append({name: stored[name] for name in _END})
    run = {"format": FORMAT, **{name: stored[name] for name in _RUN}}
    content = b"".join(_line(each) for each in (run, *steps))
    with written(path) as file:
        file.write(content)
    return content


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write` was given, with the steps since.

    A last line that was cut off, as by a kill, is left out: nobody was told that it was saved.

    Raises:
        ValueError: The file is not a saved run, or has another format.
    """
    return _parsed(path, _content(path))


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe, which would wait, and a device, which may never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"a run file must be a regular file, got {path}, which is not one")


@dataclass(frozen=True)
class _End:
    """How a file ends, to be recognised by."""

    size: int
    last: bytes

    @classmethod
    def of(cls, content: bytes) -> "_End":
        return cls(len(content), content[-_N_LAST:])


def _line(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, allow_nan=False).encode() + b"\n"


def _content(path: str | os.PathLike[str]) -> bytes:
    check_regular(path)
    return Path(path).read_bytes()


def _is_appended(path: str | os.PathLike[str], end: _End, line: bytes) -> bool:
    """Append a line, and whether that was right: only to a file as it was left."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | BINARY)
    except FileNotFoundError:
        return False
    with open(handle, "r+b", buffering=0) as file:
        if file.seek(0, os.SEEK_END) != end.size:
            return False
        file.seek(end.size - len(end.last))
        if file.read() != end.last:
            return False
        try:
            rest = line
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(handle)
        except BaseException:
            with suppress(OSError):  # what is left of it has no end, and is left out by `read`
                file.truncate(end.size)
            raise
    return True


def _holds_all(stored: Mapping[str, Any], path: str | os.PathLike[str]) -> bool:
    """Whether everything that was told in the file is in `stored` too."""
    ours = {row["number"]: row for row in stored["trials"]}
    try:
        found = read(path)["trials"]
        return all(_is_known(row, ours.get(row["number"])) for row in found)
    except FileNotFoundError:
        return True
    except (LookupError, TypeError, ValueError):  # it is not what we left, and nothing we know
        return False


def _is_known(row: Mapping[str, Any], ours: Mapping[str, Any] | None) -> bool:
    is_same = ours is not None and row["x"] == ours["x"]
    return is_same and ours is not None and (row["y"] == ours["y"] or ours["retracted"] is not None)


def _parsed(path: str | os.PathLike[str], content: bytes) -> dict[str, Any]:
    try:
        run, *steps = _objects(content)
        if run.get("format") != FORMAT:
            raise ValueError(
                f"format must be {FORMAT}, got {run.get('format')!r}: another version of unbribable "
                "wrote it; go on with that one, or give its readings to a new run as initial=..."
            )
        stored = {name: run[name] for name in ("format", *_RUN)} | _after(steps)
        domain, plan = stored["domain"], stored["plan"]
        is_whole = isinstance(domain, dict) and isinstance(plan, dict)
        if not is_whole or {*LATER, *plan} != set(Plan.__dataclass_fields__):
            raise ValueError(f"domain={domain!r} and plan={plan!r}")
        stored["plan"] = LATER | plan
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        words = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} must be a run saved by Result.save, got {words}") from None
    return stored


def _objects(content: bytes) -> list[dict[str, Any]]:
    """The lines of a file, but for a last one that was cut off."""
    *lines, rest = content.split(b"\n")
    found = [_object(line, k) for k, line in enumerate(lines, 1)]
    try:
        if rest or not found:
            found.append(_object(rest, len(found) + 1))
    except json.JSONDecodeError:
        if not found:
            raise
    return found


def _object(line: bytes, k: int) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(f"line {k} is no JSON, {error.msg}", error.doc, error.pos) from None
    if not isinstance(found, dict):
        raise TypeError(f"a line that is no object: {found!r:.80}")
    return found


def _after(steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What has become of the run after these steps; its values are checked by whoever takes them."""
    trials: dict[int, Any] = {}
    pending: dict[int, Any] = {}
    ended: dict[str, Any] = dict.fromkeys(_END)
    for step in steps:
        if not step.keys() <= _STEP:
            raise ValueError(f"a step with {sorted(step.keys() - _STEP)}")
        for row in _rows(step, "asked"):
            pending[row["number"]] = row
        for row in _rows(step, "told"):
            t, before = row["number"], trials.get(row["number"])
            if before is not None and not _is_taken_back(before, row):
                raise ValueError(f"round {t} told twice")
            trials[t] = row
            pending.pop(t, None)
        ended = {
            "stopped": step.get("stopped"),  # what comes after it goes on
            "seconds_per_ask": step.get("seconds_per_ask", ended["seconds_per_ask"]),
        }
    return {"trials": [*trials.values()], "pending": [*pending.values()], **ended}


def _rows(step: Mapping[str, Any], name: str) -> Sequence[dict[str, Any]]:
    rows = step.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TypeError(f"{name}={rows!r:.80}")
    return rows


def _is_taken_back(before: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a reading was retracted: the same round at the same point, without it."""
    return row.get("retracted") is not None and before.get("y") is not None and row["x"] == before["x"]
