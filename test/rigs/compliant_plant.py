# SPDX-License-Identifier: Apache-2.0
"""An arm with a ball at its tool on a surface that gives: actuators that lag, sensors that are late.

Contact is a spring and a damper, friction a bristle that slips at mu times the normal force.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Surroundings:
    """stiffness: N/m. damping_ratio: of the contact with the arm's effective mass. friction: coefficient.

    bandwidth: of the actuators, Hz; 0: no lag. sensor_delay, state_delay: s, of wrench and joint states. tilt: rad, of
    the plane, about the world's y axis through the point that is touched first. shape: "plane", "sphere", or a
    "cylinder" along the world's y axis, of `radius` (m), with that point on top; turned about that point by `tilt`.
    """

    _: KW_ONLY
    stiffness: float = 1e5
    damping_ratio: float = 0.05
    friction: float = 0.0
    bandwidth: float = 30.0
    sensor_delay: float = 0.005
    state_delay: float = 0.001
    tilt: float = 0.0
    shape: str = "plane"
    radius: float = 0.3


class Reading(NamedTuple):
    """What the controller sees: force (3) on the ball in world axes."""

    q: Array
    v: Array
    force: Array


class CompliantPlant:
    """Joint torques in; late readings out.

    Parameters:
        robot: as it really is. tool: frame at the ball's centre. ball: its radius, m.
        point: of the surface, m.
        effective_mass: kg, along the normal, for the damping.
        period: s, of control. substep: s.
    """

    def __init__(
        self, robot: Robot, tool: str, ball: float, point: Array, around: Surroundings, effective_mass: float,
        *, period: float = 1e-3, substep: float = 1e-4,
    ) -> None:  # fmt: skip
        self.robot, self.tool, self.ball, self.point, self.around = robot, tool, ball, point, around
        self.normal = np.array([-math.sin(around.tilt), 0.0, math.cos(around.tilt)])
        self._middle = np.asarray(point) - around.radius * self.normal
        self.damping = 2.0 * around.damping_ratio * math.sqrt(around.stiffness * effective_mass)
        self.tangential = min(around.stiffness, 1e5)
        self.period, self.substep = period, substep
        self.force = np.zeros(3)
        self._kept = 1.0 if not around.bandwidth else 1.0 - math.exp(-2.0 * math.pi * around.bandwidth * substep)
        self._late = [round(t / period) for t in (around.state_delay, around.sensor_delay)]

    def reset(self, q: Array) -> None:
        """At rest at q, with the torques that hold it there."""
        self.q, self.v = q.copy(), np.zeros(len(q))
        self.tau = self.robot.inverse_dynamics(q, self.v, self.v)
        self.bristle = np.zeros(3)
        self.force = np.zeros(3)
        most = max(self._late) + 1
        self._past: deque[Reading] = deque([self._now()] * most, maxlen=most)

    def read(self) -> Reading:
        """State and force as late as they are."""
        state, force = self._past[-1 - self._late[0]], self._past[-1 - self._late[1]]
        return Reading(state.q, state.v, force.force)

    def normal_at(self, position: Array) -> tuple[Array, float]:
        """Outward, and how far the surface is from the position (m, negative: inside)."""
        if self.around.shape == "plane":
            return self.normal, float((position - self.point) @ self.normal)
        away = position - self._middle
        if self.around.shape == "cylinder":
            away = away * [1.0, 0.0, 1.0]
        distance = float(np.linalg.norm(away))
        return away / distance, distance - self.around.radius

    @property
    def normal_force(self) -> float:
        """As it is, N."""
        return float(self.force @ self.normal_at(self.position)[0])

    @property
    def position(self) -> Array:
        """Of the ball, m."""
        return np.asarray(self.robot.pose(self.q, self.tool)[:3, 3])

    def advance(self, command: Array) -> None:
        """One period of control."""
        robot, h = self.robot, self.substep
        for _ in range(round(self.period / h)):
            self.tau = self.tau + self._kept * (command - self.tau)
            pose = robot.pose(self.q, self.tool)
            J = pose[:3, :3] @ robot.jacobian(self.q, self.tool)[3:]
            self.force = self._contact(pose[:3, 3], J @ self.v, h)
            self.v = self.v + h * robot.forward_dynamics(self.q, self.v, self.tau + self.force @ J)
            self.q = self.q + h * self.v
        self._past.append(self._now())

    def _contact(self, position: Array, velocity: Array, h: float) -> Array:
        around = self.around
        n, distance = self.normal_at(position)
        gap = distance - self.ball
        if gap >= 0.0:
            self.bristle[:] = 0.0
            return np.zeros(3)
        along = float(velocity @ n)
        pressed = max(0.0, -around.stiffness * gap - self.damping * along)
        if not around.friction:
            return pressed * n
        slip = velocity - along * n
        self.bristle += h * slip
        pulled = -self.tangential * self.bristle - math.sqrt(self.tangential) * slip
        size, most = float(np.linalg.norm(pulled)), around.friction * pressed
        if size > most:
            pulled *= most / size
            self.bristle = -(pulled + math.sqrt(self.tangential) * slip) / self.tangential
        return pressed * n + pulled

    def _now(self) -> Reading:
        return Reading(self.q.copy(), self.v.copy(), self.force.copy())
