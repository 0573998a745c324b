"""A collection to the figures of a report: which panels there are, and in which file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unbribable.drawing import looks
from unbribable.report import plots
from unbribable.report.coverage import coverage, detection
from unbribable.report.games import Cell, Collection, Game, Setting
from unbribable.report.plots_inside import Plays
from unbribable.report.posterior_panel import PosteriorPanel
from unbribable.report.regret import Curve, curve, regret_curve, scalings, spent_curve
from unbribable.report.replay import replayed_panel
from unbribable.runs.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PANELS = 9
"""At most that many in a figure; the rest goes into further figures."""
N_BINS = 25
T_POSTERIOR = 50
"""Rounds after which beliefs are shown, as in the paper's Figure 1."""
N_POSTERIORS = 4
"""At most that many settings with a picture of the beliefs."""

Named = tuple[str, str, "Figure | None"]
"""File name without suffix, caption, figure; no figure where the caption says why there is none."""
V = TypeVar("V")


def all_figures(
    collection: Collection, plan: Mapping[str, dict[str, Any]] | None = None
) -> Iterator[Named]:
    """Every figure there is something to show in, one after another."""
    yield from regret_figures(collection)
    yield from scaling_figures(collection)
    yield from spent_figures(collection)
    yield from instance_figures(collection)
    yield from maximiser_figures(collection)
    yield from coverage_figures(collection)
    if plan is not None:
        yield from posterior_figures(collection, plan)


def regret_figures(collection: Collection) -> Iterator[Named]:
    """Cumulative regret: one figure a function and horizon, one panel an adversary and budget."""
    look = looks(collection.algorithms)
    for name, words, settings in _by_horizon(collection.settings):
        panels = {
            title_of(setting): _curves(collection.in_setting(setting), regret_curve)
            for setting in settings
        }
        yield from (
            (f"regret{name}{part}", f"Cumulative regret{words}.", plots.cumulative_regret(some, look))
            for part, some in _parts(panels)
        )


def scaling_figures(collection: Collection) -> Iterator[Named]:
    """Final regret against C and against T, where there are at least two values."""
    look = looks(collection.algorithms)
    for against in ("C", "T"):
        panels: dict[str, list[Any]] = {}
        has_objectives = len({setting.objective for setting in collection.settings}) > 1
        for line in scalings(collection, against):
            fixed = line.fixed
            title = title_of(fixed) if against == "T" else f"{adversary_words(fixed)}, T = {fixed.T}"
            panels.setdefault(f"{fixed.objective}: {title}" if has_objectives else title, []).append(
                line
            )
        yield from (
            (
                f"regret_against_{against}{part}",
                f"Final regret against {against} with fitted power laws.",
                plots.regret_scaling(some, look),
            )
            for part, some in _parts(panels, 4)
        )


def spent_figures(collection: Collection) -> Iterator[Named]:
    """Corruption spent over time, where somebody could lie."""
    look = looks(collection.algorithms)
    lied = [setting for setting in collection.settings if not setting.is_clean]
    for name, words, settings in _by_horizon(_longest(lied)):
        panels = {
            title_of(setting): _curves(collection.in_setting(setting), spent_curve)
            for setting in settings
        }
        budgets = {title_of(setting): setting.C for setting in settings}
        yield from (
            (
                f"corruption{name}{part}",
                f"Corruption spent{words}.",
                plots.corruption_spent(some, budgets, look),
            )
            for part, some in _parts(panels)
        )


def instance_figures(collection: Collection) -> Iterator[Named]:
    """Which instance learned, for learners with several of them."""
    for name, words, settings in _by_horizon(_longest(collection.settings)):
        groups: dict[tuple[str, ...], dict[str, tuple[Plays, int]]] = {}
        for title, cell, games in _single(collection, settings):
            if len(games[0].instances) > 1:
                found = detection(cell, games)
                plays = plays_of(games, found.median_round if found else None)
                groups.setdefault(plays.labels, {})[title] = (plays, len(games))
        for k, (labels, group) in enumerate(groups.items(), 1):
            ours = {"layer-1": "layers", "fast": "fast_slow"}
            kind = next((ours[label] for label in labels if label in ours), f"own_{k}")
            for part, some in _parts(group):
                panels = {title: plays for title, (plays, _) in some.items()}
                n_seeds = max(n for _, n in some.values())
                figure = plots.instances(panels, n_seeds=n_seeds)
                yield f"instances_{kind}{name}{part}", f"Which instance learned{words}.", figure


def maximiser_figures(collection: Collection) -> Iterator[Named]:
    """Sizes of the sets of potential maximisers, for learners with layers."""
    for name, words, settings in _by_horizon(_longest(collection.settings)):
        panels = {
            title: maximiser_curves(games)
            for title, _, games in _single(collection, settings)
            if games[0].maximisers is not None
        }
        yield from (
            (f"maximisers{name}{part}", f"Potential maximisers left{words}.", plots.maximisers(some))
            for part, some in _parts(panels)
        )


