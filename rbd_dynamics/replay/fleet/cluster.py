# SPDX-License-Identifier: Apache-2.0
"""Many jobs on a Dask cluster, which tries again what its workers lose."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from rbd_dynamics.common.extras import require
from rbd_dynamics.replay.fleet.interruption import within
from rbd_dynamics.replay.fleet.job import Job, Result, attempt_elsewhere, one_line

TIMEOUT = 10.0  # s, for a scheduler to answer
PARTING = 5.0  # s, to take leave of it
AHEAD, MOST_AHEAD = 4, 400  # jobs handed over for each worker, and for all: memory does not grow with their number
RETRIES = 2  # of a job that ends with an error of the network


def on_cluster(jobs: Sequence[Job], scheduler: str, say: Callable[[str], None]) -> Iterator[tuple[int, Result]]:
    """(number of the job, result), as they come.

    say: is told where there is no worker yet. Raises ConnectionError where no scheduler answers, or where it goes away.
    """
    client = _connected(scheduler)
    from distributed import as_completed

    todo, pending, done = deque(range(len(jobs))), dict[Any, int](), 0
    coming = as_completed(loop=client.loop)
    try:
        if not _workers(client):
            say(f"the scheduler at {scheduler} has no workers: waiting for one")
        while todo or pending:
            most = min(MOST_AHEAD, AHEAD * max(1, _workers(client)))
            while todo and len(pending) < most:
                future = client.submit(attempt_elsewhere, jobs[todo[0]], pure=False, retries=RETRIES)
                pending[future] = todo.popleft()
                coming.add(future)
            future = next(coming)
            number = pending.pop(future)
            if future.status in ("cancelled", "lost") or client.status != "running":
                raise CancelledError
            error = future.exception() if future.status == "error" else None
            result = Result(jobs[number], error=one_line(error)) if error else future.result()
            future.release()
            done += 1
            yield number, result
    except (CancelledError, StopIteration, OSError) as error:
        raise ConnectionError(
            f"the scheduler at {scheduler} went away; {done} of {len(jobs)} are kept, the same command goes on"
        ) from error
    finally:
        left = list(pending)
        within(PARTING, lambda: (client.cancel(left, force=True), client.close(timeout=PARTING)))


def _connected(scheduler: str) -> Any:
    require("distributed")
    from distributed import Client

    try:
        return Client(scheduler, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {scheduler}: {error}") from error


def _workers(client: Any) -> int:
    """Threads of all workers."""
    return sum(client.nthreads().values())
