"""What is guaranteed, against whom and if what; or why nothing is."""

import math

from unbribable.decision.proven.conditions import (
    BetaGiven,
    Crossed,
    Exceeded,
    FitIsRight,
    NoPromise,
    NoReading,
    NothingHeld,
    NotProved,
    NotYet,
    Pruned,
    Refuted,
    TakenOut,
    TooMany,
    Void,
)
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.hindsight import RegretCertificate
from unbribable.decision.recommend import Level, Recommendation
from unbribable.say.assumptions import origin
from unbribable.say.conditions import clauses, supposition, waits
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.notes import refutation
from unbribable.say.remarks import in_full
from unbribable.say.words import listed

HEURISTIC = (
    "The point was chosen by a heuristic: the best value to expect among the points that were read."
)


def bounds(guarantee: Guarantee, counting: Counting = ROUNDS) -> str:
    """Of the bounds at all candidates."""
    return _stated(guarantee, "f lies within the bounds at every candidate", "", counting)


def certificate(best: Recommendation, counting: Counting = ROUNDS) -> str:
    """Of a recommended point."""
    allowed = "allowed " if best.is_constrained else ""
    than, beyond = f"no {allowed}point of the domain", ""
    if best.n_compared is not None:
        than = f"none of the {best.n_compared} {allowed}candidates"
        beyond = between(best.between_candidates)
    what = f"{than} is better than this one by more than {best.regret_bound or 0.0:.4g}"
    return _stated(best.promise, what, beyond, counting)


def regret(found: RegretCertificate, counting: Counting = ROUNDS) -> str:
    """Of the regret in hindsight."""
    n, gap, than, beyond = found.n_rounds, found.between_candidates, "", ""
    if found.n_compared is not None:
        than = f", compared with the best of {found.n_compared} candidates,"
        beyond = (
            f"Compared with the best point of the box it may be larger by about {n * gap:.4g}: an "
            f"estimate, {gap:.4g} a round."
        )
    what = f"the regret of the {n} rounds told{than} is at most {found.value or 0.0:.4g}"
    return _stated(found.promise, what, beyond, counting)


def whole(best: Recommendation, counting: Counting = ROUNDS) -> str:
    """The certificate of a recommended point, how the point was found, and what it all rests on."""
    parts = [HEURISTIC] if best.rule == "heuristic" else []
    parts.append(certificate(best, counting))
    if best.regret_bound is not None:
        parts += [in_full(remark) for remark in best.remarks]
        parts += [origin(each) for each in best.promise.conditions if isinstance(each, FitIsRight)]
    return " ".join(filter(None, parts))


def level(found: Level) -> str:
    """When the certificate of a level holds, or that the readings contradict just that."""
    against = "against any adversary" if found.threat == "strong" else "and the adversary is weak"
    clause = supposition(found.conditions)
    holds = f"C <= {found.C:g}, no single lie exceeds c_max, {against}"
    whole = f"{holds}, and if {clause}" if clause else holds
    return f"{'contradicted' if found.regret_bound is None else 'valid'} if {whole}"


def between(gap: float) -> str:
    """A sentence about the points of a Box that are no candidates."""
    return (
        f"Between the candidates f may be higher by about another {gap:.4g}: an estimate, B times the "
        "largest kernel distance to a candidate that a search found."
    )


def supposed(guarantee: Guarantee) -> str:
    """What it supposes, in a short clause without "if"."""
    lies, cap = guarantee.lies, f"{guarantee.cap:.4g}"
    if guarantee.threat == "none":
        words = "no reading is a lie"
    elif lies is not None:
        among = "readings" if lies.n_readings is None else f"{lies.n_readings} readings"
        words = at_most(lies.n_lies, among) if lies.n_lies else "no reading is a lie"
    else:
        blind = ", told without knowing the draws," if guarantee.threat == "weak" else ""
        words = f"lies{blind} total at most {guarantee.C:.4g}"
        if guarantee.cap < guarantee.C:
            words += f" and none exceeds {cap} (c_max)"
    return listed([words, *clauses(guarantee.conditions)])


