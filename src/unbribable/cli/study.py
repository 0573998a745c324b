"""Studies in a database, one step a command: for instruments that shell scripts drive."""

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbribable.cli.door import Json, door
from unbribable.cli.show import print_json, print_table
from unbribable.cli.storage import FORMS, database, shown

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage
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
        help=f"Database: {FORMS}.",
    ),
]
Secret = Annotated[
    int | None,
    typer.Option(
        envvar="UNBRIBABLE_SEED", help="The secret seed, where the study does not hold it.", min=0
    ),
]
SeedFile = Annotated[
    Path | None,
    typer.Option(help="A file with the seed: others can read arguments, and the history of a shell."),
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
    seed: Annotated[
        int | None, typer.Option(envvar="UNBRIBABLE_SEED", min=0, help="Of the secret draws.")
    ] = None,
    seed_file: SeedFile = None,
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
    with database(storage, is_new=True) as opened:
        import optuna

        from unbribable.integrations.optuna_sampler import UnbribableSampler

        sampler = UnbribableSampler(
            n_trials=trials,
            corruption=_amount(corruption),
            known_or_zero=known_or_zero,
            noise_std=noise_std,
            seed=_secret(seed, seed_file),
            reveal=reveal,
            search_space=_parameters(param),
        )
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be maximize or minimize, got direction={direction!r}")
        try:
            study = _quiet_optuna().create_study(
                storage=opened, study_name=name, direction=direction, sampler=sampler
            )
        except optuna.exceptions.DuplicatedStudyError:
            raise ValueError(
                f"a study must have a new name, {name!r} exists in {shown(storage)}"
            ) from None
        sampler.start(study)
    if as_json:
        print_json({"study": name, "storage": shown(storage)})
    else:
        typer.echo(f"created {name} in {shown(storage)}; next{_command('ask', name, storage)}")


@app.command()
@door
def ask(
    name: Name,
    storage: Storage = _DEFAULT,
    seed: Secret = None,
    seed_file: SeedFile = None,
    as_json: Json = False,
) -> None:
    """Print the next point to read: the number to tell it under, and its parameters.

    \b
    Examples:
      unbribable study ask laser            prints: 7 power=3.21 pulses=40
      unbribable study ask laser --json     prints: {"number": 7, "params": {...}}
    """
    with database(storage) as opened:
        study, sampler = _open(name, opened, _secret(seed, seed_file))
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
    seed_file: SeedFile = None,
    as_json: Json = False,
) -> None:
    """Tell the reading of a point that was asked for, or that there is none.

    \b
    Examples:
      unbribable study tell laser 7 0.93
      unbribable study tell laser 8 --failed
    """
    with database(storage) as opened:
        from optuna.trial import TrialState

        if (value is None) == (not failed):
            raise ValueError("tell needs a reading, or --failed, and not both")
        if value is not None and not math.isfinite(value):
            raise ValueError(f"a reading must be finite, got {value}; say --failed if there is none")
        study, _ = _open(name, opened, _secret(seed, seed_file))
        trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
        if number not in trials:
            raise ValueError(f"number must be one that ask printed, got {number}")
        if trials[number].state.is_finished():
            then = "as failed" if trials[number].values is None else f"with {trials[number].value}"
            raise ValueError(
                f"number must be one that is pending, got {number}, which was told {then}; a reading is "
                "told once, ask for another point"
            )
        study.tell(number, value, state=TrialState.FAIL if failed else None)
    if as_json:
        print_json({"number": number, "value": value})


