"""What each value prints as: the useful thing first, then the worst case, then what it supposes."""

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.proven import conditions as kinds
from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.hindsight import RegretCertificate
from unbribable.decision.proven.lying import Proof
from unbribable.decision.proven.price import Bribe
from unbribable.decision.recommend import Level, Recommendation
from unbribable.decision.remarks import Alone, Growing, Outside, TooManyLies, TooMuchLying
from unbribable.decision.units import Units
from unbribable.say.account import account
from unbribable.say.assumptions import assumed, rests_on
from unbribable.say.conditions import clauses
from unbribable.say.counting import TRIALS, Counting
from unbribable.say.guarantee import reason, supposed, whole, why_void
from unbribable.say.price import price, sentence, to_dict
from unbribable.say.proof import of
from unbribable.say.recommendation import spoken
from unbribable.say.remarks import caution, in_full, in_short

STRONG = Guarantee("strong", ("main",), 0.9, C=2.0, cap=0.5)
FIT = kinds.FitIsRight(("kernel", "noise"), ("B",))
BEST = Recommendation(
    np.array([0.25]), 3, estimate=1.5, estimate_sd=0.02, lower=1.0, upper=2.0,
    regret_bound=0.75, probability=0.9, promise=STRONG,
)  # fmt: skip
PRICE = ub.Price(
    np.array([0.25]), 3, 0.5, STRONG, value=3.0, without_cap=2.0, least_eps=0.1, probability=0.9,
    cheapest=Bribe(1.25, {3: 0.5, 7: -0.75}, 0.8), cap=0.5, spread=1.0,
)  # fmt: skip
PROOF = Proof(2.5, (7,), {7: 1.5}, {7: 2.0}, 4.0, False, kinds.FitIsRight(), 0.95, 0.1, 30, 0)


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        (STRONG, "against any adversary, weak or strong, with total corruption at most 2 and no single "
                 "lie above 0.5, "),
        (replace(STRONG, threat="weak", cap=math.inf), "against a weak adversary (who does not see the "
                 "draw) with total corruption at most 2, "),
        (replace(STRONG, threat="none"), "if no reading was corrupted, "),
        (replace(STRONG, lies=CountedLies(1)), "who corrupts at most 1 reading by any amount, "),
        (replace(STRONG, lies=CountedLies(3, 50)), "at most 3 of the 50 readings by any amount, "),
        (replace(STRONG, is_guess=True), "that the readings are consistent with: a heuristic choice), "),
        (STRONG.supposing(FIT, kinds.Missing(2)), "and if the fitted model is right and none of the 2 "
                 "missing readings is missing because of its value, "),
    ],
)  # fmt: skip
def test_a_guarantee_says_how_sure_against_whom_and_if_what(promise: Guarantee, said: str) -> None:
    text = str(promise)
    assert text.startswith("With probability at least 0.9, ")
    assert text.endswith(f"{said}f lies within the bounds at every candidate.")
    assert whole(replace(BEST, promise=promise)).startswith(
        text.removesuffix("f lies within the bounds at every candidate.")
    )


def test_what_does_not_count_yet_is_said_last() -> None:
    text = str(STRONG.supposing(kinds.Open(3)))
    assert text.endswith("candidate. The 3 readings told after a round that is still open cannot "
                         "tighten "
                         "this yet: tell that round\'s reading, or give it up.")  # fmt: skip


VOIDS: list[tuple[kinds.Void, str]] = [
    (kinds.NoPromise(), "No guarantee."),
    (kinds.NotProved(), "No guarantee: the width is not proved."),
    (kinds.NoReading(), "No guarantee: there is no reading yet."),
    (kinds.BetaGiven(), "No guarantee: beta was given, which replaces the proven noise width."),
    (kinds.Pruned(1), "No guarantee: 1 reading is missing because of its value, as with pruned"),
    (kinds.Pruned(3), "No guarantee: 3 readings are missing because of their values, as with"),
    (kinds.TakenOut((5,)), "No guarantee: the reading of trial 4 was taken out, and nobody stated "
                           "that this "
                           "had nothing to do with its value."),
    (kinds.TakenOut((5, 8)), "No guarantee: the readings of trials 4, 7 were taken out, and nobody"),
    (kinds.TooMany(9, 10), "No guarantee: it was for 9 readings, and 10 were told."),
    (kinds.Refuted(7, 0.1), "The assumptions are refuted by the readings up to trial 6, so nothing is"),
    (kinds.Crossed(), "No guarantee: against any adversary, weak or strong, with total corruption "
                      "at most 2 "
                      "and no single lie above 0.5, the bounds leave some point no value at all."),
    (kinds.Exceeded(300.0, 2.0), "No guarantee: readings outside reading_range are off by at least 300 "
                                 "in all, more than the 2 that lies were said to total."),
    (kinds.Exceeded(math.inf, 2.0), "No guarantee: readings outside reading_range are off without"),
    (kinds.NotYet(), "No price yet: it must not rest on some of the readings alone."),
    (kinds.NothingHeld("slow"), "No price yet: it would rest on the readings of slow, which has none."),
]  # fmt: skip


