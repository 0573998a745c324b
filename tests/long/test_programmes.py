"""Random programmes keep to what a dense reference allows; and what it would take to be caught."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from programmes import NAMES, played
from unbribable.decision import algorithm
from unbribable.decision.journal import Journal
from unbribable.decision.policies.fast_slow import FastSlow
from unbribable.decision.proven import price
from unbribable.decision.proven.levels import LevelBounds
from unbribable.model.tally import Tally
from unbribable.theory import budgets
from unbribable.theory.differences import Differences
from unbribable.theory.widths import Proportional, TightNoise

N_PROGRAMMES = 60
"""Of each algorithm."""
N_BLOCK = 20


@pytest.mark.parametrize("first", range(0, N_PROGRAMMES, N_BLOCK))
@pytest.mark.parametrize("name", NAMES)
def test_no_claim_is_tighter_than_the_settled_readings_allow(name: str, first: int) -> None:
    checked: Counter[str] = sum((played(name, first + k) for k in range(N_BLOCK)), Counter())
    least = {"bounds": 1000, "certificates": 500, "prices": 40, "copies": 20}
    assert {kind: n for kind, n in least.items() if checked[kind] < n} == {}, checked


# --- what is caught ---

Patch = Callable[[pytest.MonkeyPatch], None]
MUTANTS: dict[str, tuple[Patch, tuple[str, ...]]] = {}


def mutant(*names: str) -> Callable[[Patch], Patch]:
    """A defect, planted in these algorithms' programmes."""

    def listed(patch: Patch) -> Patch:
        MUTANTS[patch.__name__] = (patch, names or NAMES)
        return patch

    return listed


def scaled(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, factor: float) -> None:
    """Let that function return so many times what it returns."""
    sound = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *arguments: factor * sound(*arguments))


@mutant()
def widths_are_one_percent_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (TightNoise, Proportional):
        scaled(monkeypatch, kind, "value", 0.99)


@mutant()
def bounds_rest_on_readings_told_after_an_open_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "is_settled", True)


@mutant()
def the_shift_ignores_a_noise_std_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights(self: Tally, columns: Any, out: Any = None) -> Any:
        return np.abs(columns[self.items[0]])

    for name in ("weights", "signed_weights"):
        monkeypatch.setattr(Tally, name, weights)


@mutant()
def differences_are_one_percent_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled(monkeypatch, Differences, "noise", 0.99)


@mutant("ladder", "layers", "layers-told")
def levels_allow_for_five_percent_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LevelBounds, "_is_ranked", lambda self, posterior: False)  # all go one way
    scaled(monkeypatch, LevelBounds, "shifts", 0.95)


@mutant("fast-slow", "layers", "layers-told")
def drawn_instances_allow_for_five_percent_less(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tail_sharp", "tail_paper"):
        scaled(monkeypatch, budgets, name, 0.95)


@mutant("fast-slow")
def fast_is_trusted_where_somebody_may_have_lied(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = FastSlow.trust

    def trust(self: FastSlow, threat: str | None, C: float | None) -> Any:
        return dataclasses.replace(sound(self, threat, C), labels=("fast", "slow", "all"))

    monkeypatch.setattr(FastSlow, "trust", trust)


def dearer(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    """A price whose field is 5 % too high."""
    sound = price.proven_price

    def too_high(*arguments: Any, **words: Any) -> Any:
        found = sound(*arguments, **words)
        value = getattr(found, field)
        return dataclasses.replace(found, **{field: value and 1.05 * value})

    monkeypatch.setattr(price, "proven_price", too_high)


@mutant()
def a_price_is_five_percent_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    dearer(monkeypatch, "value")


@mutant()
def a_price_without_a_cap_is_five_percent_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    dearer(monkeypatch, "without_cap")


@mutant()
def bounds_of_a_retracted_reading_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = algorithm.Algorithm.retract

    def retract(self: Any, *arguments: Any, **words: Any) -> Any:
        before = {label: (one.ucb_bar, one.lcb_bar) for label, one in self.instances.items()}
        taken = sound(self, *arguments, **words)
        for label, (upper, lower) in before.items():
            now = self.instances[label].now
            np.minimum(now.ucb_bar, upper, out=now.ucb_bar)
            np.maximum(now.lcb_bar, lower, out=now.lcb_bar)
        return taken

    monkeypatch.setattr(algorithm.Algorithm, "retract", retract)


@mutant()
def a_state_forgets_what_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = algorithm.saved
    monkeypatch.setattr(algorithm, "saved", lambda one: {**sound(one), "lost": []})


@mutant("ladder", "robust", "fast-slow", "layers")
def copies_keep_old_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Tally, "__setstate__")


def is_caught(name: str, seed: int) -> bool:
    """Whether a programme fails."""
    try:
        played(name, seed)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of the first ten programmes of each algorithm that has it."""
    patch, names = MUTANTS[name]
    patch(monkeypatch)
    assert [each for each in names if not any(is_caught(each, seed) for seed in range(10))] == []
