"""Audits of uploaded tables: each in a process of its own, which ends when its time is over."""

import multiprocessing
import re
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

from unbribable.auditing.audit import audit
from unbribable.auditing.columns import Column
from unbribable.auditing.csv_file import read_csv
from unbribable.page.guard import RefusedError

MAX_BYTES = 5_000_000
"""Size of a table, at most."""
MAX_SECONDS = 120.0
"""Time that an audit may take."""
N_KEPT = 8
"""Pages kept until they are fetched; each has up to a few megabytes."""

_NAME = re.compile(r"[^/\\:\x00-\x1f]{1,120}")


class Audits:
    """Holds changing state: the last pages, by names that cannot be guessed."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, str] = OrderedDict()

    def make(
        self,
        name: str,
        content: bytes,
        target: str,
        direction: str,
        ignore: Sequence[str] = (),
        limits: tuple[float, float] | None = None,
    ) -> str:
        """Audit a table: the key under which its page is kept.

        Columns to `ignore` are no parameters; `limits` is the range of honest readings, if it is known.

        Raises:
            ValueError: The table cannot be audited; the message says why.
            RefusedError: It took too long.
        """
        with tempfile.TemporaryDirectory() as folder:
            table, page = _saved(folder, name, content), Path(folder) / "page"
            spawned = multiprocessing.get_context("spawn")
            words = (table, target, direction, tuple(ignore), limits, page)
            work = spawned.Process(target=_audit, args=words, daemon=True)
            work.start()
            work.join(MAX_SECONDS)
            if work.is_alive():
                work.kill()
                work.join()
                raise RefusedError(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"an audit must end within {MAX_SECONDS:g} s, got a longer one; audit a part",
                )
            if not page.exists():
                raise RuntimeError(f"an audit must end with a page, got exit code {work.exitcode}")
            text = page.read_text(encoding="utf-8")
        state, _, rest = text.partition("\n")
        if state != "done":
            raise ValueError(rest)
        key = secrets.token_urlsafe(18)
        self._pages[key] = rest
        if len(self._pages) > N_KEPT:
            self._pages.popitem(last=False)
        return key

    def page(self, key: str) -> str:
        """A page that was made."""
        if key not in self._pages:
            raise RefusedError(
                HTTPStatus.NOT_FOUND, "an audit must be one of the last, got another; redo it"
            )
        return self._pages[key]


def columns(name: str, content: bytes) -> tuple[list[str], str]:
    """Names of the columns of a table, and the one that was probably read: the last of numbers."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            names, rows, labels = read_csv(_saved(folder, name, content), [])
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/table/", "")) from None
    if not rows:
        raise ValueError(f"{name} must have rows below its header, got none")
    for k in reversed(range(len(names))):
        column = Column.as_found(names[k], [row[k] for row in rows], labels)
        if 2 * column.n_numbers > len(column.present):
            return names, names[k]
    return names, names[-1]


def file_name(name: str) -> str:
    """The name of a file that was sent; it is shown in the page, and must be no path."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise ValueError(f"a name must be that of a file, without a path, got {name!r}")
    return name


def _saved(folder: str, name: str, content: bytes) -> Path:
    """The table in a file."""
    path = Path(folder) / "table" / file_name(name)
    path.parent.mkdir()
    path.write_bytes(content)
    return path


def _audit(
    table: Path,
    target: str,
    direction: str,
    ignore: tuple[str, ...],
    limits: tuple[float, float] | None,
    page: Path,
) -> None:
    """What the process does: writes the page, or why there is none."""
    try:
        found = audit(table, target=target, direction=direction, ignore=ignore, reading_range=limits)
        text = "done\n" + found.to_html()
    except (TypeError, ValueError) as error:
        text = f"refused\n{error}"
    page.write_text(text.replace(f"{table.parent}/", ""), encoding="utf-8")
