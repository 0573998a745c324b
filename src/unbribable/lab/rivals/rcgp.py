"""Robust conjugate GP-UCB: readings far from where they are expected count for less."""

import math
from collections import Counter
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from unbribable.decision.proposal import Query
from unbribable.decision.proven.conditions import Condition, InOrder, NoiseBlind, NotProved, TooMany
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.lab.rivals.base import Opinion, UpperBoundRival
from unbribable.lab.rivals.practice import practical_beta
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.widths import noise_width_tight, radius, rkhs_bias, shift_exact

_MOST = 1e100
"""Excess, in tails, beyond which a reading does not lose more weight: its square must be a number."""


def reweighed(
    y: Floats | float, centre: Floats | float, plateau: float, tail: float, lam: float
) -> tuple[Floats, Floats, Floats]:
    """Pseudo-readings, their noises and their excesses, under the plateau weight.

        excess = max(|y - centre| - plateau, 0)
        noise  = lam (1 + excess^2 / tail^2)
        pseudo = y + sign(y - centre) 2 lam excess / (tail^2 + excess^2)

    The ordinary posterior of pseudo-readings with these noises is the robust conjugate one. With
    plateau 0 the weight is the inverse multiquadric one. The pseudo-reading moves outwards.

    Args:
        y: Readings.
        centre: Where they were expected.
        plateau: Distance up to which they are believed, may be inf.
        tail: How fast they lose weight beyond it, may be inf.
        lam: Noise of a reading that is believed.
    """
    residual = np.asarray(y) - centre
    excess = np.maximum(np.abs(residual) - plateau, 0.0)
    ratio = np.minimum(excess / tail, _MOST)
    push = 2.0 * lam / tail * ratio / (1.0 + ratio**2)
    return y + np.sign(residual) * push, lam * (1.0 + ratio**2), excess


