"""The laws of the ladder, of layers that share and of Fast-Slow's dials, on the naive double.

The games are small and the liars strong unless it says otherwise: they know f, see the point and the
noise of the round, and lie until their budget is spent.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import naive
from games import is_too_often

CAP = 0.5
DELTA = 0.1

LIES = ["honest", "hide", "decoy", "with the noise", "whisper"]

Lie = Callable[[int, float], float]
"""A point and the noise of its reading -> the lie, as a share of the cap."""


# --- small worlds -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """A function on a line of candidates, and its norm."""

    K: np.ndarray
    f: np.ndarray
    norm: float
    rng: np.random.Generator

    @property
    def best(self) -> int:
        return int(np.argmax(self.f))

    @property
    def gaps(self) -> np.ndarray:
        """What each candidate lacks of the best."""
        return self.f.max() - self.f

    def setting(self, lam: float = 0.01, noise_std: float = 0.02, **words: object) -> naive.Setting:
        numbers = {"B": self.norm, "B0": float(np.abs(self.f).max()), "delta": DELTA, "c_max": CAP}
        return naive.Setting(K=self.K, lam=lam, noise_std=noise_std, **{**numbers, **words})

    def lies(self) -> dict[str, Lie]:
        """Ways to hide the maximiser."""
        near = self.gaps < 0.2 * self.gaps.max()
        far = np.where(near, -np.inf, self.f)
        decoy = int(np.argmax(far))
        return {
            "honest": lambda i, noise: 0.0,
            "hide": lambda i, noise: -1.0 * near[i],
            "decoy": lambda i, noise: 1.0 * (i == decoy) - 1.0 * near[i],
            "with the noise": lambda i, noise: float(np.sign(noise)),
            "whisper": lambda i, noise: -0.2 * near[i],
        }


def world(seed: int, kind: str = "smooth", n: int = 16, scale: float = 1.0) -> World:
    """A random function with max |f| = scale, smooth or linear."""
    rng = np.random.default_rng([16, seed])
    if kind == "smooth":
        x = np.linspace(0.0, 1.0, n)
        K = np.exp(-0.5 * ((x[:, None] - x) / 0.25) ** 2)
    else:
        x = rng.uniform(-1.0, 1.0, n)
        K = np.outer(x, x)
    centres, coefficients = rng.integers(n, size=5), rng.normal(size=5)
    f = K[:, centres] @ coefficients
    norm = math.sqrt(coefficients @ K[np.ix_(centres, centres)] @ coefficients)
    top = np.abs(f).max() / scale
    return World(K, f / top, norm / top, rng)


@dataclass
class Game:
    """What happened: played points, the corruption spent up to each round, and the algorithm."""

    world: World
    algorithm: naive.Algorithm
    lie: Lie
    C: float
    is_weak: bool = False
    played: list[int] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    def round(self) -> naive.Atom:
        """One round; a weak liar commits to a lie for every atom before the draw."""
        setting = self.algorithm.setting
        noise = setting.noise_std * self.world.rng.normal()
        size = min(setting.cap, self.C - (self.spent[-1] if self.spent else 0.0))
        if self.is_weak:
            lies = {atom.index: size * self.lie(atom.index, noise) for atom in self.algorithm.atoms()}
            atom = self.algorithm.ask()
        else:
            atom = self.algorithm.ask()
            lies = {atom.index: size * self.lie(atom.index, noise)}
        charge = max(abs(c) for c in lies.values())
        self.spent.append((self.spent[-1] if self.spent else 0.0) + charge)
        self.played.append(atom.index)
        self.algorithm.tell(atom, float(self.world.f[atom.index] + noise + lies[atom.index]))
        return atom

    @property
    def regret(self) -> np.ndarray:
        """Cumulative, after each round."""
        return np.cumsum(self.world.gaps[self.played])


def is_outside(instance: naive.Instance, f: np.ndarray) -> bool:
    """Whether f has ever left these bounds."""
    return bool(np.any(f > instance.ucb_bar + 1e-9) or np.any(f < instance.lcb_bar - 1e-9))


def are_nested(maximisers: list[np.ndarray]) -> bool:
    return all(not np.any(low & ~high) for low, high in itertools.pairwise(maximisers))


# --- the ladder -------------------------------------------------------------------------------------

UNIT = 0.25 * CAP
N_ROUNDS = 48
N_LEVELS = 6


@dataclass(frozen=True, eq=False)
class Climb:
    """A game of the ladder, and what each round looked like before its reading.

    Attributes:
        widths: The width of level l at the point of round t, whether or not the level has begun,
            (N_ROUNDS, N_LEVELS).
        sets: The potential maximisers after each round.
        players: The level that played.
        scores: Its ucb at every candidate, in its set or not.
    """

    game: Game
    widths: np.ndarray
    sets: list[list[np.ndarray]]
    players: list[int]
    scores: list[np.ndarray]

    @property
    def ladder(self) -> naive.Ladder:
        assert isinstance(self.game.algorithm, naive.Ladder)
        return self.game.algorithm

    def covering(self, T: int) -> int:
        """l* after T rounds."""
        return self.ladder.covering(self.game.spent[T - 1])

    def sum_bound(self, T: int) -> float:
        """The theorem's bound on the regret of the first T rounds, with realised widths."""
        robust = self.covering(T)
        value = 2.0 * self.ladder.setting.B0 * (2.0 ** (robust - 1) - 1.0)
        for t in range(1, T + 1):
            level = naive.turn(t)
            value += 2.0 * self.widths[t - 1, max(level, robust) - 1]
            if level == robust:
                value += (2.0**robust - 2.0) * 2.0 * self.widths[t - 1, robust - 1]
            value += self.ladder.setting.tolerance
        return value


