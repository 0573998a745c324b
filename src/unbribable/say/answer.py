"""An answer in a few lines: what to use, what to expect, the worst case, what to distrust."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Kind, Suspect
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.reasons import beside, short
from unbribable.say.recommendation import lines as recommended
from unbribable.say.words import WIDTH, plus_minus, wrapped

N_LINES = 9
"""Lines of an answer, at most."""

N_LISTED = 8
"""Suspicious readings that it names, at most."""

N_ALIKE = 4
"""Readings of the same value that it names, at most."""

_SHAPES = (
    (3, 2, True, 3, 2),
    (3, 1, True, 3, 2),
    (3, 1, True, 2, 2),
    (3, 1, True, 2, 1),
    (3, 1, False, 2, 1),
    (3, 1, False, 1, 1),
    (2, 1, False, 1, 1),
    (1, 1, False, 1, 1),
    (1, 0, False, 1, 1),
)
"""Lines for the point, remarks, whether to say how many lies it would take, lines of suspicious
readings, lines at the end: at most, and the first that fits into N_LINES is taken."""


@dataclass(frozen=True)
class BestReading:
    """What an optimizer that believes every reading goes by."""

    t: int
    """The round, from 1."""
    y: float
    where: str
    """The point, in words."""


def answer(
    best: Recommendation,
    naive: BestReading,
    flagged: Sequence[Suspect],
    rest: Sequence[str],
    counting: Counting = ROUNDS,
) -> list[str]:
    """The lines, N_LINES of WIDTH characters at most.

    Args:
        best: What is recommended.
        naive: What believing every reading comes to.
        flagged: The suspicious readings, the most suspicious first.
        rest: What else there is to say, a few words each, the most important first.
        counting: How rounds are numbered.
    """
    reading = f"best reading: {naive.y:.6g} in {counting.one(naive.t)}"
    doubt = "; it looks false" if naive.t in [suspect.t for suspect in flagged] else ""
    whole = f"{reading}, at {naive.where}{doubt}"
    if len(whole) > WIDTH:
        whole = f"{reading}{doubt}"
    lines: list[str] = []
    for n_use, n_remarks, has_needs, n_listed, n_last in _SHAPES:
        last = [whole, _joined(rest)] if n_last == 2 else [_joined([f"{reading}{doubt}", *rest])]
        advice = recommended(best, n_use, n_remarks, has_needs=has_needs)
        lines = [*advice, *listed(flagged, counting, n_listed), *last]
        if len(lines) <= N_LINES:
            break
    return lines


def no_answer(n_rounds: int, n_failed: int, n_false: int = 0, n_forbidden: int = 0) -> str:
    """What there is to say without a reading, or without one that may be honest, or is of use.

    Args:
        n_rounds: So many evaluations.
        n_failed: Those without a reading.
        n_false: Readings that are false for certain.
        n_forbidden: The other ones, where none of them is of a point that is allowed.
    """
    if n_forbidden:
        return f"Nothing to use yet: none of the {n_forbidden} readings is of a point that is allowed."
    failed = f"{n_failed} of {n_rounds} evaluations failed"
    if not n_false:
        return f"No reading yet; {failed}."
    outside = "1 reading is" if n_false == 1 else f"{n_false} readings are"
    return f"No reading yet that may be honest; {outside} outside reading_range, {failed}."


def in_short(best: Recommendation | None, n_suspects: int, seconds: float) -> str:
    """An answer in a line, for while a run goes on.

    Args:
        best: What is recommended so far; None without a reading.
        n_suspects: Readings that look false.
        seconds: To choose a point.
    """
    if best is None or best.estimate is None or best.estimate_sd is None:
        return "no reading yet"
    worst = "no interval" if best.lower is None else f"worst ({best.lower:.4g}, {best.upper:.4g})"
    expected = plus_minus(best.estimate, best.estimate_sd)
    return f"{expected}, {worst} · {n_suspects} suspicious · {seconds:.3f} s/ask"


def rounds(
    n_rounds: int, n_failed: int, stopped: str | None = None, counting: Counting = ROUNDS
) -> list[str]:
    """How a run went, a few words each, and where to read on.

    Args:
        n_rounds: Of the run so far.
        n_failed: Those without a reading.
        stopped: What ended it before its last round.
        counting: How rounds are numbered.
    """
    said = [f"{counting.name}s: {n_rounds}, failed: {n_failed}"]
    if stopped is not None:
        said.append(f"stopped: {stopped}")
    return [*said, "why: print(result.guarantee)"]


def trials(n: int, *, has_why: bool = True) -> list[str]:
    """The same of a study on the command line, and where to read on if there is more."""
    return [f"complete trials: {n}", *(["why: --why"] if has_why else [])]


def _joined(parts: Sequence[str]) -> str:
    """As many of them, the first ones, as a line holds."""
    line = parts[0]
    for part in parts[1:]:
        if len(line) + 2 + len(part) > WIDTH:
            break
        line += f"; {part}"
    return line


def listed(flagged: Sequence[Suspect], counting: Counting = ROUNDS, n_lines: int = 1) -> list[str]:
    """The suspicious readings with the reasons, in so many lines at most; alike ones together."""
    together: dict[Hashable, list[Suspect]] = {}
    for each in flagged:
        together.setdefault(_company(each), []).append(each)
    groups, lines = list(together.values()), ["suspicious: none"]
    for n in range(min(len(groups), N_LISTED), 0, -1):
        entries = [_entry(group, counting) for group in groups[:n]]
        n_left = sum(len(group) for group in groups[n:])
        lines = _filled("suspicious:", [*entries, *([f"and {n_left} more"] if n_left else [])])
        if len(lines) <= n_lines:
            return lines
    return wrapped(" ".join(lines), most=n_lines)


def _company(suspect: Suspect) -> Hashable:
    """What it has in common with others: a value, or a row of rounds."""
    for reason in suspect.reasons:
        if reason.kind in (Kind.BURST, Kind.DRIFT):
            return reason.kind, reason.rounds
        if reason.kind in (Kind.EQUAL, Kind.IMPOSSIBLE):
            return reason.kind, suspect.y
    return suspect.t


def _entry(group: Sequence[Suspect], counting: Counting) -> str:
    """`7 (-3, expected 1.02 +- 0.11)`; of alike ones `2, 9 (each time 999, expected 871 to 1004)`."""
    first = group[0]
    if len(group) == 1:
        known = math.isfinite(first.expected)
        expected = f"expected {plus_minus(first.expected, first.expected_sd)}" if known else ""
        parts = [f"{first.y:.4g}", expected, beside(first, counting)]
        return f"{counting.number(first.t)} ({', '.join(filter(None, parts))})"
    numbers = [counting.number(t) for t in sorted(each.t for each in group)]
    rows = [reason.kind for reason in first.reasons if reason.kind in (Kind.BURST, Kind.DRIFT)]
    if rows:
        read = f"a {rows[0]}, {_range([each.y for each in group])}"
        expected = _range([each.expected for each in group])
        return f"{numbers[0]} to {numbers[-1]} ({read}, expected {expected})"
    more = f" and {len(numbers) - N_ALIKE} more" if len(numbers) > N_ALIKE else ""
    which = ", ".join(map(str, numbers[:N_ALIKE])) + more
    means = [each.expected for each in group if math.isfinite(each.expected)]
    stated = [short(each, counting) for each in first.reasons if each.kind == Kind.IMPOSSIBLE]
    parts = [f"each time {first.y:.4g}", *([f"expected {_range(means)}"] if means else []), *stated]
    return f"{which} ({', '.join(parts)})"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"


def _filled(head: str, entries: Sequence[str]) -> list[str]:
    """Entries in lines, none of them broken."""
    lines = [head]
    for k, entry in enumerate(entries):
        text = entry + ("," if k + 1 < len(entries) else "")
        if len(lines[-1]) + 1 + len(text) > WIDTH and lines[-1] != head:
            lines.append(f"  {text}")
        else:
            lines[-1] += f" {text}"
    return lines
