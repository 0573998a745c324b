"""CW-GP-UCB: weights by confidence, closed and exact widths, certificates for any C."""

import math

import numpy as np
import pytest

import unbribable as ub
from games import Design, is_too_often, random_function
from unbribable import lab
from unbribable.lab.rivals import CWGPUCB
from unbribable.lab.rivals.cw_gp_ucb import growth
from unbribable.lab.world.adversaries import WidthAware
from unbribable.lab.world.objectives import Objective
from unbribable.theory.widths import radius, shift_exact

X = np.linspace(0.0, 1.0, 15)[:, None]
DOMAIN = ub.Grid(X)
KERNEL = ub.SquaredExponential(0.3)
KNOWN = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.05, lam=0.05, delta=0.2, c_max=1.0)
RULES = pytest.mark.parametrize("rule", ["after", "before"])


def play_alike(one: ub.Player, other: ub.Player, T: int = 40, *, atol: float = 0.0) -> None:
    """Both get the same readings; all queries must be the same, and say the same."""
    rng = np.random.default_rng(0)
    for _ in range(T):
        a, b = one.ask(), other.ask()
        assert a.index == b.index
        said = (a.mu, a.sigma, a.width), (b.mu, b.sigma, b.width)
        np.testing.assert_allclose(*said, rtol=0.0, atol=atol)
        y = float(0.4 * np.sin(6 * a.x[0]) + 0.05 * rng.standard_normal())
        one.tell(a, y)
        other.tell(b, y)


@RULES
@pytest.mark.parametrize("width", ["closed", "exact"])
@pytest.mark.parametrize(("C", "atol"), [(0.0, 0.0), (1e-300, 1e-12)])
def test_without_corruption_it_is_gp_ucb_bit_for_bit(
    C: float, atol: float, width: str, rule: str
) -> None:
    """And in the limit up to rounding, which depends on how R is kept."""
    cw, plain = CWGPUCB(DOMAIN, KNOWN, C=C, width=width, rule=rule), ub.GPUCB(DOMAIN, KNOWN)
    play_alike(cw, plain, atol=atol)
    assert cw.weights == [1.0] * 40
    np.testing.assert_allclose(cw.bounds(), plain.bounds(), rtol=0.0, atol=atol)


@RULES
def test_if_no_weight_is_ever_reduced_it_is_robust_gp_ucb(rule: str) -> None:
    cw = CWGPUCB(DOMAIN, KNOWN, C=3.5, kappa=math.inf, rule=rule)
    plain = ub.RobustGPUCB(DOMAIN, KNOWN, C=3.5)
    play_alike(cw, plain)
    np.testing.assert_allclose(cw.bounds(), plain.bounds(), atol=1e-12)
    # its certificate is that of the intervals; the plain one looks at pairs of points, too
    best, (lower, upper) = cw.recommend(), plain.bounds()
    assert best.index == plain.recommend().index
    assert best.regret_bound == pytest.approx(np.delete(upper, best.index).max() - lower[best.index])
    assert plain.recommend().regret_bound <= best.regret_bound


ONE = ub.Grid([[0.0]])


def test_one_arm_that_is_read_with_full_weight_has_the_textbook_variance() -> None:
    cw = CWGPUCB(ONE, KNOWN, C=1e-3)
    for t in range(1, 8):
        cw.tell(cw.ask(), 0.3)
        assert cw.ask().sigma ** 2 == pytest.approx(KNOWN.lam / (KNOWN.lam + t), rel=1e-12)
    assert cw.weights == [1.0] * 7


def test_the_first_weight_is_the_printed_one_and_spends_the_allowance_exactly() -> None:
    C = 40.0
    beta = 1.0 + radius(0.05, 0.05, 0.0, 0.1)
    a = math.sqrt(0.05) * beta / C
    after, before = (CWGPUCB(ONE, KNOWN, C=C, rule=rule) for rule in ("after", "before"))
    for cw in (after, before):
        cw.tell(cw.ask(), 0.3)
    w = a * (a + math.sqrt(a * a + 0.2)) / 2
    assert after.weights == [pytest.approx(w, rel=1e-14)]
    assert w / math.sqrt(0.05 + w) == pytest.approx(a, abs=1e-14)
    assert before.weights == [pytest.approx(a * math.sqrt(0.05), rel=1e-14)]
    assert before.weights[0] < after.weights[0] < 1.0
    assert after._u == [pytest.approx(a, abs=1e-14)] == before._u


