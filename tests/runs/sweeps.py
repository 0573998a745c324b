"""What a sweep left behind, for comparison."""

import numpy as np

from unbribable.lab.runs.record import Record


def records(directory):
    """Key -> record of every run of a sweep."""
    return {path.stem: Record.load(path) for path in sorted((directory / "runs").glob("*.npz"))}


def assert_same(one, two):
    """Bit for bit, but for the time it took."""
    assert one.keys() == two.keys()
    for key, record in one.items():
        assert record.meta == two[key].meta
        assert record.columns.keys() == two[key].columns.keys()
        for name, column in record.columns.items():
            if name != "seconds":
                np.testing.assert_array_equal(column, two[key].columns[name])
