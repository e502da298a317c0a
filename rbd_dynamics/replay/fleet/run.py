# SPDX-License-Identifier: Apache-2.0
"""Many jobs at once: here, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.processors import usable
from rbd_dynamics.replay.fleet.job import Job, Result, attempt, one_line

TIMEOUT = 10.0  # s, for a scheduler to answer
Report = Callable[[Result], None]


def run_jobs(
    jobs: Sequence[Job], *, workers: int | None = None, scheduler: str | None = None, report: Report | None = None
) -> list[Result]:
    """Results in the order of the jobs, whoever does them: the same, to the last bit.

    Parameters:
        workers: processes on this machine; None: one for each core that this process may use. One: this process.
        scheduler: address of a Dask scheduler (tcp://host:8786), whose workers see the same paths and have the package.
        report: called with each result as it comes.

    What was written before an interruption is not done again. Raises ConnectionError where no scheduler answers.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    count = min(workers or usable(), len(jobs))
    results: dict[int, Result] = {}
    if scheduler is None and count <= 1:
        for k, job in enumerate(jobs):
            results[k] = attempt(job)
            if report is not None:
                report(results[k])
    else:
        with _executor(count, scheduler) as executor:
            pending = {executor.submit(attempt, job): k for k, job in enumerate(jobs)}
            try:
                for future in as_completed(pending):
                    k = pending[future]
                    results[k] = _result(future, jobs[k])
                    if report is not None:
                        report(results[k])
            except BaseException:
                for future in pending:
                    future.cancel()
                raise
    return [results[k] for k in range(len(jobs))]


def _result(future: Future[Result], job: Job) -> Result:
    try:
        return future.result()
    except Exception as error:  # its process died
        return Result(job, error=one_line(error))


@contextmanager
def _executor(workers: int, scheduler: str | None) -> Iterator[Executor]:
    if scheduler is None:
        # not fork: the kernels' compiler has threads
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
        return
    require("distributed")
    from distributed import Client

    try:
        client = Client(scheduler, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client, client.get_executor(pure=False) as executor:
        yield executor
