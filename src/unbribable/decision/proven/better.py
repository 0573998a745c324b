"""By how much another point can be better than one if any k readings are lies, for all k at once (ours).

What is left of f without a set S of readings (`left_out`) is an ellipsoid at every fictitious noise eta.
It bounds every linear functional, so f(x) - f(rec), too, in which errors that both share cancel. With
l = delta_x - delta_rec, V = A (k(x) - k(rec)), and mu_S, var_S, q_S as there,

    f(x) - f(rec) <= max over S with |S| = k, not refuted, of
        min( min over eta of [ mu_S(l) + sqrt(B^2 + E^2/eta - q_S) sqrt(var_S(l)) ],  u_S(x) - l_S(rec) )

where u_S and l_S are the bounds at a point, cut where f cannot be. *Proof.* The ellipsoid
|f - mu_eta|_V bounds |l(f - mu_eta)| by its dual norm, sqrt(var(l)). The set that holds the lies is
never refuted, and the maximum over x may be taken before that over S. On the event of `left_out`, with
no further delta. QED
"""

import numpy as np

from unbribable.decision.proven.left_out import N_READINGS, LeftOut, solve_each
from unbribable.model.checks import Floats, Ints

N_AT_ONCE = 1 << 20
"""Numbers in an array, at most, while sets are looked at together."""

N_WORKED_OUT = 16
"""Sets that are worked out to the end together, the worst ones first."""


class Better:
    """Holds changing state: what was worked out so far.

    Args:
        left_out: The readings.
        U: The points compared, as the kernel sees them, (n, d).
        rec: Which of them the others are compared with.
    """

    def __init__(self, left_out: LeftOut, U: Floats, rec: int) -> None:
        self._left_out = left_out
        self._U = U
        self._rec = rec
        self._found: dict[int, float | None] = {}
        self._rest: tuple[tuple[int, ...], _Rest] | None = None

    def most(self, k: int) -> float | None:
        """max over x of f(x) - f(rec), at most, if at most k readings are lies; None: there are more."""
        if k not in self._found:
            self._found[k] = self._most(k)
        return self._found[k]

    def _most(self, k: int) -> float | None:
        left_out = self._left_out
        widest, k = left_out.highest - left_out.lowest, k - left_out.n_false
        if k < 0:
            return None
        if left_out.n > N_READINGS:
            return widest
        certain = left_out.certain(k)
        if certain is None:
            return None
        if k >= left_out.n:
            return widest
        if self._rest is None or self._rest[0] != certain:
            self._rest = certain, _Rest(left_out.without(certain), self._U, self._rec)
        return self._rest[1].most(k - len(certain))


