"""What a player believes on a line: the truth, its mean and band, readings true and corrupted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

import unbribable.say.figures.drawing as drawing
from unbribable.lab.report.outcomes import Floats
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.replay import replayed
from unbribable.say.figures.drawing import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PosteriorPanel:
    """A function on a line, what was read of it, and what the player believes."""

    x: Floats
    """Candidates in ascending order, (n,)."""
    f: Floats
    """The truth, (n,)."""
    mu: Floats | None = None
    """Posterior mean, (n,); None: only the function is shown."""
    width: Floats | None = None
    """Half width of the band around the mean, (n,)."""
    readings_x: Floats | None = None
    """Where the readings were taken, (t,)."""
    readings_y: Floats | None = None
    """What was told, (t,)."""
    is_corrupted: NDArray[np.bool_] | None = None
    """Which of the readings are lies, (t,)."""
    title: str = ""
    region: tuple[float, float] | None = None
    """Where readings are corrupted: (low, high)."""
    t: int | None = None
    """Rounds played."""

    def __post_init__(self) -> None:
        shape = np.shape(self.x)
        if len(shape) != 1 or (np.diff(self.x) < 0.0).any():
            raise ValueError(f"x must be ascending candidates on a line, got x of shape {shape}")
        for name in ("f", "mu", "width"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise ValueError(f"{name} must have shape {shape} like x, got shape {np.shape(value)}")
        if (self.mu is None) != (self.width is None):
            raise ValueError("mu and width must be given together, got one of them")
        readings = (self.readings_x, self.readings_y, self.is_corrupted)
        shapes = {None if value is None else np.shape(value) for value in readings}
        if len(shapes) != 1:
            raise ValueError(
                "readings_x, readings_y and is_corrupted must have one shape, "
                f"got {', '.join(sorted(str(shape) for shape in shapes))}"
            )


def panel_of(record: Record, game: dict[str, Any], t: int) -> PosteriorPanel | None:
    """The belief after t rounds of a record; None where the candidates are not on a line.

    Shown is the instance that learns from every reading where there is one, else the first.

    Args:
        record: Of the game.
        game: Its description, from the sweep's spec.json.
        t: Rounds; all of them if fewer were played.

    Raises:
        ValueError: The game cannot be replayed; see runs/replay.py.
    """
    if record.columns["x"].shape[1:] != (1,):
        return None
    t = min(t, record.T)
    player, objective = replayed(record, game, t)
    labels = list(player.instances)
    label = next((name for name in ("main", "all") if name in labels), labels[0])
    belief = player.instances[label]
    x, adversary = objective.X[:, 0], game["adversary"]
    order = np.argsort(x, kind="stable")
    name = record.meta.get("run", record.meta["algorithm"])["algorithm"]
    region = None
    if adversary["kind"] == "region_subtraction":  # Figure 1's; other attacks have no such interval
        around = x[objective.best] + adversary["radius"] * np.array([-1.0, 1.0])
        region = tuple(np.clip(around, x.min(), x.max()).tolist())
    return PosteriorPanel(
        x=x[order],
        f=objective.f[order],
        mu=belief.mu[order],
        width=belief.width[order],
        readings_x=x[record.columns["index"][:t]],
        readings_y=record.columns["y_tilde"][:t],
        is_corrupted=record.columns["c"][:t] != 0.0,
        title=name if label == "main" else f"{name} ({label})",
        region=region,
        t=t,
    )


@styled
def draw_beliefs(panels: Mapping[str, PosteriorPanel]) -> "Figure":
    """One panel per player; its name is the title where the panel has none."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure, axes = drawing.panel_grid(len(panels), height=2.0)
    limits = _limits(list(panels.values()))
    for ax, (name, panel) in zip(axes, panels.items(), strict=True):
        _draw(ax, panel)
        title = panel.title or name
        ax.set_title(drawing.wrapped(f"{title}, t = {panel.t}" if panel.t is not None else title, 2.2))
        ax.set_ylim(limits)
        ax.set_xlim(float(panel.x[0]), float(panel.x[-1]))
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        ax.label_outer(remove_inner_ticks=False)
        ax.tick_params(labelbottom=True)
    drawing.label_outer(axes, "x", "value (units of f)")
    drawing.named_once(figure, axes)
    return figure


