"""The same GP-UCB loop in other people's libraries: fixed kernel, noise and beta, full refit a round."""

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.problem import Problem

Loop = Callable[[Problem, int], list[int]]


def scikit_learn(problem: Problem, T: int) -> list[int]:
    """GaussianProcessRegressor, optimiser off; the queries it makes."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    queries: list[int] = [0]
    for t in range(1, T):
        model = GaussianProcessRegressor(
            RBF(problem.lengthscale), alpha=problem.lam, optimizer=None
        ).fit(problem.X[queries], problem.readings(queries))
        mu, sigma = model.predict(problem.X, return_std=True)
        queries.append(int(np.argmax(mu + problem.beta * sigma)))
        assert len(queries) == t + 1
    return queries


def botorch(problem: Problem, T: int) -> list[int]:
    """SingleTaskGP with fixed noise and kernel, no training; the queries it makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about inputs that are not standardised
        import torch
        from botorch.models import SingleTaskGP
        from gpytorch.kernels import RBFKernel
        from gpytorch.means import ZeroMean

        torch.set_num_threads(1)
        candidates = torch.tensor(problem.X)
        queries: list[int] = [0]
        for _ in range(1, T):
            kernel = RBFKernel().double()
            kernel.lengthscale = problem.lengthscale
            y = torch.tensor(problem.readings(queries))[:, None]
            model = SingleTaskGP(
                candidates[queries],
                y,
                train_Yvar=torch.full_like(y, problem.lam),
                covar_module=kernel,
                mean_module=ZeroMean(),
                outcome_transform=None,
            )
            model.eval()
            with torch.no_grad():
                posterior = model.posterior(candidates)
                ucb = posterior.mean[:, 0] + problem.beta * posterior.variance[:, 0].sqrt()
            queries.append(int(torch.argmax(ucb)))
    return queries


PEERS: dict[str, Loop] = {"scikit-learn": scikit_learn, "BoTorch": botorch}
