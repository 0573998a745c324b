"""What goes into a study and comes out of it: tables, pictures, what is taken back."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbribable.cli.door import Answer, door, option
from unbribable.cli.show import progress_bar, table
from unbribable.cli.storage import database, shown
from unbribable.cli.study import BLOCK, DEFAULT, Storage, app, has_reading, step
from unbribable.files import written

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from unbribable.hosts.optuna.sampler import UnbribableSampler

__all__ = ["app"]

IMPORTED = "unbribable:imported"
"""System attribute of a trial that was imported: from where."""


@app.command("list")
@door
def list_(storage: Storage = DEFAULT) -> Answer:
    """List the studies of a database."""
    with database(storage) as opened:
        import optuna

        from unbribable.hosts.optuna.terms import STUDY_KEY

        rows = [
            {
                "study": each.study_name,
                "direction": ", ".join(direction.name.lower() for direction in each.directions),
                "trials": each.n_trials,
                "started_with_unbribable": STUDY_KEY in opened.get_study_system_attrs(each._study_id),
            }
            for each in optuna.get_all_study_summaries(storage=opened, include_best_trial=False)
        ]
    n = "1 study" if len(rows) == 1 else f"{len(rows)} studies"
    return Answer(rows, table(f"{n} in {shown(storage)}", rows))


@partial(step, "import")
def import_(
    study: "Study",
    sampler: "UnbribableSampler",
    file: Annotated[Path, typer.Argument(help="A CSV file with a column for every parameter.")],
    target: Annotated[str, option("The column that was read.")] = "value",
    block: Annotated[str | None, option("The column of the day, batch or operator.")] = None,
) -> Answer:
    """Add the readings of a table to a study, all of them or none.

    A row without a reading counts as failed. Equal rows are repeated readings. Importing a file again
    adds only the rows that are new.

    \b
    Examples:
      unbribable study import laser past.csv --target yield
    """
    from optuna.trial import TrialState, create_trial

    from unbribable.auditing.table import read_table
    from unbribable.hosts.optuna.space import Space

    space = sampler.search_space
    assert space is not None  # every study of the command line has one
    if block is not None and sampler.block is None:
        raise ValueError(
            "block needs a study in which lies are counted, created without --corruption and by a "
            f"version that knows blocks, got --block {block}"
        )
    found = read_table(file, space=Space(space).named(), target=target, block=block)
    there = Counter(
        _row(each) for each in study.get_trials(deepcopy=False) if IMPORTED in each.system_attrs
    )
    new = []
    rows = zip(found.points, found.y, found.labels, found.blocks, strict=True)
    for point, y, label, name in rows:
        trial = create_trial(
            params=point,
            distributions=space,
            value=y,
            state=TrialState.FAIL if y is None else TrialState.COMPLETE,
            user_attrs={} if name is None else {BLOCK: name},
            system_attrs={IMPORTED: f"{file.name}, {label}"},
        )
        if there[_row(trial)]:
            there[_row(trial)] -= 1
        else:
            new.append(trial)
    with progress_bar("rows") as bar:
        for k, trial in enumerate(new, 1):
            study.add_trial(trial)
            bar(k, len(new), "")
    n_failed = sum(trial.values is None for trial in new)
    n_there = len(found.points) - len(new)
    words = f"imported into {study.study_name}: readings {len(new) - n_failed}, failed {n_failed}, "
    words += f"there already {n_there}"
    data = {
        "imported": len(new) - n_failed,
        "failed": n_failed,
        "there": n_there,
        "notes": [*found.notes],
    }
    return Answer(data, words, "\n".join(found.notes))


@partial(step, "export")
def export(
    study: "Study",
    sampler: "UnbribableSampler",
    file: Annotated[Path, typer.Argument(help="Where to write the CSV file.")],
    force: Annotated[bool, option("Replace a file that exists.", "--force")] = False,
) -> Answer:
    """Write the trials to a CSV file, which `study import` reads.

    \b
    Examples:
      unbribable study export laser trials.csv
    """
    if file.exists() and not force:
        raise ValueError(f"file must be a new one, got {file}, which exists; add --force to replace it")
    from unbribable.hosts.optuna.terms import params_of, retracted_of

    names, retracted = [*(sampler.search_space or {})], retracted_of(study)
    flagged = (
        {s.number for s in sampler.suspects(study, flagged_only=True)} if has_reading(study) else {}
    )
    heads = [_free(head, names) for head in ("trial", "value", "state", "suspicious")]
    every, rows = study.get_trials(deepcopy=False), []
    has_blocks = sampler.block is not None and any(sampler.block in each.user_attrs for each in every)
    heads += [_free("block", names)] * has_blocks
    for trial in every:
        state = "retracted" if trial.number in retracted else trial.state.name.lower()
        value = trial.values[0] if trial.values and state == "complete" else ""
        doubt = "yes" if trial.number in flagged else "no" if state == "complete" else ""
        read_at = params_of(trial)
        params = [read_at.get(name, "") for name in names]
        read_with = [trial.user_attrs.get(sampler.block or "", "")] * has_blocks
        rows.append([trial.number, *params, value, state, doubt, *read_with])
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[heads[0], *names, *heads[1:]], *rows])
    with written(file) as out:
        out.write(text.getvalue().encode())
    return Answer({"file": str(file), "trials": len(rows)}, f"wrote {len(rows)} trials to {file}")


@partial(step, "retract")
def retract(
    study: "Study",
    sampler: "UnbribableSampler",
    number: Annotated[int, typer.Argument(help="The number of the trial.")],
    reason: Annotated[str, typer.Argument(help="Why, in words; kept in the study.")],
    unrelated_to_value: Annotated[
        bool, option("State that the reason has nothing to do with the value.", "--unrelated-to-value")
    ] = False,
) -> Answer:
    """Take a reading out, as if it had never been told. To put it right, import the right one.

    \b
    Examples:
      unbribable study retract laser 7 "wrong sample mounted" --unrelated-to-value
    """
    sampler.retract(study, number, reason, unrelated_to_value=unrelated_to_value)
    words = f"retracted trial {number}"
    if not unrelated_to_value:
        words += (
            "; nothing is guaranteed any more, since a reading was taken out and nobody stated that its "
            "value was not the reason (--unrelated-to-value)"
        )
    data = {"number": number, "reason": reason, "unrelated_to_value": unrelated_to_value}
    return Answer(data, words)


@partial(step, "plot")
def plot(
    study: "Study",
    sampler: "UnbribableSampler",
    file: Annotated[Path, typer.Argument(help="Where to draw it: a .png, .svg or .pdf file.")],
    kind: Annotated[str, option("posterior, history, suspects, importance or worst-case.")] = "history",
) -> Answer:
    """Draw what is believed, how it came about, which readings to doubt, or the worst case.

    \b
    Examples:
      unbribable study plot laser history.png
      unbribable study plot laser belief.svg --kind posterior
    """
    from unbribable.model import checks
    from unbribable.say.figures import plots

    checks.choice("kind", kind, ("posterior", "history", "suspects", "importance", "worst-case"))
    checks.choice("the ending of file", file.suffix, (".png", ".svg", ".pdf"))
    if not has_reading(study):
        raise ValueError("plot needs a reading, there is none yet; ask and tell first")
    figure = getattr(plots, f"plot_{kind.replace('-', '_')}")(sampler.result(study))
    drawn = io.BytesIO()
    figure.savefig(drawn, format=file.suffix[1:])
    with written(file) as out:
        out.write(drawn.getvalue())
    return Answer({"file": str(file)}, f"drew {file}; round t is trial t - 1")


def _row(trial: "FrozenTrial") -> str:
    """Parameters and reading, to be compared."""
    return json.dumps([sorted(trial.params.items()), trial.values, trial.user_attrs.get(BLOCK)])


def _free(head: str, names: list[str] | Mapping[str, Any]) -> str:
    """The heading, or another one where a parameter has that name."""
    return head if head not in names else _free(f"{head}_", names)
