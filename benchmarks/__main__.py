"""Run every measurement, print the tables and write them to benchmarks/results.md."""

import math
import platform
import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

import unbribable as ub
from benchmarks.bribes import Audited, Priced
from benchmarks.few_lies import N_LIES, FewLies
from benchmarks.games import bare_loop, sweep_overhead, whole_game
from benchmarks.house import house
from benchmarks.measure import exponent, medians, peak_memory, seconds
from benchmarks.peers import PEERS
from benchmarks.problem import Problem
from benchmarks.rounds import follow, play_distinct, seconds_a_round
from unbribable.decision.algorithm import Algorithm

RESULTS = Path(__file__).parent / "results.md"
Row = tuple[str, ...]


def table(header: Row, rows: list[Row]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(value: float, target: float, *, at_most: bool = False) -> str:
    """Whether a target is met."""
    is_met = value <= target if at_most else value >= target
    return f"{'at most' if at_most else 'at least'} {target:g}: {'met' if is_met else 'NOT met'}"


def against_peers() -> str:
    """GP-UCB with fixed beta against the same loop in scikit-learn and BoTorch; same queries."""
    problem = Problem(2025)
    targets = {"scikit-learn": 100.0, "BoTorch": 300.0}
    rows: list[Row] = []
    n_plays = 10  # ours is short: a turn plays it ten times
    for T, repeats in ((100, 3), (300, 3), (900, 1)):
        queries: dict[str, list[int]] = {}

        def ours(T: int = T, queries: dict[str, list[int]] = queries) -> None:
            for _ in range(n_plays):
                learner = ub.GPUCB(problem.domain, problem.assumptions, beta=2.0)
                queries["ours"] = problem.play(learner, T)

        jobs: dict[str, Callable[[], object]] = {"ours": ours}
        for name, loop in PEERS.items():

            def peer(name: str = name, loop=loop, T: int = T, queries=queries) -> None:  # type: ignore[no-untyped-def]
                queries[name] = loop(problem, T)

            jobs[name] = peer
        ours()  # warm-up of imports and caches
        times = medians(jobs, repeats)
        own = times["ours"] / n_plays
        for name in PEERS:
            same = sum(a == b for a, b in zip(queries["ours"], queries[name], strict=True))
            ratio = times[name] / own
            goal = verdict(ratio, targets[name]) if T == 300 else ""
            rows.append(
                (name, f"{T}", f"{same} of {T}", f"{times[name]:.2f} s", f"{own * 1e3:.1f} ms",
                 f"{ratio:.0f}x", goal)
            )  # fmt: skip
    header = ("peer", "T", "same queries", "its time", "our time", "ratio", "target")
    return "## GP-UCB, fixed beta, n = 2 025\n\n" + table(header, rows)


def robust() -> str:
    """Algorithm 1 with the exact width against scikit-learn's plain loop and the paper's width."""
    problem = Problem(2025)
    T, C = 300, 20.0

    def new(width: str) -> ub.RobustGPUCB:
        return ub.RobustGPUCB(problem.domain, problem.assumptions, C=C, width=width)

    queries = problem.play(new("exact"), T)
    times = medians(
        {
            "exact": lambda: problem.play(new("exact"), T),
            "scikit-learn": lambda: PEERS["scikit-learn"](problem, T),
            "exact, same points": lambda: follow(new("exact"), problem, queries),
            "paper, same points": lambda: follow(new("paper"), problem, queries),
        },
        repeats=7,
    )
    faster = times["scikit-learn"] / times["exact"]
    slower = times["exact, same points"] / times["paper, same points"]
    rows: list[Row] = [
        (
            "scikit-learn's plain GP-UCB loop / ours with the exact width",
            f"{times['scikit-learn']:.2f} s",
            f"{times['exact']:.2f} s",
            f"{faster:.1f}x",
            verdict(faster, 8.0),
        ),
        (
            f"exact width / paper's width, m = {len(set(queries))} in both",
            f"{times['exact, same points']:.2f} s",
            f"{times['paper, same points']:.2f} s",
            f"{slower:.1f}x",
            verdict(slower, 2.5, at_most=True),
        ),
    ]
    header = ("what", "first", "second", "ratio", "target")
    return f"## RobustGPUCB, n = 2 025, T = {T}, C = {C:g}\n\n" + table(header, rows)


def long_runs() -> str:
    """20 000 rounds on 100 candidates, default widths, in turns of 500; medians of the turns' ratios."""
    problem = Problem(100)
    T, C = 20_000, 50.0
    domain, assumptions = problem.domain, problem.assumptions
    learners: dict[str, tuple[Algorithm, str, float]] = {  # and its target: at most so many times whom
        "GPUCB": (ub.GPUCB(domain, assumptions), "GPUCB", 3.0),
        "RobustGPUCB": (ub.RobustGPUCB(domain, assumptions, C=C), "GPUCB", 3.0),
        "FastSlowGPUCB": (ub.FastSlowGPUCB(domain, assumptions, C=C, seed=0), "GPUCB", 3.0),
        "LayeredGPUCB, with_all=False": (
            ub.LayeredGPUCB(domain, assumptions, T=T, seed=0, with_all=False), "GPUCB", 3.0
        ),
        "LayeredGPUCB, with_all=True": (
            ub.LayeredGPUCB(domain, assumptions, T=T, seed=0, with_all=True), "RobustGPUCB", 2.5
        ),
        "LadderGPUCB": (ub.LadderGPUCB(domain, assumptions), "RobustGPUCB", 2.5),
    }  # fmt: skip
    turns: dict[str, list[float]] = {name: [] for name in learners}
    for start in range(0, T, 500):
        for name, (learner, _, _) in learners.items():
            turns[name].append(seconds(partial(problem.play, learner, start + 500, start=start)))

    def ratio(name: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(turns[name], turns[other], strict=True))

    rows: list[Row] = [
        (name, f"{sum(turns[name]):.1f} s", f"{sum(turns[name]) / T * 1e6:.0f} us",
         f"{ratio(name, 'GPUCB'):.2f}x", f"{ratio(name, 'RobustGPUCB'):.2f}x",
         f"{verdict(ratio(name, other), target, at_most=True)} (to {other})")
        for name, (_, other, target) in learners.items()
    ]  # fmt: skip
    header = ("learner", "time", "a round", "to GP-UCB", "to RobustGPUCB", "target")
    return f"## {T} rounds on 100 candidates, default widths, C = {C:g}\n\n" + table(header, rows)


def throughput() -> str:
    """A simulated game against the bare ask/tell loop, and the overhead of a sweep."""
    T = 20_000
    record = whole_game(T)
    times = medians({"game": partial(whole_game, T), "bare": partial(bare_loop, T, record)}, 1)
    ratio = times["game"] / times["bare"]
    own, swept = sweep_overhead(4_000, 4)
    overhead = 100.0 * (swept / own - 1.0)
    rows: list[Row] = [
        (
            f"{T} rounds, 100 candidates, exact width: game / bare loop told the same",
            f"{times['game']:.1f} s",
            f"{times['bare']:.1f} s",
            f"{ratio:.2f}x",
            verdict(ratio, 3.0, at_most=True),
        ),
        (
            "a run in a sweep / its rounds alone",
            f"{swept:.2f} s",
            f"{own:.2f} s",
            f"+{overhead:.1f} %",
            verdict(overhead, 10.0, at_most=True),
        ),
    ]
    header = ("what", "first", "second", "ratio", "target")
    return "## Games and sweeps\n\n" + table(header, rows)


def many_readings() -> str:
    """The cost of a round after 1 000 and after 5 000 readings, n = 10 000."""
    problem = Problem(10_000)
    algorithm = ub.GPUCB(problem.domain, problem.assumptions, beta=2.0)
    found = {}
    for until in (1_000, 5_000):
        problem.play(algorithm, until, start=algorithm.t)
        times = []
        for t in range(until, until + 7 * 64, 64):
            block = partial(problem.play, algorithm, t + 64, start=t)
            times.append(seconds(block) / 64)
        found[until] = (statistics.median(times), algorithm.instances["main"].posterior.m)
    ratio = found[5_000][0] / found[1_000][0]
    rows: list[Row] = [
        (f"{until}", f"{m}", f"{time * 1e6:.0f} us") for until, (time, m) in found.items()
    ]
    text = f"Ratio {ratio:.2f}x; target {verdict(ratio, 1.5, at_most=True)}."
    header = ("after readings", "m", "a round")
    return "## GP-UCB, fixed beta, n = 10 000\n\n" + table(header, rows) + "\n\n" + text


def growth() -> str:
    """How the time of a round and the memory grow with n, t and m: fitted exponents."""
    rows: list[Row] = []
    ns, ms, ts = (2_000, 8_000, 32_000), (50, 200, 800), (100, 1_000, 10_000)
    times = []
    for n in ns:
        problem = Problem(n)
        algorithm = ub.GPUCB(problem.domain, problem.assumptions, beta=2.0)
        play_distinct(algorithm, problem, 200)
        times.append(seconds_a_round(algorithm, problem, 0))
    rows.append(("time, n", f"{ns}", "m = 200", _list(times, 1e6, "us"), f"{exponent(ns, times):.2f}"))
    times = []
    problem = Problem(8_000)
    for m in ms:
        algorithm = ub.GPUCB(problem.domain, problem.assumptions, beta=2.0)
        play_distinct(algorithm, problem, m)
        times.append(seconds_a_round(algorithm, problem, 0))
    rows.append(("time, m", f"{ms}", "n = 8 000", _list(times, 1e6, "us"), f"{exponent(ms, times):.2f}"))
    times = []
    algorithm = ub.GPUCB(problem.domain, problem.assumptions, beta=2.0)
    play_distinct(algorithm, problem, 50)
    for t in ts:
        while algorithm.t < t:
            algorithm.tell(x=problem.X[algorithm.t % 50], y=0.0)
        times.append(seconds_a_round(algorithm, problem, 0))
    rows.append(
        ("time, t", f"{ts}", "n = 8 000, m = 50", _list(times, 1e6, "us"), f"{exponent(ts, times):.2f}")
    )
    body = (
        "p = Problem({n}); a = ub.GPUCB(p.domain, p.assumptions, beta=2.0); "
        "play_distinct(a, p, {m}); m = a.instances['main'].posterior.m"
    )
    for name, cases in {
        "memory, n": [(n, 200) for n in (64_000, 128_000, 256_000)],
        "memory, m": [(64_000, m) for m in (120, 480, 960)],
    }.items():
        used = []
        for n, m in cases:
            peak, before, _ = peak_memory(body.format(n=n, m=m))
            used.append(peak - before)
        axis = [case[0 if name.endswith("n") else 1] for case in cases]
        fixed = "m = 200" if name.endswith("n") else "n = 64 000"
        rows.append(
            (name, f"{tuple(axis)}", fixed, _list(used, 1.0, "MB"), f"{exponent(axis, used):.2f}")
        )
    header = ("what grows with", "values", "at", "measured", "exponent")
    return "## Growth (GP-UCB, fixed beta)\n\n" + table(header, rows)


def large() -> str:
    """Peak memory of GP-UCB with 100 000 candidates and 1 000 rounds."""
    peak, before, m = peak_memory(
        "p = Problem(100_000); a = ub.GPUCB(p.domain, p.assumptions, beta=2.0); p.play(a, 1_000); "
        "m = a.instances['main'].posterior.m"
    )
    worst, _, worst_m = peak_memory(
        "p = Problem(100_000, lengthscale=0.01); a = ub.GPUCB(p.domain, p.assumptions, beta=2.0); "
        "p.play(a, 1_000); m = a.instances['main'].posterior.m"
    )
    rows: list[Row] = [
        ("lengthscale 0.2", f"{m}", f"{peak:.0f} MB", verdict(peak, 2_000.0, at_most=True)),
        ("lengthscale 0.01", f"{worst_m}", f"{worst:.0f} MB", verdict(worst, 2_000.0, at_most=True)),
    ]
    text = f"The process has {before:.0f} MB before the run begins."
    header = ("problem", "m", "peak memory", "target")
    return "## n = 100 000, T = 1 000, GP-UCB\n\n" + table(header, rows) + "\n\n" + text


def bribes() -> str:
    """What a summary asks about its recommendation, and an audit about its readings."""
    priced = Priced()
    certificate, value, _ = priced.ask()
    rows: list[Row] = [
        (
            "certificate, price and cheapest bribe, n = 10 000, m = 500",
            f"C = 20: {certificate:.3g}, and back: {value:.3g}",
            f"{(time := seconds(priced.ask)):.2f} s",
            verdict(time, 1.0, at_most=True),
        )
    ]
    for m, target in ((20, 1.0), (482, 10.0)):
        audited = Audited(m)
        least, planted = audited.least(), float(audited.lies.sum())
        rows.append(
            (
                f"least corruption, 1 000 readings of {m} points",
                f"{least:.1f} of the {planted:.1f} told",
                f"{(time := seconds(audited.least)):.2f} s",
                verdict(time, target, at_most=True),
            )
        )
    header = ("what", "found", "time", "target in s")
    return "## The price of a bribe, and the least corruption\n\n" + table(header, rows)


def few_lies() -> str:
    """A round of QuorumGPUCB, told four lies, and the worst case for 0 to 5 lies."""
    problem = FewLies()
    rows: list[Row] = []
    for T in (100, 300):
        times = problem.rounds(T)
        for name, goal in (("honest", 10.0), ("lied to", math.inf)):
            ratio = times[name] / times["GPUCB"]
            words = verdict(ratio, goal, at_most=True) if goal < math.inf else ""
            rows.append(
                (f"a round of {T}, {name} / GP-UCB's", f"{times[name] * 1e6:.0f} us",
                 f"{times['GPUCB'] * 1e6:.0f} us", f"{ratio:.1f}x", words)
            )  # fmt: skip
    for t, goal in ((60, 0.5), (200, 5.0)):
        for is_lied_to in (False, True):
            time, intervals = problem.worst_case(t, is_lied_to=is_lied_to)
            known = [f"{k}: {i[0]:.2f} to {i[1]:.2f}" for k, i in enumerate(intervals) if i is not None]
            who = f"{N_LIES} of them lies" if is_lied_to else "all honest"
            rows.append(
                (f"worst case for 0 to 5 lies, {t} readings, {who}", f"{time:.2f} s", ", ".join(known),
                 "", f"{verdict(time, goal, at_most=True)} (s)")
            )  # fmt: skip
    header = ("what", "first", "second", "ratio", "target")
    return "## QuorumGPUCB, n = 201, four lies\n\n" + table(header, rows)


def _list(values: list[float], scale: float, unit: str) -> str:
    return ", ".join(f"{value * scale:.0f}" for value in values) + f" {unit}"


def main() -> None:
    """Everything, or the parts named on the command line."""
    parts = [
        against_peers,
        robust,
        long_runs,
        throughput,
        many_readings,
        growth,
        large,
        bribes,
        few_lies,
        house,
    ]
    chosen = [part for part in parts if part.__name__ in sys.argv[1:]] or parts
    versions = ", ".join(
        f"{name} {version(name)}"
        for name in ("numpy", "scipy", "clarabel", "scikit-learn", "botorch", "torch")
    )
    head = (
        "# Speed and memory\n\nWritten by `make bench`; medians, one BLAS thread, all of one table "
        f"measured in one run. Python {platform.python_version()}, {versions}.\n"
    )
    sections = []
    with threadpool_limits(1):
        for part in chosen:
            sections.append(part())
            print(sections[-1], flush=True)
            print(flush=True)
    if chosen == parts:
        by_hand = RESULTS.read_text().partition("## Long histories")  # from benchmarks.ask
        RESULTS.write_text("\n\n".join([head.rstrip(), *sections, "".join(by_hand[1:])]).rstrip() + "\n")


if __name__ == "__main__":
    main()
