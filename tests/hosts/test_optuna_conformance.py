"""The sampler against Optuna's own tests: no warning but where ranges or parameters change."""

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import BaseSampler

from unbribable.hosts.optuna.sampler import UnbribableSampler

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

    @pytest.mark.filterwarnings("ignore:[xy] must have one range in all trials")
    @pytest.mark.filterwarnings("ignore:the parameters of a trial must lie in the search space")
    @pytest.mark.parametrize(("low", "high"), [(0, 5), (0, 20), (20, 30)])
    def test_dynamic_range_objective(
        self, sampler: Callable[[], BaseSampler], low: int, high: int
    ) -> None:
        super().test_dynamic_range_objective(sampler, low, high)

    @pytest.mark.filterwarnings("ignore:parameters must be in all trials of the study")
    def test_conditional_sample_independent(self, sampler: Callable[[], BaseSampler]) -> None:
        super().test_conditional_sample_independent(sampler)

    @pytest.mark.filterwarnings("ignore:parameters must be in all trials of the study")
    def test_conditional_parameter_objective(self, sampler: Callable[[], BaseSampler]) -> None:
        super().test_conditional_parameter_objective(sampler)
