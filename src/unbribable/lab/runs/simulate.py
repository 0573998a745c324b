"""Play one game: the only place where player and world meet."""

import inspect
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from unbribable.decision.player import Details, Player, check_player, details_of
from unbribable.decision.proposal import Query
from unbribable.decision.recommend import Recommendation
from unbribable.lab.runs.record import FORMAT, OF_LIES, Record
from unbribable.lab.runs.streams import generator
from unbribable.lab.world.adversaries import Observation
from unbribable.lab.world.environment import Environment
from unbribable.model import checks
from unbribable.model.checks import Bounds, Floats
from unbribable.theory.budgets import Budget

_BELIEF = ("mu", "sigma", "width", "ucb", "lower", "upper")
"""Columns there are only if the player says such things with every query."""
_NUMBERS = ("f", "noise", "c", "y_tilde", "charge", *_BELIEF, "seconds")


def simulate(
    player: Player,
    environment: Environment,
    T: int,
    seed: int,
    *,
    opening: Sequence[int] = (),
    on_round: Callable[[int], None] | None = None,
) -> Record:
    """Play T rounds and return the record.

    A round [BKS20, Sec. 2]: the player proposes; a weak adversary commits on the proposal, not
    knowing the draw; the player draws; a strong adversary commits on what was drawn; the player
    is told. Noise and adversary have streams of their own from `seed`; the player's draws come
    from its own secret seed.

    Args:
        player: A new algorithm, or a player of your own (see Player), on the environment's candidates.
        environment: The world; it is reset.
        T: Rounds.
        seed: Of noise and adversary.
        opening: Candidates that are read in the first rounds, whoever plays. They are nobody's choice
            and no regret. The player learns of them by `tell(x=..., y=...)`.
        on_round: Called with the round after each of them.
    """
    T = checks.integer("T", T, at_least=1)
    environment.reset(generator(seed, "noise"), generator(seed, "adversary"))
    _check(player, environment, opening, T)
    X = environment.objective.X
    details = details_of(player)
    labels = list(details.instances)
    held = _Held(player, environment, details)
    rows: list[tuple[float, ...]] = []
    index, instance, maximisers = [], [], []
    for t in range(1, T + 1):
        start = time.perf_counter()
        if t <= len(opening):
            query, told = _opened(player, environment, t, int(opening[t - 1]))
        else:
            query, told = play_round(player, environment, t)
        seconds = time.perf_counter() - start
        truth = told.f, told.noise, told.c, told.y_tilde, told.charge
        belief = query.mu, query.sigma, query.width, query.ucb
        rows.append((*truth, *belief, query.mu - query.width, query.mu + query.width, seconds))
        assert query.index is not None
        index.append(query.index)
        instance.append(_position(query.instance, labels))
        if details.maximisers is not None:
            maximisers.append(details_of(player).maximisers)
        held.look()
        if on_round is not None:
            on_round(t)
    columns = dict(zip(_NUMBERS, np.array(rows).T.copy(), strict=True))
    for name in _BELIEF:
        if not np.isfinite(columns[name]).all():
            del columns[name]
    columns |= {"index": np.array(index), "instance": np.array(instance), "x": X[index]}
    if details.maximisers is not None:
        columns["maximisers"] = np.array(maximisers)
    largest = float(np.abs(columns["charge" if environment.n_lies is None else "c"]).max())
    meta, target = _meta(player, environment, T, seed, held, largest), environment.adversary.target
    if target is not None:
        meta["in_target"] = float(np.mean(target[index]))
    return Record(columns, {**meta, **({"opening": len(opening)} if len(opening) else {})})


def play_round(player: Player, environment: Environment, t: int) -> tuple[Query, Observation]:
    """Play round t, the next one, at the player's choice: what it asked and what it was told."""
    if environment.threat == "weak":
        proposal = player.propose()
        _check_round(proposal.t, t)
        environment.face(proposal.indices, proposal.probabilities, proposal.instances, player.bounds)
    query = player.ask()
    _check_round(query.t, t)
    i = _index(query, environment.objective.X)
    if environment.threat == "strong":
        environment.face(np.array([i]), np.ones(1), (query.instance,), player.bounds)
    told = environment.answer(i, query.instance)
    player.tell(query, told.y_tilde)
    return query, told


def _opened(player: Any, environment: Environment, t: int, i: int) -> tuple[Query, Observation]:
    """A round of the opening."""
    x = environment.objective.X[i]
    environment.face(np.array([i]), np.ones(1), (None,))
    told = environment.answer(i)
    player.tell(x=x, y=told.y_tilde)
    return Query(t, x, x, i, None), told


class _Held:
    """Holds changing state: whether f has stayed inside the bounds that the player claims.

    Bounds of instances only tighten, so the last ones decide. What a player without such instances
    claims is compared after every round.
    """

    def __init__(self, player: Player, environment: Environment, details: Details) -> None:
        self._player, self._f = player, environment.objective.f
        self._slack = details.tolerance
        self._is_watched = not details.instance_bounds()
        self._is_held: bool | None = None
        self.look()

    def look(self) -> None:
        if self._is_watched and (bounds := self._player.bounds()) is not None:
            self._is_held = self._is_held is not False and self._is_inside(bounds)

    def of(self, details: Details) -> dict[str, bool]:
        """For each instance that claims bounds: were they always right, at every candidate?"""
        if self._is_watched:
            return {} if self._is_held is None else {details.instances[0]: self._is_held}
        return {label: self._is_inside(both) for label, both in details.instance_bounds().items()}

    def _is_inside(self, bounds: Bounds) -> bool:
        lower, upper = bounds
        return bool(np.all((self._f <= upper + self._slack) & (self._f >= lower - self._slack)))