def climb(seed: int, name: str, C: float, kind: str, **words: object) -> Climb:
    here = world(seed, kind)
    ladder = naive.Ladder(here.setting(**words), UNIT)
    game = Game(here, ladder, here.lies()[name], C)
    widths, sets, players, scores = [], [], [], []
    for _ in range(N_ROUNDS):
        before = list(ladder.shared.readings)
        atom = game.round()
        begun = [level.history[-2] for level in ladder.shared.levels]
        later = [
            naive.believe(ladder.setting, before, ladder.budget(level), DELTA)
            for level in range(len(begun) + 1, N_LEVELS + 1)
        ]
        widths.append([belief.width[atom.index] for belief in begun + later])
        sets.append(list(ladder.maximisers))
        players.append(int(atom.player.removeprefix("level-")))
        belief = ladder.instances[atom.player].history[-2]
        scores.append(belief.mu + belief.width)
    return Climb(game, np.array(widths), sets, players, scores)


@functools.cache
def climbs() -> list[Climb]:
    """Clean games and every lie with several budgets, on both kinds of functions."""
    rows = itertools.product(LIES, [0.0, 0.6, 3.0], ["smooth", "line"])
    return [
        climb(seed, name, C, kind)
        for seed, (name, C, kind) in enumerate(rows)
        if (name == "honest") == (C == 0.0)
    ]


def test_the_levels_take_turns_like_the_marks_of_a_ruler() -> None:
    turns = [naive.turn(t) for t in range(1, 1025)]
    assert turns[:16] == [1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, 5]
    for level in range(1, 11):
        rounds = [t for t, turn in enumerate(turns, start=1) if turn == level]
        assert rounds == list(range(2 ** (level - 1), 1025, 2**level))
        assert len(rounds) == math.floor(1024 / 2**level + 0.5)


def test_without_lies_each_level_plays_its_own_turns() -> None:
    clean = [one for one in climbs() if one.game.C == 0.0]
    assert len(clean) == 2
    for one in clean:
        assert one.players == [naive.turn(t) for t in range(1, N_ROUNDS + 1)]


