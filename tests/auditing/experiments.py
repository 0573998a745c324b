"""Tables of past experiments with planted lies."""

import csv

import numpy as np


def furnace(seed, n=50, n_lies=5):
    """Columns of n experiments in a furnace, which of them are lies (from 0), and the true yield.

    A number, an integer and a category; noise 0.02, lies of 0.5 to 1.5 up or down, where the yield goes
    from about 0.2 to 0.9.
    """
    rng = np.random.default_rng(seed)
    temperature = rng.uniform(300.0, 500.0, n).round(1)
    hours = rng.integers(1, 9, n)
    gas = rng.choice(["argon", "nitrogen", "air"], n)
    loss = np.select([gas == "argon", gas == "nitrogen"], [0.0, 0.1], 0.25)
    f = 0.9 - 0.6 * ((temperature - 420.0) / 150.0) ** 2 - 0.5 * ((hours - 5) / 8.0) ** 2 - loss
    y = f + 0.02 * rng.standard_normal(n)
    lies = np.sort(rng.choice(n, n_lies, replace=False))
    y[lies] += rng.choice([-1.0, 1.0], n_lies) * rng.uniform(0.5, 1.5, n_lies)
    columns = {
        "run": list(range(1, n + 1)),
        "temperature [C]": temperature.tolist(),
        "hours": hours.tolist(),
        "gas": gas.tolist(),
        "operator": ["Ann"] * n,
        "yield": y.round(4).tolist(),
    }
    return columns, lies, f


def write(path, columns):
    """The columns as a CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path
