"""BoTorch's loops for `benchmarks.practice`: noisy expected improvement, on boxes and mixed spaces."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.models.transforms.input import ChainedInputTransform, NumericToCategoricalEncoding
from botorch.optim import optimize_acqf
from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.practice_second import Axis
from benchmarks.practice_world import Game

torch.set_num_threads(1)
N_RESTARTS, N_RAW = 5, 128


class Space:
    """The parameters as BoTorch sees them: logarithms of log scales, options as their indices."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        self.axes = axes
        self.options = [i for i, axis in enumerate(axes) if axis.options]
        low = [0.0 if axis.options else axis.low for axis in axes]
        high = [len(axis.options) - 1.0 if axis.options else axis.high for axis in axes]
        self.bounds = self.of(np.array([low, high]))

    def of(self, X: np.ndarray) -> torch.Tensor:
        """From points as a game counts them, (n, d)."""
        columns = [np.log(x) if axis.log else x for axis, x in zip(self.axes, X.T, strict=True)]
        return torch.tensor(np.column_stack(columns), dtype=torch.float64)

    def back(self, x: torch.Tensor) -> np.ndarray:
        """To a point as a game counts it, (d,)."""
        values = [
            float(np.exp(value)) if axis.log else value
            for axis, value in zip(self.axes, x.tolist(), strict=True)
        ]
        return np.array(
            [
                round(value)
                if axis.whole
                else min(max(value, axis.low), axis.high)
                if axis.log
                else value
                for axis, value in zip(self.axes, values, strict=True)
            ],
            dtype=float,
        )

    def design(self, n: int, seed: int) -> torch.Tensor:
        """The first points of a Sobol sequence, (n, d); in a mixed space spread over its values."""
        if not any(axis.options or axis.whole or axis.log for axis in self.axes):
            return draw_sobol_samples(self.bounds, n=n, q=1, seed=seed)[:, 0]
        unit = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, len(self.axes))
        U = draw_sobol_samples(unit, n=n, q=1, seed=seed)[:, 0].numpy()
        return self.of(np.column_stack([axis.at(u) for axis, u in zip(self.axes, U.T, strict=True)]))

    def best(self, rule: Any) -> torch.Tensor:
        """Where an acquisition function is largest, (1, d)."""
        if not self.options:
            x, _ = optimize_acqf(rule, self.bounds, q=1, num_restarts=N_RESTARTS, raw_samples=N_RAW)
            return x
        whole = {
            i: self._values(axis, np.arange(axis.low, axis.high + 1.0))
            for i, axis in enumerate(self.axes)
            if axis.whole
        }
        options = {i: list(map(float, range(len(self.axes[i].options)))) for i in self.options}
        x, _ = optimize_acqf_mixed_alternating(
            rule, self.bounds, discrete_dims=whole, cat_dims=options, q=1,
            num_restarts=N_RESTARTS, raw_samples=N_RAW,
        )  # fmt: skip
        return x

    @staticmethod
    def _values(axis: Axis, values: np.ndarray) -> list[float]:
        return [float(value) for value in (np.log(values) if axis.log else values)]


Model = Callable[[Space, torch.Tensor, torch.Tensor], Any]
"""From a space and readings to a model with default arguments, not fitted yet."""


def plain(space: Space, X: torch.Tensor, y: torch.Tensor) -> Any:
    """SingleTaskGP; in a mixed space MixedSingleTaskGP."""
    if not space.options:
        return SingleTaskGP(X, y, **_scaling(space, len(space.axes)))
    numbers = [i for i in range(len(space.axes)) if i not in space.options]
    scaling = _scaling(space, len(space.axes), indices=numbers)
    return MixedSingleTaskGP(X, y, cat_dims=space.options, **scaling)


def robust(space: Space, X: torch.Tensor, y: torch.Tensor) -> Any:
    """The model of relevance pursuit; it sees options one-hot."""
    scaling = _scaling(space, len(space.axes))
    if space.options:
        n_options = {i: len(space.axes[i].options) for i in space.options}
        encoders = {i: _one_hot(n) for i, n in n_options.items()}
        encoded = NumericToCategoricalEncoding(
            dim=len(space.axes), categorical_features=n_options, encoders=encoders
        )
        numbers = [i for i in range(len(space.axes)) if i not in space.options]
        scaling["input_transform"] = ChainedInputTransform(
            scaled=Normalize(len(space.axes), bounds=space.bounds, indices=numbers), encoded=encoded
        )
    return RobustRelevancePursuitSingleTaskGP(X, y, **scaling)


def _one_hot(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.nn.functional.one_hot(x.long(), n)


def _scaling(space: Space, d: int, **words: Any) -> dict[str, Any]:
    return {
        "input_transform": Normalize(d, bounds=space.bounds, **words),
        "outcome_transform": Standardize(1),
    }


def _fitted(make: Model, space: Space, X: torch.Tensor, y: torch.Tensor) -> Any:
    model = make(space, X, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _choice(make: Model, space: Space, X: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    """The point read whose posterior mean is largest, and what the model expects there."""
    model = _fitted(make, space, X, y)
    model.eval()
    posterior = model.posterior(X)
    mean, sd = (each[:, 0].detach() for each in (posterior.mean, posterior.variance.sqrt()))
    i = int(mean.argmax())
    return {"x": space.back(X[i]), "expected": float(mean[i]), "sd": float(sd[i])}


def play(game: Game, make: Model) -> dict[str, Any]:
    """A Sobol design of 2 d + 4 points, then noisy expected improvement, refitted each round."""
    torch.manual_seed(game.seed)
    space = Space(game.axes)
    X = space.design(2 * game.test.d + 4, game.seed)
    y = torch.tensor([[game.read(space.back(x))] for x in X], dtype=torch.float64)
    for _ in range(len(X), game.T):
        rule = qLogNoisyExpectedImprovement(_fitted(make, space, X, y), X, prune_baseline=True)
        X = torch.cat([X, space.best(rule)])
        y = torch.cat([y, torch.tensor([[game.read(space.back(X[-1]))]], dtype=torch.float64)])
    return _choice(make, space, X, y)


def choice(game: Game, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which of the points read, (n, d), the plain model would recommend after these readings, (n,)."""
    space = Space(game.axes)
    readings = torch.as_tensor(y[:, None], dtype=torch.float64)
    found: np.ndarray = _choice(plain, space, space.of(X), readings)["x"]
    return found
