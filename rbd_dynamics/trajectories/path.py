# SPDX-License-Identifier: Apache-2.0
"""A path of named joints: a smooth curve through points, without any time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.control.motion.trajectory import TrajectoryError, unwound

Array = NDArray[np.float64]
SAME_POINT = 1e-7  # of the length: points nearer than this are one; rounding would bend the path between them
STILL = 1e-8  # rad or m: a path no longer than this stands
MOST_PIECES = 4096  # of a smoothed path
SMOOTHEST = 8  # pieces that smoothing begins with


class Path:
    """A path q(s): a twice continuously differentiable cubic spline, s from 0 to `length`, about the length of chords.

    Parameters:
        points: (points, joints), rad or m. One that repeats the one before it is passed over: nearer than 1e-7 of the
            length. It begins and ends where they do.
        joint_names: of the columns.
        continuous: names of joints that turn without end: where an angle steps by more than half a turn, as a planner's
            do that wrap at pi, the joint goes on the short way. `continuous_joints` are those of a model.

    Attributes:
        joint_names, length; knots: s where the pieces of the spline begin and end (points,).
        points: those that it goes through (points, joints).
        numbers: which of the given points these are (points,), where it goes through them.

    Raises TrajectoryError for names, numbers and points that make no path.
    """

    def __init__(self, points: ArrayLike, joint_names: Sequence[str], *, continuous: Collection[str] = ()) -> None:
        self.joint_names = _checked_names(joint_names)
        given = unwound(_checked_points(points, self.joint_names), _mask(self.joint_names, continuous))
        from scipy.interpolate import CubicSpline  # slow to import

        with np.errstate(over="ignore"):
            total = float(np.linalg.norm(np.diff(given, axis=0), axis=1).sum())
        if not np.isfinite(total):
            raise TrajectoryError("the path is too long: its points are too far apart")
        if total <= STILL:
            raise TrajectoryError("the path does not move: all its points are the same")
        self.numbers = _apart(given, SAME_POINT * total)
        kept = given[self.numbers]
        knots = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(kept, axis=0), axis=1))])
        self._set(knots, kept, CubicSpline(knots, kept))

    def _set(self, knots: Array, points: Array, spline: Any) -> None:
        self.knots, self.points, self._spline = knots, points, spline
        self.length = float(knots[-1])

    @classmethod
    def smoothed(
        cls, points: ArrayLike, joint_names: Sequence[str], *, tolerance: float, continuous: Collection[str] = ()
    ) -> Path:
        """Path for points with noise: a spline of as few pieces as come no farther than `tolerance` (rad, m) from each.

        It begins and ends where they do. Fewer than 16 points are no noise: the path goes through them. Raises
        TrajectoryError where no spline with half as many pieces as points comes so near.
        """
        through = cls(points, joint_names, continuous=continuous)
        if not (np.isfinite(tolerance) and tolerance > 0.0):
            raise TrajectoryError(f"the tolerance {tolerance} of a smoothed path is not above zero")
        if len(through.knots) < 2 * SMOOTHEST:
            return through
        pieces, nearest = SMOOTHEST, (np.inf, 0, 0)
        while 2 * pieces <= min(len(through.knots), MOST_PIECES):
            spline = _fitted(through.knots, through.points, pieces)
            error = np.abs(spline(through.knots) - through.points)
            if error.max() <= tolerance:
                made = cls.__new__(cls)
                made.joint_names = through.joint_names
                knots = _shared_out(through.knots, pieces)
                made._set(knots, spline(knots), spline)
                return made
            worst = divmod(int(error.argmax()), error.shape[1])
            nearest = min(nearest, (float(error.max()), int(through.numbers[worst[0]]), worst[1]))
            pieces *= 2
        miss, point, joint = nearest
        raise TrajectoryError(
            f"the path cannot be smoothed within {tolerance:g}: with {pieces // 2} pieces for {len(through.knots)} "
            f"points the position of joint {through.joint_names[joint]!r} at point {point} is off by {miss:.3g}"
        )

    def at(self, s: ArrayLike, *, order: int = 0) -> Array:
        """q(s), or its derivative of that order by s: (..., joints)."""
        values: Array = self._spline(s, order)
        return values

    def positions_range(self) -> tuple[Array, Array, Array, Array]:
        """Least and greatest position of each joint (joints,), between points too, and where (s) these are."""
        where = [self.knots]
        slopes = self.at(self.knots, order=1), self.at(0.5 * (self.knots[1:] + self.knots[:-1]), order=1)
        h = np.diff(self.knots)[:, None]
        # the slope on a piece is a parabola: of its ends and its middle
        a = 2.0 * (slopes[0][:-1] + slopes[0][1:] - 2.0 * slopes[1])
        b = slopes[0][1:] - slopes[0][:-1] - a
        c = slopes[0][:-1]
        with np.errstate(all="ignore"):
            root = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
            for found in (root / a, c / root):
                inside = (found > 0.0) & (found < 1.0)
                where.append((self.knots[:-1, None] + found * h)[inside])
        s = np.unique(np.concatenate(where))
        q = self.at(s)
        low, high = q.argmin(axis=0), q.argmax(axis=0)
        columns = np.arange(q.shape[1])
        return q[low, columns], q[high, columns], s[low], s[high]


def _apart(points: Array, least: float) -> NDArray[np.intp]:
    """Numbers of points each farther than `least` from the one before; the first and the last are among them."""
    numbers = np.arange(len(points))
    if (np.linalg.norm(np.diff(points, axis=0), axis=1) > least).all():
        return numbers
    rows, chosen = points.tolist(), [0]
    for k, row in enumerate(rows):
        if math.dist(row, rows[chosen[-1]]) > least:
            chosen.append(k)
    if math.dist(rows[-1], rows[chosen[-1]]) > 0.0:
        while len(chosen) > 1 and math.dist(rows[-1], rows[chosen[-1]]) <= least:
            chosen.pop()
        chosen.append(len(rows) - 1)
    return np.array(chosen)


def _fitted(s: Array, points: Array, pieces: int) -> Any:
    """The least-squares cubic spline of so many pieces, with the first and the last point its ends."""
    from scipy.interpolate import BSpline, make_lsq_spline

    inner = _shared_out(s, pieces)
    knots = np.concatenate([[0.0] * 3, inner, [s[-1]] * 3])
    weights = np.ones(len(s))
    weights[[0, -1]] = 1e4
    spline = make_lsq_spline(s, points, knots, k=3, w=weights)
    coefficients = spline.c.copy()
    coefficients[0], coefficients[-1] = points[0], points[-1]
    return BSpline(spline.t, coefficients, 3)


def _shared_out(s: Array, pieces: int) -> Array:
    """Ends (pieces + 1,) of pieces with as many points each: so each has some to be found of, however far apart."""
    numbers = np.arange(len(s))
    ends: Array = np.interp(np.linspace(0.0, numbers[-1], pieces + 1), numbers, s)
    return ends


def _checked_names(joint_names: Sequence[str]) -> tuple[str, ...]:
    names = tuple(joint_names)
    if not names:
        raise TrajectoryError("the path names no joints")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise TrajectoryError(f"the path names joint {twice!r} twice")
    return names


def _mask(names: tuple[str, ...], continuous: Collection[str]) -> NDArray[np.bool_]:
    if isinstance(continuous, str):
        raise TypeError(f"continuous must be a list of names, not the text {continuous!r}")
    unknown = sorted(set(continuous) - set(names))
    if unknown:
        raise TrajectoryError(f"continuous: joint {unknown[0]!r} is not one of the path's: {', '.join(names)}")
    return np.isin(names, list(continuous))


def _checked_points(points: ArrayLike, names: tuple[str, ...]) -> Array:
    given = np.array(real_array(points, "points"), dtype=float)
    if given.ndim == 1 and len(names) == 1:
        given = given[:, None]
    if given.ndim != 2 or given.shape[1] != len(names):
        raise TrajectoryError(f"points has shape {given.shape}, expected (points, {len(names)}): a column for a joint")
    if len(given) < 2:
        raise TrajectoryError(f"a path needs two points or more, and has {len(given)}")
    wrong = np.argwhere(~np.isfinite(given))
    if len(wrong):
        k, joint = wrong[0]
        raise TrajectoryError(f"point {k}: the position of joint {names[joint]!r} is {given[k, joint]}")
    return given
