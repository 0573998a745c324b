"""Readings -> which to believe, what value to expect. Heuristics: nothing proven rests on them."""
