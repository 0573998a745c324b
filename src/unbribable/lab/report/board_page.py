"""Boards in, the page of the leaderboard and its figure out; every word about who wins is computed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.lab.report import numbers, protection
from unbribable.lab.report.leaderboard import NO_PROMISE, Board, Row, boards, slope
from unbribable.lab.report.outcomes import Setting
from unbribable.lab.report.table import Column, Table, in_markdown
from unbribable.lab.runs.record import OF_LIES
from unbribable.say.figures.drawing import BLUE, GREEN, ORANGE, PURPLE, RED, require_matplotlib, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = dict(zip(OF_LIES, (BLUE, GREEN, PURPLE, ORANGE, RED), strict=True))

_HEAD = """# Leaderboard: tables

Methods of this field under one roof, made by `unbribable leaderboard` from the records of sweeps. All
players of a seed meet the same function, noise and attack. Parameters are those of a method's source, or
were chosen on other seeds.

In the tables of regret: mean cumulative regret ± standard error over seeds. *told*: what a player knows
about the lies. **Bold**: nobody who is told the same beats it; a difference counts if the 95 % bootstrap
interval over paired seeds, three at least, excludes 0. †: a promise was broken, that is, the
Clopper-Pearson interval of its coverage lies below what was promised.
"""


def leaderboard(directories: Sequence[str | Path], out: str | Path) -> dict[str, Any]:
    """Write the page `out` (Markdown), and its figure into the folder images beside it.

    Args:
        directories: Of sweeps, one for each protocol.
        out: The page.

    Returns:
        What was won and lost, as JSON-able data, and the files written.

    Raises:
        FileNotFoundError, ValueError: A directory holds no records that can be read.
        ModuleNotFoundError: matplotlib is not installed.
    """
    require_matplotlib()
    out = Path(out)
    found = [board for directory in directories for board in boards(directory)]
    images = out.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    drawn = price_and_protection(found)
    figure = [] if drawn is None else save(drawn, images / out.stem)
    lines = [_HEAD, *([f"![Price against protection](images/{out.stem}.png)", ""] if figure else [])]
    for board in found:
        lines += [
            f"## {in_markdown(board.name)}",
            "",
            *_words(board),
            _regrets(board),
            _worst(board).markdown().replace("## ", "### ", 1),
            _players(board).markdown().replace("## ", "### ", 1),
        ]
    out.write_text("\n".join(lines), encoding="utf-8")
    data = {
        "boards": [
            {
                "name": board.name,
                "losses": {s.title: [row.label for row in b] for s, (_, b) in board.losses().items()},
                "wins": {s.title: row.label for s, row in board.wins().items()},
                "broken": {
                    row.label: sorted(s.title for s in row.broken) for row in board.rows if row.broken
                },
                "not_run": {label: list(why) for label, why in board.not_run.items()},
            }
            for board in found
        ],
        "files": [str(path) for path in (out, *figure)],
    }
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return plain


def price_and_protection(found: Sequence[Board]) -> "Figure | None":
    """The figure of all boards; None where no two players can be compared: the frontier of a sweep."""
    panels = {board.name: _places(board) for board in found}
    panels = {name: points for name, points in panels.items() if len(points) > 1}
    used = {row.knows for board in found for row in board.rows}
    colours = {name: colour for name, colour in COLOURS.items() if name in used}
    return protection.places(panels, colours) if panels else None


def _places(board: Board) -> dict[str, protection.Place]:
    rows = {row.label: row for row in board.rows}
    return {
        label: protection.Place(*numbers_, COLOURS[rows[label].knows], _kind(rows[label]))
        for label, numbers_ in board.places().items()
    }


def _kind(row: Row) -> str:
    """One of `protection.PROMISES`."""
    strong, weak, none, broken = protection.PROMISES
    if row.promise in (NO_PROMISE, "only if nobody lies"):
        return none
    if row.broken:
        return broken
    return weak if row.promise == "against weak adversaries" else strong


def _words(board: Board) -> list[str]:
    """Losses, wins, and what was not run."""
    lines = []
    for setting, (ours, better) in board.losses().items():
        named = ", ".join(
            f"{row.label} ({_number(row.mean(setting))}, promise: {row.promise})" for row in better
        )
        lines.append(
            f"- **Lost** {setting.title}: our best, {ours.label}, has {_number(ours.mean(setting))}; "
            f"less have {named}."
        )
    won = [f"{setting.title} ({row.label})" for setting, row in board.wins().items()]
    lines += [f"- Won against all others: {'; '.join(won)}."] if won else []
    for why in dict.fromkeys(why for _, why in board.not_run.values()):
        named = "; ".join(
            f"{label}, {n} games" for label, (n, own) in board.not_run.items() if own == why
        )
        lines.append(f"- Not run: {named}: {why}")
    return (
        [*(in_markdown(line.replace("**", "@@")).replace("@@", "**") for line in lines), ""]
        if lines
        else []
    )


def _number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 100.0 else f"{value:.3g}"


def _regrets(board: Board) -> str:
    """The table of regrets in Markdown."""
    heads = ["told", "player", *(setting.title for setting in board.settings)]
    lines = [heads, ["---", "---", *["---:"] * len(board.settings)]]
    best = {(s, knows): board.best(s, knows) for s in board.settings for knows in OF_LIES}
    for row in board.rows:
        cells = [_cell(row, s, row in best[s, row.knows]) for s in board.settings]
        lines.append([row.knows, in_markdown(row.label), *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(row: Row, setting: Setting, is_best: bool) -> str:
    if setting not in row.cells:
        return "–"
    spread = numbers.final_regret(row.cells[setting])
    error = "" if np.isnan(spread.standard_error) else f" ± {_number(float(spread.standard_error))}"
    words = f"{_number(float(spread.mean))}{error}"
    return f"{f'**{words}**' if is_best else words}{'†' if setting in row.broken else ''}"


def _worst(board: Board) -> Table:
    """How regret grows under the attack that is worst for each player, and how seeds differ."""

    def at(part: float) -> Any:
        def of(row: Row) -> float:
            games = row.cells[row.worst(board.settings) or board.settings[0]]
            return float(np.mean([np.interp(part * g.rounds[-1], g.rounds, g.regret) for g in games]))

        return of

    def over_seeds(reduce: Any) -> Any:
        return lambda row: float(
            reduce([g.regret[-1] for g in row.cells[row.worst(board.settings) or board.settings[0]]])
        )

    columns = [
        Column("player", "player", "label"),
        Column("attack", "worst attack", lambda row: row.worst(board.settings).title),
        Column("quarter", "T/4", at(0.25)),
        Column("half", "T/2", at(0.5)),
        Column("whole", "T", at(1.0)),
        Column("median", "median", over_seeds(np.median)),
        Column("worst", "worst seed", over_seeds(np.max)),
    ]
    rows = [row for row in board.rows if row.worst(board.settings) is not None]
    note = "Mean regret after a quarter, half and all of the rounds; median and worst seed at the end."
    return Table.of("worst", "Under the worst attack", note, columns, rows)


def _players(board: Board) -> Table:
    """What each is told, promises, recommends and costs."""
    random = next((row for row in board.rows if row.kind == "RandomSearch"), None)

    def late(row: Row) -> float | None:
        worst = row.worst(board.settings)
        if random is None or worst is None or worst not in random.cells:
            return None
        return slope(row, worst) / max(slope(random, worst), 1e-12)

    def mean(name: str) -> Any:
        def of(row: Row) -> float | None:
            values = [value for game in row.attacked if (value := getattr(game, name)) is not None]
            return float(np.mean(values)) if values else None

        return of

    def kept(row: Row) -> float | None:
        held = [g.simple_regret <= c + 1e-9 for g in row.attacked if (c := g.certificate) is not None]
        return float(np.mean(held)) if held else None

    def late_ms(k: int) -> Any:
        return lambda row: 1e3 * float(np.median([game.late_seconds[k] for game in row.attacked]))

    def covered(row: Row) -> str | None:
        least = min((c.share for c in row.coverages), key=lambda s: (s.value, -s.n), default=None)
        return None if least is None else f"{least.k} of {least.n}"

    columns = [
        Column("player", "player", "label"),
        Column("told", "told", "knows"),
        Column("promise", "promise", "promise"),
        Column("simple_regret", "simple regret", mean("simple_regret")),
        Column("best_reading", "of the best reading", mean("best_reading")),
        Column("certificate", "certificate", mean("certificate")),
        Column("held", "held in", kept),
        Column("covered", "truth within bounds", covered),
        Column("in_target", "in the target", mean("in_target")),
        Column("late", "last quarter / random search", late),
        Column("ms", "ms/round", late_ms(0)),
        Column("slow_ms", "95 %", late_ms(1)),
    ]
    columns = [column for column in columns if any(column.of(row) is not None for row in board.rows)]
    note = (
        "Means over attacked games. Held in: share of them, whether or not the promise was meant for "
        "such an attack, in which the certificate was not below the simple regret. Truth within bounds: "
        "games, of the attack with the fewest, in which it never left bounds that had to hold. In the "
        "target: share of rounds, where the liar has one. Last quarter: regret a round there under the "
        "worst attack, over random search's. Milliseconds: median, 95th percentile in the last quarter."
    )
    return Table.of("players", "Players", note, columns, board.rows)
