"""The first games of the long coverage tests: what breaks them is found here already."""

import numpy as np
import pytest

import unbribable as ub
from games import leaves
from long import test_bribes as bribes
from long import test_coverage as coverage
from long import test_given as given
from long import test_levels as levels
from long import test_quorum_coverage as quorum

pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")


@pytest.mark.parametrize("n_lies", [1, 3])
def test_counted_lies(n_lies: int) -> None:
    for number in range(3):
        game, _ = quorum.played(number, n_lies)
        assert len(game.lies) == n_lies
        assert not game.fails((n_lies,))


@pytest.mark.parametrize(
    ("make", "labels", "is_strong"),
    [
        (coverage.robust, ["main"], True),
        (coverage.fast_slow, ["slow", "all"], False),
        (coverage.layers, ["layer-2", "layer-3"], False),
    ],
    ids=["robust", "fast-slow", "layered"],
)
@pytest.mark.parametrize("run", [0, 5])
def test_totals(make: coverage.Make, labels: list[str], is_strong: bool, run: int) -> None:
    """One attack on what is asked for, and the optimal one on a fixed design."""
    algorithm, f = coverage.attacked_run(make, run, is_strong=is_strong)
    assert not leaves([algorithm.instances[label] for label in labels], f)


def test_levels_of_the_ladder() -> None:
    for run in range(3):
        algorithm, f = levels.attacked(lambda run: ub.LadderGPUCB(ub.Grid(levels.X), levels.KNOWN), run)
        named = [algorithm.policy.named(f"level-{level}") for level in range(1, 9)]
        assert not leaves([level for level in named if level.C >= levels.C], f)


def test_pairs_prices_and_the_least_corruption() -> None:
    assert not bribes.n_broken(1)
    assert not bribes.is_certificate_broken(0)
    assert not bribes.is_price_broken(0)
    pytest.importorskip("clarabel")
    program, lies = bribes.least(0)
    assert 0.0 < program.explain().total <= np.abs(lies).sum()


@pytest.mark.parametrize("words", [{"corruption": 0}, {}], ids=["no lies", "a tenth of lies"])
def test_a_run_with_kernel_noise_and_norm_given(
    words: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "N_RUNS", 1)
    given.test_with_kernel_noise_and_norm_given_f_is_inside_the_bounds(given.matern, words)
