"""The mathematics once more, naively: dense solves on raw readings, bounds from the whole history.

Nothing here is clever and nothing comes from the library: a kernel matrix K of all candidates, and
for `gain="certified"` a function `gamma`, are handed in. Every belief is solved anew from the list
of raw readings.
"""

import math
from collections.abc import Callable, Sequence
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
    return believe_at(setting, readings, [C], delta)[0]


def believe_at(
    setting: Setting, readings: list[Reading], budgets: list[float], delta: float
) -> list[Belief]:
    """The same at several corruption budgets: only the shift differs."""
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
    beliefs = []
    for C in budgets:
        if setting.width == "exact":
            shift = np.array([worst_shift(column, C, setting.cap) for column in weights.T])
        else:
            lam_min = min(lams, default=lam)
            spent = C if setting.width == "paper" else math.sqrt(C * min(C, setting.cap))
            shift = spent / math.sqrt(lam_min) * sigma
        beliefs.append(Belief(mu, sigma, noise, shift))
    return beliefs


class Difference(NamedTuple):
    """What is believed of f(x) - f(x_i), for every candidate x."""

    mean: np.ndarray
    noise: np.ndarray
    weights: np.ndarray

    def upper(self, C: float, cap: float) -> np.ndarray:
        """What the difference is at most if the lies total at most C and none exceeds the cap, (n,)."""
        shift = np.array([worst_shift(column, C, cap) for column in self.weights.T])
        return self.mean + self.noise + shift


def difference(setting: Setting, readings: list[Reading], i: int, delta: float) -> Difference:
    """Mean, noise width and weights of the difference itself: the errors that x and x_i share cancel."""
    index = [reading.index for reading in readings]
    y = np.array([reading.y for reading in readings])
    lams = np.array([reading.lam for reading in readings])
    gram, k = setting.K[np.ix_(index, index)], setting.K[index]
    weights = np.linalg.solve(gram + np.diag(lams), k)
    covariance = setting.K - k.T @ weights
    weights = weights - weights[:, [i]]
    var = np.diag(covariance) + covariance[i, i]
    slack = 1e-6 * var
    var = np.maximum(var - 2.0 * covariance[i], 0.0)
    sigma = np.sqrt(var + slack)
    bias = setting.B * np.sqrt(np.maximum(var - lams @ weights**2, 0.0) + slack)
    share = delta if setting.noise == "paper" else delta / 2
    rho = radius(setting, readings, gram, lams, share)
    noise = bias + rho * sigma
    if setting.noise == "tight":
        noise = np.minimum(noise, math.sqrt(setting.B**2 + rho**2) * sigma)
    return Difference(weights.T @ y, noise, weights)


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
    B = setting.B
    if setting.noise == "paper":
        return (B + radius(setting, readings, gram, lams, delta)) * sigma
    rho = radius(setting, readings, gram, lams, delta / 2)
    # The drift tolerance is added under the root.
    bias = B * np.sqrt(var - np.sum(lams[:, None] * weights**2, axis=0) + 1e-6 * var)
    return np.minimum(math.sqrt(B**2 + rho**2) * sigma, bias + rho * sigma)


def radius(
    setting: Setting, readings: list[Reading], gram: np.ndarray, lams: np.ndarray, delta: float
) -> float:
    """rho: how far the noise reaches, in standard deviations."""
    if setting.gamma is not None:
        gain = setting.gamma(len(readings))
    else:
        scaled = gram / np.sqrt(np.outer(lams, lams))
        gain = 0.5 * np.linalg.slogdet(np.eye(len(lams)) + scaled)[1]
    ratios = [reading.noise_std / math.sqrt(reading.lam) for reading in readings]
    ratio = max(ratios, default=setting.noise_std / math.sqrt(setting.lam))
    return ratio * math.sqrt(2.0 * (gain + math.log(1.0 / delta)))


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
    """Holds changing state: raw readings, and the belief at every tick of its clock.

    The clock may begin late: the readings given at the start make one belief, the first.
    """

    def __init__(
        self, setting: Setting, C: float, delta: float, readings: Sequence[Reading] = ()
    ) -> None:
        self.setting = setting
        self.C = C
        self.delta = delta
        self.readings = list(readings)
        self.history = [believe(setting, self.readings, C, delta)]
        self._intersect()

    @property
    def now(self) -> Belief:
        """The current belief."""
        return self.history[-1]

    def learn(self, reading: Reading) -> None:
        """Add a reading and solve everything anew."""
        readings = [*self.readings, reading]
        self.tick(readings, believe(self.setting, readings, self.C, self.delta))

    def tick(self, readings: Sequence[Reading], belief: Belief) -> None:
        """Hold these readings, of which it held the first ones before, and the belief they lead to."""
        self.readings = list(readings)
        self.history.append(belief)
        self._intersect()

    def better_than(self, i: int) -> np.ndarray:
        """What f(x) - f(x_i) is at most, (n,): belief and width of the difference itself."""
        return difference(self.setting, self.readings, i, self.delta).upper(self.C, self.setting.cap)

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


