"""The command line: `unbribable`, or `python -m unbribable`."""

import sys

from unbribable.extras import missing


def main() -> None:
    """Run the command line; say what to install where it cannot run."""
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
