# SPDX-License-Identifier: Apache-2.0
"""Many jobs at once: here, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from rbd_dynamics.common.process.processors import usable
from rbd_dynamics.replay.fleet.cluster import on_cluster
from rbd_dynamics.replay.fleet.here import here
from rbd_dynamics.replay.fleet.job import Job, Result, attempt

Report = Callable[[Result], None]


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    report: Report | None = None,
    keep: Callable[[Result], Result] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Results in the order of the jobs, whoever does them: the same, to the last bit.

    Parameters:
        workers: processes on this machine; None: one for each core that this process may use. One: this process.
        scheduler: address of a Dask scheduler (tcp://host:8786), whose workers see the same paths and have the package.
        report: called with each result as it comes.
        keep: what to keep of a result, as `overview.slim`; None: all of it.
        say: called with what somebody who waits should know.

    What was written before an interruption is not done again. Raises ConnectionError where no scheduler answers, or
    where it goes away. Processes that were started end with this one, whatever ends it.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    results: dict[int, Result] = {}
    with closing(_coming(jobs, min(workers or usable(), len(jobs)), scheduler, say)) as coming:
        for k, result in coming:
            results[k] = result if keep is None else keep(result)
            if report is not None:
                report(result)
    return [results[k] for k in range(len(jobs))]


def _coming(
    jobs: Sequence[Job], count: int, scheduler: str | None, say: Callable[[str], None]
) -> Generator[tuple[int, Result], None, None]:
    if scheduler is not None:
        yield from on_cluster(jobs, scheduler, say)
    elif count > 1:
        yield from here(jobs, count)
    else:
        for k, job in enumerate(jobs):
            yield k, attempt(job)
