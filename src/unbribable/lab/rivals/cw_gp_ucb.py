"""Confidence-weighted GP-UCB: uncertain readings count for less (ours; HZZG22 with a kernel)."""

import math
from bisect import insort
from typing import Any

import numpy as np

from unbribable.decision.asking.ahead import NOTHING, Ahead
from unbribable.decision.asking.best import best
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.decision.proposal import Query
from unbribable.decision.proven.conditions import InOrder
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Level, Recommendation, ValidBounds
from unbribable.lab.rivals.base import Rival
from unbribable.model import checks
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import radius

LEVELS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of C for which a recommendation states its certificate, too."""


class CWGPUCB(Rival):
    """Holds changing state. GP-UCB that learns the i-th reading with noise lam / w_i (ours).

    With s the standard deviation at the point just before its reading is learned, beta = B + rho of the
    readings held, and a = kappa sqrt(lam) beta / C:

        "before":  w = min(1, a sqrt(lam) / s),                             u = w s / sqrt(lam)
        "after":   w = min(1, a (a + sqrt(a^2 + 4 lam / s^2)) / 2),         u = w s / sqrt(lam + w s^2)

    The corruption part of the width, for any C:

        "closed":  min( knapsack(u, C, c_max) / sqrt(lam), sqrt(C min(C, c_max) / lam) ) * sigma
        "exact":   `shift_exact` with one item per point and noise; never above "closed"

    Theorem. With probability 1 - delta, at all times and x, |mu - f| <= noise part + shift, and
    shift <= C u_max / sqrt(lam) sigma <= kappa beta sigma. One query at a time,

        R_T <= 2 (1 + kappa) ( beta_T sqrt(2 T gamma_T / zeta) + (2 r / kappa) C gamma_T ).

    Proof. V = lam I + sum w_i phi_i phi_i'. (i) Noise: w_i is predictable and at most 1, so
    sqrt(w_i) eps_i is sub-Gaussian for the features sqrt(w_i) phi_i: Lemma 1, and both tight forms, with
    gain = 0.5 ln det(V / lam). (ii) Corruption: |sum w_i c_i phi' V^-1 phi_i| is at most
    |phi|_{V^-1} sum |c_i| w_i |phi_i|_{V_i^-1} with V_i right after reading i (right before it, which is
    larger, for "before"), and w_i |phi_i|_{V_i^-1} = u_i; |phi|_{V^-1} = sigma / sqrt(lam); u_i <= a,
    which grows with beta.
    (iii) Rounds with w = 1: sum s <= sqrt(2 T gamma / zeta). Others have u = a, so with g = w s^2 / lam,
    s = sqrt(lam) g / (a sqrt(1 + g)) <= sqrt(lam) / a * r * 2 (gain of that round). QED

    Since the weights do not look at values, the intervals can be read afterwards for any other C:
    `recommend(C=...)`, which holds against strong adversaries.

    Args:
        domain: A Grid.
        assumptions: What the guarantee rests on.
        C: Total corruption.
        Cbar: In place of an unknown C, which is then not looked at: "sqrt" for sqrt(T), "balanced" for
            what makes the two terms of the regret bound equal, or a number. All holds as long as the
            corruption does not exceed it.
        T: Rounds; needed for a Cbar in words.
        kappa: How much of the noise part the shift may take; inf never reduces a weight.
        rule: "after" (ours: larger weights, the same bound), or "before", as CW-OFUL.
        width: "exact" or "closed".
        noise: Noise part of the width, "tight" or "paper".

    Attributes:
        C: The corruption it allows for.
        weights: w of every reading, in the order of telling.
    """

    is_ours = True

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        C: float | None = None,
        Cbar: float | str | None = None,
        T: int | None = None,
        kappa: float = 1.0,
        rule: str = "after",
        width: str = "exact",
        noise: str = "tight",
    ) -> None:
        super().__init__(domain, assumptions)
        self.kappa = checks.real("kappa", kappa, above=0.0, may_be_inf=True)
        self.rule = checks.choice("rule", rule, ("after", "before"))
        self.width = checks.choice("width", width, ("exact", "closed"))
        self.noise = checks.choice("noise", noise, ("tight", "paper"))
        self._delta = assumptions.delta / (2.0 if noise == "tight" else 1.0)
        self.T = None if T is None else checks.integer("T", T, at_least=1)
        self.Cbar = Cbar
        self.knows = None if Cbar is None else "that there are lies"
        self.C = self._stand_in(Cbar) if isinstance(Cbar, str) else self._number(C, Cbar)
        self.weights: list[float] = []
        self._u: list[float] = []  # ascending
        known_to_instance = self.C if width == "exact" else 0.0
        options = Options(width="exact", noise=noise)
        self._main = Instance(
            "main", self.X, assumptions, options, C=known_to_instance, delta=assumptions.delta
        )
        self._tighten()

    @property
    def parameters(self) -> dict[str, Any]:
        kappa = self.kappa if math.isfinite(self.kappa) else "inf"
        words = {"C": self.C, "kappa": kappa, "rule": self.rule, "width": self.width}
        unknown = {} if self.Cbar is None else {"Cbar": self.Cbar, "T": self.T}
        return {**words, "noise": self.noise, **unknown}

    def recommend(self, *, C: float | None = None) -> Recommendation:
        """The point with the largest lower bound, with its certificate and those for other C.

        Args:
            C: Corruption to be safe against, if not the one it was built for.
        """
        if C is None:
            return super().recommend()
        C = checks.real("C", C, at_least=0.0)
        held = self._held_for(C)
        return self._recommended(int(np.argmax(held.lower)), self._promise_for(C), held)

    def coefficient(self, C: float) -> float:
        """The closed form of the shift for corruption C, as a multiple of sigma."""
        if C == 0.0:
            return 0.0
        lam, cap = self.assumptions.lam, min(C, self.assumptions.c_max)
        n_units = C / cap
        n_whole = math.floor(n_units)
        total = sum(self._u[-n_whole:])
        if len(self._u) > n_whole:
            total += (n_units - n_whole) * self._u[-n_whole - 1]
        return min(cap * total / math.sqrt(lam), math.sqrt(C * cap / lam))

    # --- inside --------------------------------------------------------------------------------

    def _choices(self) -> tuple[Ints, Floats]:
        main, pending = self._main, [query.u for query in self.pending]
        ahead = Ahead.of(main.posterior, pending, ()) if pending else NOTHING
        if self.width == "exact":
            index = best(main.now, 1.0, ahead=ahead)[0]
        else:
            index = int(np.argmax(main.mu + ahead.shrink * (main.noise + self._closed())))
        return np.array([index], dtype=np.intp), np.ones(1)

    def _says_of(self, index: int) -> tuple[float, float, float]:
        main, width = self._main, self._main.width_at(index)
        if self.width == "closed":
            width += float(self._closed()[index])
        return float(main.mu[index]), float(main.sigma[index]), width

    def _learn(self, query: Query, y: float) -> None:
        assert query.index is not None
        s = float(self._main.sigma[query.index])
        w, u = self._weight(s)
        self.weights.append(w)
        insort(self._u, u)
        self._main.learn(query.index, y, self.assumptions.lam / w)
        self._tighten()

    def _weight(self, s: float) -> tuple[float, float]:
        """w and u of a reading of a point whose standard deviation is s."""
        lam, a = self.assumptions.lam, self._a
        if s == 0.0:
            return 1.0, 0.0
        if self.rule == "before":
            w = min(1.0, a * math.sqrt(lam) / s)
            return w, w * s / math.sqrt(lam)
        w = 1.0 if a >= 1.0 else min(1.0, a * (a + math.sqrt(a * a + 4.0 * lam / (s * s))) / 2.0)
        return w, w * s / math.sqrt(lam + w * s * s)

    @property
    def _a(self) -> float:
        """What u may be at most, unless the weight is 1 anyway."""
        if self.C == 0.0 or math.isinf(self.kappa):
            return math.inf
        return (
            self.kappa * math.sqrt(self.assumptions.lam) * self._beta(self._main.posterior.gain) / self.C
        )

    def _beta(self, gain: float) -> float:
        """B + rho of readings with this gain."""
        known = self.assumptions
        return known.B + radius(known.noise_std, known.lam, gain, self._delta)

    def _closed(self) -> Floats:
        """The closed form of the shift at every candidate."""
        return self.coefficient(self.C) * self._main.sigma

    def _tighten(self) -> None:
        main = self._main
        if self.width == "exact":
            self._intersect(main.lcb_bar, main.ucb_bar)
        else:
            width = main.noise + self._closed()
            self._intersect(main.mu - width, main.mu + width)

    def _best(self) -> int:
        return int(np.argmax(self._lower))

    def _promise(self) -> Guarantee:
        return self._promise_for(self.C)

    def _promise_for(self, C: float) -> Guarantee:
        order = () if self.is_in_order else (InOrder(),)
        known = self.assumptions
        return Guarantee("strong", ("main",), 1.0 - known.delta, C, known.c_max, conditions=order)

    def _held_for(self, C: float) -> ValidBounds:
        """Bounds that hold if the corruption is at most C, from the readings held now.

        The knapsack is concave in C and 0 at 0, so for a larger C it is at most C / self.C as large.
        Where C does not exceed self.C, the intersected bounds hold as well.
        """
        main = self._main
        shift = self.coefficient(C) * main.sigma
        if self.width == "exact" and self.C > 0.0:
            shift = np.minimum(shift, max(1.0, C / self.C) * (main.width - main.noise))
        lower, upper = main.mu - main.noise - shift, main.mu + main.noise + shift
        if C <= self.C:
            lower, upper = np.maximum(lower, self._lower), np.minimum(upper, self._upper)
        return ValidBounds.between(lower, upper, self.assumptions)

    def _levels(self, i: int) -> tuple[Level, ...]:
        found = []
        for C in [self.C * multiple for multiple in LEVELS] if self.C > 0.0 else []:
            held = self._held_for(C)
            found.append(Level(C, None if held.is_refuted else held.simple_regret(i), "strong"))
        return tuple(found)

    @staticmethod
    def _number(C: Any, Cbar: Any) -> float:
        """Cbar, or else C."""
        name, value = ("C", C) if Cbar is None else ("Cbar", Cbar)
        return checks.real(name, value, at_least=0.0, hint="; for an unknown C there is Cbar='balanced'")

    def _stand_in(self, rule: str) -> float:
        """What to take for an unknown C."""
        checks.choice("Cbar", rule, ("sqrt", "balanced"))
        if self.T is None:
            raise ValueError(f"Cbar={rule!r} needs T, the number of rounds, got T=None")
        if rule == "sqrt":
            return math.sqrt(self.T)
        lam = self.assumptions.lam
        gamma = float(MaxInformationGain(self.assumptions.kernel, self.X, lam).upper(self.T))
        per_round = self.T / (2.0 * math.log1p(1.0 / lam) * gamma)
        kappa = checks.real("kappa", self.kappa, above=0.0)
        return kappa * self._beta(gamma) * math.sqrt(per_round) / growth(lam, self.rule)


def growth(lam: float, rule: str = "after") -> float:
    """r of CWGPUCB's regret bound: s against the gain of a round whose weight was reduced (ours).

    "after": g / (sqrt(1 + g) ln(1 + g)), "before": g / ln(1 + g), both increasing, at g = 1 / lam.
    """
    g = 1.0 / lam
    return g / math.log1p(g) / (math.sqrt(1.0 + g) if rule == "after" else 1.0)
