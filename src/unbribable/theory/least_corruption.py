"""The least corruption that explains the readings: how much lying there must have been (ours).

Readings y_i = f(x_i) + noise_i + c_i of m distinct points u_j, taken in the order i = 1, 2, ...; the
points may be chosen by looking at earlier readings, and a liar may see the noise. Three events, delta/3
each, hold at any stopping time:

1. |V^(-1/2) sum_i omega_i noise_i phi(x_i)| <= rho = noise_std sqrt(2 (gain + ln(3/delta))), with
   omega_i = (noise_std / noise_std_i)^2 and V = lam I + sum_i omega_i phi(x_i) phi(x_i)'. Lemma 1's
   noise term is this bound.
2. |noise_i| <= r_i = noise_std_i sqrt(2 ln(pi^2 i^2 / delta)) for every i. Proof. A sub-Gaussian tail
   is at most 2 exp(-ln(pi^2 i^2 / delta)), and the sum over i of 2 delta / (pi i)^2 is delta/3. QED
   In a table of t rows i may be any number up to t, so each row gets r_t. The other two events do not
   depend on the order of the readings that there are.
3. sum_i omega_i noise_i^2 <= E^2, the least over six theta of noise_std^2 (2 ln(18/delta) -
   t ln(1 - theta)) / theta. Proof. E exp(s noise^2) <= (1 - 2 s noise_std^2)^(-1/2) for sub-Gaussian
   noise (write the square as a Gaussian integral). With theta = 2 s noise_std^2 this makes
   exp(s sum noise_i^2) (1 - theta)^(t/2) a supermartingale; Ville at delta/18 for each theta. QED

On these events the truth is a feasible point of the convex program

    minimise sum_i |c_i|    over a (m,), v = L a, e (t,), c_i = y_i - v_j(i) - e_i    subject to
    |a| <= B,  |v_j| <= B0,  |c_i| <= c_max,  |e_i| <= r_i,  |sqrt(omega) e| <= E,  |Q s| <= rho,
    s_j = sum of omega_i e_i over the readings of u_j

where K = L L' is the kernel matrix of the points, V = Cv Cv' with V = lam I + L' diag(sum omega) L, and
Q = Cv^(-1) L'. So with probability at least 1 - delta the lies total at least its optimum.
Where event 1 is left out the others keep delta/3 each, since that may depend on what was told.
K is given a little more on its diagonal: k + jitter 1{x = x'} is a kernel too, and f has no larger norm
in it. It is used everywhere, the gain and V included, so nothing is approximated.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from unbribable.extras import needed
from unbribable.model.checks import Floats, Ints
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.widths import shift_exact

JITTER = 1e-9
"""Added to the diagonal of the kernel matrix."""

M_EVENT_1 = 500
"""Distinct points above which event 1 is left out: its dense m x m block would cost too much time."""

M_WHOLE = 1000
"""Distinct points above which the readings are split into parts of half as many."""

_THETAS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
_ROUNDING = 1e-9
"""Share of sum |p_i y_i| that is taken off a certified bound."""

_NOISE_MIN = 1e-6
"""Smallest noise, as a share of B0, that the program is given: without any it has no interior. Every
statement stays true with more noise than there is."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One number for each constraint of the program: any numbers certify a bound."""

    p: Floats
    """Of the readings, (t,)."""
    h: Floats
    """Of event 3, (t,)."""
    q: Floats
    """Of |f| <= B0, (m,)."""
    w: Floats
    """Of event 1, (m,)."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The least corruption of one set of readings."""

    total: float
    """With probability at least 1 - delta the lies total at least that, under the assumptions;
    math.inf if no lies explain the readings."""
    optimum: float
    """What the solver found: about `total`, but no proof. math.inf if it found no explanation."""
    lies: Floats
    """Lies that explain the readings with that total, (t,): one explanation of several, no verdict on
    single readings. NaN where none was found."""
    is_refuted: bool
    """Whether it is certain that no lies within c_max (and C, if given) explain the readings: an
    assumption is false, whatever was told."""
    probability: float
    """1 - delta, of an event of its own: printed beside intervals, both hold with 1 - 2 delta."""


