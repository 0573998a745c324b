"""The least corruption: certified by any multipliers, at most the planted total, zero on clean data."""

import itertools
import math
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import unbribable as ub
from games import Design, designs, law
from unbribable.model.checks import Floats, Ints
from unbribable.model.kernels import Kernel
from unbribable.theory import least_corruption
from unbribable.theory.least_corruption import LeastCorruption, Multipliers, Program

NOISE_STD = 0.1


@dataclass(frozen=True)
class Told:
    """Readings whose truth is known and within the assumptions: f, noise, lies."""

    points: Floats
    rows: Ints
    y: Floats
    assumptions: ub.Assumptions
    noise_std: Floats
    f: Floats
    lies: Floats

    @property
    def planted(self) -> float:
        return float(np.abs(self.lies).sum())

    def program(self, **changes: object) -> LeastCorruption:
        arguments = {"noise_std": self.noise_std, **changes}
        return LeastCorruption(self.points, self.rows, self.y, self.assumptions, **arguments)

    def one_program(self) -> Program:
        ((_, program),) = self.program().parts
        return program


def told(
    kernel: Kernel,
    X: Floats,
    indices: Ints,
    rng: np.random.Generator,
    *,
    n_lies: int,
    stds: Floats | None = None,
    c_max: float | None = None,
    size: float = 1.0,
) -> Told:
    """A function of norm B with noise of half its scale, so that the events hold, and some lies."""
    points, rows = np.unique(indices, return_inverse=True)
    points, t, B = X[points], len(indices), 2.0
    a = rng.standard_normal(len(points))
    a *= B / math.sqrt(a @ kernel(points, points) @ a + 1e-300)
    f = kernel(points, points) @ a
    B0 = 1.01 * float(np.abs(f).max()) + 1e-3
    stds = np.full(t, NOISE_STD) if stds is None else stds
    lies = np.zeros(t)
    where = rng.choice(t, min(n_lies, t), replace=False)
    lies[where] = size * B0 * rng.choice([-1.0, 1.0], len(where)) * rng.uniform(0.5, 1.0, len(where))
    y = f[rows] + 0.5 * stds * rng.uniform(-1.0, 1.0, t) + lies
    assumed = ub.Assumptions(kernel, B=B, B0=B0, noise_std=NOISE_STD, lam=NOISE_STD**2, c_max=c_max)
    return Told(points, rows, y, assumed, stds, f, lies)


def of_design(design: Design, n_lies: int, c_max: float | None = None) -> Told:
    stds = NOISE_STD * np.sqrt(design.lams / design.lam)
    return told(
        design.kernel, design.X, design.indices, design.rng, n_lies=n_lies, stds=stds, c_max=c_max
    )


def grid_of(t: int, n_lies: int, seed: int = 0, **options: object) -> Told:
    """t readings of 12 points on a line."""
    rng = np.random.default_rng(seed)
    X = np.linspace(0.0, 1.0, 12)[:, None]
    return told(ub.Matern(2.5, 0.4), X, rng.integers(0, 12, t), rng, n_lies=n_lies, **options)


def random_multipliers(program: Program, rng: np.random.Generator) -> Multipliers:
    t, m = len(program.y), len(program.L)
    sizes = 10.0 ** rng.uniform(-2.0, 1.0, 4)
    p, h, q, w = (size * rng.standard_normal(k) for size, k in zip(sizes, (t, t, m, m), strict=True))
    return Multipliers(p, h, q, w[: len(program.Q)])


lies_told = st.integers(0, 6)
caps = st.sampled_from([None, 5.0, math.inf])
few = designs(n_max=8, t_max=20)


# --- the three events ---------------------------------------------------------------------------------


@law
@given(few)
def test_event_one_is_the_textbooks_with_the_noise_of_each_reading(design: Design) -> None:
    # Phi (lam I + Phi' W Phi)^-1 Phi' = (K - K (K + diag(lams))^-1 K) / lam, reading by reading
    case = of_design(design, 0)
    program, lam = case.one_program(), case.assumptions.lam
    lams = lam * (case.noise_std / NOISE_STD) ** 2
    K = design.kernel(case.points, case.points)[np.ix_(case.rows, case.rows)]
    smoothed = (K - K @ np.linalg.solve(K + np.diag(lams), K)) / lam
    noise = case.noise_std * design.rng.standard_normal(len(lams)) / program.scale
    pull = lam / lams * noise
    gathered = np.bincount(case.rows, program.omega * noise, minlength=len(case.points))
    squared = float(np.sum((program.Q @ gathered) ** 2))
    assert squared == pytest.approx(pull @ smoothed @ pull, rel=1e-4, abs=1e-6)
    gain = 0.5 * np.linalg.slogdet(np.eye(len(lams)) + K / lams[:, None])[1]
    expected = NOISE_STD * math.sqrt(2.0 * (gain + math.log(3.0 / case.assumptions.delta)))
    assert program.rho * program.scale == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("t", [1, 10, 1000])
