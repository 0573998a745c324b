"""Studies in a database, one step per command: for instruments that shell scripts drive."""

import math
import shlex
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbribable.cli.door import Answer, door, extended, option
from unbribable.cli.parameters import (
    LIES,
    LINEAR,
    RANGE,
    RULE,
    linear,
    number_or_share,
    parameters,
    values_of,
)
from unbribable.cli.show import sheet, table
from unbribable.cli.storage import FORMS, database, shown
from unbribable.say.answer import BestReading, answer, trials
from unbribable.say.counting import TRIALS
from unbribable.say.left_to_gain import lines as left_lines
from unbribable.say.price import sentence, to_dict
from unbribable.say.words import digits, plus_minus, point, wrapped

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import RDBStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from unbribable.hosts.optuna.sampler import UnbribableSampler

app = typer.Typer(
    help="Keep a study in a database: create it, then ask and tell, one command each.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="Name of the study.")]
Storage = Annotated[str, option(f"Database: {FORMS}.", envvar="UNBRIBABLE_STORAGE")]
DEFAULT = "sqlite:///unbribable.db"

BLOCK = "block"
"""User attribute of a trial: what it was read with."""


def step(name: str, command: Callable[..., Answer], **settings: Any) -> Callable[..., None]:
    """A command on a study that exists: opens it, with its sampler, and closes it again."""
    called = name

    def opened(name: Name, storage: Storage = DEFAULT, **words: Any) -> Answer:
        with database(storage) as db:
            return command(*open_study(name, db), **words)

    whole = door(extended(opened, command, n_taken=2))
    return app.command(called, context_settings=settings)(whole)


@app.command()
@door
def create(
    name: Name,
    param: Annotated[list[str], option(f"{RULE}; repeat for each parameter.")],
    trials: Annotated[int, option("Trials intended.", min=1)] = 100,
    direction: Annotated[str, option("maximize or minimize.")] = "maximize",
    corruption: Annotated[str | None, option("The most that all lies add up to, or unknown.")] = None,
    lies: Annotated[str | None, option(f"Instead: {LIES}.")] = None,
    noise_std: Annotated[float | None, option("Standard deviation of the noise, if known.")] = None,
    reading_range: Annotated[str | None, option(f"{RANGE}.")] = None,
    constraint: Annotated[
        list[str] | None, option(f"What points must keep, {LINEAR}; repeat for others.")
    ] = None,
    drift: Annotated[bool, option("The instrument may drift from trial to trial.", "--drift")] = False,
    seed: Annotated[int | None, option("Seed of the initial design.", min=0)] = None,
    storage: Storage = DEFAULT,
) -> Answer:
    """Create a study.

    \b
    Examples:
      unbribable study create laser --param power=0:5 --param pulses=1:200:int:log
      unbribable study create laser --param power=0:5 --corruption 12 --storage postgresql://...
      unbribable study create mix --param a=0:1 --param b=0:1 --constraint "a + 2 b <= 1.5"
    """
    with database(storage, is_new=True) as opened:
        import optuna

        from unbribable.hosts.optuna.sampler import UnbribableSampler
        from unbribable.study.given import limits

        sampler = UnbribableSampler(
            n_trials=trials,
            corruption=_amount(corruption),
            lies=number_or_share(lies),
            noise_std=noise_std,
            reading_range=limits(reading_range),
            drift=drift,
            block=BLOCK if corruption is None else None,
            seed=seed,
            search_space=parameters(param),
            constraints=[linear(text) for text in constraint or []],
        )
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be maximize or minimize, got direction={direction!r}")
        try:
            study = optuna.create_study(
                storage=opened,
                study_name=name,
                direction=optuna.study.StudyDirection[direction.upper()],
                sampler=sampler,
            )
        except optuna.exceptions.DuplicatedStudyError:
            raise ValueError(
                f"a study must have a new name, {name!r} exists in {shown(storage)}"
            ) from None
        sampler.start(study)
    return Answer(
        {"study": name, "storage": shown(storage)},
        f"created {name} in {shown(storage)}; {_next(name, storage)}",
    )


@partial(step, "ask")
def ask(
    study: "Study",
    sampler: "UnbribableSampler",
    fix: Annotated[
        list[str] | None, option("A value that the point must have, name=value; repeat for others.")
    ] = None,
) -> Answer:
    """Print the next point to read: the number to tell it under, and its parameters to six digits.

    \b
    Examples:
      unbribable study ask laser            # prints: 7 power=3.21 pulses=40
      unbribable study ask laser --json     # prints: {"number": 7, "params": {...}}
      unbribable study ask laser --fix pulses=40
    """
    space = sampler.search_space or {}
    if fix:
        study.sampler = _holding(sampler, values_of(fix, space, "--fix"))
    trial = study.ask(fixed_distributions=space)
    params = {name: trial.params[name] for name in space}
    words = (shlex.quote(f"{name}={digits(value)}") for name, value in params.items())
    data = {"number": trial.number, "params": params}
    return Answer(data, " ".join([str(trial.number), *words]))


@partial(step, "tell", ignore_unknown_options=True)  # a negative reading is no option
def tell(
    study: "Study",
    sampler: "UnbribableSampler",
    number: Annotated[int, typer.Argument(help="The number that ask printed.")],
    values: Annotated[
        list[float] | None, typer.Argument(help="The reading, or several of this point; nan: none.")
    ] = None,
    failed: Annotated[bool, option("There is no reading.", "--failed")] = False,
    sem: Annotated[float | None, option("Standard deviation of its noise, if known.")] = None,
    again: Annotated[bool, option("With --failed: the point may be asked again.", "--again")] = False,
    at: Annotated[
        list[str] | None, option("What was really set, name=value, if not what ask printed; repeat.")
    ] = None,
    block: Annotated[str | None, option("What it was read with: a day, a batch, an operator.")] = None,
) -> Answer:
    """Tell the reading of a point that was asked for, or that there is none.

    Several values are readings of this point by themselves, each a trial of its own.

    \b
    Examples:
      unbribable study tell laser 7 0.93
      unbribable study tell laser 7 0.93 --sem 0.02   # its noise is known
      unbribable study tell laser 7 0.93 0.95 0.91    # three readings outvote one lie
      unbribable study tell laser 8 --failed          # or: tell laser 8 nan
      unbribable study tell laser 9 0.91 --at power=3.3
      unbribable study tell laser 9 0.87 --block Monday
    """
    from optuna.trial import TrialState

    from unbribable.hosts.optuna.terms import SEM_KEY, add_replicate, set_may_repeat, set_read_at

    if bool(values) == failed:
        raise ValueError("tell needs a reading, or --failed, and not both")
    values = values or [math.nan]
    for value in values:
        if math.isinf(value) and sampler.plan.reading_range is None:
            raise ValueError(f"a reading must be finite, got {value}; say --failed if there is none")
    if sampler.plan.sem(sem) is not None and failed:
        raise ValueError(f"--sem must come with a reading, got {sem}")
    told = [None if math.isnan(value) else value for value in values]
    if again and any(value is not None for value in told):
        raise ValueError(f"--again must come with --failed, got the reading {told[0]}")
    really = values_of(at or [], sampler.search_space or {}, "--at")
    trial = _pending(study, number)
    attrs: dict[str, Any] = {} if sem is None else {SEM_KEY: sem}
    if block is not None:
        if sampler.block is None:
            raise ValueError(
                "block needs a study in which lies are counted, created without --corruption and by a "
                f"version that knows blocks, got --block {block}"
            )
        attrs[sampler.block] = block
    if really:
        set_read_at(study, number, really)
        trial = _pending(study, number)
    if again:
        set_may_repeat(study, number)
    for name, word in attrs.items():
        study._storage.set_trial_user_attr(trial._trial_id, name, word)
    study.tell(number, told[0], state=TrialState.FAIL if told[0] is None else None)
    for further in told[1:]:
        add_replicate(study, trial, further, attrs)
    more: dict[str, Any] = {"values": told} if len(told) > 1 else {}
    more |= {"block": block} if block else {}
    more |= {"at": really} if really else {}
    return Answer({"number": number, "value": told[0], **more})


@partial(step, "forget")
def forget(
    study: "Study",
    sampler: "UnbribableSampler",
    number: Annotated[int, typer.Argument(help="The number that ask printed.")],
) -> Answer:
    """Give up a point that was asked for and never read: it may be asked again.

    \b
    Examples:
      unbribable study forget laser 7
    """
    _pending(study, number)
    sampler.forget(study, number)
    return Answer({"number": number}, f"gave up {number}; its point may be asked again")


def _pending(study: "Study", number: int) -> "FrozenTrial":
    """The trial; refuses a number that was not asked, or was told."""
    trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    if number not in trials:
        raise ValueError(f"number must be one that ask printed, got {number}")
    if trials[number].state.is_finished():
        then = "as failed" if trials[number].values is None else f"with {trials[number].value}"
        raise ValueError(
            f"number must be one that is pending, got {number}, which was told {then}; a reading is "
            "told once, ask for another point"
        )
    return trials[number]


@partial(step, "status")
def status(study: "Study", sampler: "UnbribableSampler") -> Answer:
    """Say how far the study is: trials by state, the pending ones, the robust incumbent."""
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state.name.lower() for trial in trials)
    data: dict[str, Any] = {
        "study": study.study_name,
        "direction": study.direction.name.lower(),
        "trials": dict(states),
        "pending": [trial.number for trial in trials if trial.state.name == "RUNNING"],
        "suspicious": [],
        "recommended": None,
    }
    words = {**data, "trials": ", ".join(f"{n} {state}" for state, n in states.items())}
    if has_reading(study):
        data["suspicious"] = [s.number for s in sampler.suspects(study, flagged_only=True)]
        best = sampler.recommend(study)
        data |= {"recommended": best.params, "estimate": best.estimate, "estimate_sd": best.estimate_sd}
        words |= {"suspicious": data["suspicious"], "recommended": point(best.x, best.params)}
        words["expected value there"] = plus_minus(best.estimate or 0.0, best.estimate_sd or 0.0)
        if offsets := sampler.result(study).offsets:
            data["offsets"] = {str(name): list(each) for name, each in offsets.items()}
            said = (f"{name} {plus_minus(*each)}" for name, each in offsets.items())
            words["offsets of blocks"] = ", ".join(said)
    return Answer(data, sheet(f"study {study.study_name}", words))


