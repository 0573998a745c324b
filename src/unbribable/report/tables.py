"""The tables of a report: which rows and columns there are, and what they mean."""

from collections.abc import Sequence

import numpy as np

from unbribable.report.coverage import LEVEL, coverages, detection, detections, share
from unbribable.report.games import Cell, Collection, Game, Setting
from unbribable.report.regret import final_regret, paired, scalings, spread
from unbribable.report.table import Row, Table


def all_tables(collection: Collection, baseline: str) -> list[Table]:
    """The tables of a report, in its order."""
    return [
        cells_table(collection),
        paired_table(collection, baseline),
        slopes_table(collection),
        detection_table(collection),
        coverage_table(collection),
    ]


def cells_table(collection: Collection) -> Table:
    """One row a cell: regret, budget, detection, coverage, certificate, time."""
    columns = {
        **_setting_columns(),
        "algorithm": "algorithm",
        "C_assumed": "C assumed",
        "n_seeds": "seeds",
        "regret_mean": "R_T mean",
        "regret_standard_error": "± s.e.",
        "regret_median": "median",
        "regret_worst": "worst seed",
        "simple_regret_mean": "simple regret",
        "certificate_mean": "certificate",
        "spent_mean": "C spent",
        "detection_rate": "detected",
        "detection_round_median": "in round",
        "coverage": "bounds held",
        "seconds_per_round": "s/round",
    }
    note = (
        "R_T: cumulative regret after the last round (units of f): mean, standard error of the mean, "
        "median and worst over seeds. Simple regret: f(x*) - f of the recommended point, mean; "
        "certificate: the bound on it that the learner itself gives, mean (– where it gives none). "
        "Detected: share of the games, with the median round. Bounds held: share of the games in "
        "which the truth stayed inside the bounds of every instance whose assumptions were true."
    )
    rows = [_cell_row(cell, games) for cell, games in collection.cells.items()]
    return Table("cells", "Regret by cell", note, columns, rows)


def paired_table(collection: Collection, baseline: str) -> Table:
    """One row a setting and algorithm: the difference to the baseline, by seed."""
    columns = {
        **_setting_columns(),
        "algorithm": "algorithm",
        "n_seeds": "seeds",
        "difference_mean": "difference",
        "difference_standard_error": "± s.e.",
        "difference_median": "median",
        "difference_worst": "worst seed",
        "share_better": "better in",
        "ratio": "ratio of means",
    }
    note = (
        f"R_T of the algorithm less R_T of {baseline} with the same seed (same function, same noise): "
        "negative is better. Better in: share of the seeds. Ratio of means: R_T over the baseline's."
    )
    rows = []
    for row in paired(collection, baseline):
        of = row.difference
        rows.append(
            {
                **_setting_row(row.setting),
                "algorithm": row.algorithm,
                "n_seeds": of.n,
                "difference_mean": of.mean,
                "difference_standard_error": of.standard_error,
                "difference_median": of.median,
                "difference_worst": of.worst,
                "share_better": row.share_better,
                "ratio": row.ratio,
            }
        )
    return Table("paired", f"Paired differences to {baseline}", note, columns, rows)


def slopes_table(collection: Collection) -> Table:
    """One row a fitted power law of the mean regret, against C or T."""
    columns = {
        "against": "against",
        **_setting_columns(),
        "algorithm": "algorithm",
        "slope": "slope",
        "n_points": "points",
        "x_min": "from",
        "x_max": "to",
    }
    note = (
        "Mean R_T against C or T, by least squares in log-log: R_T grows like the variable to the "
        "power of the slope. With two points the fit is exact and says nothing about its own error."
    )
    rows = []
    for against in ("C", "T"):
        for line in scalings(collection, against):
            if line.fit is None:
                continue
            fixed = _setting_row(line.fixed)
            fixed[against] = None  # it is what varies
            rows.append(
                {
                    "against": against,
                    **fixed,
                    "algorithm": line.algorithm,
                    "slope": line.fit.slope,
                    "n_points": line.fit.n,
                    "x_min": float(line.x.min()),
                    "x_max": float(line.x.max()),
                }
            )
    return Table("slopes", "Growth of the regret", note, columns, rows)


