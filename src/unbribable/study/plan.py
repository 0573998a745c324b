"""What a run is about, before any reading: plain values that can be stored and compared."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.draws import Seed
from unbribable.decision.policies.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.policies.ladder import LadderGPUCB
from unbribable.decision.policies.quorum import QuorumGPUCB
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel
from unbribable.theory.assumptions import Assumptions

SHARE = 0.1
"""Share of the readings that may be lies where nothing else is said."""

OF_LIES = ("corruption", "lies")
"""What may be said of the lies: one of these."""

UNKNOWN = "unknown"

N_DEALT = 20
"""Lies up to which readings are dealt into hands where a heuristic chooses the points. What is printed
rests on leaving readings out; with more lies the algorithm only holds the readings, and its bounds say
no more than |f| <= B0, whatever the lies."""

ANYTHING = 1e150
"""More than any lie that is taken, in units of B0: a finite number, so that nothing overflows."""

DELTA = 0.1
"""Probability with which the guarantee may fail where nothing else is said."""

EXPLORE = 2.0
"""Where the model is fitted and nothing else is said."""

_LIMITS: dict[str, dict[str, Any]] = {
    "noise_std": {"at_least": 0.0},
    "B": {"above": 0.0},
    "delta": {"above": 0.0, "below": 1.0},
    "explore": {"at_least": 0.0},
}


LATER: dict[str, Any] = {"confirm": 0, "drift": False, "reading_range": None}
"""Fields of a plan that older files and studies do not have, and what they meant by that."""


class Settings(TypedDict, total=False):
    """What `maximize` and the Optuna sampler let the user say; None, or left out, is the default."""

    corruption: float | str | None
    lies: float | None
    assumptions: Assumptions | None
    kernel: Kernel | None
    noise_std: float | None
    B: float | None
    delta: float | None
    n_init: int | None
    explore: float | None
    reading_range: tuple[float, float] | None
    drift: bool | None


_HELP = """corruption: Upper bound on the sum of all lies in absolute value: a number (Algorithm 1), 0 if
            there are none (GP-UCB), or "unknown" (the ladder, which needs no such number).
        lies: Instead: how many readings may be lies, those you brought along included: a number
            such as 3, or a share such as 0.1, but at least one. They may be of any size (QuorumGPUCB).
            Where neither is given, 0.1.
        assumptions: What the guarantee rests on. If None, kernel, noise and B are fitted to the
            readings of an initial design, by a criterion that single lies hardly move, and again as
            more readings arrive; the guarantee then holds only if the fit is right.
        kernel: Kernel of f itself, kept while the rest is fitted. On a box, and for named parameters,
            it sees the unit cube; a choice among more than two takes one coordinate per option.
        noise_std: Standard deviation of the noise, kept while the rest is fitted.
        B: Bound on the RKHS norm of f itself, and so on |f|, kept while the rest is fitted.
        delta: Probability with which the guarantee may fail, 0.1 by default; assumptions bring theirs.
        n_init: Readings of the initial design, 2 d + 4 by default; none where assumptions are given.
        explore: Points are chosen by a heuristic that needs far fewer rounds than the worst case: it
            maximises mean + explore * standard deviation over many hypotheses about f and the lies. The
            algorithm that `corruption` names learns the same readings, and its intervals and
            certificates hold for any choice. None: 2 where the model is fitted; where assumptions are
            given, the algorithm chooses the points itself, as the theorems require.
        reading_range: The lowest and the highest value that f can have, and that an honest reading can
            have. A reading outside is false for certain, whatever else is said, and counts as a lie;
            nothing is learned from it. Worst cases and certificates end there.
        drift: Whether the instrument may drift slowly, by the number of the round. What it adds to the
            readings is estimated, and f is what an average reading is of. The guarantee then
            supposes that this estimate is right, and needs lies that are counted (`lies`)."""

Documented = TypeVar("Documented", bound=Callable[..., Any])


def with_settings(target: Documented) -> Documented:
    """Spell out the settings in the help and the signature of a function or class that takes them.

    The docstring has `{settings}` in their place, the signature `**settings: Unpack[Settings]`.
    """
    if target.__doc__ is not None:  # as under python -OO
        target.__doc__ = target.__doc__.replace("{settings}", _HELP)
    signature = inspect.signature(target)
    *others, _ = signature.parameters.values()
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, hint in Settings.__annotations__.items()
    ]
    target.__signature__ = signature.replace(parameters=[*others, *named])  # type: ignore[attr-defined]
    return target


@dataclass(frozen=True)
class Plan:
    """How a run is to be done; amounts are in the units of the readings.

    The fields are what `maximize` explains under the same names. None was replaced by a default in
    `lies`, where nothing else is said of lies, and in `explore`, where None means that the algorithm
    chooses the points, and a number is the beta of the heuristic. Without n_rounds there are as many
    rounds as are asked for. The last `confirm` of n_rounds read the recommended point.
    """

    n_rounds: int | None = None
    corruption: float | str | None = None
    lies: float | None = None
    direction: str = "maximize"
    assumptions: Assumptions | None = None
    kernel: Kernel | None = None
    noise_std: float | None = None
    B: float | None = None
    delta: float | None = None
    n_init: int | None = None
    explore: float | None = EXPLORE
    reading_range: tuple[float, float] | None = None
    drift: bool = False
    confirm: int = 0

    @classmethod
    def of(
        cls, n_rounds: int | None, settings: Settings, direction: str = "maximize", confirm: int = 0
    ) -> "Plan":
        """From what a user says."""
        unknown = sorted(settings.keys() - Settings.__annotations__.keys())
        if unknown:
            raise TypeError(f"keywords must be among {[*Settings.__annotations__]}, got {unknown}")
        words: dict[str, Any] = {**settings}
        if words.get("explore") is None:
            words["explore"] = EXPLORE if words.get("assumptions") is None else None
        if words.get("drift") is None:
            words["drift"] = False
        return cls(n_rounds, direction=direction, confirm=confirm, **words)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.generic):  # plain numbers can be stored
                object.__setattr__(self, name, value.item())
        if self.n_rounds is not None:
            checks.integer("n_rounds", self.n_rounds, at_least=1)
        said = [name for name in OF_LIES if getattr(self, name) is not None]
        if len(said) > 1:
            values = ", ".join(f"{name}={getattr(self, name)!r}" for name in said)
            raise ValueError(f"{' and '.join(said)} exclude each other, got {values}")
        if not said:
            object.__setattr__(self, "lies", SHARE)
        elif self.lies is not None:
            number = checks.real("lies", self.lies)
            if not (0.0 < number < 1.0 if isinstance(self.lies, float) else number >= 0.0):
                raise ValueError(
                    "lies must be a whole number of readings >= 0, or a share of them > 0 and < 1, got "
                    f"lies={self.lies!r}"
                )
        if isinstance(self.corruption, str):
            if self.corruption != UNKNOWN:
                raise ValueError(
                    f"corruption must be a number in the units of f, or {UNKNOWN!r}, got "
                    f"corruption={self.corruption!r}; the number or share of lies is lies="
                )
        elif self.corruption is not None:
            hint = f"; {UNKNOWN!r} is allowed too"
            checks.real("corruption", self.corruption, at_least=0.0, hint=hint)
        if checks.truth("drift", self.drift):
            self.check_counted("drift=True")
        checks.choice("direction", self.direction, ("maximize", "minimize"))
        for name, limits in _LIMITS.items():
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), **limits)
        if self.n_init is not None:
            checks.integer("n_init", self.n_init, at_least=1)
        if checks.integer("confirm", self.confirm, at_least=0) and self.n_rounds is None:
            raise ValueError(
                f"confirm must be 0 where n_rounds is not said, got confirm={self.confirm}; those are "
                "the last ones of n_rounds"
            )
        if self.assumptions is not None:
            if not isinstance(self.assumptions, Assumptions):
                raise TypeError(f"assumptions must be Assumptions, got {self.assumptions!r}")
            names = ("kernel", "noise_std", "B", "delta")
            given = [name for name in names if getattr(self, name) is not None]
            if given:
                raise ValueError(f"assumptions say {given} already, got them besides")
            if self.corruption == UNKNOWN and np.isinf(self.assumptions.c_max):
                raise ValueError("c_max must be finite where the corruption is unknown, got c_max=inf")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got kernel={self.kernel!r}")
        if self.reading_range is not None:
            object.__setattr__(self, "reading_range", _range(self.reading_range))
            self._check_range(*self.reading_range)

    def check_counted(self, what: str) -> None:
        """Refuse what readings share besides f where lies are not counted: no guarantee holds then."""
        if self.lies is None:
            raise ValueError(
                f"{what} needs lies that are counted (lies=3, lies=0.1, or lies=0 for none), since no "
                "guarantee for a total of lies holds where readings share an offset, got "
                f"corruption={self.corruption!r}"
            )

    # --- which algorithm follows ---------------------------------------------------------------

    def algorithm(
        self, domain: Grid | Box, assumed: Assumptions, scale: float, n_lies: int, seed: Seed
    ) -> Algorithm:
        """The algorithm whose bounds hold, before its first reading.

        Args:
            domain: Where to search.
            assumed: In units of the model.
            scale: Such a unit, in the user's.
            n_lies: How many readings may be lies, where lies are counted.
            seed: Of the hands that get readings of points which the algorithm did not choose.
        """
        if self.corruption == UNKNOWN:
            return LadderGPUCB(domain, assumed)
        if self.corruption is None:
            if self.explore is None or n_lies <= N_DEALT:
                return QuorumGPUCB(domain, assumed, n_lies=n_lies, seed=seed)
            return RobustGPUCB(domain, assumed, C=ANYTHING * assumed.B0)
        if self.corruption == 0:
            return GPUCB(domain, assumed)
        return RobustGPUCB(domain, assumed, C=float(self.corruption) / scale)

    def n_lies(self, n_readings: int) -> int:
        """How many of so many readings may be lies, where `lies` says so."""
        assert self.lies is not None
        n_lies = int(self.lies)
        if isinstance(self.lies, float):
            n_lies = max(1, int(self.lies * n_readings + 1e-9))  # 0.29 * 100 is a little less than 29
        return min(n_lies, n_readings)

    # --- which readings there can be -----------------------------------------------------------

    def reading(self, name: str, value: Any) -> float:
        """A reading, checked. Where a range is given it may be any number but NaN.

        Raises:
            TypeError, ValueError: It is none.
        """
        if self.reading_range is None:
            return checks.reading(name, value)
        try:
            return checks.reading(name, value)
        except ValueError:
            number = checks.number_of(value)
            if number is None or math.isnan(number):
                raise
            return number

    def sem(self, value: Any) -> float | None:
        """The standard deviation of the noise of a reading, checked; None where it is not known.

        Raises:
            TypeError, ValueError: It is none, or there is no noise.
        """
        if value is None:
            return None
        sem = checks.real("sem", value, above=0.0, at_most=checks.LARGEST_READING)
        noise_std = self.noise_std if self.assumptions is None else self.assumptions.noise_std
        if noise_std == 0.0:
            raise ValueError(
                f"sem must be left out where noise_std=0 says that all is exact, got {sem=}"
            )
        return sem

    def is_false(self, y: float) -> bool:
        """Whether no honest reading can be that, by what the user states."""
        if self.reading_range is None:
            return False
        low, high = self.reading_range
        return not low <= y <= high

    def nearest(self, y: float) -> float:
        """The possible reading that is nearest to this one.

        What is learned in place of a false one: a projection onto an interval that holds the honest
        value takes no reading further from that, so there are no more lies, each is at most as large,
        and so is their sum. Whatever holds against so many, or so much, still holds.
        """
        if self.reading_range is None:
            return y
        low, high = self.reading_range
        return min(max(y, low), high)

    # --- what follows from the rest ------------------------------------------------------------

    def n_design(self, d: int) -> int:
        """Readings of the initial design: none where everything is assumed already."""
        n, n_init = self.n_rounds, self.n_init
        if n_init is not None:
            return n_init if n is None else min(n_init, n)
        if self.assumptions is not None:
            return 0
        return 2 * d + 4 if n is None else min(2 * d + 4, max(1, n // 2))

    def check_confirm(self, d: int) -> None:
        """Refuse rounds that confirm while the initial design is not read."""
        n, n_design = self.n_rounds, self.n_design(d)
        if n is not None and self.confirm > n - n_design:
            raise ValueError(
                f"confirm must be <= {n - n_design}, the rounds that n_rounds={n} leaves after "
                f"{n_design} of the initial design, got confirm={self.confirm}"
            )

    def confirms(self, n_before: int) -> bool:
        """Whether the round after so many of n_rounds reads the recommended point."""
        return self.n_rounds is not None and self.n_rounds - self.confirm <= n_before < self.n_rounds

    @property
    def fitted(self) -> tuple[str, ...]:
        """What a guarantee rests on and the user did not give. Where B is given, |f| <= B0 = B."""
        if self.assumptions is not None:
            return ()
        given = {"kernel": self.kernel, "noise": self.noise_std, "B": self.B, "B0": self.B}
        return tuple(name for name, value in given.items() if value is None)

    @property
    def given(self) -> tuple[str, ...]:
        """What of it the user did give, where not all."""
        if self.assumptions is not None:
            return ()
        B = "B (so B0 = B)" if self.B is not None else "B"
        return tuple(
            B if name == "B" else name for name in ("kernel", "noise", "B") if name not in self.fitted
        )

    def _check_range(self, low: float, high: float) -> None:
        """Refuse a range that leaves f no value within the bounds on |f| that are given."""
        known = {"B": self.B} if self.assumptions is None else {"B0": self.assumptions.B0}
        for name, bound in known.items():
            if bound is not None and (low > bound or high < -bound):
                raise ValueError(
                    f"reading_range must hold a value that f can have, from -{name} to {name}, got "
                    f"reading_range={(low, high)} with {name}={bound!r}"
                )

    @property
    def sign(self) -> float:
        """-1 where the user minimises: inside, everything is maximised."""
        return 1.0 if self.direction == "maximize" else -1.0

    def to_plain(self) -> dict[str, Any]:
        """JSON-able; a kernel of ours by name and fields, any other by its repr."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.kernel is not None:
            plain["kernel"] = self.kernel.to_plain()
        if self.assumptions is not None:
            kernel = self.assumptions.kernel.to_plain()
            plain["assumptions"] = {**self.assumptions.to_plain(), "kernel": kernel}
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Plan":
        """Back from `to_plain`, for kernels of ours."""
        fields = dict(plain)
        if fields.get("reading_range") is not None:
            fields["reading_range"] = tuple(fields["reading_range"])
        if fields.get("kernel") is not None:
            fields["kernel"] = Kernel.from_plain(fields["kernel"])
        if fields.get("assumptions") is not None:
            values = dict(fields["assumptions"])
            values["kernel"] = Kernel.from_plain(values["kernel"])
            values["c_max"] = math.inf if values["c_max"] == "inf" else values["c_max"]
            fields["assumptions"] = Assumptions(**values)
        return cls(**fields)


def _range(given: Any) -> tuple[float, float]:
    """The two ends of a range of readings, checked."""
    try:
        low, high = given
    except (TypeError, ValueError):
        raise TypeError(
            f"reading_range must be a pair (low, high), got reading_range={given!r}"
        ) from None
    largest = checks.LARGEST_READING
    ends = [checks.real("reading_range", end, at_least=-largest, at_most=largest) for end in (low, high)]
    if not ends[0] < ends[1]:
        raise ValueError(f"reading_range must have low < high, got reading_range={given!r}")
    return ends[0], ends[1]
