"""The mathematics once more, naively: dense solves on raw readings, bounds from the whole history.

Nothing here is clever and nothing comes from the library: a kernel matrix K of all candidates, and
for `gain="certified"` a function `gamma`, are handed in. Every belief is solved anew from the list
of raw readings.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Setting:
    """Everything an algorithm is given, in the paper's letters."""

    K: np.ndarray
    B: float
    B0: float
    noise_std: float
    lam: float
    delta: float
    c_max: float | None = None
    width: str = "exact"
    noise: str = "tight"
    tail: str = "sharp"
    beta: float | Callable[[int], float] | None = None
    revisit: float = 0.0
    gamma: Callable[[int], float] | None = None

    @property
    def cap(self) -> float:
        """Largest single lie."""
        return self.B0 if self.c_max is None else self.c_max

    @property
    def tolerance(self) -> float:
        """Slack of detection and elimination."""
        return 1e-9 * max(1.0, self.B)


class Reading(NamedTuple):
    """A raw reading."""

    index: int
    y: float
    lam: float
    noise_std: float


class Belief(NamedTuple):
    """What an instance believes at one tick of its clock."""

    mu: np.ndarray
    sigma: np.ndarray
    noise: np.ndarray
    shift: np.ndarray

    @property
    def width(self) -> np.ndarray:
        """Noise part plus shift."""
        return self.noise + self.shift


def believe(setting: Setting, readings: list[Reading], C: float, delta: float) -> Belief:
    """Posterior and widths by dense solves on the raw readings."""
    K, lam = setting.K, setting.lam
    index = [reading.index for reading in readings]
    y = np.array([reading.y for reading in readings])
    lams = np.array([reading.lam for reading in readings])
    k = K[index]
    gram = K[np.ix_(index, index)] if index else np.zeros((0, 0))
    weights = np.linalg.solve(gram + np.diag(lams), k) if index else np.zeros((0, len(K)))
    mu = weights.T @ y
    var = np.diag(K) - np.sum(k * weights, axis=0)
    sigma = np.sqrt(var)
    noise = noise_width(setting, readings, gram, lams, var, weights, delta)
    if setting.width == "exact":
        shift = np.array([worst_shift(column, C, setting.cap) for column in weights.T])
    else:
        lam_min = min(lams, default=lam)
        spent = C if setting.width == "paper" else math.sqrt(C * min(C, setting.cap))
        shift = spent / math.sqrt(lam_min) * sigma
    return Belief(mu, sigma, noise, shift)


def noise_width(
    setting: Setting,
    readings: list[Reading],
    gram: np.ndarray,
    lams: np.ndarray,
    var: np.ndarray,
    weights: np.ndarray,
    delta: float,
) -> np.ndarray:
    """The noise part of the width."""
    sigma = np.sqrt(var)
    if setting.beta is not None:
        beta = setting.beta(len(readings) + 1) if callable(setting.beta) else setting.beta
        return beta * sigma
    if setting.gamma is not None:
        gain = setting.gamma(len(readings))
    else:
        scaled = gram / np.sqrt(np.outer(lams, lams))
        gain = 0.5 * np.linalg.slogdet(np.eye(len(lams)) + scaled)[1]
    ratios = [reading.noise_std / math.sqrt(reading.lam) for reading in readings]
    ratio = max(ratios, default=setting.noise_std / math.sqrt(setting.lam))

    def rho(d: float) -> float:
        return ratio * math.sqrt(2.0 * (gain + math.log(1.0 / d)))

    B = setting.B
    if setting.noise == "paper":
        return (B + rho(delta)) * sigma
    # The drift tolerance is added under the root.
    bias = B * np.sqrt(var - np.sum(lams[:, None] * weights**2, axis=0) + 1e-6 * var)
    first = math.sqrt(B**2 + rho(delta / 2) ** 2) * sigma
    return np.minimum(first, bias + rho(delta / 2) * sigma)


def worst_shift(weights: np.ndarray, C: float, cap: float) -> float:
    """Largest |weights . c| over |c_i| <= cap, sum |c_i| <= C: the largest weights first."""
    left, total = C, 0.0
    for weight in sorted(np.abs(weights).tolist(), reverse=True):
        if left <= 0.0:
            break
        lie = min(cap, left)
        total += weight * lie
        left -= lie
    return total


