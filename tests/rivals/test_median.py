"""Each point read three times, and the median learned."""

import numpy as np

import unbribable as ub
from unbribable.lab.rivals import MedianUCB
from unbribable.lab.rivals.practice import practical_beta

X = np.linspace(0.0, 1.0, 21)[:, None]
KNOWN = ub.Assumptions(ub.Matern(2.5, 0.2), B=2.0, B0=1.0, noise_std=0.1, lam=0.05)


def test_a_point_is_read_three_times_and_then_the_median_is_one_reading_of_gp_ucb() -> None:
    player, rng = MedianUCB(ub.Grid(X), KNOWN), np.random.default_rng(0)
    plain = ub.GPUCB(ub.Grid(X), KNOWN, beta=lambda t: practical_beta(t - 1))
    for _ in range(20):
        expected, told = plain.ask(), []
        for k in range(3):
            query = player.ask()
            assert query.index == expected.index
            y = float(np.sin(6.0 * X[query.index, 0]) + 0.1 * rng.standard_normal())
            told.append(1e9 if k == 1 else y)  # one of three is false, and counts for its side alone
            player.tell(query, told[-1])
        plain.tell(expected, max(told[0], told[2]))
    assert len(set(index for index, _ in player.readings)) > 3
    np.testing.assert_allclose(player.belief.mu, plain.instances["main"].mu, atol=1e-9)


def test_three_queries_of_a_point_may_be_pending_and_told_in_any_order() -> None:
    player, other = (MedianUCB(ub.Grid(X), KNOWN) for _ in range(2))
    queries = [player.ask() for _ in range(4)]
    assert [query.index == queries[0].index for query in queries[:3]] == [True] * 3
    before = player.belief.mu
    for query, y in zip(reversed(queries[:3]), (0.3, -4.0, 0.1), strict=True):
        np.testing.assert_array_equal(player.belief.mu, before)
        player.tell(query, y)
    for y in (0.1, 0.1, 0.1):
        other.tell(other.ask(), y)
    np.testing.assert_array_equal(player.belief.mu, other.belief.mu)


def test_a_reading_nobody_asked_for_is_learned_as_it_is_and_nothing_is_promised() -> None:
    player = MedianUCB(ub.Grid(X), KNOWN)
    plain = ub.GPUCB(ub.Grid(X), KNOWN, beta=1.0)
    for index, y in ((3, 0.5), (12, -0.2)):
        player.tell(x=X[index], y=y)
        plain.tell(x=X[index], y=y)
    np.testing.assert_allclose(player.belief.mu, plain.instances["main"].mu, atol=1e-12)
    np.testing.assert_allclose(player.belief.width, practical_beta(0) * player.belief.sigma)
    assert player.bounds() is None
    assert str(player.guarantee) == "No guarantee."
