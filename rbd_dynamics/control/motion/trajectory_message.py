# SPDX-License-Identifier: Apache-2.0
"""Waypoints straight out of a serialised trajectory_msgs/JointTrajectory, without a Python object for each point.

Points that are alike, as nearly always, are read at once.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import ORIGIN, SECOND, CdrError, CdrReader
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints, wrong_count

Array = NDArray[np.float64]
FIELDS = ("positions", "velocities", "accelerations", "effort")
SMALLEST_POINT = 24  # bytes: four counts and a duration


class TrajectoryMessage(NamedTuple):
    """What a message says: the stamp of its start in ns, the checked waypoints; None: it has no points."""

    stamp: int
    waypoints: Waypoints | None


class Decoder(Protocol):
    """Reads a message of at most `largest` points. Raises TrajectoryError. positions: none may be missing."""

    def __call__(self, raw: bytes | bytearray, largest: int, *, positions: bool = False) -> TrajectoryMessage: ...


def decoded(raw: bytes | bytearray, largest: int, *, positions: bool = False) -> TrajectoryMessage:
    """A message of at most `largest` points. Raises TrajectoryError.

    A single point at time zero may lack positions, unless positions=True.
    """
    try:
        return TrajectoryReader(raw).message(largest, positions)
    except CdrError as error:
        raise TrajectoryError(str(error)) from None


class TrajectoryReader(CdrReader):
    """Reads a JointTrajectory."""

    def message(self, largest: int, positions: bool) -> TrajectoryMessage:
        """What `decoded` returns. Raises TrajectoryError or CdrError."""
        stamp = self.time()
        self.text()
        names = tuple(self.text() for _ in range(self.count(4)))
        points = self.count(SMALLEST_POINT)
        if points > largest:
            raise TrajectoryError(f"the trajectory has {points} points: more than largest_trajectory ({largest})")
        if not points:
            return TrajectoryMessage(stamp, None)
        times, columns = self.points(points, len(names))
        required = positions or points > 1 or times[0] != 0
        arrays: list[Array] = []
        for what, (offsets, rows) in zip(FIELDS, columns[:3]):
            missing = offsets < 0
            if what == "positions" and required and missing.any() and names:
                raise wrong_count(int(missing.argmax()), 0, what, len(names))
            wrong = np.isnan(rows).all(axis=1) & ~missing
            if wrong.any() and names:
                raise TrajectoryError(f"point {int(wrong.argmax())}: {what} of joint {names[0]!r} has the value nan")
            arrays.append(rows)
        offsets, efforts = columns[3]
        given = efforts if (offsets >= 0).any() else None
        waypoints = Waypoints(names, (1e-9 * times).astype(float), *arrays, efforts=given)
        return TrajectoryMessage(stamp, waypoints.checked())

    def points(self, points: int, joints: int) -> tuple[NDArray[np.int64], list[tuple[NDArray[np.intp], Array]]]:
        """Times in ns, and for each of `FIELDS` where the numbers are, -1: not given, with the numbers."""
        places = np.full((points, len(FIELDS)), -1, dtype=np.intp)
        times = np.zeros(points, dtype=np.int64)
        k = 0
        while k < points:
            begin = self.place
            times[k] = self.point(k, joints, places[k])
            k += 1
            if 2 <= k < points:  # the first one may be aligned differently
                k = self.alike(k, begin, places, times)
        columns = []
        flat = np.frombuffer(self.raw, np.uint8)
        for field in range(len(FIELDS)):
            rows = np.full((points, joints), np.nan)
            given = places[:, field] >= 0
            if given.any() and joints:
                if given.all() and (step := self._step(places[:, field])):
                    start = int(places[0, field])
                    rows[:] = np.ndarray((points, joints), self.order + "f8", self.raw, start, (step, 8))
                else:
                    where = places[given, field][:, None] + np.arange(8 * joints)
                    rows[given] = flat[where].view(self.order + "f8")
            columns.append((places[:, field], rows))
        return times, columns

    @staticmethod
    def _step(places: NDArray[np.intp]) -> int:
        """The distance between them if they are evenly spaced, else 0."""
        steps = np.diff(places)
        return int(steps[0]) if steps.size and (steps == steps[0]).all() else 0 if steps.size else 8

    def point(self, k: int, joints: int, places: NDArray[np.intp]) -> int:
        """Go past a point; note where its numbers are. Its time in ns."""
        for field, what in enumerate(FIELDS):
            count = self.count(8)
            if not count:
                continue
            if count != joints:
                raise wrong_count(k, count, what, joints)
            places[field] = self.skip(8 * count, 8)
        return self.time()

    def alike(self, k: int, begin: int, places: NDArray[np.intp], times: NDArray[np.int64]) -> int:
        """Go past all points laid out as the last one, k - 1, which began at `begin`; the next one's number."""
        points, stride = len(times), self.place - begin
        if stride % 8 or self.place + stride * (points - k) > len(self.raw):
            return k
        block = np.ndarray((points - k + 1, stride), np.uint8, self.raw, begin)
        counts: list[int] = []  # where they are
        place = 0
        for _ in FIELDS:
            place += -(begin + place - ORIGIN) % 4
            counts.extend(range(place, place + 4))
            (count,) = self._count.unpack_from(self.raw, begin + place)
            place += 4
            if count:
                place += -(begin + place - ORIGIN) % 8 + 8 * count
        same = (block[:, counts] == block[0, counts]).all(axis=1)
        number = int(same.argmin()) if not same.all() else len(same)  # of those alike, the last one included
        if number < 2:
            return k
        stamps = np.ndarray((number, 2), self.order + "i4", self.raw, begin + place, (stride, 4))
        seconds, rest = stamps[1:, 0].astype(np.int64), stamps[1:, 1].astype(np.uint32).astype(np.int64)
        times[k : k + number - 1] = seconds * SECOND + rest
        last = places[k - 1]
        places[k : k + number - 1] = np.where(last < 0, -1, last + stride * np.arange(1, number)[:, None])
        self.place = begin + stride * number
        return k + number - 1
