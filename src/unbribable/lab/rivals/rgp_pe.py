"""RGP-PE, phased elimination by repeated readings of a few points, for known corruption (BLKS22)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.player import Details
from unbribable.decision.proposal import Query
from unbribable.decision.proven.conditions import NotProved
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.lab.rivals.base import Opinion, Rival
from unbribable.lab.rivals.random_order import random_order_shift
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.widths import rkhs_bias, shift_capped, shift_exact

WIDTHS = ("exact", "lemma", "paper", "practical")


@dataclass(frozen=True, eq=False)
class Design:
    """The readings of an epoch, fixed before the first of them."""

    points: Ints
    """The candidates to be read, in the order of the design, (s,)."""
    repeats: Ints
    """How often each, (s,)."""
    length: int
    """l: picks of the design."""

    @property
    def n_readings(self) -> int:
        """N."""
        return int(self.repeats.sum())


def design(known: Assumptions, X: Floats, active: Bools, length: int, eta: float, psi: float) -> Design:
    """The points of an epoch, from variances alone.

    `length` picks of the active candidate of the largest variance, which is looked at afresh only when
    the determinant of the picks has grown by more than the factor eta. Each point picked is read as
    often as it was picked, and at least psi * length times.
    """
    posterior = Posterior(known.kernel, X, known.lam, tracks_noise_var=False)
    growth = math.log(eta) + 1e-9  # without which rounding would decide ties
    picks: dict[int, int] = {}
    left = length
    while left:
        j = int(np.argmax(np.where(active, posterior.var, -np.inf)))
        v = float(posterior.var[j]) / known.lam
        n = left if v <= 0.0 else min(left, max(1, math.floor(math.expm1(growth) / v)))
        while n < left and math.log1p(n * v) <= growth:
            n += 1
        posterior.observe(j, 0.0, known.lam / n)  # n picks at once
        picks[j] = picks.get(j, 0) + n
        left -= n
    points = np.array(list(picks), dtype=np.intp)
    least = psi * length
    repeats = np.array([math.ceil(max(n, least)) for n in picks.values()], dtype=np.intp)
    return Design(points, repeats, length)


class Estimate:
    """Mean, variance and weights of an epoch, from its own readings alone; (n,) each.

    Averaging the readings of a point first gives the ordinary posterior.

    Attributes:
        R: Posterior covariance of the plan's points with every candidate, (s, n). One reading of point a
            enters the mean at x with weight R[a, x] / lam.
    """

    def __init__(self, known: Assumptions, X: Floats, plan: Design, means: Floats) -> None:
        noises = known.lam / plan.repeats
        posterior = Posterior(known.kernel, X, known.lam)
        posterior.observe_all(
            [
                (int(a), float(y), float(lam))
                for a, y, lam in zip(plan.points, means, noises, strict=True)
            ]
        )
        self.mu, self.var, self.noise_var = posterior.mu, posterior.var, posterior.noise_var
        self.sigma: Floats = np.sqrt(self.var)
        self.R: Floats = posterior.times(np.eye(len(plan.points)))


class RGPPE(Rival):
    """Holds changing state. Robust GP phased elimination, by Bogunovic, Li, Krause and Scarlett (2022).

    Epochs of l = 2, 4, 8, ... picks. Each reads the points of its `design` repeatedly, estimates f from
    these readings alone, and drops the candidates whose upper bound is below the largest lower one. An
    unfinished epoch drops nothing. The width of epoch h = 0, 1, ..., with N readings, u_min of them at
    least at each point, and delta_h = 6 delta / (pi (h + 1))^2, is a noise part,

        "sharp" (ours)    B sqrt(var - noise_var) + size sqrt(noise_var)
        "paper"           (B + size) sigma,  size = noise_std / sqrt(lam) sqrt(2 ln(2 n / delta_h))
        "practical"       beta sigma

    and a shift, of which only the last is not proved,

        "exact" (ours)    the knapsack of |R[a, x]| / lam, each as often as a is read
        "lemma" (ours)    min( C / sqrt(lam u_min), sqrt(C min(C, c_max) / lam) ) sigma
        "paper"           C sqrt(N) / (l psi sqrt(lam)) sigma; differs: printed without the last
                          root, which makes it too small where lam > N / u_min
        "practical"       b C / sqrt(N) sigma

    Proof of "sharp". Given the past the design is fixed, so the noise term is sum weight_i eps_i,
    sub-Gaussian with scale noise_std |weights|_2 = noise_std sqrt(noise_var / lam); a union over n
    candidates and two sides. The bias is `rkhs_bias`. QED "paper" has ln(2 n) where the text has ln n:
    two sides. Proof of "lemma". Readings of a share one weight, so |weight_a| sqrt(m_a) <= |weights|_2,
    and var >= lam |weights|_2^2. QED exact <= lemma <= paper. With psi = ln eta / (2 gamma_T) the regret
    is O*(sqrt(T gamma_T) + C gamma_T) by the lemma.

    `order="random"` draws each reading uniformly from those that are left, so that a weak adversary,
    who must commit before the draw, cannot choose the heavy ones: see `random_order_shift`. The other
    order is that of the design.

    If all readings of an epoch are asked and some not yet told, further queries are idle: nobody will
    learn them.

    Args:
        domain: A Grid.
        assumptions: What the guarantee rests on.
        C: Total corruption.
        psi: Least share of an epoch's picks for each point; 0.1, or 0 in random order.
        eta: Growth of the determinant after which the design looks again.
        width: The shift.
        noise: The noise part; that of the same name for "practical", else "sharp".
        order: "fixed" or "random".
        threat: "strong", or, in random order alone and there the default, "weak".
        b: Of the practical shift.
        beta: Of the practical noise part.
        seed: Of the draws in random order.

    Attributes:
        active: Candidates that may be the best, (n,).
        epoch: Epochs finished.
        plan: The readings of the epoch under way.
    """

    no_promise = Guarantee(void=NotProved())
    learns_uninvited = False  # an epoch's estimate rests on its own design

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        C: float,
        psi: float | None = None,
        eta: float = 2.0,
        width: str = "exact",
        noise: str | None = None,
        order: str = "fixed",
        threat: str | None = None,
        b: float = 0.1,
        beta: float = 4.0,
        seed: Any = None,
    ) -> None:
        self.order = checks.choice("order", order, ("fixed", "random"))
        is_random = order == "random"
        super().__init__(domain, assumptions, seed=Seed.of(seed) if is_random else None)
        self.C = checks.real("C", C, at_least=0.0)
        self.psi = checks.real("psi", (0.0 if is_random else 0.1) if psi is None else psi, at_least=0.0)
        self.eta = checks.real("eta", eta, above=1.0)
        self.width = checks.choice("width", width, WIDTHS)
        default = "practical" if width == "practical" else "sharp"
        self.noise = checks.choice("noise", noise or default, ("sharp", "paper", "practical"))
        threats = ("weak", "strong") if is_random else ("strong",)
        self.threat = checks.choice("threat", threat or threats[0], threats)
        self.b = checks.real("b", b, at_least=0.0)
        self.beta = checks.real("beta", beta, at_least=0.0)
        if width == "paper" and self.psi == 0.0:
            raise ValueError("width='paper' divides by psi, which must be > 0, got psi=0.0")
        if self.threat == "weak" and (width != "exact" or self.noise == "practical"):
            raise ValueError(
                "order='random' with threat='weak' needs width='exact' and a proved noise part, got "
                f"width={width!r}, noise={self.noise!r}"
            )
        self.active: Bools = np.ones(domain.n, dtype=np.bool_)
        self.epoch = 0
        sigma = np.sqrt(assumptions.kernel.diag(self.X))
        self._last = Opinion(np.zeros(domain.n), sigma, assumptions.B * sigma)
        self._intersect(-self._last.width, self._last.width)
        self._begin()

    @property
    def parameters(self) -> dict[str, Any]:
        words = {"C": self.C, "psi": self.psi, "eta": self.eta, "width": self.width}
        words |= {"noise": self.noise, "order": self.order, "threat": self.threat}
        if "practical" in (self.width, self.noise):
            words |= {"b": self.b, "beta": self.beta}
        return words

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        seed = None if self.seed is None else self.seed.to_plain()
        n_active = np.array([int(self.active.sum())])
        return Details(maximisers=n_active, seed=seed, tolerance=self.assumptions.tolerance)

    # --- epochs --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Plan the next epoch."""
        length = 2 ** (self.epoch + 1)
        self.plan = design(self.assumptions, self.X, self.active, length, self.eta, self.psi)
        self._row = {int(a): row for row, a in enumerate(self.plan.points)}
        self._left: Ints = self.plan.repeats.copy()  # how often each is still to be asked
        self._drawn: list[int] = []  # rows of the plan, in the order of asking
        self._n_told = 0
        self._sums: Floats = np.zeros(len(self.plan.points))

    def _choices(self) -> tuple[Ints, Floats]:
        left = self._left
        rows = np.flatnonzero(left)
        if not len(rows):  # all asked, some not told
            return np.array([self._best()], dtype=np.intp), np.ones(1)
        if self.order == "fixed":
            rows = rows[:1]
        return self.plan.points[rows], left[rows] / left[rows].sum()

    def _learner(self) -> str | None:
        return "main" if len(self._drawn) < self.plan.n_readings else None

    def ask(self) -> Query:
        """Draw the next point from the proposal. Learns nothing; the query is pending until told."""
        query = super().ask()
        if query.instance is not None:
            assert query.index is not None
            row = self._row[query.index]
            self._left[row] -= 1
            self._drawn.append(row)
        return query

    def _learn(self, query: Query, y: float) -> None:
        if query.instance is None:
            return
        assert query.index is not None
        self._sums[self._row[query.index]] += y
        self._n_told += 1
        if self._n_told == self.plan.n_readings:
            self._finish()

    def _finish(self) -> None:
        """Estimate f from the epoch's readings, and drop what cannot be the best."""
        at = Estimate(self.assumptions, self.X, self.plan, self._sums / self.plan.repeats)
        width = self._noise_part(at) + self._shift(at)
        self._last = Opinion(at.mu, at.sigma, width)
        lower, upper = at.mu - width, at.mu + width
        self._intersect(lower, upper)
        self.active &= upper >= lower[self.active].max() - self.assumptions.tolerance
        self.epoch += 1
        self._begin()

    # --- widths --------------------------------------------------------------------------------

    @property
    def delta_now(self) -> float:
        """The probability with which the bounds of the epoch under way may fail."""
        return 6.0 * self.assumptions.delta / (math.pi * (self.epoch + 1)) ** 2

    def _noise_part(self, at: Estimate) -> Floats:
        known = self.assumptions
        if self.noise == "practical":
            return self.beta * at.sigma
        # In random order half of delta_now is the shift's.
        n_events = len(self.X) * (4.0 if self.threat == "weak" else 2.0)
        size = known.noise_std * math.sqrt(2.0 * math.log(n_events / self.delta_now) / known.lam)
        paper: Floats = (known.B + size) * at.sigma
        if self.noise == "paper":
            return paper
        sharp = rkhs_bias(known.B, at.var, at.noise_var) + size * np.sqrt(at.noise_var)
        return np.minimum(sharp, paper)

    def _shift(self, at: Estimate) -> Floats:
        C, cap, lam, plan = self.C, self.assumptions.c_max, self.assumptions.lam, self.plan
        if C == 0.0:
            return np.zeros(len(self.X))
        if self.width == "practical":
            return self.b * C / math.sqrt(plan.n_readings) * at.sigma
        if self.width == "paper":
            return C * math.sqrt(plan.n_readings / lam) / (plan.length * self.psi) * at.sigma
        if self.width == "lemma":
            repeated: Floats = C / math.sqrt(lam * int(plan.repeats.min())) * at.sigma
            return np.minimum(repeated, shift_capped(C, cap, lam, at.sigma))
        weights = np.abs(at.R) / lam
        exact = shift_exact(weights, plan.repeats.astype(np.float64), C, cap)
        if self.threat == "strong":
            return exact
        by_draws = random_order_shift(weights, plan.repeats, self._drawn, C, cap, self.delta_now / 2.0)
        return np.minimum(exact, by_draws)

    # --- what it says --------------------------------------------------------------------------

    def _believe(self) -> Opinion:
        return self._last

    def _best(self) -> int:
        """The active candidate with the largest mean of the last epoch, of those read if any."""
        is_read = self.active & (self.counts > 0)
        among = is_read if is_read.any() else self.active
        return int(np.argmax(np.where(among, self._last.mu, -np.inf)))

    def _promise(self) -> Guarantee | None:
        if "practical" in (self.width, self.noise):
            return None
        known = self.assumptions
        return Guarantee(self.threat, ("main",), 1.0 - known.delta, self.C, known.c_max)
