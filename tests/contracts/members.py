"""The members every law is checked on: a new kernel, algorithm or player adds one line here.

No other test file has a list of algorithms (`house/test_one_list.py`): laws take theirs from here.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import unbribable as ub
from unbribable.lab import rivals
from unbribable.lab.rivals.optuna_players import OptunaTPE
from unbribable.lab.rivals.study_player import StudyPlayer

KERNELS: dict[str, Callable[[int], Any]] = {
    "se": lambda d: ub.SquaredExponential(0.4),
    "se-per-coordinate": lambda d: ub.SquaredExponential([0.3 + 0.2 * k for k in range(d)]),
    "matern-1/2": lambda d: ub.Matern(0.5, 0.7),
    "matern-3/2": lambda d: ub.Matern(1.5, [0.5 + 0.1 * k for k in range(d)]),
    "matern-5/2": lambda d: ub.Matern(2.5, 0.6),
    "matern-0.8": lambda d: ub.Matern(0.8, 0.6),
    "matern-7/2": lambda d: ub.Matern(3.5, 0.6),
    "matern-40": lambda d: ub.Matern(40.0, 0.6),
    "linear": lambda d: ub.Linear(2.0 * d**0.5),
    "linear-per-coordinate": lambda d: ub.Linear([2.0 * d**0.5 + k for k in range(d)]),
}
"""By name: a kernel for d coordinates, with k(x, x) <= 1 on [-2, 2]^d."""


class Member:
    """How one player of the list is built.

    Args:
        kind: Its class.
        takes: Which of C, T and seed it takes.
        trusted: The instances that its usual guarantee rests on. None: that depends on the C which
            `recommend` is asked about. (): on none by itself.
        words: Its other arguments.
    """

    def __init__(
        self, kind: Any, *takes: str, trusted: tuple[str, ...] | None = None, **words: Any
    ) -> None:
        self.kind, self.takes, self.trusted, self.words = kind, takes, trusted, words

    def __call__(
        self, domain: Any, assumptions: Any, C: Any = 3.0, T: Any = 100, seed: Any = 0, **words: Any
    ) -> Any:
        """A new one. `words` are further arguments, such as options."""
        given = {"C": C, "T": T, "seed": seed}
        own = {name: given[name] for name in self.takes}
        return self.kind(domain, assumptions, **own, **{**self.words, **words})


ALGORITHMS = {
    "gp-ucb": Member(ub.GPUCB, trusted=("main",)),
    "robust": Member(ub.RobustGPUCB, "C", trusted=("main",)),
    "fast-slow": Member(ub.FastSlowGPUCB, "C", "seed", trusted=("slow", "all")),
    "fast-slow-with-all": Member(ub.FastSlowGPUCB, "C", "seed", trusted=("slow", "all"), with_all=True),
    "fast-slow-dials": Member(
        ub.FastSlowGPUCB, "C", "seed", trusted=("slow", "all"), share=0.8, trust=0.3
    ),
    "ladder": Member(ub.LadderGPUCB),
    "quorum": Member(ub.QuorumGPUCB, "seed", trusted=(), n_lies=1),
    "layered": Member(ub.LayeredGPUCB, "T", "seed", with_all=False),
    "layered-with-all": Member(ub.LayeredGPUCB, "T", "seed"),
}
"""By name: the algorithms, which keep every law of the protocol."""


BY_INSTANCE = [name for name, member in ALGORITHMS.items() if member.trusted != ()]
"""Those that choose and guarantee by the bounds of single instances."""


def _example(module: str, name: str) -> Any:
    """A class of an example, which is not on the path."""
    file = Path(__file__).parents[2] / "examples" / f"{module}.py"
    spec = importlib.util.spec_from_file_location(f"example_{module}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return getattr(found, name)


EpsilonGreedy = _example("own_player", "EpsilonGreedy")

RIVALS: dict[str, Member] = {
    "random-search": Member(rivals.RandomSearch, "seed"),
    "clipped": Member(rivals.ClippedGPUCB, "T", n_lies=2),
    "cw": Member(rivals.CWGPUCB, "C"),
    "cw-closed": Member(rivals.CWGPUCB, "C", width="closed", rule="before", noise="paper"),
    "cw-unknown": Member(rivals.CWGPUCB, "T", Cbar="balanced"),
    "rgp-pe": Member(rivals.RGPPE, "C"),
    "rgp-pe-practical": Member(rivals.RGPPE, "C", width="practical"),
    "rgp-pe-random": Member(rivals.RGPPE, "C", "seed", order="random"),
    "rcgp-online": Member(rivals.RCGPUCB),
    "rcgp-anchored": Member(rivals.RCGPUCB, "T", centre="anchored"),
    "rcgp-fixed": Member(rivals.RCGPUCB, "T", centre="fixed", width="ours", n_lies=2),
    "median": Member(rivals.MedianUCB),
    "student-t": Member(rivals.StudentTUCB),
    "diagnostics": Member(rivals.DiagnosticsUCB),
    "relevance-pursuit": Member(rivals.RelevancePursuitUCB),
}
"""By name: the rivals. Those that promise nothing say so."""

PLAYERS = {
    **ALGORITHMS,
    **RIVALS,
    "optuna-tpe": Member(OptunaTPE, "seed"),
    "study": Member(StudyPlayer, "T", "seed"),
    "epsilon-greedy": Member(EpsilonGreedy, "seed", epsilon=0.3),
    "own-random-search": Member(EpsilonGreedy, "seed", epsilon=1.0),
}
"""By name: all of them, and a user's own. All keep a player's laws."""


def algorithms(**given: Any) -> dict[str, Callable[..., Any]]:
    """The algorithms by name, built with these arguments unless a call says otherwise.

    Args:
        given: domain, assumptions, options; C, T and seed for those that take them.
    """
    return {name: partial(build, **given) for name, build in ALGORITHMS.items()}
