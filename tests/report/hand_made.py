"""Records made by hand, with numbers whose reports can be computed by hand."""

import numpy as np

from unbribable.decision.proven.guarantee import Guarantee
from unbribable.lab.runs.record import FORMAT, Record
from unbribable.lab.runs.simulate import is_promised
from unbribable.theory.budgets import Budget


def record(
    regret,
    *,
    algorithm="GP-UCB",
    kind="GPUCB",
    adversary="liar",
    C=1.0,
    seed=0,
    C_assumed=None,  # noqa: N803
    charge=None,
    instances=("main",),
    instance=None,
    covered=None,
    promised=None,
    detected=None,
    certificate=0.5,
    simple=0.25,
    maximisers=None,
    **meta,
):
    """A game with these instant regrets; f_max is 1."""
    T = len(regret)
    covered = dict.fromkeys(instances, True) if covered is None else covered
    instant = np.asarray(regret, dtype=np.float64)
    columns = {
        "index": np.zeros(T, dtype=np.int64),
        "instance": np.zeros(T, dtype=np.int64) if instance is None else np.asarray(instance),
        "f": 1.0 - instant,
        "c": np.zeros(T),
        "y_tilde": 1.0 - instant,
        "charge": np.zeros(T) if charge is None else np.asarray(charge, dtype=np.float64),
        "seconds": np.full(T, 0.01),
    }
    if maximisers is not None:
        columns["maximisers"] = np.asarray(maximisers)
    learner = {"algorithm": kind, "delta": 0.1, "B": 2.0, "noise_std": 0.1, "c_max": 1.0, "beta": None}
    learner["guarantee"] = Guarantee("weak", ("main",), 0.9).to_plain()
    if C_assumed is not None:
        learner["C"] = C_assumed
    told = C_assumed or 0.0
    allowed = {"fast": Budget(0.0, 0.1), "slow": Budget(told, 0.1, is_secret=True)}
    whole = {
        "format": FORMAT,
        "T": T,
        "seed": seed,
        "algorithm": learner,
        "instances": list(instances),
        "objective": "bump",
        "f_max": 1.0,
        "best": 0,
        "norm": 2.0,
        "f_recommended": 1.0 - simple,
        "certificate": certificate,
        "adversary": "Liar",
        "threat": "weak",
        "C": C,
        "noise_std": 0.1,
        "knows": "nothing",
        "is_ours": True,
        "detected": detected,
        "covered": covered,
        "run": {
            "experiment": "by hand",
            "algorithm": algorithm,
            "adversary": adversary,
            "objective": "bump",
            "C": C,
            "C_assumed": C_assumed,
            "T": T,
            "seed": seed,
            "key": "given by write",
        },
        **meta,
    }
    if promised is None:
        largest = float(columns["charge"].max())
        budgets = {label: allowed.get(label, Budget(told, 0.1)) for label in instances}
        promised = {label: is_promised(one, whole, largest) for label, one in budgets.items()}
    return Record(columns, {"promised": promised, **whole})


def write(directory, records):
    """The records as a sweep would leave them."""
    runs = directory / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for k, one in enumerate(records, len(list(runs.iterdir()))):
        key = f"{k:016x}"
        Record(one.columns, {**one.meta, "run": {**one.meta["run"], "key": key}}).save(
            runs / f"{key}.npz"
        )
    return directory
