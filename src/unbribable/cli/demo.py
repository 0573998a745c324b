"""`unbribable demo`: the paper's Figure 1, played."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.lab.runs.experiment import Run
from unbribable.lab.runs.kinds import build_game
from unbribable.lab.runs.play import play
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.spec import read_spec

RADIUS = 0.12
N_LAST = 10
T_FIGURE = 50

_GAME: dict[str, Any] = {
    "name": "demo",
    "T": 200,
    "noise_std": 0.05,
    "budgets": [3.5],
    "objective": {"kind": "figure_1"},
    "assumptions": {"lam": 0.01},
    "adversaries": [{"label": "near x*", "kind": "region_subtraction", "radius": RADIUS}],
}
_BY_HAND = [
    {"label": "GP-UCB", "kind": "GPUCB", "beta": 2.0},
    {"label": "RobustGPUCB (paper)", "kind": "RobustGPUCB", "width": "paper", "beta": 2.0},
    {"label": "RobustGPUCB (exact)", "kind": "RobustGPUCB", "beta": 2.0},
]
"""beta = 2 for all, as in the figure: the noise width is set by hand, so nothing is guaranteed."""
_PROVEN = [
    {"label": "FastSlowGPUCB", "kind": "FastSlowGPUCB"},
    {"label": "LayeredGPUCB", "kind": "LayeredGPUCB"},
    {"label": "LadderGPUCB", "kind": "LadderGPUCB"},
]
"""With the proven widths."""


def play_demo(
    n_seeds: int, out: Path | None, on_game: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Play the paper's Figure 1 and write the picture, if there is a directory for it.

    Args:
        n_seeds: Games of each learner.
        out: Where figure1.png and figure1.svg go.
        on_game: Called after each game with the number of games played and of all.

    Returns:
        near_optimum: label -> share of the last queries within the radius of x*, mean over seeds;
        learners: a row each; and the setting. JSON-able.
    """
    runs = list(read_spec({**_GAME, "seeds": n_seeds, "algorithms": [*_BY_HAND, *_PROVEN]}).runs())
    played: dict[str, list[tuple[Run, Record]]] = {}
    for k, run in enumerate(runs):
        played.setdefault(run.labels["algorithm"], []).append((run, play(run.to_plain())))
        if on_game is not None:
            on_game(k + 1, len(runs))
    objective = build_game(runs[0].game)[1].objective
    is_near = objective.near(objective.best, RADIUS)
    learners = [_row(label, [record for _, record in games], is_near) for label, games in played.items()]
    shown = {label: played[label][0] for label in ("GP-UCB", "RobustGPUCB (exact)")}
    return {
        "near_optimum": {row["learner"]: row["near_optimum"] for row in learners[: len(_BY_HAND)]},
        "learners": learners,
        "setting": {
            "rounds": _GAME["T"],
            "last": N_LAST,
            "seeds": n_seeds,
            "corruption": _GAME["budgets"][0],
            "radius": RADIUS,
            "x_star": float(objective.X[objective.best, 0]),
        },
        "files": [] if out is None else [str(path) for path in draw(shown, out)],
    }


def draw(shown: dict[str, tuple[Run, Record]], out: Path) -> list[Path]:
    """The three panels after fifty rounds of the first seed, as PNG and SVG."""
    from unbribable.lab.report.posterior import figure_1, panel_of

    panels = {}
    for label, (run, record) in shown.items():
        panel = panel_of(record, run.game, T_FIGURE)
        assert panel is not None
        panels[label] = panel
    out.mkdir(parents=True, exist_ok=True)
    path = out / "figure1"
    figure_1(panels, path)
    return [path.with_suffix(".png"), path.with_suffix(".svg")]


def _row(label: str, records: list[Record], is_near: np.ndarray) -> dict[str, Any]:
    last = [is_near[record.columns["index"][-N_LAST:]].mean() for record in records]
    found = [bool(is_near[record.meta["recommended"]]) for record in records]
    return {
        "learner": label,
        "games": len(records),
        "near_optimum": float(np.mean(last)),
        "found_optimum": float(np.mean(found)),
        "simple_regret": float(np.mean([record.simple_regret for record in records])),
        "regret": float(np.mean([record.cumulative_regret[-1] for record in records])),
        "spent": float(np.mean([record.spent[-1] for record in records])),
    }
