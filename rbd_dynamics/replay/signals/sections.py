# SPDX-License-Identifier: Apache-2.0
"""Second-order sections over many columns at once: the recursion of scipy.signal.sosfilt in machine code.

A recursive filter is slow in one column, since each sample waits for the one before, but columns side by side do not
wait for each other. Numbers are scipy's but for rounding; NaN stays in its column from where it appears. Without a
compiler scipy does it.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from rbd_dynamics.compiler.backends import best_backend
from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]

COEFFICIENTS = 6  # of a section: b0, b1, b2, a0 = 1, a1, a2


class Sections:
    """A filter of second-order sections.

    Parameters:
        sections: (sections, 6), as scipy.signal.butter(..., output="sos") gives them.
        machine_code: compile; False: by scipy.
    """

    def __init__(self, sections: Array, *, machine_code: bool = True) -> None:
        self.sections = np.ascontiguousarray(sections, dtype=float)
        self._machine_code = machine_code
        self._steady: Array = scipy.signal.sosfilt_zi(self.sections)[:, :, None]  # (sections, 2, 1)

    def steady(self, values: Array) -> Array:
        """State (sections, 2, columns) after values (columns,) that have always been."""
        return self._steady * values

    def forth(self, columns: Array, state: Array) -> None:
        """One pass in time over (N, columns), contiguous, in place; the state becomes that after it."""
        self._pass(columns, state, first=0, step=1)

    def back(self, columns: Array) -> None:
        """One pass against time, which begins in the steady state of the last samples."""
        if len(columns):
            self._pass(columns, self.steady(columns[-1]), first=len(columns) - 1, step=-1)

    def both_ways(self, columns: Array) -> None:
        """Forth and back; beyond both ends the columns go on as they began and ended."""
        if len(columns):
            self.forth(columns, self.steady(columns[0]))
            self.back(columns)

    def _pass(self, columns: Array, state: Array, *, first: int, step: int) -> None:
        if not columns.size:
            return
        loops = _loops() if self._machine_code else None
        if loops is not None:
            rows, count = columns.shape
            loops.bind(columns, state, self.sections, rows, count, len(self.sections), first, step).run()
            return
        ordered = columns[::step]
        filtered, after = scipy.signal.sosfilt(self.sections, ordered, axis=0, zi=state)
        ordered[:], state[:] = filtered, after


@functools.cache
def _loops() -> Loops | None:
    return Loops(one_section, all_sections, machine_code=True) if best_backend() == "llvm" else None


def one_section(columns: Array, state: Array, sections: Array, row: int, count: int, section: int, place: int) -> int:
    """One row through one section (direct form II, transposed); its state begins at `place`."""
    b0 = sections[section]
    b1 = sections[section + 1]
    b2 = sections[section + 2]
    a1 = sections[section + 4]
    a2 = sections[section + 5]
    below = place + count
    for k in range(count):
        x = columns[row + k]
        y = b0 * x + state[place + k]
        state[place + k] = b1 * x - a1 * y + state[below + k]
        state[below + k] = b2 * x - a2 * y
        columns[row + k] = y
    return 0


def all_sections(
    columns: Array, state: Array, sections: Array, rows: int, count: int, many: int, first: int, step: int
) -> int:
    """Rows `first`, `first + step`, ... through all sections, in place."""
    for n in range(rows):
        for section in range(many):
            row = (first + step * n) * count
            one_section(columns, state, sections, row, count, section * COEFFICIENTS, 2 * section * count)
    return 0
