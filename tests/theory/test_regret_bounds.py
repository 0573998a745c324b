"""Theorems 5, 9, 10, Lemma 8's time and Appendix C's horizon as numbers, recomputed by hand."""

import math

import numpy as np
import pytest

import unbribable as ub
from games import Game, liars, random_function
from unbribable.lab.theorems.regret_bounds import (
    elimination_time,
    simple_regret_horizon,
    theorem_5,
    theorem_9,
    theorem_10,
    theorem_10_told,
    theorem_ladder,
    theorem_quorum,
)
from unbribable.theory.budgets import layer_delta, number_of_layers, robust_layer

B, B0, NOISE_STD, DELTA = 1.5, 0.8, 0.2, 0.1
KNOWN = ub.Assumptions(ub.Linear(1.0), B=B, B0=B0, noise_std=NOISE_STD, delta=DELTA)
T = 10**7


def gamma(t: np.ndarray) -> np.ndarray:
    """Of two features: slow enough that the theorems are not vacuous at T."""
    return np.log1p(t / 2.0)


G, G1 = float(gamma(T)), float(gamma(T - 1))
ROOT = math.sqrt(4 * T * G)


@pytest.mark.parametrize("C", [0.0, 0.5, 7.0])
@pytest.mark.parametrize("width", ["paper", "capped", "exact"])
def test_theorem_five_is_its_formula(C: float, width: str) -> None:
    spent = C if width == "paper" else math.sqrt(C * min(C, B0))
    beta = B + NOISE_STD * math.sqrt(2 * (G1 + math.log(1 / DELTA)))
    bound = theorem_5(KNOWN, C, T, gamma, width=width)
    assert bound.value == pytest.approx(2 * (spent + beta) * ROOT, rel=1e-12)
    assert not bound.is_vacuous
    assert (bound.theorem, bound.threat) == ("Theorem 5", "weak or strong")


def fast_and_slow() -> tuple[float, float]:
    fast = B + NOISE_STD * math.sqrt(2 * (G1 + math.log(5 / DELTA)))
    return fast, fast + 3 + B0 * math.log(5 / DELTA)


@pytest.mark.parametrize("C", [0.5, 1.0, 3.0])
def test_theorem_nine_clean_is_its_formula_and_below_the_papers(C: float) -> None:
    fast, slow = fast_and_slow()
    bound = theorem_9(KNOWN, C, T, gamma, is_corrupted=False)
    assert bound.value == pytest.approx((2 * fast + 2 * 2 * slow) * ROOT, rel=1e-12)
    assert bound.value <= 4 * 2 * slow * ROOT


def test_theorem_nine_corrupted_is_its_formula() -> None:
    C, alpha = 3.0, 2.0
    fast, slow = fast_and_slow()
    n_between = C * math.log(5 * T / DELTA)
    expected = (
        2 * (C + fast) * ROOT
        + 2 * alpha * slow * ROOT
        + 2 * B0 * n_between
        + 40 * alpha * slow * math.sqrt(4 * n_between * G * T)
    )
    bound = theorem_9(KNOWN, C, T, gamma, is_corrupted=True)
    assert bound.theorem_value == pytest.approx(expected, rel=1e-12)
    assert bound.value == min(bound.theorem_value, 2 * B0 * T)


@pytest.mark.parametrize("C", [0.4, 1.0])
def test_theorem_nine_has_no_late_term_where_slow_always_plays(C: float) -> None:
    fast, slow = fast_and_slow()
    bound = theorem_9(KNOWN, C, T, gamma, is_corrupted=True)
    assert bound.value == pytest.approx((2 * (C + fast) + 4 * slow) * ROOT, rel=1e-12)


@pytest.mark.parametrize("C", [0.2, 0.25, 3.0, 40.0])
@pytest.mark.parametrize("trust", [0.0, 0.2])
def test_theorem_nine_with_dials_is_its_formula(C: float, trust: float) -> None:
    share, alpha = 0.25, 2.0
    fast, slow = fast_and_slow()
    slow = min(slow, fast + C)  # C = 40 is above the tail
    clean = 2 * (fast + math.sqrt(trust * min(trust, B0))) * ROOT + 2 * alpha * slow * ROOT
    bound = theorem_9(KNOWN, C, T, gamma, is_corrupted=False, share=share, trust=trust)
    assert bound.theorem_value == pytest.approx(clean, rel=1e-12)
    assert bound.threat == ("weak" if trust else "no")
    corrupted = 2 * (C + fast) * ROOT + 2 * alpha * slow * ROOT
    if share < C:
        n_between = math.log(5 * T / DELTA) / (share / C)
        corrupted += 2 * B0 * n_between + 40 * alpha * slow * math.sqrt(4 * n_between * G * T)
    bound = theorem_9(KNOWN, C, T, gamma, is_corrupted=True, share=share, trust=trust)
    assert bound.theorem_value == pytest.approx(corrupted, rel=1e-12)