def test_a_level_begins_with_its_first_turn_from_everything_and_its_bounds_before_that_reading() -> None:
    one = climb(1, "hide", 0.6, "smooth")
    ladder = one.ladder
    assert len(ladder.maximisers) == 6  # round 32 is the first of level 6
    for level, instance in enumerate(ladder.shared.levels, start=1):
        n_before = 2 ** (level - 1) - 1
        readings = ladder.shared.readings[:n_before]
        first = naive.believe(ladder.setting, readings, UNIT * 2**level, DELTA)
        np.testing.assert_array_equal(instance.history[0].mu, first.mu)
        np.testing.assert_array_equal(instance.history[0].width, first.width)
        assert len(instance.history) == N_ROUNDS - n_before + 1


def test_when_every_set_is_empty_the_next_level_begins_and_plays() -> None:
    here = world(1, "line")
    ladder = naive.Ladder(here.setting(), 0.002)
    game = Game(here, ladder, here.lies()["hide"], 4.0)
    n_early = 0
    for t in range(1, 31):
        n_begun = len(ladder.maximisers)
        are_empty = n_begun > 0 and not any(among.any() for among in ladder.maximisers)
        atom = game.round()
        is_first_turn = naive.turn(t) == n_begun + 1
        assert len(ladder.maximisers) == n_begun + (are_empty or is_first_turn)
        if are_empty:
            assert atom.player == f"level-{n_begun + 1}"
            n_early += not is_first_turn
    assert ladder.refuted is None
    assert n_early > 2


def test_the_turn_of_an_empty_level_falls_to_the_lowest_above_it_that_is_not() -> None:
    n_passed_up = 0
    for one in climbs():
        for t, player in enumerate(one.players[1:], start=2):
            level, sets = naive.turn(t), one.sets[t - 2]
            if player != level:
                assert not any(among.any() for among in sets[level - 1 : player - 1])
                n_passed_up += 1
            elif level <= len(sets):
                assert sets[level - 1].any()
    assert n_passed_up > 100


def test_a_level_plays_the_largest_upper_bound_among_its_potential_maximisers() -> None:
    n_outside = 0
    for one in climbs():
        for t, (player, scores) in enumerate(zip(one.players, one.scores, strict=True)):
            has_begun = t > 0 and player <= len(one.sets[t - 1])
            among = one.sets[t - 1][player - 1] if has_begun else np.ones(len(scores), dtype=bool)
            assert one.game.played[t] == np.argmax(np.where(among, scores, -np.inf))
            n_outside += not among[np.argmax(scores)]
    assert n_outside > 5  # control: the set makes a difference


def test_the_sets_of_the_ladder_are_nested() -> None:
    n_different = 0
    for one in climbs():
        for sets in one.sets:
            assert are_nested(sets)
            n_different += sets[0].sum() < sets[-1].sum()
    assert n_different > 100


def test_the_best_point_stays_in_every_set_that_covers_the_lies() -> None:
    n_lost = n_lost_below = 0
    for one in climbs():
        best = one.game.world.best
        final = one.covering(N_ROUNDS)
        n_lost += not all(among[best] for among in one.ladder.maximisers[final - 1 :])
        n_lost_below += not all(among[best] for among in one.ladder.maximisers[: final - 1])
    assert not is_too_often(n_lost, len(climbs()), DELTA)
    assert is_too_often(n_lost_below, len(climbs()), DELTA)  # control: smaller budgets do lose it


def test_the_truth_stays_within_the_bounds_of_every_level_that_covers_the_lies() -> None:
    n_out = n_out_below = 0
    for one in climbs():
        final = one.covering(N_ROUNDS)
        outside = [is_outside(level, one.game.world.f) for level in one.ladder.shared.levels]
        n_out += any(outside[final - 1 :])
        n_out_below += any(outside[: final - 1])
    assert not is_too_often(n_out, len(climbs()), DELTA)
    assert is_too_often(n_out_below, len(climbs()), DELTA)  # control


