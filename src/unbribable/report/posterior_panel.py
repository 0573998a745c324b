"""What one panel of the posterior picture shows, as plain arrays: the belief of a learner on a line."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbribable.report.games import Floats
from unbribable.runs.record import Record


@dataclass(frozen=True, eq=False)
class PosteriorPanel:
    """A function on a line, what was read of it, and what the learner believes."""

    x: Floats
    """Candidates in ascending order, (n,)."""
    f: Floats
    """The truth, (n,)."""
    mu: Floats | None = None
    """Posterior mean, (n,); None: only the function is shown."""
    width: Floats | None = None
    """Half width of the band around the mean, (n,)."""
    readings_x: Floats | None = None
    """Where was read, (t,)."""
    readings_y: Floats | None = None
    """What was told, (t,)."""
    is_corrupted: NDArray[np.bool_] | None = None
    """Which of the readings are lies, (t,)."""
    title: str = ""
    region: tuple[float, float] | None = None
    """Where readings are corrupted: (low, high)."""
    x_star: float | None = None
    """The maximiser."""
    x_local: float | None = None
    """A local maximiser, where the learner may get stuck."""
    t: int | None = None
    """Rounds played."""

    def __post_init__(self) -> None:
        n = len(self.x)
        for name in ("f", "mu", "width"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != (n,):
                raise ValueError(f"{name} must have shape ({n},) like x, got shape {np.shape(value)}")
        if (self.mu is None) != (self.width is None):
            raise ValueError("mu and width must be given together, got one of them")
        readings = (self.readings_x, self.readings_y, self.is_corrupted)
        shapes = {None if value is None else np.shape(value) for value in readings}
        if len(shapes) != 1:
            raise ValueError(
                "readings_x, readings_y and is_corrupted must have one shape, "
                f"got {', '.join(sorted(str(shape) for shape in shapes))}"
            )


def posterior_panel(
    record: Record,
    *,
    X: ArrayLike,
    f: ArrayLike,
    mu: ArrayLike,
    width: ArrayLike,
    t: int | None = None,
    title: str = "",
    region: tuple[float, float] | None = None,
    x_local: float | None = None,
) -> PosteriorPanel:
    """The panel of a 1-d game after t rounds.

    Args:
        record: The game: its first t readings are shown.
        X: The candidates, (n,) or (n, 1).
        f: The truth at the candidates, (n,).
        mu: Posterior mean after t rounds, (n,).
        width: Half width of the band after t rounds, (n,).
        t: Rounds; all of them by default.
        title: Of the panel; the algorithm by default.
        region: Where the adversary lies, if it is a region.
        x_local: A local maximiser; the highest one besides x* by default, if there is one.
    """
    x = np.asarray(X, dtype=np.float64)
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim != 1:
        raise ValueError(f"X must be candidates on a line, (n,) or (n, 1), got shape {x.shape}")
    t = record.T if t is None else t
    if not 1 <= t <= record.T:
        raise ValueError(f"t must be 1..{record.T}, the rounds of the record, got t={t}")
    order = np.argsort(x, kind="stable")
    values = []
    for name, given in (("f", f), ("mu", mu), ("width", width)):
        value = np.asarray(given, dtype=np.float64)
        if value.shape != x.shape:
            raise ValueError(
                f"{name} must have one value a candidate, {x.shape}, got shape {value.shape}"
            )
        values.append(value[order])
    run = record.meta.get("run", {})
    return PosteriorPanel(
        x=x[order],
        f=values[0],
        mu=values[1],
        width=values[2],
        readings_x=x[record.columns["index"][:t]],
        readings_y=record.columns["y_tilde"][:t],
        is_corrupted=record.columns["c"][:t] != 0.0,
        title=title or str(run.get("algorithm", record.meta["algorithm"]["algorithm"])),
        region=region,
        x_star=float(x[record.meta["best"]]),
        x_local=local_maximiser(x[order], values[0]) if x_local is None else x_local,
        t=t,
    )


def local_maximiser(x: Floats, f: Floats) -> float | None:
    """The highest point that is above both neighbours and not the maximiser, or None."""
    is_peak = np.zeros(len(x), dtype=np.bool_)
    is_peak[1:-1] = (f[1:-1] > f[:-2]) & (f[1:-1] > f[2:])
    is_peak[int(np.argmax(f))] = False
    peaks = np.flatnonzero(is_peak)
    return float(x[peaks[np.argmax(f[peaks])]]) if len(peaks) else None
