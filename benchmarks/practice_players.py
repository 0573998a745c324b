"""The players of `benchmarks.practice`: ours by one call, and the rivals as their documents use them."""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import unbribable as ub
from benchmarks.practice_world import Game

Found = dict[str, Any]
"""The recommended point, "x"; of ours also what is said about it."""


def ours(game: Game) -> Found:
    """One call, with default arguments."""
    return _ours(game, game.read, on_error="raise")


def told(game: Game) -> Found:
    """The same, told which readings are lies: it learns nothing from them, and is not misled."""

    def read(x: object) -> float:
        n_lies, y = len(game.lied), game.read(x)
        return y if len(game.lied) == n_lies else float("nan")

    return _ours(game, read, on_error="record")


def _ours(game: Game, read: Callable[[object], float], **words: Any) -> Found:
    box = ub.Box(game.test.low, game.test.high)
    result = ub.maximize(read, box, game.T, seed=game.seed, progress=False, **words)
    flagged = [suspect.t for suspect in result.suspects if suspect.is_flagged]
    return {"x": result.x, "flagged": flagged}


def _botorch(game: Game, make: Callable[..., Any]) -> Found:
    """A Sobol design of 2 d + 4 points, then noisy expected improvement, refitted each round.

    It recommends the point read whose posterior mean is largest.
    """
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf
    from botorch.utils.sampling import draw_sobol_samples

    torch.manual_seed(game.seed)
    d = game.test.d
    bounds = torch.tensor([game.test.low, game.test.high], dtype=torch.float64)
    X = draw_sobol_samples(bounds, n=2 * d + 4, q=1, seed=game.seed)[:, 0]
    y = torch.tensor([[game.read(x)] for x in X.numpy()], dtype=torch.float64)
    for _ in range(len(X), game.T):
        rule = qLogNoisyExpectedImprovement(_fitted(make, X, y, bounds), X, prune_baseline=True)
        x, _ = optimize_acqf(rule, bounds=bounds, q=1, num_restarts=5, raw_samples=128)
        X = torch.cat([X, x])
        y = torch.cat([y, torch.tensor([[game.read(x[0].numpy())]], dtype=torch.float64)])
    return {"x": _best_mean(make, X, y, bounds).numpy()}


def _fitted(make: Callable[..., Any], X: Any, y: Any, bounds: Any) -> Any:
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.transforms import Normalize, Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    scaling = {
        "input_transform": Normalize(X.shape[1], bounds=bounds),
        "outcome_transform": Standardize(1),
    }
    model = make(X, y, **scaling)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _best_mean(make: Callable[..., Any], X: Any, y: Any, bounds: Any) -> Any:
    model = _fitted(make, X, y, bounds)
    model.eval()
    return X[model.posterior(X).mean[:, 0].detach().argmax()]


def botorch_choice(game: Game, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which of the points read, (n, d), BoTorch would recommend after these readings, (n,)."""
    import torch
    from botorch.models import SingleTaskGP

    torch.set_num_threads(1)
    bounds, X, y = (
        torch.as_tensor(each, dtype=torch.float64)
        for each in ([game.test.low, game.test.high], X, y[:, None])
    )
    found: np.ndarray = _best_mean(SingleTaskGP, X, y, bounds).numpy()
    return found


def botorch(game: Game) -> Found:
    """SingleTaskGP with default arguments."""
    from botorch.models import SingleTaskGP

    return _botorch(game, SingleTaskGP)


def relevance_pursuit(game: Game) -> Found:
    """The same loop with BoTorch's outlier-robust model, with default arguments."""
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP

    return _botorch(game, RobustRelevancePursuitSingleTaskGP)


def _optuna(game: Game, name: str) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = getattr(optuna.samplers, name)(seed=game.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    sides = list(zip(game.test.low, game.test.high, strict=True))
    for _ in range(game.T):
        trial = study.ask()
        x = [trial.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(sides)]
        study.tell(trial, game.read(x))
    best = study.best_trial.params
    return {"x": np.array([best[f"x{i}"] for i in range(game.test.d)])}


def optuna_gp(game: Game) -> Found:
    """GPSampler with default arguments; it recommends the best reading, as does the next one."""
    return _optuna(game, "GPSampler")


def optuna_tpe(game: Game) -> Found:
    """TPESampler with default arguments."""
    return _optuna(game, "TPESampler")


PLAYERS: dict[str, Callable[[Game], Found]] = {
    "maximize": ours,
    "told": told,
    "BoTorch": botorch,
    "relevance-pursuit": relevance_pursuit,
    "Optuna-GP": optuna_gp,
    "Optuna-TPE": optuna_tpe,
}


@cache
def made_by(player: str) -> str:
    """What a player's games depend on: the version of its library, or a hash of our code."""
    if player in ("BoTorch", "relevance-pursuit"):
        return f"botorch {version('botorch')}"
    if player.startswith("Optuna"):
        return f"optuna {version('optuna')}"
    root = Path(ub.__file__).parent
    parts = ("decision", "model", "practice", "theory")
    files = sorted(file for part in parts for file in (root / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