class LeastCorruption:
    """How much lying there must have been in some readings; see the head of this file (ours).

    Above M_WHOLE distinct points the readings are split by their place, all readings of a point in one
    part, and what the parts need is added up. That is valid: each part's bound is one on the lies in it,
    and events 2 and 3, which speak of all readings, hold for those of a part as well.

    Args:
        points: The m distinct points as the kernel sees them, (m, d).
        rows: Of each reading: which point, (t,).
        y: The readings, in the units of the assumptions, (t,).
        assumptions: Kernel, B, B0, noise_std, lam, delta, c_max.
        noise_std: Of each reading, (t,); the assumed one if None.
        number: Of each reading: which one it was, at the latest, among all that were taken, those that
            are missing included, from 1, (t,). If None, they are in the order in which they were taken.
        n_told: How many were taken in all, the missing ones included.
        is_selected: Whether readings are missing because of their value (retracted, pruned, failed
            when low, left out by looking at them). Then event 1 does not hold and is left out.

    Attributes:
        parts: The programs, each with the readings it holds.
    """

    def __init__(
        self,
        points: Floats,
        rows: Ints,
        y: Floats,
        assumptions: Assumptions,
        *,
        noise_std: Floats | None = None,
        number: Ints | None = None,
        n_told: int | None = None,
        is_selected: bool = False,
    ) -> None:
        t = len(y)
        stds = np.full(t, assumptions.noise_std) if noise_std is None else noise_std
        number = np.arange(1, t + 1) if number is None else number
        n_told = t if n_told is None else n_told
        has_event_1 = not is_selected and len(points) <= M_EVENT_1
        self._t, self._probability = t, 1.0 - assumptions.delta
        self.parts: list[tuple[Ints, Program]] = []
        for part in _split(points, np.arange(len(points))) if t else []:
            held = np.flatnonzero(np.isin(rows, part))
            row_of = np.empty(len(points), dtype=np.intp)
            row_of[part] = np.arange(len(part))
            program = Program(
                points[part],
                row_of[rows[held]],
                y[held],
                stds[held],
                number[held],
                n_told,
                assumptions,
                has_event_1=has_event_1,
            )
            self.parts.append((held, program))

    def explain(self, C: float = math.inf) -> Explanation:
        """The least total of lies that explains the readings.

        Args:
            C: Their total is known to be at most that. Then no explanation means that this, or another
                assumption, is false.
        """
        lies, total, is_refuted = np.zeros(self._t), 0.0, False
        for held, program in self.parts:
            ones = np.ones(len(held))
            lies[held], at = program.solve(ones, C)
            is_refuted |= program.bound(at, np.zeros(len(held)), C) > 0.0
            total += max(0.0, program.bound(at, ones, C))
        total = math.inf if is_refuted else total
        optimum = math.inf if np.isnan(lies).any() else float(np.abs(lies).sum())
        return Explanation(total, optimum, lies, is_refuted, self._probability)

    def certain_lie(self, i: int, C: float = math.inf) -> float:
        """With probability at least 1 - delta the lie in reading i is at least that, in absolute value.

        This holds for all readings at once, on the same event as the total, so i may be chosen by
        looking at them. Far stronger where C is known. One program is solved for each reading asked
        about. Where the readings are refuted the number means nothing: any statement follows then.
        """
        ((held, program),) = [part for part in self.parts if i in part[0]]
        one = (held == i).astype(float)
        _, at = program.solve(one, C)
        return max(0.0, program.bound(at, one, C))


