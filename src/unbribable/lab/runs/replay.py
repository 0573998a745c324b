"""A record back to what its player believed: the same rounds again, without the adversary."""

import warnings
from typing import Any

from unbribable.decision.algorithm import Algorithm
from unbribable.lab.runs.kinds import build_assumptions, build_objective, build_player
from unbribable.lab.runs.own import guests_in
from unbribable.lab.runs.record import Record
from unbribable.lab.world.objectives import Objective
from unbribable.model.domain import Grid


def replayed(record: Record, game: dict[str, Any], t: int) -> tuple[Any, Objective]:
    """The player after t rounds of the record of this game, and the true function.

    Raises:
        ValueError: The player does not ask what the record says it asked, or the game cannot be
            replayed: it needs classes of the user's own, or its player is a rival.
    """
    guests = guests_in([game[part] for part in ("algorithm", "objective", "assumptions")])
    if guests:
        raise ValueError(f"a report does not load {guests[0]}, so its game cannot be replayed")
    objective = build_objective(game["objective"], game["seed"])
    assumptions = build_assumptions(game["assumptions"], objective)
    domain = Grid(objective.X)
    player = build_player(game["algorithm"], domain, assumptions, game["T"], game["seed"])
    if not isinstance(player, Algorithm):
        raise ValueError(f"a report replays algorithms, not rivals, got {type(player).__name__}")
    index, y = record.columns["index"], record.columns["y_tilde"]
    opened = min(t, record.meta.get("opening", 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # refuted assumptions: the record has the round
        for k in range(opened):
            player.tell(x=domain.points[index[k]], y=float(y[k]))
        for k in range(opened, t):
            query = player.ask()
            if query.index != index[k]:
                raise ValueError(
                    f"the record must be of this game, got candidate {index[k]} in round {k + 1} "
                    f"instead of {query.index}"
                )
            player.tell(query, float(y[k]))
    return player, objective