def test_the_regret_is_at_most_the_sum_of_realised_widths_after_every_round() -> None:
    n_broken = n_below_trivial = 0
    for one in climbs():
        bounds = np.array([one.sum_bound(T) for T in range(1, N_ROUNDS + 1)])
        n_broken += bool(np.any(one.game.regret > bounds))
        trivial = 2.0 * one.ladder.setting.B0 * np.arange(1, N_ROUNDS + 1)
        n_below_trivial += bool(np.any(bounds < trivial))
    assert not is_too_often(n_broken, len(climbs()), DELTA)
    assert n_below_trivial > len(climbs()) / 2


def test_each_round_of_the_ladder_costs_what_the_proof_says() -> None:
    n_broken = n_tight = 0
    for one in climbs():
        is_broken = False
        robust = one.covering(N_ROUNDS)
        last = None
        for t, gap in enumerate(one.game.world.gaps[one.game.played], start=1):
            own = 2.0 * one.widths[t - 1, max(naive.turn(t), robust) - 1]
            if naive.turn(t) >= robust or one.players[t - 1] == robust:
                is_broken |= gap > own + 1e-8  # it plays a set that holds the best point
            elif last is not None:
                is_broken |= gap > own + 2.0 * last + 1e-8
            n_tight += gap > 2.0 * one.widths[t - 1, 0]
            if naive.turn(t) == robust:
                last = one.widths[t - 1, robust - 1]
        n_broken += is_broken
    assert not is_too_often(n_broken, len(climbs()), DELTA)
    assert n_tight > 10  # control: the widths of the lowest level would not do


@pytest.mark.parametrize("noise", ["paper", "tight"])
def test_the_closed_form_is_at_least_the_sum_of_realised_widths(noise: str) -> None:
    one = climb(3, "hide", 2.0, "smooth", lam=1.0, width="capped", noise=noise)
    s = one.ladder.setting
    index = [reading.index for reading in one.ladder.shared.readings]
    gains = [
        0.5 * np.linalg.slogdet(np.eye(T) + s.K[np.ix_(index[:T], index[:T])])[1]
        for T in range(N_ROUNDS + 1)
    ]
    for T in range(1, N_ROUNDS + 1):
        C = one.game.spent[T - 1]
        closed = naive.ladder_theorem(s, UNIT, C, T, gains[T], gains[T - 1])
        assert one.sum_bound(T) <= closed + T * s.tolerance
        if one.covering(T) == 1:
            assert closed <= 9.0 * one.sum_bound(T)  # of the same size


def test_the_certificate_of_a_covering_level_holds_and_a_crossed_level_does_not_cover() -> None:
    n_wrong = n_crossed = 0
    for one in climbs():
        ladder, C = one.ladder, one.game.spent[-1]
        is_wrong = False
        for level in range(1, N_LEVELS + 3):  # the last ones have not begun
            bounds = ladder.valid([f"level-{level}"])
            if bounds.is_refuted:
                is_wrong |= ladder.budget(level) >= C
                n_crossed += 1
            elif ladder.budget(level) >= C:
                recommended = int(np.argmax(bounds.lower))
                is_wrong |= one.game.world.gaps[recommended] > bounds.certificate(recommended)
        n_wrong += is_wrong
        labels = ladder.trusted("strong", C)
        assert labels == [f"level-{ladder.covering(C)}"]
        assert ladder.best_when_chosen(labels) in one.game.played
    assert not is_too_often(n_wrong, len(climbs()), DELTA)
    assert n_crossed > 10


def test_readings_that_no_lies_within_the_cap_explain_refute_the_ladders_assumptions() -> None:
    here = world(2, "line")
    ladder = naive.Ladder(here.setting(), UNIT)
    for _ in range(40):
        ladder.tell(ladder.ask(), 5.0)  # f is at most 1, and a lie 0.5
    assert ladder.refuted is not None
    assert len(ladder.maximisers) < 14  # no level begins for every further reading
    assert ladder.valid(ladder.trusted("strong")).is_void


def test_a_reading_nobody_asked_for_is_learned_and_takes_no_turn() -> None:
    here = world(5)
    ladder = naive.Ladder(here.setting(), UNIT)
    players = []
    for k in range(12):
        ladder.give(k, float(here.f[k]))
        atom = ladder.ask()
        players.append(int(atom.player.removeprefix("level-")))
        ladder.tell(atom, float(here.f[atom.index]))
    assert ladder.t == 24
    assert len(ladder.shared.readings) == 24
    assert players == [naive.turn(k) for k in range(1, 13)]


