"""The figures of a report: which panels each has, and in which files they go."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.lab.report import numbers, plots
from unbribable.lab.report.outcomes import Cell, Collection, Outcome, Setting
from unbribable.lab.report.posterior import PosteriorPanel, draw_beliefs, panel_of
from unbribable.lab.runs.record import Record
from unbribable.say.figures.drawing import Look, looks, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

N_BINS = 25
T_POSTERIOR = 50
"""Rounds after which beliefs are shown, as in the paper's Figure 1."""
N_POSTERIORS = 4
"""At most that many settings with a picture of the beliefs."""

Named = tuple[str, str, "Drawn | None"]
"""File name without suffix, caption, figure; no figure where the caption says why there is none."""
Panels = Mapping[str, Any]
"""Title -> what the panel shows."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A kind of figure: one for each function and horizon, in as many files as its panels need."""

    name: str
    """Of its files."""
    caption: str
    panels: Callable[[Collection, Sequence[Setting]], Mapping[str, Panels]]
    """End of the name -> the panels of that figure."""
    draw: "Callable[[Panels, Mapping[str, Look]], Drawn]"
    settings: Callable[[Sequence[Setting]], list[Setting]] = list
    """Which settings it shows."""
    is_split: bool = True
    """Whether functions and horizons have figures of their own."""
    n_panels: int = 9
    """At most; the others go into further files."""

    def all(self, collection: Collection, look: Mapping[str, Look]) -> Iterator[Named]:
        """Every figure of this kind that there is something to show in."""
        chosen = self.settings(collection.settings)
        groups = _by_horizon(chosen) if self.is_split else [("", "", chosen)]
        for horizon, words, settings in groups:
            for end, panels in self.panels(collection, settings).items():
                for part, some in _parts(folded(panels), self.n_panels):
                    name = f"{self.name}{end}{horizon}{part}"
                    yield name, f"{self.caption}{words}.", self.draw(some, look)


def folded(panels: Panels) -> dict[str, Any]:
    """Panels that would look the same as one, under all of their titles.

    So it is where the draw alone decides what is shown, whoever lies.
    """
    found: dict[str, tuple[list[str], Any]] = {}
    for title, shown in panels.items():
        found.setdefault(_drawn(shown), ([], shown))[0].append(title)
    return {_joined(titles): shown for titles, shown in found.values()}


def _drawn(shown: Any) -> str:
    """Everything a panel draws, in words that are equal where it is."""
    if isinstance(shown, np.ndarray):
        return f"{shown.tolist()}"
    if isinstance(shown, Cell):
        return shown.algorithm
    if isinstance(shown, Setting):
        return ""
    if is_dataclass(shown):
        return _drawn([getattr(shown, field.name) for field in fields(shown)])
    if isinstance(shown, Mapping):
        return _drawn(list(shown.items()))
    if isinstance(shown, list | tuple):
        return f"[{','.join(map(_drawn, shown))}]"
    return repr(shown)


def _joined(titles: list[str]) -> str:
    """Titles of one panel: what they begin with in common stands once."""
    heads = {title.rpartition("\n")[0] for title in titles}
    if len(titles) == 1 or len(heads) > 1:
        return "; ".join(titles)
    head, tails = heads.pop(), [title.rpartition("\n")[2] for title in titles]
    return "\n".join(part for part in (head, "; ".join(tails)) if part)


def longest(settings: Sequence[Setting]) -> list[Setting]:
    """The settings of each function's largest horizon: the shorter games look like their beginnings."""
    horizon = {s.objective: max(o.T for o in settings if o.objective == s.objective) for s in settings}
    return [setting for setting in settings if horizon[setting.objective] == setting.T]


def attacked(settings: Sequence[Setting]) -> list[Setting]:
    """The longest settings in which somebody could lie."""
    return longest([setting for setting in settings if not setting.is_clean])


