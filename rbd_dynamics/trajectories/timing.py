# SPDX-License-Identifier: Apache-2.0
"""A timing of a path: speed and acceleration along it at nodes, the times between them, and the motion that results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import Waypoints
from rbd_dynamics.trajectories.path import Path

Array = NDArray[np.float64]


@dataclass
class Timing:
    """Timing at nodes s (N,) of a path: x = (ds/dt)^2 and u = d^2 s/dt^2 there, and when they are reached."""

    s: Array
    x: Array
    u: Array
    times: Array

    def states(self, path: Path) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (N, joints)."""
        slope = path.at(self.s, order=1)
        a = slope * self.u[:, None] + path.at(self.s, order=2) * self.x[:, None]
        return path.at(self.s), slope * np.sqrt(self.x)[:, None], a

    def waypoints(self, path: Path) -> Waypoints:
        """The motion at the nodes, at whole nanoseconds, as messages have them: what is off by half of one there would
        be an acceleration between points that are near each other."""
        q, v, a = self.states(path)
        times = np.rint(self.times * 1e9) * 1e-9
        late = (times - self.times)[:, None]
        late[-1] = 0.0  # at rest there
        return Waypoints(path.joint_names, times, q + late * v, v + late * a, a)


def times_of(s: Array, x: Array, u: Array) -> Array:
    """Times (N,), s, at which the nodes are reached, exact where u is linear in s between nodes.

    The speed obeys d^2 s/dt^2 = u + A (s - s_k) there, so that s is hyperbolic, or harmonic, in time, and
    tanh(w T / 2) = w h / (v_0 + v_1) with w^2 = A.
    """
    h, v = np.diff(s), np.sqrt(x)
    mean = h / (v[:-1] + v[1:])
    z = np.diff(u) / h * mean * mean
    return np.concatenate([[0.0], np.cumsum(2.0 * mean * _artanh_root(z))])


def _artanh_root(z: Array) -> Array:
    """artanh(sqrt z) / sqrt z, and arctan(sqrt -z) / sqrt -z for negative z: one analytic function."""
    root = np.sqrt(np.abs(z))
    series = 1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z / 7.0))
    with np.errstate(all="ignore"):
        closed = np.where(z > 0.0, np.arctanh(np.minimum(root, 1.0 - 1e-16)), np.arctan(root)) / root
    return np.where(root < 1e-3, series, closed)
