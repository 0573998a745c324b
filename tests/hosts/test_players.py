"""Optimisers of others and our own study as players: right, and a missing extra is a sentence."""

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from unbribable.lab.rivals import botorch_players, optuna_players
from unbribable.lab.rivals.optuna_players import OptunaTPE
from unbribable.lab.rivals.study_player import StudyPlayer

X = np.linspace(0.0, 1.0, 30)[:, None]
KNOWN = ub.Assumptions(ub.Matern(2.5, 0.2), B=2.0, B0=1.0, noise_std=0.1, lam=0.01)
HAS = {name: importlib.util.find_spec(name) is not None for name in ("botorch", "torch")}
KINDS: dict[str, tuple[Any, int]] = {
    "study": (StudyPlayer, 20),
    "tpe": (OptunaTPE, 50),
    "gp": (optuna_players.OptunaGP, 20),
    "lognei": (botorch_players.BoTorchLogNEI, 12),
    "rrp": (botorch_players.BoTorchRelevancePursuit, 8),
}
NEEDS = {"gp": "torch", "lognei": "botorch", "rrp": "botorch"}
every = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(autouse=True)
def extra(request: pytest.FixtureRequest) -> None:
    """Skip where the extra bench is not installed."""
    name = getattr(request.node, "callspec", None) and request.node.callspec.params.get("name")
    if not HAS.get(NEEDS.get(name, ""), True):
        pytest.skip("needs the extra bench")


def play(name: str, seed: int = 0, sign: float = 1.0) -> tuple[Any, list[int]]:
    """A game without noise on a line, whose maximum is at the last candidate."""
    kind, T = KINDS[name]
    player = kind(ub.Grid(X), KNOWN, seed=seed)
    asked = []
    for _ in range(T):
        query = player.ask()
        asked.append(query.index)
        player.tell(query, sign * float(query.x[0]))
    return player, asked


@every
def test_the_maximum_at_a_corner_is_found(name: str) -> None:
    player, asked = play(name)
    assert max(asked) >= 28
    assert player.recommend().index >= 28
    assert player.bounds() is None
    assert str(player.guarantee) == "No guarantee."


@every
def test_the_same_seed_asks_the_same(name: str) -> None:
    assert play(name)[1] == play(name)[1] != play(name, seed=1)[1]


def test_what_is_told_is_what_the_study_holds_and_a_proposal_is_kept() -> None:
    player = OptunaTPE(ub.Grid(X), KNOWN, seed=0)
    proposal = player.propose()
    assert player.propose().indices.tolist() == proposal.indices.tolist()
    query = player.ask()
    assert query.index == proposal.indices[0]
    player.tell(query, 0.25)
    player.tell(x=X[7], y=0.5)
    first, second = player._study.trials
    assert (first.value, first.params["x0"]) == (0.25, query.index)
    assert (second.value, second.params["x0"]) == (0.5, 7)
    assert player.recommend().index == 7


def test_the_study_that_plays_is_the_one_that_a_user_would_have() -> None:
    """It asks for the same points, after readings that others chose, and recommends the same one."""
    player = StudyPlayer(ub.Grid(X), KNOWN, T=12, seed=0)
    study = ub.Study(ub.Grid(X), n_rounds=12, seed=int(player.seed.uniform(1) * 2**31))
    for i in (3, 17):
        y = float(np.sin(3.0 * X[i, 0]))
        player.tell(x=X[i], y=y)
        study.tell(X[i], y)
    for _ in range(10):
        query, asked = player.ask(), study.ask()
        np.testing.assert_array_equal(query.x, asked.x)
        y = float(np.sin(3.0 * query.x[0]))
        player.tell(query, y)
        study.tell(asked, y)
    np.testing.assert_array_equal(player.recommend().x, study.recommend().x)


def test_candidates_that_are_no_grid_are_read_at_the_nearest_one() -> None:
    points = np.random.default_rng(0).uniform(size=(20, 2))
    player = OptunaTPE(ub.Grid(points), KNOWN, seed=0)
    for _ in range(15):
        query = player.ask()
        assert np.array_equal(query.x, points[query.index])
        player.tell(query, float(query.x.sum()))
    assert len({i for i, _ in player.readings}) > 3


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("optuna", "botorch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r'needs optuna: pip install "unbribable\[bench\]"'):
        OptunaTPE(ub.Grid(X), KNOWN)
    with pytest.raises(ModuleNotFoundError, match=r'needs botorch: pip install "unbribable\[bench\]"'):
        botorch_players.BoTorchLogNEI(ub.Grid(X), KNOWN)
