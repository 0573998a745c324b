"""Play one game: the only place where learner and world meet."""

import math
import time
from collections.abc import Callable

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.layered import LayeredGPUCB
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.runs.record import FORMAT, Record
from unbribable.runs.streams import generator
from unbribable.world.environment import Environment

_NUMBERS = (
    "f", "noise", "c", "y_tilde", "charge", "mu", "sigma", "width", "ucb", "lower", "upper", "seconds",
)  # fmt: skip


def simulate(
    algorithm: Algorithm,
    environment: Environment,
    T: int,
    seed: int,
    *,
    on_round: Callable[[int], None] | None = None,
) -> Record:
    """Play T rounds and return the record.

    A round [BKS20, Sec. 2]: the learner proposes; a weak adversary commits on the proposal, not
    knowing the draw; the learner draws; a strong adversary commits on what was drawn; the learner
    is told. Noise and adversary have streams of their own from `seed`; the learner's draws come
    from its own secret seed.

    Args:
        algorithm: A new learner.
        environment: The world; it is reset.
        T: Rounds.
        seed: Of noise and adversary.
        on_round: Called with the round after each of them.
    """
    T = checks.integer("T", T, at_least=1)
    if algorithm.t:
        raise RuntimeError(f"simulate needs a new algorithm, this one is in round {algorithm.t}")
    if not isinstance(algorithm.domain, Grid):
        raise TypeError(f"simulate needs an algorithm on a Grid, got domain={algorithm.domain!r}")
    if not np.array_equal(algorithm.domain.points, environment.objective.X):
        raise ValueError("algorithm and environment must have the same candidates, got different ones")
    environment.reset(generator(seed, "noise"), generator(seed, "adversary"))
    labels = list(algorithm.instances)
    columns: dict[str, np.ndarray] = {name: np.empty(T) for name in _NUMBERS}
    columns["index"] = np.empty(T, dtype=np.int64)
    columns["instance"] = np.full(T, -1, dtype=np.int64)
    if isinstance(algorithm, LayeredGPUCB):
        columns["maximisers"] = np.empty((T, len(labels)), dtype=np.int64)
    is_weak = environment.threat == "weak"
    for k in range(T):
        start = time.perf_counter()
        if is_weak:
            proposal = algorithm.propose()
            environment.face(proposal.indices, proposal.probabilities, proposal.instances)
        query = algorithm.ask()
        assert query.index is not None
        if not is_weak:
            environment.face(np.array([query.index]), np.ones(1), (query.instance,))
        observation = environment.answer(query.index, query.instance)
        algorithm.tell(query, observation.y_tilde)
        row = (
            observation.f, observation.noise, observation.c, observation.y_tilde, observation.charge,
            query.mu, query.sigma, query.width, query.ucb, query.mu - query.width,
            query.mu + query.width, time.perf_counter() - start,
        )  # fmt: skip
        for name, value in zip(_NUMBERS, row, strict=True):
            columns[name][k] = value
        columns["index"][k] = query.index
        if query.instance is not None:
            columns["instance"][k] = labels.index(query.instance)
        if isinstance(algorithm, LayeredGPUCB):
            columns["maximisers"][k] = algorithm.maximisers.sum(axis=1)
        if on_round is not None:
            on_round(k + 1)
    columns["x"] = environment.objective.X[columns["index"]]
    return Record(columns, _meta(algorithm, environment, T, seed))


def _meta(algorithm: Algorithm, environment: Environment, T: int, seed: int) -> dict[str, object]:
    """What is to be known about the game as a whole."""
    objective = environment.objective
    best = algorithm.recommend()
    return {
        "format": FORMAT,
        "T": T,
        "seed": seed,
        "algorithm_seed": algorithm.seed.to_plain(),
        "algorithm": algorithm.summary(),
        "instances": list(algorithm.instances),
        "objective": objective.name,
        "f_max": objective.f_max,
        "best": objective.best,
        "norm": objective.norm,
        "recommended": best.index,
        "f_recommended": float(objective.f[best.index]),
        "certificate": best.regret_bound,
        "certificate_threat": best.threat,
        "adversary": type(environment.adversary).__name__,
        "threat": environment.threat,
        "C": environment.C,
        "c_max": environment.c_max if math.isfinite(environment.c_max) else "inf",
        "spent": environment.ledger.spent,
        "noise_std": environment.noise_std,
        "detected": algorithm.detected,
        "refuted": algorithm.refuted,
        "covered": coverage(algorithm, environment),
    }


def coverage(algorithm: Algorithm, environment: Environment) -> dict[str, bool]:
    """For each instance: has the truth stayed inside its bounds at every candidate, all the time?

    The intersected bounds only tighten, so the last ones tell.
    """
    f, slack = environment.objective.f, algorithm.assumptions.tolerance
    return {
        label: bool(np.all((f <= instance.ucb_bar + slack) & (f >= instance.lcb_bar - slack)))
        for label, instance in algorithm.instances.items()
    }