@partial(step, "suspects")
def suspects(
    study: "Study",
    sampler: "UnbribableSampler",
    every: Annotated[bool, option("List every reading, not only flagged ones.", "--all")] = False,
) -> Answer:
    """List the readings that look like lies, the most suspicious first, and why. Deletes nothing."""
    found = sampler.suspects(study, flagged_only=not every) if has_reading(study) else ()
    rows = [
        {
            "trial": suspect.number,
            "reading": suspect.y,
            "expected": f"{suspect.expected:.4g} +- {suspect.expected_sd:.2g}",
            "evidence": "; ".join(suspect.evidence),
        }
        for suspect in found
    ]
    title = f"{len(rows)} {'' if every else 'suspicious '}readings of {study.study_name}"
    return Answer([suspect.to_dict() for suspect in found], table(title, rows))


@partial(step, "recommend")
def recommend(
    study: "Study",
    sampler: "UnbribableSampler",
    unrelated_to_value: Annotated[
        bool, option("State that no trial was pruned because of its value.", "--unrelated-to-value")
    ] = False,
    eps: Annotated[
        float | None, option("For the price of a bribe: by how much another point may be better.", min=0)
    ] = None,
    why: Annotated[bool, option("Also print what the guarantee says and rests on.", "--why")] = False,
) -> Answer:
    """Print the parameters to use, the value to expect, the worst case, and what to distrust."""
    if not has_reading(study):
        raise ValueError("recommend needs a reading, there is none yet; ask and tell first")
    best = sampler.recommend(study, unrelated_to_value=unrelated_to_value)
    price = sampler.price(study, eps, unrelated_to_value=unrelated_to_value)
    flagged = sampler.suspects(study, flagged_only=True)
    where = point(best.x, best.naive_params)
    naive = BestReading(best.naive_number + 1, best.naive_value, where)
    lines = answer(best, naive, flagged, trials(best.n_trials, has_why=not why), TRIALS)
    priced = sentence(price, TRIALS) if price.probability is not None else ""
    data = {**best.to_dict(), "price": to_dict(price, TRIALS)}
    if why:
        left = sampler.left_to_gain(study, unrelated_to_value=unrelated_to_value)
        lines += [best.guarantee, *([priced] if priced else []), f"Assumed: {best.assumptions}"]
        lines += left_lines(left)
        data["left_to_gain"] = left.to_dict()
    elif eps is not None:
        lines += wrapped(priced or "no price: nothing is guaranteed")
    return Answer(data, "\n".join(lines))


