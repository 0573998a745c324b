"""Assumptions to numbers: widths, tails, information gain, regret bounds."""
