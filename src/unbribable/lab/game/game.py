"""Be the liar: five players on the same function with the same noise, and one liar for all of them."""

import threading
import warnings
from collections import OrderedDict
from dataclasses import asdict
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm, AssumptionsRefuted
from unbribable.decision.policies.fast_slow import FastSlowGPUCB
from unbribable.decision.policies.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.recommend import claim, trusted
from unbribable.lab.game.liars import PRESETS, Visitor
from unbribable.lab.game.moves import Move, Setting
from unbribable.lab.runs.simulate import play_round
from unbribable.lab.runs.streams import generator, stream
from unbribable.lab.world.adversaries import View
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.objectives import Objective, kernel_sum
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import SquaredExponential
from unbribable.say.figures.drawing import looks
from unbribable.theory.assumptions import Assumptions

N_POINTS = 121
NOISE_STD, LAM = 0.02, 0.01
EPS = 0.1
"""An answer is right if no point is better by more; the price is that of hiding a point that is."""
HEADS = {"fooled": "Fooled", "wrong": "Wrong, but says so", "right": "Right"}
"""Verdict -> what the page calls it."""
N_TABLES, N_SHOWN = 16, 256
"""Games and positions kept, so that a move costs one round and a step back nothing."""

Address = tuple[Setting, tuple[Move, ...]]

LABELS = (
    "GP-UCB",
    "RobustGPUCB, paper's width",
    "RobustGPUCB, our width",
    "Fast-Slow, paper's widths",
    "Fast-Slow, our widths",
)


def two_peaks() -> Objective:
    """A global and a local peak on [0, 1], maximum 1; as Figure 1 of the paper, but smoother."""
    kernel, weights = SquaredExponential(0.15), np.array([0.8, 1.0, -0.3])
    X = np.linspace(0.0, 1.0, N_POINTS)[:, None]
    centres = np.array([[0.22], [0.78], [0.5]])
    top = kernel_sum(kernel, X, centres, weights).f_max
    return kernel_sum(kernel, X, centres, weights / top, name="two peaks")


def assumptions_of(objective: Objective) -> Assumptions:
    """What the players are told: all of it is true."""
    assert objective.norm is not None
    assert objective.kernel is not None
    B = round(1.1 * objective.norm, 2)
    return Assumptions(objective.kernel, B=B, B0=objective.B0, noise_std=NOISE_STD, lam=LAM)


def players(objective: Objective, setting: Setting) -> tuple[Algorithm, ...]:
    """The five, in the order of LABELS."""
    domain, a, C = Grid(objective.X), assumptions_of(objective), setting.budget
    seed = stream(setting.seed, "algorithm")
    return (
        GPUCB(domain, a),
        RobustGPUCB(domain, a, C=C, width="paper", noise="paper"),
        RobustGPUCB(domain, a, C=C),
        FastSlowGPUCB(domain, a, C=C, seed=seed, width="paper", noise="paper", tail="paper"),
        FastSlowGPUCB(domain, a, C=C, seed=seed),
    )


class Seat:
    """Holds changing state: a player, the visitor who lies to it, and their rounds so far."""

    def __init__(self, number: int, player: Algorithm, objective: Objective, setting: Setting) -> None:
        presets = {key: preset.build(objective, player.assumptions) for key, preset in PRESETS.items()}
        self.visitor = Visitor(number, presets)
        self.player = player
        self.world = Environment(
            objective,
            noise_std=NOISE_STD,
            adversary=self.visitor,
            C=setting.budget,
            threat=setting.threat,
        )
        self.world.reset(generator(setting.seed, "noise"), generator(setting.seed, "adversary"))
        self.threat = "none" if number == 0 else setting.threat
        self.rounds: list[dict[str, Any]] = []

    def play(self, move: Move) -> None:
        """The next round."""
        self.visitor.move = move
        query, told = play_round(self.player, self.world, self.world.t + 1)
        best = self.player.recommend(threat=self.threat)
        objective = self.world.objective
        truth = {key: round(value, 5) for key, value in asdict(told).items()}
        self.rounds.append(
            {
                **truth,
                "x": float(query.x[0]),
                "who": query.instance,
                "loss": objective.f_max - float(objective.f[best.index]),
                "certificate": best.regret_bound,
            }
        )
        self.rounds[-1]["is_fooled"] = self.is_fooled

    @property
    def is_fooled(self) -> bool:
        """Whether it certifies more than is true now."""
        loss, certificate = self.rounds[-1]["loss"], self.rounds[-1]["certificate"]
        return certificate is not None and loss > certificate + 1e-9

    def view(self) -> View:
        """What the liar may see of the next round. Changes nothing."""
        player = self.player
        if self.world.threat == "weak":
            proposal = player.propose()
            return self.world.view(proposal.indices, proposal.probabilities, proposal.instances)
        t = player.t + 1
        query = player.query_at(t, player.drawn(t))
        return self.world.view(np.array([query.index]), np.ones(1), (query.instance,))

    def to_plain(self, is_over: bool) -> dict[str, Any]:
        """Everything the page shows of it."""
        player, f = self.player, self.world.objective.f
        guarantee, valid = trusted(player, self.threat)
        bounds = claim(valid, guarantee)
        best = player.recommend(threat=self.threat)
        mu = player.instances[player.policy.holds_all or "main"].mu
        return {
            "mu": _rounded(mu),
            "lower": None if bounds is None else _rounded(bounds[0]),
            "upper": None if bounds is None else _rounded(bounds[1]),
            "left": round(self.world.ledger.left, 5),
            "rounds": self.rounds,
            "best": {"x": float(best.x[0]), "f": float(f[best.index]), "words": best.guarantee},
            "detected": player.detected,
            "refuted": player.refuted,
            "view": [] if is_over else _atoms(self.view(), f),
            "verdict": self.verdict() if is_over else None,
        }

    def verdict(self) -> dict[str, Any]:
        """What came of it, and at what price."""
        loss, certificate = self.rounds[-1]["loss"], self.rounds[-1]["certificate"]
        price = self.player.price(EPS)
        if self.is_fooled:
            kind = "fooled"
            words = (
                f"{HEADS[kind]}: it certifies that no point is better than its answer by more than "
                f"{certificate:.3f}, and the peak is better by {loss:.3f}."
            )
        else:
            kind = "right" if loss <= EPS else "wrong"
            words = f"{HEADS[kind]}: the peak is better than its answer by {loss:.3f}, and "
            words += (
                "it noticed that the readings contradict its assumptions, so it certifies nothing."
                if certificate is None
                else f"it certifies only that no point is better by more than {certificate:.3f}."
            )
        return {
            "kind": kind,
            "words": words,
            "spent": round(self.world.ledger.spent, 5),
            "price": None if price.value is None else min(price.value, 1e9),
            "probability": price.probability,
            "price_words": str(price),
        }