def test_the_energy_of_the_noise_is_where_the_supermartingales_reach_villes_threshold(t: int) -> None:
    program = grid_of(t, 0).one_program()
    squares = (program.scale * program.E / NOISE_STD) ** 2
    thetas = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
    logarithms = 0.5 * thetas * squares + 0.5 * t * np.log(1.0 - thetas)
    assert logarithms.max() == pytest.approx(math.log(18.0 / 0.1))


# --- the certificate ----------------------------------------------------------------------------------


@law
@given(few, lies_told, caps)
def test_any_multipliers_bound_the_planted_total_from_below(
    design: Design, n_lies: int, c_max: float | None
) -> None:
    case = of_design(design, n_lies, c_max)
    program = case.one_program()
    t = len(case.y)
    for objective in (np.ones(t), np.eye(t)[0], np.zeros(t)):
        planted = float(objective @ np.abs(case.lies))
        solved = program.solve(objective, math.inf)[1]
        for C in (math.inf, 1.5 * case.planted + 0.1):
            for at in (
                solved,
                *(random_multipliers(program, design.rng) for _ in range(3)),
                Multipliers(solved.p * 3.0, solved.h * 2.0, -solved.q, solved.w * 0.5),
                Multipliers(-solved.p, solved.h, solved.q, solved.w),
            ):
                assert program.bound(at, objective, C) <= planted + 1e-9


@law
@given(few, lies_told, caps)
def test_any_multipliers_stay_below_the_optimum_and_the_solvers_own_reach_it(
    design: Design, n_lies: int, c_max: float | None
) -> None:
    case = of_design(design, n_lies, c_max)
    found = case.program().explain()
    scale = max(1.0, found.optimum)
    assert found.total <= found.optimum + 1e-6 * scale  # the solver's own tolerance
    assert found.total >= found.optimum - 1e-4 * scale
    program = case.one_program()
    solved = program.solve(np.ones(len(case.y)), math.inf)[1]
    for shake in (0.0, 0.01, 0.3):
        at = Multipliers(
            *(
                part * (1.0 + shake * design.rng.standard_normal(len(part)))
                for part in (solved.p, solved.h, solved.q, solved.w)
            )
        )
        assert program.bound(at, np.ones(len(case.y))) <= found.optimum + 1e-6 * scale


@law
@given(few, lies_told, caps)
def test_the_least_corruption_is_at_most_the_planted_total_and_is_not_refuted(
    design: Design, n_lies: int, c_max: float | None
) -> None:
    case = of_design(design, n_lies, c_max)
    found = case.program().explain()
    assert found.total <= case.planted + 1e-9
    assert found.optimum <= case.planted + 1e-6 * max(1.0, case.planted)
    assert not found.is_refuted
    assert found.probability == pytest.approx(0.9)


@law
@given(few)
def test_clean_readings_need_no_lies(design: Design) -> None:
    found = of_design(design, 0).program().explain()
    assert found.total == 0.0
    assert found.optimum < 1e-6


def test_clean_gaussian_readings_need_no_lies_either() -> None:
    for seed in range(20):
        case = grid_of(60, 0, seed)
        rng = np.random.default_rng([7, seed])
        noisy = replace(case, y=case.f[case.rows] + NOISE_STD * rng.standard_normal(60))
        assert noisy.program().explain().total == 0.0


def test_large_lies_are_found_nearly_whole() -> None:
    shares = []
    for seed in range(10):
        case = grid_of(120, 6, seed)
        found = case.program().explain()
        shares.append(found.total / case.planted)
        assert np.abs(found.lies).sum() == pytest.approx(found.optimum)
        honest = case.lies == 0.0
        assert np.abs(found.lies[honest]).sum() < 0.2 * found.optimum
    assert min(shares) > 0.5


