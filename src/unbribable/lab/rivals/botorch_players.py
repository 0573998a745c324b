"""BoTorch's optimisers as players, to be compared: what a user of it would pick. Extra: bench."""

from abc import abstractmethod
from typing import Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.proposal import Query
from unbribable.lab.rivals.base import Opinion, Rival
from unbribable.lab.rivals.optuna_players import of_bench
from unbribable.model import checks
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions


class BoTorchPlayer(Rival):
    """Abstract. Holds changing state. Plays the candidate of the largest qLogNoisyExpectedImprovement.

    Args:
        domain: A Grid.
        assumptions: Not used: kernel (Matern 5/2, a lengthscale per coordinate) and noise are fitted to
            standardised readings in every round.
        n_init: Random candidates are read until there are so many readings.
        seed: Of those, and of BoTorch.
    """

    told = ()

    def __init__(
        self, domain: Grid, assumptions: Assumptions, *, n_init: int = 5, seed: Any = None
    ) -> None:
        super().__init__(domain, assumptions, seed=Seed.of(seed))
        of_bench("botorch")
        self.n_init = checks.integer("n_init", n_init, at_least=1)
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        self._unit = (self.X - low) / np.where(high > low, high - low, 1.0)
        self._next: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        return {"n_init": self.n_init}

    @abstractmethod
    def _model(self, X: Any, y: Any, kernel: Any) -> Any:
        """BoTorch's model of these readings, not yet fitted."""

    def _choices(self) -> tuple[Ints, Floats]:
        if len(self.readings) < self.n_init:
            n = len(self.X)
            return np.arange(n), np.full(n, 1.0 / n)
        if self._next is None:
            self._next = int(np.argmax(self._acquisition()))
        return np.array([self._next], dtype=np.intp), np.ones(1)

    def _learn(self, query: Query, y: float) -> None:
        self._next = None

    def _believe(self) -> Opinion | None:
        if not self.readings:
            return None
        torch, model = of_bench("torch"), self._fitted()[0]
        with torch.no_grad():
            found = model.posterior(torch.tensor(self._unit))
        mu, var = (part.numpy()[:, 0].copy() for part in (found.mean, found.variance))
        return Opinion(mu, np.sqrt(var), np.full(len(mu), np.nan))

    def _says_of(self, index: int) -> tuple[float, float, float]:
        return np.nan, np.nan, np.nan  # the belief is fitted only where a point is recommended

    def _fitted(self) -> tuple[Any, Any]:
        """The model of all readings, and the points read."""
        torch = of_bench("torch")
        torch.set_num_threads(1)
        assert self.seed is not None
        torch.manual_seed(int(self.seed.uniform(len(self.readings) + 1) * 2**31))
        rows, y = np.array([i for i, _ in self.readings]), np.array([[y] for _, y in self.readings])
        X, told = torch.tensor(self._unit[rows]), torch.tensor(y)
        kernels, constraints = of_bench("gpytorch.kernels"), of_bench("gpytorch.constraints")
        floor = constraints.GreaterThan(0.05)
        base = kernels.MaternKernel(nu=2.5, ard_num_dims=X.shape[1], lengthscale_constraint=floor)
        model = self._model(X, told, kernels.ScaleKernel(base).double())
        likelihood = of_bench("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
        return of_bench("botorch.fit").fit_gpytorch_mll(likelihood).model.eval(), X

    def _acquisition(self) -> Floats:
        """Its value at the candidates, (n,)."""
        torch, logei = of_bench("torch"), of_bench("botorch.acquisition.logei")
        model, X = self._fitted()
        rule = logei.qLogNoisyExpectedImprovement(model, X_baseline=X, prune_baseline=True)
        with torch.no_grad():
            values: Floats = rule(torch.tensor(self._unit)[:, None, :]).numpy()
        return values


class BoTorchLogNEI(BoTorchPlayer):
    """Holds changing state. BoTorch's single-task GP with qLogNoisyExpectedImprovement."""

    def _model(self, X: Any, y: Any, kernel: Any) -> Any:
        return of_bench("botorch.models").SingleTaskGP(X, y, covar_module=kernel)


class BoTorchRelevancePursuit(BoTorchPlayer):
    """Holds changing state. The same on BoTorch's robust GP: outliers have a noise of their own."""

    def _model(self, X: Any, y: Any, kernel: Any) -> Any:
        models = of_bench("botorch.models.robust_relevance_pursuit_model")
        mean = max(1.0, 0.2 * len(y))  # its default is 0 for few readings, which has no logarithm
        return models.RobustRelevancePursuitSingleTaskGP(
            X, y, covar_module=kernel, prior_mean_of_support=mean
        )
