"""Coverage of pairs, prices and the least corruption, against liars who see the noise.

Each run draws a new f of RKHS norm exactly B, noise with a scale of its own for each reading, and lies
that are told after the noise was seen. Runs are independent, and a statement of probability 1 - delta
fails in each with probability at most delta: k failures in n runs are refused only if
P(Bin(n, delta) >= k) < 1e-3 (`is_too_often`): at delta = 0.25 from 20 of 40, 40 of 100 and 100 of 300
on, and for one of the three events, delta/3, from 53 of 400 on.
The statements are conservative, and far fewer are normal; the controls play the same games with one part
of a statement left out or too small, and show that the tests can fail.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import unbribable as ub
from games import Design, corruption, is_too_often, random_function
from pairs import differences_of
from unbribable.theory.differences import DifferenceBounds, paired_certificate
from unbribable.theory.least_corruption import LeastCorruption, Program
from unbribable.theory.price import price
from unbribable.theory.widths import radius

N_RUNS = 300
X = np.linspace(0.0, 1.0, 12)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
B, NOISE_STD, LAM, DELTA = 1.0, 0.1, 0.02, 0.25
C, CAP, T = 3.0, 1.0, 40
KNOWN = ub.Assumptions(KERNEL, B=B, B0=1.0, noise_std=NOISE_STD, lam=LAM, delta=DELTA)


def told(run: int) -> tuple[Design, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A design, f, the noise scales, what is told, and the lies in it: at most C in all, CAP each.

    The liar sees f, the whole design and the noise. It pushes apart two points, as far as lies can: the
    one that the noise has lifted the most, and the best one (or the one lowered the most).
    """
    rng = np.random.default_rng([12, run])
    f = random_function(KERNEL, X, rng, B)
    indices = rng.integers(0, rng.integers(4, 13), T)
    stds = NOISE_STD * rng.choice([0.5, 1.0, 2.0], T)
    design = Design(KERNEL, X, LAM, indices, LAM * (stds / NOISE_STD) ** 2, rng)
    clean = f[indices] + stds * rng.standard_normal(T)
    weights = design.weights()
    error = weights.T @ clean - f
    high, low = int(np.argmax(error)), int(np.argmin(error) if run % 3 == 0 else np.argmax(f))
    lies = corruption(weights[:, high] - weights[:, low], C, CAP)
    return design, f, stds, clean + lies, lies