def test_the_closed_form_is_a_knapsack_of_what_each_reading_may_move() -> None:
    cw = CWGPUCB(DOMAIN, KNOWN, C=3.3, width="closed")
    assert cw.coefficient(3.3) == 0.0
    for k in range(12):
        cw.tell(cw.ask(), math.sin(k) / 3)
        u = np.sort(cw._u)[:, None]
        for C in (0.4, 1.0, 2.5, 3.3, 80.0):
            knapsack = float(shift_exact(u, np.ones(len(u)), C, KNOWN.c_max)[0]) / math.sqrt(KNOWN.lam)
            capped = math.sqrt(C * min(C, KNOWN.c_max) / KNOWN.lam)
            assert cw.coefficient(C) == pytest.approx(min(knapsack, capped), rel=1e-12)


@pytest.mark.parametrize("width", ["exact", "closed"])
def test_bounds_for_another_corruption_allow_for_its_worst_lies(width: str) -> None:
    cw = CWGPUCB(DOMAIN, KNOWN, C=1.5, width=width)
    for k in range(40):
        cw.tell(cw.ask(), math.sin(k) / 9)
    indices = np.array([i for i, _ in cw.readings])
    lams = KNOWN.lam / np.array(cw.weights)
    assert len(set(cw.weights)) > 5
    weights = Design(KERNEL, X, KNOWN.lam, indices, lams, np.random.default_rng(0)).weights()
    for C in (2.0, 4.5, 20.0):
        worst = shift_exact(np.abs(weights), np.ones(40), C, KNOWN.c_max)
        held = cw._held_for(C)
        allowed = (held.upper - held.lower) / 2 - cw._main.noise
        assert (allowed >= worst * (1 - 1e-9)).all()
        assert (allowed[indices] <= 4.0 * worst[indices]).all()


def test_on_a_linear_kernel_it_is_cw_oful() -> None:
    """theta = V^-1 sum w x y, V = lam I + sum w x x', w = min(1, a sqrt(lam) / s)."""
    points = np.random.default_rng(3).uniform(-1, 1, (12, 2))
    scale, lam, C = 2.0, 0.3, 2.5
    known = ub.Assumptions(ub.Linear(scale), B=1.0, B0=1.0, noise_std=0.1, lam=lam, delta=0.1)
    cw = CWGPUCB(ub.Grid(points), known, C=C, rule="before", width="closed", noise="paper")
    z, rng = points / scale, np.random.default_rng(4)
    v, b, n_reduced, top = lam * np.eye(2), np.zeros(2), 0, 0.0
    for _ in range(60):
        inverse = np.linalg.inv(v)
        sigma = np.sqrt(lam * np.einsum("id,de,ie->i", z, inverse, z))
        gain = 0.5 * np.log(np.linalg.det(v / lam))
        beta = 1.0 + 0.1 / math.sqrt(lam) * math.sqrt(2 * (gain + math.log(10.0)))
        query = cw.ask()
        assert query.mu == pytest.approx(z[query.index] @ inverse @ b, abs=1e-10)
        assert query.sigma == pytest.approx(sigma[query.index], abs=1e-10)
        assert query.width <= (beta + C * top / math.sqrt(lam)) * query.sigma + 1e-12
        w = min(1.0, math.sqrt(lam) * beta / C * math.sqrt(lam) / sigma[query.index])
        top = max(top, w * sigma[query.index] / math.sqrt(lam))
        n_reduced += w < 1.0
        y = float(points[query.index, 0] + 0.1 * rng.standard_normal())
        cw.tell(query, y)
        assert cw.weights[-1] == pytest.approx(w, abs=1e-10)
        v = v + w * np.outer(z[query.index], z[query.index])
        b = b + w * y * z[query.index]
    assert 5 < n_reduced < 60


@RULES
@pytest.mark.parametrize("lam", [1e-3, 0.05, 1.0, 10.0])
@pytest.mark.parametrize("c_max", [0.4, math.inf])
def test_the_closed_width_is_never_below_the_exact_one(lam: float, c_max: float, rule: str) -> None:
    known = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.1, lam=lam, c_max=c_max)
    exact = CWGPUCB(DOMAIN, known, C=4.0, rule=rule)
    ratios = []
    for k in range(40):
        exact.tell(exact.ask(), math.sin(k))
        main = exact._main
        ratios.append(np.max((main.width - main.noise) / (exact.coefficient(4.0) * main.sigma)))
        u_max = exact._u[-1]
        assert exact.coefficient(4.0) <= 4.0 * u_max / math.sqrt(lam) * (1 + 1e-12)
        assert u_max <= exact._a * (1 + 1e-12)
    assert max(ratios) <= 1.0 + 1e-6
    assert max(ratios) > 0.5