def is_promised(budget: Budget, meta: Mapping[str, Any], largest: float) -> bool:
    """Whether everything that an instance's bounds rest on was true in the game.

    Args:
        budget: What the bounds allow for.
        meta: What the record says about the game: the truth, and what the player assumed.
        largest: The largest lie of a round.
    """
    assumed = {key: value for key, value in meta["algorithm"].items() if value is not None}
    slack, n_lies = 1e-9, meta.get("n_lies")
    total = meta["C"] if not n_lies else n_lies * float(meta["c_max"])
    allowed = budget.C if budget.total is None else budget.total
    return bool(
        "beta" not in assumed  # a width set by hand promises nothing
        and (meta["norm"] is None or meta["norm"] <= assumed.get("B", math.inf) + slack)
        and meta["noise_std"] <= assumed.get("noise_std", math.inf) + slack
        and largest <= float(assumed.get("c_max", math.inf)) + slack
        and (total <= allowed + slack or (n_lies or math.inf) <= assumed.get("n_lies", 0))
        and not (budget.is_secret and meta["threat"] == "strong" and meta["C"] > 0.0)
    )


def _check(player: Player, environment: Environment, opening: Sequence[int], T: int) -> None:
    """Refuse what is no player, or on other candidates, or has no use for the opening."""
    check_player(player)
    if len(opening) >= T:
        raise ValueError(f"an opening must leave rounds to play, got {len(opening)} of T={T}")
    if len(opening) and "x" not in inspect.signature(player.tell).parameters:
        raise TypeError(
            f"a player must have tell(x=..., y=...) to be given an opening, got {type(player).__name__}"
        )
    bounds, n = player.bounds(), len(environment.objective.X)
    if bounds is not None and any(np.shape(bound) != (n,) for bound in bounds):
        shapes = [np.shape(bound) for bound in bounds]
        raise ValueError(
            f"player and environment must have the same candidates, {n} of them, got bounds of "
            f"shapes {shapes}"
        )
    _knowledge(player)


def _check_round(t: int, expected: int) -> None:
    if t != expected:
        if expected == 1:
            raise RuntimeError(f"simulate needs a new algorithm, this one is in round {t - 1}")
        raise RuntimeError(f"a player must count its rounds from 1, got t={t} in round {expected}")


def _index(query: Query, X: Floats) -> int:
    """The candidate asked for."""
    index = query.index
    if index is None or not 0 <= index < len(X) or not np.array_equal(query.x, X[index]):
        raise ValueError(
            "player and environment must have the same candidates, got a query with "
            f"index={index}, x={query.x}, where the environment has {len(X)} candidates"
        )
    return int(index)


def _position(label: str | None, labels: list[str]) -> int:
    """Of the instance that learns among all of them; -1 where nobody learns."""
    return -1 if label is None else labels.index(checks.choice("instance", label, labels))


def _knowledge(player: Player) -> dict[str, Any]:
    """What the player was told, as plain data."""
    knowledge = player.knowledge
    plain = dict(knowledge) if isinstance(knowledge, Mapping) else {"knowledge": str(knowledge)}
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"knowledge must be plain data or words, got {knowledge!r}: {error}") from error
    for key in ("C", "n_lies", "B", "noise_std", "c_max", "delta"):
        if plain.get(key) not in (None, "inf"):
            checks.real(f"{key} of knowledge", plain[key])
    return plain


def _knows(player: Player) -> str:
    """What the player was told of the lies, by its C or its number of lies."""
    plain = _knowledge(player)
    if plain.get("n_lies"):
        return "the number of lies"
    return "C" if plain.get("C") else "nothing"


def _meta(
    player: Player, environment: Environment, T: int, seed: int, held: _Held, largest: float
) -> dict[str, Any]:
    """What there is to know about the game as a whole."""
    objective = environment.objective
    best, details = player.recommend(), details_of(player)
    covered = held.of(details)
    meta: dict[str, Any] = {
        "format": FORMAT,
        "T": T,
        "seed": seed,
        "algorithm_seed": details.seed,
        "algorithm": details.summary() or _summary(player, best),
        "instances": list(details.instances),
        "objective": objective.name,
        "f_max": objective.f_max,
        "best": objective.best,
        "norm": objective.norm,
        "recommended": int(best.index),
        "f_recommended": float(objective.f[best.index]),
        "certificate": best.regret_bound,
        "certificate_threat": best.threat,
        "adversary": type(environment.adversary).__name__,
        "threat": environment.threat,
        "C": environment.C if environment.n_lies is None else float(environment.n_lies),
        **({} if environment.n_lies is None else {"n_lies": environment.n_lies}),
        "c_max": environment.c_max if math.isfinite(environment.c_max) else "inf",
        "spent": environment.ledger.spent,
        "noise_std": environment.noise_std,
        "knows": checks.choice("knows", details.knows or _knows(player), OF_LIES),
        "is_ours": details.is_ours,
        "detected": details.detected,
        "refuted": details.refuted,
        "covered": covered,
    }
    told = Budget(meta["algorithm"].get("C") or 0.0, delta=0.0, is_secret=best.threat == "weak")
    promised = {label: is_promised(details.budgets.get(label, told), meta, largest) for label in covered}
    return {**meta, "promised": promised}


def _summary(player: Player, best: Recommendation) -> dict[str, Any]:
    """Where a player stands that has no summary of its own."""
    return {
        **_knowledge(player),
        "algorithm": type(player).__name__,
        "threat": best.threat,
        "guarantee": None if player.guarantee is None else player.guarantee.to_plain(),
        "recommendation": {
            "x": np.asarray(best.x).tolist(),
            "lower": best.lower,
            "upper": best.upper,
            "regret_bound": best.regret_bound,
        },
    }
