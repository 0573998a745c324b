"""The command line: `unbribable`, or `python -m unbribable`."""

import atexit
import gc
import sys

from unbribable.extras import missing

RARELY = 10_000
"""New objects between two collections of garbage; with Python's 700, opening a study takes longer."""


def main() -> None:
    """Run the command line; say what to install where it cannot run."""
    gc.set_threshold(RARELY)
    atexit.register(gc.freeze)  # what is left at the end is not gone through once more
    try:
        from unbribable.cli.main import app
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("typer", "rich", "threadpoolctl"):
            raise
        sys.exit(str(missing("the command line needs", name, "cli")))
    app(prog_name="unbribable")


if __name__ == "__main__":
    main()
