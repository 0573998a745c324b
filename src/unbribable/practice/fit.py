"""Defaults for what the user did not say, fitted to readings some of which may be lies."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Bools, Floats
from unbribable.model.kernels import Kernel, Matern
from unbribable.practice.reading_model import CENTER_STD, ReadingModel

B_FACTOR = 2.0
"""Safety factor of the guess of B."""

B0_FACTOR = 3.0
"""Safety factor of the guess of B0."""


@dataclass(frozen=True)
class Fit:
    """Readings are modelled as y = center + scale * (f(x) + noise). Guesses, not guarantees."""

    center: float
    scale: float
    kernel: Kernel
    """On the unit cube."""
    noise_std: float
    """In units of scale."""
    B: float
    """Guess of the RKHS norm of f: B_FACTOR times that of the posterior mean, at least B0."""
    B0: float
    """Guess of max |f|: B0_FACTOR times the largest |posterior mean| at the points, or times the
    robust standard deviation of the readings where that is more; at least 1."""


class Fitting:
    """Fits center, scale, kernel and noise to readings some of which may be lies.

    The same readings give the same fit. Where seven tenths of the readings are equal they say nothing
    about scale, kernel and noise, and the fit is the middle of the prior.

    Args:
        U: Points in the unit cube, (n, d); they may repeat.
        y: Their readings in any unit, (n,).
        kernel: Kept if given; otherwise Matern(2.5), one lengthscale per coordinate.
        noise_std: Standard deviation of the noise in the unit of y, kept if given.
        center: In the unit of y, kept if given.
        every: Points and readings, more than those, which tell the noise; the same if None. Where a
            run gathers they tell it best, but a shape that the rest of f does not have.

    Attributes:
        unit: A robust standard deviation of the readings, in the unit of y.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
    """

    def __init__(
        self,
        U: Floats,
        y: Floats,
        *,
        kernel: Kernel | None = None,
        noise_std: float | None = None,
        center: float | None = None,
        every: tuple[Floats, Floats] | None = None,
    ) -> None:
        X, y = checks.array("U", U, ndim=2), checks.array("y", y, ndim=1)
        if not X.size or len(X) != len(y):
            raise ValueError(
                f"U must be (n, d) and y (n,) with n, d >= 1, got shapes {X.shape} and {y.shape}"
            )
        if X.min() < -1e-9 or X.max() > 1.0 + 1e-9:
            raise ValueError(f"U must lie in the unit cube, got entries from {X.min()} to {X.max()}")
        if kernel is not None:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"kernel must be a Kernel, got kernel={kernel!r}")
            kernel.check(X)
        if noise_std is not None:
            noise_std = checks.real("noise_std", noise_std, at_least=0.0)
        y = np.clip(y, -1e150, 1e150)  # beyond, differences overflow
        self._kernel = kernel
        self._origin, self.unit, self._is_flat = _location_and_scale(y, center)
        self._model = ReadingModel(
            X,
            np.zeros(len(y)) if self._is_flat else self._robust(y),
            None if kernel is None else kernel(X, X),
            None if noise_std is None else noise_std / self.unit,
            CENTER_STD if center is None else 0.0,
        )
        self._every = self._model
        if every is not None and len(every[1]) > len(y):
            gram = None if kernel is None else kernel(every[0], every[0])
            self._every = replace(self._model, U=every[0], y=self._robust(every[1]), gram=gram)

    @cached_property
    def likely(self) -> Fit:
        """What is most likely."""
        theta, is_kept = self._solution
        lengthscales, scale, _ = self._model.unpack(theta)
        noise = self._model.unpack(self._solution_of_every[0])[2]
        dual, mean, norm = self._model.posterior(theta, is_kept)
        B0 = max(1.0, B0_FACTOR * max(float(np.abs(mean).max()), 1.0 / scale))
        return Fit(
            center=self._origin + self.unit * self._model.center_std**2 * float(dual.sum()),
            scale=self.unit * scale,
            kernel=self._kernel_of(lengthscales),
            noise_std=noise / scale,
            B=max(B0, B_FACTOR * norm),
            B0=B0,
        )

    def cautious(self) -> Fit:
        """The wide end of what the readings allow, for guarantees to rest on.

        Center and scale are the likely ones. The noise is the largest, and the lengthscales are the
        shortest, that are less likely than the best by at most DROP nats. B is also that of the mean
        with these lengthscales. B0 is also B0_FACTOR times the largest s of that kind: what f may
        reach unseen between the readings.
        """
        likely, model = self.likely, self._model
        if self._is_flat:
            return likely
        theta, is_kept = self._solution
        d, scale = model.n_lengthscales, model.unpack(theta)[1]
        short = model.wide_end(theta, is_kept, list(range(d)), -1.0) if d else theta
        lengthscales, short_scale, _ = model.unpack(short)
        norm = model.posterior(short, is_kept)[2] * short_scale / scale
        largest = model.unpack(model.wide_end(theta, is_kept, [d], 1.0))[1]
        B0 = max(likely.B0, B0_FACTOR * largest / scale)
        noise_std = likely.noise_std
        if model.noise is None:
            best, is_kept = self._solution_of_every
            noise_std = model.unpack(self._every.wide_end(best, is_kept, [d + 1], 1.0))[2] / scale
        kernel = self._kernel_of(lengthscales)
        B = max(B0, likely.B, B_FACTOR * norm)
        return replace(likely, kernel=kernel, noise_std=noise_std, B=B, B0=B0)

    @cached_property
    def _solution(self) -> tuple[Floats, Bools]:
        if self._is_flat:
            return self._model.prior[:, 0], np.ones(len(self._model.y), dtype=bool)
        return self._model.solve()

    @cached_property
    def _solution_of_every(self) -> tuple[Floats, Bools]:
        """Only its noise counts."""
        is_known = self._is_flat or self._every is self._model or self._model.noise is not None
        return self._solution if is_known else self._every.settle(self._solution[0])

    def _robust(self, y: Floats) -> Floats:
        robust: Floats = np.clip((np.clip(y, -1e150, 1e150) - self._origin) / self.unit, -1e9, 1e9)
        return robust

    def _kernel_of(self, lengthscales: Floats) -> Kernel:
        return Matern(2.5, tuple(lengthscales.tolist())) if self._kernel is None else self._kernel


def _location_and_scale(y: Floats, center: float | None) -> tuple[float, float, bool]:
    """The median (or the center given), a robust standard deviation > 0, whether that is made up.

    It is the 70 % quantile of the distances from the median, over that of a standard normal: wider
    than the median distance for functions with peaks, and still out of reach of a quarter of lies.
    Where it is 0, |median| stands in, or 1.
    """
    median = float(np.median(y)) if center is None else center
    spread = float(np.quantile(np.abs(y - median), 0.7, method="lower")) / 1.0364
    if spread > 1e-12 * abs(median):
        return median, spread, False
    return median, abs(median) or 1.0, True
