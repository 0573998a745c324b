"""Reasons in words: with the numbers they hold, and counted as the door counts."""

from dataclasses import replace

import numpy as np
import pytest

from unbribable.doubt.suspect import Kind, Reason, Suspect, in_order
from unbribable.say.counting import ROUNDS, TRIALS, Counting
from unbribable.say.reasons import beside, evidence, full, short

LINES = Counting("reading", labels=tuple(f"line {t + 1}" for t in range(1, 31)))

WORDS = {
    "repeats": (
        Reason(Kind.SAME_POINT, (2, 5, 9), off=-0.25),
        "0.25 below the median of 3 other readings of the same point",
        "unlike 3 other readings of its point",
    ),
    "one repeat": (
        Reason(Kind.SAME_POINT, (2,), off=0.25),
        "0.25 above the only other reading of the same point",
        "unlike the other reading of its point",
    ),
    "bounds": (
        Reason(Kind.OUTSIDE, off=-0.5, low=-1.0, high=2.0),
        "outside the bounds on f [-1, 2] by 0.5",
        "outside the bounds",
    ),
    "impossible": (
        Reason(Kind.IMPOSSIBLE, off=-625.0, low=0.0, high=1500.0),
        "outside reading_range, 0 to 1500: false for certain, as you state",
        "outside 0 to 1500",
    ),
    "predicted": (
        Reason(Kind.PREDICTED, off=-8.0, expected=10.0, sd=2.0),
        "4 standard deviations below what the other readings predict (10 +- 2)",
        "4 standard deviations below the others",
    ),
    "equal": (
        Reason(Kind.EQUAL, (6, 18)),
        "the same value to the last digit as in rounds 6, 18",
        "equal to rounds 6, 18",
    ),
    "equal to one": (
        Reason(Kind.EQUAL, (6,)),
        "the same value to the last digit as in round 6",
        "equal to round 6",
    ),
    "equal to many": (
        Reason(Kind.EQUAL, (1, 2, 4, 8, 16)),
        "the same value to the last digit as in rounds 1, 2, 4, 8, 16",
        "equal to rounds 1, 2, 4 and 2 more",
    ),
    "burst": (
        Reason(Kind.BURST, (3, 4, 5, 7), off=1.0),
        "one of 4 readings in a row (rounds 3 to 7) that are all above what the others predict: a burst",
        "in a burst, rounds 3 to 7",
    ),
    "drift": (
        Reason(Kind.DRIFT, (3, 4, 5), off=-1.0),
        "one of 3 readings in a row (rounds 3 to 5) that are all below what the others predict: more "
        "and more, as by a drift",
        "in a drift, rounds 3 to 5",
    ),
    "infinite": (Reason(Kind.NOT_LEARNABLE), "not finite, and was not learned", "not finite"),
    "huge": (
        Reason(Kind.NOT_LEARNABLE, high=1e150),
        "beyond +-1e+150, and was not learned",
        "beyond +-1e+150",
    ),
    "one missing": (
        Reason(Kind.MISSING, n=1),
        "certain under the assumptions, and if the one missing reading is not missing because of "
        "its value",
        "certain if no reading is missing because of its value",
    ),
    "several missing": (
        Reason(Kind.MISSING, n=3),
        "certain under the assumptions, and if none of the 3 missing readings is missing because of its "
        "value",
        "certain if no reading is missing because of its value",
    ),
}


@pytest.mark.parametrize(("reason", "words", "few"), WORDS.values(), ids=WORDS)
def test_each_reason_is_said_in_full_and_in_a_few_words(reason: Reason, words: str, few: str) -> None:
    assert full(reason) == words
    assert short(reason) == few


def test_every_kind_of_reason_has_words() -> None:
    assert {reason.kind for reason, _, _ in WORDS.values()} == set(Kind)


@pytest.mark.parametrize(
    ("counting", "equal", "burst"),
    [
        (ROUNDS, "rounds 6, 18", "rounds 3 to 7"),
        (TRIALS, "trials 5, 17", "trials 2 to 6"),
        (
            LINES,
            "readings 6 (line 7), 18 (line 19)",
            "readings 3 (line 4) to 7 (line 8)",
        ),
    ],
    ids=["rounds", "trials", "lines"],
)
def test_rounds_are_counted_as_the_door_counts(counting: Counting, equal: str, burst: str) -> None:
    same, row = Reason(Kind.EQUAL, (6, 18)), Reason(Kind.BURST, (3, 4, 5, 6, 7), off=1.0)
    assert full(same, counting).endswith(f" as in {equal}")
    assert short(same, counting) == f"equal to {equal}"
    assert f"({burst})" in full(row, counting)
    assert short(row, counting).endswith(burst)
    assert counting.one(6) == equal.split(",")[0].replace("s ", " ", 1)


def suspect(t: int, probability: float, *reasons: Reason, is_certain: bool = False) -> Suspect:
    return Suspect(t, np.zeros(1), 0.0, probability, 0.0, 1.0, bool(reasons), is_certain, reasons)


def test_flagged_ones_come_first_and_equal_ones_together_however_probable() -> None:
    off, outside = Reason(Kind.PREDICTED, off=1.0, expected=0.0, sd=1.0), Reason(Kind.OUTSIDE, off=1.0)
    found = [
        suspect(1, 0.4),
        suspect(2, 0.57, Reason(Kind.EQUAL, (5, 9))),
        suspect(3, 0.9, off),
        suspect(5, 0.8, Reason(Kind.EQUAL, (2, 9)), off),
        suspect(7, 0.7, outside, is_certain=True),
        suspect(9, 0.6, Reason(Kind.EQUAL, (2, 5))),
        suspect(11, 0.6, off),
    ]
    assert [each.t for each in in_order(found)] == [7, 5, 9, 2, 3, 11, 1]
    assert [each.t for each in in_order(found[::-1])] == [7, 5, 9, 2, 3, 11, 1]


def test_of_equally_probable_ones_the_one_that_is_off_by_most_comes_first() -> None:
    found = [replace(suspect(t, 1.0), y=y) for t, y in ((1, 2.0), (2, -9.0), (3, 4.0))]
    assert [each.t for each in in_order(found)] == [2, 3, 1]


def test_a_list_gives_the_reason_where_the_expected_value_does_not_show_it() -> None:
    off, equal = Reason(Kind.PREDICTED, off=1.0, expected=0.0, sd=1.0), Reason(Kind.EQUAL, (2, 5))
    assert beside(suspect(9, 0.9, off)) == ""
    both = suspect(9, 0.9, off, equal)
    assert beside(both, TRIALS) == "equal to trials 1, 4"
    assert evidence(both, TRIALS)[1] == "the same value to the last digit as in trials 1, 4"
    assert evidence(replace(both, reasons=())) == ()
