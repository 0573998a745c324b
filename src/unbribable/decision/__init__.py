"""Belief and widths in, the next point and what is certain about it out: the algorithms."""