@pytest.mark.parametrize("dials", [{"share": 0.0}, {"share": 1.5}, {"trust": -1.0}, {"trust": 3.1}])
def test_theorem_nine_refuses_dials_that_the_algorithm_does_not_have(dials: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(dials))} must be finite and"):
        theorem_9(KNOWN, 3.0, T, gamma, is_corrupted=True, **dials)


@pytest.mark.parametrize("C", [0.0, 0.7, 1.0, 2.0, 2.1, 8.0, 9.0])
def test_theorem_ten_is_its_formula(C: float) -> None:
    alpha, n_layers = 2.0, math.ceil(math.log2(T))
    robust = 1 if C <= 1 else math.ceil(math.log2(C))
    d = DELTA / (4 * (1 + math.log2(T)))
    layer = B + NOISE_STD * math.sqrt(2 * (G1 + math.log(1 / d))) + 3 + B0 * math.log(1 / d)
    expected = 2 * alpha * layer * math.sqrt(4 * (n_layers - robust + 1) * T * G)
    if robust > 1:
        n_between = 2 * C * math.log(2 * T / DELTA)
        expected += 2 * B0 * n_between + 40 * alpha * layer * math.sqrt(4 * n_between * G * T)
    bound = theorem_10(KNOWN, C, T, gamma)
    assert bound.theorem_value == pytest.approx(expected, rel=1e-12)
    assert bound.value == min(bound.theorem_value, 2 * B0 * T)


def test_theorem_ten_is_vacuous_for_more_corruption_than_the_top_layer_tolerates() -> None:
    bound = theorem_10(KNOWN, 2.0**24 * 1.01, T, gamma)  # 24 layers
    assert number_of_layers(T) == 24
    assert bound.is_vacuous
    assert bound.value == 2 * B0 * T


@pytest.mark.parametrize(
    "bound",
    [
        theorem_5(KNOWN, 50.0, 100, gamma),
        theorem_9(KNOWN, 50.0, 100, gamma, is_corrupted=True),
        theorem_9(KNOWN, 50.0, 100, gamma, is_corrupted=False),
        theorem_10(KNOWN, 50.0, 100, gamma),
    ],
    ids=lambda bound: bound.theorem,
)
def test_a_bound_that_says_no_more_than_b0_is_cut_there_and_says_so(bound: object) -> None:
    assert bound.value == 2 * B0 * 100 < bound.theorem_value
    assert bound.is_vacuous


def test_a_larger_lie_cap_enters_the_tails_but_not_the_range_of_f() -> None:
    wide = ub.Assumptions(KNOWN.kernel, B=B, B0=B0, noise_std=NOISE_STD, delta=DELTA, c_max=3.0)
    fast, _ = fast_and_slow()
    slow = fast + 3 + 3.0 * math.log(5 / DELTA)
    bound = theorem_9(wide, 1.0, T, gamma, is_corrupted=False)
    assert bound.theorem_value == pytest.approx((2 * fast + 4 * slow) * ROOT, rel=1e-12)
    assert theorem_5(wide, 50.0, 10, gamma).value == 2 * B0 * 10
    capped = theorem_5(wide, 7.0, T, gamma, width="capped").theorem_value
    beta = B + NOISE_STD * math.sqrt(2 * (G1 + math.log(1 / DELTA)))
    assert capped == pytest.approx(2 * (math.sqrt(7.0 * 3.0) + beta) * ROOT, rel=1e-12)


# --- widths that pay for two events -----------------------------------------------------------------

