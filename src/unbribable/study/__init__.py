"""A user's readings in, an answer out: the point to use, its interval, which readings to doubt."""
