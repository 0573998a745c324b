"""Databases by their address: found, opened and named without the password."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from unbribable.cli.door import usage
from unbribable.extras import missing

if TYPE_CHECKING:
    from optuna.storages import RDBStorage

FORMS = "an SQLite file such as lab.db, or postgresql://user:password@host/name"


def shown(storage: str) -> str:
    """The address, without a password."""
    hidden = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", storage)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", hidden)


@contextmanager
def database(storage: str, *, is_new: bool = False) -> Iterator["RDBStorage"]:
    """The database, open inside the `with`; an error of it is reported in one line.

    Args:
        storage: A file or an address.
        is_new: Whether the database may be created.
    """
    with usage():
        import_module("unbribable.hosts.optuna.sampler")  # without Optuna, says what to install
        import optuna
        import sqlalchemy
        from optuna.exceptions import StorageInternalError
        from optuna.storages import RDBStorage

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        url = storage if "://" in storage else f"sqlite:///{storage}"
        try:
            parsed = sqlalchemy.make_url(url)
        except (sqlalchemy.exc.ArgumentError, ValueError):
            raise ValueError(f"storage must be {FORMS}, got {shown(storage)}") from None
        if parsed.password is not None and "@" in f"{parsed.host}{parsed.database}":
            raise ValueError(
                f"storage must have each @ of a user or password written as %40, got {shown(storage)}"
            )
        file = parsed.database or ""
        if parsed.get_backend_name() == "sqlite" and file and not file.startswith("file:"):
            _check_file(Path(file), is_new)
        try:
            opened = RDBStorage(url)
            try:
                yield opened
            finally:
                opened.remove_session()
                opened.engine.dispose()
        except ImportError as error:
            if error.__cause__ is None:
                raise
            backend = parsed.get_backend_name()
            who = f"a database at {backend}:// needs"
            if backend == "postgresql":
                raise missing(who, "its driver", "postgres") from None
            raise ModuleNotFoundError(f"{who} its driver, pip install it: {error.__cause__}") from None
        except (sqlalchemy.exc.SQLAlchemyError, StorageInternalError) as error:
            raise OSError(f"storage must be {FORMS}, got {what_failed(storage, error)}") from None


def what_failed(storage: str, error: Exception) -> str:
    """The address, without a password, and what the database says, in one line."""
    cause = error.__cause__ or error
    line = str(getattr(cause, "orig", None) or cause).partition("\n")[0]
    return f"{shown(storage)}: {line}"


def _check_file(file: Path, is_new: bool) -> None:
    if is_new and not file.resolve().parent.is_dir():
        raise ValueError(f"storage must be in a folder that exists, got {str(file)!r}")
    if not is_new and not file.exists():
        raise ValueError(
            f"storage must exist, got {str(file)!r}: go to its folder, name it with --storage "
            "or UNBRIBABLE_STORAGE, or start with unbribable study create"
        )