def test_the_constants_of_the_regret_bound_are_the_printed_ones() -> None:
    assert [growth(lam) for lam in (1.0, 0.1, 0.01)] == pytest.approx([1.020, 1.257, 2.156], abs=1e-3)
    assert 8.0 * growth(1.0) == pytest.approx(8.16, abs=5e-3)
    assert 8.0 * growth(1.0, "before") == pytest.approx(11.54, abs=5e-3)
    assert 4.0 * math.sqrt(2.0 / math.log(2.0)) == pytest.approx(6.79, abs=5e-3)


def test_an_unknown_corruption_has_a_stand_in() -> None:
    assert CWGPUCB(DOMAIN, KNOWN, Cbar="sqrt", T=400).C == 20.0
    assert CWGPUCB(DOMAIN, KNOWN, C=3.0, Cbar=7.0).C == 7.0
    balanced = CWGPUCB(DOMAIN, KNOWN, Cbar="balanced", T=400)
    gamma = ub.MaxInformationGain(KERNEL, X, KNOWN.lam).upper(400)
    beta, zeta = 1.0 + radius(0.05, 0.05, gamma, 0.1), math.log(1 + 1 / 0.05)
    noise = beta * math.sqrt(2 * 400 * gamma / zeta)
    assert 2 * growth(0.05) * balanced.C * gamma == pytest.approx(noise)
    assert balanced.knowledge["C"] == balanced.C
    assert balanced.knowledge["Cbar"] == "balanced"
    with pytest.raises(ValueError, match="Cbar='sqrt' needs T"):
        CWGPUCB(DOMAIN, KNOWN, Cbar="sqrt")
    with pytest.raises(ValueError, match="Cbar must be one of 'sqrt', 'balanced'"):
        CWGPUCB(DOMAIN, KNOWN, Cbar="much", T=4)
    with pytest.raises(TypeError, match="C must be a real number, got C=None; for an unknown C"):
        CWGPUCB(DOMAIN, KNOWN)


def test_certificates_grow_with_the_corruption_they_allow_for() -> None:
    cw = CWGPUCB(DOMAIN, KNOWN, C=2.0)
    for k in range(60):
        cw.tell(cw.ask(), math.sin(k) / 9)
    best = cw.recommend()
    levels = [level.regret_bound for level in best.levels]
    assert [level.C for level in best.levels] == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1]
    assert levels[3] <= best.regret_bound + 1e-12
    assert best.levels[0].threat == "strong"
    more = cw.recommend(C=5.0)
    assert more.threat == "strong"
    assert more.regret_bound > best.regret_bound
    assert "total corruption at most 5 and no single lie above 1," in more.guarantee


def test_what_was_told_out_of_order_is_supposed_not_to_depend_on_values() -> None:
    cw = CWGPUCB(DOMAIN, KNOWN, C=2.0)
    queries = [cw.ask() for _ in range(3)]
    assert len({query.index for query in queries}) == 3  # what is pending is reckoned with
    cw.tell(queries[0], 0.1)
    assert "order of telling" not in str(cw.guarantee)
    cw.tell(queries[2], 0.1)
    assert "if the order of telling does not depend on the values" in str(cw.guarantee)


def failures(told: float, spent: float, n_games: int, *, asks_about: float | None = None) -> int:
    """Games under WidthAware, of budget `spent`, in which some bound failed.

    With `asks_about`, it is the interval of `recommend(C=asks_about)` that is looked at.
    """
    failed = 0
    for game in range(n_games):
        rng = np.random.default_rng([7, game])
        f = random_function(KERNEL, X, rng, 1.0)
        objective = Objective("random", X, f, 1.0, KERNEL)
        liar = WidthAware(objective, kernel=KERNEL, lam=KNOWN.lam)
        world = lab.Environment(
            objective, noise_std=0.05, adversary=liar, C=spent, c_max=1.0, threat="strong"
        )
        words = [{}, {"rule": "before"}, {"width": "closed"}, {"noise": "paper"}][game % 4]
        player = CWGPUCB(DOMAIN, KNOWN, C=told, **words)
        record = lab.simulate(player, world, 40, game)
        if asks_about is None:
            failed += not record.meta["covered"]["main"]
            continue
        best = player.recommend(C=asks_about)
        assert best.regret_bound is not None
        is_inside = best.lower - 1e-9 <= f[best.index] <= best.upper + 1e-9
        failed += not (is_inside and f.max() - f[best.index] <= best.regret_bound + 1e-9)
    return failed


@pytest.mark.long
def test_its_bounds_hold_under_a_strong_adversary_within_the_budget_alone() -> None:
    assert not is_too_often(failures(3.0, 3.0, 60), 60, KNOWN.delta)
    assert is_too_often(failures(0.3, 6.0, 30), 30, KNOWN.delta)


def test_certificates_hold_for_any_corruption_asked_about_afterwards() -> None:
    assert not is_too_often(failures(0.5, 6.0, 40, asks_about=6.0), 40, KNOWN.delta)