# --- layers that share ------------------------------------------------------------------------------


def shared_game(
    seed: int, name: str, C: float, kind: str, known: float | None, *, is_weak: bool
) -> Game:
    # f is large against the lies, so that layers do rule points out in a short game
    here = world(seed, kind, scale=10.0)
    setting = here.setting()
    if known is None:
        layers = naive.Layered(setting, N_ROUNDS, seed, with_all=True)
    else:
        layers = naive.layered_for(setting, known, seed)
    return Game(here, layers, here.lies()[name], C, is_weak)


SHARED = [
    ("honest", 0.0, "smooth", None),
    ("honest", 0.0, "line", 4.0),
    *(
        (name, C, kind, known)
        for name, (C, known), kind in itertools.product(
            ["hide", "decoy", "with the noise"],
            [(2.0, None), (4.0, None), (4.0, 4.0)],
            ["smooth", "line"],
        )
    ),
]


@functools.cache
def shared_games() -> list[tuple[Game, bool, int, int]]:
    """Weak games; whether Lemma 8 as restated ever failed, how often it said something, who learned."""
    games = []
    for seed, (name, C, kind, known) in enumerate(SHARED):
        game = shared_game(seed, name, C, kind, known, is_weak=True)
        layers, gaps = game.algorithm, game.world.gaps
        robust = layers.covering(C)
        is_broken, n_said, n_nobody = False, 0, 0
        for _ in range(N_ROUNDS):
            widths = {label: layers.instances[label].now.width for label in layers.labels}
            atom = game.round()
            n_nobody += atom.learner is None
            assert are_nested(layers.maximisers)
            if atom.learner is None or layers.labels.index(atom.learner) < robust:
                continue
            # a play of a covering layer: 2 alpha width <= gap / 10 leaves no such gap
            gap = 20.0 * layers.alpha * widths[atom.learner][atom.index]
            left = layers.maximisers[layers.labels.index(atom.learner)]
            is_broken |= bool(np.any(gaps[left] >= gap + 1e-8))
            n_said += bool(gaps.max() > gap)
        games.append((game, is_broken, n_said, n_nobody))
    return games


def test_the_best_point_stays_in_the_set_of_every_layer_that_covers_the_lies() -> None:
    n_lost = n_lost_below = n_left = 0
    for game, *_ in shared_games():
        layers, best = game.algorithm, game.world.best
        robust = layers.covering(game.spent[-1])
        n_lost += not all(among[best] for among in layers.maximisers[robust:])
        n_lost_below += not all(among[best] for among in layers.maximisers[:robust])
        n_left += sum(int(among.sum()) for among in layers.maximisers[robust:])
    assert not is_too_often(n_lost, len(SHARED), DELTA / 2)
    assert n_lost_below > 0  # control
    assert n_left < 0.4 * sum(16 * len(game.algorithm.maximisers) for game, *_ in shared_games())


def test_layers_and_all_readings_hold_the_truth_wherever_their_level_covers_the_lies() -> None:
    n_out = n_out_below = 0
    for game, *_ in shared_games():
        layers = game.algorithm
        robust = layers.covering(game.spent[-1])
        outside = [
            is_outside(layers.instances[f"layer-{k + 1}"], game.world.f)
            or is_outside(layers.instances[f"all-{k + 1}"], game.world.f)
            for k in range(layers.n_layers)
        ]
        n_out += any(outside[robust:])
        n_out_below += any(outside[:robust])
    assert not is_too_often(n_out, len(SHARED), DELTA / 2)
    assert n_out_below > 0  # control


def test_a_narrow_play_of_a_covering_layer_leaves_no_point_with_a_large_gap() -> None:
    games = shared_games()
    assert not is_too_often(sum(is_broken for _, is_broken, _, _ in games), len(games), DELTA / 2)
    assert sum(n_said for _, _, n_said, _ in games) > 100


