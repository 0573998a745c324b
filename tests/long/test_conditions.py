"""Coverage where the rounds themselves are the trouble: late readings, missing ones, gaps of a Box."""

import warnings

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from games import is_too_often
from printed import unwrapped
from told import reading_of

X = np.linspace(0.0, 1.0, 20)[:, None]
KERNEL = ub.Matern(1.5, 0.3)
ASSUMED = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.5, lam=0.25)


def drawn_function(rng: np.random.Generator) -> np.ndarray:
    """A function of norm 1 on the grid."""
    z, K = rng.standard_normal(20), KERNEL(X, X)
    return K @ z / np.sqrt(z @ K @ z)


@pytest.mark.parametrize("order", ["high first", "low first"])
@pytest.mark.parametrize("C", [0.0, 1.0])
def test_bounds_hold_when_the_order_of_telling_depends_on_the_values(C: float, order: str) -> None:
    """200 rounds, those with the highest (lowest) noise told first, as if they were finished sooner."""
    n_runs, n_missed, n_outside = 40, 0, 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        f = drawn_function(rng)
        algorithm = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=C)
        points, noise = rng.integers(0, 20, 200), 0.5 * rng.standard_normal(200)
        for k in np.argsort(-noise if order == "high first" else noise):
            i = points[k]
            algorithm.learn(reading_of(algorithm, int(k) + 1, X[i], float(f[i] + noise[k])))
        assert algorithm.summary()["waiting"] == 0
        main, best = algorithm.instances["main"], algorithm.recommend()
        n_outside += bool(((f > main.ucb_bar) | (f < main.lcb_bar)).any())
        n_missed += not best.lower <= f[best.index] <= best.upper
    assert not is_too_often(n_outside, n_runs, 0.1)
    assert not is_too_often(n_missed, n_runs, 0.1)


def test_an_instrument_that_withholds_low_readings_makes_the_condition_false_and_it_is_printed() -> None:
    """No lie is told, and yet the truth leaves the interval: only the condition keeps the words true."""
    kernel, centres, heights = ub.SquaredExponential(0.5), np.array([[0.3], [0.8]]), [0.3, 0.2]
    f, norm = kernel(X, centres) @ heights, float(np.sqrt(heights @ kernel(centres, centres) @ heights))
    assumed = ub.Assumptions(kernel, B=norm, B0=2.0, noise_std=1.0)
    n_outside = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def measure(x: np.ndarray, rng: np.random.Generator = rng) -> float:
            noise = rng.standard_normal()
            return float("nan") if noise < 0.0 else float(f[np.argmin(np.abs(X - x))] + noise)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)
            run = ub.maximize(
                measure, X, n_rounds=120, assumptions=assumed, corruption=0.2, seed=seed, progress=False
            )
        if run.regret_bound is None:
            continue
        missing = f"if none of the {run.n_failed} missing readings is missing because of its value"
        assert missing in run.guarantee
        assert missing.removeprefix("if ") in unwrapped(run.summary())
        n_outside += not run.lower <= f[np.argmin(np.abs(X - run.x))] <= run.upper
    assert is_too_often(n_outside, 8, 0.1)  # without the condition the guarantee would be false


def withholding(seed: int) -> tuple[np.ndarray, ub.Assumptions, np.random.Generator]:
    """A function on eight points with its own true assumptions, and a stream of noise."""
    kernel, centres, heights = ub.SquaredExponential(0.3), np.array([[0.2], [0.7]]), np.array([0.3, 1.0])
    points = np.linspace(0.0, 1.0, 8)[:, None]
    f = kernel(points, centres) @ heights
    norm = float(np.sqrt(heights @ kernel(centres, centres) @ heights))
    assumed = ub.Assumptions(kernel, B=norm, B0=float(np.abs(f).max()), noise_std=0.3, lam=0.1)
    return f, assumed, np.random.default_rng(seed)