def sources(
    run: int, *, C: float = C, kind: str = "tight", share: float = 1.0
) -> Iterator[tuple[np.ndarray, DifferenceBounds]]:
    """f and what is believed of the differences to each candidate, at two times."""
    design, f, _, y, _ = told(run)
    posterior = ub.Posterior(KERNEL, X, LAM)
    for s, (i, value, lam) in enumerate(zip(design.indices, y, design.lams, strict=True), 1):
        posterior.observe(int(i), float(value), float(lam))
        if s not in (T // 2, T):
            continue
        rho = radius(NOISE_STD, LAM, posterior.gain, DELTA / 2 if kind == "tight" else DELTA)
        so_far = replace(design, indices=design.indices[:s], lams=design.lams[:s])
        for rec in range(len(X)):
            pairs = differences_of(posterior, rec, so_far)
            yield f, DifferenceBounds(pairs, share * pairs.noise(B, rho, kind), C, CAP)


def n_broken(n_runs: int, **options: object) -> int:
    """In how many runs a difference leaves its bounds: any pair, either side, at either time."""
    failures = 0
    for run in range(n_runs):
        failures += any(
            np.any(f - f[source.differences.rec] > source.upper(np.arange(len(X))) + 1e-9)
            for f, source in sources(run, **options)
        )
    return failures


@pytest.mark.parametrize("kind", ["tight", "paper"])
def test_differences_of_all_pairs_stay_within_their_bounds(kind: str) -> None:
    assert not is_too_often(n_broken(100, kind=kind), 100, DELTA)


def test_control_differences_leave_bounds_without_their_shift_or_with_a_tenth_of_their_noise() -> None:
    assert is_too_often(n_broken(40, C=0.0), 40, DELTA)
    assert is_too_often(n_broken(40, share=0.1), 40, DELTA)


def is_certificate_broken(run: int, *, share: float = 1.0) -> bool:
    """Whether some candidate beats some recommended one by more than its certificate, at either time."""
    nothing = np.full(len(X), np.inf)
    return any(
        f.max() - f[source.differences.rec]
        > paired_certificate(source.differences.rec, nothing, [source]) + 1e-9
        for f, source in sources(run, share=share)
    )


def test_no_candidate_beats_any_recommended_one_by_more_than_its_certificate() -> None:
    assert not is_too_often(sum(is_certificate_broken(run) for run in range(100)), 100, DELTA)


def test_control_certificates_that_forget_the_noise_are_too_small() -> None:
    assert is_too_often(sum(is_certificate_broken(run, share=0.0) for run in range(100)), 100, DELTA)


def is_price_broken(run: int, *, share: float = 1.0) -> bool:
    """Whether the lies total no more than the price of some eps, and a candidate is better by more.

    For any eps at once: the price grows with eps, and eps just below the true regret is the dearest.
    """
    for f, source in sources(run, share=share):
        regret = float(f.max() - f[source.differences.rec])
        if regret <= 1e-9:
            continue
        found = price(source.differences, source.noise, regret * (1.0 - 1e-9), CAP)
        if found.value is not None and found.value >= C:
            return True
    return False


def test_lies_below_the_price_never_hide_a_better_candidate() -> None:
    assert not is_too_often(sum(is_price_broken(run) for run in range(100)), 100, DELTA)


def test_control_prices_that_forget_the_noise_are_too_high() -> None:
    assert is_too_often(sum(is_price_broken(run, share=0.0) for run in range(100)), 100, DELTA)


# --- the least corruption -----------------------------------------------------------------------------


def least(run: int, *, assumed: float = 1.0, c_max: float = CAP) -> tuple[LeastCorruption, np.ndarray]:
    """The program of one run, with the noise assumed to be this share of what it is, and the lies."""
    design, _, stds, y, lies = told(run)
    points, rows = np.unique(design.indices, return_inverse=True)
    assumptions = ub.Assumptions(
        KERNEL,
        B=B,
        B0=1.0,
        noise_std=assumed * NOISE_STD,
        lam=LAM,
        delta=DELTA,
        c_max=c_max,
    )
    return LeastCorruption(X[points], rows, y, assumptions, noise_std=assumed * stds), lies


def test_the_lies_total_at_least_the_least_corruption() -> None:
    failures, shares = 0, []
    for run in range(N_RUNS):
        program, lies = least(run, c_max=[CAP, math.inf][run % 2])
        found = program.explain()
        failures += found.total > np.abs(lies).sum() + 1e-9 or found.is_refuted
        shares.append(found.total / np.abs(lies).sum())
    assert not is_too_often(failures, N_RUNS, DELTA)
    assert np.median(shares) > 0.1  # or it would say nothing


def test_no_honest_reading_is_certainly_a_lie() -> None:
    failures = n_found = 0
    for run in range(40):
        program, lies = least(run)
        certain = [program.certain_lie(i, C) for i in range(0, T, 8)]
        failures += bool(np.any(np.array(certain) > np.abs(lies[::8]) + 1e-9))
        n_found += sum(value > 0.0 for value in certain)
    assert not is_too_often(failures, 40, DELTA)
    assert n_found > 0


def test_control_where_the_noise_is_four_times_what_is_assumed_too_many_lies_are_seen() -> None:
    failures = 0
    for run in range(60):
        program, lies = least(run, assumed=0.25, c_max=math.inf)
        failures += program.explain().total > np.abs(lies).sum() + 1e-9
    assert is_too_often(failures, 60, DELTA)


@pytest.mark.parametrize("is_gaussian", [True, False])
def test_the_three_events_hold_at_all_times_together(is_gaussian: bool) -> None:
    """Each with delta/3. The points are chosen by the noise before them: read on where it was high."""
    n_games, t = 400, 30
    broken, broken_by_less = np.zeros((3, n_games), dtype=bool), np.zeros((3, n_games), dtype=bool)
    for game in range(n_games):
        rng = np.random.default_rng([13, game])
        stds = NOISE_STD * rng.choice([0.5, 1.0, 2.0], t)
        unit = rng.standard_normal(t) if is_gaussian else rng.choice([-1.0, 1.0], t)
        noise = stds * unit
        rows = np.zeros(t, dtype=np.intp)
        for s in range(1, t):
            rows[s] = rows[s - 1] if noise[s - 1] > 0.0 else rng.integers(0, len(X))
        for s in (1, 3, 10, t):
            part = slice(0, s)
            program = Program(
                X, rows[part], noise[part], stds[part], np.arange(1, s + 1), s, KNOWN, has_event_1=True
            )
            gathered = np.bincount(rows[part], program.omega * noise[part], minlength=len(X))
            found = np.array(
                [
                    np.linalg.norm(program.Q @ gathered) / program.rho,
                    np.max(np.abs(noise[part]) / program.r),
                    np.linalg.norm(np.sqrt(program.omega) * noise[part]) / program.E,
                ]
            )
            broken[:, game] |= found > 1.0
            broken_by_less[:, game] |= found > 0.35
    for event in range(3):
        assert not is_too_often(int(broken[event].sum()), n_games, DELTA / 3)
        assert is_too_often(int(broken_by_less[event].sum()), n_games, DELTA / 3)  # control
    assert not is_too_often(int(broken.any(axis=0).sum()), n_games, DELTA)
