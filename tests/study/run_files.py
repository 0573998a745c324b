"""Run files as plain data, and back into a file."""

import json
from pathlib import Path
from typing import Any

RUN = ("domain", "plan", "seed")


def lines_of(file: Path) -> list[dict[str, Any]]:
    """The run and its steps."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def held(file: Path) -> dict[str, Any]:
    """What the steps come to."""
    run, *steps = lines_of(file)
    trials: dict[int, Any] = {}
    asked: dict[int, Any] = {}
    for step in steps:
        asked |= {row["number"]: row for row in step.get("asked", [])}
        trials |= {row["number"]: row for row in step.get("told", [])}
    seconds = [step["seconds_per_ask"] for step in steps if "seconds_per_ask" in step]
    return {
        **{key: value for key, value in run.items() if key != "format"},
        "stopped": steps[-1].get("stopped") if steps else None,
        "seconds_per_ask": seconds[-1] if seconds else None,
        "trials": list(trials.values()),
        "pending": [row for t, row in asked.items() if t not in trials],
    }


def write_lines(file: Path, run: dict[str, Any]) -> None:
    """Keys that are left out are left out there too."""
    head = {"format": 4, **{key: value for key, value in run.items() if key in RUN}}
    steps = [{"told": run["trials"]}, {"asked": run["pending"]}]
    steps.append({key: run[key] for key in ("stopped", "seconds_per_ask")})
    lines = [json.dumps(line) + "\n" for line in (head, *steps)]
    file.write_text("".join(lines), encoding="utf-8")
