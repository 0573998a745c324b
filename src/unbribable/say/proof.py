"""What is proven of the lies in a table, in sentences."""

from unbribable.decision.proven.conditions import FitIsRight
from unbribable.decision.proven.lying import NOTICED, Proof
from unbribable.say.conditions import supposition, under


def total(proof: Proof) -> str:
    """How much lying there was at least, and what that rests on."""
    said = _total(proof)
    if not proof.n_waiting:
        return said
    return (
        f"{said} This rests on {proof.n_readings or 'none'} of the {proof.n_readings + proof.n_waiting} "
        "readings: those of the rounds before the first one that is still open."
    )


def of(proof: Proof, t: int) -> str:
    """What is proven of reading t; empty if nothing is."""
    least, within = proof.lies.get(t, 0.0), proof.lies_within.get(t, 0.0)
    said = [f"a lie of at least {least:.3g} for certain"] if least else []
    if within > 1.001 * least:
        a_lie = "" if said else "a lie "
        said.append(f"{a_lie}of at least {within:.3g} if lies total at most {proof.C:.4g}")
    return f"{' and '.join(said)}, if {_supposed(proof)}" if said else ""


def _total(proof: Proof) -> str:
    if proof.is_refuted:
        model = "the fitted model" if proof.fit.fitted else "what is assumed"
        wrong = (
            f"No lies explain these readings: {model} is wrong (noise, smoothness, range or the size of "
            "a lie)"
        )
        return (
            f"{under(wrong, proof.conditions)} Were it right, that would happen with probability at "
            f"most {1.0 - proof.probability:.3g}."
        )
    if proof.total == 0.0:
        return (
            "Nothing proves that anybody lied. Lies of less than about "
            f"{NOTICED * proof.noise_std:.3g} each ({NOTICED:g} times the noise) would not show."
        )
    more = "" if proof.total <= proof.C else f", more than the {proof.C:.4g} that was stated"
    return (
        f"These readings cannot be explained without lies totalling at least {proof.total:.4g}{more} "
        f"(with probability at least {proof.probability:.4g}, if {_supposed(proof)})."
    )


def _supposed(proof: Proof) -> str:
    return supposition([FitIsRight(proof.fit.fitted), *proof.conditions])
