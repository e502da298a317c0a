# SPDX-License-Identifier: Apache-2.0
"""Filters the samples of one segment to signals on a uniform grid, piece by piece.

1. Resampling (`resampling.py`).
2. Low-pass: a Butterworth filter forth and back over every signal, positions and efforts alike, so that all have the
   same bandwidth and no phase. Amplitudes are halved at the cutoff. As scipy.signal.sosfiltfilt does it: the ends of a
   segment are extended by their mirror image about the end point, and each pass starts in the steady state of its first
   sample. That passes the noise of the very first and last sample on undamped: therefore edges are left out.
3. Derivatives: central differences of sixth order over seven samples, (45, -9, 1) / 60: velocities of filtered
   positions where none are measured, accelerations of filtered velocities.

The pass back needs the future: pieces overlap by as much as the filter takes to forget all but 1e-14 of it, so that
pieces together are what the whole would give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from rbd_dynamics.replay.signals.resampling import UNEVEN, Resampler
from rbd_dynamics.replay.signals.sections import Sections

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

FORGOTTEN = 1e-14
DIFFERENCE = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0  # per sample, by increasing time
MARGIN = 6  # samples on either side that two differences in a row need
EXTENSION = 2.0  # periods of the cutoff frequency by which both ends are extended
FREQUENCIES = 1 << 15


class LowPass:
    """The filter at one sample rate. Raises ValueError where the cutoff is too high for it (`Settings.cutoff_at`).

    Attributes:
        rate: samples per second.
        sections: of one pass, over columns.
        memory: samples until one pass has forgotten its initial state.
    """

    def __init__(self, cutoff: float, order: int, rate: float) -> None:
        self.cutoff, self.order, self.rate = cutoff, order, rate
        sections = scipy.signal.butter(order, cutoff, fs=rate, output="sos")
        _, poles, _ = scipy.signal.sos2zpk(sections)
        self.memory = int(np.ceil(np.log(FORGOTTEN) / np.log(np.abs(poles).max())))
        self.sections = Sections(sections)

    def both_ways(self, columns: Array) -> Array:
        """(N, ...) forth and back, all at once; beyond its ends it goes on as it began and ended."""
        found = np.array(columns, dtype=float, order="C")
        self.sections.both_ways(found.reshape(len(found), math.prod(found.shape[1:])))
        return found

    def noise_gain(self, *, derivatives: int = 0, removed: bool = False) -> float:
        """Factor by which white noise's standard deviation grows in the filtered signal, or a derivative of it.

        removed: in what the filter takes away instead.
        """
        omega, response = scipy.signal.sosfreqz(self.sections.sections, FREQUENCIES)
        gain = np.abs(response) ** 2  # both passes
        if removed:
            gain = 1.0 - gain
        slope = self.rate * 2.0 * sum(DIFFERENCE[3 + k] * np.sin(k * omega) for k in (1, 2, 3))
        return float(np.sqrt(np.mean((gain * np.abs(slope) ** derivatives) ** 2)))


@dataclass(frozen=True)
class Piece:
    """Consecutive samples of a segment on its grid: the first is number `start`. In memory joints lie side by side.

    Attributes:
        signals: filtered (3, joints, N): positions, velocities as measured, efforts.
        velocity: (joints, N), measured or differentiated.
        acceleration: (joints, N).
        raw: (3, joints, N), resampled and not filtered.
        filled: (N,), where there was no message near.
    """

    start: int
    signals: Array
    velocity: Array
    acceleration: Array
    raw: Array
    filled: Mask


class SegmentSignals:
    """Signals of one segment; feed it samples, take pieces.

    Parameters:
        low_pass: the filter, which has the grid's rate.
        measured: joints (joints,) whose velocity is measured.
        origin: stamp of the grid's first time, ns; the segment's first.
        period: usual distance of two samples, s.
        largest_step: a grid time between samples farther apart than this, s, is marked as filled.
        edge: samples to leave out at both ends.
        block: samples in a piece, about.
        delay: (3, joints), s, by which signals are late; None: none is.
    """

    def __init__(
        self,
        low_pass: LowPass,
        measured: Mask,
        origin: int,
        period: float,
        largest_step: float,
        edge: int,
        block: int,
        *,
        delay: Array | None = None,
    ) -> None:
        self._low_pass = low_pass
        self._measured = measured
        late = None if delay is None else delay.ravel()
        self._resampler = Resampler(origin, low_pass.rate, UNEVEN * period, largest_step, delay=late)
        self._edge = edge
        self._overlap = max(low_pass.memory, edge + MARGIN)
        self._block = max(block, self._overlap)
        self._extension = MARGIN + int(np.ceil(EXTENSION * low_pass.rate / low_pass.cutoff))
        count = 3 * len(measured)
        self._state: Array | None = None
        self._ends = np.zeros((0, count))  # the first samples until they are enough, then the last ones
        self._forth = np.zeros((0, count))  # passed forth, not yet back
        self._done = np.zeros((0, count))  # passed back; the last are needed for differences
        self._raw = np.zeros((0, count))  # not yet handed out, as is the next
        self._filled = np.zeros(0, dtype=bool)
        self._next = 0  # number of the first in _raw, _filled and _done; negative in the extension

    def feed(self, stamps: Stamps, numbers: Array) -> Iterator[Piece]:
        """Samples of the segment: stamps (N,) in ns, increasing; numbers (N, 3, joints)."""
        self._take(*self._resampler.feed(stamps, numbers.reshape(len(numbers), -1)), final=False)
        if len(self._forth) >= self._block + self._overlap:
            yield from self._advance(len(self._forth) - self._overlap, beyond=None)

    def finish(self) -> Iterator[Piece]:
        """The rest; nothing, if the segment is all edge."""
        self._take(*self._resampler.finish(), final=True)
        if self._state is not None:
            ends = self._ends
            beyond = min(self._extension, len(ends) - 1)
            after = 2.0 * ends[-1:] - ends[-2 : -2 - beyond : -1]
            self._pass_forth(after, np.zeros(beyond, dtype=bool))
            yield from self._advance(len(self._forth), beyond)

    def _take(self, signals: Array, filled: Mask, final: bool) -> None:
        """The next (N, signals) on the grid; the first wait until they are enough for the extension before them."""
        if not len(signals):
            signals = self._ends[:0]
        if self._state is None:
            signals = np.concatenate([self._ends, signals])
            filled = np.concatenate([self._filled, filled])
            self._ends, self._filled = signals, filled
            count = min(self._extension, len(signals) - 1)
            if count < (1 if final else self._extension):
                return
            before = 2.0 * signals[:1] - signals[count:0:-1]
            self._next, self._filled = -count, np.zeros(0, dtype=bool)
            self._state = self._low_pass.sections.steady(before[0])
            self._pass_forth(before, np.zeros(count, dtype=bool))
        else:
            self._ends = np.concatenate([self._ends, signals[-self._extension - 1 :]])
        self._ends = self._ends[-self._extension - 1 :]
        self._pass_forth(signals, filled)

    def _pass_forth(self, signals: Array, filled: Mask) -> None:
        if len(signals):
            assert self._state is not None
            known = len(self._forth)
            self._forth = np.concatenate([self._forth, signals])
            self._low_pass.sections.forth(self._forth[known:], self._state)
            self._raw = np.concatenate([self._raw, signals])
            self._filled = np.concatenate([self._filled, filled])

    def _advance(self, count: int, beyond: int | None) -> Iterator[Piece]:
        """Pass back over all, and hand out what is settled of the first `count`; at the end, `beyond` are extension."""
        known = len(self._done)
        done = np.concatenate([self._done, self._forth])
        self._low_pass.sections.back(done[known:])
        done = done[: known + count]
        self._forth = self._forth[count:]
        size, joints = len(done), len(self._measured)
        first = max(self._edge - self._next, MARGIN)
        last = size - MARGIN if beyond is None else size - max(self._edge + beyond, MARGIN)
        start, keep = self._next + first, max(0, size - 2 * MARGIN)
        if last > first:
            signals = done.reshape(size, 3, joints)
            velocity = signals[first - 3 : last + 3, 1]
            rows = ~self._measured
            if rows.any():
                velocity = velocity.copy()
                velocity[:, rows] = self._difference(signals[first - 6 : last + 6, 0][:, rows])
            yield Piece(
                start,
                np.moveaxis(signals[first:last], 0, -1),
                velocity[3:-3].T,
                self._difference(velocity).T,
                np.moveaxis(self._raw[first:last].reshape(-1, 3, joints), 0, -1),
                self._filled[first:last],
            )
        self._done = done[keep:]
        self._raw, self._filled = self._raw[keep:], self._filled[keep:]
        self._next += keep

    def _difference(self, signals: Array) -> Array:
        """Derivative of (N + 6, joints): (N, joints)."""
        size = len(signals) - 6
        total = np.zeros((size, signals.shape[1]))
        for k in (1, 2, 3):
            part = signals[3 + k : 3 + k + size] - signals[3 - k : 3 - k + size]
            part *= self._low_pass.rate * DIFFERENCE[3 + k]
            total += part
        return total
