"""The laboratory: players and liars meet in a world whose truth is known.

`import unbribable` loads none of it: say `from unbribable import lab`.
"""

from unbribable.lab import rivals
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.world.environment import Environment

__all__ = ["Environment", "Record", "rivals", "simulate"]
