"""Whether a game kept to what an instance's bounds rest on."""

import math

import numpy as np

from unbribable.runs.record import Record


def is_promised(record: Record, label: str) -> bool:
    """Whether everything this instance's bounds rest on was true in the game.

    The function's norm, the noise, the largest lie and the budget are as assumed; where the draw
    must be secret, the adversary was weak; and the widths were not overridden.
    """
    meta = record.meta
    learner = {key: value for key, value in meta["algorithm"].items() if value is not None}
    C, norm = float(meta["C"]), meta.get("norm")
    largest = float(np.max(record.columns["charge"], initial=0.0))
    slack = 1e-9
    is_as_assumed = (
        learner.get("beta") is None
        and (norm is None or norm <= learner.get("B", math.inf) + slack)
        and meta["noise_std"] <= learner.get("noise_std", math.inf) + slack
        and largest <= float(learner.get("c_max", math.inf)) + slack
    )
    is_secret = meta["threat"] == "weak" or C == 0.0
    if label.startswith("layer-"):
        return is_as_assumed and is_secret and 2.0 ** int(label.removeprefix("layer-")) + slack >= C
    if label == "slow":
        return is_as_assumed and is_secret and learner.get("C", 0.0) + slack >= C
    budget = 0.0 if label == "fast" else learner.get("C", 0.0)
    return bool(is_as_assumed and budget + slack >= C)
