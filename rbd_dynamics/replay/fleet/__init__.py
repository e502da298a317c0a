# SPDX-License-Identifier: Apache-2.0
"""Many recordings: found in folders, done in parallel, gone on with after an interruption, and summed up by robot."""

from rbd_dynamics.replay.fleet.drift import Trend, trends
from rbd_dynamics.replay.fleet.finding import Found, find_recordings
from rbd_dynamics.replay.fleet.job import Job, Result, run_job
from rbd_dynamics.replay.fleet.overview import overview, slim, write_overview, write_results
from rbd_dynamics.replay.fleet.quantities import Outcome
from rbd_dynamics.replay.fleet.run import run_jobs

__all__ = [
    "Found",
    "Job",
    "Outcome",
    "Result",
    "Trend",
    "find_recordings",
    "overview",
    "run_job",
    "run_jobs",
    "slim",
    "trends",
    "write_overview",
    "write_results",
]