# --- against other solvers ----------------------------------------------------------------------------


@law
@given(few, st.integers(1, 6), st.sampled_from([0.8, 2.0, math.inf]))
def test_where_no_cone_binds_the_optimum_is_a_linear_program(
    design: Design, n_lies: int, cap: float
) -> None:
    program = of_design(design, n_lies).one_program()
    program.B, program.E, program.rho = 1e5, 1e4, 1e4
    program.L = 0.1 * np.eye(len(program.L))  # every f within B0 is within reach of the norm
    program.c_max = 2.0 + cap
    t, m = len(program.y), len(program.L)
    gather = np.zeros((t, m))
    gather[np.arange(t), program.rows] = 1.0
    best = linprog(  # v, e, u
        np.concatenate([np.zeros(m + t), np.ones(t)]),
        A_ub=np.block([[-gather, -np.eye(t), -np.eye(t)], [gather, np.eye(t), -np.eye(t)]]),
        b_ub=np.concatenate([-program.y, program.y]),
        bounds=[
            *[(-1.0, 1.0)] * m,
            *zip(-program.r, program.r, strict=True),
            *[(0.0, None if math.isinf(cap) else program.c_max)] * t,
        ],
    )
    lies, at = program.solve(np.ones(t), math.inf)
    assert best.status == 0
    assert np.abs(lies).sum() == pytest.approx(program.scale * best.fun, rel=1e-5, abs=1e-6)
    assert program.bound(at, np.ones(t)) == pytest.approx(program.scale * best.fun, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("y", [0.3, 2.0, 5.0, -5.0])
def test_one_reading_must_lie_by_what_function_and_noise_cannot_reach(y: float) -> None:
    assumed = ub.Assumptions(
        ub.Matern(2.5, 1.0), B=1.0, B0=3.0, noise_std=0.1, lam=0.01, delta=0.1, c_max=10.0
    )
    case = LeastCorruption(np.zeros((1, 1)), np.zeros(1, dtype=int), np.array([y]), assumed)
    # three bounds on the noise: of event 2, of event 3, of event 1 with |Q s| = |e| / sqrt(1 + lam)
    gain = 0.5 * math.log(1.0 + 1.0 / 0.01)
    noise = min(
        0.1 * math.sqrt(2.0 * math.log(math.pi**2 / 0.1)),
        0.1 * math.sqrt(min((2 * math.log(180.0) - math.log(1 - s)) / s for s in (0.05, 0.4, 0.6, 0.8))),
        0.1 * math.sqrt(2.0 * (gain + math.log(30.0))) * math.sqrt(1.0 + 0.01),
    )
    expected = max(0.0, abs(y) - 1.0 - noise)
    found = case.explain()
    assert found.total == pytest.approx(expected, abs=1e-5)
    assert case.certain_lie(0) == pytest.approx(expected, abs=1e-5)
    assert found.lies[0] == pytest.approx(math.copysign(expected, y), abs=1e-5)


# --- single readings ----------------------------------------------------------------------------------


@law
@given(designs(n_max=6, t_max=12), st.integers(1, 4), caps)
def test_no_reading_is_called_a_larger_lie_than_it_is(
    design: Design, n_lies: int, c_max: float | None
) -> None:
    case = of_design(design, n_lies, c_max)
    program = case.program()
    for C in (math.inf, case.planted * 1.001 + 1e-6):
        for i in range(0, len(case.y), 3):
            assert program.certain_lie(i, C) <= abs(case.lies[i]) + 1e-9


def test_with_the_total_known_every_planted_lie_is_certain_and_no_honest_reading_is_accused() -> None:
    case = grid_of(60, 5, seed=3)
    program = case.program()
    without = [program.certain_lie(i) for i in range(60)]
    known = [program.certain_lie(i, case.planted) for i in range(60)]
    is_lie = case.lies != 0.0
    assert np.all(np.array(known)[is_lie] > 0.1)
    assert np.array_equal(np.array(known) > 0.0, is_lie)
    assert np.all(np.array(without) <= np.array(known) + 1e-6)  # one constraint more
    assert sum(value > 0.0 for value in without) < 5


# --- refutation ---------------------------------------------------------------------------------------


def test_readings_beyond_every_lie_within_the_cap_refute_the_assumptions() -> None:
    case = grid_of(30, 0)
    far = case.y.copy()
    far[4] += 4.0 * case.assumptions.B0  # f reaches B0 and a lie another B0
    found = replace(case, y=far).program().explain()
    assert found.is_refuted
    assert (found.total, found.optimum) == (math.inf, math.inf)
    assert np.isnan(found.lies).all()
    may_be_any = replace(case.assumptions, c_max=math.inf)
    found = replace(case, y=far, assumptions=may_be_any).program().explain()
    assert not found.is_refuted
    assert 2.0 * case.assumptions.B0 < found.total < 5.0 * case.assumptions.B0


def test_a_total_that_is_too_small_is_refuted() -> None:
    case = grid_of(80, 6)
    least = case.program().explain().total
    assert case.program().explain(0.9 * least).is_refuted
    assert not case.program().explain(1.1 * least).is_refuted


# --- what may be missing ------------------------------------------------------------------------------


def test_where_readings_are_missing_for_their_value_two_events_are_left_and_they_count_all() -> None:
    case = grid_of(60, 5, seed=1)
    whole = case.one_program()
    kept = np.flatnonzero(case.y > np.quantile(case.y, 0.2))
    selected = LeastCorruption(
        case.points,
        case.rows[kept],
        case.y[kept],
        case.assumptions,
        number=kept + 1,
        n_told=60,
        is_selected=True,
    )
    ((_, program),) = selected.parts
    assert not len(program.Q)
    np.testing.assert_array_equal(program.r, whole.r[kept])
    assert program.E == whole.E
    assert selected.explain().total <= np.abs(case.lies[kept]).sum()


def test_many_points_are_split_and_what_their_parts_need_is_added_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    X = rng.random((60, 2))
    case = told(ub.Matern(2.5, 0.4), X, np.r_[np.arange(60), rng.integers(0, 60, 40)], rng, n_lies=8)
    whole = case.program(is_selected=True).explain()
    monkeypatch.setattr(least_corruption, "M_WHOLE", 30)
    split = case.program()
    parts = [held for held, _ in split.parts]
    assert sorted(np.concatenate(parts)) == list(range(100))
    assert [len(program.L) for _, program in split.parts] == [15] * 4
    for one, other in itertools.combinations(parts, 2):
        assert not set(case.rows[one]) & set(case.rows[other])
    found = split.explain()
    assert 0.0 < found.total <= whole.optimum + 1e-6
    assert found.total <= case.planted
    assert np.abs(found.lies).sum() == pytest.approx(found.optimum)
    for i in np.flatnonzero(case.lies)[:3]:
        assert split.certain_lie(int(i), case.planted) <= abs(case.lies[i])


def test_above_five_hundred_points_event_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = grid_of(40, 3)
    monkeypatch.setattr(least_corruption, "M_EVENT_1", 11)
    assert not len(case.one_program().Q)
    monkeypatch.setattr(least_corruption, "M_EVENT_1", 12)
    assert len(case.one_program().Q) == 12


def test_without_noise_and_without_readings_there_is_an_answer() -> None:
    case = grid_of(60, 4)
    exact = replace(
        case,
        assumptions=replace(case.assumptions, noise_std=0.0),
        y=case.f[case.rows] + case.lies,
    )
    found = exact.program(noise_std=None).explain()
    assert 0.95 * case.planted < found.total <= case.planted
    nothing = LeastCorruption(np.zeros((0, 1)), np.zeros(0, dtype=int), np.zeros(0), case.assumptions)
    assert nothing.explain().total == 0.0


def test_units_do_not_matter() -> None:
    case = grid_of(60, 4)
    found = case.program().explain()
    a = case.assumptions
    larger = replace(
        case,
        y=100.0 * case.y,
        noise_std=100.0 * case.noise_std,
        assumptions=replace(
            a, B=100 * a.B, B0=100 * a.B0, noise_std=100 * a.noise_std, c_max=100 * a.c_max
        ),
    )
    assert larger.program().explain().total == pytest.approx(100.0 * found.total, rel=1e-6)
    i = int(np.argmax(np.abs(case.lies)))
    for C in (math.inf, case.planted):
        one = case.program().certain_lie(i, C)
        assert larger.program().certain_lie(i, 100.0 * C) == pytest.approx(100 * one, rel=1e-5, abs=1e-5)


def test_without_clarabel_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "unbribable\[audit\]"'):
        grid_of(10, 1).program().explain()
