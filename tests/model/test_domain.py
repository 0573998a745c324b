"""Finding a candidate of a Grid by its coordinates."""

import numpy as np
import pytest

import unbribable as ub


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9, -1e9])
def test_a_grid_far_from_the_origin_tells_its_points_apart(offset: float) -> None:
    """0.4 away is another point, whatever the size of the coordinates."""
    grid = ub.Grid(offset + np.linspace(0.0, 10.0, 11)[:, None])
    assert grid.index_of([offset + 3.0]) == 3
    with pytest.raises(ValueError, match=r"x must be a candidate.*the nearest is .*index 3"):
        grid.index_of([offset + 3.4])


@pytest.mark.parametrize("x", [0.1 + 0.2, 0.3 + 1e-12, 0.3])
def test_rounding_does_not_matter(x: float) -> None:
    """Nor does a billionth of the side."""
    assert ub.Grid([[0.0], [0.3], [1.0]]).index_of([x]) == 1


def test_the_tolerance_is_that_of_the_coordinate() -> None:
    """A long side does not blur a short one."""
    grid = ub.Grid([[0.0, 0.0], [1e9, 0.0], [0.0, 1.0], [1e9, 1.0]])
    assert grid.index_of([0.5, 1.0]) == 2
    with pytest.raises(ValueError, match="x must be a candidate"):
        grid.index_of([0.0, 0.5])
