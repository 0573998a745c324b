"""Random programmes for an algorithm, and what a dense reference allows it to say meanwhile.

A programme asks and tells in any order, with up to six queries open; brings readings of its own;
forgets, retracts, and goes on with a copy. The reference keeps a log of its own and the bounds of
`naive.py` (dense solves, nothing of the library but the kernel): of everything told up to each moment at
which no earlier round was open, and of nothing else. No claim may be tighter than that.
"""

import copy
import json
import math
import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import naive
import unbribable as ub
from contracts.members import ALGORITHMS
from games import random_function
from told import told
from unbribable.decision.algorithm import Algorithm

N_STEPS = 50
N_OPEN = 6
TOLERANCE = 1e-7
"""Of the rounding of two different orders of operations, relative beyond 1."""

N_LEVELS = 12
"""Of the reference's ladder, which has them all from the beginning: so its bounds are the tightest."""
T_LAYERS = 32
C_LAYERS = 9.0


# --- what the reference allows ------------------------------------------------------------------------


class Reference:
    """Holds changing state: what was told and given up, and the bounds of every settled moment.

    Args:
        build: A new naive algorithm, whose instances get their readings from here.
    """

    def __init__(self, build: Callable[[], naive.Algorithm]) -> None:
        self._build = build
        self._log: list[tuple[int, naive.Reading | None, bool]] = []  # None: the round was given up
        self._retracted: set[int] = set()
        self._learners: Mapping[int, str | None] = {}
        self.double = build()

    def tell(self, t: int, reading: naive.Reading, is_asked: bool, learners: Mapping[int, Any]) -> None:
        """Round t was told; `learners` says to whom each reading belongs."""
        self._learners = learners
        self._log.append((t, reading, is_asked))
        self._settle(self._log)

    def lose(self, t: int) -> None:
        """Round t was given up."""
        self._log.append((t, None, True))
        self._settle(self._log)

    def retract(self, t: int, learners: Mapping[int, Any]) -> None:
        """As if round t had never been told."""
        self._learners = learners
        self._log = [entry for entry in self._log if entry[0] != t]
        self._retracted.add(t)
        self.double = self._build()
        for n in range(1, len(self._log) + 1):
            self._settle(self._log[:n])

    def _settle(self, log: list[tuple[int, naive.Reading | None, bool]]) -> None:
        """One moment more, if every round up to the last one told is accounted for."""
        last = max((t for t, reading, _ in log if reading is not None), default=0)
        if set(range(1, last + 1)) <= {t for t, *_ in log} | self._retracted:
            for held, readings in self._held(log):
                if len(readings) > len(held.readings):
                    if isinstance(held, naive.Shared):
                        held.tick(readings)
                    else:
                        now = naive.believe(held.setting, readings, held.C, held.delta)
                        held.tick(readings, now)

    def _held(
        self, log: list[tuple[int, naive.Reading | None, bool]]
    ) -> list[tuple[naive.Instance | naive.Shared, list[naive.Reading]]]:
        """Every instance of the double, with what it should hold."""
        shared = getattr(self.double, "shared", None)
        levels = [] if shared is None else shared.levels
        every = [reading for _, reading, _ in log if reading is not None]
        found = [] if shared is None else [(shared, every)]
        for label, instance in self.double.instances.items():
            if instance not in levels:
                own = [r for t, r, _ in log if r is not None and self._learners[t] == label]
                found.append((instance, every if label in ("main", "all") else own))
        return found

    def is_behind(self, label: str) -> bool:
        """Whether that instance was told something that no bound may rest on yet."""
        wanted = self.double.named(label)
        return any(
            len(held.readings) < len(readings)
            for held, readings in self._held(self._log)
            if wanted is held or wanted in getattr(held, "levels", ())
        )

    def bounds(self, labels: list[str]) -> naive.Bounds:
        """Of these instances together, with what they say of differences unless they are behind."""
        self.double.plays = [
            naive.Play(reading.index, self._learners[t], "", math.nan)
            for t, reading, is_asked in self._log
            if reading is not None and is_asked
        ]
        bounds = self.double.valid(labels)
        bounds.instances = [self.double.named(label) for label in labels if not self.is_behind(label)]
        return bounds


