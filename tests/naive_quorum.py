"""Counted lies once more, naively: dense solves on raw readings, sets of lies one by one.

Nothing here is clever and nothing comes from the library: a kernel matrix K of all candidates is handed
in. A hand is believed anew from the list of its readings whenever somebody looks.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

import naive

N_ROUNDS = 3
GAIN = 1e-3
KAPPA = 3.0
DRIFT = 1e-6
MULTIPLES = (0.25, 1.0, 10.0, 40.0)
THETAS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)


class Told(NamedTuple):
    """A raw reading: round, candidate, value, its noise_std over the assumed one, who got it."""

    t: int
    index: int
    y: float
    quality: float
    hand: int


@dataclass(frozen=True)
class Setting:
    """Everything that QuorumGPUCB is given, in the letters of SPEC 17."""

    K: np.ndarray
    B: float
    B0: float
    noise_std: float
    lam: float
    delta: float
    n_lies: int
    noise: str = "energy"

    @property
    def n_hands(self) -> int:
        """m = 2k + 1."""
        return 2 * self.n_lies + 1

    @property
    def tolerance(self) -> float:
        """Slack in decisions."""
        return 1e-9 * max(1.0, self.B)

    @property
    def etas(self) -> list[float]:
        """The fictitious noises of the energy form."""
        return [multiple * self.noise_std**2 for multiple in MULTIPLES] if self.noise_std else [self.lam]

    def level(self, t: int, quality: float) -> float:
        """r_t, at a quarter of delta."""
        return quality * level(self.noise_std, t, self.delta / 4)


def energy(noise_std: float, n: int, delta: float) -> float:
    """E^2 of n readings."""
    return min(
        noise_std**2 * (2 * math.log(6 / delta) - n * math.log(1 - theta)) / theta for theta in THETAS
    )


def level(noise_std: float, i: int, delta: float) -> float:
    """r_i."""
    return noise_std * math.sqrt(2 * math.log(math.pi**2 * i**2 / (3 * delta)))


class Solved(NamedTuple):
    """Mean and sd at every candidate and q, from raw readings at one fictitious noise."""

    mu: np.ndarray
    sigma: np.ndarray
    q: float


def solve(K: np.ndarray, index: list[int], y: list[float], eta: np.ndarray) -> Solved:
    """A dense solve."""
    if not index:
        return Solved(np.zeros(len(K)), np.sqrt(np.diag(K)), 0.0)
    system, k = K[np.ix_(index, index)] + np.diag(eta), K[index]
    weights, told = np.linalg.solve(system, k), np.array(y)
    var = np.diag(K) - np.sum(k * weights, axis=0)
    return Solved(weights.T @ told, np.sqrt(var), float(told @ np.linalg.solve(system, told)))


def energy_bounds(s: Setting, readings: list[Told], delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower bounds by 17b, the best over the fictitious noises; a drift is allowed for."""
    limit, uppers, lowers = energy(s.noise_std, len(readings), delta), [], []
    quality2 = np.array([one.quality**2 for one in readings])
    for eta in s.etas:
        found = solve(s.K, [one.index for one in readings], [one.y for one in readings], eta * quality2)
        radius2 = s.B**2 + limit / eta - found.q * (1 - DRIFT)
        if radius2 < 0:
            n = len(s.K)
            return np.full(n, -np.inf), np.full(n, np.inf)
        width = math.sqrt(radius2 * (1 + DRIFT)) * found.sigma
        uppers.append(found.mu + width)
        lowers.append(found.mu - width)
    return np.min(uppers, axis=0), np.max(lowers, axis=0)


def honest(s: Setting, readings: list[Told], share: float, noise: str) -> tuple[naive.Belief, float]:
    """Belief with the width of section 3, and the share of delta that is left for the energy."""
    share_of_event = {"energy": share / 3, "tight": share / 2, "paper": share}[noise]
    kind = "paper" if noise == "paper" else "tight"
    setting = naive.Setting(s.K, s.B, s.B0, s.noise_std, s.lam, s.delta, noise=kind)
    raw = [
        naive.Reading(one.index, one.y, s.lam * one.quality**2, s.noise_std * one.quality)
        for one in readings
    ]
    own = share_of_event if noise == "paper" else 2 * share_of_event  # it takes half for each of two
    return naive.believe(setting, raw, 0.0, own), share_of_event


