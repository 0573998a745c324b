"""A rival's rule in, a player out: other people's methods, and ours beside them, one a file."""

from unbribable.rivals.random_search import RandomSearch

__all__ = ["RandomSearch"]
