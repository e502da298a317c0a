# SPDX-License-Identifier: Apache-2.0
"""Textbook laws on the same arms, to compare with: position control with a PI loop of force outside, and impedance.

Both hold where they are until they are engaged, go to the surface, and stop where the force is too large.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from campaigns.pressing.arms import ARMS, heavier, robot_of
from campaigns.pressing.cases import Case, X, Y
from campaigns.pressing.plant import PERIOD
from campaigns.pressing.scene import Scene
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

KP, KD = 1200.0, 70.0  # 1/s^2 and 1/s, of positions: what holds with actuators of 30 Hz
CONTACT = 1.0  # N
DAMPED = 0.02  # of the damped least squares, rad or m a rad
STIFFNESS, TURNING_STIFFNESS = 1000.0, 40.0  # N/m and N m/rad, of the impedance
FASTEST = 20.0  # rad/s: and no stiffer than makes this frequency, which actuators of 30 Hz follow
FORCE_GAIN = 3.0  # 1/s: of the force's integral, as a share of the contact's stiffness
FORCE_SHARE = 0.02  # of the force's error over the stiffness, at once
RAMP = 0.25  # s, in which a motion begins and ends


class Rival:
    """What both have in common: a wanted pose, that moves; a hold; a bound of the force.

    Parameters:
        scene, case: what it is told of the surface, and of its stiffness: it is tuned to that.
    """

    left_alone = 300

    def __init__(self, scene: Scene, case: Case) -> None:
        self.case, self.scene, self.params = case, scene, scene.params
        self.arm, self.robot = ARMS[case.arm], Robot(robot_of(case.arm).model)
        self.point, self.mode, self.reason = np.array(scene.params.tool_position), "hold", "not engaged"
        self.refused: list[str] = []
        self.ended, self.motion_problem = False, ""
        self.desired, self.largest = case.force, case.largest
        self.at: Array | None = None  # where it is held
        self.depth = 0.0  # m, of the wanted position below the one where it was engaged
        self.pressed = 0.0  # N, that is wanted now
        self.wanted: tuple[Array, Array] | None = None
        self.ways: list[tuple[Array, float, float]] = []  # of rows, from a time on, for so long
        self.now, self.felt, self.last = 0.0, 0.0, 0

    # --- what may be done to it -------------------------------------------------------------------

    def engage(self, wanted: bool) -> None:
        if wanted and self.mode == "hold":
            self.mode, self.reason, self.depth, self.pressed, self.ways = "approach", "", 0.0, 0.0, []
            self.wanted = None
        elif not wanted:
            self.stop("by request")

    def set(self, **changes: Any) -> None:
        """Force and its bound, and placements: the wanted pose is another at once."""
        for name, value in changes.items():
            if name == "desired_force" and len(value) == 1 and 0.0 <= value[0] <= self.largest:
                self.desired = value[0]
            elif name == "largest_force":
                self.largest = value
            elif name == "task_position" and self.wanted is not None:
                shift = np.array(value) - np.array(self.params.task_position)
                self.wanted = self.wanted[0] + shift, self.wanted[1]
            elif name == "task_orientation" and self.wanted is not None:
                before, after = (
                    Rotation.from_euler("xyz", each).as_matrix() for each in (self.params.task_orientation, value)
                )
                place, turn = np.array(self.params.task_position), after @ before.T
                self.wanted = place + turn @ (self.wanted[0] - place), turn @ self.wanted[1]
            elif name == "tool_position":
                self.point = np.array(value)

    def carry(self, mass: float) -> None:
        self.robot.set_payload(self.arm.tool, mass)

    def describe(self, model: Any) -> None:
        self.robot = Robot(heavier(self.case.arm, model.mass - self.robot.model.mass, 0.0))
        self.stop("another robot")

    def move(self, ways: dict[int, float], speed: float) -> None:
        offset = np.zeros(5)
        for row, way in ways.items():
            offset[row] = way
        self.ways.append((offset, self.now, float(np.abs(offset).max()) / speed))

    def wish(self, wrench: Array) -> None: ...

    def reactivate(self) -> None:
        self.stop("activated anew")

    def stop(self, reason: str) -> None:
        self.mode, self.reason, self.at = "hold", reason, None

    # --- the law ----------------------------------------------------------------------------------

    def answer(self, stamp: int, q: Array | None, v: Array, wrench: Array | None) -> Array | None:
        if q is None:
            return None
        self.now = 1e-9 * stamp
        pose, J = self.robot.pose(q, self.arm.tool), self.robot.jacobian(q, self.arm.tool)
        R = pose[:3, :3]
        at = pose[:3, 3] + R @ self.point
        whole = np.vstack([R @ J[:3], R @ (J[3:] + np.cross(J[:3].T, self.point).T)])
        normal = self.scene.axes[:, 2]
        if wrench is not None:
            self.felt = float(normal @ R @ wrench[3:])
        if self.mode != "hold" and abs(self.felt) > self.largest:
            self.stop(f"force of surface is {self.felt:.3g}, more than {self.largest:g}")
        if self.mode == "hold":
            if self.at is None:
                self.at = q.copy()
            return self._within(self.robot.inverse_dynamics(q, v, KP * (self.at - q) - KD * v))
        if self.wanted is None:
            self.wanted = at, R
        if self.mode == "approach" and self.felt > CONTACT:
            self.mode = "press"
        position, turned = self._goal()
        step = PERIOD * self.params.force_rate
        self.pressed += float(np.clip(self.desired - self.pressed, -step, step)) if self.mode == "press" else 0.0
        tau = self._torque(q, v, whole, position - at, Rotation.from_matrix(turned @ R.T).as_rotvec(), normal)
        return self._within(tau)

    def _within(self, tau: Array) -> Array:
        most = self.robot.model.effort_limit
        return np.clip(tau, -most, most)

    def _goal(self) -> tuple[Array, Array]:
        """Position and rotation wanted now, with what was moved, and the depth."""
        assert self.wanted is not None
        offset = np.zeros(5)
        for way, begin, seconds in self.ways:
            offset += way * _share(self.now - begin, seconds)
        axes = self.scene.axes
        turn = Rotation.from_rotvec(axes @ offset[:3]).as_matrix()
        return self.wanted[0] + axes[:, :2] @ offset[[X, Y]] - self.depth * axes[:, 2], turn @ self.wanted[1]

    def _torque(self, q: Array, v: Array, J: Array, way: Array, turn: Array, normal: Array) -> Array:
        raise NotImplementedError


class PositionForce(Rival):
    """Computed torque of the wanted pose, whose depth a PI loop of the force moves: its gains over the stiffness."""

    def _torque(self, q: Array, v: Array, J: Array, way: Array, turn: Array, normal: Array) -> Array:
        if self.mode == "approach":
            self.depth += self.params.approach_speed * PERIOD
        else:
            error = float(np.clip(self.pressed - self.felt, -20.0, 20.0)) / self.case.stiffness
            inner = error * self.case.stiffness / (self.scene.mass * KP)  # the inner loop yields by so much
            self.depth += FORCE_GAIN * (error + inner) * PERIOD
            way = way - FORCE_SHARE * (error + inner) * normal
        a = np.concatenate([KP * turn, KP * way]) - KD * (J @ v)
        inverse = J.T @ np.linalg.inv(J @ J.T + DAMPED**2 * np.eye(6))
        free = -5.0 * v
        return self.robot.inverse_dynamics(q, v, inverse @ a + free - inverse @ (J @ free))


class Impedance(Rival):
    """A spring and a damper to a wanted pose, which lies as deep in the surface as makes the force; no sensor."""

    def _torque(self, q: Array, v: Array, J: Array, way: Array, turn: Array, normal: Array) -> Array:
        M = self.robot.mass_matrix(q)
        inertia = 1.0 / np.einsum("ij,ji->i", J, np.linalg.solve(M, J.T))  # of each direction by itself
        along = 1.0 / float(normal @ J[3:] @ np.linalg.solve(M, J[3:].T @ normal))
        stiffness = np.minimum([TURNING_STIFFNESS] * 3 + [STIFFNESS] * 3, FASTEST**2 * inertia)
        if self.mode == "approach":
            self.depth += self.params.approach_speed * PERIOD
            self.begun = self.depth
        else:
            self.depth = self.begun + self.pressed / min(STIFFNESS, FASTEST**2 * along)
        damping = 2.0 * np.sqrt(stiffness * inertia)
        force = stiffness * np.concatenate([turn, way]) - damping * (J @ v)
        still = np.zeros_like(v)
        return self.robot.inverse_dynamics(q, v, still) + J.T @ force - 2.0 * (M @ v)


def _share(passed: float, seconds: float) -> float:
    """Of a motion that begins and ends in `RAMP` s."""
    ramp = min(RAMP, seconds)
    if passed <= 0.0:
        return 0.0
    if passed < ramp:
        way = 0.5 * passed * passed / ramp
    elif passed < seconds:
        way = passed - 0.5 * ramp
    else:
        left = max(0.0, ramp - (passed - seconds))
        way = seconds - 0.5 * left * left / ramp
    return way / seconds if math.isfinite(way) else 1.0
