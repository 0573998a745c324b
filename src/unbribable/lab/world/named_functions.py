"""Test functions of the attack literature by name, each on its usual box, with its true maximum.

They are the negatives of the usual functions, which are minimised; "forrester_up" is not turned round.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbribable.lab.world.objectives import Objective
from unbribable.model.checks import Floats


@dataclass(frozen=True)
class TestFunction:
    """A function on a box whose maximum is known."""

    __test__ = False  # not a test case, whatever its name

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    f_max: float
    """The true maximum on the box."""
    function: Callable[[Floats], Floats]
    """(n, d) points to (n,) values."""

    def __call__(self, X: Floats) -> Floats:
        return self.function(X)

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    def on(self, X: Floats) -> Objective:
        """Its values at candidates, as an objective."""
        return Objective(self.name, X, self(X))


def _forrester(X: Floats) -> Floats:
    x = X[:, 0]
    values: Floats = -((6.0 * x - 2.0) ** 2) * np.sin(12.0 * x - 4.0)
    return values


def _levy(X: Floats) -> Floats:
    w = 1.0 + (X - 1.0) / 4.0
    first = np.sin(np.pi * w[:, 0]) ** 2
    inner = (w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:, :-1] + 1.0) ** 2)
    last = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[:, -1]) ** 2)
    values: Floats = -(first + inner.sum(axis=1) + last)
    return values


def _camelback(X: Floats) -> Floats:
    x, y = X[:, 0], X[:, 1]
    values: Floats = -((4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * y + (-4.0 + 4.0 * y**2) * y**2)
    return values


def _branin(X: Floats) -> Floats:
    x, y = X[:, 0], X[:, 1]
    bowl = (y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0) ** 2
    values: Floats = -(bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0)
    return values


def _bohachevsky(X: Floats) -> Floats:
    x, y = X[:, 0], X[:, 1]
    waves = 0.3 * np.cos(3.0 * np.pi * x) + 0.4 * np.cos(4.0 * np.pi * y)
    values: Floats = -4e-5 * (x**2 + 2.0 * y**2 - waves + 0.7)
    return values


_HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


def _hartmann6(X: Floats) -> Floats:
    inner = (_HARTMANN_A * (X[:, None, :] - _HARTMANN_P) ** 2).sum(axis=2)
    values: Floats = np.exp(-inner) @ _HARTMANN_ALPHA
    return values


TEST_FUNCTIONS: dict[str, TestFunction] = {
    test.name: test
    for test in (
        TestFunction("1d", (-1.0,), (1.0,), 50.4608044704651, _forrester),
        TestFunction("forrester", (0.0,), (1.0,), 6.020740055767081, _forrester),
        TestFunction("forrester_up", (0.0,), (1.0,), 3.1659463891948216, lambda X: -_forrester(X) / 5.0),
        TestFunction("levy", (-15.0,), (2.5,), 0.0, _levy),
        TestFunction("camelback", (-2.0, -1.0), (2.0, 1.0), 1.0316284534898774, _camelback),
        TestFunction("branin", (-5.0, 0.0), (10.0, 15.0), -0.39788735772973816, _branin),
        TestFunction("bohachevsky", (-100.0, -100.0), (100.0, 100.0), 0.0, _bohachevsky),
        TestFunction("hartmann6", (0.0,) * 6, (1.0,) * 6, 3.322368011415515, _hartmann6),
    )
}
