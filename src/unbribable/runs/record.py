"""What a game leaves behind: plain arrays and JSON, readable without the library."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.model.checks import Floats

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Record:
    """A finished game, round by round, truth beside the lie.

    `columns` holds arrays of length T (one row a round; `maximisers`, where there are layers, is
    (T, n_layers)); `meta` plain JSON data about the whole game.

    Columns: index, x (T, d), f, noise, c, y_tilde, charge, instance (index into
    meta["instances"], -1 where nobody learned), mu, sigma, width, ucb, lower, upper (the interval of
    the instance that played, at the point when it was chosen), seconds.
    """

    columns: dict[str, np.ndarray]
    meta: dict[str, Any]

    @property
    def T(self) -> int:
        """Rounds played."""
        return len(self.columns["index"])

    @property
    def instant_regret(self) -> Floats:
        """f(x*) - f(x_t), (T,)."""
        regret: Floats = self.meta["f_max"] - self.columns["f"]
        return regret

    @property
    def cumulative_regret(self) -> Floats:
        """R_t = sum over the rounds so far of f(x*) - f(x_t) [BKS20, Eq. 3]."""
        regret: Floats = np.cumsum(self.instant_regret)
        return regret

    @property
    def simple_regret(self) -> float:
        """f(x*) - f of the point recommended at the end."""
        return float(self.meta["f_max"] - self.meta["f_recommended"])

    @property
    def spent(self) -> Floats:
        """Budget spent up to each round, (T,)."""
        spent: Floats = np.cumsum(self.columns["charge"])
        return spent

    def save(self, path: str | Path) -> Path:
        """Write an npz file: every column an array, `meta` a JSON string. Atomic: all or nothing."""
        path = Path(path)
        meta = np.array(json.dumps(self.meta))
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with temporary.open("xb") as file:
                np.savez_compressed(file, meta=meta, **self.columns)  # type: ignore[arg-type]
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return path

    @classmethod
    def load(cls, path: str | Path) -> "Record":
        """Read what `save` wrote."""
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            meta: Mapping[str, Any] = json.loads(str(file["meta"]))
            if meta.get("format") != FORMAT:
                raise ValueError(f"a record must have format {FORMAT}, got {meta.get('format')!r}")
            columns = {name: file[name] for name in file.files if name != "meta"}
        return cls(columns, dict(meta))