class _Rest:
    """The readings that need not be lies, and what they say of the points compared.

    Attributes:
        rec: Which of the points the others are compared with.
        k: Prior covariances of the readings with the points, (t, n).
        diag: Prior variances of the points, (n,).
        with_rec: Their prior covariances with that one, (n,).
        slack: What is added to their variances, (n,).
    """

    def __init__(self, readings: LeftOut, U: Floats, rec: int) -> None:
        kernel = readings.assumptions.kernel
        self._readings, self._u = readings, U[rec]
        self.rec = rec
        self.k: Floats = kernel(readings.points, U)
        self.diag: Floats = kernel.diag(U)
        self.with_rec: Floats = kernel(U, U[rec][None, :])[:, 0]
        self.slack: Floats = np.asarray(readings.slack(self.diag))
        self._sights = [_Sight(self, readings, place) for place in range(len(readings.forms))]

    def most(self, k: int) -> float | None:
        """As `Better.most`, with k of these readings left out."""
        readings = self._readings
        sets = readings.sets(k, self._ceilings, len(self.diag))
        if sets is None:
            return readings.highest - readings.lowest
        upper, lower, is_left = readings.bounds(self._u, sets)
        is_left &= readings.leaves_some(upper, lower)
        sets, most = sets[is_left], None
        ceilings = self._ceilings(sets)
        order = np.argsort(-ceilings, kind="stable")
        for start in range(0, len(order), N_WORKED_OUT):
            part = order[start : start + N_WORKED_OUT]
            if most is not None:
                part = part[ceilings[part] > most]
                if not len(part):
                    break
            possible = sets[part[readings.is_consistent(sets[part])]]
            if len(possible):
                most = max(0.0 if most is None else most, float(self._values(possible).max()))
        return most

    def _ceilings(self, sets: Ints) -> Floats:
        """Upper bounds on `_values`, by the one fictitious noise that says most."""
        if not len(sets):
            return np.empty(0)
        factors = [sight.factor(sets) for sight in self._sights]
        typical = [
            float(np.max(sight.mu_l + np.median(factor) * np.sqrt(sight.var_l)))
            for sight, factor in zip(self._sights, factors, strict=True)
        ]
        best = int(np.argmin(typical))
        sight, factor = self._sights[best], factors[best]
        n_at_once = max(1, N_AT_ONCE // (len(self.diag) * max(1, sets.shape[1])))
        ceilings = np.empty(len(sets))
        for start in range(0, len(sets), n_at_once):
            part = slice(start, start + n_at_once)
            ceilings[part] = sight.differences(sets[part], factor[part]).max(axis=1)
        return ceilings

    def _values(self, sets: Ints) -> Floats:
        """The bound without each set, over all points, (n_sets,)."""
        readings, rec = self._readings, self.rec
        shape = len(sets), len(self.diag)
        better = np.full(shape, np.inf)
        upper, lower = np.full(shape, readings.highest), np.full(shape, readings.lowest)
        for sight in self._sights:
            factor = sight.factor(sets)
            better = np.minimum(better, sight.differences(sets, factor))
            mu, width = sight.points(sets, factor)
            upper, lower = np.minimum(upper, mu + width), np.maximum(lower, mu - width)
        values: Floats = np.minimum(better, upper - lower[:, [rec]]).max(axis=1)
        return values


class _Sight:
    """What the readings say at one fictitious noise.

    Attributes:
        mu_l: Posterior mean of f(x) - f(rec), (n,).
        var_l: Its variance, with slack, (n,).
    """

    def __init__(self, rest: _Rest, readings: LeftOut, place: int) -> None:
        self._readings, self._form = readings, readings.forms[place]
        self._weights: Floats = self._form.inverse @ rest.k  # (t, n)
        self._mu: Floats = self._form.pull @ rest.k
        var = rest.diag - np.einsum("tx,tx->x", rest.k, self._weights)
        self._var: Floats = np.maximum(var, 0.0) + rest.slack
        rec = rest.rec
        cov = rest.with_rec - rest.k[:, rec] @ self._weights
        self._weights_l: Floats = self._weights - self._weights[:, [rec]]
        self.mu_l: Floats = self._mu - self._mu[rec]
        var_l = np.maximum(var + var[rec] - 2.0 * cov, 0.0)
        self.var_l: Floats = var_l + rest.slack + rest.slack[rec]

    def factor(self, sets: Ints) -> Floats:
        """Of the standard deviation, without each set, (n_sets,)."""
        solved, part = solve_each(self._form.inverse, self._form.pull[:, None], sets)
        return self._readings.factor(self._form, np.einsum("si,si->s", part[..., 0], solved[..., 0]))[0]

    def differences(self, sets: Ints, factor: Floats) -> Floats:
        """Upper bounds on f(x) - f(rec) without each set, (n_sets, n)."""
        moved, var = self._without(self._weights_l, sets)
        bound: Floats = self.mu_l - moved + factor[:, None] * np.sqrt(self.var_l + var)
        return bound

    def points(self, sets: Ints, factor: Floats) -> tuple[Floats, Floats]:
        """Mean and width at the points without each set, (n_sets, n) each."""
        moved, var = self._without(self._weights, sets)
        return self._mu - moved, factor[:, None] * np.sqrt(self._var + var)

    def _without(self, weights: Floats, sets: Ints) -> tuple[Floats, Floats]:
        """What the mean loses and the variance gains without each set, (n_sets, n) each."""
        right = np.concatenate([self._form.pull[:, None], weights], axis=1)
        solved, part = solve_each(self._form.inverse, right, sets)
        moved: Floats = np.einsum("si,six->sx", part[..., 0], solved[..., 1:])
        gained: Floats = np.einsum("six,six->sx", part[..., 1:], solved[..., 1:])
        return moved, gained
