"""The trials of an Optuna study as a table; Optuna itself is not needed."""

from typing import Any

from unbribable.auditing.table import Table
from unbribable.model import checks
from unbribable.model.dimensions import Choice, Dimension, Real, Whole
from unbribable.say import table as say
from unbribable.study.space import Space

AT_KEY = "unbribable:at"
"""System attribute of a trial: parameters that were set to other values than proposed, and to which."""


def is_optuna_study(source: Any) -> bool:
    """Whether it looks like one."""
    return hasattr(source, "trials") and hasattr(source, "directions")


def read_optuna(
    study: Any, block: str | None = None, *, takes_infinite: bool = False
) -> tuple[Table, str, bool]:
    """Its trials, its direction, and whether values are missing because of themselves.

    Infinite values, and those too large to be computed with, are, unless it `takes_infinite` ones.

    Values of running trials are missing; waiting trials have not begun. Parameters that not every
    finished trial has are left out, and so are those with one value.

    Args:
        study: The study.
        block: The user attribute of a trial that says what it was read with.

    Raises:
        ValueError: The study has several objectives, or nothing to compare.
    """
    if len(study.directions) != 1:
        raise ValueError(f"a study must have one objective, got {len(study.directions)}")
    begun = [trial for trial in study.trials if trial.state.name != "WAITING"]
    y, pruned = [], []
    for trial in begun:
        is_told = trial.state.name == "COMPLETE"
        is_told = is_told and (takes_infinite or abs(trial.values[0]) <= checks.LARGEST_READING)
        y.append(float(trial.values[0]) if is_told else None)
        is_lost = not is_told and trial.state.name in ("COMPLETE", "PRUNED")
        pruned += [f"trial {trial.number}"] if is_lost else []
    told = [trial for trial, value in zip(begun, y, strict=True) if value is not None]
    if not told:
        raise ValueError(f"a study must have a complete trial, got none in {len(study.trials)}")
    labels = [None if block is None else trial.user_attrs.get(block) for trial in begun]
    if block is not None and all(label is None for label in labels):
        raise ValueError(f"block must be a user attribute of a trial, got {block!r}, which no trial has")
    notes = []
    dimensions: dict[str, Dimension] = {}
    for name in dict.fromkeys(name for trial in told for name in trial.params):
        if all(name in trial.params for trial in told):
            dimension = _dimension(told[-1].distributions[name])
            if dimension.width:
                dimensions[name] = dimension
        else:
            notes.append(say.not_in_all(name))
    space = Space.of(dimensions)
    kept = [k for k, trial in enumerate(begun) if dimensions.keys() <= trial.params.keys()]
    if pruned:
        notes.append(say.lost(pruned))
    failed = [f"trial {trial.number}" for trial in begun if trial.state.name == "FAIL"]
    if failed:
        notes.append(say.failed(failed))
    running = [f"trial {begun[k].number}" for k in kept if begun[k].state.name == "RUNNING"]
    if running:
        notes.append(say.running(running))
    really = [begun[k].params | begun[k].system_attrs.get(AT_KEY, {}) for k in kept]
    points = [{name: params[name] for name in dimensions} for params in really]
    table = Table(
        space,
        tuple(points),
        tuple(y[k] for k in kept),
        tuple(f"trial {begun[k].number}" for k in kept),
        "value",
        tuple(notes),
        tuple(labels[k] for k in kept),
    )
    return table, study.directions[0].name.lower(), bool(pruned)


def _dimension(distribution: Any) -> Dimension:
    if hasattr(distribution, "choices"):
        return Choice(tuple(distribution.choices))
    low, high, log, step = (getattr(distribution, name) for name in ("low", "high", "log", "step"))
    return Whole(low, high, log, step) if isinstance(low, int) else Real(low, high, log, step)
