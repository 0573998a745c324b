"""Files that are there whole or not at all, through crashes, power cuts and full disks."""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


@contextlib.contextmanager
def written(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name when the block is left: the old file or the new one.

    Its bytes are on the disk before it gets the name, and the name is before this returns.

    Raises:
        OSError: It names the path, on a full disk too; nothing is left behind.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what went wrong first is what matters
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # a failed write, unlike a failed open, does not know it
        raise


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