@pytest.mark.parametrize(("void", "said"), VOIDS)
def test_why_nothing_is_guaranteed_is_said_as_the_door_counts(void: kinds.Void, said: str) -> None:
    promise = replace(STRONG, void=void)
    assert why_void(promise, TRIALS).startswith(said)
    assert "With probability" not in str(promise)
    assert whole(replace(BEST, promise=promise, regret_bound=None), TRIALS).startswith(said)
    assert reason(void)


def test_every_reason_and_every_condition_has_words_and_survives_a_record() -> None:
    assert {type(void) for void, _ in VOIDS} == set(get_args(kinds.Void))
    every = [
        FIT,
        kinds.FitIsRight(),
        kinds.Blind(),
        kinds.NoiseBlind(),
        kinds.Missing(1),
        kinds.Missing(2),
        kinds.Chosen(1),
        kinds.Chosen(2),
        kinds.InOrder(),
        kinds.Open(2, True),
        kinds.InRange(0.0, 1500.0),
        kinds.OwnNoise(1),
        kinds.OwnNoise(3),
        kinds.Corrected(0.12, 5),
        kinds.Corrected(0.12, has_drift=True),
        kinds.Corrected(0.12, 5, has_drift=True),
    ]
    assert {type(each) for each in every} == set(get_args(kinds.Condition))
    assert len({*clauses(every)}) == len(every) - 1  # what waits is no condition
    for void, _ in VOIDS:
        promise = replace(STRONG.supposing(*every), void=void)
        assert Guarantee.from_plain(promise.to_plain()) == promise


def test_a_recommendation_says_what_to_use_what_to_expect_the_worst_and_if_what() -> None:
    assert str(BEST).splitlines() == [
        "use x = [0.25]",
        "  expected value: 1.500 +- 0.020 (an estimate from all readings)",
        "  worst case: 1 to 2 (with probability at least 0.9 if lies total at most 2 and none "
        "exceeds 0.5 (c_max))",
    ]
    assert supposed(replace(STRONG, threat="weak")).startswith(
        "lies, told without knowing the draws, total"
    )
    assert whole(BEST).endswith("no point of the domain is better than this one by more than 0.75.")
    box = whole(replace(BEST, n_compared=40, between_candidates=0.3))
    assert "none of the 40 candidates is better than this one by more than 0.75. Between the" in box
    heuristic = replace(BEST, rule="heuristic", promise=STRONG.supposing(FIT))
    assert whole(heuristic).startswith("The point was chosen by a heuristic")
    assert "B was given. Kernel and noise were fitted to the readings, not known" in whole(heuristic)


def test_remarks_and_cautions_are_said_beside_it() -> None:
    best = replace(
        BEST, cautions=(Alone(1.0, 0.5), Outside()), remarks=(TooManyLies(3, 2, 0.1), Growing(0.1, 3))
    )
    said = spoken(best)
    assert said["caution"] == f"{caution(Alone(1.0, 0.5))} {caution(Outside())}"
    assert said["remarks"] == [in_short(each) for each in best.remarks]
    assert (
        said["remarks"][0]
        == "3 readings look false, more than the 2 of lies=0.1: the worst case allows for 3"
    )
    assert in_full(TooManyLies(1, 0, 1)).startswith(
        "1 reading looks false, more than the 0 that the cert"
    )
    assert in_full(TooMuchLying(3.0, 2.0, "corruption")).endswith("state a larger corruption=.")
    assert in_full(Growing(0.1, 3)) == ""
    assert in_full(best.remarks[0]) in whole(best)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "Lies totalling less than 2 (2 readings off by the whole range) could not have made "
             "another "
             "point better by more than 0.5 (with probability at least 0.9)."),
        ({"share": 0.5}, "better by more than 0.5, 50 % of the range read (with probability at "
                         "least 0.9)."),
        ({"n_compared": 40}, "could not have made another of the 40 candidates better by more than "
                             "0.5 ("),
        ({"value": math.inf}, "Even if every reading were off by as much as 0.5 (c_max), another "
                              "point could "
                              "not be better by more than 0.5 (with probability at least 0.9)."),
        ({"value": None}, "Even if nobody lied, another point could be better by up to 0.1: there are "
                          "too few readings for a price at 0.5."),
        ({"has_other": False}, "There is no other point that could be better."),
        ({"promise": STRONG.supposing(FIT)}, "0.5 (with probability at least 0.9 if the fitted "
                                             "model is right)."),
    ],
)  # fmt: skip
def test_a_price_says_how_much_lying_it_takes(change: dict[str, Any], said: str) -> None:
    assert said in sentence(replace(PRICE, **change))
    assert str(replace(PRICE, **change)).startswith(sentence(replace(PRICE, **change)))