NUMBERS = [
    lambda known, **noise: theorem_5(known, 3.0, T, gamma, **noise).theorem_value,
    lambda known, **noise: theorem_9(known, 3.0, T, gamma, is_corrupted=False, **noise).theorem_value,
    lambda known, **noise: theorem_9(known, 3.0, T, gamma, is_corrupted=True, **noise).theorem_value,
    lambda known, **noise: theorem_10(known, 3.0, T, gamma, **noise).theorem_value,
    lambda known, **noise: elimination_time(known, 1.2, gamma, T_max=10**7, **noise),
    lambda known, **noise: simple_regret_horizon(known, 3.0, 0.5, gamma, **noise),
]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_papers_number_is_the_default_and_the_tight_one_is_above_it(number: object) -> None:
    assert number(KNOWN) == number(KNOWN, noise="paper") < number(KNOWN, noise="tight")


@pytest.mark.parametrize("number", NUMBERS)
def test_only_the_noise_pays_for_tight_widths(number: object) -> None:
    """Tails and numbers of plays keep their delta: without noise both are the same."""
    silent = ub.Assumptions(KNOWN.kernel, B=B, B0=B0, noise_std=0.0, delta=DELTA)
    assert number(silent, noise="tight") == number(silent, noise="paper")


def test_the_tight_numbers_have_half_the_delta_in_the_noises_logarithm() -> None:
    def radius(share: float) -> float:
        return NOISE_STD * math.sqrt(2 * (G1 + math.log(2 / share)))

    fast = B + radius(DELTA / 5)
    slow = fast + 3 + B0 * math.log(5 / DELTA)
    d = DELTA / (4 * (1 + math.log2(T)))
    layer = B + radius(d) + 3 + B0 * math.log(1 / d)
    n_layers = math.ceil(math.log2(T))
    expected = {
        theorem_5(KNOWN, 3.0, T, gamma, noise="tight"): 2 * (3.0 + B + radius(DELTA)) * ROOT,
        theorem_9(KNOWN, 1.0, T, gamma, is_corrupted=False, noise="tight"): (2 * fast + 4 * slow) * ROOT,
        theorem_10(KNOWN, 1.0, T, gamma, noise="tight"): 4 * layer * math.sqrt(n_layers) * ROOT,
    }
    for bound, value in expected.items():
        assert bound.theorem_value == pytest.approx(value, rel=1e-12), bound.theorem


@pytest.mark.parametrize(("norm", "noise_std"), [(0.1, 1.0), (0.01, 1.0), (0.5, 2.0)])
def test_where_tight_is_wider_than_the_papers_width_the_tight_bound_still_covers_it(
    norm: float, noise_std: float
) -> None:
    known = ub.Assumptions(ub.SquaredExponential(0.3), B=norm, B0=norm, noise_std=noise_std, delta=0.1)
    domain = ub.Grid(np.linspace(0, 1, 9)[:, None])
    gain = ub.MaxInformationGain(known.kernel, domain.points, 1.0)
    algorithm = ub.RobustGPUCB(domain, known, C=0.0)
    rng = np.random.default_rng(0)
    n_wider = 0
    for t in range(1, 31):
        query = algorithm.ask()
        letter, covering = (
            theorem_5(known, 0.0, t, gain, noise=noise).theorem_value / math.sqrt(16 * t * gain(t))
            for noise in ("paper", "tight")
        )
        assert query.width <= covering * query.sigma
        n_wider += query.width > letter * query.sigma
        algorithm.tell(query, float(noise_std * rng.standard_normal()))
    assert n_wider > 0


def test_the_first_width_of_a_small_function_in_loud_noise_is_wider_than_the_papers() -> None:
    known = ub.Assumptions(ub.SquaredExponential(0.3), B=0.1, B0=0.1, noise_std=1.0, delta=0.1)
    gain = ub.MaxInformationGain(known.kernel, np.zeros((1, 1)), 1.0)
    width = ub.GPUCB(ub.Grid([[0.0]]), known).ask().width
    assert width == pytest.approx(2.450, abs=5e-4)
    letter, covering = (
        theorem_5(known, 0.0, 1, gain, noise=noise).theorem_value / math.sqrt(16 * gain(1))
        for noise in ("paper", "tight")
    )
    assert letter == pytest.approx(2.246, abs=5e-4)
    assert letter < width <= covering


def test_bounds_grow_with_corruption() -> None:
    for bound in (
        lambda C: theorem_5(KNOWN, C, T, gamma),
        lambda C: theorem_9(KNOWN, C, T, gamma, is_corrupted=True),
    ):
        values = [bound(C).theorem_value for C in (0.0, 0.5, 1.0, 1.5, 4.0, 30.0)]
        assert values == sorted(values)