def curve_panels(name: str, collection: Collection, settings: Sequence[Setting]) -> Mapping[str, Panels]:
    """One panel per setting, one curve per player, and the budget."""
    panels = {}
    for setting in settings:
        played = collection.in_setting(setting).items()
        lines = {cell.algorithm: numbers.over_rounds(some, name) for cell, some in played}
        panels[setting.title] = lines, setting.C
    return {"": panels}


def scaling_panels(
    against: str, collection: Collection, settings: Sequence[Setting]
) -> Mapping[str, Panels]:
    """One panel per setting but for what the regret is drawn against."""
    panels: dict[str, list[Any]] = {}
    has_objectives = len({setting.objective for setting in settings}) > 1
    for line in numbers.scalings(collection, against):
        fixed = line.fixed
        title = fixed.title if against == "T" else f"{fixed.adversary}, T = {fixed.T}"
        title = f"{fixed.objective}: {title}" if has_objectives else title
        panels.setdefault(title, []).append(line)
    return {"": panels}


def instance_panels(collection: Collection, settings: Sequence[Setting]) -> Mapping[str, Panels]:
    """One panel per player with several instances; a figure for each list of instances."""
    groups: dict[tuple[str, ...], dict[str, plots.Plays]] = {}
    for title, cell, some in _once(collection, settings):
        if len(some[0].instances) > 1:
            groups.setdefault(some[0].instances, {})[title] = plays_of(cell, some)
    ours = {"layer-1": "_layers", "fast": "_fast_slow"}
    return {
        next((ours[label] for label in labels if label in ours), f"_own_{k}"): panels
        for k, (labels, panels) in enumerate(groups.items(), 1)
    }


def plays_of(cell: Cell, outcomes: Sequence[Outcome]) -> plots.Plays:
    """Shares of the rounds of each bin, by instance; the last column is nobody."""
    rounds, found = outcomes[0].rounds, numbers.detections({cell: list(outcomes)})
    n_bins = min(N_BINS, len(rounds))
    ends = np.unique(np.linspace(0, len(rounds) - 1, n_bins + 1).round().astype(int)[1:])
    counts = np.diff(np.sum([o.plays[ends] for o in outcomes], axis=0), axis=0, prepend=0)
    return plots.Plays(
        edges=np.concatenate([[0], rounds[ends]]),
        labels=(*outcomes[0].instances, "nobody"),
        shares=counts / counts.sum(axis=1, keepdims=True),
        detected=found[0].median_round if found else None,
        n=len(outcomes),
    )


def maximiser_panels(collection: Collection, settings: Sequence[Setting]) -> Mapping[str, Panels]:
    """One panel per player with layers: the size of each layer's set over the rounds."""
    panels = {}
    for title, _, some in _once(collection, settings):
        sizes = [o.maximisers for o in some if o.maximisers is not None]
        if sizes:
            panels[title] = {
                label: numbers.spread([size[:, k] for size in sizes], some[0].rounds)
                for k, label in enumerate(some[0].instances[: sizes[0].shape[1]])
            }
    return {"": panels}


def coverage_panels(collection: Collection, settings: Sequence[Setting]) -> Mapping[str, Panels]:
    """One panel per setting, one row per instance that claims bounds."""
    panels = {s.title: numbers.coverages(collection.in_setting(s)) for s in settings}
    return {"": {title: rows for title, rows in panels.items() if rows}}


def answer_panels(collection: Collection, settings: Sequence[Setting]) -> Mapping[str, Panels]:
    """One panel per setting, one row per player."""
    return {"": {s.title: numbers.answers(collection.in_setting(s)) for s in settings}}


FIGURES = (
    Figure(
        "recommended",
        "True regret of the recommended point, and what was certified",
        answer_panels,
        plots.answers,
        longest,
        n_panels=6,
    ),
    Figure("regret", "Cumulative regret", partial(curve_panels, "regret"), plots.regret),
    *(
        Figure(
            f"regret_against_{against}",
            f"Final regret against {against} with fitted power laws",
            partial(scaling_panels, against),
            plots.scaling,
            is_split=False,
            n_panels=4,
        )
        for against in "CT"
    ),
    Figure("corruption", "Corruption spent", partial(curve_panels, "spent"), plots.spent, attacked),
    Figure("instances", "Which instance learned", instance_panels, plots.instances, longest),
    Figure("maximisers", "Potential maximisers left", maximiser_panels, plots.maximisers, longest),
    Figure("coverage", "Coverage of the bounds", coverage_panels, plots.coverage, longest, n_panels=6),
)


