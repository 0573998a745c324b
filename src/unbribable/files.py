"""Files that are there whole or not at all, through crashes, power cuts and full disks."""

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

BINARY = getattr(os, "OBINARY", 0)
"""Where text files have other line ends."""


_LEFT_OVER = ".{}.{}.tmp"
"""What a file is called while it is written: its name and 32 hex digits."""

_MINUTE = 60.0
"""A file that is still called so after so many seconds is nobody's any more."""


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name when the block is left: the old file or the new one.

    Its bytes are on the disk before it gets the name, and the name is before this returns. A link is
    followed. An OSError names the path as given, on a full disk too, and nothing is left behind.
    """
    target = Path(path).resolve()
    temporary = target.with_name(_LEFT_OVER.format(target.name, uuid.uuid4().hex))
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        _sync(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what went wrong first is what matters
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename, error.filename2 = str(path), None  # not the temporary one, or none
        raise


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that leaves no room for the longer one while the file is written."""
    target = Path(path).resolve()
    n_most = os.pathconf(target.parent, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
    n_most -= len(_LEFT_OVER.format("", uuid.uuid4().hex))
    if (n := len(os.fsencode(target.name))) > n_most:
        raise ValueError(f"the name of a file must have at most {n_most} bytes here, got {n}: {path}")


def remove_left_over(folder: Path, name: str | None = None) -> None:
    """Remove what processes that were killed while they wrote a file have left beside it.

    Args:
        folder: Where the file is, not a link.
        name: Of the file; None: any.
    """
    which = ".+" if name is None else re.escape(name)
    pattern = re.compile(_LEFT_OVER.replace(".", r"\.").format(which, "[0-9a-f]{32}"))
    with contextlib.suppress(OSError):  # a folder where nothing may be removed
        for each in folder.iterdir():
            if pattern.fullmatch(each.name) and time.time() - each.stat().st_mtime > _MINUTE:
                each.unlink(missing_ok=True)


def write_json(path: str | Path, plain: Any) -> None:
    """Write plain data as JSON."""
    with written(path) as file:
        file.write((json.dumps(plain, indent=1) + "\n").encode())


def _sync(directory: Path) -> None:
    """Bring a changed name to the disk, where the system can do that for a directory."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse; the file is there
            os.fsync(handle)
    finally:
        os.close(handle)