def test_a_bribe_is_named_as_the_door_counts() -> None:
    assert "Had 2 readings (rounds 3, 7) been told differently, by 1.25 in all, another point" in str(
        PRICE
    )
    assert "Had 2 readings (trials 2, 6) been told differently" in price(PRICE, TRIALS)
    lines = Counting("reading", labels=tuple(f"line {k + 2}" for k in range(9)))
    assert "Had 2 readings (readings 3 (line 4), 7 (line 8)) been told" in price(PRICE, lines)
    assert to_dict(PRICE, TRIALS)["lies"] == {"2": 0.5, "6": -0.75}
    assert to_dict(PRICE, TRIALS)["words"] == price(PRICE, TRIALS)
    as_good = replace(PRICE, cheapest=Bribe(1.25, {3: 0.5}, 0.4))
    assert "Had " not in str(as_good)


def test_levels_regret_and_notes_are_said() -> None:
    assert (
        str(Level(2.0, 0.5)) == "valid if C <= 2, no single lie exceeds c_max, and the adversary is weak"
    )
    assert str(Level(2.0, None, "strong", (FIT,))) == (
        "contradicted if C <= 2, no single lie exceeds c_max, against any adversary, and if the "
        "fitted model is right"
    )
    assert str(RegretCertificate(4.0, 12, STRONG)).endswith(
        "the regret of the 12 rounds told is at most 4."
    )
    on_a_box = str(RegretCertificate(4.0, 12, STRONG, 40, 0.5))
    assert (
        "the 12 rounds told, compared with the best of 40 candidates, is at most 4. Compared with"
        in on_a_box
    )
    assert str(kinds.Detected(9, 0.0, 0.1, ())) == (
        "Corruption was detected in round 9. Without any this happens with probability at most 0.1."
    )
    assert str(kinds.Detected(9, 0.5, 0.1, None)) == (
        "A corruption of more than 0.5 was detected in round 9. Nothing is proven by that."
    )
    assert str(kinds.Consistent(2.0, 1.0, 0.1, ())).endswith(
        "and not of 1: there is more than that, with probability at least 0.9."
    )
    assert (
        str(kinds.PastHorizon(50))
        == "Past the horizon T=50: intervals hold, the regret theorem does not."
    )


def test_a_proof_is_said_with_what_it_rests_on() -> None:
    assert str(PROOF).startswith(
        "These readings cannot be explained without lies totalling at least 2.5 (with"
    )
    assert of(PROOF, 7) == (
        "a lie of at least 1.5 for certain and of at least 2 if lies total at most 4, if what is "
        "assumed is right"
    )
    assert of(replace(PROOF, lies={}), 7).startswith(
        "a lie of at least 2 if lies total at most 4, if what"
    )
    assert of(PROOF, 8) == ""
    assert "would not show" in str(replace(PROOF, total=0.0))
    fitted = str(replace(PROOF, is_refuted=True, fit=FIT))
    assert fitted.startswith(
        "No lies explain these readings: the fitted model is wrong (noise, smoothness,"
    )
    assert str(replace(PROOF, n_waiting=2)).endswith(
        "This rests on 30 of the 32 readings: those of the rounds before the first one that is "
        "still open."
    )


def test_what_an_answer_rests_on_is_said_with_its_units() -> None:
    kernel = ub.Matern(2.5, (0.2, 0.5))
    known = ub.Assumptions(kernel, B=2.0, B0=1.0, noise_std=0.1)
    assert str(known) == assumed(known)
    assert "Matern(nu=2.5, lengthscales as shares of the ranges: heat 0.2, flow 0.5)" in (
        assumed(known, ("heat", "flow"))
    )
    said = rests_on(Basis(known, Units(10.0, 2.0, limit=3.0), FIT))
    assert (
        "Here f and the readings are counted from 10 in units of 2, and readings beyond +-3 of these"
        in said
    )
    assert said.endswith("the documentation's page on results.")
    assert rests_on(None) == "None yet: there is no reading to fit them to."
    paragraphs = account(replace(BEST, promise=STRONG.supposing(FIT)), PRICE, Basis(known, None, FIT))
    first, second, third = paragraphs.splitlines()
    assert first.startswith("With probability at least 0.9, ")
    assert second == sentence(PRICE)
    assert third.startswith("Assumed: f lies in the RKHS of Matern")
    assert "were fitted to the readings" in first
    assert "were fitted to the readings" not in third