def best_of(scores: np.ndarray, allowed: np.ndarray) -> int:
    """The best allowed candidate."""
    return int(np.argmax(np.where(allowed, scores, -np.inf)))


class Shared:
    """Holds changing state: every reading, believed at the corruption budgets of several levels.

    A level is an Instance of all readings whose clock begins when the level does.
    """

    def __init__(self, setting: Setting, delta: float) -> None:
        self.setting = setting
        self.delta = delta
        self.readings: list[Reading] = []
        self.levels: list[Instance] = []

    def begin(self, C: float) -> Instance:
        """One level more, from its current bounds on."""
        level = Instance(self.setting, C, self.delta, self.readings)
        self.levels.append(level)
        return level

    def learn(self, reading: Reading) -> None:
        """Add a reading to every level."""
        self.tick([*self.readings, reading])

    def tick(self, readings: Sequence[Reading]) -> None:
        """Let every level hold these readings, of which it held the first ones before."""
        self.readings = list(readings)
        budgets = [level.C for level in self.levels]
        beliefs = believe_at(self.setting, self.readings, budgets, self.delta)
        for level, belief in zip(self.levels, beliefs, strict=True):
            level.tick(readings, belief)


class Atom(NamedTuple):
    """One atom of a proposal; `scores` is what `index` maximises, -inf where not allowed."""

    index: int
    probability: float
    learner: str | None
    player: str
    scores: np.ndarray


@dataclass
class Play:
    """A round that was asked: which point, who learned and played, its lower bound at the choice."""

    index: int
    learner: str | None
    player: str
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
    instances: list[Instance] = field(default_factory=list)

    def interval(self, i: int) -> tuple[float, float] | None:
        """Cut at +-B0; None where the readings contradict the assumptions."""
        if self.is_refuted:
            return None
        return max(self.lower[i], -self.B0), min(self.upper[i], self.B0)

    def single(self, i: int) -> float | None:
        """max ucb_v - lcb_v(x_i), cut at +-B0; None where void."""
        if self.is_void:
            return None
        return max(0.0, min(self.upper.max(), self.B0) - max(self.lower[i], -self.B0))

    def certificate(self, i: int) -> float | None:
        """The same, point by point, or what an instance says of the difference, if that is less."""
        if self.is_void:
            return None
        better = np.minimum(self.upper, self.B0) - max(self.lower[i], -self.B0)
        for instance in self.instances:
            if instance.readings:
                better = np.minimum(better, instance.better_than(i))
        better[i] = 0.0
        return max(better.max(), 0.0)

    def hindsight(self) -> float | None:
        """The sum of the single certificates of all plays."""
        if self.is_void:
            return None
        return math.fsum(self.single(play.index) for play in self.plays)


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

    def after(self, learner: str | None) -> bool:
        """What follows an update; returns whether the assumptions are refuted."""
        raise NotImplementedError

    def learners(self, learner: str | None) -> Sequence[Instance | Shared]:
        """Who learns."""
        return [] if learner is None else [self.instances[learner]]

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
        i = atom.index if index is None else index
        belief = self.instances[atom.player].now
        self.plays.append(Play(i, atom.learner, atom.player, belief.mu[i] - belief.width[i]))
        self.learn(atom.learner, i, y, noise_std)

    def give(self, index: int, y: float, *, noise_std: float | None = None) -> None:
        """Take in a reading nobody asked for: a round in which only who learns is drawn."""
        self.learn(self.ask().learner, index, y, noise_std)

    def learn(self, learner: str | None, i: int, y: float, noise_std: float | None) -> None:
        """Let whoever is to learn in this round do so, and see what follows."""
        s = self.setting
        learners = self.learners(learner)
        if not learners:
            return
        own = s.noise_std if noise_std is None else noise_std
        lam = s.lam if noise_std is None else s.lam * (noise_std / s.noise_std) ** 2
        for instance in learners:
            instance.learn(Reading(i, y, lam, own))
        is_refuted = self.after(learner)
        if is_refuted and self.refuted is None:
            self.refuted = self.t

    def valid(self, labels: list[str]) -> Bounds:
        """The intersection of these instances' bounds."""
        s = self.setting
        upper = np.min([self.named(label).ucb_bar for label in labels], axis=0)
        lower = np.max([self.named(label).lcb_bar for label in labels], axis=0)
        is_crossed = np.any(np.maximum(lower, -s.B0) > np.minimum(upper, s.B0) + s.tolerance)
        is_refuted = bool(is_crossed) or self.refuted is not None
        is_void, instances = is_refuted or s.beta is not None, [self.named(label) for label in labels]
        return Bounds(upper, lower, s.B0, is_void, self.plays, is_refuted, instances)

    def named(self, label: str) -> Instance:
        """The instance of that name."""
        return self.instances[label]

    def is_crossing(self, labels: list[str]) -> bool:
        """Whether these instances' bounds together leave some candidate no value."""
        s = self.setting
        bounds = self.valid(labels)
        lower, upper = np.maximum(bounds.lower, -s.B0), np.minimum(bounds.upper, s.B0)
        return bool(np.any(lower > upper + s.tolerance))

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
        index = best_of(scores, np.ones(len(scores), dtype=bool))
        return [Atom(index, 1.0, "main", "main", scores)]

    def after(self, learner: str | None) -> bool:
        return self.instances["main"].is_crossed

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        return ["main"]


