"""A record back to what its player believed: the same rounds again, without the world."""

import warnings
from dataclasses import dataclass
from typing import Any

from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.runs.kinds import build_assumptions, build_objective, build_player
from unbribable.runs.own import guests_in
from unbribable.runs.record import Record


@dataclass(frozen=True, eq=False)
class Belief:
    """What an instance believes at the candidates, beside the truth."""

    X: Floats
    """(n, d)."""
    f: Floats
    """(n,)."""
    instance: str
    """The one that learns from every reading where there is one, else the first."""
    mu: Floats
    """(n,)."""
    width: Floats
    """(n,)."""


def replayed(record: Record, game: dict[str, Any], t: int) -> Belief:
    """The belief after t rounds of the record of this game.

    Raises:
        ValueError: The player does not ask what the record says it asked, or the game cannot be
            replayed without loading classes of the user's own.
    """
    guests = guests_in([game[part] for part in ("algorithm", "objective", "assumptions")])
    if guests:
        raise ValueError(f"a report does not load {guests[0]}, so its game cannot be replayed")
    objective = build_objective(game["objective"], game["seed"])
    assumptions = build_assumptions(game["assumptions"], objective)
    player = build_player(game["algorithm"], Grid(objective.X), assumptions, game["T"], game["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # refuted assumptions: the record has the round
        for k in range(t):
            query = player.ask()
            if query.index != record.columns["index"][k]:
                raise ValueError(
                    f"the record must be of this game, got candidate {record.columns['index'][k]} "
                    f"in round {k + 1} instead of {query.index}"
                )
            player.tell(query, float(record.columns["y_tilde"][k]))
    labels = list(player.instances)
    label = next((name for name in ("main", "all") if name in labels), labels[0])
    instance = player.instances[label]
    return Belief(objective.X, objective.f, label, instance.mu, instance.width)