def kth(values: list[np.ndarray], k: int) -> np.ndarray:
    """The (k+1)-th smallest at each candidate."""
    return np.sort(np.array(values), axis=0)[k]


@dataclass
class Hand:
    """Holds changing state: its readings as it heard them, and its bounds over time."""

    setting: Setting
    readings: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.current()
        self.first = first
        self.ucb_bar, self.lcb_bar = first
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @property
    def belief(self) -> naive.Belief:
        """With the width of section 3."""
        s = self.setting
        return honest(s, self.readings, s.delta / 4 / s.n_hands, s.noise)[0]

    def current(self) -> tuple[np.ndarray, np.ndarray]:
        """Upper and lower bounds by the readings now."""
        s = self.setting
        belief, share = honest(s, self.readings, s.delta / 4 / s.n_hands, s.noise)
        upper, lower = belief.mu + belief.noise, belief.mu - belief.noise
        if s.noise == "energy":
            high, low = energy_bounds(s, self.readings, share)
            upper, lower = np.minimum(upper, high), np.maximum(lower, low)
        return upper, lower

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The same, never wider than before any reading."""
        n = len(self.readings)
        if n not in self._known:
            upper, lower = self.current()
            self._known[n] = np.minimum(upper, self.first[0]), np.maximum(lower, self.first[1])
        return self._known[n]

    def settle(self) -> None:
        """Intersect over time."""
        upper, lower = self.bounds()
        self.ucb_bar, self.lcb_bar = np.minimum(self.ucb_bar, upper), np.maximum(self.lcb_bar, lower)


class Quorum:
    """Holds changing state: hands, found lies, bounds over time."""

    def __init__(self, setting: Setting, seed: int, retracted: frozenset[int] = frozenset()) -> None:
        self.setting = s = setting
        self.seed = seed
        self.retracted = retracted
        self.told: list[Told] = []
        self.hands = [Hand(s) for _ in range(s.n_hands)]
        n = len(s.K)
        self.upper_bar, self.lower_bar = np.full(n, s.B0), np.full(n, -s.B0)
        self.mu = np.zeros(n)
        self.found: set[int] = set()
        self.is_refuted = False
        self.is_behind = False
        self._look()

    # --- learning ---

    def drawn(self, t: int) -> int:
        """The hand of a reading that nobody asked for."""
        u = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(t,))).random()
        return min(int(u * self.setting.n_hands), self.setting.n_hands - 1)

    def learn(self, t: int, index: int, y: float, quality: float, hand: int) -> None:
        """Take in the reading of round t."""
        self._take(Told(t, index, y, quality, hand))
        self._conclude_if_complete()

    def learn_all(self, readings: list[Told]) -> None:
        """Take in a history: what follows from it follows at the end."""
        for one in readings:
            self._take(one)
        self._conclude_if_complete()

    def _take(self, one: Told) -> None:
        s = self.setting
        limit = s.B0 + s.level(one.t, one.quality)
        self.told.append(one)
        self.hands[one.hand].readings.append(one._replace(y=min(max(one.y, -limit), limit)))
        self._look()

    def without(self, t: int) -> "Quorum":
        """As if the reading of round t had never been told."""
        other = Quorum(self.setting, self.seed, self.retracted | {t})
        for one in self.told:
            if one.t != t:
                other.learn(*one)
        return other

    def _look(self) -> None:
        k, bounds = self.setting.n_lies, [hand.bounds() for hand in self.hands]
        self.upper = kth([upper for upper, _ in bounds], k)
        self.lower = -kth([-lower for _, lower in bounds], k)

    def _conclude_if_complete(self) -> None:
        """Conclude, if every round up to the last one told is told or was retracted."""
        told = {one.t for one in self.told}
        self.is_behind = not set(range(1, max(told) + 1)) <= told | self.retracted
        if not self.is_behind:
            for hand in self.hands:
                hand.settle()
            self._conclude()

    def _conclude(self) -> None:
        s, k = self.setting, self.setting.n_lies
        self._intersect(
            kth([hand.ucb_bar for hand in self.hands], k),
            -kth([-hand.lcb_bar for hand in self.hands], k),
        )
        if self._is_crossed():
            return
        for _ in range(N_ROUNDS):
            before = self.upper_bar - self.lower_bar
            for j, one in enumerate(self.told):
                low, high = self._allowed(one)
                if one.y < low - s.tolerance or one.y > high + s.tolerance:
                    self.found.add(j)
            if len(self.found) > k:
                self.is_refuted = True
                return
            allowed = [self._allowed(one) for one in self.told]
            if self.found:
                self._by_repaired_hands(allowed)
            self._by_all(allowed)
            if self._is_crossed():
                return
            if np.max(before - (self.upper_bar - self.lower_bar)) < GAIN * s.B0:
                return

    def _allowed(self, one: Told) -> tuple[float, float]:
        """[a_i, b_i]."""
        r = self.setting.level(one.t, one.quality)
        return self.lower_bar[one.index] - r, self.upper_bar[one.index] + r

    def _is_crossed(self) -> bool:
        self.is_refuted |= bool(np.any(self.lower_bar - self.upper_bar > self.setting.tolerance))
        return self.is_refuted

    def _intersect(self, upper: np.ndarray, lower: np.ndarray) -> None:
        self.upper_bar = np.minimum(self.upper_bar, upper)
        self.lower_bar = np.maximum(self.lower_bar, lower)

    def _tighten(self, upper: np.ndarray, lower: np.ndarray) -> None:
        self.upper, self.lower = np.minimum(self.upper, upper), np.maximum(self.lower, lower)
        self._intersect(upper, lower)

    def _mean(
        self, mine: list[int], allowed: list[tuple[float, float]], heard: list[float]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean of these readings, found lies at the middle; what these cost; the weights, (mine, n)."""
        s = self.setting
        index = [self.told[j].index for j in mine]
        lams = np.array([s.lam * self.told[j].quality ** 2 for j in mine])
        weights = np.linalg.solve(s.K[np.ix_(index, index)] + np.diag(lams), s.K[index])
        y = [sum(allowed[j]) / 2 if j in self.found else heard[a] for a, j in enumerate(mine)]
        cost = np.zeros(len(s.K))
        for a, j in enumerate(mine):
            if j in self.found:
                cost += np.abs(weights[a]) * (allowed[j][1] - allowed[j][0]) / 2
        return weights.T @ np.array(y), cost, weights

    def _by_repaired_hands(self, allowed: list[tuple[float, float]]) -> None:
        """17c: over all hands, those with a found lie repaired, and over those without one."""
        left = self.setting.n_lies - len(self.found)
        uppers, lowers, clean = [], [], []
        for g, hand in enumerate(self.hands):
            mine = [j for j, one in enumerate(self.told) if one.hand == g]
            upper, lower = hand.bounds()
            if self.found & set(mine):
                mu, cost, _ = self._mean(mine, allowed, [one.y for one in hand.readings])
                noise = hand.belief.noise
                upper, lower = mu + noise + cost, mu - noise - cost
            else:
                clean.append(g)
            uppers.append(upper)
            lowers.append(lower)
        self._tighten(kth(uppers, left), -kth([-lower for lower in lowers], left))
        if len(clean) > left:
            self._tighten(kth([uppers[g] for g in clean], left), -kth([-lowers[g] for g in clean], left))

    def _by_all(self, allowed: list[tuple[float, float]]) -> None:
        """17c: one posterior of all readings; of those not found the k - F worst may be lies."""
        s, every = self.setting, list(range(len(self.told)))
        left = s.n_lies - len(self.found)
        self.mu, cost, weights = self._mean(every, allowed, [one.y for one in self.told])
        noise = self.every().noise
        above, below = cost.copy(), cost.copy()
        for x in range(len(s.K)):
            ups, downs = [], []
            for j in every:
                if j not in self.found:
                    w, y, (low, high) = weights[j, x], self.told[j].y, allowed[j]
                    ups.append(w * (high - y) if w > 0 else -w * (y - low))
                    downs.append(w * (y - low) if w > 0 else -w * (high - y))
            above[x] += sum(sorted(ups, reverse=True)[:left])
            below[x] += sum(sorted(downs, reverse=True)[:left])
        self._tighten(self.mu + noise + above, self.mu - noise - below)

    def every(self) -> naive.Belief:
        """All readings, as they were told."""
        s = self.setting
        return honest(s, self.told, s.delta / 4, "paper" if s.noise == "paper" else "tight")[0]

    def left_out(self) -> "LeftOut":
        """Every few of the readings left out in turn: two events with a quarter of delta each."""
        s, told = self.setting, self.told
        return LeftOut(
            s,
            [one.index for one in told],
            [one.y for one in told],
            [one.quality for one in told],
            energy(s.noise_std, max(one.t for one in told), s.delta / 4),
            [s.level(one.t, one.quality) for one in told],
        )

    # --- playing ---

    def scores(self, pending: list[int]) -> np.ndarray:
        """u, -inf where it is ruled out; with points under way its distance from the mean shrinks."""
        s, upper = self.setting, self.upper
        if self.is_refuted:
            upper = self.every().mu + self.every().noise
        if pending:
            mu = np.zeros(len(s.K)) if self.is_behind else self.mu
            index = [one.index for one in self.told]
            lams = [s.lam * one.quality**2 for one in self.told]
            now = solve(s.K, index, [0.0] * len(index), np.array(lams)).sigma
            later = solve(
                s.K,
                index + pending,
                [0.0] * len(index + pending),
                np.array(lams + [s.lam] * len(pending)),
            ).sigma
            upper = mu + later / now * (upper - mu)
        if self.is_refuted:
            return upper
        return np.where(self.upper_bar >= self.lower_bar.max() - s.tolerance, upper, -np.inf)

    def uppers(self, index: int) -> list[float]:
        """U_g at a candidate."""
        return [float(hand.bounds()[0][index]) for hand in self.hands]

    def sigmas(self, index: int) -> list[float]:
        """The hands' sd at a candidate."""
        return [float(hand.belief.sigma[index]) for hand in self.hands]

    def dealt(self, index: int) -> int:
        """Who gets the reading: the binding hand, or the one that knows least if it knows much more."""
        U, sigma = self.uppers(index), self.sigmas(index)
        order = sorted(range(len(U)), key=lambda g: (U[g], -len(self.hands[g].readings), g))
        g = order[self.setting.n_lies]
        return g if KAPPA * sigma[g] >= max(sigma) else sigma.index(max(sigma))


