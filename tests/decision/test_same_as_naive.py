"""The fast algorithms against the naive ones of `naive.py`, query by query: 80 rounds, or 100 (long)."""

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import naive
import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.theory import compiled

N_FEW = 80
N_MANY = 100
TIE = 1e-9
"""Two candidates closer than that in the naive ucb may be told apart by rounding alone."""

ARENAS = {
    "se-1d": (ub.SquaredExponential(0.2), 1, 30),
    "se-3d": (ub.SquaredExponential((0.5, 0.8, 0.6)), 3, 40),
    "matern-1d": (ub.Matern(2.5, 0.3), 1, 25),
    "matern-3d": (ub.Matern(1.5, 0.7), 3, 30),
    "linear-1d": (ub.Linear(1.0), 1, 25),
    "linear-3d": (ub.Linear((2.0, 1.8, 2.5)), 3, 30),
}


@dataclass(frozen=True)
class Case:
    """One comparison: who plays where, under which options, against what."""

    algorithm: str
    arena: str
    options: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    C: float = 4.0
    T: int = N_MANY
    n_rounds: int = N_MANY
    """So many in a long game: more where what is expected comes late."""
    spent: float = 4.0
    lam: float = 0.03
    noise_std: float = 0.05
    assumed_std: float = 0.05
    assumed_norm: float = 1.0
    c_max: float | None = None
    own_noise: bool = False
    seed: int = 0
    expects: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """What pytest calls it."""
        words = [f"{name}={value}" for name, value in self.options.items() if not callable(value)]
        words += [f"{name}={value}" for name, value in self.arguments.items()]
        return "-".join([self.algorithm, self.arena, *words, *sorted(self.expects)])


@dataclass
class Trace:
    """What happened on the way."""

    events: set[str] = field(default_factory=set)
    n_ties: int = 0


