"""The command line: `unbribable`, or `python -m unbribable`."""

import sys


def main() -> None:
    """Run the command line; say what to install where it cannot run."""
    try:
        from unbribable.cli.main import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "threadpoolctl"):
            raise
        sys.exit(f"the command line needs {error.name}: pip install 'unbribable[cli]'")
    app(prog_name="unbribable")


if __name__ == "__main__":
    main()
