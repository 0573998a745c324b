"""The figure of `benchmarks.practice`: median regrets, kind by kind of lie, function by function."""

from typing import TYPE_CHECKING, Any

import numpy as np

import unbribable.say.figures.drawing as drawing
from benchmarks.practice_games import Games
from unbribable.say.figures.drawing import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-5
"""Regrets below, as shares of the range, are drawn there."""
FEW = 4
"""With fewer games a cell, a player has a hollow mark and no line for the middle half of them."""


def whole(games: Games) -> set[str]:
    """Who has played every function and kind with lies."""
    cells = [(function, kind) for function in games.functions for kind in games.lies]
    return {
        player
        for player in games.players
        if player != "told" and all(games.of(player, *cell) for cell in cells)
    }


@styled
def medians(games: Games) -> "Figure":
    """A panel for each kind of lie, a line for each function, a mark for each player.

    Of those who have played everything with lies. A line is the middle half of a player's games.
    """
    played = Games([game for game in games.games if game["player"] in whole(games)])
    look = drawing.looks(played.players)
    figure, axes = drawing.panel_grid(len(played.kinds), height=3.1, n_columns=3)
    few: dict[str, int] = {}
    for k, (ax, kind) in enumerate(zip(axes, played.kinds, strict=True)):
        ax.set_title("nobody lies" if kind == "none" else kind)
        ax.set_xscale("log")
        ax.set_xlim(0.7e-3, 150.0)
        ax.set_xticks([0.001, 0.01, 0.1, 1.0, 10.0, 100.0], ["0.001", "0.01", "0.1", "1", "10", "100"])
        ax.set_yticks(range(len(played.functions)), played.functions if k % 3 == 0 else [])
        ax.set_ylim(len(played.functions) - 0.5, -0.5)
        for k_line in range(1, len(played.functions)):
            ax.axhline(k_line - 0.5, color="#e6e6e6", linewidth=0.5)
        for row, player in enumerate(played.players):
            shift = 0.16 * (row - (len(played.players) - 1) / 2.0)  # no mark hides another
            for y, function in enumerate(played.functions):
                regrets = [game["regret"] for game in played.of(player, function, kind)]
                if not regrets:
                    continue
                low, middle, high = 100.0 * np.maximum(np.quantile(regrets, [0.25, 0.5, 0.75]), LEAST)
                style: dict[str, Any] = {"marker": look[player].marker, "color": look[player].colour}
                if len(regrets) < FEW:
                    few[player] = len(regrets)
                    style |= {"markerfacecolor": "none"}
                else:
                    ax.plot([low, high], [y + shift] * 2, color=look[player].colour, linewidth=0.8)
                ax.plot(middle, y + shift, linestyle="none", markersize=3.2, **style)
        ax.grid(axis="y", visible=False)
    for player in played.players:
        n = few.get(player)
        hollow: dict[str, Any] = {"markerfacecolor": "none"} if n else {}
        label = f"{player} ({n} game{'s' if n > 1 else ''} a cell)" if n else player
        mark: dict[str, Any] = {"marker": look[player].marker, "color": look[player].colour}
        axes[0].plot([], [], label=label, linestyle="none", markersize=4.0, **mark, **hollow)
    drawing.label_outer(axes, "regret, % (log scale)", "")
    note = (
        "Regret of the recommended point, % of the function's range: median, and a line for the middle "
        "half of the games; below 0.001 drawn there."
    )
    drawing.named_once(figure, axes, note)
    return figure