def objective(K: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A function of the RKHS with max |f| = 1 at the candidates, and its norm."""
    centres = rng.integers(len(K), size=6)
    coefficients = rng.normal(size=6)
    f = K[:, centres] @ coefficients
    norm = math.sqrt(coefficients @ K[np.ix_(centres, centres)] @ coefficients)
    return f / np.abs(f).max(), norm / np.abs(f).max()


def build(case: Case, X: np.ndarray, K: np.ndarray, norm: float) -> tuple[Any, naive.Algorithm]:
    """The fast algorithm and its naive double."""
    kernel = ARENAS[case.arena][0]
    numbers = {
        "B": norm * case.assumed_norm,
        "B0": 1.0,
        "noise_std": case.assumed_std,
        "lam": case.lam,
        "delta": 0.1,
        "c_max": case.c_max,
    }
    options = dict(case.options)
    gamma: Callable[[int], float] | None = None
    domain, assumptions = ub.Grid(X), ub.Assumptions(kernel, **numbers)
    words = {name: value for name, value in options.items() if name != "gain"}
    if options.get("gain") == "certified":
        gamma = ub.MaxInformationGain(kernel, X, case.lam)
    setting = naive.Setting(K=K, gamma=gamma, **numbers, **words)
    if case.algorithm == "layered-told":
        told = {"C": case.C, "seed": case.seed, "with_all": True}
        fast = ub.LayeredGPUCB(domain, assumptions, **told, **case.arguments, **options)
    else:
        fast = ALGORITHMS[case.algorithm](
            domain, assumptions, C=case.C, T=case.T, seed=case.seed, **case.arguments, **options
        )
    drawn = {"seed": case.seed, **case.arguments}
    double: naive.Algorithm = {
        "gp-ucb": lambda: naive.OneInstance(setting, 0.0),
        "robust": lambda: naive.OneInstance(setting, case.C),
        "fast-slow": lambda: naive.FastSlow(setting, case.C, **drawn),
        "ladder": lambda: naive.Ladder(setting, fast.unit),
        "layered": lambda: naive.Layered(setting, case.T, **drawn),
        "layered-told": lambda: naive.layered_for(setting, case.C, **drawn),
    }[case.algorithm]()
    return fast, double


def close(actual: Any, expected: Any) -> None:
    """Equal up to the rounding of two different orders of operations."""
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8)


def compare_bounds(fast: Any, slow: naive.Algorithm) -> None:
    """Every instance's intersected bounds and current width, at each of its levels if it has some."""
    levels = [level for instance in fast.instances.values() for level in instance.at_levels]
    levels += getattr(fast.policy, "begun", ())
    alone = [instance for instance in fast.instances.values() if instance.now.levels is None]
    assert [each.label for each in (*alone, *levels)] == list(slow.instances)
    for instance in (*alone, *levels):
        double = slow.instances[instance.label]
        assert instance.n_readings == len(double.readings)
        close(instance.ucb_bar, double.ucb_bar)
        close(instance.lcb_bar, double.lcb_bar)
        close(instance.width, double.now.width)
        close(instance.mu, double.now.mu)
        close(instance.C, double.C)


def compare_round(query: Any, atom: naive.Atom, slow: naive.Algorithm, trace: Trace) -> None:
    """One query against the atom that the naive algorithm drew."""
    assert query.t == slow.t
    assert query.instance == atom.learner
    if query.index != atom.index:
        # Only a mathematical tie excuses another point, and then the naive one follows.
        assert abs(atom.scores[atom.index] - atom.scores[query.index]) < TIE
        trace.n_ties += 1
    assert not query.level or atom.player == f"level-{query.level}"
    belief = slow.instances[atom.player].now
    close(query.mu, belief.mu[query.index])
    close(query.sigma, belief.sigma[query.index])
    close(query.width, belief.width[query.index])
    close(query.ucb, atom.scores[query.index])


def compare_ends(fast: Any, slow: naive.Algorithm, case: Case) -> None:
    """Recommendations of both rules and the hindsight certificate, for every threat."""
    threats: list[tuple[str, float | None]] = [("none", None)]
    if case.algorithm != "gp-ucb":
        threats.append(("weak", None))
    if case.algorithm == "layered-told" and case.C > 2.0:
        threats += [("weak", 2.0), ("weak", case.C), ("strong", case.C)]
    if case.algorithm in ("robust", "fast-slow", "ladder"):
        threats.append(("strong", None))
    if case.algorithm == "ladder":
        threats += [("weak", 0.6), ("strong", 4.0), ("strong", 1e6)]
    if case.algorithm == "layered":
        top = max(instance.C for instance in slow.instances.values())
        threats += [("weak", 2.0), ("weak", min(3.0, 2.0**slow.n_layers)), ("strong", top)]
    for threat, C in threats:
        labels = slow.trusted(threat, C)
        bounds = slow.valid(labels)
        if threat == "strong" and C is not None:
            C *= 1.0 - 1e-9  # budgets agree up to rounding only
        best = fast.recommend(threat=threat, C=C)
        assert bounds.lower[best.index] > bounds.lower.max() - TIE
        interval = bounds.interval(best.index)
        assert (best.lower is None) == (best.upper is None) == (interval is None)
        if interval is not None:
            close([best.lower, best.upper], interval)
        certificate = bounds.certificate(best.index)
        assert (best.regret_bound is None) == (certificate is None)
        if certificate is not None:
            close(best.regret_bound, certificate)
        hindsight = fast.regret_certificate(threat=threat, C=C)
        assert (hindsight.value is None) == (bounds.hindsight() is None)
        if hindsight.value is not None:
            close(hindsight.value, bounds.hindsight())
        lowest = int(labels[0][6:]) if case.algorithm == "ladder" else 0
        if any(play.learner in labels or 0 < lowest <= int(play.player[6:]) for play in slow.plays):
            papers = fast.recommend(threat=threat, C=C, rule="paper")
            assert papers.index == slow.best_when_chosen(labels)


def play(case: Case, n_rounds: int) -> Trace:
    """Both algorithms through the same corrupted, noisy rounds."""
    kernel, d, n = ARENAS[case.arena]
    rng = np.random.default_rng([case.seed, d, n])
    X = rng.random((n, d)) if "linear" not in case.arena else rng.uniform(-1.0, 1.0, (n, d))
    K = kernel(X, X)
    f, norm = objective(K, rng)
    fast, slow = build(case, X, K, norm)
    trace = Trace()
    left = case.spent
    for t in range(1, n_rounds + 1):
        query, atom = fast.ask(), slow.ask()
        compare_round(query, atom, slow, trace)
        # A strong adversary: lowers whatever is good, by as much as it may, until C is spent.
        c = -min(left, 1.0) if f[query.index] > f.max() - 0.6 else 0.0
        left += c
        y = f[query.index] + case.noise_std * rng.normal() + c
        own = case.assumed_std * rng.choice([0.5, 1.0, 2.0]) if case.own_noise else None
        is_layered, is_ladder = hasattr(slow, "n_layers"), case.algorithm == "ladder"
        sets = fast.maximisers.copy() if is_layered else None
        if is_ladder:
            turn = naive.turn(t)
            trace.events |= {"passed-up"} if query.level > turn else set()
            trace.events |= {"began-early"} if query.level > max(turn, len(fast.policy.begun)) else set()
        fast.tell(query, y, noise_std=own)
        slow.tell(atom, y, index=query.index, noise_std=own)
        assert (fast.detected, fast.refuted) == (slow.detected, slow.refuted)
        if is_layered or is_ladder:
            np.testing.assert_array_equal(fast.maximisers, slow.maximisers)
            if is_layered and query.instance is not None:
                k = list(fast.instances).index(query.instance)
                is_passed_down = (sets[:k] != fast.maximisers[:k]).any()
                trace.events |= {"passed-down"} if is_passed_down else set()
            trace.events |= {"eliminated"} if not fast.maximisers.all() else set()
            trace.events |= {"all-empty"} if not fast.maximisers.any() else set()
        trace.events |= {"nobody-learned"} if query.instance is None else set()
        trace.events |= {"detected"} if fast.detected is not None else set()
        trace.events |= {"refuted"} if fast.refuted is not None else set()
        if t % 25 == 0 or t < 4:
            compare_bounds(fast, slow)
    compare_ends(fast, slow, case)
    return trace


def covering() -> list[Case]:
    """Every algorithm with every pair of option values, each option value in every arena."""
    cases = []
    widths = ("exact", "capped", "paper")
    for algorithm in ("gp-ucb", "robust", "fast-slow", "ladder", "layered"):
        for a, arena in enumerate(ARENAS):
            for w, width in enumerate(widths):
                if algorithm == "gp-ucb" and w == 2:
                    continue  # no corruption width: two rows cover noise and gain
                if algorithm == "ladder" and w != a % 3:
                    continue  # an instance like any other, at several corruptions: each option once
                options = {
                    "width": width,
                    "noise": ("tight", "paper")[(a + w) % 2],
                    "tail": ("sharp", "paper")[(a // 2 + w) % 2],
                    "gain": ("realised", "certified")[(a // 3 + (w + 1) // 2) % 2],
                }
                cases.append(Case(algorithm, arena, options, C=2.5 + w, seed=3 * a + w))
    return cases


COVERING = covering()
OPTIONS = ("width", "noise", "tail", "gain")
SHARING = {"with_all": True}

EXTRAS = [
    Case("gp-ucb", "se-1d", {"beta": 2.0}),
    Case("gp-ucb", "linear-3d", own_noise=True),
    Case("gp-ucb", "se-1d", assumed_norm=0.2, spent=20.0, lam=0.01, expects=frozenset({"refuted"})),
    Case("robust", "matern-1d", {"beta": lambda t: math.sqrt(math.log(t + 1.0))}),
    Case("robust", "se-1d", own_noise=True),
    Case("robust", "se-1d", {"width": "capped", "noise": "paper"}, own_noise=True),
    Case("robust", "se-1d", {"width": "paper"}, c_max=math.inf),
    Case("robust", "matern-3d", c_max=math.inf),
    Case("robust", "linear-3d", c_max=0.3),
    Case("robust", "se-1d", assumed_norm=0.2, spent=20.0, expects=frozenset({"refuted"})),
    Case("fast-slow", "se-1d", expects=frozenset({"detected"})),
    Case("fast-slow", "linear-3d", expects=frozenset({"detected"})),
    Case("fast-slow", "linear-3d", arguments={"with_all": True}, expects=frozenset({"detected"})),
    Case("fast-slow", "linear-1d", {}, expects=frozenset({"detected"})),
    Case("fast-slow", "linear-3d", {"beta": 2.0}),
    Case("fast-slow", "se-1d", arguments={"alpha": 3.0}, own_noise=True),
    Case("fast-slow", "matern-1d", C=0.7, spent=0.7),
    Case("fast-slow", "se-1d", arguments={"share": 0.25, "trust": 1.5}),
    Case(
        "fast-slow", "linear-3d", arguments={"share": 0.5, "trust": 0.2}, expects=frozenset({"detected"})
    ),
    Case("fast-slow", "matern-3d", {"tail": "paper"}, {"share": 0.9, "trust": 4.0, "with_all": True}),
    Case("fast-slow", "linear-1d", {"width": "capped"}, {"share": 0.5, "trust": 0.5}, spent=40.0),
    Case("fast-slow", "se-3d", {"width": "paper", "noise": "paper"}, {"share": 1.0, "trust": 2.0}),
    Case("fast-slow", "se-1d", arguments={"share": 0.5, "trust": 1.0}, own_noise=True),
    Case("fast-slow", "matern-3d", {}, {"share": 0.5, "trust": 2.0}, C=8.0),
    Case("fast-slow", "matern-1d", arguments={"share": 0.8, "trust": 0.7}, C=0.7, spent=0.7),
    Case(
        "fast-slow",
        "linear-1d",
        assumed_norm=0.2,
        spent=60.0,
        lam=0.01,
        noise_std=0.5,
        assumed_std=0.01,
        expects=frozenset({"detected", "refuted"}),
    ),
    Case("ladder", "linear-3d", spent=6.0, lam=0.01, expects=frozenset({"passed-up", "eliminated"})),
    Case("ladder", "linear-1d", arguments={"unit": 0.002}, expects=frozenset({"began-early"})),
    Case("ladder", "se-1d", {}, {"unit": 1.0}),
    Case("ladder", "matern-1d", {"beta": 1.5}, c_max=0.5, own_noise=True),
    Case(
        "ladder",
        "linear-3d",
        noise_std=0.5,
        assumed_std=0.01,
        c_max=0.02,
        expects=frozenset({"refuted"}),
    ),
    Case("layered", "linear-3d", spent=12.0, lam=0.01, expects=frozenset({"nobody-learned"})),
    Case(
        "layered",
        "linear-3d",
        T=8,
        n_rounds=150,
        spent=30.0,
        lam=0.01,
        expects=frozenset({"passed-down"}),
    ),
    Case("layered", "linear-1d", {}, expects=frozenset({"eliminated"})),
    Case("layered", "se-1d", {"beta": 1.5}, T=7),
    Case("layered", "matern-1d", own_noise=True, c_max=0.5, arguments={"alpha": 2.5}),
    Case("layered", "linear-3d", T=1),
    *[
        Case("layered", arena, dict(zip(OPTIONS, values, strict=True)), SHARING, spent=spent, seed=seed)
        for seed, (arena, spent, values) in enumerate(
            (
                ("se-1d", 4.0, ("exact", "tight", "sharp", "realised")),
                ("linear-3d", 12.0, ("exact", "paper", "paper", "certified")),
                ("matern-3d", 4.0, ("capped", "tight", "paper", "realised")),
                ("linear-1d", 4.0, ("paper", "paper", "sharp", "certified")),
            )
        )
    ],
    Case(
        "layered",
        "linear-3d",
        arguments=SHARING,
        spent=12.0,
        lam=0.01,
        expects=frozenset({"nobody-learned", "eliminated"}),
    ),
    Case("layered", "linear-1d", {}, SHARING, expects=frozenset({"eliminated"})),
    Case("layered", "se-1d", {"beta": 1.5}, SHARING, T=7),
    Case("layered", "matern-1d", own_noise=True, c_max=0.5, arguments={"alpha": 2.5, **SHARING}),
    Case("layered", "linear-3d", arguments=SHARING, T=1),
    Case(
        "layered",
        "linear-1d",
        arguments=SHARING,
        T=4,
        assumed_norm=0.2,
        spent=60.0,
        lam=0.01,
        expects=frozenset({"nobody-learned", "all-empty", "refuted"}),
    ),
    Case("layered-told", "linear-3d", C=12.0, spent=12.0, lam=0.01, expects=frozenset({"eliminated"})),
    Case(
        "layered-told",
        "matern-1d",
        {"width": "capped", "tail": "paper"},
        C=2.5,
        arguments={"alpha": 3.0},
    ),
    Case("layered-told", "se-1d", {}, C=8.0, own_noise=True),
    Case("layered-told", "se-3d", {"noise": "paper", "gain": "certified"}, C=2.0, spent=2.0),
    Case("layered", "se-1d", T=2, lam=0.01),
    Case(
        "layered",
        "linear-1d",
        T=4,
        n_rounds=150,
        assumed_norm=0.2,
        spent=60.0,
        lam=0.01,
        expects=frozenset({"nobody-learned", "all-empty", "refuted"}),
    ),
]


LETTER = {"width": "paper", "noise": "paper", "tail": "paper", "gain": "certified"}
FEW = [
    Case(algorithm, arena, options, arguments)
    for arena, options in (("se-1d", {}), ("linear-3d", LETTER))
    for algorithm, arguments in (
        *[(each, {}) for each in ("gp-ucb", "robust", "fast-slow", "ladder", "layered", "layered-told")],
        ("layered", SHARING),
    )
]
"""Of each algorithm the defaults, and the paper's letter; all else is in COVERING and EXTRAS."""


def compare(case: Case, monkeypatch: pytest.MonkeyPatch, n_rounds: int | None = None) -> None:
    """The events a case is there for must have happened."""
    # small enough for a game to begin with exact widths solved everywhere and to end with the bracket
    monkeypatch.setattr("unbribable.theory.exact_shift.N_SMALL", 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        trace = play(case, n_rounds or case.n_rounds)
    assert trace.n_ties <= 1
    assert trace.events >= case.expects


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.label)
def test_the_first_queries_and_bounds_are_the_naive_ones(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(case, monkeypatch, N_FEW)


@pytest.mark.long
@pytest.mark.parametrize("case", COVERING + EXTRAS, ids=lambda case: case.label)
def test_every_query_and_bound_is_the_naive_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(case, monkeypatch)


BY_NUMPY = [
    Case("ladder", "linear-3d", spent=6.0, lam=0.01, expects=frozenset({"passed-up", "eliminated"})),
    Case("layered", "matern-1d", own_noise=True, c_max=0.5, arguments={"alpha": 2.5, **SHARING}),
    Case("robust", "se-1d", own_noise=True),
    Case("fast-slow", "linear-3d", expects=frozenset({"detected"})),
]


has_library = pytest.mark.skipif(compiled.LIBRARY is None, reason="all cases are by NumPy then")


@has_library
@pytest.mark.parametrize("case", FEW[:7], ids=lambda case: case.label)
def test_the_first_ones_are_naive_without_the_compiled_library_too(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "LIBRARY", None)
    compare(case, monkeypatch, N_FEW)


@pytest.mark.long
@has_library
@pytest.mark.parametrize("case", BY_NUMPY, ids=lambda case: case.label)
def test_it_is_the_naive_one_without_the_compiled_library_too(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "LIBRARY", None)
    compare(case, monkeypatch)


def test_every_algorithm_has_a_naive_double() -> None:
    kinds = {m.kind for m in ALGORITHMS.values()} - {ub.QuorumGPUCB}  # see test_quorum_as_naive
    assert {ALGORITHMS[c.algorithm].kind for c in COVERING} == kinds


def test_the_cases_cover_every_pair_of_options_with_every_algorithm() -> None:
    """Also every option value in every arena, where the option matters for the algorithm."""
    values = {
        "width": ("exact", "capped", "paper"),
        "noise": ("tight", "paper"),
        "tail": ("sharp", "paper"),
        "gain": ("realised", "certified"),
        "arena": tuple(ARENAS),
    }
    matters = {
        "gp-ucb": ("noise", "gain", "arena"),
        "robust": ("width", "noise", "gain", "arena"),
        "fast-slow": tuple(values),
        "layered": tuple(values),
    }
    assert {case.arena for case in COVERING if case.algorithm == "ladder"} == set(ARENAS)
    for algorithm, names in matters.items():
        rows = [{**c.options, "arena": c.arena} for c in COVERING if c.algorithm == algorithm]
        for one, other in itertools.combinations(names, 2):
            seen = {(row[one], row[other]) for row in rows}
            assert seen >= set(itertools.product(values[one], values[other])), (algorithm, one, other)
