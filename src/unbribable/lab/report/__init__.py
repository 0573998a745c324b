"""Records of a sweep in, tables and figures out."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

from unbribable.lab.report.board_page import price_and_protection
from unbribable.lab.report.figures import all_figures, write_all
from unbribable.lab.report.leaderboard import boards_of
from unbribable.lab.report.outcomes import Collection, load, runs_of
from unbribable.lab.report.table import in_markdown
from unbribable.lab.report.tables import all_tables
from unbribable.say.figures.drawing import require_matplotlib

__all__ = ["report"]

_N_NAMED = 20
"""Skipped files named in report.md; the data names all."""


def report(
    directory: str | Path, out: str | Path | None = None, baseline: str | None = None
) -> dict[str, Any]:
    """Write the report of a sweep: report.md, a CSV file per table, figures as PNG and SVG.

    Broken records are skipped, counted and named, and so are runs of the spec that have none.

    Args:
        directory: Of the sweep: its records are DIR/runs/*.npz.
        out: Where to write; DIR/report by default.
        baseline: Label of the algorithm the others are compared to; GP-UCB by default, or the first
            algorithm where it was not played.

    Returns:
        What the tables hold, as JSON-able data, and the files written.

    Raises:
        FileNotFoundError: There is no such directory.
        ValueError: It holds no record that can be read, its list of runs is damaged, or the baseline
            was not played.
        ModuleNotFoundError: matplotlib is not installed.
    """
    require_matplotlib()
    directory = Path(directory)
    collection = load(directory)
    baseline = collection.algorithms[0] if baseline is None else baseline
    tables = all_tables(collection, baseline)
    folder = directory / "report" if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    noted = {path.stem for path in (directory / "failed").glob("*.json")}
    failed = sorted(noted if collection.n_runs is None else noted & set(collection.missing))
    advice = None
    if collection.missing:
        advice = (
            f"{len(collection.missing)} of the {collection.n_runs} runs of the spec are missing, "
            f"{len(failed)} of them failed. Call unbribable sweep again with the same spec and "
            "directory: it plays runs that have no file, and those whose file is damaged."
        )
    files = [table.write_csv(folder / f"{table.name}.csv") for table in tables]
    frontier = price_and_protection(boards_of(collection, directory.resolve().name))
    whole = [] if frontier is None else [("frontier", "Price against protection.", frontier)]
    figures = write_all(chain(whole, all_figures(collection, runs_of(directory))), folder)
    head = [
        f"# Report: {directory.resolve().name}",
        "",
        f"{collection.n_games} games in {len(collection.cells)} cells "
        f"({len(collection.algorithms)} algorithms, {len(collection.settings)} settings); "
        f"{len(collection.skipped)} files skipped, {len(failed)} runs failed.",
        "",
        *([f"**{advice}**", ""] if advice else []),
        *_skipped(collection),
    ]
    first, *others = (table.markdown() for table in tables)
    words = [*head, first, "## Figures", "", *_pictures(figures), *others]
    text = folder / "report.md"
    text.write_text("\n".join(words), encoding="utf-8")
    files = [text, *files, *(path for _, paths in figures for path in paths)]
    data = {
        "directory": str(directory),
        "out": str(folder),
        "baseline": baseline,
        "n_records": collection.n_games,
        "n_runs": collection.n_runs,
        "missing": list(collection.missing),
        "advice": advice,
        "n_skipped": len(collection.skipped),
        "skipped": [skip._asdict() for skip in collection.skipped],
        "failed": failed,
        "tables": {table.name: table.rows for table in tables},
        "files": [str(path) for path in files],
    }
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return plain


def _skipped(collection: Collection) -> list[str]:
    """The files that were skipped, the first ones by name, as a list in Markdown."""
    names = [f"- skipped `{skip.file}`: {in_markdown(skip.reason)}" for skip in collection.skipped]
    more = [f"- and {len(names) - _N_NAMED} more"] if len(names) > _N_NAMED else []
    return [*names[:_N_NAMED], *more, ""] if names else []


def _pictures(figures: list[tuple[str, list[Path]]]) -> list[str]:
    """The figures with their captions in Markdown; a caption alone where there is no figure."""
    lines = []
    for caption, paths in figures:
        words = in_markdown(caption)
        if paths:
            png, svg = paths
            lines += [f"![{words}]({png.name})", ""]
            words = f"{words} ([SVG]({svg.name}))"
        lines += [words, ""]
    return lines
