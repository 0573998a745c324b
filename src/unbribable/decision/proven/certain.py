"""Readings that are lies for certain: outside valid bounds by more than noise can bring."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbribable.decision.proposal import Reading
from unbribable.decision.recommend import trusted

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True)
class Excluded:
    """That a reading lies outside what an instance leaves f at its point. Amounts in model units."""

    instance: str
    excess: float
    """By how much: > 0 above the interval, < 0 below it."""
    lower: float
    """The interval, cut at B0 on both sides."""
    upper: float


def certain(algorithm: "Algorithm") -> dict[int, Excluded]:
    """The rounds whose readings are lies for certain, under the assumptions; looks only.

    A reading is one if it lies outside the valid bounds, those of `recommend()` (of the layers the top
    one, safe against 2^n_layers: the others are a guess), by more than

        noise_std * sqrt(2 ln(2 t (t + 1) / delta)),    t the rounds so far.

    Claim: under the assumptions, against the threat the algorithm is made for, all readings ever called
    certain are corrupted, with probability at least that of the bounds less delta (1 - 2 delta for
    RobustGPUCB, more for the others). Proof. The bounds contain f at all points and times with their own
    probability. The noise of round s stays within that limit for t = s, hence for all t >= s, in all
    rounds at once but with probability sum_s delta / (s (s + 1)) = delta. Where both hold no honest
    reading is outside. QED

    The bounds have learned from the reading itself. That does not matter to the proof, since they
    contain f whatever they learned from; it costs power, since a lie draws them towards itself. Nothing
    is certain where the bounds trust every reading (GP-UCB: being outside shows that some reading is a
    lie, not which one), where beta was given, where readings are missing because of their values, or
    once the assumptions are refuted. Readings missing for other reasons are supposed to be so.
    """
    assumed, t = algorithm.assumptions, max(algorithm.t, 1)
    noise = math.sqrt(2.0 * math.log(2.0 * t * (t + 1) / assumed.delta))
    labels = robust_labels(algorithm, algorithm.policy.safe_up_to)
    found = {}
    for reading in algorithm.readings:
        outside = outside_of(algorithm, reading, labels)
        noise_std = assumed.noise_std * math.sqrt(reading.lam / assumed.lam)
        if outside is not None and abs(outside.excess) > noise_std * noise + assumed.tolerance:
            found[reading.t] = outside
    return found


def robust_labels(algorithm: "Algorithm", C: float | None = None) -> tuple[str, ...]:
    """The instances whose bounds hold although readings may be lies; none if nothing is guaranteed."""
    guarantee, bounds = trusted(algorithm, None, C)
    if guarantee.void is not None or bounds.is_refuted:
        return ()
    return tuple(label for label in guarantee.labels if algorithm.policy.named(label).C > 0.0)


def outside_of(algorithm: "Algorithm", reading: Reading, labels: tuple[str, ...]) -> Excluded | None:
    """Of these instances' intervals the one that excludes a reading most; None if none does."""
    B0 = algorithm.assumptions.B0
    index, _ = algorithm.search.located(reading)
    found = None
    for label in labels:
        instance = algorithm.policy.named(label)
        lower = max(float(instance.lcb_bar[index]), -B0)
        upper = min(float(instance.ucb_bar[index]), B0)
        above, below = reading.y - upper, lower - reading.y
        excess = above if above > below else -below
        if max(above, below) > (0.0 if found is None else abs(found.excess)):
            found = Excluded(label, excess, lower, upper)
    return found