def at_most(n: int, of: str) -> str:
    """`at most 3 of the 30 readings are lies`."""
    return f"at most {n} of the {of} {'is a lie' if n == 1 else 'are lies'}"


def reason(void: Void | None) -> str:
    """Why nothing is guaranteed, in a short clause."""
    match void:
        case Refuted() | Crossed() | Exceeded():
            return "the readings contradict what is assumed"
        case BetaGiven():
            return "beta was given"
        case Pruned():
            return "readings are missing because of their values"
        case TakenOut():
            return "readings may be missing because of their values"
        case _:
            return "nothing is guaranteed"


def why_void(guarantee: Guarantee, counting: Counting = ROUNDS) -> str:
    """Why nothing is guaranteed, in sentences; empty if something is."""
    match guarantee.void:
        case None:
            return ""
        case Refuted() as found:
            return refutation(found, counting)
        case NoPromise():
            return "No guarantee."
        case NotProved():
            return "No guarantee: the width is not proved."
        case NoReading():
            return "No guarantee: there is no reading yet."
        case BetaGiven():
            return "No guarantee: beta was given, which replaces the proven noise width."
        case Pruned(n):
            missing = "1 reading is missing because of its value"
            if n > 1:
                missing = f"{n} readings are missing because of their values"
            return f"No guarantee: {missing}, as with pruned trials and infinite values."
        case TakenOut(rounds):
            which, its = (
                ("reading of", "its value") if len(rounds) == 1 else ("readings of", "their values")
            )
            were = "was" if len(rounds) == 1 else "were"
            return (
                f"No guarantee: the {which} {counting.several(rounds)} {were} taken out, and nobody "
                f"stated that this had nothing to do with {its}."
            )
        case TooMany(T, n):
            return f"No guarantee: it was for {T} readings, and {n} were told."
        case Crossed():
            return (
                f"No guarantee: {_against(guarantee)}, the bounds leave some point no value at all. "
                f"Under true assumptions that happens with probability at most "
                f"{1.0 - guarantee.probability:.4g}."
            )
        case Exceeded(total, C):
            off = f"by at least {total:.4g} in all" if math.isfinite(total) else "without limit"
            return (
                f"No guarantee: readings outside reading_range are off {off}, more than the {C:.4g} "
                "that lies were said to total."
            )
        case NotYet():
            late = waits(guarantee.conditions)
            return f"No price yet: it must not rest on some of the readings alone. {late}".strip()
        case NothingHeld(label):
            return f"No price yet: it would rest on the readings of {label}, which has none."


def _stated(guarantee: Guarantee, what: str, beyond: str, counting: Counting) -> str:
    if guarantee.void is not None:
        return why_void(guarantee, counting)
    sentence = f"With probability at least {guarantee.probability:.4g}, {_against(guarantee)}, {what}."
    return " ".join(filter(None, [sentence, beyond, waits(guarantee.conditions)]))


def _against(guarantee: Guarantee) -> str:
    """The threat, the budget and the conditions, as the middle of a sentence."""
    lies = guarantee.lies
    if guarantee.threat == "none":
        words = "if no reading was corrupted"
    elif lies is not None:
        which = "1 reading" if lies.n_lies == 1 else f"{lies.n_lies} readings"
        if lies.n_readings is not None:
            which = f"{lies.n_lies} of the {lies.n_readings} readings"
        words = f"against any adversary, weak or strong, who corrupts at most {which} by any amount"
    else:
        budget = f"{guarantee.C:g}"
        if guarantee.cap < guarantee.C:
            budget += f" and no single lie above {guarantee.cap:g}"
        if guarantee.is_guess:
            budget += " (the lowest level that the readings are consistent with: a heuristic choice)"
        who = "any adversary, weak or strong,"
        if guarantee.threat == "weak":
            who = "a weak adversary (who does not see the draw)"
        words = f"against {who} with total corruption at most {budget}"
    clause = supposition(guarantee.conditions)
    return f"{words}, and if {clause}" if clause else words
