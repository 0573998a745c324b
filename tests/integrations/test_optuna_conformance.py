"""The sampler against Optuna's own test suite for samplers."""

from collections.abc import Callable

import optuna
import pytest

suite = pytest.importorskip(
    "optuna.testing.pytest_samplers",
    reason=f"Optuna {optuna.__version__} does not bring its test suite for samplers",
)

from optuna.samplers import BaseSampler  # noqa: E402

from unbribable.integrations.optuna_sampler import UnbribableSampler  # noqa: E402


class OneThread:
    pass


class TestUnbribableSampler(
    suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.SingleOnlySamplerTestCase
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: UnbribableSampler(n_trials=20, n_init=2, seed=0)
