"""What every guarantee rests on, in sentences that a user can check against the problem."""

import dataclasses
import math
from collections.abc import Sequence

from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.conditions import FitIsRight
from unbribable.model.kernels import Kernel, Stationary
from unbribable.say.conditions import taken_off
from unbribable.theory.assumptions import Assumptions

CONDITIONAL = (
    "not known before them: the guarantee holds only if this fit is right, and its probability is what "
    "it would be had they been known. How often fitted runs missed is on the documentation's page on "
    "results."
)
"""What follows where something was fitted to the readings."""


def assumed(known: Assumptions, names: Sequence[str] = (), *, is_fitted: bool = False) -> str:
    """The assumptions in sentences.

    Args:
        known: The assumptions.
        names: What the coordinates are called, if they have names.
        is_fitted: Whether some of them were chosen by looking at the readings they are about.
    """
    cap = "is not capped" if math.isinf(known.c_max) else f"is at most {known.c_max:g}"
    words = (
        f"f lies in the RKHS of {named(known.kernel, names)} with norm at most B={known.B:g}, "
        f"and |f| is at most B0={known.B0:g}. The noise of a reading, given all before it, is "
        f"sub-Gaussian with scale {known.noise_std:g}. A single lie {cap}. "
    )
    if is_fitted:
        return words + (
            f"lam={known.lam:g}. No reading is kept or dropped because of its value. Had all this been "
            "known before the data, what is claimed would fail with probability at most "
            f"delta={known.delta:g}. Some of it was fitted to the very readings it judges, and no bound "
            "on the failures is proven then. They were measured (the documentation's page on results): "
            "a share of the runs on the functions there, not a probability for yours."
        )
    return words + (
        f"Kernel, lam={known.lam:g} and B were fixed before the data, and no reading is kept or dropped "
        "because of its value. "
        f"Under these, what is claimed fails with probability at most delta={known.delta:g}."
    )


def rests_on(basis: Basis | None, names: Sequence[str] = (), *, has_origin: bool = True) -> str:
    """What an answer rests on, with the units in which it is stated.

    Args:
        basis: The assumptions; None where there is no reading to fit them to.
        names: What the coordinates are called, if they have names.
        has_origin: Whether to say what was given and what was fitted.
    """
    if basis is None:
        return "None yet: there is no reading to fit them to."
    units, fit = basis.units, basis.fit
    parts = [assumed(basis.assumptions, names, is_fitted=fit is not None and bool(fit.fitted))]
    if units is not None:
        cut = f", and readings beyond +-{units.limit:.4g} of these are cut there"
        parts.append(
            f"Here f and the readings are counted from {units.center:.6g} in units of {units.scale:.6g}"
            f"{'' if math.isinf(units.limit) else cut}."
        )
    if basis.corrected is not None:
        parts.append(taken_off(basis.corrected))
    if fit is not None and has_origin:
        parts.append(origin(fit))
    return " ".join(parts)


def named(kernel: Kernel, names: Sequence[str] = ()) -> str:
    """A kernel; with the names of the coordinates beside the lengthscale of each."""
    scales = kernel.lengthscale if isinstance(kernel, Stationary) else None
    if not (
        isinstance(scales, tuple) and len(scales) == len(names) and dataclasses.is_dataclass(kernel)
    ):
        return repr(kernel)
    fields = [each.name for each in dataclasses.fields(kernel) if each.name != "lengthscale"]
    parts = [f"{field}={getattr(kernel, field)!r}" for field in fields]
    each = ", ".join(f"{name} {scale:.3g}" for name, scale in zip(names, scales, strict=True))
    parts.append(f"lengthscales as shares of the ranges: {each}")
    return f"{type(kernel).__name__}({', '.join(parts)})"


def origin(fit: FitIsRight) -> str:
    """Which of the assumptions were given, and which were fitted; nothing where all were given whole."""
    words = [f"{_were(fit.given)} given."] if fit.given else []
    if fit.fitted:
        words.append(f"{_were(fit.fitted)} fitted to the readings, {CONDITIONAL}")
    return " ".join(words)


def _were(names: Sequence[str]) -> str:
    """`Kernel was`, `Kernel and B were`."""
    words = " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
    return f"{words[0].upper()}{words[1:]} {'were' if len(names) > 1 else 'was'}"
