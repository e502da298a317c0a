# SPDX-License-Identifier: Apache-2.0
"""From samples of one segment to filtered signals on a uniform grid, piece by piece.

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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from rbd_dynamics.replay.resampling import UNEVEN, Resampler

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
        sections: second-order sections of one pass.
        memory: samples until one pass has forgotten its initial state.
    """

    def __init__(self, cutoff: float, order: int, rate: float) -> None:
        self.cutoff, self.order, self.rate = cutoff, order, rate
        self.sections = scipy.signal.butter(order, cutoff, fs=rate, output="sos")
        _, poles, _ = scipy.signal.sos2zpk(self.sections)
        self.memory = int(np.ceil(np.log(FORGOTTEN) / np.log(np.abs(poles).max())))
        self._steady = scipy.signal.sosfilt_zi(self.sections)[:, None, :]  # (sections, 1, 2)

    def steady(self, values: Array) -> Array:
        """State of the filter after values (signals,) that have always been."""
        return self._steady * values[None, :, None]

    def forth(self, signals: Array, state: Array) -> tuple[Array, Array]:
        """One pass in time over (signals, N), and the state after it."""
        return scipy.signal.sosfilt(self.sections, signals, zi=state)

    def back(self, signals: Array) -> Array:
        """One pass against time over (signals, N)."""
        reversed_ = np.ascontiguousarray(signals[:, ::-1])
        return self.forth(reversed_, self.steady(reversed_[:, 0]))[0][:, ::-1]

    def both_ways(self, columns: Array) -> Array:
        """(N, ...) forth and back, all at once; beyond its ends it goes on as it began and ended."""
        signals = np.ascontiguousarray(columns.reshape(len(columns), -1).T)
        return np.ascontiguousarray(self.over(signals).T).reshape(columns.shape)

    def over(self, signals: Array) -> Array:
        """The same of (signals, N), each in a row: twice as fast."""
        forth, _ = self.forth(signals, self.steady(signals[:, 0]))
        return self.back(forth)

    def noise_gain(self, *, derivatives: int = 0, removed: bool = False) -> float:
        """By how much the standard deviation of white noise grows in the filtered signal, or a derivative of it.

        removed: in what the filter takes away instead.
        """
        omega, response = scipy.signal.sosfreqz(self.sections, FREQUENCIES)
        gain = np.abs(response) ** 2  # both passes
        if removed:
            gain = 1.0 - gain
        slope = self.rate * 2.0 * sum(DIFFERENCE[3 + k] * np.sin(k * omega) for k in (1, 2, 3))
        return float(np.sqrt(np.mean((gain * np.abs(slope) ** derivatives) ** 2)))


@dataclass(frozen=True)
class Piece:
    """Consecutive samples of a segment on its grid: the first is number `start`.

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
        self._ends = np.zeros((count, 0))  # the first samples until they are enough, then the last ones
        self._forth = np.zeros((count, 0))  # passed forth, not yet back
        self._done = np.zeros((count, 0))  # passed back; the last are needed for differences
        self._raw = np.zeros((count, 0))  # not yet handed out, as is the next
        self._filled = np.zeros(0, dtype=bool)
        self._next = 0  # number of the first in _raw, _filled and _done; negative in the extension

    def feed(self, stamps: Stamps, numbers: Array) -> Iterator[Piece]:
        """Samples of the segment: stamps (N,) in ns, increasing; numbers (N, 3, joints)."""
        self._take(*self._resampler.feed(stamps, numbers.reshape(len(numbers), -1)), final=False)
        if self._forth.shape[1] >= self._block + self._overlap:
            yield from self._advance(self._forth.shape[1] - self._overlap, beyond=None)

    def finish(self) -> Iterator[Piece]:
        """The rest; nothing, if the segment is all edge."""
        self._take(*self._resampler.finish(), final=True)
        if self._state is not None:
            ends = self._ends
            beyond = min(self._extension, ends.shape[1] - 1)
            after = 2.0 * ends[:, -1:] - ends[:, -2 : -2 - beyond : -1]
            self._pass_forth(after, np.zeros(beyond, dtype=bool))
            yield from self._advance(self._forth.shape[1], beyond)

    def _take(self, values: Array, filled: Mask, final: bool) -> None:
        """The next (N, signals) on the grid; the first wait until they are enough for the extension before them."""
        signals = np.ascontiguousarray(values.T).reshape(len(self._ends), -1)
        if self._state is None:
            signals = np.concatenate([self._ends, signals], axis=1)
            filled = np.concatenate([self._filled, filled])
            self._ends, self._filled = signals, filled
            count = min(self._extension, signals.shape[1] - 1)
            if count < (1 if final else self._extension):
                return
            before = 2.0 * signals[:, :1] - signals[:, count:0:-1]
            self._next, self._filled = -count, np.zeros(0, dtype=bool)
            self._state = self._low_pass.steady(before[:, 0])
            self._pass_forth(before, np.zeros(count, dtype=bool))
        else:
            self._ends = np.concatenate([self._ends, signals], axis=1)
        self._ends = self._ends[:, -self._extension - 1 :]
        self._pass_forth(signals, filled)

    def _pass_forth(self, signals: Array, filled: Mask) -> None:
        if signals.shape[1]:
            assert self._state is not None
            forth, self._state = self._low_pass.forth(signals, self._state)
            self._forth = np.concatenate([self._forth, forth], axis=1)
            self._raw = np.concatenate([self._raw, signals], axis=1)
            self._filled = np.concatenate([self._filled, filled])

    def _advance(self, count: int, beyond: int | None) -> Iterator[Piece]:
        """Pass back over all, and hand out what is settled of the first `count`; at the end, `beyond` are extension."""
        done = np.concatenate([self._done, self._low_pass.back(self._forth)[:, :count]], axis=1)
        self._forth = self._forth[:, count:]
        size = done.shape[1]
        first = max(self._edge - self._next, MARGIN)
        last = size - MARGIN if beyond is None else size - max(self._edge + beyond, MARGIN)
        start, keep = self._next + first, max(0, size - 2 * MARGIN)
        if last > first:
            signals = done.reshape(3, len(self._measured), size)
            velocity = signals[1, :, first - 3 : last + 3].copy()
            rows = ~self._measured
            if rows.any():
                velocity[rows] = self._difference(signals[0, rows, first - 6 : last + 6])
            yield Piece(
                start,
                signals[:, :, first:last],
                velocity[:, 3:-3],
                self._difference(velocity),
                self._raw[:, first:last].reshape(3, len(self._measured), -1),
                self._filled[first:last],
            )
        self._done = done[:, keep:]
        self._raw, self._filled = self._raw[:, keep:], self._filled[keep:]
        self._next += keep

    def _difference(self, signals: Array) -> Array:
        """Derivative of (joints, N + 6): (joints, N)."""
        total = np.zeros_like(signals[:, 6:])
        size = signals.shape[1] - 6
        for k in (1, 2, 3):
            ahead, behind = signals[:, 3 + k : 3 + k + size], signals[:, 3 - k : 3 - k + size]
            total += (self._low_pass.rate * DIFFERENCE[3 + k]) * (ahead - behind)
        return total