def tail_budget(setting: Setting, total: float, p: float, delta: float) -> float:
    """Corruption that reaches an instance drawn with probability p."""
    if setting.tail == "paper":
        return 3.0 + setting.cap * math.log(1.0 / delta)
    if p >= 1.0:
        return total
    b = min(setting.cap, total)

    def is_enough(a: float) -> bool:
        q = a / total
        kl = q * math.log(q / p)
        if q < 1.0:
            kl += (1.0 - q) * math.log((1.0 - q) / (1.0 - p))
        return (total / b) * kl >= math.log(1.0 / delta)

    if not is_enough(total):
        return total
    low, high = p * total, total
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


class Instance:
    """Holds changing state: raw readings, and the belief at every tick of its clock."""

    def __init__(self, setting: Setting, C: float, delta: float) -> None:
        self.setting = setting
        self.C = C
        self.delta = delta
        self.readings: list[Reading] = []
        self.history = [believe(setting, [], C, delta)]
        self._intersect()

    @property
    def now(self) -> Belief:
        """The current belief."""
        return self.history[-1]

    def learn(self, reading: Reading) -> None:
        """Add a reading and solve everything anew."""
        self.readings.append(reading)
        self.history.append(believe(self.setting, self.readings, self.C, self.delta))
        self._intersect()

    def ucb(self, alpha: float) -> np.ndarray:
        """mu + alpha * width."""
        return self.now.mu + alpha * self.now.width

    def _intersect(self) -> None:
        """The smallest mu + width and the largest mu - width of the whole history, once a tick."""
        self.ucb_bar = np.min([belief.mu + belief.width for belief in self.history], axis=0)
        self.lcb_bar = np.max([belief.mu - belief.width for belief in self.history], axis=0)

    @property
    def is_crossed(self) -> bool:
        """Whether the intersected bounds leave some candidate no value."""
        return bool(np.any(self.lcb_bar > self.ucb_bar + self.setting.tolerance))

    def revisit(self, scores: np.ndarray, alpha: float, allowed: np.ndarray) -> int:
        """The best allowed candidate, or a point read before that is almost as good."""
        scores = np.where(allowed, scores, -np.inf)
        best = int(np.argmax(scores))
        eta = self.setting.revisit
        choice = best
        if eta > 0.0:
            near = [
                i
                for i in sorted({reading.index for reading in self.readings})
                if allowed[i] and scores[i] >= scores[best] - eta * alpha * self.now.width[i]
            ]
            choice = max(near, key=lambda i: (scores[i], -i), default=best)
        return choice


class Atom(NamedTuple):
    """One atom of a proposal; `scores` is what `index` maximises, -inf where not allowed."""

    index: int
    probability: float
    learner: str | None
    player: str
    scores: np.ndarray


@dataclass
class Play:
    """A round that was asked: which point, who learned, the player's lower bound at the choice."""

    index: int
    learner: str | None
    lcb: float


@dataclass
class Bounds:
    """Bounds valid for a threat, and what they certify."""

    upper: np.ndarray
    lower: np.ndarray
    B0: float
    is_void: bool
    plays: list[Play] = field(default_factory=list)
    is_refuted: bool = False

    def interval(self, i: int) -> tuple[float, float] | None:
        """Cut at +-B0; None where the readings contradict the assumptions."""
        if self.is_refuted:
            return None
        return max(self.lower[i], -self.B0), min(self.upper[i], self.B0)

    def certificate(self, i: int) -> float | None:
        """max ucb_v - lcb_v(x_i), cut at +-B0; None where void."""
        if self.is_void:
            return None
        return max(0.0, min(self.upper.max(), self.B0) - max(self.lower[i], -self.B0))

    def hindsight(self) -> float | None:
        """The sum of the certificates of all plays."""
        if self.is_void:
            return None
        return math.fsum(self.certificate(play.index) for play in self.plays)


