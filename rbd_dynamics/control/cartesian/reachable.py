# SPDX-License-Identifier: Apache-2.0
"""A governor of what a tool is wanted to do: it is wanted where the arm can take it, and no faster than it can."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.cartesian_control import tool_frame
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.reachable_motion import JointBounds, Placed, reachable_step
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.joint_room import SPEED_SHARE, JointRoom
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]
THERE = 1e-7  # m, rad/s, m/s: no more is nothing
STRONGEST = 1e9  # N m, N: of joints without an effort limit
BEHIND = 0.01  # m: a target waits that is so far ahead; a turn by 1 rad counts as 0.3 m
TURN = 0.3  # m, of that
FAR = 5.0 * BEHIND  # m: a target that is farther away has not been come to by moving
STALLED = 0.05  # pace: a target is not reached where the arm is slower than this for
STALL_TIME = 1.0  # s
LONGEST_STEP = 0.05  # s, after which a motion goes on as after this; velocities from before say nothing


class ToolStep(NamedTuple):
    """The wanted motion of a tool: pose (4, 4), twist (6) and acceleration (6) of its point in root axes."""

    pose: Array
    twist: Array
    acceleration: Array


class ReachableReference:
    """A joint motion along which a tool follows its target, as far and as fast as the arm can.

    It stays within shares of the joints' limits of position and velocity, turns away from nothing, and slows down
    where the way leads through or past singular postures: there, and beyond the arm's reach, the tool is wanted where
    the arm has come to. What the tool leaves free goes to a posture.

    Parameters:
        robot: all joints of one degree of freedom.
        frame: link or joint that the tool is on. tool: its pose in that frame (4, 4), default the frame itself.

    Attributes:
        q, v (nv): the joint motion. behind: how far the tool is from its target, m; a turn by 1 rad counts as 0.3 m.
        room: what it may take of the joints' limits. effort_limits (nv): N m or N, of which weight and acceleration
            take a share at most; at first the model's. largest_energy: J, kinetic, that control keeps the robot from.
    """

    def __init__(self, robot: Robot, frame: str, *, tool: ArrayLike | None = None) -> None:
        model = robot.model
        single_freedom_indices(robot, model.joint_names)
        self.robot, self.frame, self.tool = robot, frame, np.eye(4) if tool is None else np.array(tool, dtype=float)
        self.room = JointRoom(model)
        self.effort_limits = np.array([joint.limits.effort for joint in model.joints])
        self.largest_energy = math.inf
        self._kernel = self._build()
        self._call, nv = self._kernel.fast, model.nv
        self._out, self._spare = ([np.zeros(size) for size in _sizes(nv)] for _ in range(2))
        self._dt, self._target, self._before = np.ones(1), np.zeros(12), np.zeros(12)
        self.reset(model.start_position())

    def reset(self, q: Array) -> None:
        """Stand at q."""
        self.q: Array = np.array(q, dtype=float)
        self.v: Array = np.zeros(self.robot.model.nv)
        self.behind = self._energy = 0.0
        pose = np.asarray(self.robot.pose(self.q, self.frame) @ self.tool)
        self._before[:9], self._before[9:] = pose[:3, :3].reshape(-1), pose[:3, 3]
        self._step = ToolStep(pose, np.zeros(6), np.zeros(6))

    @property
    def pace(self) -> float:
        """How fast the target should move, as a share of its own speed.

        1 where the tool is there, 0 far behind, or where the robot has as much kinetic energy as a motion may take.
        """
        energetic = 2.0 * (1.0 - self._energy / (SPEED_SHARE**2 * self.largest_energy))
        return float(np.clip(min(1.0 - self.behind / BEHIND, energetic), 0.0, 1.0))

    def away(self, pose: Array) -> float:
        """How far a pose (4, 4) is from where the tool is wanted, m; a turn by 1 rad counts as 0.3 m."""
        here = self._step.pose
        trace = float(np.einsum("ij,ij->", here[:3, :3], pose[:3, :3]))
        angle = float(np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0)))
        return float(np.hypot(TURN * angle, np.linalg.norm(here[:3, 3] - pose[:3, 3])))

    def obstacle(self) -> str:
        """What keeps the tool from its target: joints at their limits, or a singular posture."""
        return self.room.obstacle(self.q)

    def follow(self, target: Array, dt: float, posture: Array) -> ToolStep:
        """Move on for dt seconds, after which the tool is to be at `target` (4, 4).

        posture (nv): where what the tool leaves free goes. Raises ArithmeticError where the result is not finite;
        nothing has changed then.
        """
        if dt <= 0.0:
            return self._step
        self._dt[0] = dt
        self._target[:9], self._target[9:] = target[:3, :3].reshape(-1), target[:3, 3]
        drift = self.room.drift(self.q, posture, self.pace)
        if self._stands(drift):
            return self._step
        tool = np.concatenate([self.tool[:3, :3].reshape(-1), self.tool[:3, 3]])
        inputs = (
            self.q, self.v, self._before, self._target, drift, self._dt, tool,
            self.room.lower, self.room.upper, *self.room.rates(), np.minimum(self.effort_limits, STRONGEST),
            self.robot.inertia_input,
        )  # fmt: skip
        if self._call(*inputs, *self._spare) is None:
            self._kernel(inputs, self._spare)
        self._out, self._spare = self._spare, self._out
        self.q, self.v = self._out[:2]
        placed, twist, acceleration, behind = self._out[2:]
        self.behind = float(behind[0])
        if self.largest_energy < math.inf:
            self._energy = float(self.robot.kinetic_energy(self.q, self.v))
        self._before[:] = self._target
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = placed[:9].reshape(3, 3), placed[9:]
        self._step = ToolStep(pose, twist.copy(), acceleration.copy())
        return self._step

    def _stands(self, drift: Array) -> bool:
        """The tool is at its target, and nothing is to move; what is left of the motion ends here."""
        if self.behind > THERE or np.abs(self.v).max() > THERE or np.abs(drift).max() > THERE:
            return False
        if not (self._target == self._before).all():
            return False
        if self._step.twist.any():
            self.v, self._energy = np.zeros_like(self.v), 0.0
            self._step = ToolStep(self._step.pose, np.zeros(6), np.zeros(6))
        return True

    def _build(self) -> Evaluation:
        signature, function = reachable_kernel(self.robot.model, self.frame)
        return self.robot.custom_kernel("reachable_motion", signature, function)


def reachable_kernel(model: Model, frame: str) -> tuple[Signature, Function]:
    """One step of the governor as a kernel's function, with what goes in and out, for the tool on a link or joint.

    All joints of the model have one degree of freedom. Raises KeyError for an unknown frame.
    """
    nv = (model.nv,)
    own = {"before": (12,), "target": (12,), "drift": nv, "dt": (1,)}
    shared = {"tool": (12,), "lower": nv, "upper": nv, "speed": nv, "acceleration": nv, "efforts": nv}
    named = {name: Argument(name, shape) for name, shape in own.items()}
    named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
    names = ("q_found", "v_found", "placed", "twist", "acceleration_found", "behind")
    outputs = tuple(Argument(name, size) for name, size in zip(names, _sizes(model.nv)))
    signature = Signature(arguments(f"q v {' '.join(named)} inertia", sizes_of(model), named), outputs)
    return signature, function_of(model, signature, _step, frame=frame)


def _sizes(nv: int) -> list[tuple[int, ...]]:
    return [(nv,), (nv,), (12,), (6,), (6,), (1,)]


def _step(x: Inputs) -> list[list[float]]:
    frame = tool_frame(x.frame, Transform((tuple(x.tool[:9]),), tuple(x.tool[9:])))
    weight = inverse_dynamics(x.model, x.inertias, x.q, x.still, x.still)
    bounds = JointBounds(x.lower, x.upper, x.speed, x.acceleration).weaker(x.mass_matrix(), weight, x.efforts)
    targets = Placed.of(x.before), Placed.of(x.target)
    found = reachable_step(x.model, frame, x.q, x.v, targets, x.drift, bounds, x.dt[0])
    return [found.q, found.v, found.placed, found.twist, found.acceleration, [found.left]]
