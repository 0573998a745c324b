"""Small worlds for the tests: random designs, functions of known norm, liars within a budget."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import binom

import unbribable as ub
from unbribable.model.checks import Floats, Ints
from unbribable.model.kernels import Kernel

law = settings(derandomize=True, deadline=None, max_examples=40)
"""Of every property test here: the same examples on every machine."""

Lie = Callable[[int, tuple[str | None, ...]], float]
"""A point and the instances that may learn from it -> the lie, as a share of the cap."""


# --- designs: readings at chosen points, and the textbook formulas for them --------------------------


@dataclass(frozen=True)
class Design:
    """Readings of the candidates `indices` with noises `lams`, in that order."""

    kernel: Kernel
    X: Floats
    lam: float
    indices: Ints
    lams: Floats
    rng: np.random.Generator

    @property
    def t(self) -> int:
        return len(self.indices)

    @property
    def K(self) -> Floats:
        """Kernel matrix of the readings, (t, t)."""
        return self.kernel(self.X[self.indices], self.X[self.indices])

    def weights(self) -> Floats:
        """(K + diag(lams))^-1 k(x): weight of every reading at every candidate, (t, n). Dense."""
        cross = self.kernel(self.X[self.indices], self.X)
        return np.linalg.solve(self.K + np.diag(self.lams), cross)

    def posterior(self, y: Floats) -> ub.Posterior:
        """The real posterior after the readings y."""
        posterior = ub.Posterior(self.kernel, self.X, self.lam)
        for i, value, lam in zip(self.indices, y, self.lams, strict=True):
            posterior.observe(int(i), float(value), float(lam))
        return posterior


@st.composite
def designs(
    draw: st.DrawFn,
    *,
    n_max: int = 10,
    t_max: int = 24,
    has_own_noise: bool = True,
    lam: st.SearchStrategy[float] | None = None,
) -> Design:
    """Any points, kernel, lam and order of reading, with repeats and (often) noise per reading."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, t = draw(st.integers(1, n_max)), draw(st.integers(1, 3)), draw(st.integers(1, t_max))
    X = rng.uniform(-1.0, 1.0, (n, d))
    scale = draw(st.sampled_from([0.1, 0.3, 1.0, 3.0]))
    kernel = draw(
        st.sampled_from(
            [
                ub.SquaredExponential(scale),
                ub.Matern(0.5, scale),
                ub.Matern(1.5, scale),
                ub.Matern(2.5, scale),
                ub.Linear(float(np.sqrt(d))),
            ]
        )
    )
    base = draw(st.sampled_from([1e-3, 1e-2, 0.1, 1.0, 10.0]) if lam is None else lam)
    lams = np.full(t, base)
    if has_own_noise and draw(st.booleans()):
        lams = base * rng.choice([0.25, 1.0, 4.0], t)
    return Design(kernel, X, base, rng.integers(0, n, t), lams, rng)


def corruption(weights: Floats, C: float, cap: float) -> Floats:
    """The admissible lies that move sum weights_i c_i most: the cap on the largest |weight| first."""
    c = np.zeros(len(weights))
    left = C
    for i in np.argsort(-np.abs(weights)):
        c[i] = min(cap, left) * (1.0 if weights[i] >= 0.0 else -1.0)
        left -= abs(c[i])
    return c


def random_corruption(rng: np.random.Generator, t: int, C: float, cap: float) -> Floats:
    """Some admissible lies: at most the cap each, at most C together, often exactly C."""
    c = rng.choice([-1.0, 1.0], t) * rng.random(t) ** rng.choice([0.1, 1.0, 10.0])
    c *= C / max(np.abs(c).sum(), 1e-12)
    return np.clip(c, -cap, cap)


# --- functions of exactly known norm ----------------------------------------------------------------


def random_function(
    kernel: Kernel, X: Floats, rng: np.random.Generator, B: float, n_sections: int = 6
) -> Floats:
    """Values at X of a sum of kernel sections whose RKHS norm is exactly B."""
    centres = X[rng.choice(len(X), min(n_sections, len(X)), replace=False)]
    coefficients = rng.standard_normal(len(centres))
    norm = np.sqrt(coefficients @ kernel(centres, centres) @ coefficients)
    values: Floats = kernel(X, centres) @ coefficients * (B / norm)
    return values


