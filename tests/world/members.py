"""The list of all adversaries, and the small world they are tested in.

A new adversary adds a line to ADVERSARIES and inherits every law of `test_every_adversary.py`.
"""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.decision.algorithm import Algorithm
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.world import adversaries as liars
from unbribable.lab.world.adversaries import Adversary, Observation, View
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.objectives import Objective, kernel_sum

# --- a small world ----------------------------------------------------------------------------------

KERNEL = ub.SquaredExponential(0.15)
NOISE_STD = 0.1
LAM = 0.1
T = 24
"""Rounds of a game of the contracts."""


def objective(n: int = 12) -> Objective:
    """A global peak at 1/4, a lower one at 3/4, a valley between; max |f| just above 1."""
    X = np.linspace(0.0, 1.0, n)[:, None]
    centres = np.array([[0.25], [0.75], [0.5]])
    return kernel_sum(KERNEL, X, centres, np.array([1.2, 0.8, -0.6]), name="two peaks")


def far_half(f: Objective) -> np.ndarray:
    """The region of the lower peak."""
    return f.X[:, 0] > 0.55


def assumptions(f: Objective) -> ub.Assumptions:
    assert f.norm is not None
    return ub.Assumptions(KERNEL, B=f.norm, B0=f.B0, noise_std=NOISE_STD, lam=LAM)


# --- the list: a new adversary adds a line ----------------------------------------------------------

ADVERSARIES: dict[str, Callable[[Objective], Adversary]] = {
    "none": lambda f: liars.NoAdversary(),
    "region": lambda f: liars.RegionSubtraction(f, radius=0.15),
    "smooth bump": lambda f: liars.Subtraction(f.X[f.best], scale=0.3, height=0.7),
    "square bump": lambda f: liars.Subtraction(f.X[f.best], scale=0.3, height=0.7, is_smooth=False),
    "clipping": lambda f: liars.Clipping(f, far_half(f), margin=0.3),
    "aggressive": lambda f: liars.AggressiveSubtraction(far_half(f), height=0.8),
    "adaptive clipping": lambda f: liars.AdaptiveStrength(
        liars.Clipping(f, far_half(f), margin=0.3), far_half(f)
    ),
    "adaptive aggressive": lambda f: liars.AdaptiveStrength(
        liars.AggressiveSubtraction(far_half(f), height=0.8), far_half(f)
    ),
    "top-3": lambda f: liars.TopK(f, K=3),
    "flip": lambda f: liars.Flip(f),
    "random": lambda f: liars.RandomLies(std=0.5, mean=-0.1, frequency=0.7),
    "decoy": lambda f: liars.HideAndDecoy(f, radius=0.15, low=-1.0, high=1.0),
    "burst": lambda f: liars.Burst(f, radius=0.15, value=-1.0),
    "huge burst": lambda f: liars.Burst(f, radius=0.15, value=-1e6, n_honest=3),
    "found decoy": lambda f: liars.FoundDecoy(f, radius=0.1, far=0.4, low=-1.0, high=1.5),
    "zero out": lambda f: liars.ZeroOut(f),
    "width-aware": lambda f: liars.WidthAware(f, kernel=KERNEL, lam=LAM),
    "just enough": lambda f: liars.JustEnough(
        f, kernel=KERNEL, lam=LAM, noise_std=NOISE_STD, radius=0.2
    ),
    "silent": lambda f: liars.Silent(liars.Flip(f), noise_std=NOISE_STD),
    "silent width-aware": lambda f: liars.Silent(
        liars.WidthAware(f, kernel=KERNEL, lam=LAM), noise_std=NOISE_STD
    ),
    "later": lambda f: liars.Later(liars.Flip(f), start=5),
    "instance-targeting": lambda f: liars.InstanceTargeting(liars.Flip(f), instance="slow"),
}


def threats(name: str) -> tuple[str, ...]:
    """The kinds of world in which an adversary can live."""
    needs_strong = ADVERSARIES[name](objective()).needs_strong
    return ("strong",) if needs_strong else ("weak", "strong")


GAMES = [(name, threat) for name in ADVERSARIES for threat in threats(name)]
"""Every adversary in every world it can live in."""


# --- tools ------------------------------------------------------------------------------------------


@dataclass
class Spy(Adversary):
    """Does what `base` does, and keeps all it was shown, wanted and told. Holds changing state."""

    base: Adversary
    log: list[str] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    wanted: list[np.ndarray] = field(default_factory=list)
    outcomes: list[tuple[int, str | None, Observation]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.needs_strong = self.base.needs_strong

    def commit(self, view: View, rng: np.random.Generator) -> np.ndarray:
        wanted = self.base.commit(view, rng)
        self.log.append("commit")
        self.views.append(replace(view, bounds=partial(copy.deepcopy, view.bounds())))  # as it was
        self.wanted.append(np.array(wanted))
        return wanted

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self.log.append("saw")
        self.outcomes.append((index, instance, observation))
        self.base.saw(index, instance, observation)

    def reset(self) -> None:
        self.base.reset()
        for kept in (self.log, self.views, self.wanted, self.outcomes):
            kept.clear()


def world(
    adversary: Adversary | None = None,
    *,
    f: Objective | None = None,
    C: float = 3.0,
    c_max: float | None = None,
    threat: str = "weak",
) -> Environment:
    f = objective() if f is None else f
    return Environment(f, noise_std=NOISE_STD, adversary=adversary, C=C, c_max=c_max, threat=threat)


def play(
    algorithm: Algorithm,
    environment: Environment,
    n_rounds: int = T,
    seed: int = 0,
    on_round: Callable[[int], None] | None = None,
) -> Record:
    """A game in which the learner may find out that its assumptions are false."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        return simulate(algorithm, environment, n_rounds, seed, on_round=on_round)


def learner(name: str, f: Objective | None = None, secret: int = 0) -> Algorithm:
    f = objective() if f is None else f
    return ALGORITHMS[name](ub.Grid(f.X), assumptions(f), C=4.0, T=T, seed=secret)


def view_of(
    f: Objective,
    indices: list[int] | np.ndarray,
    *,
    probabilities: list[float] | None = None,
    instances: tuple[tuple[str | None, ...], ...] | None = None,
    left: float = 1e6,
    c_max: float = 1e6,
    t: int = 1,
) -> View:
    """A view of these points, all equally likely unless told."""
    indices = np.asarray(indices, dtype=np.intp)
    n = len(indices)
    return View(
        t=t,
        indices=indices,
        points=f.X[indices],
        probabilities=np.full(n, 1.0 / n) if probabilities is None else np.array(probabilities),
        instances=(("main",),) * n if instances is None else instances,
        left=left,
        c_max=c_max,
    )


def same_but_for_time(a: Record, b: Record, *, signs_of_zero: bool = True) -> bool:
    """Whether two games are equal bit for bit, the clock aside."""
    if a.columns.keys() != b.columns.keys():
        return False
    for name in a.columns.keys() - {"seconds"}:
        ours, theirs = a.columns[name], b.columns[name]
        if not signs_of_zero and ours.dtype.kind == "f":
            ours, theirs = ours + 0.0, theirs + 0.0
        if ours.dtype != theirs.dtype or ours.tobytes() != theirs.tobytes():
            return False
    return True
