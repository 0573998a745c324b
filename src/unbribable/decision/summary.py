"""Where an algorithm stands: as plain data, and as a record keeps it."""

from typing import TYPE_CHECKING, Any

from unbribable.decision.player import Details
from unbribable.decision.proven.conditions import Note
from unbribable.decision.proven.guarantee import to_plain
from unbribable.decision.recommend import provable, refuted
from unbribable.decision.saving import identity

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


def summary(algorithm: "Algorithm") -> dict[str, Any]:
    """What was chosen, what was told, and what is guaranteed: JSON-able data, without the seed."""
    best, regret = algorithm.recommend(), algorithm.regret_certificate()
    journal = algorithm.journal
    return {
        **identity(algorithm),
        "rounds": algorithm.t,
        "told": len(journal.readings),
        "foreign": sum(reading.chosen_by == "user" for reading in journal.readings),
        "pending": [query.t for query in algorithm.pending],
        "retracted": list(journal.retracted),
        "lost": list(journal.lost),
        "waiting": journal.n_waiting,
        "detected": algorithm.detected,
        "refuted": algorithm.refuted,
        "threat": best.threat,
        "guarantee": best.promise.to_plain(),
        "recommendation": {
            "x": best.x.tolist(),
            "estimate": best.estimate,
            "estimate_sd": best.estimate_sd,
            "lower": best.lower,
            "upper": best.upper,
            "regret_bound": best.regret_bound,
            "between_candidates": best.between_candidates,
        },
        "regret_in_hindsight": {
            "value": regret.value,
            "between_candidates": regret.between_candidates,
            "guarantee": regret.promise.to_plain(),
        },
        "candidates": algorithm.candidates.n,
        "instances": {label: instance.summary() for label, instance in algorithm.instances.items()},
        "notes": [to_plain(note) for note in notes(algorithm)],
    }


def notes(algorithm: "Algorithm") -> tuple[Note, ...]:
    """What there is to say of the corruption besides the bounds, the gravest first."""
    found: list[Note | None] = [refuted(algorithm), algorithm.journal.selection]
    found += algorithm.policy.notes(algorithm.t, provable(algorithm))
    return tuple(each for each in found if each is not None)


def details(algorithm: "Algorithm") -> Details:
    """What a record keeps of an algorithm besides what any player shows."""
    maximisers = algorithm.policy.maximisers
    shown = algorithm.policy.shown()
    return Details(
        instances=tuple(dict.fromkeys([*algorithm.instances, *shown])),
        instance_bounds=lambda: {label: (each.lcb_bar, each.ucb_bar) for label, each in shown.items()},
        budgets=algorithm.policy.budgets,
        maximisers=None if maximisers is None else maximisers.sum(axis=1),
        detected=algorithm.detected,
        refuted=algorithm.refuted,
        seed=algorithm.seed.to_plain(),
        tolerance=algorithm.assumptions.tolerance,
        summary=algorithm.summary,
        knows=algorithm.policy.knows,
        is_ours=algorithm.policy.is_ours,
    )
