"""Look over a table of past experiments."""

from pathlib import Path
from typing import Annotated

import typer

from unbribable.cli.door import Answer, door, option, usage
from unbribable.cli.parameters import LIES, RANGE, number_or_share


@door
def audit(
    data: Annotated[Path, typer.Argument(help="A CSV file: a header, then a row per experiment.")],
    target: Annotated[str, option("Name of the column that was read.")],
    minimize: Annotated[bool, option("The lowest value is the best one.", "--minimize")] = False,
    ignore: Annotated[list[str] | None, option("A column that is no parameter; repeat.")] = None,
    block: Annotated[str | None, option("Column of the day, batch or operator: no parameter.")] = None,
    drift: Annotated[bool, option("The instrument may drift from row to row.", "--drift")] = False,
    corruption: Annotated[float | None, option("The most that all lies add up to.")] = None,
    lies: Annotated[str | None, option(f"Instead: {LIES}.")] = None,
    noise_std: Annotated[float | None, option("Standard deviation of the noise, if known.")] = None,
    reading_range: Annotated[str | None, option(f"{RANGE}.")] = None,
    html: Annotated[Path | None, option("Write a page for a colleague to this file.")] = None,
) -> Answer:
    """Say which readings of a table look false, how much lying there must have been, and what to use.

    \b
    Examples:
      unbribable audit furnace.csv --target yield
      unbribable audit furnace.csv --target loss --minimize --ignore cost --html audit.html
      unbribable audit furnace.csv --target yield --json
      unbribable audit furnace.csv --target yield --reading-range 0:100
    """
    from unbribable.auditing.audit import audit as look_over
    from unbribable.study.given import limits

    with usage():
        if html is not None and not html.parent.is_dir():
            raise ValueError(f"--html must be in a directory that exists, got {html}")
        found = look_over(
            data,
            target=target,
            direction="minimize" if minimize else "maximize",
            ignore=ignore or (),
            block=block,
            drift=drift,
            corruption=corruption,
            lies=number_or_share(lies),
            noise_std=noise_std,
            reading_range=limits(reading_range),
        )
        if html is not None:
            found.save_html(html)
    written = {"html": None if html is None else str(html)}
    return Answer({**found.to_dict(), **written}, str(found), f"wrote {html}" if html else "")
