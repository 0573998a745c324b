"""The sampler against Optuna's own test suite for samplers, without a single warning."""

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import BaseSampler

from unbribable.integrations.optuna_sampler import UnbribableSampler

suite = pytest.importorskip(
    "optuna.testing.pytest_samplers",
    reason=f"Optuna {optuna.__version__} does not bring its test suite for samplers",
)


class TestUnbribableSampler(
    suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.SingleOnlySamplerTestCase
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: UnbribableSampler(n_trials=20, corruption="unknown", n_init=2, seed=0)
