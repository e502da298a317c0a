# SPDX-License-Identifier: Apache-2.0
"""The fastest timing where the rates of torques are limited, too.

A timing without these limits is made smooth first: a nominal motion s(w), at rest at both ends. Its pace
X = (dw/dt)^2 is then what is optimised, under all limits at once. X has no poles where the motion begins and ends, and
is near one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.trajectories.between import ROUNDS, Scales, not_kept, used_between
from rbd_dynamics.trajectories.group import GroupDynamics
from rbd_dynamics.trajectories.interior_point import Problem, least_time
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.path import Path
from rbd_dynamics.trajectories.rows import rows_of
from rbd_dynamics.trajectories.timing import Timing, times_of

Array = NDArray[np.float64]
CLEAR = 0.03  # of each bound: so far from all is the pace that the search begins with
SLOWER, SLOWER_STEPS, MOST_SLOWER = 0.8, 50, 150  # how it is found: then nearer to them, where that is too far
BLENDS = (0.03, 0.06, 0.12, 0.25, 0.5)  # of it, in the paces that another search begins with
FIRST_GAP = 3.0  # of the duration
NARROWEST, SECOND = 0.01, 0.03  # of the duration: windows that a timing is smoothed over
JUMP = 0.02  # of the limit of a rate: a knot where it changes by less is none
UNLIMITED = 1e20


@dataclass
class Nominal:
    """A motion along the path at nodes w (N,), s: s (N,) and its first two derivatives by w."""

    w: Array
    s: Array
    ds: Array
    dds: Array

    def states(self, path: Path) -> tuple[Array, Array, Array]:
        """Positions and their first two derivatives by w (N, joints)."""
        slope = path.at(self.s, order=1)
        ds, dds = self.ds[:, None], self.dds[:, None]
        return path.at(self.s), slope * ds, path.at(self.s, order=2) * ds * ds + slope * dds


class Smoothed:
    """The mean of a timing over a window of time: accelerations begin and end with zero, and have no jumps.

    Before, the mean over a shorter window takes the jumps out of what will be jerks; the timing is mirrored at its ends
    for that, where it stays at rest.

    Parameters:
        window, second: s, the one and the other.
    """

    def __init__(self, timing: Timing, window: float, second: float) -> None:
        from scipy.interpolate import CubicHermiteSpline

        t, s, v = timing.times, timing.s, np.sqrt(timing.x)
        end, far = t[-1], int(np.searchsorted(t, second)) + 1
        near = int(np.searchsorted(t, t[-1] - second)) - 1
        self._motion = CubicHermiteSpline(
            np.concatenate([-t[far:0:-1], t, 2.0 * end - t[-2 : near - 1 : -1]]),
            np.concatenate([s[far:0:-1], s, s[-2 : near - 1 : -1]]),
            np.concatenate([-v[far:0:-1], v, -v[-2 : near - 1 : -1]]),
        )
        self._area = self._motion.antiderivative()
        self._areas = self._area.antiderivative()
        self._window, self._half, self._end, self._length = window, 0.5 * second, end, s[-1]
        self._whole = self._mean(self._area, np.array([0.0, end]))  # from where to where it moves
        self._since = self._mean(self._areas, np.array([0.0, end]))
        self.duration = float(end + window)

    def at(self, w: Array) -> Nominal:
        """s and its derivatives at times w (N,)."""
        late, early = self._states(w), self._states(w - self._window)
        s, ds, dds = ((a - b) / self._window for a, b in zip(late, early))
        return Nominal(w, np.clip(s, 0.0, self._length), ds, dds)

    def _states(self, t: Array) -> tuple[Array, Array, Array]:
        """Integral of the motion with the shorter window, that motion and its speed; it stands before and after."""
        inside, after = np.clip(t, 0.0, self._end), np.maximum(t - self._end, 0.0)
        first, last = self._whole
        scale = self._length / (last - first)
        area = (self._mean(self._areas, inside) - self._since[0] - first * inside) * scale + self._length * after
        speed = np.where((t > 0.0) & (t < self._end), self._mean(self._motion, inside), 0.0)
        return area, (self._mean(self._area, inside) - first) * scale, speed * scale

    def _mean(self, integral: Any, t: Array) -> Array:
        """Mean over the shorter window of that which it is the integral of."""
        found: Array = (integral(t + self._half) - integral(t - self._half)) / (2.0 * self._half)
        return found


def nominal_motion(path: Path, timing: Timing, limits: Limits, dynamics: GroupDynamics, count: int) -> Nominal:
    """A smooth motion with about `count` nodes, among them the knots of the path where its third derivative jumps."""
    limited = np.flatnonzero(np.isfinite(limits.effort_rate))
    states = timing.states(path)
    tau = dynamics.rigid(*states)[:, limited]
    still = np.zeros_like(states[0])
    swing = np.abs(tau - dynamics.rigid(states[0], still, still)[:, limited])
    window = float((swing / limits.effort_rate[limited]).max())
    end = timing.times[-1]
    smooth = Smoothed(timing, float(np.clip(window, NARROWEST * end, end)), SECOND * end)
    w = np.linspace(0.0, smooth.duration, count)
    knots = _knots(path, smooth.at(w), limited, limits, dynamics)
    if len(knots):
        after = np.searchsorted(knots, w)
        far = np.concatenate([[-np.inf], knots, [np.inf]])
        keep = np.minimum(w - far[after], far[after + 1] - w) > 0.5 * w[1]
        keep[[0, -1]] = True
        w = np.sort(np.concatenate([w[keep], knots]))
    nominal = smooth.at(w)
    nominal.s[[0, -1]] = 0.0, path.length
    nominal.ds[[0, -1]] = nominal.dds[[0, -1]] = 0.0
    return nominal


def _knots(path: Path, nominal: Nominal, limited: NDArray[np.intp], limits: Limits, dynamics: GroupDynamics) -> Array:
    """Times at which the nominal motion passes the knots where torques change their rates by much."""
    if len(path.knots) < 3:
        return np.zeros(0)
    s = path.knots[1:-1]
    jumps = np.diff(path.at(0.5 * (path.knots[1:] + path.knots[:-1]), order=3), axis=0)
    q, still = path.at(s), np.zeros_like(jumps)
    torque = (dynamics.rigid(q, still, jumps) - dynamics.rigid(q, still, still))[:, limited]
    speed = np.interp(s, nominal.s, nominal.ds)
    much = (np.abs(torque) * speed[:, None] ** 3 > JUMP * limits.effort_rate[limited]).any(axis=1)
    from scipy.interpolate import CubicHermiteSpline

    times = np.interp(s[much], nominal.s, nominal.w)
    motion = CubicHermiteSpline(nominal.w, nominal.s, nominal.ds)
    slope = motion.derivative()
    for _ in range(4):
        times = times - (motion(times) - s[much]) / slope(times)
    inside = (times > 0.5 * nominal.w[1]) & (times < nominal.w[-1] - 0.5 * nominal.w[1])
    times = times[inside]
    return times[np.concatenate([[True], np.diff(times) > 0.5 * nominal.w[1]])] if len(times) else times


def rate_limited(path: Path, timing: Timing, limits: Limits, dynamics: GroupDynamics, count: int) -> Timing:
    """The fastest timing, from one that is as fast as the other limits allow. Raises TrajectoryError."""
    pace = _Pace(path, nominal_motion(path, timing, limits, dynamics, count), limits, dynamics)
    scales = Scales.whole(len(pace.nominal.w), limits)
    for times in range(ROUNDS):
        found = pace.fastest(scales)
        used = used_between(found.waypoints(path), limits, dynamics)
        if used.little:
            return found
        scales.narrow(used, times)
    raise not_kept(used, limits)


class _Pace:
    """What the pace of a nominal motion is limited by."""

    def __init__(self, path: Path, nominal: Nominal, limits: Limits, dynamics: GroupDynamics) -> None:
        self.nominal, self._dynamics = nominal, dynamics
        w = nominal.w
        self._edges = np.concatenate([w[:1], 0.5 * (w[2:-1] + w[1:-2]), w[-1:]])
        self._width = np.diff(self._edges)
        self._part = ((w[1:-1] - self._edges[:-1]) / self._width)[:, None]  # where the node is in its cell
        q, dq, ddq = nominal.states(path)
        self._rows = rows_of(w[1:-1], q[1:-1], dq[1:-1], ddq[1:-1], limits, dynamics)
        limited = np.flatnonzero(np.isfinite(limits.effort_rate))
        still = np.zeros_like(q)
        static = dynamics.rigid(q, still, still)[:, limited]
        a = (dynamics.rigid(q, still, dq)[:, limited] - static)[1:-1]
        b = (dynamics.rigid(q, dq, ddq)[:, limited] - static)[1:-1]
        p, r = self._of_edges(a, b)
        count = len(self._edges), len(limited)
        self._L, self._M, self._N = np.zeros(count), np.zeros(count), np.zeros(count)
        self._L[1:], self._M[1:] = -p, -r
        self._M[:-1] += p
        self._N[:-1] = r
        self._rest = np.diff(static, axis=0)
        self._bound = limits.effort_rate[limited] * np.diff(w)[:, None]
        self._X = np.ones(len(self._edges))
        self._clear: Array | None = None

    def _of_edges(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Coefficients of the squared paces at both edges of a cell, for those of its node's acceleration and pace."""
        step = a / (2.0 * self._width[:, None])
        return b * (1.0 - self._part) - step, b * self._part + step

    def fastest(self, scales: Scales) -> Timing:
        """Fastest timing within those parts of the limits; begins with what was found before."""
        rows, inner = self._rows, slice(1, -1)
        b, c = rows.with_friction(self._dynamics, self._X[:-1] + np.diff(self._X) * self._part[:, 0])
        P, Q = self._of_edges(rows.a, b)
        high = np.maximum(rows.upper * scales.rows[inner] - c, np.minimum(rows.upper - c, 0.0))
        low = np.minimum(rows.lower * scales.rows[inner] - c, np.maximum(rows.lower - c, 0.0))
        if np.isfinite(rows.fastest).any():  # one more row: X at the node
            fastest = np.minimum(rows.fastest * scales.speeds[inner], UNLIMITED)[:, None]
            P, Q = np.hstack([P, 1.0 - self._part]), np.hstack([Q, self._part])
            high, low = np.hstack([high, fastest]), np.hstack([low, np.full_like(fastest, -UNLIMITED)])
        bound = self._bound * scales.rates
        problem = Problem(self._width, P, Q, low, high, self._L, self._M, self._N, self._rest, bound)
        self._X = least_time(problem, *self._beginning(problem))
        return _paced(self.nominal, self._edges, self._X, self._part[:, 0])

    def _beginning(self, problem: Problem) -> tuple[Array, float]:
        """Paces that keep clear of all bounds, near the last ones where there are any; and how far from these."""
        room = [np.where(np.abs(each) < UNLIMITED, np.abs(each), 0.0)
                for each in (problem.high, problem.low, problem.bound, problem.bound)]  # fmt: skip

        def clear(X: Array, part: float) -> bool:
            return all((slack > part * own).all() for slack, own in zip(problem.slacks(X), room))

        even = np.ones(len(self._X)) if self._clear is None else self._clear
        for step in range(MOST_SLOWER):
            if clear(even, CLEAR * 0.1 ** (step // SLOWER_STEPS)):
                break
            even = SLOWER * even if (step + 1) % SLOWER_STEPS else np.ones(len(even))
        else:
            raise TrajectoryError("no motion, however slow, keeps the limits of efforts and of their rates on the path")
        if self._clear is not None:
            for part in BLENDS:
                X = (1.0 - part) * self._X + part * even
                if clear(X, CLEAR * part):
                    self._clear = even
                    return X, 0.3 * FIRST_GAP * part
        self._clear = even
        return even, FIRST_GAP


def _paced(nominal: Nominal, edges: Array, X: Array, part: Array) -> Timing:
    """The nominal motion at that pace, with one jerk along the path between two nodes.

    By the nominal motion the jerk varies between them, so that its mean is within the limits and its ends are not.
    Accelerations at nodes are kept, and s moves by parts in a million.
    """
    x = np.concatenate([X[:1], X[:-1] + np.diff(X) * part, X[-1:]])
    u = np.diff(X) / (2.0 * np.diff(edges))
    u = np.concatenate([u[:1], u, u[-1:]])
    times = times_of(nominal.w, x, u)
    h, end = np.diff(times), times[-1]
    a = nominal.dds * x + nominal.ds * u
    # at rest at the end: what is missing there is taken from a bump of accelerations over the whole motion
    bump = (times / end * (1.0 - times / end)) ** 2
    area = 0.5 * h * (bump[1:] + bump[:-1])
    a -= bump * float((0.5 * h * (a[1:] + a[:-1])).sum() / area.sum())
    v = np.concatenate([[0.0], np.cumsum(0.5 * h * (a[1:] + a[:-1]))])
    s = np.concatenate([[0.0], np.cumsum(h * (v[:-1] + h * (a[:-1] / 3.0 + a[1:] / 6.0)))])
    scale = nominal.s[-1] / s[-1]
    v = np.maximum(scale * v, 0.0)
    v[-1] = 0.0
    return Timing(np.minimum(scale * s, nominal.s[-1]), v * v, scale * a, times)
