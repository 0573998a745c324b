"""What is thought of the readings of a bare algorithm."""

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.units import MODEL_UNITS
from unbribable.doubt.suspect import Suspect
from unbribable.say.figures.run import judge_of
from unbribable.study.suspects import suspects


def suspects_of(algorithm: Algorithm) -> tuple[Suspect, ...]:
    """Its readings, in its own units, the most suspicious first."""
    return suspects(algorithm.readings, judge_of(algorithm).verdict(), algorithm, MODEL_UNITS)