class Program:
    """The convex program of one part of the readings, in units of B0."""

    def __init__(
        self,
        points: Floats,
        rows: Ints,
        y: Floats,
        stds: Floats,
        number: Ints,
        n_told: int,
        assumptions: Assumptions,
        *,
        has_event_1: bool,
    ) -> None:
        scale, delta, lam = assumptions.B0, assumptions.delta, assumptions.lam
        m = len(points)
        assumed = max(assumptions.noise_std / scale, _NOISE_MIN)
        stds = np.maximum(stds / scale, _NOISE_MIN)
        self.scale, self.rows = scale, rows
        self.y: Floats = y / scale
        self.B, self.c_max = assumptions.B / scale, assumptions.c_max / scale
        self.omega: Floats = (assumed / stds) ** 2
        self.r: Floats = stds * np.sqrt(2.0 * np.log(np.pi**2 * number.astype(float) ** 2 / delta))
        energies = (2.0 * math.log(18.0 / delta) - n_told * np.log1p(-_THETAS)) / _THETAS
        self.E = assumed * math.sqrt(float(energies.min()))
        K = assumptions.kernel(points, points)
        K[np.diag_indices(m)] += JITTER
        self.L: Floats = cholesky(K, lower=True)
        self.Q: Floats = np.zeros((0, m))
        self.rho = 0.0
        if has_event_1:
            gathered = np.bincount(rows, self.omega, minlength=m)
            information = self.L.T @ (gathered[:, None] * self.L)  # V
            information[np.diag_indices(m)] += lam
            root = cholesky(information, lower=True)
            self.Q = solve_triangular(root, self.L.T, lower=True)
            gain = float(np.sum(np.log(np.diag(root)))) - 0.5 * m * math.log(lam)
            self.rho = assumed * math.sqrt(2.0 * (gain + math.log(3.0 / delta)))

    def bound(self, at: Multipliers, objective: Floats, C: float = math.inf) -> float:
        """A lower bound on sum_i objective_i |c_i|, in the readings' units, for any multipliers (ours).

            p'y - B |L'(G'p - q)| - B0 |q|_1 - E |h / sqrt(omega)| - rho |w|
                - sum_i r_i |p_i - h_i - omega_i (Q'w)_j(i)| - worst
            G'p:    sums of p over the readings of a point
            worst = max { sum_i (|p_i| - objective_i)_+ z_i : 0 <= z_i <= c_max, sum z <= C }

        Proof. At any feasible point p'y is the sum of (G'p - q)'v, q'v, h'e, w'Q s, p'c and of
        (p - h - omega Q'w)'e. All but p'c are at most what is subtracted for them (v = L a, |a| <= B),
        and p'c <= sum objective_i |c_i| + worst. QED
        With objective = 1 that is the total of the lies; with a single 1 it is one of them; with 0 a
        bound above 0 is a contradiction. An interior-point iterate is not dual feasible, so its dual
        value would be no certificate. A share _ROUNDING of sum |p_i y_i| is taken off.
        """
        p, h, q, w = at.p, at.h, at.q, at.w
        excess = np.maximum(np.abs(p) - objective, 0.0)
        C = min(C / self.scale, self.c_max * len(p))
        if math.isinf(C):  # no lie is bounded: p may nowhere exceed the objective
            shares = np.divide(objective, np.abs(p), out=np.ones(len(p)), where=excess > 0.0)
            share = float(np.min(shares, initial=1.0))
            p, h, q, w, excess = share * p, share * h, share * q, share * w, np.zeros(len(p))
        gathered = np.bincount(self.rows, p, minlength=len(self.L)) - q
        left = p - h - self.omega * (self.Q.T @ w)[self.rows]
        value = (
            float(p @ self.y)
            - self.B * float(np.linalg.norm(self.L.T @ gathered))
            - float(np.abs(q).sum())
            - self.E * float(np.linalg.norm(h / np.sqrt(self.omega)))
            - self.rho * float(np.linalg.norm(w))
            - float(self.r @ np.abs(left))
        )
        if excess.any():
            value -= float(shift_exact(excess[:, None], np.ones(len(p)), C, self.c_max)[0])
        return self.scale * (value - _ROUNDING * float(np.abs(p * self.y).sum()))

    def solve(self, objective: Floats, C: float) -> tuple[Floats, Multipliers]:
        """Lies that minimise sum_i objective_i |c_i|, in the readings' units, and the multipliers.

        The lies are NaN where the solver found none.
        """
        clarabel = require_clarabel()
        t, m = len(self.y), len(self.L)
        each, point = sparse.identity(t), sparse.identity(m)
        at = sparse.csr_matrix((np.ones(t), (np.arange(t), self.rows)), (t, m))
        equal, at_least = clarabel.ZeroConeT, clarabel.NonnegativeConeT
        within = clarabel.SecondOrderConeT
        # Columns a, v, s, e and u, where u_i >= |c_i|. A row says: side - blocks x lies in its cone.
        program: dict[str, tuple[Any, dict[str, Any], Floats]] = {
            "v = L a": (equal, {"a": -sparse.csr_matrix(self.L), "v": point}, np.zeros(m)),
            "s": (equal, {"s": point, "e": -at.T @ sparse.diags(self.omega)}, np.zeros(m)),
            "u >= c": (at_least, {"v": -at, "e": -each, "u": -each}, -self.y),
            "u >= -c": (at_least, {"v": at, "e": each, "u": -each}, self.y),
            "v <= B0": (at_least, {"v": point}, np.ones(m)),
            "v >= -B0": (at_least, {"v": -point}, np.ones(m)),
            "e <= r": (at_least, {"e": each}, self.r),
            "e >= -r": (at_least, {"e": -each}, self.r),
            "|a| <= B": (within, {"a": _ball(point)}, _radius(self.B, m)),
            "event 3": (within, {"e": _ball(sparse.diags(np.sqrt(self.omega)))}, _radius(self.E, t)),
        }
        if len(self.Q):
            program["event 1"] = (within, {"s": _ball(self.Q)}, _radius(self.rho, m))
        if math.isfinite(self.c_max):
            program["u <= c_max"] = (at_least, {"u": each}, np.full(t, self.c_max))
        if math.isfinite(C):
            program["sum u <= C"] = (at_least, {"u": np.ones((1, t))}, np.array([C / self.scale]))
        kinds, blocks, sides = zip(*program.values(), strict=True)
        matrix = sparse.bmat([[block.get(name) for name in "avseu"] for block in blocks], format="csc")
        cones = [kind(len(side)) for kind, side in zip(kinds, sides, strict=True)]
        cost = np.concatenate([np.zeros(3 * m + t), objective])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        nothing = sparse.csc_matrix((len(cost), len(cost)))
        right = np.concatenate(sides)
        solution = clarabel.DefaultSolver(nothing, cost, matrix, right, cones, settings).solve()
        x, ends = np.array(solution.x), np.cumsum([len(side) for side in sides])
        z = dict(zip(program, np.split(np.array(solution.z), ends[:-1]), strict=True))
        lies = self.scale * (self.y - x[m : 2 * m][self.rows] - x[3 * m : 3 * m + t])
        if "Solved" not in str(solution.status):
            lies[:] = np.nan
        return lies, Multipliers(
            p=z["u >= c"] - z["u >= -c"],
            h=-np.sqrt(self.omega) * z["event 3"][1:],
            q=z["v <= B0"] - z["v >= -B0"],
            w=-z["event 1"][1:] if len(self.Q) else np.zeros(0),
        )


def _split(points: Floats, part: Ints) -> list[Ints]:
    """One part up to M_WHOLE points; else parts of half as many, cut along their longest side."""
    if len(points) <= M_WHOLE or len(part) <= M_WHOLE // 2:
        return [part]
    longest = int(np.argmax(np.ptp(points[part], axis=0)))
    order = part[np.argsort(points[part, longest], kind="stable")]
    half = len(order) // 2
    return _split(points, order[:half]) + _split(points, order[half:])


def require_clarabel() -> Any:
    """The clarabel package, or the error that says how to install it."""
    return needed("an audit needs", "clarabel", "audit")


def _ball(block: Any) -> Any:
    """The rows of |block x| <= radius."""
    return sparse.vstack([sparse.csr_matrix((1, block.shape[1])), -sparse.csr_matrix(block)])


def _radius(value: float, n: int) -> Floats:
    """The right side of those rows."""
    return np.concatenate([[value], np.zeros(n)])
