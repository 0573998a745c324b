"""Runs on Dask: a cluster on this machine, or one that is there already."""

import logging
import signal
import traceback
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from unbribable.extras import needed
from unbribable.lab.runs.experiment import Run
from unbribable.lab.runs.hanging import run_or_end

_CONFIG = {
    "distributed.scheduler.worker-saturation": 1.0,  # so that no queued neighbour of a run that
    "distributed.scheduler.allowed-failures": 3,  # kills its worker is blamed for it
    "distributed.scheduler.worker-ttl": None,  # a long linear algebra call is not a dead worker
}
_WINDOW = 256
"""Runs handed to the scheduler at a time, at least."""


def play_on_dask(
    runs: Sequence[Run], out: str, *, n_workers: int, scheduler: str | None
) -> Iterator[tuple[Run, str | None]]:
    """Play the runs in any order; for each the run and None, or what went wrong.

    A run whose worker dies is played again on another one; one that has killed four is given up, and one
    that hangs past its time limit is given up with the first.
    Leaving the iterator early cancels what is left.

    Raises:
        ModuleNotFoundError: The extra is not installed; the message has the line that installs it.
        ValueError: That is not the address of a scheduler.
        OSError: Nobody answers there.
        RuntimeError: The scheduler is gone.
    """
    dask, distributed = (needed("a sweep needs", name, "sweep") for name in ("dask", "distributed"))
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_CONFIG))
        if scheduler is None:
            with _uninterrupted():
                cluster = distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL + 1,
                )
                stack.enter_context(cluster)
                client = stack.enter_context(distributed.Client(cluster))
        else:
            # Dask's own tracebacks of a lost connection: what they mean is raised.
            stack.enter_context(distributed.utils.silence_logging_cmgr(logging.CRITICAL + 1))
            try:
                client = stack.enter_context(distributed.Client(scheduler, timeout=20))
            except ValueError as error:
                raise ValueError(
                    "scheduler must be the address of a Dask scheduler, such as tcp://head:8786, "
                    f"got scheduler={scheduler!r}: {error}"
                ) from error
        yield from _play(client, distributed.as_completed, runs, out)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is through, and for good from the workers started in it.

    The terminal sends it to the whole group, but the driver alone decides what it means. A thread
    or process begins with the signals blocked of the thread that started it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it starts within, and unblocks what is blocked here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _play(
    client: Any, as_completed: Any, runs: Sequence[Run], out: str
) -> Iterator[tuple[Run, str | None]]:
    """Keep a window of runs at the scheduler until all are through."""
    sweep = uuid.uuid4().hex[:8]  # another sweep on the same scheduler may have the same keys
    waiting = deque(runs)
    in_flight: dict[Any, Run] = {}
    done = as_completed()

    def submit() -> None:
        if not waiting:
            return
        width = max(_WINDOW, 2 * sum(client.nthreads().values()))
        while waiting and len(in_flight) < width:
            run = waiting.popleft()
            key = f"unbribable-{sweep}-{run.key}"
            future = client.submit(run_or_end, run.to_plain(), out, key=key, pure=False)
            in_flight[future] = run
            done.add(future)

    try:
        submit()
        for future in done:
            run = in_flight.pop(future)
            if future.status not in ("finished", "error"):
                raise ConnectionError(f"got a run that is {future.status}")
            yield run, _trouble(future)
            if len(in_flight) < _WINDOW // 2:
                submit()
    except OSError as error:  # what a run raises comes as its trouble: this is the connection
        raise RuntimeError(
            f"the scheduler must stay until all runs are through, {error}: start it again and call "
            "again, what is finished is kept"
        ) from error
    finally:
        if in_flight:
            with suppress(OSError):  # where it is lost there is nothing to cancel
                client.cancel(list(in_flight), force=True)


def _trouble(future: Any) -> str | None:
    """The traceback of a run that failed."""
    if future.status == "finished":
        return None
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return f"KilledWorker: every worker that played this run died ({error})"
    return "".join(traceback.format_exception(type(error), error, future.traceback()))
