"""Where to look: the candidates of a domain, the best of them, and what lies between.

The only place in which it matters whether the domain is finite.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.asking.ahead import NOTHING, Ahead
from unbribable.decision.asking.best import best, promising
from unbribable.decision.asking.rule import Landscape, Play, Rule, Surface, polished, within
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.levels import Believer
from unbribable.model import checks
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Bools, Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain

if TYPE_CHECKING:
    from unbribable.decision.asking.next_round import NextRound

M_POLISHED = 2048
"""Points read beyond which a choice on a Box is not polished any more: the candidates lie densely by
then, and a search costs O(m^2) a step."""

N_LOCAL = 4
"""Candidates a reading adds on a Box round its point, and as many round the incumbent."""


class Search(ABC):
    """Abstract. Holds changing state: the candidates.

    Attributes:
        candidates: The points compared, as the kernel sees them.
    """

    def __init__(self, domain: Grid | Box) -> None:
        self.candidates = Candidates(domain)
        self._known: dict[bytes, int] = {}
        self._points: dict[int, Floats] = {}

    @abstractmethod
    def part(self, where: Any) -> tuple[Box | None, Bools | None]:
        """The part of a Box to which a round keeps, None on a Grid, and its candidates, (n,); None: all.

        Args:
            where: The part of the domain in which to ask.
        """

    def index_of(self, u: Floats) -> int | None:
        """The candidate at u, as the kernel sees it (up to rounding); None if there is none."""
        key = u.tobytes()
        index = self._known.get(key)
        if index is None:
            index = self.candidates.index_of(u)
            if index is not None:
                self._known[key] = index
        return index

    def located(self, reading: Reading) -> tuple[int, Reading]:
        """The candidate that was read, and the reading at that very point: scaling rounds."""
        index = self.index_of(reading.u)
        if index is None:
            raise ValueError(f"u must be a candidate of the domain, got u={reading.u.tolist()}")
        u = self.point(index)
        return index, reading if u is reading.u else replace(reading, u=u)

    def point(self, index: int) -> Floats:
        """The candidate, as the kernel sees it: always the same array."""
        u = self._points.get(index)
        if u is None:
            u = self.candidates.coordinates[index].copy()  # a view would keep all others alive
            u.flags.writeable = False
            self._points[index], self._known[u.tobytes()] = u, index
        return u

    def best(self, rule: Rule, ahead: Ahead) -> tuple[int, float]:
        """The candidate that maximises the rule, and the value.

        With several bounds the least counts, so a point that another instance has ruled out is never
        the best one [BKS20, Alg. 2, line 6].
        """
        player = rule.player.now
        if not rule.others:
            return best(player, rule.alpha, rule.among, ahead)
        ucb = ahead.allowed(reduce(np.minimum, self._bounds(rule, ahead)), rule.among)
        top = int(ucb.argmax())
        return top, float(ucb[top])

    @abstractmethod
    def _bounds(self, rule: Rule, ahead: Ahead) -> list[Floats]:
        """Upper bounds at the candidates, (n,) each, of a rule in which other instances count too."""

    @abstractmethod
    def certified_gain(self, assumptions: Assumptions) -> MaxInformationGain:
        """A bound on the information that any readings gain."""

    @abstractmethod
    def restored(self, indices: Any, rows: Any) -> Floats:
        """Points of a saved state, (k, d), by index and coordinates, checked."""

    # What follows is as it is where all of the domain is candidates.

    is_saved_by_point = False
    """Whether a saved state has to name the points read, since indices do not tell."""

    def polished(self, play: Play, choice: "NextRound") -> Play:
        """The play, moved off the candidates where that is better."""
        return play

    def grow(self, u: Floats, guide: Callable[[], Believer | None], stream: int) -> bool:
        """Make u a candidate before it is read; whether there are further candidates now."""
        return False

    def grow_all(self, points: Sequence[Floats]) -> bool:
        """`grow` for a whole history at once."""
        return False

    def gap(self, assumptions: Assumptions) -> float:
        """By how much f may be higher between the candidates than at them: an estimate."""
        return 0.0

    @property
    def n_compared(self) -> int | None:
        """With how many candidates a certificate compares; None: with every point of the domain."""
        return None


class GridSearch(Search):
    """Holds changing state: a cache of what it has looked up. The candidates are the whole domain."""

    def part(self, where: Any) -> tuple[Box | None, Bools | None]:
        return None, where.allowed

    def _bounds(self, rule: Rule, ahead: Ahead) -> list[Floats]:
        player = rule.player
        bounds = [player.ucb_bar, *(other.ucb_bar for other in rule.others)]
        return bounds if ahead is NOTHING else [*bounds, player.mu + ahead.shrink * player.width]

    def certified_gain(self, assumptions: Assumptions) -> MaxInformationGain:
        return MaxInformationGain(assumptions.kernel, self.candidates.coordinates, assumptions.lam)

    def restored(self, indices: Any, rows: Any) -> Floats:
        n = self.candidates.n
        for index in indices:
            if not 0 <= index < n:
                raise ValueError(f"index must be in 0..{n - 1}, got index={index}")
        points: Floats = self.candidates.coordinates[np.asarray(indices, dtype=np.intp)]
        for index, u, row in zip(indices, points, () if rows is None else rows, strict=False):
            if not np.array_equal(u, _checked_row(row, len(u))):
                raise ValueError(f"u must be the candidate {index}, got u={row}")
        return points


class BoxSearch(Search):
    """Holds changing state: candidates that grow with the readings, and local search between them.

    On a Box current bounds take the place of intersected ones in a rule with several (ours): they are
    known at every point. With intersected ones at the candidates alone, an old candidate would seem
    worse than the points beside it. They are valid too, and wherever min(ucb_fast, ucb_slow) is
    largest, ucb_slow reaches max lcb_bar_slow, as Lemma 7 needs.
    """

    is_saved_by_point = True

    def __init__(self, domain: Box) -> None:
        super().__init__(domain)
        self._box = domain
        self._n_local = 0

    def part(self, where: Any) -> tuple[Box | None, Bools | None]:
        return where, self.candidates.allowed

    def _bounds(self, rule: Rule, ahead: Ahead) -> list[Floats]:
        player = rule.player
        bounds = [other.mu + other.width for other in rule.others]
        return [*bounds, player.mu + ahead.shrink * player.width]

    def polished(self, play: Play, choice: "NextRound") -> Play:
        rule, player = play.rule, play.rule.player.now
        ahead = choice.ahead(rule.player)
        if choice.held is not None:
            read = player.posterior.X[player.posterior.u]
            landscape, avoided = surface(rule, choice), ahead.avoided
            return within(play, landscape, read, choice.held, choice.stream, avoided)
        if player.posterior.m > M_POLISHED:
            return play
        hopes = rule.values
        if hopes is None:
            hopes = promising(player, rule.alpha, play.index, ahead)
        for other in rule.others:
            hopes = np.minimum(hopes, promising(other.now, 1.0, play.index))
        if rule.among is not None:
            hopes = np.where(rule.among, hopes, -np.inf)
        return polished(
            play, surface(rule, choice), hopes, self.candidates, self._box, choice.stream, ahead.avoided
        )

    def grow(self, u: Floats, guide: Callable[[], Believer | None], stream: int) -> bool:
        """Make u a candidate, and with it some points round it and round the guide's incumbent.

        As many local ones in all as there were Sobol points. They are drawn from a fixed stream, so
        they are a function of the readings alone.
        """
        known = self.index_of(u)
        if known is not None:
            u = self.candidates.coordinates[known]  # the scaling of x may have rounded it
        new = [u]
        leader = guide()
        if leader is not None and self._n_local < self._box.n_candidates:
            incumbent = self.candidates.coordinates[np.argmax(leader.lcb_bar)]
            rng = np.random.default_rng([3, stream])
            reach = 0.2 * 0.5 ** rng.integers(0, 5, size=(2 * N_LOCAL, 1))
            centres = np.repeat([u, incumbent], N_LOCAL, axis=0)
            local = np.clip(centres + reach * rng.standard_normal(centres.shape), 0.0, 1.0)
            local = self._box.snap(local)
            new += list(local[self._box.allowed_of(local)])
            self._n_local += len(local)
        return self.candidates.add(np.array(new)) > 0

    def grow_all(self, points: Sequence[Floats]) -> bool:
        """Make these points candidates. They replace local ones: none are added from then on."""
        self._n_local = self._box.n_candidates
        return self.candidates.add(np.array(points)) > 0

    def certified_gain(self, assumptions: Assumptions) -> MaxInformationGain:
        raise ValueError(
            "gain='certified' needs a Grid: the bound is on finitely many candidates, got a Box"
        )

    def gap(self, assumptions: Assumptions) -> float:
        return assumptions.B * self.candidates.discretisation(assumptions.kernel)

    @property
    def n_compared(self) -> int | None:
        return len(self.candidates.compared)

    def restored(self, indices: Any, rows: Any) -> Floats:
        d = self._box.d
        points = np.array([_checked_row(row, d) for row in rows]).reshape(-1, d)
        if not ((points >= 0.0) & (points <= 1.0)).all():
            raise ValueError(f"u must lie in the unit cube, got u={points.tolist()}")
        return points


def surface(rule: Rule, choice: "NextRound") -> Landscape:
    """The rule anywhere."""
    if rule.surface is not None:
        return rule.surface(choice)
    bounds = [(rule.player, rule.alpha), *((other, 1.0) for other in rule.others)]
    floors = [(choice.anywhere(judge), floor) for judge, floor in rule.floors() if judge.n_readings]
    return Surface(
        tuple((choice.anywhere(instance), alpha) for instance, alpha in bounds),
        tuple(floors),
        choice.ahead(rule.player).expected,
    )


def search_on(domain: Grid | Box) -> Search:
    """The search for a domain; refuses anything else."""
    if isinstance(domain, Grid):
        return GridSearch(domain)
    if isinstance(domain, Box):
        return BoxSearch(domain)
    raise TypeError(f"domain must be a Grid or a Box, got domain={domain!r}")


def _checked_row(row: Any, d: int) -> Floats:
    u = checks.array("u", row, ndim=1)
    if u.shape != (d,):
        raise ValueError(f"u must have {d} coordinates, got shape {u.shape}")
    return u
