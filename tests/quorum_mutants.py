"""Faults planted in the logic of counted lies, each of which must show."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from quorum_world import X
from unbribable.decision.policies.quorum import Quorum
from unbribable.decision.proven import counted
from unbribable.decision.proven.better import Better
from unbribable.decision.proven.counted import Repair, Spoilt
from unbribable.decision.proven.left_out import LeftOut

Patches = Callable[[], list[Any]]


@dataclass(frozen=True)
class Mutant:
    """A fault, and where it shows."""

    patches: Patches
    liars: tuple[str, ...]
    n_lies: int = 2
    n_pending: int = 1
    twice: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
        """With the fault."""
        with ExitStack() as stack:
            for each in self.patches():
                stack.enter_context(each)
            yield


def kth_instead() -> list[Any]:
    """The k-th instead of the (k+1)-th bound of the hands."""
    smallest, largest = counted.kth_smallest, counted.kth_largest
    return [
        patch.object(counted, "kth_smallest", lambda values, k: smallest(values, max(k - 1, 0))),
        patch.object(counted, "kth_largest", lambda values, k: largest(values, max(k - 1, 0))),
    ]


def dealt_when_told() -> list[Any]:
    """The hand is the binding one when the reading comes, not when it was asked for."""

    def before(self: Any, reading: Any, turn: Any) -> Any:
        if reading.chosen_by == "user":
            return reading
        i = int(np.argmin(np.abs(X[:, 0] - reading.u[0])))
        return replace(reading, learner=self._dealt_to(i).label)

    return [patch.object(Quorum, "before", before)]


def repaired_for_nothing() -> list[Any]:
    """Found lies are forgotten in the price of a repaired hand."""

    def without_price(self: Any, told: Any) -> Any:
        mu = self.rest + told.middle[self.found] @ self.weights
        return mu + self.noise, mu - self.noise

    return [patch.object(Spoilt, "bounds", without_price)]


def found_and_left_in_its_hand() -> list[Any]:
    """A found lie counts as found, but its hand goes on as it was."""

    def as_it_was(self: Any, told: Any) -> Any:
        mu = self.rest + told.y[self.found] @ self.weights
        return mu + self.noise, mu - self.noise

    return [patch.object(Spoilt, "bounds", as_it_was)]


def caps_of_the_wrong_side() -> list[Any]:
    """What is above a reading counts below it."""
    return [
        patch.object(
            counted, "Repair", lambda pull, price, above, below: Repair(pull, price, below, above)
        )
    ]


def one_fewer_of_the_clean_hands() -> list[Any]:
    """k - F instead of k - F + 1 over the hands without a found lie."""
    smallest, largest = counted.kth_smallest, counted.kth_largest

    def fewer(of: Callable[..., Any]) -> Callable[..., Any]:
        return lambda values, k: of(values, max(k - 1, 0) if len(values) < 5 else k)  # of 5 hands

    return [
        patch.object(counted, "kth_smallest", fewer(smallest)),
        patch.object(counted, "kth_largest", fewer(largest)),
    ]


def left_out_one_fewer() -> list[Any]:
    """k - 1 readings are left out for k."""
    interval = LeftOut.interval
    return [patch.object(LeftOut, "interval", lambda self, u, k: interval(self, u, max(k - 1, 0)))]


def left_out_one_fewer_of_a_difference() -> list[Any]:
    """The same where points are compared."""
    most = Better.most
    return [patch.object(Better, "most", lambda self, k: most(self, max(k - 1, 0)))]


def found_at_no_cost_in_all() -> list[Any]:
    """A found lie is set to the middle in the posterior of all, as if it were known to be there."""
    return [
        patch.object(
            counted, "Repair", lambda pull, price, above, below: Repair(pull, 0.0 * price, above, below)
        )
    ]


def hidden_at_no_cost_in_all() -> list[Any]:
    """A lie that is not found is left in the posterior of all as if it were the truth."""
    return [
        patch.object(
            counted,
            "Repair",
            lambda pull, price, above, below: Repair(pull, price, 0.0 * above, 0.0 * below),
        )
    ]


def one_fewer_hidden_in_all() -> list[Any]:
    """k - F - 1 hidden lies in the posterior of all."""
    return [
        patch.object(
            counted,
            "Repair",
            lambda pull, price, above, below: Repair(pull, price, above[:-1], below[:-1]),
        )
    ]


def found_too_easily() -> list[Any]:
    """A reading beyond the bounds is a lie, whatever its level; the bounds that follow stay."""
    level = counted.noise_level
    return [patch.object(counted, "noise_level", lambda *words: 0.0 * level(*words))]


def two_hands_a_reading() -> list[Any]:
    """The next hand learns, too: a lie spoils two."""

    right = Quorum.lessons

    def lessons(self: Any, reading: Any) -> Any:
        hands = list(self.instances.values())[:-1]
        own, every = right(self, reading)
        other = hands[(hands.index(own[0]) + 1) % len(hands)]
        return own, (other, own[1]), every

    return [patch.object(Quorum, "lessons", lessons)]


MUTANTS: dict[str, Mutant] = {
    "kth instead": Mutant(kth_instead, ("in_many_hands", "hider", "gross")),
    "dealt when told": Mutant(dealt_when_told, ("quiet_low", "hider", "just_found"), n_pending=3),
    "repaired for nothing": Mutant(repaired_for_nothing, ("just_found", "huge_burst"), n_lies=1),
    "found and left in its hand": Mutant(found_and_left_in_its_hand, ("gross", "mixed"), n_lies=1),
    "caps of the wrong side": Mutant(caps_of_the_wrong_side, ("in_many_hands", "hider"), n_lies=1),
    "one fewer of the clean hands": Mutant(one_fewer_of_the_clean_hands, ("mixed", "forecaster")),
    "left out one fewer": Mutant(left_out_one_fewer, ("gross", "in_many_hands", "hider")),
    "left out one fewer of a difference": Mutant(
        left_out_one_fewer_of_a_difference, ("gross", "in_many_hands", "hider")
    ),
    "found at no cost in all": Mutant(found_at_no_cost_in_all, ("just_found", "huge_burst"), n_lies=1),
    "hidden at no cost in all": Mutant(
        hidden_at_no_cost_in_all, ("quiet_high", "in_one_hand"), n_lies=1
    ),
    "one fewer hidden in all": Mutant(one_fewer_hidden_in_all, ("quiet_high", "hider"), n_lies=1),
    "found too easily": Mutant(found_too_easily, ("imitator", "late")),
    "two hands a reading": Mutant(two_hands_a_reading, ("quiet_high", "in_many_hands"), twice=True),
}
