"""An answer as a notebook shows it: its lines, and below them the suspicious readings as a table."""

from collections.abc import Sequence
from html import escape

from unbribable.doubt.suspect import Suspect
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.words import plus_minus, point

N_ROWS = 12
"""Suspicious readings in the table, at most."""

_LEFT = ' style="text-align: left"'


def html(summary: str, flagged: Sequence[Suspect], counting: Counting = ROUNDS) -> str:
    """The answer as HTML without scripts or styles of its own.

    Args:
        summary: Its lines.
        flagged: The suspicious readings, the most suspicious first, with their evidence.
        counting: How rounds are numbered.
    """
    lines = f"<pre>{escape(summary)}</pre>"
    if not flagged:
        return lines
    head = (counting.name, "where", "read", "expected", "what speaks against it")
    rows = [
        (
            counting.numbered(each.t),
            point(each.x, each.params),
            f"{each.y:.6g}",
            plus_minus(each.expected, each.expected_sd),
            "; ".join(each.evidence),
        )
        for each in flagged[:N_ROWS]
    ]
    n_more = len(flagged) - len(rows)
    caption = f"Suspicious readings{f', and {n_more} more' if n_more else ''}"
    return "".join(
        [
            f"{lines}<table><caption>{caption}</caption><thead><tr>",
            *(f"<th{_LEFT}>{escape(name)}</th>" for name in head),
            "</tr></thead><tbody>",
            *(_row(cells) for cells in rows),
            "</tbody></table>",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td{_LEFT}>{escape(cell)}</td>" for cell in cells) + "</tr>"
