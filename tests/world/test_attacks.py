"""Each attack does what its formula says, worked out here once more by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import law
from unbribable import lab
from unbribable.lab.world import adversaries as liars
from unbribable.lab.world.adversaries import Observation
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.lab.world.objectives import Objective
from world.members import KERNEL, LAM, NOISE_STD, far_half, objective, play, view_of, world

f = objective(21)
all_points = np.arange(21)
x = f.X[:, 0]
x_star = x[f.best]
nothing = Observation(f=0.0, noise=0.0, c=0.0, y_tilde=0.0, charge=0.0)


def lies(adversary, indices=all_points, *, of=f, rng=None, **seen):
    """What it wants at these points."""
    rng = np.random.default_rng(0) if rng is None else rng
    return adversary.commit(view_of(of, indices, **seen), rng)


def test_the_small_world_is_what_these_tests_take_it_for():
    assert x_star == pytest.approx(0.25, abs=0.06)
    assert f.f_max > f.f[far_half(f)].max() > 0.0 > f.f.min()


def test_no_adversary_never_lies():
    assert not lies(liars.NoAdversary()).any()


# --- regions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1 / 3, 0.5])
def test_region_subtraction_lowers_by_a_share_of_the_maximum_near_the_maximiser(share):
    c = lies(liars.RegionSubtraction(f, radius=0.12, share=share))
    expected = [-share * f.f_max if abs(a - x_star) <= 0.12 else 0.0 for a in x]
    assert c == pytest.approx(expected)
    assert 0 < np.count_nonzero(c) < len(c)


def test_region_subtraction_uses_a_third_unless_told():
    assert lies(liars.RegionSubtraction(f, radius=0.1), [f.best])[0] == pytest.approx(-f.f_max / 3)


def bump(z, is_smooth):
    norm2 = sum(float(a) ** 2 for a in np.atleast_1d(z))
    if norm2 >= 1.0:
        return 0.0
    return math.exp(1.0 - 1.0 / (1.0 - norm2)) if is_smooth else 1.0


@pytest.mark.parametrize("is_smooth", [True, False])
def test_subtraction_subtracts_its_bump(is_smooth):
    attack = liars.Subtraction(np.array([0.3]), scale=0.2, height=1.5, is_smooth=is_smooth)
    expected = [-1.5 * bump((a - 0.3) / 0.2, is_smooth) for a in x]
    assert lies(attack) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("is_smooth", [True, False])
def test_subtraction_takes_one_scale_a_coordinate(is_smooth):
    grid = np.stack(np.meshgrid(np.linspace(-5, 10, 13), np.linspace(0, 15, 13)), axis=-1).reshape(-1, 2)
    branin = TEST_FUNCTIONS["branin"].on(grid)
    centre, scale = np.array([6.283, 2.375]), np.array([5.0, 4.0])
    attack = liars.Subtraction(centre, scale=scale, height=2.0, is_smooth=is_smooth)
    expected = [-2.0 * bump((point - centre) / scale, is_smooth) for point in grid]
    assert lies(attack, np.arange(169), of=branin) == pytest.approx(expected, abs=1e-15)
    assert 0 < np.count_nonzero(expected) < 169


def test_a_smooth_bump_is_whole_at_its_centre_and_gone_at_its_edge():
    attack = liars.Subtraction(np.array([0.5]), scale=0.25, height=1.0)
    c = lies(attack)
    assert c[10] == -1.0
    assert c[[5, 15]].tolist() == [0.0, 0.0]
    assert (np.diff(np.abs(c[10:16])) < 0.0).all()


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_clipping_leaves_nothing_outside_above_the_best_inside(margin):
    inside = far_half(f)
    c = lies(liars.Clipping(f, inside, margin=margin))
    best_inside = max(value for value, i in zip(f.f, inside, strict=True) if i)
    for value, is_in, lie in zip(f.f, inside, c, strict=True):
        expected = 0.0 if is_in else min(value, best_inside - margin) - value
        assert lie == pytest.approx(expected, abs=1e-15)
        assert lie <= 0.0
    assert (f.f + c)[~inside].max() == pytest.approx(best_inside - margin)


def test_aggressive_subtraction_lowers_all_that_lies_outside():
    inside = far_half(f)
    c = lies(liars.AggressiveSubtraction(inside, height=0.8))
    assert c.tolist() == [0.0 if i else -0.8 for i in inside]


@law
@given(
    played=st.lists(st.booleans(), max_size=40),
    step=st.sampled_from([0.1, 0.5]),
    patience=st.integers(1, 5),
)
def test_adaptive_strength_weakens_while_the_learner_stays_and_grows_when_it_leaves(
    played, step, patience
):
    inside = far_half(f)
    somewhere = {True: int(np.flatnonzero(inside)[0]), False: int(np.flatnonzero(~inside)[0])}
    base = liars.AggressiveSubtraction(inside, height=0.8)
    attack = liars.AdaptiveStrength(base, inside, step=step, patience=patience)
    strength = 1.0
    for k in range(len(played)):
        assert lies(attack) == pytest.approx(strength * lies(base))
        attack.saw(somewhere[played[k]], "main", nothing)
        last = played[max(0, k + 1 - patience) : k + 1]
        is_won = len(last) == patience and all(last)
        strength *= 1.0 - step if is_won else 1.0 + step
    assert attack.strength == pytest.approx(strength)
    attack.reset()
    assert lies(attack) == pytest.approx(lies(base))


@pytest.mark.parametrize("is_inside", [False, True])
def test_adaptive_strength_survives_a_long_game(is_inside):
    """20 000 rounds on one side: 1.1^20000 and 0.9^20000 are no floats."""
    inside = far_half(f)
    base = liars.AggressiveSubtraction(inside, height=0.8)
    attack = liars.AdaptiveStrength(base, inside)
    for _ in range(20_000):
        attack.saw(int(np.flatnonzero(inside == is_inside)[0]), "main", nothing)
    assert np.isfinite(lies(attack)).all()
    before = attack.strength
    attack.saw(int(np.flatnonzero(~inside)[0]), "main", nothing)
    if is_inside:
        assert attack.strength > before  # it can still grow again


def test_adaptive_strength_tells_its_base_what_it_saw():
    base = liars.WidthAware(f, kernel=KERNEL, lam=LAM, threshold=0.0)
    other = liars.WidthAware(f, kernel=KERNEL, lam=LAM, threshold=0.0)
    attack = liars.AdaptiveStrength(base, far_half(f))
    for index, value in ((3, 0.5), (15, -0.2)):
        seen = Observation(f=value, noise=0.0, c=0.0, y_tilde=value, charge=0.0)
        attack.saw(index, "main", seen)
        other.saw(index, "main", seen)
    assert lies(attack, left=1.0) == pytest.approx(attack.strength * lies(other, left=1.0))


@pytest.mark.parametrize(
    "target",
    [np.ones(21, dtype=bool), np.zeros(21, dtype=bool), np.ones(21), np.ones((21, 1), dtype=bool)],
    ids=["all", "none", "not booleans", "a column"],
)
def test_a_target_must_be_a_part_of_the_domain(target):
    with pytest.raises(ValueError, match="target must be"):
        liars.AggressiveSubtraction(target, height=1.0)
    with pytest.raises(ValueError, match="target must be"):
        liars.Clipping(f, target)


# --- points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [1, 3, 5, 21])
def test_top_k_lowers_the_k_best_points_to_minus_one(K):
    c = lies(liars.TopK(f, K=K, min_probability=0.0))
    best = sorted(range(21), key=lambda i: -f.f[i])[:K]
    assert c == pytest.approx([-1.0 - f.f[i] if i in best else 0.0 for i in range(21)])


def test_top_k_lowers_and_never_raises():
    low = Objective("low", f.X, f.f - 2.0)
    c = lies(liars.TopK(low, K=21, value=-1.5), of=low)
    assert c == pytest.approx([min(-1.5 - value, 0.0) for value in low.f])
    assert (c == 0.0).any()


@pytest.mark.parametrize(
    ("min_probability", "on_top", "is_committed"),
    [
        (0.5, 0.49, False),
        (0.5, 0.5, True),
        (0.5, 0.9, True),
        (0.0, 0.01, True),
        (1.0, 0.99, False),
        (1.0, 1.0, True),
    ],
)
def test_top_k_pays_only_where_the_proposal_makes_it_worth_it(min_probability, on_top, is_committed):
    attack = liars.TopK(f, K=2, min_probability=min_probability)
    first, second, other = *np.argsort(-f.f)[:2], int(np.argmin(f.f))
    chances = [on_top / 4, 3 * on_top / 4, 1.0 - on_top]
    c = lies(attack, [first, second, other], probabilities=chances)
    assert (c[0] != 0.0) == (c[1] != 0.0) == is_committed
    assert c[2] == 0.0


def test_top_k_commits_on_half_the_probability_unless_told():
    other = int(np.argmin(f.f))
    assert not lies(liars.TopK(f), [f.best, other], probabilities=[0.49, 0.51]).any()
    assert lies(liars.TopK(f), [f.best, other], probabilities=[0.5, 0.5]).any()


def test_flip_turns_every_value_round():
    assert f.f + lies(liars.Flip(f)) == pytest.approx(-f.f)


def test_random_lies_are_normal_and_as_frequent_as_told():
    attack = liars.RandomLies(std=0.4, mean=-0.3, frequency=0.6)
    rng = np.random.default_rng(5)
    c = np.concatenate([lies(attack, rng=rng) for _ in range(500)])
    told = c[c != 0.0]
    n = len(c)
    assert len(told) == pytest.approx(0.6 * n, abs=4 * math.sqrt(0.24 * n))
    assert told.mean() == pytest.approx(-0.3, abs=4 * 0.4 / math.sqrt(len(told)))
    assert told.std() == pytest.approx(0.4, rel=4 / math.sqrt(2 * len(told)))


def test_random_lies_of_no_spread_are_the_mean_and_of_no_frequency_none():
    assert lies(liars.RandomLies(std=0.0, mean=0.7)).tolist() == [0.7] * 21
    assert not lies(liars.RandomLies(std=1.0, frequency=0.0)).any()


def test_random_lies_depend_on_the_stream_alone():
    attack = liars.RandomLies(std=1.0)
    first, again = (lies(attack, rng=np.random.default_rng(8)) for _ in range(2))
    other = lies(attack, rng=np.random.default_rng(9))
    assert first.tolist() == again.tolist() != other.tolist()


def test_hide_and_decoy_hides_the_maximiser_and_raises_the_decoy():
    c = lies(liars.HideAndDecoy(f, radius=0.12, low=-1.0, high=1.0))
    far = [i for i in range(21) if abs(x[i] - x_star) > 0.24]
    decoy = max(far, key=lambda i: f.f[i])
    for i in range(21):
        if abs(x[i] - x_star) <= 0.12:
            assert f.f[i] + c[i] == pytest.approx(-1.0)
        elif abs(x[i] - x[decoy]) <= 0.12:
            assert f.f[i] + c[i] == pytest.approx(1.0)
        else:
            assert c[i] == 0.0


def test_hide_and_decoy_takes_the_decoy_it_is_given():
    c = lies(liars.HideAndDecoy(f, radius=0.04, low=-1.0, high=2.0, decoy=20))
    assert np.flatnonzero(c).tolist() == [f.best, 20]
    assert f.f[20] + c[20] == pytest.approx(2.0)


def test_a_decoy_too_far_to_exist_is_refused():
    with pytest.raises(ValueError, match="a decoy must lie 4 from the maximiser"):
        liars.HideAndDecoy(f, radius=2.0, low=-1.0, high=1.0)


def test_zero_out_leaves_nothing_but_noise():
    assert f.f + lies(liars.ZeroOut(f)) == pytest.approx(np.zeros(21), abs=1e-15)


def rounds_lied_to(C, indices):
    """Which rounds ZeroOut lies in, where these points are played."""
    environment = world(liars.ZeroOut(f), f=f, C=C)
    observations = []
    for i in indices:
        environment.face(np.array([i]), np.ones(1), ("main",))
        observations.append(environment.answer(int(i)))
    return [t for t, seen in enumerate(observations, 1) if seen.c != 0.0]


@pytest.mark.parametrize("share", [0.0, 0.99, 1.0, 3.0, 4.5])
def test_zero_out_lasts_for_the_budget_over_the_largest_value(share):
    assert rounds_lied_to(share * f.B0, [f.best] * 8) == list(range(1, math.floor(share) + 1))


def test_zero_out_lasts_no_longer_where_the_values_are_small():
    """The first floor(C / max|f|) rounds, whatever is played in them."""
    small = int(np.argmin(np.where(np.abs(f.f) > 0.05, np.abs(f.f), np.inf)))
    assert rounds_lied_to(3.0 * f.B0, [small] * 12) == [1, 2, 3]


# --- cunning ----------------------------------------------------------------------------------------


def posterior_mean(indices, y, at):
    """The textbook mean."""
    K = KERNEL(f.X[indices], f.X[indices]) + LAM * np.eye(len(indices))
    return KERNEL(f.X[at], f.X[indices]) @ np.linalg.solve(K, y)


@law
@given(
    past=st.lists(st.integers(0, 20), max_size=20),
    seed=st.integers(0, 1000),
    c_max=st.sampled_from([0.3, 2.0]),
    left=st.sampled_from([0.1, 0.7, 5.0]),
)
def test_width_aware_lies_so_that_the_mean_falls_at_the_maximiser_against_the_decoy(
    past, seed, c_max, left
):
    decoy, threshold = 15, 0.1
    attack = liars.WidthAware(f, kernel=KERNEL, lam=LAM, decoy=decoy, threshold=threshold)
    y = f.f[past] + 0.1 * np.random.default_rng(seed).standard_normal(len(past))
    for i, value in zip(past, y, strict=True):
        attack.saw(i, "main", Observation(f=0.0, noise=0.0, c=0.0, y_tilde=float(value), charge=0.0))
    c = lies(attack, left=left, c_max=c_max)
    for i in range(21):
        indices = [*past, i]
        honest, lied = (
            posterior_mean(indices, np.array([*y, f.f[i] + lie]), [f.best, decoy]) for lie in (0.0, 1.0)
        )
        effect = (lied[0] - lied[1]) - (honest[0] - honest[1])  # of a lie of one unit
        if abs(abs(effect) - threshold) < 1e-9:
            continue
        if abs(effect) < threshold:
            assert c[i] == 0.0
        else:
            assert abs(c[i]) == min(c_max, left)
            assert c[i] * effect < 0.0


def test_width_aware_does_nothing_without_money():
    assert not lies(liars.WidthAware(f, kernel=KERNEL, lam=LAM), left=0.0).any()


def test_width_aware_chooses_the_best_far_point_as_its_decoy():
    far = [i for i in range(21) if abs(x[i] - x_star) > 0.32]
    decoy = max(far, key=lambda i: f.f[i])
    chosen = liars.WidthAware(f, kernel=KERNEL, lam=LAM, decoy_distance=0.32)
    given_ = liars.WidthAware(f, kernel=KERNEL, lam=LAM, decoy=decoy)
    assert lies(chosen, left=1.0).tolist() == lies(given_, left=1.0).tolist()


def harm(adversary, design, seed, decoy):
    """How far the lies, once all readings are in, lower mu(x*) - mu(decoy); and what they cost."""
    environment = world(adversary, f=f, C=4.0)
    environment.reset(np.random.default_rng(seed), np.random.default_rng(seed + 1))
    seen = []
    for i in design:
        environment.face(np.array([i]), np.ones(1), ("main",))
        seen.append(environment.answer(int(i)))
    shift = posterior_mean(design, np.array([o.c for o in seen]), [f.best, decoy])
    return shift[1] - shift[0], environment.ledger.spent


def test_width_aware_does_more_harm_per_unit_of_budget_than_random_spending():
    decoy = 15
    aware, blind = [], []
    for seed in range(30):
        design = np.random.default_rng(seed).integers(0, 21, 40)
        attack = liars.WidthAware(f, kernel=KERNEL, lam=LAM, decoy=decoy, threshold=0.4)
        damage, spent = harm(attack, design, seed, decoy)
        aware.append(damage / spent)
        damage, spent = harm(liars.RandomLies(std=1.0), design, seed, decoy)
        blind.append(damage / spent)
        lowering = liars.RandomLies(std=0.0, mean=-f.B0, frequency=0.3)
        damage, spent = harm(lowering, design, seed, decoy)
        blind.append(damage / spent)
    assert np.mean(np.array(aware) > 0.0) >= 0.8
    assert np.mean(aware) > 3.0 * max(np.mean(blind), 0.0)
    assert np.mean(aware) > np.quantile(blind, 0.9)


@pytest.mark.parametrize("n_std", [0.5, 2.0])
def test_silent_cuts_the_lies_of_another_attack_to_its_band(n_std):
    base = liars.Flip(f)
    band = n_std * NOISE_STD
    c = lies(liars.Silent(base, noise_std=NOISE_STD, n_std=n_std))
    for cut, whole in zip(c, lies(base), strict=True):
        assert cut == pytest.approx(math.copysign(min(abs(whole), band), whole))
    assert np.abs(c).max() == pytest.approx(band)


def test_silent_lies_are_within_two_noise_deviations_in_a_game():
    attack = liars.Silent(liars.Flip(f), noise_std=NOISE_STD)
    algorithm = ub.GPUCB(ub.Grid(f.X), ub.Assumptions(KERNEL, B=3.0, B0=f.B0, noise_std=0.1, lam=LAM))
    record = play(algorithm, world(attack, f=f), 30)
    assert np.abs(record.columns["c"]).max() <= 2.0 * NOISE_STD + 1e-15
    assert record.columns["c"].any()


def test_instance_targeting_lies_to_its_instance_alone():
    attack = liars.InstanceTargeting(liars.Flip(f), instance="slow")
    for label in ("slow", "fast", "all", None):
        c = lies(attack, [f.best], instances=((label,),))
        assert c[0] == (-2.0 * f.f_max if label == "slow" else 0.0)
    assert attack.needs_strong


def test_instance_targeting_spends_only_in_its_rounds_of_a_game():
    attack = liars.InstanceTargeting(liars.Flip(f), instance="slow")
    made = ub.Assumptions(KERNEL, B=3.0, B0=f.B0, noise_std=NOISE_STD, lam=LAM)
    algorithm = ub.FastSlowGPUCB(ub.Grid(f.X), made, C=4.0, seed=1)
    record = play(algorithm, world(attack, f=f, threat="strong"), 30)
    is_slow = record.columns["instance"] == record.meta["instances"].index("slow")
    assert record.columns["charge"][is_slow].any()
    assert not record.columns["charge"][~is_slow].any()


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: liars.RegionSubtraction(f, radius=0.0), "radius must be"),
        (lambda: liars.RegionSubtraction(f, radius=0.1, share=-1.0), "share must be"),
        (lambda: liars.Subtraction(np.array([0.5]), scale=0.1, height=0.0), "height must be"),
        (lambda: liars.Clipping(f, far_half(f), margin=-0.1), "margin must be"),
        (lambda: liars.AggressiveSubtraction(far_half(f), height=math.nan), "height must be"),
        (lambda: liars.AdaptiveStrength(liars.Flip(f), far_half(f), step=1.0), "step must be"),
        (lambda: liars.AdaptiveStrength(liars.Flip(f), far_half(f), patience=0), "patience must be"),
        (lambda: liars.TopK(f, K=0), "K must be >= 1, got K=0"),
        (lambda: liars.TopK(f, min_probability=-0.1), "min_probability must be"),
        (lambda: liars.RandomLies(std=-1.0), "std must be"),
        (lambda: liars.HideAndDecoy(f, radius=0.1, low=math.nan, high=1.0), "low must be"),
        (lambda: liars.WidthAware(f, kernel=KERNEL, lam=0.0), "lam must be"),
        (lambda: liars.WidthAware(f, kernel=KERNEL, lam=1.0, threshold=-1.0), "threshold must be"),
        (lambda: liars.Silent(liars.Flip(f), noise_std=0.0), "noise_std must be"),
        (lambda: liars.Silent(liars.Flip(f), noise_std=0.1, n_std=0.0), "n_std must be"),
    ],
)
def test_a_constructor_refuses_what_makes_no_sense(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize("threat", ["weak", "strong"])
def test_later_begins_where_the_players_own_bounds_first_rule_somebody_out(threat):
    player = ub.GPUCB(
        ub.Grid(f.X), ub.Assumptions(KERNEL, B=1.0, B0=1.0, c_max=1.0, noise_std=NOISE_STD)
    )
    is_out = []

    class Watched(liars.Later):
        def commit(self, view, rng):
            lower, upper = view.bounds()
            is_out.append(bool((upper < lower.max()).any()))
            return super().commit(view, rng)

    attack = Watched(liars.RandomLies(std=0.0, mean=-0.3))
    record = lab.simulate(player, world(attack, f=f, C=4.0, threat=threat), 60, 0)
    first = is_out.index(True)
    assert 3 < first < 50
    assert not record.columns["c"][:first].any()
    np.testing.assert_allclose(record.columns["c"][first : first + 5], -0.3)


def test_later_waits_for_its_round_where_nothing_is_claimed_and_begins_anew_with_the_game():
    known = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=NOISE_STD)
    player = lab.rivals.RandomSearch(ub.Grid(f.X), known, seed=0)
    environment = world(liars.Later(liars.RandomLies(std=0.0, mean=-0.3), start=7), f=f, C=40.0)
    for _ in range(2):
        record = lab.simulate(player, environment, 12, 0)
        assert record.columns["c"].nonzero()[0].tolist() == list(range(6, 12))
        player = lab.rivals.RandomSearch(ub.Grid(f.X), known, seed=0)
