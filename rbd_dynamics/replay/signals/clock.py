# SPDX-License-Identifier: Apache-2.0
"""Stamps that cannot be: single ones that are far from both neighbours, and clocks that were set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

CONTEXT = 2  # messages before and after one, which tell whether its stamp is wild


def wild_stamps(stamps: Stamps, received: Stamps, window: int) -> Mask:
    """Messages (N,) whose stamp is farther than `window` ns from both neighbours', which are near each other.

    At either end the two next ones stand for the neighbours, where the reception says that no time passed.
    """
    found = np.zeros(len(stamps), dtype=bool)
    if len(stamps) < 3:
        return found
    step = _far(stamps[1:], stamps[:-1], window)
    if not step.any():
        return found
    found[1:-1] = step[:-1] & step[1:] & ~_far(stamps[2:], stamps[:-2], window)
    for end, near, next_ in ((0, 1, 2), (-1, -2, -3)):
        alone = _far(stamps[[end]], stamps[[near]], window)[0] and not _far(stamps[[near]], stamps[[next_]], window)[0]
        found[end] = alone and not _far(received[[end]], received[[near]], window)[0]
    return found


def clock_was_set(stamps: Stamps, latest: Stamps, received: Stamps, window: int, max_gap: int) -> NDArray[np.intp]:
    """Messages (N,) before which the clock was set: back by more than `window`, or on by much more than it took.

    latest: the latest stamp up to each message. Of the first message nothing is said but that it is behind.
    """
    behind = stamps < latest - window
    on = np.zeros_like(behind)
    step, took = stamps[1:] - latest[:-1], np.diff(received)
    on[1:] = (step > max(window, max_gap)) & (took >= 0) & (took < step // 2)
    return np.flatnonzero(behind | on)


def _far(one: Stamps, other: Stamps, window: int) -> Mask:
    """Stamps may be anything that 64 bits hold: their difference need not be."""
    return np.asarray(np.abs(one.astype(float) - other.astype(float)) > window)
