"""Printed text: without the breaks of its lines, and whether these are short enough."""

N_LINES = 9
WIDTH = 120


def unwrapped(text: str) -> str:
    """The same words in one line."""
    return " ".join(text.split())


def assert_short(text: str) -> None:
    """At most N_LINES lines of at most WIDTH characters."""
    lines = text.splitlines()
    assert len(lines) <= N_LINES, text
    assert max(map(len, lines)) <= WIDTH, text