# --- 17d: leaving out ---------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOut:
    """Readings of candidates, every set of k of them left out in turn."""

    setting: Setting
    index: list[int]
    y: list[float]
    quality: list[float]
    limit: float
    """E^2."""
    levels: list[float]

    @property
    def n(self) -> int:
        """How many readings there are."""
        return len(self.y)

    def rest(self, S: tuple[int, ...]) -> "LeftOut":
        """The readings outside of S."""
        keep = [i for i in range(self.n) if i not in S]
        index, y, quality, levels = (
            [values[i] for i in keep] for values in (self.index, self.y, self.quality, self.levels)
        )
        return replace(self, index=index, y=y, quality=quality, levels=levels)

    def ellipsoids(self) -> tuple[np.ndarray, np.ndarray] | None:
        """What they say of f if none is a lie, upper and lower; None where a radius says one is."""
        s, uppers, lowers = self.setting, [], []
        k_max = np.diag(s.K)
        for eta in s.etas:
            found = solve(s.K, self.index, self.y, eta * np.array(self.quality) ** 2)
            radius2 = s.B**2 + self.limit / eta - found.q * (1 - DRIFT)
            if radius2 < 0:
                return None
            width = math.sqrt(radius2) * np.sqrt(found.sigma**2 + DRIFT * k_max)
            uppers.append(found.mu + width)
            lowers.append(found.mu - width)
        return np.min(uppers, axis=0), np.max(lowers, axis=0)

    def without(self, S: tuple[int, ...], ignored: tuple[int, ...] = ()) -> tuple | None:
        """The bounds without S; None if S is refuted, points of readings ignored not looked at."""
        s, rest = self.setting, self.rest(S)
        found = rest.ellipsoids()
        if found is None:
            return None
        upper, lower = np.minimum(found[0], s.B0), np.maximum(found[1], -s.B0)
        for i in range(self.n):
            if i not in ignored and lower[self.index[i]] > upper[self.index[i]] + s.tolerance:
                return None
        for i, y, r in zip(rest.index, rest.y, rest.levels, strict=True):
            if y > upper[i] + r + s.tolerance or y < lower[i] - r - s.tolerance:
                return None
        return found

    def certain(self, k: int) -> set[int] | None:
        """Beyond B0 + r_i, or in every set of k that no radius refutes; None: there is no such set."""
        s = self.setting
        gross = {i for i in range(self.n) if abs(self.y[i]) > s.B0 + self.levels[i] + s.tolerance}
        if k >= self.n:
            return gross
        left = [
            set(S)
            for S in combinations(range(self.n), k)
            if gross <= set(S) and self.rest(S).ellipsoids() is not None
        ]
        return set.intersection(*left) if left else None

    def interval(self, x: int, k: int, ignored: tuple[int, ...] = ()) -> tuple[float, float] | None:
        """What f can be at candidate x with at most k lies; None: there must be more."""
        s = self.setting
        if k >= self.n:
            return -s.B0, s.B0
        sets = [S for S in combinations(range(self.n), k) if set(ignored) <= set(S)]
        possible = [bounds for S in sets if (bounds := self.without(S, ignored)) is not None]
        found = [  # those that leave f a value at x, too
            (upper, lower)
            for upper, lower in possible
            if max(lower[x], -s.B0) <= min(upper[x], s.B0) + s.tolerance
        ]
        if not found:
            return None
        upper, lower = max(one[0][x] for one in found), min(one[1][x] for one in found)
        return max(lower, -s.B0), min(upper, s.B0)

    def better(self, rec: int, k: int, ignored: tuple[int, ...] = ()) -> float | None:
        """By how much f can be higher at a candidate than at rec, with at most k lies."""
        s, n = self.setting, len(self.setting.K)
        if k >= self.n:
            return 2 * s.B0
        most = None
        for S in combinations(range(self.n), k):
            bounds = self.without(S, ignored) if set(ignored) <= set(S) else None
            if bounds is None:
                continue
            upper, lower = np.minimum(bounds[0], s.B0), np.maximum(bounds[1], -s.B0)
            if lower[rec] > upper[rec] + s.tolerance:
                continue
            rest = self.rest(S)
            for x in range(n):
                found = min(rest.difference(x, rec), upper[x] - lower[rec])
                most = max(found, 0.0 if most is None else most)
        return most

    def difference(self, x: int, rec: int) -> float:
        """f(x) - f(rec) at most, if no reading is a lie; f is a vector here, and l is x - rec."""
        s, found = self.setting, []
        toward = np.eye(len(s.K))[x] - np.eye(len(s.K))[rec]
        for eta in s.etas:
            rows = np.eye(len(s.K))[self.index]
            inverse = np.linalg.inv(rows @ s.K @ rows.T + eta * np.diag(np.square(self.quality)))
            gain = s.K @ rows.T @ inverse
            mean, cov = gain @ np.array(self.y), s.K - gain @ rows @ s.K
            q = float(np.array(self.y) @ inverse @ np.array(self.y))
            radius2 = s.B**2 + self.limit / eta - q * (1 - DRIFT)
            var = toward @ cov @ toward + DRIFT * (s.K[x, x] + s.K[rec, rec])
            found.append(float(toward @ mean) + math.sqrt(max(radius2, 0.0) * max(var, 0.0)))
        return min(found)
