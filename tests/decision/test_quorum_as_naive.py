"""QuorumGPUCB against the naive double of `naive_quorum.py`, query by query and bound by bound."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

import naive_quorum as naive
import unbribable as ub
from games import random_function
from unbribable.decision.proposal import Reading

TIE = 1e-9
"""Two values closer than that in the naive algorithm may be told apart by rounding alone."""

ARENAS = {
    "se-1d": (ub.SquaredExponential(0.2), 1, 14),
    "matern-2d": (ub.Matern(2.5, 0.5), 2, 16),
    "linear-2d": (ub.Linear(1.5), 2, 12),
}


@dataclass(frozen=True)
class Case:
    """One comparison. Sizes of lies are shares of B0."""

    arena: str
    n_lies: int
    T: int = 100
    lies: tuple[tuple[int, float], ...] = ()
    """(round, what is told beyond the honest value)."""
    noise: str = "energy"
    noise_std: float = 0.1
    lam: float = 0.05
    n_pending: int = 0
    foreign: int = 0
    """Every so many rounds a point is read that nobody asked for."""
    own_noise: bool = False
    retract: tuple[int, int] | None = None
    """(after this round, that one)."""
    assumed: float = 1.0
    """B over the norm of f."""
    expects: frozenset[str] = frozenset()
    seed: int = 0


@dataclass
class Trace:
    """What happened on the way."""

    events: set[str] = field(default_factory=set)
    n_ties: int = 0


def close(actual: object, expected: object) -> None:
    """Equal up to the rounding of two different orders of operations."""
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8)


@dataclass
class Pair:
    """Holds changing state: both algorithms, and what is under way."""

    case: Case
    rng: np.random.Generator
    f: np.ndarray
    X: np.ndarray
    fast: ub.QuorumGPUCB
    slow: naive.Quorum
    trace: Trace
    pending: list[tuple[ub.Query, int]] = field(default_factory=list)

    @classmethod
    def of(cls, case: Case) -> "Pair":
        """In round 0."""
        kernel, d, n = ARENAS[case.arena]
        rng = np.random.default_rng([case.seed, d, n])
        X = rng.uniform(-1.0, 1.0, (n, d))
        f = random_function(kernel, X, rng, 1.0)
        B, B0 = case.assumed, float(np.abs(f).max())
        numbers = {"B": B, "B0": B0, "noise_std": case.noise_std, "lam": case.lam, "delta": 0.1}
        known = ub.Assumptions(kernel, **numbers)
        fast = ub.QuorumGPUCB(ub.Grid(X), known, n_lies=case.n_lies, seed=case.seed, noise=case.noise)
        setting = naive.Setting(kernel(X, X), **numbers, n_lies=case.n_lies, noise=case.noise)
        return cls(case, rng, f, X, fast, naive.Quorum(setting, case.seed), Trace())

    def ask(self) -> None:
        """One query, which is compared; the naive algorithm follows where only rounding decides."""
        scores = self.slow.scores([query.index for query, _ in self.pending])
        query = self.fast.ask()
        index, best = query.index, int(np.argmax(scores))
        if index != best:
            assert scores[best] - scores[index] < TIE
            self.trace.n_ties += 1
        hand = int(query.instance.removeprefix("hand-")) - 1
        if hand != self.slow.dealt(index):
            U, sigma = np.array(self.slow.uppers(index)), np.array(self.slow.sigmas(index))
            binding = np.sort(U)[self.slow.setting.n_lies]
            is_tie = abs(U[hand] - binding) < TIE and abs(U[self.slow.dealt(index)] - binding) < TIE
            assert is_tie or sigma.max() - sigma[hand] < TIE
            self.trace.n_ties += 1
        belief = self.slow.every() if self.slow.is_refuted else self.slow.hands[hand].belief
        close(
            (query.mu, query.sigma, query.width, query.ucb),
            (belief.mu[index], belief.sigma[index], belief.width[index], scores[index]),
        )
        self.pending.append((query, hand))
        self.trace.events |= {"ruled-out"} if np.isneginf(scores).any() else set()

    def told(self, t: int, index: int) -> tuple[float, float | None, float]:
        """Of round t: the value, the noise_std of its own if any, and that over the assumed one."""
        quality = float(self.rng.choice([0.5, 1.0, 2.0])) if self.case.own_noise else 1.0
        std = self.case.noise_std * quality
        y = float(self.f[index] + std * self.rng.standard_normal())
        y += dict(self.case.lies).get(t, 0.0) * self.fast.assumptions.B0
        return y, std if self.case.own_noise else None, quality

    def tell(self, place: int) -> None:
        """The reading of a query under way."""
        query, hand = self.pending.pop(place)
        y, own, quality = self.told(query.t, query.index)
        self.fast.tell(query, y, noise_std=own)
        self.slow.learn(query.t, query.index, y, quality, hand)

    def give(self) -> None:
        """A reading of a point that nobody asked for."""
        t, index = self.fast.t + 1, int(self.rng.integers(len(self.X)))
        y, own, quality = self.told(t, index)
        self.fast.tell(x=self.X[index], y=y, noise_std=own)
        self.slow.learn(t, index, y, quality, self.slow.drawn(t))

    def retract(self, t: int) -> None:
        """Take back a reading."""
        self.fast.retract(t, unrelated_to_value=True)
        self.slow = self.slow.without(t)

    def compare(self) -> None:
        """Every bound."""
        fast, slow = self.fast.policy.counted, self.slow
        told = [reading.t for reading in self.fast.readings]
        assert [told[j] for j in fast.found] == [slow.told[j].t for j in sorted(slow.found)]
        assert fast.is_refuted == slow.is_refuted == (self.fast.refuted is not None)
        assert len(fast.found) <= fast.n_lies or fast.is_refuted
        close(fast.upper, slow.upper)
        close(fast.lower, slow.lower)
        close(fast.ucb_bar, slow.upper_bar)
        close(fast.lcb_bar, slow.lower_bar)
        for g, hand in enumerate(slow.hands):
            instance = self.fast.instances[f"hand-{g + 1}"]
            close(instance.ucb_bar, hand.ucb_bar)
            close(instance.lcb_bar, hand.lcb_bar)
        bounds = self.fast.bounds()
        assert (bounds is None) == fast.is_refuted
        if bounds is not None:
            close(bounds, (slow.lower_bar, slow.upper_bar))
        self.trace.events |= {"found"} if len(fast.found) else set()
        self.trace.events |= {"found-all"} if len(fast.found) == fast.n_lies > 0 else set()
        self.trace.events |= {"refuted"} if fast.is_refuted else set()
        self.trace.events |= {"behind"} if slow.is_behind else set()
        is_spoilt = any(np.isneginf(hand.ucb_bar).any() for hand in slow.hands)
        self.trace.events |= {"spoilt"} if is_spoilt else set()

    def compare_recommendation(self) -> None:
        """The point with the largest lower bound, and its interval, by leaving out besides."""
        best, slow = self.fast.recommend(), self.slow
        if slow.is_refuted:
            assert best.lower is None
            return
        assert slow.lower_bar[best.index] > slow.lower_bar.max() - TIE
        lower, upper = slow.lower_bar[best.index], slow.upper_bar[best.index]
        if slow.setting.n_lies < 2:
            left_out = slow.left_out()
            ignored = tuple(left_out.certain(slow.setting.n_lies))
            found = left_out.interval(best.index, slow.setting.n_lies, ignored)
            close((best.lower, best.upper), (max(lower, found[0]), min(upper, found[1])))
        else:
            assert lower - 1e-9 <= best.lower <= best.upper <= upper + 1e-9


def play(case: Case) -> Trace:
    """Both algorithms through the same rounds, and the rest of what was under way at the end."""
    pair = Pair.of(case)
    while pair.fast.t < case.T:
        if case.foreign and (pair.fast.t + 1) % case.foreign == 0:
            pair.give()
        else:
            pair.ask()
        if len(pair.pending) > case.n_pending:
            pair.tell(int(pair.rng.integers(len(pair.pending))))
        if case.retract is not None and pair.fast.t == case.retract[0]:
            pair.retract(case.retract[1])
            case = Case(**{**vars(case), "retract": None})
        if pair.fast.t % 5 == 0 or pair.fast.t < 8:
            pair.compare()
    while pair.pending:
        pair.tell(-1)
    pair.compare()
    pair.compare_recommendation()
    assert case.expects <= pair.trace.events, pair.trace.events
    return pair.trace


GROSS = ((6, 30.0), (11, -1e6), (23, 4.0))
QUIET = ((3, 0.9), (9, -1.1), (14, 1.3))

SHORT = Case(
    "se-1d",
    1,
    T=24,
    lies=((7, -30.0),),
    n_pending=1,
    foreign=7,
    own_noise=True,
    retract=(16, 4),
    expects=frozenset({"found-all", "ruled-out", "behind"}),
)

LONG = [
    Case("se-1d", 0, foreign=9, n_pending=2),
    Case("matern-2d", 0, noise="tight", own_noise=True),
    Case("linear-2d", 0, lies=((9, 9.0),), expects=frozenset({"refuted"})),
    Case("se-1d", 1, lies=GROSS[:1], expects=frozenset({"found-all"})),
    Case("se-1d", 1, lies=QUIET[:1], n_pending=3, retract=(50, 20)),
    Case("matern-2d", 1, lies=GROSS[:2], expects=frozenset({"refuted"})),
    Case("linear-2d", 1, lies=QUIET[1:2], noise="paper", foreign=4),
    Case("se-1d", 3, lies=GROSS, n_pending=4, foreign=6, own_noise=True, expects=frozenset({"found"})),
    Case("matern-2d", 3, lies=QUIET, noise="tight", n_pending=2, retract=(60, 9)),
    Case("linear-2d", 3, lies=(*GROSS[:2], QUIET[2]), own_noise=True, retract=(70, 6)),
    Case("linear-2d", 3, lies=GROSS, noise_std=0.02, expects=frozenset({"found-all", "ruled-out"})),
    Case("se-1d", 1, noise_std=0.0, lies=QUIET[:1], expects=frozenset({"found-all"})),
    Case("linear-2d", 1, assumed=0.3, expects=frozenset({"refuted"})),
]


@pytest.fixture(autouse=True)
def _refutations_are_compared_not_raised() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        yield


def test_the_naive_double_agrees_query_by_query() -> None:
    assert play(SHORT).n_ties <= 2


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=lambda case: f"{case.arena}-{case.n_lies}-{case.noise}")
def test_the_naive_double_agrees_over_a_hundred_rounds(case: Case) -> None:
    assert play(case).n_ties <= 5


@pytest.mark.parametrize("n_lies", [0, 2])
def test_the_naive_double_agrees_on_a_history_learned_at_once(n_lies: int) -> None:
    """What is played next is what the readings say, not what was known before them."""
    pair = Pair.of(Case("se-1d", n_lies, lies=((5, 40.0),) if n_lies else ()))
    told = []
    for t in range(1, 19):
        index = int(pair.rng.integers(len(pair.X)))
        told.append(naive.Told(t, index, pair.told(t, index)[0], 1.0, pair.slow.drawn(t)))
    lam = pair.fast.assumptions.lam
    pair.fast.learn(
        [Reading(one.t, pair.X[one.index], one.y, None, "", lam, None, "user") for one in told]
    )
    pair.slow.learn_all(told)
    pair.compare()
    pair.ask()
    assert pair.trace.n_ties == 0
