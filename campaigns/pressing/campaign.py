# SPDX-License-Identifier: Apache-2.0
"""Many runs, by one process or more."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from campaigns.pressing.cases import Case
from campaigns.pressing.classes import case_of
from campaigns.pressing.judge import Verdict, verdict
from campaigns.pressing.rivals import Impedance, PositionForce
from campaigns.pressing.runs import run
from campaigns.pressing.scene import Scene


def _in_process(scene: Scene, case: Case) -> Any:
    from campaigns.pressing.process import NodeOfProcess  # which needs ROS and the tests' helpers

    return NodeOfProcess(scene, case)


Which = tuple[str, int, int, str]  # class, seed, number, law
#: what is tried: the node's code (None), and what it is compared with
LAWS: dict[str, Any] = {"hybrid": None, "node": _in_process, "pi": PositionForce, "impedance": Impedance}


def many(todo: Sequence[Which], jobs: int, seconds: float) -> Iterator[tuple[Case, Verdict]]:
    """Cases and verdicts in that order, by so many processes, until the time is over."""
    end = time.monotonic() + seconds
    if jobs == 1:
        for which in todo:
            if time.monotonic() > end:
                return
            yield judged(which)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting: deque[Future[tuple[Case, Verdict]]] = deque()
        for which in [*todo, *[None] * (2 * jobs)]:
            if which is not None and time.monotonic() < end:
                waiting.append(pool.submit(judged, which))
            if len(waiting) >= 2 * jobs or which is None and waiting:
                yield waiting.popleft().result()


def judged(which: Which) -> tuple[Case, Verdict]:
    """Of one run."""
    name, seed, number, law = which
    case = case_of(name, seed, number)
    try:
        return case, verdict(run(case, LAWS[law]))
    except Exception as error:  # is a finding, and no end of the campaign
        return case, Verdict(reasons=[(f"raised {type(error).__name__}: {error}"[:80], False)])
