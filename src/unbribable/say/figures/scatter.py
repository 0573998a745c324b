"""Readings against predictions, in plain SVG, which takes the colours of the page around it."""

import math
from collections.abc import Callable, Sequence
from html import escape

from unbribable.doubt.suspect import Suspect

_LEFT, _TOP, _WIDTH, _HEIGHT = 58.0, 10.0, 480.0, 250.0
"""Of the area inside the axes, in the units of the picture."""

_REACH = 3.0
"""Flagged readings are drawn up to so many times the range of the others away; beyond, at the edge."""


def scatter(suspects: Sequence[Suspect], label: Callable[[int], str]) -> str:
    """Every reading against what the others predict in its place, those that look false as crosses.

    Args:
        suspects: Every reading, the most suspicious first.
        label: What a reading is called, for whoever points at it.
    """
    predicted = [suspect.expected for suspect in suspects]
    honest = [suspect.y for suspect in suspects if not suspect.is_flagged]
    left, right = _widened(min(predicted), max(predicted))
    low, high = _widened(min([*predicted, *honest]), max([*predicted, *honest]))
    reach = _REACH * (high - low)
    near = [each.y for each in suspects if low - reach < each.y < high + reach]
    low, high = min([low, *near]), max([high, *near])
    low, high = _widened(low, high)

    def across(value: float) -> float:
        return _LEFT + _WIDTH * (min(max(value, left), right) - left) / (right - left)

    def up(value: float) -> float:
        return _TOP + _HEIGHT * (high - min(max(value, low), high)) / (high - low)

    bottom, middle = _TOP + _HEIGHT, _TOP + _HEIGHT / 2.0
    parts = [
        f'<path d="M{_LEFT} {up(v):.1f}h{_WIDTH}" stroke="var(--rule)"/>'
        f'<text x="{_LEFT - 7}" y="{up(v) + 4:.1f}" text-anchor="end">{_said(v)}</text>'
        for v in _ticks(low, high)
    ]
    parts += [
        f'<text x="{across(v):.1f}" y="{bottom + 17}" text-anchor="middle">{_said(v)}</text>'
        for v in _ticks(left, right)
    ]
    start, end = max(left, low), min(right, high)
    parts.append(
        f'<path d="M{across(start):.1f} {up(start):.1f}L{across(end):.1f} {up(end):.1f}" '
        'stroke="var(--soft)" stroke-dasharray="4 3"/>'
        f'<text x="{_LEFT + _WIDTH / 2}" y="{bottom + 36}" text-anchor="middle">what the other readings '
        f'predict</text><text x="14" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle})">what was read</text>'
    )
    for each in reversed(suspects):  # the most suspicious on top
        x, y = across(each.expected), up(each.y)
        title = (
            f"<title>{escape(label(each.t))}: read {each.y:.4g}, expected {each.expected:.4g}</title>"
        )
        mark = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="var(--good)" fill-opacity=".7">{title}'
            "</circle>"
        )
        if each.is_flagged:
            mark = (
                f'<path d="M{x - 4.5:.1f} {y - 4.5:.1f}l9 9m0 -9l-9 9" stroke="var(--false)" '
                f'stroke-width="2.2">{title}</path>'
                f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="var(--false)">{each.t}</text>'
            )
        parts.append(mark)
    return (
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + 22} {bottom + 44}" role="img" font-size="12" '
        'fill="var(--soft)" aria-label="Every reading against what the others predict">'
        f"{''.join(parts)}</svg>"
    )


def _widened(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, four to eight of them."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 4.0))
    step = next(unit * k for k in (1.0, 2.0, 5.0, 10.0) if (high - low) / (unit * k) <= 7.0)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _said(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