class RCGPUCB(UpperBoundRival):
    """Holds changing state. GP-UCB on readings that are weighed by their distance from a centre.

    The centre of a reading is 0 ("fixed"), the mean of a fixed one on all readings but the last, with
    all weights worked out anew in every round ("anchored"), or the mean at the point when the reading
    is learned ("online"). Then plateau and tail are multiples of what is expected there,
    tail = sqrt(sigma^2 + lam) and plateau = ell * tail.

    The authors' width is `practical_beta(t) * sigma`, and proves nothing. Ours, for "fixed" alone, is a
    bound (ours): see `_shift`.

    Args:
        domain: A Grid.
        assumptions: kernel and lam, which the method takes to be noise_std^2; B0 and noise_std for the
            default plateau, all for our width.
        centre: "fixed", "anchored" or "online".
        width: "authors" or "ours".
        n_lies: How many rounds may be lied about: for our width.
        T: Rounds: for our width and the default plateau.
        plateau: By default B0 + N, where N is what the noise of T rounds stays below.
        tail: By default sqrt(lam), which makes our width smallest.
        ell: The plateau of "online", in tails; may be inf.
        n_init: Readings of an initial design, which `practical_beta` does not count.
        sees_noise: Whether the liar may choose the rounds of its lies by their noise: our width then
            pays for every choice of n_lies rounds among T.
    """

    no_promise = Guarantee(void=NotProved())

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        centre: str = "online",
        width: str = "authors",
        n_lies: int = 0,
        T: int | None = None,
        plateau: float | None = None,
        tail: float | None = None,
        ell: float = 1.0,
        n_init: int = 0,
        sees_noise: bool = False,
    ) -> None:
        super().__init__(domain, assumptions)
        self.centre = checks.choice("centre", centre, ("fixed", "anchored", "online"))
        self.width = checks.choice("width", width, ("authors", "ours"))
        self.n_lies = checks.integer("n_lies", n_lies, at_least=0)
        self.T = None if T is None else checks.integer("T", T, at_least=1)
        self.ell = checks.real("ell", ell, at_least=0.0, may_be_inf=True)
        self.n_init = checks.integer("n_init", n_init, at_least=0)
        self.sees_noise = checks.truth("sees_noise", sees_noise)
        lam = assumptions.lam
        tail = math.sqrt(lam) if tail is None else tail
        self.tail = checks.real("tail", tail, above=0.0, may_be_inf=True)
        self.plateau = self._checked_plateau(plateau)
        is_ours = self.width == "ours"
        self._words = {"tracks_noise_var": is_ours, "is_careful": is_ours}
        self._posterior = self._new_posterior()
        self._anchor = self._new_posterior()
        self._harm: Counter[tuple[int, float]] = Counter()
        if is_ours:
            self._set_bounds()

    def _checked_plateau(self, plateau: float | None) -> float:
        is_ours = self.width == "ours"
        if is_ours and self.centre != "fixed":
            raise ValueError(f"centre must be 'fixed' for width='ours', got centre={self.centre!r}")
        if self.centre == "online" and plateau is not None:
            raise ValueError(f"plateau must be left out for centre='online', got plateau={plateau}")
        if self.centre == "online":
            return math.nan
        if self.T is None and (is_ours or plateau is None):
            raise ValueError("T must be given for width='ours' and for the default plateau, got T=None")
        if plateau is not None:
            plateau = checks.real("plateau", plateau, at_least=0.0, may_be_inf=True)
        least = 0.0 if self.T is None else self.assumptions.B0 + self._noise_bound(self.T)
        if is_ours and plateau is not None and plateau < least:
            raise ValueError(
                f"plateau must be >= B0 + N = {least:g} for width='ours', got plateau={plateau}"
            )
        return least if plateau is None else plateau

    def _noise_bound(self, T: int) -> float:
        """N: with probability 1 - delta/2 the noise of T rounds stays below it."""
        a = self.assumptions
        return a.noise_std * math.sqrt(2.0 * math.log(4.0 * T / a.delta))

    def _new_posterior(self) -> Posterior:
        a = self.assumptions
        return Posterior(a.kernel, self.X, a.lam, **self._words)

    # --- what it was told ----------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        words: dict[str, Any] = {"centre": self.centre, "width": self.width}
        if self.centre == "online":
            return {**words, "ell": _plain(self.ell)}
        words |= {"plateau": _plain(self.plateau), "tail": _plain(self.tail), "T": self.T}
        if self.width == "ours":
            words |= {"n_lies": self.n_lies, "sees_noise": self.sees_noise}
        return words

    @property
    def knowledge(self) -> dict[str, Any]:
        names = ["kernel", "lam"]
        names += [] if self.centre == "online" else ["B0", "noise_std", "delta"]
        names += ["B"] if self.width == "ours" else []
        plain = self.assumptions.to_plain()
        return {**{name: plain[name] for name in names}, **self.parameters}

    # --- learning ------------------------------------------------------------------------------

    def _learn(self, query: Query, y: float) -> None:
        i, lam = self.readings[-1][0], self.assumptions.lam
        if self.centre == "anchored":
            if len(self.readings) > 1:  # the anchor lags behind by one reading
                self._observe(self._anchor, *self.readings[-2])
        elif self.centre == "online":
            tail = math.sqrt(float(self._posterior.var[i]) + lam)
            z, noise, _ = reweighed(y, float(self._posterior.mu[i]), self.ell * tail, tail, lam)
            self._posterior.observe(i, float(z), float(noise))
        else:
            self._observe(self._posterior, i, y)
        if self.width == "ours":
            self._set_bounds()

    def _observe(self, posterior: Posterior, i: int, y: float) -> None:
        """Take in a reading whose centre is 0."""
        lam = self.assumptions.lam
        z, noise, excess = reweighed(y, 0.0, self.plateau, self.tail, lam)
        posterior.observe(i, float(z), float(noise))
        reach = self.plateau + self.assumptions.B0 + float(excess) + abs(float(z) - y)
        self._harm[i, reach / float(noise)] += 1  # per unit of R, if it is a lie

    def _anchored(self) -> Posterior:
        """The posterior with all weights worked out anew."""
        posterior = self._new_posterior()
        if self.readings:
            indices = [i for i, _ in self.readings]
            y = np.array([value for _, value in self.readings])
            weighed = reweighed(
                y, self._anchor_mean()[indices], self.plateau, self.tail, self.assumptions.lam
            )
            z, noise = weighed[0].tolist(), weighed[1].tolist()
            posterior.observe_all(list(zip(indices, z, noise, strict=True)))
        return posterior

    def _anchor_mean(self) -> Floats:
        return self._anchor.mu

    def _believe(self) -> Opinion:
        posterior = self._anchored() if self.centre == "anchored" else self._posterior
        sigma = np.sqrt(posterior.var)
        if self.width == "authors":
            width: Floats = practical_beta(len(self.readings) - self.n_init) * sigma
        else:
            width = self._noise(posterior, sigma) + self._shift(posterior)
        return Opinion(posterior.mu.copy(), sigma, width)

    # --- our width -----------------------------------------------------------------------------

    def _noise(self, posterior: Posterior, sigma: Floats) -> Floats:
        a, gain = self.assumptions, posterior.gain
        if self.sees_noise:
            assert self.T is not None
            gain += _log_choices(self.T, self.n_lies)
        rho = radius(a.noise_std, a.lam, gain, a.delta / 4.0)
        return noise_width_tight(a.B, rho, sigma, rkhs_bias(a.B, posterior.var, posterior.noise_var))

    def _shift(self, posterior: Posterior) -> Floats:
        """The n_lies largest |weight_i(x)| (L + B0 + excess_i + |pseudo_i - y_i|), summed (ours).

        Proof that noise part and shift bound |mu - f| with probability 1 - delta. On the event that no
        noise exceeds N, of probability 1 - delta/2, honest readings lie on the plateau: their noise is
        lam, and they are their own pseudo-readings. So mu - f is the noiseless error, which `rkhs_bias`
        bounds, plus the sum of weight_i noise_i over honest readings, plus that of
        weight_i (pseudo_i - f(x_i)) over lies. Let V = lam I + sum (lam / lam_i) phi_i phi_i' be the
        matrix of all readings and V_h <= V that of the honest ones. Norms in V^-1 are at most those in
        V_h^-1, and the gain of V is at least that of V_h: both forms of `noise_width_tight` hold, with
        delta/2 together, if being a lie is decided before the round's noise. (If not, a union over all
        choices of at most n_lies rounds among T: their logarithm is added to the gain.) Last,
        |pseudo - f| <= L + excess + |pseudo - y| + B0 for a lie, and there are at most n_lies. QED
        """
        if not posterior.m or not self.n_lies:
            return np.zeros(len(self.X))
        row = {i: j for j, i in enumerate(posterior.u.tolist())}
        rows = [row[i] for i, _ in self._harm]
        harm = np.array([each for _, each in self._harm])
        counts = np.array([*self._harm.values()], dtype=np.float64)
        moved = np.abs(posterior.R[rows]) * harm[:, None]
        return shift_exact(moved, counts, float(self.n_lies), 1.0)

    def _set_bounds(self) -> None:
        belief = self.belief
        assert belief is not None
        self._intersect(belief.mu - belief.width, belief.mu + belief.width)

    def _promise(self) -> Guarantee | None:
        if self.width != "ours":
            return None
        assert self.T is not None
        n, conditions = len(self.readings), list[Condition]()
        if not self.sees_noise:
            conditions.append(NoiseBlind())
        if not self.is_in_order:
            conditions.append(InOrder())
        return Guarantee(
            "strong",
            ("main",),
            1.0 - self.assumptions.delta,
            math.inf,
            lies=CountedLies(self.n_lies, self.T),
            conditions=tuple(conditions),
            void=TooMany(self.T, n) if n > self.T else None,
        )


def _log_choices(T: int, n_lies: int) -> float:
    """ln of the number of ways to choose at most n_lies rounds among T."""
    k = np.arange(min(n_lies, T) + 1)
    return float(logsumexp(gammaln(T + 1) - gammaln(k + 1) - gammaln(T - k + 1)))


def _plain(number: float) -> float | str:
    return "inf" if math.isinf(number) else number
