"""Studies in a database, one step a command: for instruments that shell scripts drive."""

import math
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbribable.cli_door import Json, door, usage
from unbribable.cli_show import print_json, print_table

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

    from unbribable.integrations.optuna_sampler import UnbribableSampler

app = typer.Typer(
    help="Keep a study in a database: create it, then ask and tell, one command each.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="Name of the study.")]
Storage = Annotated[
    str,
    typer.Option(
        envvar="UNBRIBABLE_STORAGE",
        help="Database: an SQLite file, or postgresql://user:password@host/name.",
    ),
]
Secret = Annotated[
    int | None, typer.Option(help="The secret seed, where the study does not hold it.", min=0)
]
_DEFAULT = "sqlite:///unbribable.db"


@app.command()
@door
def create(
    name: Name,
    param: Annotated[
        list[str],
        typer.Option(
            help="name=low:high, name=low:high:log, name=low:high:int (:int:log), name=a,b,c; repeat."
        ),
    ],
    trials: Annotated[int, typer.Option(min=1, help="Trials intended.")] = 100,
    direction: Annotated[str, typer.Option(help="maximize or minimize.")] = "maximize",
    corruption: Annotated[
        str | None,
        typer.Option(help="What lies add up to at most: a number, 0, or unknown. Default: see README."),
    ] = None,
    known_or_zero: Annotated[
        float | None, typer.Option(help="Instead: either no lies, or at most this.")
    ] = None,
    noise_std: Annotated[float | None, typer.Option(help="Noise of a reading, if known.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the secret draws.")] = None,
    reveal: Annotated[
        str, typer.Option(help="before, or after: keep seed and draw out of the database.")
    ] = "before",
    storage: Storage = _DEFAULT,
    as_json: Json = False,
) -> None:
    """Create a study.

    \b
    Examples:
      unbribable study create laser --param power=0:5 --param pulses=1:200:int:log
      unbribable study create laser --param power=0:5 --corruption 12 --storage postgresql://...
    """
    with usage():
        import optuna

        from unbribable.integrations.optuna_sampler import UnbribableSampler

        sampler = UnbribableSampler(
            n_trials=trials,
            corruption=_amount(corruption),
            known_or_zero=known_or_zero,
            noise_std=noise_std,
            seed=seed,
            reveal=reveal,
            search_space=dict(parameter(text) for text in param),
        )
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be maximize or minimize, got direction={direction!r}")
        try:
            study = _quiet_optuna().create_study(
                storage=storage, study_name=name, direction=direction, sampler=sampler
            )
        except optuna.exceptions.DuplicatedStudyError:
            raise ValueError(f"a study must have a new name, {name!r} exists in {storage}") from None
        sampler.start(study)
    if as_json:
        print_json({"study": name, "storage": storage})
    else:
        typer.echo(f"created {name} in {storage}; next: {_command('ask', name, storage)}")


@app.command()
@door
def ask(name: Name, storage: Storage = _DEFAULT, seed: Secret = None, as_json: Json = False) -> None:
    """Print the next point to read: the number to tell it under, and its parameters.

    \b
    Examples:
      unbribable study ask laser            prints: 7 power=3.21 pulses=40
      unbribable study ask laser --json     prints: {"number": 7, "params": {...}}
    """
    with usage():
        study, sampler = _open(name, storage, seed)
        trial = study.ask(fixed_distributions=sampler.search_space)
    if as_json:
        print_json({"number": trial.number, "params": trial.params})
    else:
        words = (shlex.quote(f"{key}={value}") for key, value in trial.params.items())
        typer.echo(" ".join([str(trial.number), *words]))


@app.command(context_settings={"ignore_unknown_options": True})
@door
def tell(
    name: Name,
    number: Annotated[int, typer.Argument(help="The number that ask printed.")],
    value: Annotated[float | None, typer.Argument(help="The reading.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="There is no reading.")] = False,
    storage: Storage = _DEFAULT,
    seed: Secret = None,
    as_json: Json = False,
) -> None:
    """Tell the reading of a point that was asked for, or that there is none.

    \b
    Examples:
      unbribable study tell laser 7 0.93
      unbribable study tell laser 8 --failed
    """
    with usage():
        from optuna.trial import TrialState

        if (value is None) == (not failed):
            raise ValueError("tell needs a reading, or --failed, and not both")
        if value is not None and not math.isfinite(value):
            raise ValueError(f"a reading must be finite, got {value}; say --failed if there is none")
        study, _ = _open(name, storage, seed)
        numbers = {trial.number for trial in study.get_trials(deepcopy=False)}
        if number not in numbers:
            raise ValueError(f"number must be one that ask printed, got {number}")
        study.tell(number, value, state=TrialState.FAIL if failed else None)
    if as_json:
        print_json({"number": number, "value": value})


@app.command()
@door
def status(name: Name, storage: Storage = _DEFAULT, seed: Secret = None, as_json: Json = False) -> None:
    """Say how far the study is: trials by state, the pending ones, the robust incumbent."""
    with usage():
        study, sampler = _open(name, storage, seed)
        trials = study.get_trials(deepcopy=False)
        states: dict[str, int] = {}
        for trial in trials:
            states[trial.state.name.lower()] = states.get(trial.state.name.lower(), 0) + 1
        pending = [trial.number for trial in trials if trial.state.name == "RUNNING"]
        flagged = [s.number for s in sampler.suspects(study, flagged_only=True)] if _has(study) else []
        best = sampler.recommend(study) if _has(study) else None
    data = {
        "study": name,
        "direction": study.direction.name.lower(),
        "trials": states,
        "pending": pending,
        "suspicious": flagged,
        "recommended": None if best is None else best.params,
    }
    if as_json:
        print_json(data)
    else:
        rows = [{"what": key, "value": str(value)} for key, value in data.items()]
        print_table(f"study {name}", {"what": "", "value": ""}, rows)


@app.command()
@door
def suspects(
    name: Name,
    every: Annotated[
        bool, typer.Option("--all", help="List every reading, not only flagged ones.")
    ] = False,
    storage: Storage = _DEFAULT,
    seed: Secret = None,
    as_json: Json = False,
) -> None:
    """List the readings that look like lies, the most suspicious first, and why. Deletes nothing."""
    with usage():
        study, sampler = _open(name, storage, seed)
        found = sampler.suspects(study, flagged_only=not every) if _has(study) else ()
    if as_json:
        print_json([_finite(suspect.to_dict()) for suspect in found])
        return
    rows = [
        {
            "number": suspect.number,
            "reading": suspect.y,
            "expected": f"{suspect.expected:.4g} +- {suspect.sd:.2g}",
            "evidence": "; ".join(suspect.evidence),
        }
        for suspect in found
    ]
    columns = {"number": "trial", "reading": "reading", "expected": "expected", "evidence": "evidence"}
    print_table(f"{len(rows)} {'' if every else 'suspicious '}readings of {name}", columns, rows)


@app.command()
@door
def recommend(
    name: Name, storage: Storage = _DEFAULT, seed: Secret = None, as_json: Json = False
) -> None:
    """Print the parameters to use, their interval, what is guaranteed, and the naive best beside it."""
    with usage():
        study, sampler = _open(name, storage, seed)
        if not _has(study):
            raise ValueError("recommend needs a reading, there is none yet; ask and tell first")
        best = sampler.recommend(study)
    if as_json:
        print_json(_finite(best.to_dict()))
        return
    typer.echo(f"use {_words(best.params)}")
    if best.lower is not None:
        typer.echo(f"value there between {best.lower:.6g} and {best.upper:.6g}")
    typer.echo(
        f"best reading: {best.naive_value:.6g}, trial {best.naive_number}, {_words(best.naive_params)}"
    )
    typer.echo(best.guarantee)


def parameter(text: str) -> tuple[str, "BaseDistribution"]:
    """A parameter as the command line writes it: name=low:high[:int][:log], or name=a,b,c."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    rule = "name=low:high, name=low:high:log, name=low:high:int, or name=a,b,c"
    name, equals, bounds = text.partition("=")
    if not equals or not name or not bounds:
        raise ValueError(f"param must be {rule}, got param={text!r}")
    if ":" not in bounds:
        return name, CategoricalDistribution(tuple(bounds.split(",")))
    low, high, *words = bounds.split(":")
    if len(set(words)) < len(words) or not set(words) <= {"int", "log"}:
        raise ValueError(f"param must be {rule}, got param={text!r}")
    try:
        if "int" in words:
            return name, IntDistribution(int(low), int(high), log="log" in words)
        return name, FloatDistribution(float(low), float(high), log="log" in words)
    except ValueError as error:
        raise ValueError(f"param must be {rule}, got param={text!r}: {error}") from None


def _amount(corruption: str | None) -> float | str | None:
    if corruption is None or corruption == "unknown":
        return corruption
    try:
        return float(corruption)
    except ValueError:
        raise ValueError(f"corruption must be a number or 'unknown', got {corruption!r}") from None


def _open(name: str, storage: str, seed: int | None) -> "tuple[Study, UnbribableSampler]":
    """The study and the sampler it was created with."""
    from unbribable.integrations.optuna_sampler import UnbribableSampler

    optuna = _quiet_optuna()
    try:
        study = optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        known = optuna.get_all_study_names(storage=storage)
        raise ValueError(f"study must be one of {known} in {storage}, got {name!r}") from None
    sampler = UnbribableSampler.from_study(study, seed=seed)
    study.sampler = sampler
    return study, sampler


def _quiet_optuna() -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _has(study: "Study") -> bool:
    """Whether there is a reading."""
    return any(trial.state.name == "COMPLETE" for trial in study.get_trials(deepcopy=False))


def _words(params: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in params.items())


def _command(step: str, name: str, storage: str) -> str:
    where = "" if storage == _DEFAULT else f" --storage {shlex.quote(storage)}"
    return f"unbribable study {step} {shlex.quote(name)}{where}"


def _finite(plain: Any) -> Any:
    """Plain data with None for what JSON has no word for."""
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