class Table:
    """Holds changing state: the five players after some rounds of a game."""

    def __init__(self, setting: Setting) -> None:
        objective = two_peaks()
        self.setting, self.objective, self.t = setting, objective, 0
        self.seats = [
            Seat(k, player, objective, setting) for k, player in enumerate(players(objective, setting))
        ]

    def play(self, move: Move) -> None:
        """The next round, for all players."""
        if isinstance(move, str):
            if move not in PRESETS:
                raise ValueError(f"a liar must be one of {', '.join(PRESETS)}, got {move!r}")
            if PRESETS[move].needs_strong and self.setting.threat == "weak":
                raise ValueError(f"threat must be strong for the liar {move!r}, got threat='weak'")
        elif len(move) > len(self.seats):
            raise ValueError(f"a move must have lies for {len(self.seats)} players, got {len(move)}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionsRefuted)  # the page says so
            for seat in self.seats:
                seat.play(move)
        self.t += 1

    def to_plain(self) -> dict[str, Any]:
        """The position as the page shows it."""
        is_over, a = self.t >= self.setting.rounds, assumptions_of(self.objective)
        styles = looks(LABELS)
        return {
            **asdict(self.setting),
            "t": self.t,
            "is_over": is_over,
            "eps": EPS,
            "heads": HEADS,
            "c_max": self.seats[0].world.c_max,
            "assumptions": str(a),
            "X": _rounded(self.objective.X[:, 0]),
            "f": _rounded(self.objective.f),
            "x_best": float(self.objective.X[self.objective.best, 0]),
            "liars": {
                key: {"name": liar.name, "words": liar.words, "needs_strong": liar.needs_strong}
                for key, liar in PRESETS.items()
            },
            "players": [
                {"label": label, "colour": styles[label].colour, **seat.to_plain(is_over)}
                for label, seat in zip(LABELS, self.seats, strict=True)
            ],
        }


class Tables:
    """Holds changing state: the last positions, by setting and moves. Nothing that cannot be replayed.

    A table is played on, so the positions behind it are kept as they were shown.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[Address, Table] = OrderedDict()
        self._shown: OrderedDict[Address, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def after(self, setting: Setting, moves: tuple[Move, ...]) -> dict[str, Any]:
        """The position after these moves: played on from the longest beginning whose table is kept."""
        with self._lock:
            if (setting, moves) not in self._shown:
                n = len(moves)
                while n and (setting, moves[:n]) not in self._tables:
                    n -= 1
                table = self._tables.pop((setting, moves[:n]), None) or Table(setting)
                for move in moves[table.t :]:
                    table.play(move)
                _keep(self._tables, (setting, moves), table, N_TABLES)
                _keep(self._shown, (setting, moves), table.to_plain(), N_SHOWN)
            return self._shown[setting, moves]


def _keep(kept: OrderedDict[Address, Any], address: Address, value: Any, most: int) -> None:
    """Keep the value, and of all the `most` last ones."""
    kept[address] = value
    if len(kept) > most:
        kept.popitem(last=False)


def _atoms(view: View, f: Floats) -> list[dict[str, Any]]:
    """The points of a view, as the page shows them."""
    return [
        {
            "x": float(x),
            "f": float(f[i]),
            "probability": float(p),
            "who": [str(label) for label in labels],
        }
        for i, x, p, labels in zip(
            view.indices, view.points[:, 0], view.probabilities, view.instances, strict=True
        )
    ]


def _rounded(values: Floats) -> list[float]:
    rounded: list[float] = np.round(values, 4).tolist()
    return rounded