ALL = [
    lambda known: theorem_5(known, 1.0, 10, gamma),
    lambda known: theorem_9(known, 1.0, 10, gamma, is_corrupted=True),
    lambda known: theorem_10(known, 1.0, 10, gamma),
    lambda known: elimination_time(known, 0.5, gamma, T_max=10),
    lambda known: simple_regret_horizon(known, 1.0, 0.5, gamma, T_max=10),
]


@pytest.mark.parametrize("bound", ALL)
def test_another_lam_is_refused(bound: object) -> None:
    other = ub.Assumptions(KNOWN.kernel, B=B, B0=B0, noise_std=NOISE_STD, lam=0.5)
    with pytest.raises(ValueError, match=r"lam must be 1 in the regret theorems, got lam=0\.5"):
        bound(other)


@pytest.mark.parametrize("bound", ALL[1:4])
def test_an_uncapped_liar_is_refused_where_an_instance_is_drawn_at_random(bound: object) -> None:
    unbounded = ub.Assumptions(KNOWN.kernel, B=B, B0=B0, noise_std=NOISE_STD, c_max=math.inf)
    with pytest.raises(ValueError, match="c_max must be finite"):
        bound(unbounded)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: theorem_5(KNOWN, -1.0, 10, gamma), ValueError, "C must be finite and >= 0"),
        (lambda: theorem_5(KNOWN, 1.0, 0, gamma), ValueError, "T must be >= 1, got T=0"),
        (lambda: theorem_5(KNOWN, 1.0, 2.5, gamma), TypeError, "T must be an integer"),
        (lambda: theorem_5(KNOWN, 1.0, 10, gamma, width="wide"), ValueError, "width must be one of"),
        (lambda: theorem_5(KNOWN, 1.0, 10, gamma, noise="loud"), ValueError, "noise must be one of"),
        (lambda: elimination_time(KNOWN, 0.0, gamma), ValueError, "gap must be finite and > 0"),
        (lambda: elimination_time(KNOWN, 1.0, gamma, alpha=1.8), ValueError, "alpha must be"),
        (lambda: simple_regret_horizon(KNOWN, 1.0, -2.0, gamma), ValueError, "gap must be"),
        (lambda: simple_regret_horizon(KNOWN, 1.0, 1.0, gamma, T_max=0), ValueError, "T_max must be"),
    ],
)
def test_bad_numbers_are_refused(call: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_the_elimination_time_is_the_first_that_satisfies_lemma_eight() -> None:
    gap = 1.2

    def left_side(tau: int) -> float:
        beta = B + NOISE_STD * math.sqrt(2 * (float(gamma(tau - 1)) + math.log(5 / DELTA)))
        slow = beta + 3 + B0 * math.log(5 / DELTA)
        return 4 * 2 * slow * math.sqrt(float(gamma(tau)) / tau)

    tau = elimination_time(KNOWN, gap, gamma, T_max=10**7)
    assert left_side(tau) <= gap / 10 < left_side(tau - 1)
    assert elimination_time(KNOWN, gap, gamma, T_max=tau) == tau
    assert elimination_time(KNOWN, gap, gamma, T_max=tau - 1) is None


@pytest.mark.parametrize("C", [0.0, 4.0])
def test_the_simple_regret_horizon_is_the_first_that_satisfies_appendix_c(C: float) -> None:
    gap = 0.5

    def left_side(tau: int) -> float:
        beta = B + NOISE_STD * math.sqrt(2 * (float(gamma(tau - 1)) + math.log(1 / DELTA)))
        return 2 * (C + beta) * math.sqrt(4 * float(gamma(tau)) / tau)

    horizon = simple_regret_horizon(KNOWN, C, gap, gamma, T_max=10**6)
    assert left_side(horizon) <= gap < left_side(horizon - 1)
    assert simple_regret_horizon(KNOWN, C, gap, gamma, T_max=horizon - 1) is None


def test_the_small_numbers_of_the_layers() -> None:
    assert [number_of_layers(t) for t in (1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        10,
        11,
    ]
    assert [robust_layer(C) for C in (0.0, 0.5, 1.0, 2.0, 2.5, 4.0, 4.1, 1024.0)] == [
        1,
        1,
        1,
        1,
        2,
        2,
        3,
        10,
    ]
    assert layer_delta(0.4, 1) == pytest.approx(0.1)
    assert layer_delta(0.4, 16) == pytest.approx(0.02)


# --- measured regret ---------------------------------------------------------------------------------
# lam = 1, the paper's letter and our widths. One feature, three points and a large B against noise and
# lies: so the theorems are not vacuous at a T one can play.

LINE = ub.Grid([[-1.0], [0.2], [1.0]])
LETTER = {"width": "paper", "noise": "paper", "tail": "paper", "gain": "certified"}


@pytest.mark.parametrize("options", [LETTER, {}], ids=["letter", "ours"])
@pytest.mark.parametrize("name", ["hide", "decoy", "whisper"])
def test_measured_regret_of_algorithm_one_is_at_most_theorem_fives(
    name: str, options: dict[str, str]
) -> None:
    known = ub.Assumptions(ub.Linear(1.0), B=2.0, B0=2.0, noise_std=0.1, delta=0.1, c_max=1.0)
    T, C = 1500, 2.0
    bound = theorem_5(known, C, T, ub.MaxInformationGain(known.kernel, LINE.points, 1.0))
    assert not bound.is_vacuous
    rng = np.random.default_rng(0)
    f = random_function(known.kernel, LINE.points, rng, 2.0)
    algorithm = ub.RobustGPUCB(LINE, known, C=C, **options)
    lie = liars(known.kernel, LINE.points, f, rng)[name]
    world = Game(f, 0.1, rng, lie, C, 1.0, is_strong=True)
    for _ in range(T):
        world.round(algorithm)
    assert 0.0 < world.regret <= bound.value


@pytest.mark.parametrize("options", [LETTER, {}], ids=["letter", "ours"])
@pytest.mark.parametrize("name", ["honest", "hide", "rare"])
def test_measured_regret_of_fast_slow_is_at_most_theorem_nines(
    name: str, options: dict[str, str]
) -> None:
    known = ub.Assumptions(ub.Linear(1.0), B=20.0, B0=20.0, noise_std=0.1, delta=0.1, c_max=0.5)
    T, C = 600, 2.0
    gamma_of_line = ub.MaxInformationGain(known.kernel, LINE.points, 1.0)
    bound = theorem_9(known, C, T, gamma_of_line, is_corrupted=name != "honest")
    # the corrupted case's 40 alpha bS sqrt(4 N gamma T) exceeds 2 B0 T at any T one can play here
    assert bound.is_vacuous == (name != "honest")
    rng = np.random.default_rng(0)
    f = random_function(known.kernel, LINE.points, rng, 20.0)
    algorithm = ub.FastSlowGPUCB(LINE, known, C=C, seed=5, **options)
    lie = liars(known.kernel, LINE.points, f, rng)[name]
    world = Game(f, 0.1, rng, lie, C, 0.5)
    for _ in range(T):
        world.round(algorithm)
    assert 0.0 < world.regret <= bound.value
    assert world.regret <= theorem_9(known, C, T, gamma_of_line, is_corrupted=False).value


@pytest.mark.parametrize("options", [LETTER, {}], ids=["letter", "ours"])
@pytest.mark.parametrize("name", ["hide", "rare"])
def test_measured_regret_of_the_layers_is_at_most_theorem_tens(
    name: str, options: dict[str, str]
) -> None:
    known = ub.Assumptions(ub.Linear(1.0), B=20.0, B0=20.0, noise_std=0.1, delta=0.1, c_max=0.5)
    T, C = 1500, 2.0
    bound = theorem_10(known, C, T, ub.MaxInformationGain(known.kernel, LINE.points, 1.0))
    assert not bound.is_vacuous
    rng = np.random.default_rng(0)
    f = random_function(known.kernel, LINE.points, rng, 20.0)
    algorithm = ub.LayeredGPUCB(LINE, known, T=T, seed=5, with_all=False, **options)
    lie = liars(known.kernel, LINE.points, f, rng)[name]
    world = Game(f, 0.1, rng, lie, C, 0.5)
    for _ in range(T):
        world.round(algorithm)
    assert 0.0 < world.regret <= bound.value


# --- the ladder, and layers that are told C --------------------------------------------------------

UNIT_SQUARE = np.stack(np.meshgrid(np.linspace(0, 1, 10), np.linspace(0, 1, 10)), -1).reshape(-1, 2)
SMOOTH = ub.Assumptions(ub.SquaredExponential(0.3), B=3.0, B0=1.0, noise_std=0.02, delta=0.1)


@pytest.mark.parametrize(
    ("T", "C", "values"),
    [
        (20_000, 0.0, (23_494, 27_468, 32_705)),
        (20_000, 1.0, (39_185, 27_468, 32_705)),
        (20_000, 4.0, (103_710, 71_959, 50_652)),
        (200_000, 20.0, (2_155_403, 1_518_577, 1_067_547)),
    ],
)
def test_the_ladder_theorem_is_its_formula(T, C, values):
    """Stored values of an independent implementation, for units of 0.25, 0.5 and 1."""
    gamma = ub.MaxInformationGain(SMOOTH.kernel, UNIT_SQUARE, 1.0)
    for unit, value in zip((0.25, 0.5, 1.0), values, strict=True):
        bound = theorem_ladder(SMOOTH, C, T, gamma, unit=unit)
        assert round(bound.theorem_value) == value
        assert bound.value == min(bound.theorem_value, 2.0 * T)
        assert bound.threat == "weak or strong"


def test_where_the_covering_level_has_no_turn_the_ladder_theorem_says_nothing():
    assert theorem_ladder(SMOOTH, 1e200, 100, lambda t: 5.0, unit=0.25).is_vacuous
    assert theorem_ladder(SMOOTH, 65.0, 100, lambda t: 5.0, unit=0.25).is_vacuous


def test_the_theorem_of_layers_that_are_told_c_is_its_formula():
    known = ub.Assumptions(ub.Linear(1.0), B=1.5, B0=0.8, noise_std=0.2, delta=0.1)
    T, gain, C = 1000, 9.0, 5.0
    d = 0.1 / (2 * (2 * 3 + 1))
    layer = 1.5 + 0.2 * math.sqrt(2 * (gain + math.log(1 / d))) + min(C, 3 + 0.8 * math.log(1 / d))
    late = 2 * C * math.log(2 * T / 0.1)
    value = (
        4 * layer * math.sqrt(4 * T * gain)
        + 2 * 0.8 * late
        + 80 * layer * math.sqrt(4 * late * gain * T)
    )
    assert theorem_10_told(known, C, T, lambda t: gain).theorem_value == pytest.approx(value)
    one = theorem_10_told(known, 2.0, T, lambda t: gain)
    assert one == theorem_5(known, 2.0, T, lambda t: gain)


# --- counted lies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_lies", [0, 1, 5])
@pytest.mark.parametrize(("noise", "events"), [("paper", 1), ("tight", 2), ("energy", 3)])
def test_the_quorums_theorem_is_its_formula(n_lies: int, noise: str, events: int) -> None:
    """A quarter of delta for the hands together, every hand's for each of the events of its width."""
    m = 2 * n_lies + 1
    beta = B + NOISE_STD * math.sqrt(2 * (G1 + math.log(events * 4 * m / DELTA)))
    clean = 2 * beta * math.sqrt(2 * m * T * G / math.log(2))
    bound = theorem_quorum(KNOWN, n_lies, T, gamma, noise=noise)
    assert bound.theorem_value == pytest.approx(clean * (3 if n_lies else 1), rel=1e-12)
    assert bound.value == min(bound.theorem_value, 2 * B0 * T)
    assert bound.theorem == "Quorum"
    assert bound.threat == ("weak or strong" if n_lies else "no")
    honest = theorem_quorum(KNOWN, n_lies, T, gamma, noise=noise, is_lied_to=False)
    assert honest.theorem_value == pytest.approx(clean, rel=1e-12)


def test_the_quorums_theorem_knows_neither_the_cap_of_a_lie_nor_the_size_of_f() -> None:
    wild = ub.Assumptions(ub.Linear(1.0), B=B, B0=9.0, noise_std=NOISE_STD, delta=DELTA, c_max=math.inf)
    found = [theorem_quorum(known, 2, T, gamma).theorem_value for known in (KNOWN, wild)]
    assert found[0] == found[1]


@pytest.mark.parametrize("n_lies", [-1, 1.5])
def test_the_quorums_theorem_refuses_no_number_of_lies(n_lies: float) -> None:
    with pytest.raises((TypeError, ValueError), match="n_lies must"):
        theorem_quorum(KNOWN, n_lies, T, gamma)
