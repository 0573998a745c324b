"""Assumptions in, numbers out: widths, tails, information gain, budgets, regret bounds."""