# --- who plays, under which assumptions ---------------------------------------------------------------


class Arena:
    """A world and its assumptions, drawn at random.

    Attributes:
        f: The function at the candidates, (n,).
        setting: What the reference is given.
        build: A new algorithm.
        double: A new naive one.
        claims: Threats and corruptions to ask it about.
    """

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        def draw(*values: Any) -> Any:
            return values[rng.integers(len(values))]

        X = rng.random((int(rng.integers(4, 10)), int(rng.integers(1, 3))))
        kernel = draw(
            ub.SquaredExponential(0.3), ub.Matern(1.5, 0.6), ub.Matern(2.5, 0.3), ub.Linear(1.5)
        )
        B = draw(0.5, 1.0, 2.0)
        self.X = X
        self.f = random_function(kernel, X, rng, B)
        B0 = float(np.abs(self.f).max()) * draw(1.0, 1.5)
        cap = draw(B0, 0.3, math.inf) if name == "robust" else draw(B0, 0.3)
        numbers = {"B": B, "B0": B0, "noise_std": draw(0.05, 0.3), "lam": draw(0.02, 0.2, 1.0)}
        numbers |= {"delta": draw(0.1, 0.5), "c_max": cap}
        words = {"width": draw("exact", "exact", "capped", "paper"), "noise": draw("tight", "paper")}
        words["tail"] = draw("sharp", "paper")
        self.setting = naive.Setting(K=kernel(X, X), **numbers, **words)
        known = (ub.Grid(X), ub.Assumptions(kernel, **numbers))
        seed = int(rng.integers(2**31))
        self.C, dials = cap, {"share": 0.5, "trust": cap, "with_all": draw(True, False)}
        if name == "robust":
            self.C = draw(0.0, 0.4, 3.0)
            self.double = lambda: naive.OneInstance(self.setting, self.C)
            self.claims = [("weak", None), ("strong", None)]
            given = {"C": self.C}
        elif name == "ladder":
            unit = draw(0.25, 1.0) * cap
            self.double = partial(self._ladder, unit)
            self.claims = [("strong", C * unit) for C in (0.0, 3.0, 5.0, 50.0)]
            given = {"unit": unit}
        elif name == "fast-slow":
            self.C = draw(2.0, 8.0) * cap
            self.double = lambda: naive.FastSlow(self.setting, self.C, seed, **dials)
            self.claims = [("weak", None), ("strong", None), ("weak", cap)]
            given = {"C": self.C, **dials}
        else:
            is_told = name == "layers-told"
            with_all = is_told or dials["with_all"]
            self.C = C_LAYERS if is_told else draw(1.0, 6.0)
            horizon = {"C": C_LAYERS} if is_told else {"T": T_LAYERS}
            layers = partial(naive.Layered, self.setting, seed=seed, with_all=with_all, **horizon)
            self.double = layers
            totals = layers().budgets
            self.claims = [("weak", C) for C in totals]
            self.claims += [("strong", C) for C in (totals if with_all else [1.0])]
            given = {**horizon, "with_all": with_all}
        kind = ALGORITHMS[{"layers": "layered", "layers-told": "layered"}.get(name, name)].kind
        secret = {} if name in ("robust", "ladder") else {"seed": seed}
        self.build: Callable[[], Any] = lambda: kind(*known, **given, **secret, **words)

    def _ladder(self, unit: float) -> naive.Algorithm:
        double = naive.Ladder(self.setting, unit)
        for _ in range(N_LEVELS):
            double.begin()
        return double


NAMES = ("ladder", "robust", "fast-slow", "layers", "layers-told")


# --- a programme --------------------------------------------------------------------------------------


def everything(algorithm: Algorithm) -> dict[str, Any]:
    """All that it holds and would say and ask for next, to be compared bit for bit."""
    query = algorithm.query_at(algorithm.t + 1, algorithm.drawn(algorithm.t + 1))
    parts = {**told(algorithm), "next": vars(query), "best": vars(algorithm.recommend())}
    for label, instance in algorithm.instances.items():
        parts[f"{label} width"] = instance.width
        levels = instance.now.levels
        parts[f"{label} levels"] = None if levels is None else (levels.upper, levels.lower)
    return parts