def _holding(sampler: "UnbribableSampler", fixed: dict[str, Any]) -> "BaseSampler":
    """The sampler for trials that have these values."""
    from optuna.exceptions import ExperimentalWarning
    from optuna.samplers import PartialFixedSampler

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return PartialFixedSampler(fixed, sampler)


def _amount(corruption: str | None) -> float | str | None:
    if corruption in (None, "unknown"):
        return corruption
    try:
        return float(corruption)
    except ValueError:
        raise ValueError(f"corruption must be a number or 'unknown', got {corruption!r}") from None


def open_study(name: str, storage: "RDBStorage") -> "tuple[Study, UnbribableSampler]":
    """The study and the sampler it was created with."""
    import optuna

    from unbribable.hosts.optuna.sampler import UnbribableSampler

    try:
        study = optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        known, where = optuna.get_all_study_names(storage=storage), shown(storage.url)
        there = f"one of {known} in {where}" if known else f"created first, there is none in {where}"
        raise ValueError(f"study must be {there}, got {name!r}") from None
    sampler = UnbribableSampler.from_study(study)
    study.sampler = sampler
    return study, sampler


def has_reading(study: "Study") -> bool:
    """Whether there is a reading."""
    from unbribable.hosts.optuna.terms import retracted_of

    trials, gone = study.get_trials(deepcopy=False), retracted_of(study)
    return any(trial.state.name == "COMPLETE" and trial.number not in gone for trial in trials)


def _next(name: str, storage: str) -> str:
    """What to type next; an address with a password is not repeated."""
    command = f"unbribable study ask {shlex.quote(name)}"
    if shown(storage) != storage:
        return f"next, with the address in UNBRIBABLE_STORAGE: {command}"
    return f"next: {command}" + ("" if storage == DEFAULT else f" --storage {shlex.quote(storage)}")
