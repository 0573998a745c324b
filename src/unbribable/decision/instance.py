"""One learner inside an algorithm: its intervals, and the readings that wait."""

from collections.abc import Sequence

from unbribable.decision.intervals import Intervals
from unbribable.decision.levels import AtLevel
from unbribable.decision.options import Options
from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior
from unbribable.model.tally import Reading
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.differences import Source
from unbribable.theory.information_gain import MaxInformationGain

N_SINGLE = 2048
"""Distinct points read up to which readings are learned one by one, unless a history came at once."""

N_BLOCK = 64
"""Readings of a block; four times as many new candidates make one, too."""


class Instance:
    """Holds changing state: what one learner believes, and the interval it gives each candidate.

    With N_SINGLE points read, or after a history, it is large, unless readings may not wait.
    Then they wait until there are N_BLOCK of them, and bounds are intersected only when the readings
    have grown by a fourth since the last time, which is valid. Who looks in between sees everything, as
    if it had been learned: belief and bounds are worked out for the look, and what comes later does not
    depend on whether somebody looked.

    Args:
        label: Its name in the algorithm.
        X: The candidates as the kernel sees them, (n, d).
        assumptions: What the guarantee rests on.
        options: Which widths to use.
        C: The corruption that can reach this instance.
        delta: The probability with which its noise width may fail.
        gamma: Certified bound on the maximum information gain, for `gain="certified"`.
        levels: Corruptions, ascending, at each of which to keep bounds besides; see `at_levels`.
            None: there are none, and none follow.
        waits: Whether readings may wait once there are many; with `noise="energy"` they never do.

    Attributes:
        n_readings: How many readings it holds.
        is_large: Whether readings wait.
    """

    def __init__(
        self,
        label: str,
        X: Floats,
        assumptions: Assumptions,
        options: Options,
        *,
        C: float,
        delta: float,
        gamma: MaxInformationGain | None = None,
        levels: Sequence[float] | None = None,
        waits: bool = True,
    ) -> None:
        self.label = label
        self.C = C
        self.delta = delta
        self.assumptions = assumptions
        self.options = options
        self.at_levels = tuple(
            AtLevel(self, f"{label}-{k + 1}", budget, k) for k, budget in enumerate(levels or ())
        )
        self._held = Intervals(X, assumptions, options, C=C, delta=delta, gamma=gamma, levels=levels)
        self._may_be_large = waits and self._held.energy is None
        self._look: Intervals | None = None
        self._X = X
        self._waiting: list[Reading] = []
        self._is_shown = True  # whether what is held has the widths after the last reading
        self._is_new = False  # whether there are readings that its bounds do not rest on
        self._is_settled = True  # whether they may
        self._intersected_at = 0
        self.n_readings = 0
        self.is_large = False

    # --- what it holds -------------------------------------------------------------------------

    @property
    def now(self) -> Intervals:
        """Belief and bounds with everything that waits."""
        if self._is_shown and not (self._is_new and self._is_settled):
            return self._held
        if self._look is None:
            self._look = self._held.look(self._X, self._waiting, intersects=self._is_settled)
        return self._look

    @property
    def is_behind(self) -> bool:
        """Whether there are readings that the bounds do not rest on, since they are not to yet."""
        return self._is_new and not self._is_settled

    @property
    def posterior(self) -> Posterior:
        """The belief."""
        return self.now.posterior

    @property
    def mu(self) -> Floats:
        """Posterior mean, (n,)."""
        return self.now.mu

    @property
    def sigma(self) -> Floats:
        """Posterior standard deviation, (n,)."""
        return self.now.sigma

    @property
    def noise(self) -> Floats:
        """Noise part of the width, (n,)."""
        return self.now.noise

    @property
    def ucb_bar(self) -> Floats:
        """Running minimum of mu + width over this instance's clock, (n,)."""
        return self.now.ucb_bar

    @property
    def lcb_bar(self) -> Floats:
        """Running maximum of mu - width, (n,)."""
        return self.now.lcb_bar

    @property
    def is_crossed(self) -> bool:
        """Whether the bounds contradict each other or B0: an assumption is false."""
        return self.now.is_crossed

    @property
    def width(self) -> Floats:
        """Noise part plus shift at every candidate, (n,); solves whatever was left open."""
        return self.now.width

    def width_at(self, i: int) -> float:
        """The width at candidate i."""
        return self.now.width_at(i)

    def source(self, rec: int) -> Source | None:
        """Bounds on how much better than candidate `rec` the others are; O(m n).

        None without a reading, and while this instance is behind: its belief then rests on readings
        that no bound may rest on yet.
        """
        return None if self.is_behind or not self.n_readings else self.now.source(rec)

    # --- learning ------------------------------------------------------------------------------

    def learn(self, i: int, y: float, lam: float | None = None, *, settles: bool = True) -> None:
        """Take in a reading of candidate i; one tick of this instance's clock.

        Args:
            i: The candidate.
            y: The reading.
            lam: Its fictitious noise, the assumed one if None.
            settles: Whether to intersect the bounds now. Not while an earlier reading is still to
                come: which ones are there could then depend on their values. See `settle`.
        """
        self._is_new, self._is_settled, self._look = True, False, None
        self.n_readings += 1
        if not self.is_large:
            self._held.learn(i, y, lam)
            self.is_large = self._held.posterior.m >= N_SINGLE and self._may_be_large
        else:
            self._is_shown = False
            self._waiting.append((i, y, self.assumptions.lam if lam is None else lam))
            if len(self._waiting) == N_BLOCK:
                self._learn_block(intersects=False)
        if settles:
            self.settle()

    def settle(self) -> bool:
        """Let the bounds rest on all readings, and intersect them if it is time; whether it was."""
        if not self._is_new:
            return False
        if not self._is_settled:
            self._is_settled, self._look = True, None
        if not self.is_large:
            self._held.intersect()
        elif 4 * self.n_readings >= 5 * self._intersected_at:
            self._learn_block(intersects=True)
        else:
            return False
        self._is_new, self._is_shown, self._intersected_at = False, True, self.n_readings
        return True

    def learn_all(self, readings: Sequence[Reading]) -> None:
        """Take in readings at once, before any other; `settle` is still to come."""
        if readings:
            self._held.learn_all(readings)
            self._is_new, self._is_settled = True, False
        self.n_readings, self.is_large = len(readings), self._may_be_large

    def lcb_at(self, i: int) -> float:
        """A lower bound at candidate i; of a large instance the one that is known without a look."""
        if not self.is_large:
            return float(self.mu[i]) - self.width_at(i)
        if i < len(self._held.lcb_bar):
            return float(self._held.lcb_bar[i])
        return -float(self._held.first_width(self._X[i : i + 1])[0])

    def begin_level(self, C: float) -> None:
        """Keep bounds at a further corruption, above all others.

        They begin with the current ones, or, of a large instance and one that is behind, with those
        after the next reading on which bounds may rest.
        """
        self._held.begin_level(C, is_current=not (self.is_large or self.is_behind))
        self._look = None

    def extend(self, X: Floats) -> None:
        """Take in further candidates: X is all of them, the old ones first.

        A new candidate starts from the bounds it had before any reading and, unless this instance is
        behind, its current ones: they are valid, and nothing else is known of its past.
        """
        self._X, self._look = X, None
        if not self.is_large:
            self._held.extend(X, is_behind=self.is_behind)
            return
        self._is_shown = False
        if len(X) - len(self._held.mu) >= 4 * N_BLOCK:
            self._learn_block(intersects=False)

    def _learn_block(self, intersects: bool) -> None:
        waiting, self._waiting = self._waiting, []
        self._held.learn_block(self._X, waiting, intersects=intersects)

    def summary(self) -> dict[str, float]:
        """Where it stands, as plain data."""
        return {
            "readings": self.n_readings,
            "points": self.posterior.m,
            "corruption": self.C,
            "delta": self.delta,
            "gain": self.posterior.gain,
            "rebuilds": self.posterior.n_rebuilds,
            "floored": self.posterior.n_floored,
        }