class FastSlow(Algorithm):
    """Algorithm 2; `share` and `trust` are its dials, 1 and 0 in the paper."""

    def __init__(
        self,
        setting: Setting,
        C: float,
        seed: int,
        alpha: float = 2.0,
        with_all: bool = False,
        share: float = 1.0,
        trust: float = 0.0,
    ) -> None:
        assert 0.0 < share <= 1.0
        assert 0.0 <= trust <= C
        super().__init__(setting, seed)
        self.alpha = alpha
        self.with_all = with_all
        self.p = min(1.0, share / C)
        delta = setting.delta / 5.0
        slow = C if self.p >= 1.0 else tail_budget(setting, C, self.p, delta)
        if share < 1.0:
            slow = min(C, slow)  # at share = 1 the paper's tail stands as printed, even above C
        self.instances = {
            "fast": Instance(setting, trust, delta),
            "slow": Instance(setting, slow, delta),
            "all": Instance(setting, C, delta),
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
            index = best_of(scores, np.ones(n, dtype=bool))
            return [Atom(index, 1.0, "all", "all", scores)]
        slow, fast = self.instances["slow"], self.instances["fast"]
        scores = slow.ucb(self.alpha)
        index = best_of(scores, np.ones(n, dtype=bool))
        atoms = [Atom(index, self.p, "slow", "slow", scores)]
        if self.p < 1.0:
            upper, lower = self.robust()
            scores = np.minimum(fast.ucb_bar, upper)
            index = best_of(scores, upper >= lower.max())
            atoms.append(Atom(index, 1.0 - self.p, "fast", "fast", scores))
        return atoms

    def learners(self, learner: str | None) -> Sequence[Instance | Shared]:
        return [self.instances[label] for label in dict.fromkeys([learner, "all"])]

    def after(self, learner: str | None) -> bool:
        _, lower = self.robust()
        if np.min(self.instances["fast"].ucb_bar - lower) < -self.setting.tolerance:
            self.detected = self.t if self.detected is None else self.detected
        return self.instances["slow"].is_crossed or self.instances["all"].is_crossed

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        return ["all"] if threat == "strong" else ["slow", "all"]


class Layered(Algorithm):
    """Algorithm 3, or with `with_all` the layers that share their readings.

    Then "all-l" holds every reading and allows for 2^l, whoever played. With `C` in place of `T` the
    layers share and end at the first level that covers C; C must exceed 2 (see `layered_for`).
    """

    def __init__(
        self,
        setting: Setting,
        T: int | None = None,
        seed: int | None = None,
        alpha: float = 2.0,
        with_all: bool = False,
        C: float | None = None,
    ) -> None:
        super().__init__(setting, seed)
        self.alpha = alpha
        self.with_all = with_all
        if C is None:
            assert T is not None
            self.n_layers = max(1, math.ceil(math.log2(T)))
        else:
            assert T is None
            assert with_all
            assert C > 2.0
            self.n_layers = math.ceil(math.log2(C))
        if with_all:
            share = setting.delta / (2.0 * (2.0 * self.n_layers + 1.0))
        else:
            share = setting.delta / (4.0 * (1.0 + math.log2(T)))
        self.share = share
        self.probabilities = [2.0**-level for level in range(1, self.n_layers + 1)]
        self.probabilities[0] += 1.0 - sum(self.probabilities)
        self.budgets = [2.0**level for level in range(1, self.n_layers + 1)]
        if C is not None:
            self.budgets[-1] = C
        self.labels = [f"layer-{level}" for level in range(1, self.n_layers + 1)]
        for label, total, p in zip(self.labels, self.budgets, self.probabilities, strict=True):
            budget = tail_budget(setting, total, p, share)
            if total == C:
                budget = min(C, budget)
            self.instances[label] = Instance(setting, budget, share)
        self.shared: Shared | None = None
        if with_all:
            self.shared = Shared(setting, share)
            for level, total in enumerate(self.budgets, start=1):
                self.instances[f"all-{level}"] = self.shared.begin(total)
        n = len(setting.K)
        self.maximisers = [np.ones(n, dtype=bool) for _ in range(self.n_layers)]

    def play(self, k: int, allowed: np.ndarray) -> tuple[int, np.ndarray]:
        """Layer k's choice among the allowed candidates."""
        layer = self.instances[self.labels[k]]
        scores = layer.ucb(self.alpha)
        return best_of(scores, allowed), np.where(allowed, scores, -np.inf)

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

    def learners(self, learner: str | None) -> Sequence[Instance | Shared]:
        layers = super().learners(learner)
        return layers if self.shared is None else [*layers, self.shared]

    def level_bounds(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Upper and lower bounds by which level k rules candidates out."""
        layer = self.instances[self.labels[k]]
        if not self.with_all:
            return layer.ucb_bar, layer.lcb_bar
        every = self.instances[f"all-{k + 1}"]
        return np.minimum(layer.ucb_bar, every.ucb_bar), np.maximum(layer.lcb_bar, every.lcb_bar)

    def after(self, learner: str | None) -> bool:
        levels = range(self.n_layers) if self.with_all else [self.labels.index(learner)]
        for k in levels:
            upper, lower = self.level_bounds(k)
            may_be_best = upper >= lower.max() - self.setting.tolerance
            self.maximisers[k] = self.maximisers[k] & may_be_best
            for i in range(k):
                self.maximisers[i] = self.maximisers[i] & self.maximisers[k]
        upper, lower = self.level_bounds(self.n_layers - 1)
        is_crossed = bool(np.any(lower > upper + self.setting.tolerance))
        return is_crossed or not self.maximisers[-1].any()

    def covering(self, C: float) -> int:
        """The lowest level, counted from 0, whose budget is at least C."""
        return min(k for k, budget in enumerate(self.budgets) if budget >= C)

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        if threat == "strong":
            layers = [label for label in self.labels if self.instances[label].C >= C]
            return [*layers, f"all-{self.covering(C) + 1}"] if self.with_all else layers
        if C is not None:
            return self.from_level(self.covering(C))
        for k in range(self.n_layers):
            if not self.is_crossing(self.from_level(k)):
                return self.from_level(k)
        return self.from_level(self.n_layers - 1)

    def from_level(self, k: int) -> list[str]:
        """What holds against a weak adversary if level k covers the corruption."""
        return [*self.labels[k:], f"all-{k + 1}"] if self.with_all else self.labels[k:]


def layered_for(setting: Setting, C: float, seed: int, alpha: float = 2.0) -> Algorithm:
    """The sharing layers for a known C: up to C = 2 there is one level, which is Algorithm 1."""
    if C <= 2.0:
        return OneInstance(setting, C)
    return Layered(setting, seed=seed, alpha=alpha, with_all=True, C=C)


def turn(t: int) -> int:
    """The level whose turn round t is: 1 2 1 3 1 2 1 4 ..., from t = 1."""
    level = 1
    while t % 2 == 0:
        t //= 2
        level += 1
    return level


class Ladder(Algorithm):
    """One posterior of all readings, read at the budgets unit * 2^l; the levels play in turn.

    A turn is a round that was asked for: a reading nobody asked for takes none.
    """

    def __init__(self, setting: Setting, unit: float) -> None:
        assert math.isfinite(setting.cap)
        super().__init__(setting)
        self.unit = unit
        self.n_asked = 0
        self.shared = Shared(setting, setting.delta)
        self.maximisers: list[np.ndarray] = []

    def budget(self, level: int) -> float:
        """What a level, from 1, allows for."""
        return self.unit * 2.0**level

    def begin(self) -> None:
        """The next level begins, with every candidate and its current bounds."""
        level = len(self.maximisers) + 1
        self.instances[f"level-{level}"] = self.shared.begin(self.budget(level))
        self.maximisers.append(np.ones(len(self.setting.K), dtype=bool))

    def ask(self) -> Atom:
        self.n_asked += 1
        while len(self.maximisers) < turn(self.n_asked):
            self.begin()
        if self.refuted is None and not any(among.any() for among in self.maximisers):
            self.begin()
        return super().ask()

    def atoms(self) -> list[Atom]:
        top = len(self.maximisers)
        non_empty = [
            level for level in range(turn(self.n_asked), top + 1) if self.maximisers[level - 1].any()
        ]
        if non_empty:
            level = non_empty[0]
            allowed = self.maximisers[level - 1]
        else:  # refuted
            level = top
            allowed = np.ones(len(self.setting.K), dtype=bool)
        player = self.instances[f"level-{level}"]
        scores = player.ucb(1.0)
        index = best_of(scores, allowed)
        return [Atom(index, 1.0, "main", f"level-{level}", np.where(allowed, scores, -np.inf))]

    def give(self, index: int, y: float, *, noise_std: float | None = None) -> None:
        self.t += 1
        self.learn("main", index, y, noise_std)

    def learners(self, learner: str | None) -> Sequence[Instance | Shared]:
        return [self.shared]

    def after(self, learner: str | None) -> bool:
        for k, level in enumerate(self.shared.levels):
            may_be_best = level.ucb_bar >= level.lcb_bar.max() - self.setting.tolerance
            self.maximisers[k] = self.maximisers[k] & may_be_best
        # A level that allows for a lie of c_max in every reading covers whatever was told.
        level = self.covering(self.setting.cap * len(self.shared.readings))
        return self.is_crossing([f"level-{level}"])

    def covering(self, C: float) -> int:
        """The lowest level, from 1, whose budget is at least C."""
        level = 1
        while self.budget(level) < C:
            level += 1
        return level

    def named(self, label: str) -> Instance:
        """The level of that name; one that has not begun as if it began now."""
        if label in self.instances:
            return self.instances[label]
        level = int(label.removeprefix("level-"))
        return Instance(self.setting, self.budget(level), self.setting.delta, self.shared.readings)

    def trusted(self, threat: str, C: float | None = None) -> list[str]:
        most = self.setting.cap * len(self.shared.readings)  # no more can be in the readings
        if C is not None:
            return [f"level-{self.covering(min(C, most))}"]
        level = 1  # the lowest level that the readings are consistent with
        while level < self.covering(most) and self.is_crossing([f"level-{level}"]):
            level += 1
        return [f"level-{level}"]

    def best_when_chosen(self, labels: list[str]) -> int:
        lowest = int(labels[0].removeprefix("level-"))
        plays = [play for play in self.plays if int(play.player.removeprefix("level-")) >= lowest]
        return max(plays, key=lambda play: play.lcb).index


def ladder_theorem(
    setting: Setting, unit: float, C: float, T: int, gamma: float, gamma_before: float
) -> float:
    """The ladder's bound on the regret of T rounds, if the corruption is C; lam = 1.

    2 sqrt(4 gamma_T) sqrt(sum_{l > l*} N_l a_l^2 + (N_{l*} (2^{l*} - 1)^2 + sum_{l < l*} N_l) a_{l*}^2)
    + 2 B0 (2^{l*-1} - 1), with a_l = b + sqrt(b_l min(b_l, c_max)) and N_l = floor(T/2^l + 1/2).
    `gamma` is the gain of T readings, `gamma_before` that of T - 1.
    """
    assert setting.lam == 1.0
    delta = setting.delta / 2.0 if setting.noise == "tight" else setting.delta
    b = setting.B + setting.noise_std * math.sqrt(2.0 * (gamma_before + math.log(1.0 / delta)))

    def a(level: int) -> float:
        budget = unit * 2.0**level
        return b + math.sqrt(budget * min(budget, setting.cap))

    robust = 1
    while unit * 2.0**robust < C:
        robust += 1
    total = 0.0
    level = 1
    while 2 ** (level - 1) <= T:
        n_rounds = math.floor(T / 2**level + 0.5)
        if level > robust:
            total += n_rounds * a(level) ** 2
        elif level == robust:
            total += n_rounds * (2**robust - 1) ** 2 * a(robust) ** 2
        else:
            total += n_rounds * a(robust) ** 2
        level += 1
    value = 2.0 * math.sqrt(4.0 * gamma) * math.sqrt(total)
    return value + 2.0 * setting.B0 * (2.0 ** (robust - 1) - 1.0)
