# SPDX-License-Identifier: Apache-2.0
"""Times of short calls and of processes, measured so that a busy machine and a changing clock do the least harm."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

Call = Callable[[], object]


def stay_on_one_core() -> None:
    """Keep this process on one core, the last that it may use; where that is possible."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def processor_time(pid: int) -> float:
    """Of a process with all its threads, and of its children that have ended, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def seconds_per_call(
    calls: Mapping[str, Call], rounds: int = 9, blocks: int = 5, block_time: float = 2e-3
) -> dict[str, np.ndarray]:
    """(rounds,) time of one call of each contender in each round.

    Contenders take turns, a block of calls each; a round's time is that of the best of its blocks.
    The loop around the calls is measured and taken off.
    """
    counts = {name: _calls_in(call, block_time) for name, call in calls.items()}
    counts["loop"] = max(counts.values())
    every = {**calls, "loop": _nothing}
    times: dict[str, list[float]] = {name: [] for name in every}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            best = dict.fromkeys(every, float("inf"))
            for _ in range(blocks):
                for name, call in every.items():
                    best[name] = min(best[name], _time(call, counts[name]))
            for name, value in best.items():
                times[name].append(value)
    finally:
        if collecting:
            gc.enable()
    loop = float(np.median(times.pop("loop")))
    return {name: np.array(values) - loop for name, values in times.items()}


def _nothing() -> None:
    """What is subtracted: the loop and a call of a function."""


def _time(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _calls_in(call: Call, duration: float) -> int:
    """How many calls fill a block; warms up on the way."""
    call()  # compiles, the first time
    count = 1
    while True:
        taken = _time(call, count) * count
        if taken >= duration / 4:
            return max(1, round(count * duration / taken))
        count *= 4
