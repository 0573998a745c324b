"""What a worker process does."""

import json
import time
from pathlib import Path

import optuna

from hosts.optuna_studies import objective, sampler, storage_at


def work(url, n_trials, seed, out, hang_in=None):
    """Do trials of the study "s"; one line of JSON in the file `out` for each value it has told.

    In the trial hang_in, counted from 1, it writes the number of the trial into `out` with the ending
    .inside, and waits there to be killed.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name="s", storage=storage_at(url), sampler=sampler(corruption="unknown", seed=seed)
    )
    for k in range(1, n_trials + 1):
        trial = study.ask()
        value = objective(trial)
        if k == hang_in:
            Path(out).with_suffix(".inside").write_text(str(trial.number))
            time.sleep(600)
        study.tell(trial, value)
        with Path(out).open("a") as file:
            print(json.dumps([trial.number, value]), file=file)
