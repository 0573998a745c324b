"""Assumptions in, numbers out: widths, tails, information gain, regret bounds, and fitted defaults."""
