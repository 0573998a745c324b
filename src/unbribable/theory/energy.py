"""How large honest noise can be, one reading and all of them: what bounds by energy rest on (ours)."""

import math

import numpy as np

from unbribable.model.checks import Floats
from unbribable.theory.assumptions import Assumptions

THETAS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
"""The supermartingales among which the best is taken; each has its share of delta."""

MULTIPLES = (0.25, 1.0, 10.0, 40.0)
"""The fictitious noises of the energy form, as multiples of noise_std^2."""


def noise_energy(noise_std: float, n: int, delta: float) -> float:
    """E^2: the squares of n honest noises sum to at most that, for all n at once (ours).

        E^2 = min over theta of noise_std^2 (2 ln(6/delta) - n ln(1 - theta)) / theta

    With probability 1 - delta; of noises with scales of their own each counts as if scaled to noise_std.
    Proof. E exp(s noise^2) <= (1 - 2 s noise_std^2)^(-1/2) for sub-Gaussian noise (write the square as a
    Gaussian integral). With theta = 2 s noise_std^2 this makes exp(s sum noise_i^2) (1 - theta)^(n/2) a
    supermartingale; Ville at delta/6 for each theta. QED
    """
    energies = (2.0 * math.log(len(THETAS) / delta) - n * np.log1p(-THETAS)) / THETAS
    return noise_std**2 * float(energies.min())


def noise_level(noise_std: float, i: Floats | int, delta: float) -> Floats:
    """r_i = noise_std sqrt(2 ln(pi^2 i^2 / (3 delta))): |noise_i| is at most that for all i (ours).

    With probability 1 - delta. Proof. A sub-Gaussian tail is at most 2 exp(-ln(pi^2 i^2 / (3 delta))),
    and the sum over i of 6 delta / (pi i)^2 is delta. QED
    """
    level: Floats = noise_std * np.sqrt(2.0 * np.log(np.pi**2 * np.square(i) / (3.0 * delta)))
    return level


def fictitious_noises(assumptions: Assumptions) -> tuple[float, ...]:
    """The eta of the energy form: multiples of noise_std^2; lam alone where there is no noise."""
    noise = assumptions.noise_std**2
    return tuple(multiple * noise for multiple in MULTIPLES) if noise else (assumptions.lam,)


def energy_radius2(B: float, energy: float, eta: float, q: Floats | float) -> Floats:
    """B^2 + E^2/eta - q: the squared factor of sigma_eta in the energy form (ours).

    For every eta > 0 at once, with mu_eta and sigma_eta the posterior with eta for lam and
    q = y' (K + eta I)^-1 y,

        |f(x) - mu_eta(x)| <= sqrt(B^2 + E^2/eta - q) sigma_eta(x)

    if the noises in y are honest and their squares sum to at most E^2. Proof. eta |f|^2 + |y - f|^2 =
    |f - mu_eta|_V^2 + eta q (complete the square); the left side is at most eta B^2 + E^2, and |g(x)| <=
    |g|_V sigma_eta(x) / sqrt(eta). QED   Below zero one of the readings is certainly a lie.
    """
    radius2: Floats = np.asarray(B * B + energy / eta - q)
    return radius2
