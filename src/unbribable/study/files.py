"""Locks: a run file is for one run at a time."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OURS = ("unbribable", "contextlib")

_held: dict[tuple[int, Path], object] = {}
"""Run files that this process has locked; the operating system only tells processes apart. With the
process id, since a forked child inherits this table and not the locks."""


def level_of_user() -> int:
    """The stacklevel at which a warning points to the line outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep every other run off the file, in this process and in others.

    The lock is the operating system's, on a file beside it: it ends with the process, even a killed one.

    Raises:
        RuntimeError: Another run has it.
    """
    target = Path(path).resolve()
    key, mine = (os.getpid(), target), object()
    if _held.setdefault(key, mine) is not mine:  # before any look at the lock: to close it is to end it
        raise _in_use(path, str(os.getpid()))
    try:
        beside = target.with_name(f".{target.name}.lock")
        handle = _acquire(path, beside)
        try:
            with suppress(OSError):  # it is for the message to others alone
                os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            if os.getpid() == key[0]:  # a forked child has no lock to give back
                _release(handle, beside)
    finally:
        del _held[key]


def _acquire(path: str | os.PathLike[str], beside: Path) -> int:
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            error.filename = str(path)  # the file that the user named, not the one beside it
            raise
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError):
            owner = os.read(handle, 32).decode(errors="replace").split("\n")[0]
            os.close(handle)
            raise _in_use(path, owner) from None
        except OSError as error:
            warnings.warn(
                f"{path} cannot be locked ({error}): see to it that no other run uses it",
                RuntimeWarning,
                stacklevel=level_of_user(),
            )
            return handle
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        os.close(handle)  # the run before removed it between our two steps


def _release(handle: int, beside: Path) -> None:
    if sys.platform == "win32":  # where no open file can be removed, by us or by others
        os.close(handle)
        with suppress(PermissionError):
            beside.unlink(missing_ok=True)
    else:
        beside.unlink(missing_ok=True)
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 1024, os.SEEK_SET)  # a byte beyond the text, which others may read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock's, no child inherits it


def _in_use(path: str | os.PathLike[str], owner: str) -> RuntimeError:
    return RuntimeError(
        f"a file is for one run at a time, got {path}, which the run of process {owner} is using; "
        "wait until it has ended (a study ends with close()), or use another file"
    )