@app.command()
@door
def status(
    name: Name,
    storage: Storage = _DEFAULT,
    seed: Secret = None,
    seed_file: SeedFile = None,
    as_json: Json = False,
) -> None:
    """Say how far the study is: trials by state, the pending ones, the robust incumbent."""
    with database(storage) as opened:
        study, sampler = _open(name, opened, _secret(seed, seed_file))
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
    seed_file: SeedFile = None,
    as_json: Json = False,
) -> None:
    """List the readings that look like lies, the most suspicious first, and why. Deletes nothing."""
    with database(storage) as opened:
        study, sampler = _open(name, opened, _secret(seed, seed_file))
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
    name: Name,
    unrelated_to_value: Annotated[
        bool,
        typer.Option(
            "--unrelated-to-value", help="State that no trial was pruned because of its value."
        ),
    ] = False,
    storage: Storage = _DEFAULT,
    seed: Secret = None,
    seed_file: SeedFile = None,
    as_json: Json = False,
) -> None:
    """Print the parameters to use, their interval, what is guaranteed, and the naive best beside it."""
    with database(storage) as opened:
        study, sampler = _open(name, opened, _secret(seed, seed_file))
        if not _has(study):
            raise ValueError("recommend needs a reading, there is none yet; ask and tell first")
        best = sampler.recommend(study, unrelated_to_value=unrelated_to_value)
    if as_json:
        print_json(_finite(best.to_dict()))
        return
    typer.echo(f"use {_words(best.params or {})}")
    if best.lower is not None:
        surely = "" if best.regret_bound is not None else " (not guaranteed)"
        typer.echo(f"value there between {best.lower:.6g} and {best.upper:.6g}{surely}")
    typer.echo(
        f"best reading: {best.naive_value:.6g}, trial {best.naive_number}, {_words(best.naive_params)}"
    )
    typer.echo(best.guarantee)
    typer.echo(f"Assumed: {best.assumptions}")


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
        choices = tuple(bounds.split(","))
        if len(set(choices)) < len(choices):
            raise ValueError(f"param must have different choices, got param={text!r}")
        return name, CategoricalDistribution(choices)
    low, high, *words = bounds.split(":")
    if len(set(words)) < len(words) or not set(words) <= {"int", "log"}:
        raise ValueError(f"param must be {rule}, got param={text!r}")
    try:
        if "int" in words:
            return name, IntDistribution(int(low), int(high), log="log" in words)
        return name, FloatDistribution(float(low), float(high), log="log" in words)
    except ValueError as error:
        raise ValueError(f"param must be {rule}, got param={text!r}: {error}") from None


def _parameters(texts: list[str]) -> "dict[str, BaseDistribution]":
    found: dict[str, BaseDistribution] = {}
    for text in texts:
        name, distribution = parameter(text)
        if name in found:
            raise ValueError(f"param must have a new name each, got param={text!r} besides {name!r}")
        found[name] = distribution
    return found


def _secret(seed: int | None, file: Path | None) -> int | None:
    """The seed: given, or in a file."""
    if file is None:
        return seed
    if seed is not None:
        raise ValueError("seed and seed-file exclude each other (UNBRIBABLE_SEED is a seed), got both")
    text = file.read_text(encoding="utf-8").strip()
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"seed-file must hold one whole number >= 0, got another text in {file}")
    return int(text)


def _amount(corruption: str | None) -> float | str | None:
    if corruption is None or corruption == "unknown":
        return corruption
    try:
        return float(corruption)
    except ValueError:
        raise ValueError(f"corruption must be a number or 'unknown', got {corruption!r}") from None


def _open(name: str, storage: "RDBStorage", seed: int | None) -> "tuple[Study, UnbribableSampler]":
    """The study and the sampler it was created with."""
    from unbribable.integrations.optuna_sampler import UnbribableSampler

    optuna = _quiet_optuna()
    try:
        study = optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        known, where = optuna.get_all_study_names(storage=storage), shown(storage.url)
        there = f"one of {known} in {where}" if known else f"created first, there is none in {where}"
        raise ValueError(f"study must be {there}, got {name!r}") from None
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
    """What to type next; an address with a password is not repeated."""
    how, where = "", "" if storage == _DEFAULT else f" --storage {shlex.quote(storage)}"
    if shown(storage) != storage:
        how, where = ", with the address in UNBRIBABLE_STORAGE", ""
    return f"{how}: unbribable study {step} {shlex.quote(name)}{where}"


def _finite(plain: Any) -> Any:
    """Plain data with None for what JSON has no word for."""
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
