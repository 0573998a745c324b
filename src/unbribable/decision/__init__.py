"""Belief and width to the next point: the algorithms."""
