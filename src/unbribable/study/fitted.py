"""The model that guarantees rest on: given by the user, or the wide end of the hypotheses."""

import math
from dataclasses import dataclass, replace

import numpy as np

from unbribable.decision.units import Units
from unbribable.doubt.hypotheses import Hypotheses
from unbribable.doubt.wide_end import wide_end
from unbribable.model.checks import Floats
from unbribable.study.plan import DELTA, Plan
from unbribable.study.trial import Told
from unbribable.theory.assumptions import Assumptions

LAM = 0.01
"""Smallest lam of a fitted model. Any value is valid; below this one the posterior of a long run, which
is updated reading by reading, drifts in float64."""

N_SIGMA = 6.0
"""Readings beyond B0 by that many noise_std are cut there, in a fitted model in which lies are not
counted: an honest one with a probability below 2 exp(-18)."""

LEAST_NOISE = 1e-3
"""Of the noise of a corrected reading, as a share of what its correction may be off by."""

N_TIMES = 1e100
"""By how much an amount that is given may exceed what the readings differ by."""


@dataclass(frozen=True)
class Model:
    """Assumptions, and the units in which they are stated."""

    assumptions: Assumptions
    units: Units


def given(assumptions: Assumptions, sign: float) -> Model:
    """The user's own assumptions."""
    return Model(assumptions, Units(sign=sign))


def fitted(plan: Plan, chains: Hypotheses, points: Floats, y: Floats, side: Floats) -> Model:
    """A cautious model of readings; what the plan gives is kept.

    Where a kernel or B is given, they are taken to speak of f itself: the center is 0, and only
    the unit differs from the user's. B is that unit where it is given, and bounds |f| too, since
    k(x, x) <= 1; so where kernel, noise and B are given nothing that a bound depends on is fitted.

    Args:
        plan: What is given.
        chains: Hypotheses about the readings.
        points: Where they were taken, as the kernel sees it, (n, d).
        y: The readings, as they are maximised, (n,).
        side: Of the domain that the kernel sees, (d,).
    """
    is_about_f = plan.kernel is not None or plan.B is not None
    found = wide_end(chains, 0.0 if is_about_f else None)
    scale = found.scale if plan.B is None else plan.B
    ratio = found.scale / scale
    noise_std = ratio * found.noise_std if plan.noise_std is None else plan.noise_std / scale
    B0 = max(ratio * found.B0, 1.2 * confirmed(points, (y - found.center) / scale))
    if plan.reading_range is not None:  # f has a value there
        low, high = sorted(plan.sign * end for end in plan.reading_range)
        B0 = max(B0, (low - found.center) / scale, (found.center - high) / scale)
    B = max(B0, ratio * found.B)
    if plan.B is not None:
        B = B0 = plan.B / scale
    is_counted = plan.lies is not None  # then lies may be of any size, and none need be cut
    limit = math.inf if is_counted else reach(B0, noise_std)
    assumptions = Assumptions(
        plan.kernel or found.kernel.scaled(side),
        B=B,
        B0=B0,
        noise_std=noise_std,
        lam=max(LAM, noise_std**2),
        delta=DELTA if plan.delta is None else plan.delta,
        c_max=2.0 * limit,
    )
    return Model(assumptions, Units(plan.sign * found.center, scale, plan.sign, limit))


def room(noise_std: float, own: Floats, within: Floats) -> tuple[float, Floats]:
    """Scales of noise that have room for what is wrong with readings besides their noise (ours).

    Reading i is f + noise_i + e_i with |e_i| <= c_i, whatever the e_i depend on. With r_i = c_i / (own_i
    + c_i) and r the root of the mean of r_i^2, it may be taken for one with the noise

        max(own_i / (1 - r), own_i + c_i)    where noise_std / (1 - r) is assumed

    as far as bounds rest on the energy of all noises and the level of each (`noise_energy`,
    `noise_level`). *Proof.* Over the new scale, noise_i + e_i is at most (1 - r) |noise_i|/own_i + r_i.
    The norm of that over n readings is at most (1 - r) sqrt(g) + r sqrt(n) <= sqrt(g), with the energy
    noise_std^2 g: g >= n, since -ln(1 - theta) >= theta there. The level of a noise is more than its
    scale, so that of own_i + c_i is at least that of own_i and c_i. QED
    Bounds by a martingale do not stay true.

    Args:
        noise_std: That is assumed.
        own: The scale of the noise of each reading, (n,).
        within: The c_i, (n,), in the same unit, not all 0.

    Returns:
        What to assume in place of noise_std, and the scale of each reading, (n,).
    """
    least = LEAST_NOISE * float(within.max())  # noise of a smaller scale is also of this one
    own = np.maximum(own, least)
    r = math.sqrt(float(np.mean((within / (own + within)) ** 2)))
    return max(noise_std, least) / (1.0 - r), np.maximum(own / (1.0 - r), own + within)


def own_noise(told: Told, model: Model) -> float:
    """The noise of a reading over the one that is assumed.

    One whose noise is known to be less counts as at most a thousand times as precise as the others:
    valid, since sub-Gaussian noise is so with any larger scale.
    """
    if told.sem is None:
        return 1.0
    ratio = told.sem / model.units.scale / max(model.assumptions.noise_std, 1e-300)
    return min(max(ratio, 1e-3), 1e100)


def corrected(model: Model, within: Floats, own: Floats) -> tuple[Model, Floats]:
    """The model of readings less an estimate of what they share besides f, and the scale of each.

    Args:
        model: Of readings that share nothing.
        within: By how much each estimate may be off, in the unit of the readings, (n,).
        own: The noise of each reading over the one it assumes, (n,).

    Returns:
        The model, and the noise of each corrected reading over the one that this assumes, (n,).
    """
    assumed = model.assumptions
    if not within.any():
        return model, own
    noise_std, stds = room(assumed.noise_std, assumed.noise_std * own, within / model.units.scale)
    assumed = replace(assumed, noise_std=noise_std, lam=max(assumed.lam, noise_std**2))
    return replace(model, assumptions=assumed), stds / noise_std


def reach(B0: float, noise_std: float) -> float:
    """What honest readings of a fitted model hardly ever exceed in absolute value."""
    return B0 + N_SIGMA * noise_std


def check_sizes(plan: Plan, unit: float) -> None:
    """Refuse amounts whose squares, in the unit of the readings, float64 may not hold.

    Raises:
        ValueError: An amount that is given exceeds what the readings differ by beyond all measure.
    """
    amounts = {name: getattr(plan, name) for name in ("noise_std", "B", "corruption")}
    for name, amount in amounts.items():
        if isinstance(amount, int | float) and amount / N_TIMES > unit:
            raise ValueError(
                f"{name} must be at most {N_TIMES:g} times what the readings differ by, {unit:.3g}, got "
                f"{name}={amount!r}; state it in the unit of the readings"
            )


def confirmed(points: Floats, y: Floats) -> float:
    """The largest |value| that two readings of one point reach on the same side; 0 without repeats.

    What was read twice is no lie that a fit may cut off.
    """
    largest = 0.0
    _, group = np.unique(points, axis=0, return_inverse=True)
    for k in np.flatnonzero(np.bincount(group.reshape(-1)) > 1):
        values = np.sort(y[group.reshape(-1) == k])
        largest = max(largest, float(values[-2]), float(-values[1]))
    return largest
