# SPDX-License-Identifier: Apache-2.0
"""Smallest and largest value and sum in each of many intervals of rows: one pass over the numbers, in machine code."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.backends import best_backend
from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]


def reduce_intervals(values: Array, first: NDArray[np.intp], low: Array, high: Array, total: Array) -> None:
    """Sum rows (N, columns) from each of `first` (intervals,), increasing, to the next, added to what stands in the
    three results (intervals, columns); all contiguous. A NaN makes all three NaN.
    """
    loops = _loops()
    if loops is None:
        for function, result in ((np.minimum, low), (np.maximum, high), (np.add, total)):
            function(result, function.reduceat(values, first, axis=0), out=result)
        return
    stops = np.append(first[1:], len(values)).astype(float)
    loops.bind(values, stops, low, high, total, len(first), values.shape[1]).run()
    unknown = np.isnan(total)
    if unknown.any():
        low[unknown] = high[unknown] = np.nan


@functools.cache
def _loops() -> Loops | None:
    return Loops(interval_sums, machine_code=True) if best_backend() == "llvm" else None


def interval_sums(
    values: Array, stops: Array, low: Array, high: Array, total: Array, intervals: int, count: int
) -> int:
    """Each interval of rows ends before its stop; comparisons leave out NaN."""
    row = 0
    for interval in range(intervals):
        place = interval * count
        while row < stops[interval]:
            at = row * count
            for k in range(count):
                x = values[at + k]
                low[place + k] = min(low[place + k], x)
                high[place + k] = max(high[place + k], x)
                total[place + k] = total[place + k] + x
            row += 1
    return 0