def tighter(claimed: Any, allowed: Any) -> bool:
    """Whether an upper bound is below what the reference allows, by more than rounding."""
    allowed = np.asarray(allowed)
    return bool(np.any(np.asarray(claimed) < allowed - TOLERANCE * (1.0 + np.abs(allowed))))


class Programme:
    """Holds changing state: an algorithm, its reference, and what was checked so far.

    Args:
        name: Of NAMES.
        seed: Of everything that is drawn.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.rng = np.random.default_rng([NAMES.index(name), seed])
        self.arena = Arena(name, self.rng)
        self.is_ladder = name == "ladder"
        self.algorithm = self.arena.build()
        self.reference = Reference(self.arena.double)
        self.left = self.arena.C * self.rng.choice([0.0, 1.0, 4.0])  # for lies
        self.checked: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        """All steps; how many claims of each kind were checked."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)
            steps = [self.ask, self.tell, self.bring, self.forget, self.retract, self.swap]
            for k in range(1, N_STEPS + 1):
                self.rng.choice(steps, p=[0.38, 0.4, 0.08, 0.04, 0.05, 0.05])()
                self.check_bounds()
                if k % 5 == 0:
                    self.check_claims()
                    self.check_price()
        return self.checked

    # --- what is done

    def ask(self) -> None:
        if len(self.algorithm.pending) < N_OPEN:
            self.algorithm.ask()

    def tell(self) -> None:
        if query := self._open_query():
            words = self._reading()
            y = words.pop("y") + self.arena.f[query.index]
            self.algorithm.tell(query if self.rng.random() < 0.5 else query.t, y, **words)
            self._told(query.t, query.index, y, is_asked=True, **words)

    def bring(self) -> None:
        """A reading nobody asked for."""
        i = int(self.rng.integers(len(self.arena.X)))
        words = self._reading()
        y = words.pop("y") + self.arena.f[i]
        t = self.algorithm.tell(x=self.arena.X[i], y=y, **words)
        self._told(t, i, y, is_asked=False, **words)

    def forget(self) -> None:
        if query := self._open_query():
            self.algorithm.forget(query)
            self.reference.lose(query.t)

    def retract(self) -> None:
        if readings := self.algorithm.readings:
            t = readings[self.rng.integers(len(readings))].t
            self.algorithm.retract(t, unrelated_to_value=True)
            self.reference.retract(t, self._learners())

    def swap(self) -> None:
        """Go on with a copy."""
        state = self.algorithm.state()
        through_json = json.loads(json.dumps(state, default=np.ndarray.tolist))
        copies = [
            lambda: self.arena.build().restore(state),
            lambda: self.arena.build().restore(through_json),
            lambda: pickle.loads(pickle.dumps(self.algorithm)),
            lambda: copy.deepcopy(self.algorithm),
        ]
        twin = copies[self.rng.integers(len(copies))]()
        np.testing.assert_equal(everything(twin), everything(self.algorithm))
        self.algorithm = twin
        self.checked["copies"] += 1

    def _open_query(self) -> ub.Query | None:
        pending = self.algorithm.pending
        return pending[self.rng.integers(len(pending))] if pending else None

    def _reading(self) -> dict[str, Any]:
        """Noise, perhaps a lie, perhaps a noise_std of its own."""
        setting, rng = self.arena.setting, self.rng
        own = setting.noise_std * rng.choice([0.5, 1.0, 2.0]) if rng.random() < 0.3 else None
        lie = 0.0
        if rng.random() < 0.3:
            lie = rng.random() * min(self.left, setting.cap)
            self.left -= lie
        noise = (own or setting.noise_std) * rng.standard_normal()
        return {"y": noise + rng.choice([-1.0, 1.0]) * lie, "noise_std": own}

    def _told(self, t: int, i: int, y: float, noise_std: float | None, *, is_asked: bool) -> None:
        setting = self.arena.setting
        own = noise_std or setting.noise_std
        reading = naive.Reading(i, y, setting.lam * (own / setting.noise_std) ** 2, own)
        self.reference.tell(t, reading, is_asked, self._learners())

    def _learners(self) -> dict[int, str | None]:
        return {reading.t: reading.learner for reading in self.algorithm.readings}

    # --- what is claimed

    def check_bounds(self) -> None:
        """Of every instance and level: never tighter than allowed, nor wider if it was there first."""
        for label, allowed in self.reference.double.instances.items():
            if self.is_ladder and int(label.removeprefix("level-")) > len(self.algorithm.policy.begun):
                continue
            claimed = self.algorithm.policy.named(label)
            assert not tighter(claimed.ucb_bar, allowed.ucb_bar), label
            assert not tighter(-claimed.lcb_bar, -allowed.lcb_bar), label
            assert self.is_ladder or not tighter(allowed.ucb_bar, claimed.ucb_bar), label
            assert self.is_ladder or not tighter(-allowed.lcb_bar, -claimed.lcb_bar), label
            self.checked["bounds"] += 1

    def check_claims(self) -> None:
        """Intervals and certificates, at every level and against every threat."""
        usual = list(self.algorithm.policy.trust(None, None).labels)
        self._check_claim(usual, {})
        claimed = self.algorithm.bounds()
        allowed = self.reference.bounds(usual)
        if claimed is not None:
            assert not tighter(claimed[1], np.minimum(allowed.upper, allowed.B0))
            assert not tighter(-claimed[0], -np.maximum(allowed.lower, -allowed.B0))
        for k in self.rng.integers(len(self.arena.claims), size=2):
            threat, C = self.arena.claims[k]
            labels = self.reference.double.trusted(threat, C)
            if threat == "weak" and C is not None and "fast" in self.algorithm.instances:
                labels = ["fast", "slow", "all"]
            self._check_claim(labels, {"threat": threat, "C": C})

    def _check_claim(self, labels: list[str], words: dict[str, Any]) -> None:
        allowed = self.reference.bounds(labels)
        best = self.algorithm.recommend(**words)
        self._check_certificate(best.regret_bound, allowed, best.index)
        if best.lower is not None and not allowed.is_refuted:
            lower, upper = allowed.interval(best.index)
            assert not tighter(best.upper, upper)
            assert not tighter(-best.lower, -lower)
        hindsight = self.algorithm.regret_certificate(**words).value
        assert (hindsight is None) == (best.regret_bound is None)
        if hindsight is not None and not allowed.is_void:
            assert not tighter(hindsight, allowed.hindsight())
        for level in best.levels:
            trusted = self.reference.double.trusted(level.threat, level.C)
            self._check_certificate(
                level.regret_bound, self.reference.bounds(trusted), best.index, level
            )

    def _check_certificate(
        self, claimed: float | None, allowed: naive.Bounds, i: int, level: Any = None
    ) -> None:
        if level is None and self.algorithm.refuted is not None:
            assert claimed is None
        elif claimed is None:
            assert allowed.is_refuted
        elif not allowed.is_refuted:
            assert not tighter(claimed, allowed.certificate(i))
            assert self.is_ladder or not tighter(allowed.certificate(i), claimed)
            self.checked["certificates"] += 1

    def check_price(self) -> None:
        """Lies of that total leave no candidate better by more than eps, capped or not."""
        if not self.algorithm.readings:
            return
        setting, double = self.arena.setting, self.reference.double
        least = self.algorithm.price(0.0).least_eps
        eps = (least or 0.0) + self.rng.choice([-0.1, 0.1, 0.5]) * setting.B0
        price = self.algorithm.price(max(0.0, eps))
        top = list(double.instances)[-1]  # of levels that share one belief, or the one that holds it
        label = "all" if "all" in double.instances else top
        held = double.named(label)
        if self.reference.is_behind(label):
            assert price.value is None
        elif price.least_eps is not None and len(setting.K) > 1:
            found = naive.difference(setting, held.readings, price.index, held.delta)
            others = np.arange(len(setting.K)) != price.index
            assert not tighter(price.least_eps, found.upper(0.0, 1.0)[others].max())
            if price.value is None:
                assert price.least_eps > price.eps
                return
            for C, cap in ((price.value, setting.cap), (price.without_cap, math.inf)):
                assert not tighter(price.eps, found.upper(C, cap)[others].max())
                self.checked["prices"] += 1


def played(name: str, seed: int) -> Counter[str]:
    """A programme of that number; what was checked in it."""
    try:
        return Programme(name, seed).run()
    except Exception as error:
        error.add_note(f"programme {name} {seed}")
        raise
