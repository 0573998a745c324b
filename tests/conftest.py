"""Lets tests import their helpers (`import naive`), and marks the long tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

LONG = Path(__file__).parent / "long"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in `long/` carries the marker, so that no file there can forget it."""
    for item in items:
        if item.path.is_relative_to(LONG):
            item.add_marker("long")