def test_all_learns_from_every_round_and_a_layer_from_its_own() -> None:
    assert sum(n_nobody for *_, n_nobody in shared_games()) > 10
    for game, _, _, n_nobody in shared_games():
        layers = game.algorithm
        held = [len(layers.instances[label].readings) for label in layers.labels]
        assert sum(held) == N_ROUNDS - n_nobody
        for level in range(1, layers.n_layers + 1):
            assert len(layers.instances[f"all-{level}"].readings) == N_ROUNDS


def test_all_readings_hold_the_truth_at_covering_levels_against_strong_liars() -> None:
    n_out = 0
    for seed, (name, C, kind, known) in enumerate(SHARED[::3]):
        game = shared_game(100 + seed, name, C, kind, known, is_weak=False)
        for _ in range(N_ROUNDS // 2):
            game.round()
        layers = game.algorithm
        covering = range(layers.covering(game.spent[-1]) + 1, layers.n_layers + 1)
        n_out += any(is_outside(layers.instances[f"all-{k}"], game.world.f) for k in covering)
        strong = layers.trusted("strong", C)
        assert strong[-1] == f"all-{layers.covering(C) + 1}"
        assert all(layers.instances[label].C >= C for label in strong)
    assert not is_too_often(n_out, len(SHARED[::3]), DELTA / 2)


def test_readings_of_other_layers_rule_points_out() -> None:
    n_shared = n_alone = 0
    for seed in range(4):
        for with_all in (False, True):
            here = world(seed, scale=10.0)
            layers = naive.Layered(here.setting(), 48, seed, with_all=with_all)
            game = Game(here, layers, here.lies()["honest"], 0.0, is_weak=True)
            for _ in range(48):
                game.round()
            n_left = sum(int(among.sum()) for among in layers.maximisers[1:])
            n_shared, n_alone = n_shared + with_all * n_left, n_alone + (not with_all) * n_left
    assert n_shared < 0.6 * n_alone


@pytest.mark.parametrize("T", [1, 2, 64, 100])
def test_the_shares_of_sharing_layers_add_up_to_half_of_delta(T: int) -> None:
    layers = naive.Layered(world(0).setting(), T, 0, with_all=True)
    n_events = 2 * layers.n_layers + 1  # a width and a tail for each layer, one width for all
    assert n_events * layers.share == pytest.approx(DELTA / 2)
    assert all(instance.delta == layers.share for instance in layers.instances.values())
    assert sum(layers.probabilities) == 1.0


@pytest.mark.parametrize(("C", "n_layers"), [(2.5, 2), (4.0, 2), (4.1, 3), (50.0, 6)])
def test_layers_that_are_told_c_end_at_the_first_that_covers_it(C: float, n_layers: int) -> None:
    layers = naive.layered_for(world(0).setting(), C, seed=0)
    assert layers.n_layers == n_layers
    assert layers.budgets == [*(2.0**level for level in range(1, n_layers)), C]
    assert layers.probabilities[-1] == 2.0**-n_layers
    assert layers.instances[layers.labels[-1]].C <= C
    assert layers.instances[f"all-{n_layers}"].C == C
    assert layers.share == DELTA / (2.0 * (2.0 * n_layers + 1.0))


@pytest.mark.parametrize("C", [0.5, 2.0])
def test_layers_that_are_told_a_small_c_are_algorithm_one(C: float) -> None:
    here = world(0)
    layers, robust = naive.layered_for(here.setting(), C, seed=3), naive.OneInstance(here.setting(), C)
    for _ in range(20):
        one, other = layers.ask(), robust.ask()
        assert one.index == other.index
        layers.tell(one, float(here.f[one.index]))
        robust.tell(other, float(here.f[other.index]))


# --- the dials of Fast-Slow -------------------------------------------------------------------------


def dialled(seed: int, total: float, *, trust: float) -> Game:
    """A weak game at a quarter of the paper's probability, with lies on fast's rounds alone."""
    here = world(seed, n=12)
    algorithm = naive.FastSlow(here.setting(), 2.0, seed, share=0.25, trust=trust)
    near = here.gaps < 0.4
    game = Game(here, algorithm, lambda i, noise: 0.0, total, is_weak=True)
    for _ in range(110):
        of_slow = {atom.index for atom in algorithm.atoms() if atom.learner == "slow"}
        game.lie = lambda i, noise, of_slow=of_slow: -1.0 * (near[i] and i not in of_slow)
        game.round()
    return game


def test_at_any_dials_fast_never_plays_a_point_that_slow_has_ruled_out() -> None:
    n_broken = n_tempted = 0
    for seed, scale in [(1, 6.0), (2, 3.0), (3, 3.0), (3, 6.0)]:
        here = world(seed, n=12, scale=scale)
        algorithm = naive.FastSlow(here.setting(c_max=4.0), 2.0, seed, share=0.25, trust=0.5)
        fast, slow = algorithm.instances["fast"], algorithm.instances["slow"]
        # a flood far above C, for fast alone: the law does not rest on fast's bounds
        is_decoy = (here.gaps > 1.0) & (here.gaps < 3.5)
        game = Game(here, algorithm, lambda i, noise: 0.0, 1000.0, is_weak=True)
        for _ in range(110):
            atoms = {atom.learner: atom.index for atom in algorithm.atoms()}
            of_slow = atoms.get("slow")
            game.lie = lambda i, noise, of_slow=of_slow, lies=is_decoy: 1.0 * (lies[i] and i != of_slow)
            if algorithm.detected is None:
                is_ruled_out = slow.ucb_bar < slow.lcb_bar.max() - algorithm.setting.tolerance
                n_broken += is_ruled_out[atoms["fast"]]
                n_tempted += is_ruled_out[np.argmax(fast.ucb_bar)]
            game.round()
    assert n_broken == 0
    assert n_tempted > 20  # control: by its own bounds alone fast would


def test_up_to_its_trust_fast_holds_the_truth_and_raises_no_alarm() -> None:
    n_alarms = n_out = n_out_without = 0
    for seed in range(6):
        game = dialled(seed, 1.0, trust=1.0)
        assert game.spent[-1] == pytest.approx(1.0)
        n_alarms += game.algorithm.detected is not None
        n_out += is_outside(game.algorithm.instances["fast"], game.world.f)
        game = dialled(seed, 1.0, trust=0.0)
        n_out_without += is_outside(game.algorithm.instances["fast"], game.world.f)
    assert n_alarms == 0
    assert n_out == 0
    assert n_out_without == 6  # control: the same lies carry a fast that trusts nobody away


def test_more_lies_than_fast_trusts_are_detected() -> None:
    games = [dialled(seed, 2.0, trust=0.0) for seed in range(4)]
    assert sum(game.algorithm.detected is not None for game in games) > 1


@pytest.mark.parametrize("tail", ["sharp", "paper"])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_slow_is_drawn_with_a_share_of_one_in_c_and_never_allows_for_more_than_c(
    tail: str, share: float
) -> None:
    setting = world(0).setting(tail=tail)
    for C in (0.1, 0.25, 0.6, 3.0, 20.0):
        algorithm = naive.FastSlow(setting, C, 0, share=share, trust=0.1)
        assert algorithm.p == min(1.0, share / C)
        assert algorithm.instances["slow"].C <= C
        assert algorithm.instances["fast"].C == 0.1
        if algorithm.p == 1.0:
            assert C in (0.1, 0.25, 0.6)
            assert algorithm.instances["slow"].C == C
            assert [atom.learner for atom in algorithm.atoms()] == ["slow"]


def test_a_smaller_share_leaves_slow_less_corruption_to_allow_for() -> None:
    setting = world(0).setting()
    budgets = [
        naive.FastSlow(setting, 20.0, 0, share=share).instances["slow"].C for share in (1.0, 0.5, 0.25)
    ]
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[-1] < 0.8 * budgets[0]