# --- liars ------------------------------------------------------------------------------------------


def liars(kernel: Kernel, X: Floats, f: Floats, rng: np.random.Generator) -> dict[str, Lie]:
    """Strategies that know f. All of them aim at the maximiser, each in another way."""
    top = int(np.argmax(f))
    nearness = kernel(X, X)
    is_near_top = nearness[top] > 0.6
    far = np.where(is_near_top, -np.inf, f)
    decoy = int(np.argmax(far)) if np.isfinite(far).any() else top
    is_near_decoy = nearness[decoy] > 0.6
    pull = is_near_decoy * 1.0 - is_near_top * 1.0

    def is_rare(labels: tuple[str | None, ...]) -> bool:
        """Whether an instance that is seldom drawn may learn: slow, or a layer above the first."""
        return any(label not in ("fast", "layer-1", None) for label in labels)

    return {
        "honest": lambda i, labels: 0.0,
        "hide": lambda i, labels: -1.0 * is_near_top[i],
        "whisper": lambda i, labels: -0.2 * is_near_top[i],
        "decoy": lambda i, labels: float(pull[i]),
        "rare": lambda i, labels: float(pull[i]) if is_rare(labels) else 0.0,
        "down": lambda i, labels: -1.0,
        "noise": lambda i, labels: float(rng.choice([-1.0, 1.0])),
    }


@dataclass
class Game:
    """Holds changing state: the truth, the liar's budget, and what was played."""

    f: Floats
    noise_std: float
    rng: np.random.Generator
    lie: Lie = lambda i, labels: 0.0
    C: float = 0.0
    cap: float = 1.0
    is_strong: bool = False
    played: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.C

    def round(self, algorithm: ub.GPUCB | ub.FastSlowGPUCB | ub.LayeredGPUCB) -> ub.Query:
        """One round of the game: propose, commit (weak), draw, commit (strong), tell."""
        proposal = algorithm.propose()
        if self.is_strong:
            query = algorithm.ask()
            lies = self._commit({query.index: (query.instance,)})
        else:
            learners: dict[int, tuple[str | None, ...]] = {}
            for i, label in zip(proposal.indices.tolist(), proposal.instances, strict=True):
                learners[i] = (*learners.get(i, ()), label)
            lies = self._commit(learners)
            query = algorithm.ask()
        noise = self.noise_std * self.rng.standard_normal()
        algorithm.tell(query, float(self.f[query.index] + noise + lies[query.index]))
        self.played.append(query.index)
        return query

    def _commit(self, learners: dict[int, tuple[str | None, ...]]) -> dict[int, float]:
        """One value per point, charged the largest, whether or not that point is drawn."""
        size = min(self.cap, self.left)
        lies = {i: size * self.lie(i, labels) for i, labels in learners.items()}
        self.left -= max(abs(c) for c in lies.values())
        return lies

    @property
    def regret(self) -> float:
        return float(np.sum(self.f.max() - self.f[self.played]))


# --- statistics -------------------------------------------------------------------------------------


def is_too_often(k: int, n: int, delta: float, level: float = 1e-3) -> bool:
    """Whether k failures in n independent runs refute that each fails with probability <= delta.

    The margin: P(Bin(n, delta) >= k) < level. With fixed seeds the outcome never changes; the level
    is the probability that a correct library would have been given unlucky seeds.
    """
    return float(binom.sf(k - 1, n, delta)) < level


def leaves(instances: list[object], f: Floats, tolerance: float = 1e-9) -> bool:
    """Whether f is outside the intersected bounds of these instances somewhere.

    The bounds are monotone, so at the end of a run this says whether f has ever been outside.
    """
    upper = np.min([instance.ucb_bar for instance in instances], axis=0)
    lower = np.max([instance.lcb_bar for instance in instances], axis=0)
    return bool(np.any(f > upper + tolerance) or np.any(f < lower - tolerance))