def figure_1(panels: Mapping[str, PosteriorPanel], path: str | Path | None = None) -> "Figure":
    """The paper's Figure 1: the function, then what each player believes after t rounds.

    Args:
        panels: Name -> panel, e.g. "GP-UCB" and "RobustGPUCB". Where none of them is without a
            belief, a panel of the function alone is put in front, made from the first one.
        path: Where to write PATH.png and PATH.svg, if given.
    """
    if not panels:
        raise ValueError("panels must hold at least one panel, got none")
    first = next(iter(panels.values()))
    if all(panel.mu is not None for panel in panels.values()):
        name = "the function"
        panels = {name: PosteriorPanel(first.x, first.f, title=name, region=first.region), **panels}
    figure = draw_beliefs(panels)
    if path is not None:
        drawing.save(figure, path)
    return figure


def _draw(ax: "Axes", panel: PosteriorPanel) -> None:
    if panel.region is not None:
        words = "readings are corrupted here"
        ax.axvspan(*panel.region, facecolor=ORANGE, alpha=0.18, linewidth=0.0, label=words)
    if panel.mu is not None and panel.width is not None:
        band = panel.mu - panel.width, panel.mu + panel.width
        ax.fill_between(panel.x, *band, color=BLUE, alpha=0.2, linewidth=0.0, label="band: mean ± width")
        ax.plot(panel.x, panel.mu, color=BLUE, linestyle="--", label="posterior mean")
    ax.plot(panel.x, panel.f, color=BLACK, linewidth=1.2, label="f")

    def mark(x: Any, y: Any, marker: str, label: str, **style: Any) -> None:
        ax.plot(x, y, linestyle="none", marker=marker, label=label, **style)

    if panel.readings_x is not None and panel.readings_y is not None:
        x, y, is_lie = panel.readings_x, panel.readings_y, panel.is_corrupted
        assert is_lie is not None
        ring, cross = {"markerfacecolor": "none", "markeredgewidth": 0.9}, {"markeredgewidth": 1.2}
        mark(x[~is_lie], y[~is_lie], "o", "clean reading", color=GREEN, **ring)
        mark(x[is_lie], y[is_lie], "x", "corrupted reading", color=RED, markersize=4.5, **cross)
    elif panel.mu is None:
        best, local = int(np.argmax(panel.f)), local_maximiser(panel.f)
        mark(panel.x[best], panel.f[best], "*", "maximiser x*", color=PURPLE, markersize=9.0, zorder=4.0)
        if local is not None:
            x, y = panel.x[local], panel.f[local]
            mark(x, y, "D", "local maximiser x₀", color=PURPLE, markersize=4.5, zorder=4.0)


def local_maximiser(f: Floats) -> int | None:
    """Where the highest peak besides the maximum is, or None."""
    peaks = find_peaks(f)[0]
    peaks = peaks[peaks != np.argmax(f)]
    return int(peaks[np.argmax(f[peaks])]) if len(peaks) else None


def _limits(panels: list[PosteriorPanel]) -> tuple[float, float]:
    """Room for the truth and the readings, and for bands up to as much again."""
    parts = [part for p in panels for part in (p.f, p.mu, p.readings_y) if part is not None]
    low, high = float(np.concatenate(parts).min()), float(np.concatenate(parts).max())
    room = high - low or 1.0
    for panel in panels:
        if panel.mu is not None and panel.width is not None:
            parts += [panel.mu - panel.width, panel.mu + panel.width]
    every = np.concatenate(parts)
    low, high = max(float(every.min()), low - room), min(float(every.max()), high + room)
    return low - 0.05 * room, high + 0.05 * room
