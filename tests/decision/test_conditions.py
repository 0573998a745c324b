"""Every sentence that can be printed, where readings are late, missing, or come without an order.

The table of docs/threats.md, played: what each sentence supposes stands in it.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from doubted import suspects_of
from printed import unwrapped
from told import reading_of
from unbribable.decision.proven.conditions import (
    Blind,
    Chosen,
    FitIsRight,
    InOrder,
    Missing,
    NoiseBlind,
    Open,
    Refuted,
)
from unbribable.doubt.suspect import Kind
from unbribable.say.conditions import clauses, under
from unbribable.say.price import sentence as price_sentence
from unbribable.say.proof import of as proven_of
from unbribable.say.reasons import full

X = np.linspace(0.0, 1.0, 8)[:, None]
KERNEL = ub.SquaredExponential(0.3)
ASSUMED = ub.Assumptions(KERNEL, B=1.5, B0=1.2, noise_std=0.02, lam=0.01)
LOST = "none of the 3 missing readings is missing because of its value"
LATE = "cannot tighten this yet: tell that round's reading, or give it up"
SITUATIONS = ("plain", "lost", "late", "table", "table from behind")
N_ROUNDS = 40

Values = Callable[[Any, int], float]
"""An algorithm and a round -> what is told of the first point in that round, or of any point."""


def honest(algorithm: Any, t: int) -> float:
    return 0.4 + 0.02 * float(np.random.default_rng(t).standard_normal())


def too_high(algorithm: Any, t: int) -> float:
    """Above B0 by more than any noise: all of them are lies."""
    return honest(algorithm, t) + 1.6


def told_to_fast(n_lies: int) -> Values:
    """Lies in the first rounds in which fast is drawn, so that slow contradicts it."""

    def values(algorithm: Any, t: int) -> float:
        reached = [s for s in range(1, N_ROUNDS + 1) if algorithm.drawn(s) == "fast"]
        return honest(algorithm, t) - 1.1 * (t in reached[:n_lies])

    return values


def one_lie(algorithm: Any, t: int) -> float:
    return honest(algorithm, t) - 1.0 * (t == 7)


def played(situation: str, name: str, values: Values, **words: Any) -> Any:
    """An algorithm that was told forty readings of the first point, in that situation.

    Lost: three further rounds are given up. Late: the last round but two is open. A table comes at
    once, sorted by its readings.
    """
    algorithm = ALGORITHMS[name](ub.Grid(X), ASSUMED, **{"C": 1.0, "T": 16, "seed": 1, **words})
    told = [
        reading_of(algorithm, t, X[0], values(algorithm, t), algorithm.drawn(t), "algorithm")
        for t in range(1, N_ROUNDS + 1)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        if situation.startswith("table"):
            algorithm.learn(sorted(told, key=lambda one: one.y, reverse=situation == "table"))
            return algorithm
        for reading in told:
            if situation != "late" or reading.t != N_ROUNDS - 2:
                algorithm.learn(reading)
        for t in range(N_ROUNDS + 1, N_ROUNDS + 4) if situation == "lost" else ():
            algorithm.lose(t)
    return algorithm


def level_of(situation: str, *, is_contradicted: bool) -> str:
    levels = played(situation, "ladder", too_high).recommend().levels
    return next(str(each) for each in levels if (each.regret_bound is None) == is_contradicted)


def more_than(situation: str) -> str:
    (note,) = played(situation, "ladder", too_high).notes
    return str(note)


def detection(situation: str) -> str:
    n_lies = 6 if situation.startswith("table") else 2  # at once, fewer do not show
    algorithm = played(situation, "fast-slow", told_to_fast(n_lies), C=2.0)
    assert algorithm.detected is not None
    assert algorithm.refuted is None
    (note,) = algorithm.notes
    return str(note)


def refuting(situation: str) -> str:
    algorithm = played(situation, "robust", too_high, C=0.5)
    assert algorithm.refuted is not None
    words = algorithm.recommend().guarantee
    assert words.startswith("The assumptions are refuted")
    assert str(algorithm.notes[0]) in words
    return str(words)


def price_of(situation: str, more: float) -> str:
    """Of an eps by that much above the smallest one there is a price for."""
    algorithm = played(situation, "robust", honest)
    found = algorithm.price((algorithm.price(0.0).least_eps or 0.0) + more)
    assert str(found).startswith(price_sentence(found))
    return price_sentence(found)


def certain_lie(situation: str) -> str:
    (found,) = [each for each in suspects_of(played(situation, "robust", one_lie)) if each.is_certain]
    proven = [reason for reason in found.reasons if reason.kind != Kind.PREDICTED]  # that is a heuristic
    return "; ".join(full(reason) for reason in proven)


SENTENCES: dict[str, Callable[[str], str]] = {
    "worst case": lambda situation: str(played(situation, "robust", honest).recommend()),
    "certificate": lambda situation: played(situation, "robust", honest).recommend().guarantee,
    "bounds": lambda situation: str(played(situation, "robust", honest).guarantee),
    "regret": lambda situation: str(played(situation, "robust", honest).regret_certificate()),
    "price": lambda situation: price_of(situation, 0.1),
    "price without a limit": lambda situation: price_of(situation, 9.0),
    "level that holds": lambda situation: level_of(situation, is_contradicted=False),
    "level that is contradicted": lambda situation: level_of(situation, is_contradicted=True),
    "more corruption than": more_than,
    "detection": detection,
    "refutation": refuting,
    "certain lie": certain_lie,
}

IN_THE_TABLE = {
    "worst case": "worst case:",
    "certificate": "is better than this one by more than",
    "bounds": "f lies within the bounds",
    "regret": "the regret of the",
    "price": "Lies totalling less than",
    "price without a limit": "Even if every reading were off by",
    "level that holds": "valid if C <=",
    "level that is contradicted": "contradicted if C <=",
    "more corruption than": "there is more than that",
    "detection": "Corruption was detected in round",
    "refutation": "The assumptions are refuted",
    "certain lie": "outside",
}
"""What each sentence says, here and in docs/threats.md."""

WAITING = ("certificate", "bounds", "regret", "more corruption than")
"""Sentences that readings of a later round would tighten; the others rest on what is complete."""


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_says_what_it_supposes(sentence: str, situation: str) -> None:
    words = unwrapped(SENTENCES[sentence](situation))
    assert (LOST in words) == (situation == "lost")
    assert ("missing" in words) == (situation == "lost")
    is_price = sentence.startswith("price")
    assert words.startswith("No price yet") == (is_price and situation == "late")
    assert (LATE in words) == (situation == "late" and (is_price or sentence in WAITING))


def test_the_table_of_the_docs_has_each_sentence() -> None:
    text = (Path(__file__).parents[2] / "docs" / "threats.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    for sentence, said in IN_THE_TABLE.items():
        assert any(said in row for row in rows), sentence
        assert said in SENTENCES[sentence]("plain")
    assert SENTENCES.keys() == IN_THE_TABLE.keys()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_table_says_the_same_from_whichever_end_it_is_told(sentence: str) -> None:
    """It has no order, so no sentence has to suppose one."""
    one, other = (SENTENCES[sentence](situation) for situation in SITUATIONS[-2:])
    if sentence in ("detection", "refutation"):  # they name the last row
        one, other = (words.partition("round ")[2].partition(" ")[2] for words in (one, other))
    assert one == other
    assert "order" not in one


@pytest.mark.parametrize("sentence", ["detection", "refutation"])
def test_what_contradicts_itself_after_an_open_round_is_no_contradiction_yet(sentence: str) -> None:
    name, values = ("robust", too_high) if sentence == "refutation" else ("fast-slow", told_to_fast(6))
    algorithm = ALGORITHMS[name](ub.Grid(X), ASSUMED, C=0.5 if name == "robust" else 2.0, seed=1)
    for t in range(2, N_ROUNDS + 1):
        label = algorithm.drawn(t)
        reading = reading_of(algorithm, t, X[0], values(algorithm, t), label, "algorithm")
        algorithm.learn(reading)
    assert algorithm.detected is algorithm.refuted is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        algorithm.lose(1)
    assert (algorithm.refuted if name == "robust" else algorithm.detected) is not None


# --- at the doors of a run -------------------------------------------------------------------------

GRID = ub.Grid(np.linspace(0.0, 1.0, 9)[:, None])


@pytest.mark.parametrize("n_lost", [0, 3])
def test_an_audit_says_what_its_proof_supposes(n_lost: int) -> None:
    pytest.importorskip("clarabel")
    x, rng = np.repeat(np.linspace(0.0, 1.0, 5), 6), np.random.default_rng(0)
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=1.0, B0=1.0, noise_std=0.02, lam=0.01, c_max=9.0)
    y = 0.3 * x + 0.02 * rng.standard_normal(30)
    y[7] += 2.0
    y[30 - n_lost :] = math.nan
    audit = ub.audit(x[:, None], y, GRID, assumptions=assumed, corruption=2.5)
    assert audit.proof is not None
    assert audit.least_corruption > 0.0
    for words in (
        str(audit.proof),
        unwrapped(str(audit)),
        audit.to_html(),
        price_sentence(audit.price(2.0)),
    ):
        assert (LOST in words) == (n_lost == 3)
        assert ("missing reading" in words) == (n_lost == 3)
    assert f"if what is assumed is right{f' and {LOST}' * (n_lost == 3)})." in str(audit.proof)
    assert "if lies total at most 2.5" in proven_of(audit.proof, 8)
    assert (LOST in proven_of(audit.proof, 8)) == (n_lost == 3)


@pytest.mark.parametrize("n_lost", [0, 3])
def test_an_audit_that_no_lies_explain_says_what_that_supposes(n_lost: int) -> None:
    pytest.importorskip("clarabel")
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=1.0, B0=1.0, noise_std=0.01, lam=0.01, c_max=0.5)
    x, y = [0.0, 0.5, 1.0] + n_lost * [0.2], [0.0, 9.0, 0.0] + n_lost * [math.nan]
    audit = ub.audit(x, y, [(0.0, 1.0)], assumptions=assumed, corruption=1.0)
    with pytest.warns(ub.AssumptionsRefuted) as caught:
        words = str(audit.proof)
    assert "points you chose" not in str(caught[0].message)
    assert words.startswith("No lies explain these readings: what is assumed is wrong (noise, smooth")
    assert "or the size of a lie)" in words
    assert (f", if {LOST}." in words) == (n_lost == 3)
    assert words.endswith("Were it right, that would happen with probability at most 0.1.")


def test_an_audit_says_the_same_of_a_table_in_any_order() -> None:
    pytest.importorskip("clarabel")
    x, rng = np.repeat(np.linspace(0.0, 1.0, 5), 6), np.random.default_rng(0)
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=1.0, B0=1.0, noise_std=0.02, lam=0.01, c_max=9.0)
    y = 0.3 * x + 0.02 * rng.standard_normal(30)
    y[7] += 2.0
    said = []
    for order in (np.argsort(y), np.argsort(-y)):
        audit = ub.audit(x[order, None], y[order], GRID, assumptions=assumed, corruption=2.5)
        t = int(np.argmax(y[order])) + 1
        proven = proven_of(audit.proof, t).split(" and ")[-1]
        best, price = audit.recommendation, audit.price(2.0)
        said.append((str(audit.proof), proven, str(best), best.guarantee, price_sentence(price)))
    assert said[0] == said[1]
    assert "order" not in " ".join(said[0])


def test_an_audit_in_mid_run_says_on_which_rounds_its_proof_rests() -> None:
    pytest.importorskip("clarabel")
    study = ub.Study([(0.0, 1.0)], assumptions=replace(ASSUMED, c_max=9.0), corruption=9.0, seed=0)
    queries = study.ask(8)
    for k in (0, 1, 2, 3, 5, 6, 7):
        study.tell(queries[k], 3.0 if k == 2 else 0.4)
    audit = study.audit()
    assert audit.proof.total > 0.0
    assert "This rests on 4 of the 7 readings" in str(audit.proof)
    assert LATE in audit.recommendation.guarantee
    assert str(audit.price()).startswith("No price yet")


def test_where_readings_are_known_to_be_selected_the_proof_does_without_them_and_supposes_nothing() -> (
    None
):
    pytest.importorskip("clarabel")
    study = ub.Study([(0.0, 1.0)], assumptions=replace(ASSUMED, c_max=9.0), corruption=9.0, seed=0)
    for k in range(20):
        study.tell([k / 20], 0.4 + 3.0 * (k == 4))
    study.tell([0.5], math.nan)
    assert "the one missing reading" in str(study.audit().proof)
    study.retract(3, "it looked odd")
    proof = study.audit().proof
    assert proof.total > 0.0
    assert "missing" not in str(proof)


# --- a refutation names all that may be wrong ------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_refutation_names_the_draws_where_there_are_any(name: str) -> None:
    algorithm = ALGORITHMS[name](ub.Grid(X), ASSUMED, C=3.0, T=16, seed=1)
    values = [-8.0, 8.0] * 30
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t, y in enumerate(values, 1):
            algorithm.learn(reading_of(algorithm, t, X[0], y, None, "algorithm"))
    (warned,) = (str(entry.message) for entry in caught)
    assert warned == str(algorithm.notes[0])
    for cause in ("B, B0, noise_std, the kernel", "the number or the size of the lies"):
        assert cause in warned
    assert ("that whoever lies does not know the draws" in warned) == (len(algorithm.draws) > 1)
    assert "missing" not in warned
    assert "points you chose" not in warned


def test_a_refutation_names_the_order_and_what_is_missing_where_that_matters() -> None:
    algorithm = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=0.5)
    algorithm.forget(algorithm.ask())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(1, N_ROUNDS + 1):
            algorithm.tell(x=X[0], y=too_high(algorithm, t))
    (warned,) = (str(entry.message) for entry in caught)
    assert "or that the one missing reading is not missing because of its value" in warned
    words = f"that the {N_ROUNDS} readings of points you chose were told whatever their values, in the"
    assert words in algorithm.recommend().guarantee


def test_a_refutation_by_a_table_does_not_name_its_order() -> None:
    algorithm = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=0.5)
    rows = [reading_of(algorithm, t, X[0], too_high(algorithm, t)) for t in range(1, N_ROUNDS + 1)]
    with pytest.warns(ub.AssumptionsRefuted) as caught:
        algorithm.learn(rows)
    assert "order" not in str(caught[0].message)


# --- nothing is claimed where nothing is guaranteed ------------------------------------------------


def test_where_readings_are_missing_because_of_their_values_nobody_is_accused() -> None:
    ladder = played("plain", "ladder", too_high)
    ladder.lose(N_ROUNDS + 1, because_of_value=True)
    (void, note) = map(str, ladder.notes)
    assert void.startswith("No guarantee: 1 reading is missing because of its value")
    assert "nothing is proven" in note
    assert "more than" not in note
    fast_slow = played("plain", "fast-slow", told_to_fast(2), C=2.0)
    fast_slow.lose(N_ROUNDS + 1, because_of_value=True)
    assert str(fast_slow.notes[-1]).endswith("Nothing is proven by that.")


# --- the words -------------------------------------------------------------------------------------


def test_conditions_are_worded_in_one_place() -> None:
    every = [FitIsRight(), FitIsRight(("B",)), Blind(), NoiseBlind(), Missing(1), Missing(2), Chosen(1)]
    assert len({*clauses([*every, Chosen(2), InOrder()])}) == 9
    assert clauses([Open(3)]) == []
    assert under("It is so", []) == "It is so."
    assert under("It is so", [Missing(2)]) == (
        "It is so, if none of the 2 missing readings is missing because of its value."
    )
    assert under("It is so", [Open(1)]).startswith("It is so. The reading told after a round")
    assert under("It is so", [Open(3)]).startswith("It is so. The 3 readings told after a round")
    assert str(Refuted(7, 0.1)).startswith("The assumptions are refuted by the readings up to round 7,")
