# SPDX-License-Identifier: Apache-2.0
"""When a trajectory took over that was planned in another process: between two states, at a ns that nobody tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

Off = Callable[[int], float]  # by how much a torque is farther from what was wanted before, than that which came

LOOKS_BACK = 31  # moments at which it may have taken over, before it is looked for in between


def takeovers(off: Off, first: int, last: int, ends: Sequence[int] = ()) -> Iterator[int]:
    """Moments (ns) at which `off` changes its sign, the latest first.

    ends: of what was wanted before; it jumps there.
    """
    for at in ends:
        yield from _around(at, at)
    back = sorted({*np.linspace(first, last, LOOKS_BACK).astype(int).tolist(), *ends}, reverse=True)
    farther = [off(at) > 0.0 for at in back]
    yield from between(off, back[0], back[-1])
    for k in range(1, len(back)):
        if farther[k] != farther[k - 1]:
            yield from between(off, back[k - 1], back[k], earlier=farther[k])


def between(off: Off, late: int, early: int, *, earlier: bool = True) -> Iterator[int]:
    """The moment between two at which `off` changes its sign; earlier: it is positive before that."""
    while late - early > 1:
        at = (early + late) // 2
        early, late = (at, late) if (off(at) > 0.0) == earlier else (early, at)
    yield from _around(late, early)


def _around(late: int, early: int) -> tuple[int, ...]:
    return late, early, late + 1, early - 1  # where they are the same but for rounding
