"""The next round: what each draw would play, given what is pending and what to avoid."""

from collections.abc import Sequence

import numpy as np

from unbribable.decision.asking.ahead import NOTHING, Ahead
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.asking.rule import Play, Rule
from unbribable.decision.asking.search import Search
from unbribable.decision.journal import Journal
from unbribable.decision.policy import Policy
from unbribable.decision.proposal import Proposal, Query
from unbribable.decision.proven.levels import Believer
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid


class NextRound:
    """Holds changing state: what was worked out so far. Good until something is asked, told or lost.

    Args:
        policy: Who plays what.
        search: Where.
        journal: What became of the rounds so far.
        t: The round.
        others: Points that are being read elsewhere, as the kernel sees them, (d,) each.
        avoid: Points not to be played, unless there is no other.
        where: The part of the domain whose points may be played in this round; all of it if None.

    Attributes:
        stream: Number of the stream of random points.
        is_plain: Whether nothing is pending or to be avoided, and every point may be played.
        held: That part, where it is one of a Box.
        only: Which candidates may be played, (n,); None: all.
    """

    def __init__(
        self,
        policy: Policy,
        search: Search,
        journal: Journal,
        t: int,
        others: Sequence[Floats],
        avoid: Sequence[Floats],
        where: Grid | Box | None = None,
    ) -> None:
        self.t = t
        self.stream = len(journal.readings)
        self._pending = [*(query.u for query in journal.pending.values()), *others]
        self._avoid = avoid
        self.held: Box | None = None
        self.only = search.candidates.allowed
        if where is not None:
            self.held, self.only = search.part(where)
        self.is_plain = not (self._pending or len(avoid)) and where is None and self.only is None
        self._journal = journal
        self._policy = policy
        self._search = search
        self._aheads: dict[str, Ahead] = {}
        self._views: dict[str, Anywhere] = {}
        self._final: dict[int, Play] = {}
        self.plays = policy.plays(self)  # among the candidates

    @property
    def turn(self) -> int:
        """How many rounds up to this one the algorithm was asked for."""
        return self._journal.turn(self.t)

    def ahead(self, instance: Believer) -> Ahead:
        """What the instance takes into account besides its readings."""
        if self.is_plain:
            return NOTHING
        if instance.label not in self._aheads:
            self._aheads[instance.label] = Ahead.of(
                instance.posterior, self._pending, self._avoid, self.only
            )
        return self._aheads[instance.label]

    def anywhere(self, instance: Believer) -> Anywhere:
        """The instance at points that are no candidates."""
        if instance.label not in self._views:
            self._views[instance.label] = Anywhere(instance)
        return self._views[instance.label]

    def best(self, rule: Rule) -> tuple[int, float]:
        """The candidate that maximises the rule, and the value."""
        return self._search.best(rule, self.ahead(rule.player))

    def play_of(self, drawn: str) -> int:
        """Which of the plays is played if the draw names `drawn`."""
        labels = [label for label, _ in self._policy.draws]
        return labels.index(drawn) if len(self.plays) > 1 else 0

    def final(self, k: int) -> Play:
        """The k-th play, moved off the candidates where that is better."""
        if k not in self._final:
            play = self._search.polished(self.plays[k], self)
            self._final[k] = play if play.u is None else self._policy.dealt(play, play.u, self)
        return self._final[k]

    def proposal(self) -> Proposal:
        """All plays."""
        plays = [self.final(k) for k in range(len(self.plays))]
        points = np.array([self._point(play) for play in plays])
        return Proposal(
            t=self.t,
            points=self._search.candidates.x_of(points),
            indices=np.array([-1 if play.u is not None else play.index for play in plays], np.intp),
            probabilities=np.array([play.probability for play in plays]),
            instances=tuple(play.learner for play in plays),
        )

    def query(self, drawn: str) -> Query:
        """The play if the draw names `drawn`."""
        play = self.final(self.play_of(drawn))
        player, u = play.rule.player, self._point(play)
        if play.u is None:
            now, i = player.now, play.index
            mu, sigma, width = float(now.mu[i]), float(now.sigma[i]), now.width_at(i)
        else:
            mu, sigma, width = self.anywhere(player).describe(u)
        return Query(
            t=self.t,
            x=self._search.candidates.x_of(u),
            u=u,
            index=play.index if play.u is None else None,
            instance=play.learner,
            mu=mu,
            sigma=sigma,
            width=width,
            ucb=play.ucb,
            drawn=drawn,
            level=play.level,
        )

    def _point(self, play: Play) -> Floats:
        return self._search.point(play.index) if play.u is None else play.u
