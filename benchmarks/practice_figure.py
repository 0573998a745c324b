"""The figure of `benchmarks.practice`: median regrets, kind by kind of lie, function by function."""

from typing import TYPE_CHECKING, Any

import numpy as np

import unbribable.drawing as drawing
from benchmarks.practice_games import Games
from unbribable.drawing import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-5
"""Regrets below, as shares of the range, are drawn there."""


def whole(games: Games) -> set[str]:
    """Who has played as many games of every cell as we, and one at least."""
    cells = [(function, kind) for function in games.functions for kind in games.kinds]
    return {
        player
        for player in games.players
        if all(
            len(games.of(player, *cell)) >= max(len(games.of("maximize", *cell)), 1) for cell in cells
        )
    }


@styled
def medians(games: Games) -> "Figure":
    """A panel for each kind of lie, a line for each function, a mark for each player.

    Of those who have played as many games as we, or, where we have not played, in every cell.
    """
    played = Games([game for game in games.games if game["player"] in whole(games)])
    look = drawing.looks(played.players)
    figure, axes = drawing.panel_grid(len(played.kinds), height=1.9, n_columns=3)
    for k, (ax, kind) in enumerate(zip(axes, played.kinds, strict=True)):
        ax.set_title("nobody lies" if kind == "none" else kind)
        ax.set_xscale("log")
        ax.set_xlim(0.7e-3, 150.0)
        ax.set_xticks([0.001, 0.01, 0.1, 1.0, 10.0, 100.0], ["0.001", "0.01", "0.1", "1", "10", "100"])
        ax.set_yticks(range(len(played.functions)), played.functions if k % 3 == 0 else [])
        ax.set_ylim(len(played.functions) - 0.5, -0.5)
        for row, player in enumerate(played.players):
            regrets = [played.regret(player, function, kind) for function in played.functions]
            x = 100.0 * np.maximum(regrets, LEAST)
            y = np.arange(len(x)) + 0.12 * (row - (len(played.players) - 1) / 2.0)  # not on each other
            style: dict[str, Any] = {"marker": look[player].marker, "color": look[player].colour}
            ax.plot(x, y, label=player, linestyle="none", markersize=3.5, **style)
        ax.grid(axis="x", linewidth=0.4)
    drawing.label_outer(axes, "regret, % (log scale)", "")
    note = "Median regret of the recommended point, % of the function's range; below 0.001 drawn there."
    drawing.named_once(figure, axes, note)
    return figure
