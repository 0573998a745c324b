"""A record of a sweep back to what its learner believed: the same rounds again, without the world."""

import warnings
from typing import Any

import numpy as np

from unbribable.model.domain import Grid
from unbribable.report.posterior_panel import PosteriorPanel, posterior_panel
from unbribable.runs.kinds import build_assumptions, build_objective, build_player
from unbribable.runs.own import guests_in
from unbribable.runs.record import Record


def replayed_panel(record: Record, game: dict[str, Any], t: int) -> PosteriorPanel | None:
    """The belief of a 1-d game after t rounds; None where the candidates are not on a line.

    Shown is the instance that learns from every reading where there is one, else the first layer.

    Args:
        record: Of the game.
        game: Its description, from the sweep's spec.json.
        t: Rounds; all of them if fewer were played.

    Raises:
        ValueError: The learner does not ask what the record says it asked, or the game cannot be
            replayed without loading classes of the user's own.
    """
    guests = guests_in([game[part] for part in ("algorithm", "objective", "assumptions")])
    if guests:
        raise ValueError(f"a report does not load {guests[0]}, so its game cannot be replayed")
    objective = build_objective(game["objective"], game["seed"])
    X, f = objective.X, objective.f
    if X.shape[1] != 1:
        return None
    assumptions = build_assumptions(game["assumptions"], objective)
    algorithm = build_player(game["algorithm"], Grid(X), assumptions, game["T"], game["seed"])
    t = min(t, record.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # refuted assumptions: the record has the round
        for k in range(t):
            query = algorithm.ask()
            if query.index != record.columns["index"][k]:
                raise ValueError(
                    f"the record must be of this game, got candidate {record.columns['index'][k]} "
                    f"in round {k + 1} instead of {query.index}"
                )
            algorithm.tell(query, float(record.columns["y_tilde"][k]))
    label = next((name for name in ("main", "all") if name in algorithm.instances), "layer-1")
    instance = algorithm.instances[label]
    name = str(record.meta.get("run", {}).get("algorithm", type(algorithm).__name__))
    return posterior_panel(
        record,
        X=X,
        f=f,
        mu=instance.mu,
        width=instance.width,
        t=t,
        title=name if label == "main" else f"{name} ({label})",
        region=_region(game["adversary"], X[:, 0], objective.best),
    )


def _region(adversary: dict[str, Any], x: np.ndarray, best: int) -> tuple[float, float] | None:
    """Where Figure 1's adversary lies; other attacks have no such interval."""
    if adversary["kind"] != "region_subtraction":
        return None
    low, high = x[best] - adversary["radius"], x[best] + adversary["radius"]
    return float(max(low, x.min())), float(min(high, x.max()))
