"""The players of `benchmarks.practice`: ours by one call, and the rivals as their documents use them."""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import unbribable as ub
from benchmarks.practice_second import Axis
from benchmarks.practice_world import Game
from unbribable.model.dimensions import Choice, Dimension, Real, Whole

Found = dict[str, Any]
"""The recommended point, "x", and what its player says of values and readings."""


def ours(game: Game) -> Found:
    """One call, with default arguments."""
    return _ours(game, game.read, on_error="raise")


def told(game: Game) -> Found:
    """The same, told which readings are lies: it learns nothing from them, and is not misled."""

    def read(x: np.ndarray) -> float:
        n_lies, y = len(game.lied), game.read(x)
        return y if len(game.lied) == n_lies else float("nan")

    return _ours(game, read, on_error="record")


def _ours(game: Game, read: Callable[[np.ndarray], float], **words: Any) -> Found:
    space: Any = ub.Box(game.test.low, game.test.high)
    if game.is_mixed:
        space = {axis.name: _dimension(axis) for axis in game.axes}
    result = ub.maximize(
        lambda x: read(_row(game, x)), space, game.T, seed=game.seed, progress=False, **words
    )
    assert result.recommendation is not None
    return {
        "x": _row(game, result.x),
        "expected": result.estimate,
        "sd": result.estimate_sd,
        "flagged": [suspect.t for suspect in result.suspects if suspect.is_flagged],
        "n_honest": result.recommendation.n_honest,
    }


def _dimension(axis: Axis) -> Dimension:
    if axis.options:
        return Choice(axis.options)
    if axis.whole:
        return Whole(int(axis.low), int(axis.high), log=axis.log)
    return Real(axis.low, axis.high, log=axis.log)


def _row(game: Game, x: Any) -> np.ndarray:
    """A point as a game counts it, from one as f takes it."""
    if not game.is_mixed:
        return np.asarray(x, dtype=float)
    values = [axis.options.index(x[axis.name]) if axis.options else x[axis.name] for axis in game.axes]
    return np.array(values, dtype=float)


def botorch(game: Game) -> Found:
    """The plain model; it recommends the point read whose posterior mean is largest."""
    from benchmarks import practice_botorch as loops

    return loops.play(game, loops.plain)


def relevance_pursuit(game: Game) -> Found:
    """The same loop with BoTorch's outlier-robust model."""
    from benchmarks import practice_botorch as loops

    return loops.play(game, loops.robust)


def _optuna(game: Game, name: str) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = getattr(optuna.samplers, name)(seed=game.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(game.T):
        trial = study.ask()
        study.tell(trial, game.read([_suggested(trial, axis) for axis in game.axes]))
    return {"x": game.X[study.best_trial.number]}


def _suggested(trial: Any, axis: Axis) -> float:
    if axis.options:
        return float(axis.options.index(trial.suggest_categorical(axis.name, axis.options)))
    if axis.whole:
        return float(trial.suggest_int(axis.name, int(axis.low), int(axis.high), log=axis.log))
    return float(trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log))


def optuna_gp(game: Game) -> Found:
    """GPSampler with default arguments; it recommends the best reading, as do the next two."""
    return _optuna(game, "GPSampler")


def optuna_tpe(game: Game) -> Found:
    """TPESampler with default arguments."""
    return _optuna(game, "TPESampler")


def random_points(game: Game) -> Found:
    """Points drawn at random, evenly over the domain."""
    U = np.random.default_rng(game.seed).random((game.T, game.test.d))
    for x in np.column_stack([axis.at(u) for axis, u in zip(game.axes, U.T, strict=True)]):
        game.read(x)
    return {"x": game.X[int(np.argmax(game.y))]}


PLAYERS: dict[str, Callable[[Game], Found]] = {
    "maximize": ours,
    "told": told,
    "BoTorch": botorch,
    "relevance-pursuit": relevance_pursuit,
    "Optuna-GP": optuna_gp,
    "Optuna-TPE": optuna_tpe,
    "random": random_points,
}


@cache
def made_by(player: str) -> str:
    """What a player's games depend on: the version of its library, or a hash of our code."""
    if player in ("BoTorch", "relevance-pursuit"):
        return f"botorch {version('botorch')}"
    if player.startswith("Optuna"):
        return f"optuna {version('optuna')}"
    if player == "random":
        return f"numpy {version('numpy')}"
    root = Path(ub.__file__).parent
    parts = ("decision", "doubt", "model", "study", "theory")
    files = sorted(file for part in parts for file in (root / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
