"""The maximum of a noisy function, a tenth of whose readings are lies: ten lines."""

import numpy as np

import unbribable as ub

rng = np.random.default_rng(0)


def measure(x):
    if rng.random() < 0.1:
        return 4.0  # a stuck sensor
    return np.sin(5 * x[0]) + np.cos(3 * x[1]) + 0.05 * rng.standard_normal()


result = ub.maximize(measure, [(0, 1), (0, 2)], n_rounds=40, seed=1)
print(result.summary())