class Algorithm:
    """Abstract. Holds changing state: instances, rounds, plays."""

    def __init__(self, setting: Setting, seed: int | None = None) -> None:
        self.setting = setting
        self.seed = seed
        self.t = 0
        self.detected: int | None = None
        self.refuted: int | None = None
        self.instances: dict[str, Instance] = {}
        self.plays: list[Play] = []

    def atoms(self) -> list[Atom]:
        """The proposal of the next round, in the order of the draw."""
        raise NotImplementedError

    def after(self, learner: str) -> bool:
        """What follows an update; returns whether the assumptions are refuted."""
        raise NotImplementedError

    def learners(self, learner: str) -> list[Instance]:
        """Who learns."""
        return [self.instances[learner]]

    def ask(self) -> Atom:
        """Draw the next round's atom."""
        atoms = self.atoms()
        self.t += 1
        u = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.t,))).random()
        total = 0.0
        for atom in atoms:
            total += atom.probability
            if u < total:
                return atom
        return atoms[-1]

    def tell(
        self, atom: Atom, y: float, *, index: int | None = None, noise_std: float | None = None
    ) -> None:
        """Take in a reading of the atom drawn (of candidate `index`, where that differs)."""
        s = self.setting
        i = atom.index if index is None else index
        belief = self.instances[atom.player].now
        self.plays.append(Play(i, atom.learner, belief.mu[i] - belief.width[i]))
        if atom.learner is None:
            return
        own = s.noise_std if noise_std is None else noise_std
        lam = s.lam if noise_std is None else s.lam * (noise_std / s.noise_std) ** 2
        for instance in self.learners(atom.learner):
            instance.learn(Reading(i, y, lam, own))
        is_refuted = self.after(atom.learner)
        if is_refuted and self.refuted is None:
            self.refuted = self.t

    def valid(self, labels: list[str]) -> Bounds:
        """The intersection of these instances' bounds."""
        s = self.setting
        upper = np.min([self.instances[label].ucb_bar for label in labels], axis=0)
        lower = np.max([self.instances[label].lcb_bar for label in labels], axis=0)
        is_crossed = np.any(np.maximum(lower, -s.B0) > np.minimum(upper, s.B0) + s.tolerance)
        is_refuted = bool(is_crossed) or self.refuted is not None
        return Bounds(upper, lower, s.B0, is_refuted or s.beta is not None, self.plays, is_refuted)

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        """The instances valid for the threat."""
        raise NotImplementedError

    def best_when_chosen(self, labels: list[str]) -> int:
        """The paper's rule: argmax over rounds of valid instances of the lcb at the choice."""
        plays = [play for play in self.plays if play.learner in labels]
        return max(plays, key=lambda play: play.lcb).index


class OneInstance(Algorithm):
    """GP-UCB (C = 0) and Algorithm 1."""

    def __init__(self, setting: Setting, C: float) -> None:
        super().__init__(setting)
        self.instances = {"main": Instance(setting, C, setting.delta)}

    def atoms(self) -> list[Atom]:
        main = self.instances["main"]
        scores = main.ucb(1.0)
        index = main.revisit(scores, 1.0, np.ones(len(scores), dtype=bool))
        return [Atom(index, 1.0, "main", "main", scores)]

    def after(self, learner: str) -> bool:
        return self.instances["main"].is_crossed

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        return ["main"]


class FastSlow(Algorithm):
    """Algorithm 2."""

    def __init__(
        self, setting: Setting, C: float, seed: int, alpha: float = 2.0, with_all: bool = False
    ) -> None:
        super().__init__(setting, seed)
        self.alpha = alpha
        self.with_all = with_all
        self.p = min(1.0, 1.0 / C)
        share = setting.delta / 5.0
        slow = C if C <= 1.0 else tail_budget(setting, C, self.p, share)
        self.instances = {
            "fast": Instance(setting, 0.0, share),
            "slow": Instance(setting, slow, share),
            "all": Instance(setting, C, share),
        }

    def robust(self) -> tuple[np.ndarray, np.ndarray]:
        """Intersected bounds of slow, or of slow and all."""
        slow, everything = self.instances["slow"], self.instances["all"]
        if not self.with_all:
            return slow.ucb_bar, slow.lcb_bar
        return (
            np.minimum(slow.ucb_bar, everything.ucb_bar),
            np.maximum(slow.lcb_bar, everything.lcb_bar),
        )

    def atoms(self) -> list[Atom]:
        n = len(self.setting.K)
        if self.detected is not None:
            everything = self.instances["all"]
            scores = everything.ucb(1.0)
            index = everything.revisit(scores, 1.0, np.ones(n, dtype=bool))
            return [Atom(index, 1.0, "all", "all", scores)]
        slow, fast = self.instances["slow"], self.instances["fast"]
        scores = slow.ucb(self.alpha)
        index = slow.revisit(scores, self.alpha, np.ones(n, dtype=bool))
        atoms = [Atom(index, self.p, "slow", "slow", scores)]
        if self.p < 1.0:
            upper, lower = self.robust()
            scores = np.minimum(fast.ucb_bar, upper)
            index = fast.revisit(scores, 1.0, upper >= lower.max())
            atoms.append(Atom(index, 1.0 - self.p, "fast", "fast", scores))
        return atoms

    def learners(self, learner: str) -> list[Instance]:
        return [self.instances[label] for label in dict.fromkeys([learner, "all"])]

    def after(self, learner: str) -> bool:
        _, lower = self.robust()
        if np.min(self.instances["fast"].ucb_bar - lower) < -self.setting.tolerance:
            self.detected = self.t if self.detected is None else self.detected
        return self.instances["slow"].is_crossed or self.instances["all"].is_crossed

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        return ["all"] if threat == "strong" else ["slow", "all"]


