"""Seconds and megabytes, measured so that ratios mean something on a noisy machine."""

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence


def seconds(job: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def medians(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median time of each job; the jobs take turns, so that a slow minute hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            times[name].append(seconds(job))
    return {name: statistics.median(values) for name, values in times.items()}


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope of ln y against ln x by least squares."""
    log_x, log_y = [math.log(v) for v in x], [math.log(v) for v in y]
    return statistics.linear_regression(log_x, log_y).slope


_CHILD = """
import threadpoolctl
threadpoolctl.threadpool_limits(1)
import numpy as np
import unbribable as ub
from benchmarks.problem import Problem
from benchmarks.rounds import play_distinct
def peak():
    # of this process alone; ru_maxrss would include what the parent held when it started this one
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
{body}
print(peak(), before, m)
"""


def peak_memory(body: str) -> tuple[float, float, int]:
    """Peak resident megabytes of a fresh process that runs `body`, before it, and the m it sets."""
    out = subprocess.run(
        [sys.executable, "-c", _CHILD.format(body=body)], capture_output=True, text=True, check=True
    )
    peak, before, m = out.stdout.split()
    return int(peak) / 1024, int(before) / 1024, int(m)
