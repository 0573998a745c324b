"""Studies and their files: written after every step, and gone on with under the same arguments."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from unbribable.decision.asking.draws import Seed
from unbribable.study.engine import Engine
from unbribable.study.plan import Plan
from unbribable.study.result import Result, restored
from unbribable.study.run_file import RunFile
from unbribable.study.space import Space


class SaveError(OSError):
    """A study could not be saved. Nothing is lost yet: `result` can be saved to another file."""

    result: Result
    """The result so far, with the round that is not in the file."""


def save(file: RunFile, step: Mapping[str, Any], so_far: Callable[[], Result]) -> None:
    """Write a step of a study to its file; if that fails, the error has the result so far."""
    try:
        file.add(step, lambda: so_far().stored())
    except OSError as error:
        unsaved = SaveError(error.errno, error.strerror, error.filename)
        unsaved.result = so_far()
        unsaved.result.stopped = "a file that cannot be written"
        unsaved.add_note("The result so far is the `result` of this error: save it elsewhere.")
        raise unsaved from error


def resumed(run_file: RunFile, space: Space, plan: Plan, seed: Any) -> Result:
    """What the file holds, if it belongs to the same arguments; n_rounds may be another one.

    Raises:
        ValueError: The file is not a saved study, or one with other arguments.
    """
    file, stored = run_file.path, run_file.read()
    n_then = stored["plan"]["n_rounds"]
    if n_then is not None and (type(n_then) is not int or n_then < 1):
        raise ValueError(f"{file} must be a run saved by Result.save, got n_rounds={n_then!r}")
    domain: Any = json.loads(json.dumps(space.to_plain()))
    before, given = (each.get("constraints") for each in (stored["domain"], domain))
    if before != given:
        raise ValueError(
            f"{file} holds a study whose constraints were {before!r}, got {given!r}; give the same ones "
            "(of functions a file keeps only how many there were)"
        )
    now = {"domain": space.to_plain(), "plan": {**plan.to_plain(), "n_rounds": n_then}}
    for name, arguments in json.loads(json.dumps(now)).items():
        for key, value in arguments.items():
            if stored[name].get(key) != value:
                raise ValueError(
                    f"{file} holds another run: {name} {key} was {stored[name].get(key)!r}, got "
                    f"{value!r}; use the same arguments, or another file"
                )
    found = restored(file, stored, replace(plan, n_rounds=n_then), space.constraints)
    if seed is not None and Seed.of(seed) != found.engine.seed:
        raise ValueError(f"{file} holds a run with another seed; leave the seed out")
    n_done = sum(trial.is_evaluation for trial in found.trials)
    if plan.n_rounds is not None and plan.n_rounds < n_done:
        raise ValueError(
            f"n_rounds must be >= {n_done}, the rounds in {file}, got n_rounds={plan.n_rounds}"
        )
    if plan.n_rounds == n_then:
        return found
    run_file.anew()  # n_rounds is in its first line
    engine = Engine(space.domain, plan, found.engine.seed)
    return Result(space, engine.replayed(found.trials), found.trials, pending=found.pending)