class Layered(Algorithm):
    """Algorithm 3."""

    def __init__(self, setting: Setting, T: int, seed: int, alpha: float = 2.0) -> None:
        super().__init__(setting, seed)
        self.alpha = alpha
        self.n_layers = max(1, math.ceil(math.log2(T)))
        share = setting.delta / (4.0 * (1.0 + math.log2(T)))
        self.probabilities = [2.0**-level for level in range(1, self.n_layers + 1)]
        self.probabilities[0] += 1.0 - sum(self.probabilities)
        self.labels = [f"layer-{level}" for level in range(1, self.n_layers + 1)]
        for level, (label, p) in enumerate(zip(self.labels, self.probabilities, strict=True), start=1):
            budget = tail_budget(setting, 2.0**level, p, share)
            self.instances[label] = Instance(setting, budget, share)
        n = len(setting.K)
        self.maximisers = [np.ones(n, dtype=bool) for _ in range(self.n_layers)]

    def play(self, k: int, allowed: np.ndarray) -> tuple[int, np.ndarray]:
        """Layer k's choice among the allowed candidates."""
        layer = self.instances[self.labels[k]]
        scores = layer.ucb(self.alpha)
        return layer.revisit(scores, self.alpha, allowed), np.where(allowed, scores, -np.inf)

    def atoms(self) -> list[Atom]:
        n = len(self.setting.K)
        non_empty = [k for k in range(self.n_layers) if self.maximisers[k].any()]
        if not non_empty:
            top = self.labels[-1]
            index, scores = self.play(self.n_layers - 1, np.ones(n, dtype=bool))
            return [Atom(index, 1.0, top, top, scores)]
        atoms = []
        for k in range(self.n_layers):
            player = min(j for j in non_empty if j >= k)
            index, scores = self.play(player, self.maximisers[player])
            learner = self.labels[k] if player == k else None
            atoms.append(Atom(index, self.probabilities[k], learner, self.labels[player], scores))
        return atoms

    def after(self, learner: str) -> bool:
        k = self.labels.index(learner)
        layer = self.instances[learner]
        may_be_best = layer.ucb_bar >= layer.lcb_bar.max() - self.setting.tolerance
        self.maximisers[k] = self.maximisers[k] & may_be_best
        for i in range(k):
            self.maximisers[i] = self.maximisers[i] & self.maximisers[k]
        return self.instances[self.labels[-1]].is_crossed or not self.maximisers[-1].any()

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        if threat == "strong":
            return [label for label in self.labels if self.instances[label].C >= C]
        if C is not None:
            return self.labels[max(1, math.ceil(math.log2(C))) - 1 :]
        for k in range(self.n_layers):
            if not self.is_crossing(self.labels[k:]):
                return self.labels[k:]
        return self.labels[-1:]

    def is_crossing(self, labels: list[str]) -> bool:
        """Whether these layers' bounds together leave some candidate no value."""
        s = self.setting
        bounds = self.valid(labels)
        lower, upper = np.maximum(bounds.lower, -s.B0), np.minimum(bounds.upper, s.B0)
        return bool(np.any(lower > upper + s.tolerance))