def coverage_figures(collection: Collection) -> Iterator[Named]:
    """How often the bounds of every instance held, of players that claim any."""
    for name, words, settings in _by_horizon(_longest(collection.settings)):
        panels = {
            title_of(setting): [
                row
                for cell, games in collection.cells.items()
                if cell.setting == setting
                for row in coverage(cell, games)
            ]
            for setting in settings
        }
        panels = {title: rows for title, rows in panels.items() if rows}
        yield from (
            (f"coverage{name}{part}", f"Coverage of the bounds{words}.", plots.coverage(some))
            for part, some in _parts(panels, 6)
        )


def posterior_figures(
    collection: Collection, plan: Mapping[str, dict[str, Any]], t: int = T_POSTERIOR
) -> Iterator[Named]:
    """What every learner believed after t rounds of its first seed, on a line, under attack."""
    lied = _longest([setting for setting in collection.settings if not setting.is_clean])
    for k, setting in enumerate(lied[:N_POSTERIORS], 1):
        panels: dict[str, PosteriorPanel] = {}
        seed = min(game.seed for games in collection.in_setting(setting).values() for game in games)
        left_out = ""
        for label, games in collection.in_setting(setting).items():
            game = next((game for game in games if game.seed == seed), None)
            if game is None or game.file is None or game.file.stem not in plan:
                continue
            try:
                panel = replayed_panel(Record.load(game.file), plan[game.file.stem], t)
            except (ValueError, LookupError, TypeError) as error:  # the rounds are not those of the game
                left_out += f" Left out, {label} ({game.file.name}): {error}."
                continue
            if panel is not None:
                panels[label] = panel
        if not panels and left_out:
            yield f"posterior_{k}", f"No beliefs for {title_of(setting)}.{left_out}", None
        for part, some in _parts(panels):
            caption = f"Beliefs after {min(t, setting.T)} rounds, seed {seed}: {title_of(setting)}."
            caption += left_out
            yield f"posterior_{k}{part}", caption, plots.posterior(some)


def plays_of(games: Sequence[Game], detected: float | None, n_bins: int = N_BINS) -> Plays:
    """Shares of the rounds of each bin, by instance; the last column is nobody."""
    rounds = games[0].rounds
    ends = np.unique(
        np.linspace(0, len(rounds) - 1, min(n_bins, len(rounds)) + 1).round().astype(int)[1:]
    )
    edges = np.concatenate([[0], rounds[ends]])
    total = np.sum([game.plays[ends] for game in games], axis=0)
    counts = np.diff(total, axis=0, prepend=np.zeros((1, total.shape[1])))
    shares = counts / counts.sum(axis=1, keepdims=True)
    return Plays(edges, (*games[0].instances, "nobody"), shares, detected)


def maximiser_curves(games: Sequence[Game]) -> dict[str, Curve]:
    """The size of each layer's set over the rounds."""
    sizes = [game.maximisers for game in games if game.maximisers is not None]
    return {
        label: curve([size[:, k].astype(np.float64) for size in sizes], games[0].rounds)
        for k, label in enumerate(games[0].instances)
    }


def adversary_words(setting: Setting) -> str:
    """The adversary in a title."""
    return "no adversary" if setting.adversary == "none" else setting.adversary


def title_of(setting: Setting) -> str:
    """The title of a setting's panel."""
    told = f", C = {setting.told} assumed" if setting.told else ""
    budget = "" if setting.is_clean and setting.adversary == "none" else f", C = {setting.C:g}"
    return f"{adversary_words(setting)}{budget}{told}"


def _single(
    collection: Collection, settings: Sequence[Setting]
) -> Iterator[tuple[str, Cell, list[Game]]]:
    """The cells of the settings with a title each; those of a learner told nothing once, not often."""
    titles = set()
    for cell, games in collection.cells.items():
        if cell.setting in settings:
            setting = replace(cell.setting, told="") if cell.C_assumed is None else cell.setting
            title = f"{cell.algorithm}\n{title_of(setting)}"
            if title not in titles:
                titles.add(title)
                yield title, cell, games


def _curves(games: Mapping[str, Sequence[Game]], reduce: Any) -> dict[str, Curve]:
    return {label: reduce(some) for label, some in games.items()}


def _longest(settings: Sequence[Setting]) -> list[Setting]:
    """The settings of each function's largest horizon: the shorter games look like their beginnings."""
    horizon = {s.objective: max(o.T for o in settings if o.objective == s.objective) for s in settings}
    return [setting for setting in settings if horizon[setting.objective] == setting.T]


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


def _parts(panels: Mapping[str, V], size: int = N_PANELS) -> Iterator[tuple[str, dict[str, V]]]:
    """The panels in figures of at most `size`, with the end of each file's name."""
    items = list(panels.items())
    for k in range(0, len(items), size):
        part = f"_{k // size + 1}" if len(items) > size else ""
        yield part, dict(items[k : k + size])


def write_all(figures: Iterator[Named], folder: Path) -> list[tuple[str, list[Path]]]:
    """Write the figures into the folder; caption and files of each (none where there is no figure)."""
    from unbribable.drawing import save

    return [
        (caption, save(figure, folder / name) if figure is not None else [])
        for name, caption, figure in figures
    ]