def all_figures(
    collection: Collection, runs: Mapping[str, dict[str, Any]] | None = None
) -> Iterator[Named]:
    """Every figure there is something to show in, one after another."""
    look = looks(collection.algorithms)
    for figure in FIGURES:
        yield from figure.all(collection, look)
    if runs is not None:
        yield from posterior_figures(collection, runs)


def posterior_figures(
    collection: Collection, runs: Mapping[str, dict[str, Any]], t: int = T_POSTERIOR
) -> Iterator[Named]:
    """What every player believed after t rounds of its first seed, on a line, under attack."""
    for k, setting in enumerate(attacked(collection.settings)[:N_POSTERIORS], 1):
        played = collection.in_setting(setting)
        seed = min(outcome.seed for some in played.values() for outcome in some)
        panels: dict[str, PosteriorPanel] = {}
        left_out = ""
        for cell, some in played.items():
            file = next((outcome.file for outcome in some if outcome.seed == seed), None)
            if file is None or file.stem not in runs:
                continue
            try:
                panel = panel_of(Record.load(file), runs[file.stem], t)
            except (ValueError, LookupError, TypeError) as error:  # the rounds are not those of the game
                left_out += f" Left out, {cell.algorithm} ({file.name}): {error}."
            else:
                panels |= {} if panel is None else {cell.algorithm: panel}
        if not panels and left_out:
            yield f"posterior_{k}", f"No beliefs for {setting.title}.{left_out}", None
        caption = f"Beliefs after {min(t, setting.T)} rounds, seed {seed}: {setting.title}.{left_out}"
        for part, some_panels in _parts(panels, 9):
            yield f"posterior_{k}{part}", caption, draw_beliefs(some_panels)


def write_all(figures: Iterable[Named], folder: Path) -> list[tuple[str, list[Path]]]:
    """Write the figures into the folder; caption and files of each (none where there is no figure)."""
    return [
        (caption, save(figure, folder / name) if figure is not None else [])
        for name, caption, figure in figures
    ]


def _once(
    collection: Collection, settings: Sequence[Setting]
) -> Iterator[tuple[str, Cell, list[Outcome]]]:
    """Titled cells of these settings. A player that is told no C appears once, not once per C told."""
    titles = set()
    for cell, outcomes in collection.cells.items():
        setting = replace(cell.setting, told=()) if cell.C_assumed is None else cell.setting
        title = f"{cell.algorithm}\n{setting.title}"
        if cell.setting in settings and title not in titles:
            titles.add(title)
            yield title, cell, outcomes


def _by_horizon(settings: Sequence[Setting]) -> Iterator[tuple[str, str, list[Setting]]]:
    """Settings by function and horizon, with what tells them apart in file names and captions."""
    objectives = list(dict.fromkeys(setting.objective for setting in settings))
    horizons = list(dict.fromkeys((setting.objective, setting.T) for setting in settings))
    for objective, T in horizons:
        name = f"_T{T}" if len({T for _, T in horizons}) > 1 else ""
        words = f", T = {T}"
        if len(objectives) > 1:
            name = f"_f{objectives.index(objective) + 1}{name}"
            words = f" on {objective}{words}"
        yield name, words, [s for s in settings if (s.objective, s.T) == (objective, T)]


def _parts(panels: Panels, size: int) -> Iterator[tuple[str, Panels]]:
    """The panels in figures of at most `size`, with the end of each file's name."""
    items = list(panels.items())
    for k in range(0, len(items), size):
        part = f"_{k // size + 1}" if len(items) > size else ""
        yield part, dict(items[k : k + size])
