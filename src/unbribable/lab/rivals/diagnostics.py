"""GP-UCB on the readings that a Student-t model does not take for outliers."""

from typing import Any

import numpy as np
from scipy.stats import t as student

from unbribable.lab.rivals.base import Opinion, UpperBoundRival
from unbribable.lab.rivals.practice import practical
from unbribable.lab.rivals.student_t import student_t, told_arrays
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions


def outliers(
    kernel: Kernel, X: Floats, indices: Ints, y: Floats, *, nu: float, lam: float, level: float
) -> Bools:
    """Which readings lie outside the central 1 - level of what Student-t noise predicts, (n,)."""
    mu, var = student_t(kernel, X, indices, y, nu=nu, lam=lam)
    spread = np.sqrt(var[indices] + lam * nu / (nu - 2.0))
    far: Bools = np.abs(y - mu[indices]) > float(student.ppf(1.0 - level / 2.0, nu)) * spread
    return far


class DiagnosticsUCB(UpperBoundRival):
    """Holds changing state. GP-UCB on what remains once outliers are left out, after DiagnosticsGP.

    From n_init readings on, every n_schedule of them, all readings are judged afresh. If fewer than half
    would remain, or in a round that is not scheduled, all are kept. It plays the largest
    mu + practical_beta(t) * sigma, where the authors play expected improvement. Dropping readings by
    their value voids every interval.

    Args:
        domain: A Grid.
        assumptions: kernel and lam, the squared scale of the noise: noise_std^2 in the literature.
        nu: Degrees of freedom, above 2.
        level: Share of honest readings that the test may take for outliers; 0 drops nothing.
        n_init: Readings of an initial design, which are not judged before it is complete, and which
            `practical_beta` does not count.
        n_schedule: Readings from one judgement to the next.
    """

    told = ("kernel", "lam")

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        nu: float = 4.0,
        level: float = 0.05,
        n_init: int = 5,
        n_schedule: int = 1,
    ) -> None:
        super().__init__(domain, assumptions)
        self.nu = checks.real("nu", nu, above=2.0)
        self.level = checks.real("level", level, at_least=0.0, below=1.0)
        self.n_init = checks.integer("n_init", n_init, at_least=1)
        self.n_schedule = checks.integer("n_schedule", n_schedule, at_least=1)

    @property
    def parameters(self) -> dict[str, Any]:
        names = ("nu", "level", "n_init", "n_schedule")
        return {name: getattr(self, name) for name in names}

    @property
    def kept(self) -> Bools:
        """Which readings it rests on now, (n,)."""
        indices, y = told_arrays(self.readings)
        n, a = len(y), self.assumptions
        everything = np.ones(n, dtype=np.bool_)
        if n < self.n_init or (n - self.n_init) % self.n_schedule:
            return everything
        kept = ~outliers(a.kernel, self.X, indices, y, nu=self.nu, lam=a.lam, level=self.level)
        return kept if 2 * int(kept.sum()) >= n else everything

    def _believe(self) -> Opinion:
        a = self.assumptions
        posterior = Posterior(a.kernel, self.X, a.lam, tracks_noise_var=False)
        if self.readings:
            pairs = zip(self.readings, self.kept, strict=True)
            posterior.observe_all([(i, y, a.lam) for (i, y), is_kept in pairs if is_kept])
        return practical(posterior.mu, posterior.var, len(self.readings) - self.n_init)
