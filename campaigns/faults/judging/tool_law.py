# SPDX-License-Identifier: Apache-2.0
"""The law of cartesian_controller, written anew with Pinocchio's numbers and dense algebra (theory.md section 13).

Spring and damper of the tool, and the null space by the inverse of J M^-1 J^T; what keeps joints from going too fast
is `braking`. What is held and what is wished, and the bounds of what the law gives on the way in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.braking import Robot
from campaigns.faults.judging.judge import TOLERANCE
from campaigns.faults.judging.situation import Settings
from campaigns.faults.robot import SPEEDS, Oracle

Array = NDArray[np.float64]

LARGEST_FORCE, LARGEST_MOMENT = 40.0, 10.0  # N, N m: parameters of the campaign
LARGEST_MASS, LARGEST_INERTIA = 100.0, 5.0  # kg, kg m^2: the node's defaults
LARGEST_ENERGY = 50.0  # J: a parameter of the campaign
#: of the wanted motion, for the angular and for the linear part: rad/s and m/s, and per s; parameters of the campaign
LARGEST_SPEEDS = np.repeat([1.0, 0.25], 3)
LARGEST_ACCELERATIONS = np.repeat([5.0, 2.0], 3)
AWAY = 0.1  # rad by which the posture that acts is off at most
MARGIN = 2.0  # N m, of the way: Coriolis terms of a slow motion
CREPT = 1e-6  # N m, of a posture that comes to rest more slowly than the tool: between two looks at it


@dataclass(frozen=True, eq=False)
class Wish:
    """What is wanted from now on; None: as before. pose: (R, p); wrench: (m, f) in root axes."""

    pose: tuple[Array, Array] | None = None
    wrench: Array | None = None
    posture: Array | None = None


@dataclass(frozen=True, eq=False)
class Held:
    """A tool that stands where it is wanted."""

    R: Array
    p: Array
    posture: Array
    wrench: Array
    wish: Wish | None = None  # that was carried out last
    creeps: bool = False  # its posture was told by an effort, and comes to rest by and by

    def after(self, wish: Wish) -> Held:
        R, p = (self.R, self.p) if wish.pose is None else wish.pose
        return Held(
            R, p, self.posture if wish.posture is None else wish.posture,
            self.wrench if wish.wrench is None else wish.wrench, wish,
        )  # fmt: skip


@dataclass(frozen=True)
class ToolSettings(Settings):
    """Parameters that count, of the law `impedance` with springs that become stiffer at once."""

    stiffness: tuple[float, ...] = (500.0,)
    rotational_stiffness: tuple[float, ...] = (30.0,)  # of one number
    damping_ratio: float = 1.0
    posture_kp: float = 25.0
    posture_kd: float = 10.0
    joint_velocity_limits: tuple[float, ...] = ()
    largest_energy: float = LARGEST_ENERGY
    damped_for: tuple[float, ...] = ()  # springs that the dampers are of; empty: those that there are

    def torque(self, model: Oracle, q: Array, v: Array, desired: Any, stamp: int) -> tuple[Array, float]:
        """Without limits and braking, and the size of its terms."""
        held: Held = desired
        tool = tool_at(model, q, v, stamp)
        pull = self.pull(tool, held.R, held.p, held.wrench) - self.share * self.dampers(tool) @ tool.twist
        a = self.share**2 * self.posture_kp * (held.posture - q) - self.share * self.posture_kd * v
        parts = [self.weight(model, q), tool.J.T @ pull, tool.left_over(a)]
        least = CREPT / TOLERANCE if held.creeps else 1.0
        return np.sum(parts, axis=0), max(least, *(float(np.abs(part).max()) for part in parts))

    def on_the_way(self, model: Oracle, q: Array, v: Array, stamp: int) -> tuple[Array, Array]:
        """Bounds of the torque without limits while the tool is wanted anywhere, and moves as fast as it may.

        Weight and what damps the robot's own motion are known; the rest is bounded for each joint: the spring by the
        largest force and moment, what damps the wanted motion, what accelerates it, and the pull of the posture.
        """
        tool = tool_at(model, q, v, stamp)
        damping, effective = self.dampers(tool), np.linalg.inv(tool.mobility)
        known = self.weight(model, q) - tool.J.T @ damping @ tool.twist - tool.left_over(self.posture_kd * v)
        moment, force = (np.linalg.norm(part, axis=0) for part in (tool.J[:3], tool.J[3:]))
        free = tool.left_over(np.eye(len(q)))
        room = moment * LARGEST_MOMENT + force * LARGEST_FORCE + MARGIN
        room = room + np.abs(tool.J.T @ damping) @ LARGEST_SPEEDS
        room = room + np.abs(tool.J.T @ effective) @ LARGEST_ACCELERATIONS
        room = room + np.abs(free) @ np.full(len(q), self.posture_kp * AWAY + self.posture_kd * AWAY)
        return known - room, known + room

    def robot(self, model: Oracle, q: Array, v: Array, stamp: int) -> Robot:
        """What is braked, at this state."""
        speeds = np.broadcast_to(np.array(self.joint_velocity_limits), 7) if self.joint_velocity_limits else SPEEDS
        M = tool_at(model, q, v, stamp).M
        return Robot(M, v, self.weight(model, q), speeds, self.largest_energy, self.limits)

    def weight(self, model: Oracle, q: Array) -> Array:
        return model.gravity(q) if "gravity" in self.terms else np.zeros(7)

    def pull(self, tool: Tool, R: Array, p: Array, wrench: Array) -> Array:
        """(m, f) of the spring towards a pose, and a wrench besides."""
        return within(self.share**2 * self.springs * np.concatenate([turn(R @ tool.R.T), p - tool.p]) + wrench)

    @property
    def springs(self) -> Array:
        return np.concatenate([np.resize(self.rotational_stiffness, 3), np.resize(self.stiffness, 3)])

    def dampers(self, tool: Tool) -> Array:
        """(6, 6): twice the ratio times the geometric mean of stiffness and inertia, by eigenvectors of both."""
        least = np.repeat([1.0 / LARGEST_INERTIA, 1.0 / LARGEST_MASS], 3)
        root = np.sqrt(np.array(self.damped_for) if self.damped_for else self.springs)
        # K^(1/2) (K^(1/2) Y K^(1/2))^(-1/2) K^(1/2), Y the mobility
        values, axes = np.linalg.eigh(root[:, None] * (tool.mobility + np.diag(least)) * root)
        back = root[:, None] * axes
        return np.asarray(2.0 * self.damping_ratio * back / np.sqrt(values) @ back.T)


class Tool:
    """At a state: where it is, its Jacobian (6, 7) in root axes, the angular part first, and what resists it."""

    def __init__(self, model: Oracle, q: Array, v: Array) -> None:
        self.R, self.p = pose_of(model, q)
        self.J, self.M = model.jacobian(q), model.mass_matrix(q)
        self.twist = self.J @ v
        self.inverse = np.linalg.solve(self.M, self.J.T)  # M^-1 J^T
        self.mobility = self.J @ self.inverse

    def left_over(self, a: Array) -> Array:
        """Torque of an acceleration (7) or several (7, N), without what of it moves the tool."""
        return np.asarray(self.M @ (a - self.inverse @ np.linalg.solve(self.mobility, self.J @ a)))

    def wrench_of(self, tau: Array) -> Array:
        """(m, f) that accelerates the tool as a torque does."""
        return np.asarray(np.linalg.solve(self.mobility, self.inverse.T @ tau))


def tool_at(model: Oracle, q: Array, v: Array, stamp: int) -> Tool:
    """Of the state at a stamp; the last one is remembered with each model."""
    if model.remembered is None or model.remembered[0] != (stamp, q[0], v[0]):
        model.remembered = (stamp, q[0], v[0]), Tool(model, q, v)
    found: Tool = model.remembered[1]
    return found


def pose_of(model: Oracle, q: Array) -> tuple[Array, Array]:
    """(R, p) of the tool."""
    pose = model.tool(q)
    return pose.rotation.copy(), pose.translation.copy()


def turn(R: Array) -> Array:
    import pinocchio as pin

    return np.asarray(pin.log3(R))


def within(wrench: Array) -> Array:
    """Shortened where moment or force is larger than the largest."""
    parts = (wrench[:3], LARGEST_MOMENT), (wrench[3:], LARGEST_FORCE)
    return np.concatenate([part * min(1.0, most / max(float(np.linalg.norm(part)), 1e-12)) for part, most in parts])
