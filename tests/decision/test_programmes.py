"""A random programme of each algorithm; `long/test_programmes.py` has more, and what they catch."""

import pytest

from programmes import NAMES, played


@pytest.mark.parametrize("name", NAMES)
def test_no_claim_is_tighter_than_the_settled_readings_allow(name: str) -> None:
    checked = played(name, 1)
    assert checked["bounds"]
    assert checked["certificates"]
