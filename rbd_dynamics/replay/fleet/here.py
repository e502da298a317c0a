# SPDX-License-Identifier: Apache-2.0
"""Many jobs on this machine, by processes that end with this one."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from rbd_dynamics.replay.fleet.interruption import deaf_children, end_with
from rbd_dynamics.replay.fleet.job import Job, Result, attempt, one_line

AHEAD = 2  # jobs handed over for each process: memory does not grow with their number
DIED = "its process died, perhaps out of memory, or killed"


def here(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Result]]:
    """(number of the job, result), as they come.

    Where a process dies, what was handed over is done again, one at a time: who dies then cannot be done.
    """
    todo, alone = deque(range(len(jobs))), deque[int]()
    while todo or alone:
        is_alone = bool(alone)
        queue = alone if is_alone else todo
        count = 1 if is_alone else workers
        pending: dict[Future[Result], int] = {}
        with _pool(count) as pool:
            try:
                while queue or pending:
                    while queue and len(pending) < (1 if is_alone else AHEAD * count):
                        with deaf_children():
                            future = pool.submit(attempt, jobs[queue[0]])
                        pending[future] = queue.popleft()
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        result = _result(future, jobs[pending[future]])
                        yield pending.pop(future), result
            except BrokenProcessPool:
                left = sorted(pending.values())
                if is_alone:
                    yield left[0], Result(jobs[left[0]], error=DIED)
                else:
                    alone.extend(left)


def _result(future: Future[Result], job: Job) -> Result:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # a result that cannot be sent
        return Result(job, error=one_line(error))


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes; where something is raised inside they are ended at once: what they write is whole or not there."""
    others = set(multiprocessing.active_children())
    # not fork: the kernels' compiler has threads
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=end_with, initargs=(os.getpid(),))
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