@pytest.mark.parametrize("kind", ["ladder", "fast-slow", "robust", "gp-ucb"])
def test_where_low_readings_are_withheld_accusations_are_false_and_name_the_condition(kind: str) -> None:
    """Nobody lies. Refutations, levels and detections would be false without the words."""
    words: list[str] = []
    for seed in range(12):
        f, assumed, rng = withholding(seed)
        grid = ub.Grid(np.linspace(0.0, 1.0, 8)[:, None])
        algorithm = ALGORITHMS[kind](grid, assumed, C=4.0 if kind == "fast-slow" else 1.0, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)
            for _ in range(400):
                query, noise = algorithm.ask(), 0.3 * rng.standard_normal()
                if noise < 0.0:
                    algorithm.forget(query)
                else:
                    algorithm.tell(query, float(f[query.index] + noise))
                if algorithm.refuted is not None:
                    break
        said = [str(note) for note in algorithm.notes]
        said += [str(level) for level in algorithm.recommend().levels]
        accusing = ("refuted", "more than that", "contradicted if", "detected")
        found = [text for text in said if any(word in text for word in accusing)]
        words += found[:1]
        n = len(algorithm.journal.lost)
        for text in found:
            assert f"none of the {n} missing readings is missing because of its value" in text
    assert is_too_often(len(words), 12, 0.1) or kind == "fast-slow"
    assert words


def test_where_low_readings_are_withheld_an_audit_proves_lies_and_names_the_condition() -> None:
    """The same of a table with cells that are empty where the reading was low."""
    pytest.importorskip("clarabel")
    n_false = 0
    for seed in range(4):
        kernel, centres, heights = ub.SquaredExponential(0.3), np.array([[0.2], [0.7]]), [0.3, 1.0]
        norm = float(np.sqrt(heights @ kernel(centres, centres) @ heights))
        rng = np.random.default_rng(seed)
        points, noise = rng.random((400, 1)).round(2), 0.2 * rng.standard_normal(400)
        y = kernel(points, centres) @ heights + noise
        y[noise < 0.0] = np.nan
        assumed = ub.Assumptions(kernel, B=norm, B0=1.2, noise_std=0.2, lam=0.04)
        assert np.abs(kernel(X, centres) @ heights).max() < 1.2
        audit = ub.audit(points, y, [(0.0, 1.0)], assumptions=assumed, corruption=1.0)
        n = audit.result.n_failed
        said = f"none of the {n} missing readings is missing because of its value"
        for text in (str(audit.proof), str(audit.price()), unwrapped(str(audit)), audit.to_html()):
            assert said in text
        n_false += audit.least_corruption > 0.0
    assert is_too_often(n_false, 4, 0.1)


@pytest.mark.parametrize(
    ("d", "noise_std", "lam"), [(12, 1e-3, 1e-4), (20, 1e-3, 1e-4), (20, 1e-2, 1e-3)]
)
def test_regret_on_a_box_is_certified_against_the_candidates_and_the_words_say_so(
    d: int, noise_std: float, lam: float
) -> None:
    """A linear function of norm 1, whose best corner is no candidate."""
    beyond = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        slope = rng.choice([-1.0, 1.0], d) * rng.uniform(0.5, 1.0, d)
        slope /= np.linalg.norm(slope) * np.sqrt(d)
        assumed = ub.Assumptions(ub.Linear(np.sqrt(d)), B=1.0, B0=1.0, noise_std=noise_std, lam=lam)
        algorithm = ub.GPUCB(ub.Box([0.0] * d, [1.0] * d), assumed)
        played = []
        for _ in range(d):
            query = algorithm.ask()
            played.append(float(slope @ query.x))
            algorithm.tell(query, played[-1] + noise_std * rng.standard_normal())
            n = len(played)
            if n not in (d // 2, d):
                continue
            certificate = algorithm.regret_certificate()
            assert certificate.value is not None
            among = float((algorithm.candidates.coordinates @ slope).max())
            assert n * among - sum(played) <= certificate.value + 1e-9
            regret = n * float(np.maximum(slope, 0.0).sum()) - sum(played)
            assert regret <= certificate.value + n * certificate.between_candidates + 1e-9
            beyond += regret > certificate.value
        assert f"compared with the best of {algorithm.candidates.n} candidates" in str(certificate)
        assert "an estimate" in str(certificate)
        said = algorithm.summary()["regret_in_hindsight"]
        assert said["guarantee"] == certificate.promise.to_plain()
        assert said["between_candidates"] == certificate.between_candidates > 0.0
    if d == 20 and noise_std == 1e-3:
        assert beyond > 0  # or the comparison with the candidates would not matter