def detection_table(collection: Collection) -> Table:
    """One row a cell of a learner that looks for corruption."""
    columns = {
        **_setting_columns(),
        "algorithm": "algorithm",
        "n_seeds": "seeds",
        "n_detected": "detected",
        "rate": "rate",
        "low": "from",
        "high": "to",
        "round_median": "median round",
        "is_false_alarm": "false alarm",
    }
    note = (
        f"From, to: {LEVEL:.0%} Clopper-Pearson interval of the rate. "
        "A detection is a false alarm where nobody could lie."
    )
    rows = [
        {
            **_setting_row(row.cell.setting),
            "algorithm": row.cell.algorithm,
            "n_seeds": row.share.n,
            "n_detected": row.share.k,
            "rate": row.share.value,
            "low": row.share.low,
            "high": row.share.high,
            "round_median": row.median_round,
            "is_false_alarm": row.cell.setting.is_clean,
        }
        for row in detections(collection)
    ]
    return Table("detection", "Detection of corruption", note, columns, rows)


def coverage_table(collection: Collection) -> Table:
    """One row an instance of a cell."""
    columns = {
        **_setting_columns(),
        "algorithm": "algorithm",
        "instance": "instance",
        "is_promised": "promised",
        "n_seeds": "seeds",
        "n_covered": "covered",
        "coverage": "coverage",
        "low": "from",
        "high": "to",
        "promise": "at least",
    }
    note = (
        "Covered: games in which the truth stayed inside the instance's bounds, everywhere and all "
        f"the time. From, to: {LEVEL:.0%} Clopper-Pearson interval. Promised: the instance's "
        "assumptions were true, so the coverage must be at least 1 - delta."
    )
    rows = [
        {
            **_setting_row(row.cell.setting),
            "algorithm": row.cell.algorithm,
            "instance": row.instance,
            "is_promised": row.is_promised,
            "n_seeds": row.share.n,
            "n_covered": row.share.k,
            "coverage": row.share.value,
            "low": row.share.low,
            "high": row.share.high,
            "promise": 1.0 - row.delta if row.is_promised and row.delta is not None else None,
        }
        for row in coverages(collection)
    ]
    return Table("coverage", "Coverage of the bounds", note, columns, rows)


def _cell_row(cell: Cell, games: Sequence[Game]) -> Row:
    regret = final_regret(games)
    found = detection(cell, games)
    certificates = [game.certificate for game in games if game.certificate is not None]
    promised = [
        all(game.covered[label] for label in game.covered if game.is_promised[label])
        for game in games
        if any(game.is_promised.values())
    ]
    return {
        **_setting_row(cell.setting),
        "algorithm": cell.algorithm,
        "C_assumed": cell.C_assumed,
        "n_seeds": regret.n,
        "regret_mean": regret.mean,
        "regret_standard_error": regret.standard_error,
        "regret_median": regret.median,
        "regret_worst": regret.worst,
        "simple_regret_mean": spread([game.simple_regret for game in games]).mean,
        "certificate_mean": spread(certificates).mean if certificates else None,
        "spent_mean": spread([float(game.spent[-1]) for game in games]).mean,
        "detection_rate": found.share.value if found else None,
        "detection_round_median": found.median_round if found else None,
        "coverage": share(sum(promised), len(promised)).value if promised else None,
        "seconds_per_round": float(np.mean([game.seconds for game in games])),
    }


def _setting_columns() -> dict[str, str]:
    return {"objective": "objective", "T": "T", "adversary": "adversary", "C": "C", "told": "C told"}


def _setting_row(setting: Setting) -> Row:
    return {
        "objective": setting.objective,
        "T": setting.T,
        "adversary": setting.adversary,
        "C": setting.C,
        "told": setting.told or None,
    }
