# SPDX-License-Identifier: Apache-2.0
"""Whole laws of control that are exported as kernels, beside the algorithms of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.joint_speed_bound import LIMIT_MARGIN
from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.cartesian.chart_kernels import coordinates_kernel, motion_kernel
from rbd_dynamics.control.cartesian.gains import STIFFNESS, CartesianGains
from rbd_dynamics.control.cartesian.kernel import cartesian_kernel, damping_kernel
from rbd_dynamics.control.cartesian.reachable import reachable_kernel
from rbd_dynamics.control.feedforward import feedforward_law
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import hybrid_kernel
from rbd_dynamics.control.hybrid.multiplier_sensor import sensor_kernel
from rbd_dynamics.control.hybrid.task import HybridTask
from rbd_dynamics.control.motion.joint_room import JointRoom, PositionLimits, usable_speeds
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import exp_so3

Array = NDArray[np.float64]
Samples = Mapping[str, Array]

FEEDFORWARD = "feedforward"
CARTESIAN, REACHABLE = "cartesian_control", "reachable_motion"
COORDINATES, CHART_MOTION = "chart_coordinates", "chart_motion"
DAMPING = "tool_damping"
HYBRID, MULTIPLIERS, PRESSED_ROWS = "hybrid_control", "multiplier_sensor", "pressed_rows"

#: directions of a task frame that a tool moves along and about while it presses
ALONG = ("rx", "ry", "rz", "x", "y")
#: by the number of joints; five turn no tool about the normal, as four of a SCARA do
_CONTROLLED = {1: ("x",), 2: ("x",), 3: ("x", "y"), 4: ("rz", "x", "y"), 5: ("rx", "ry", "x", "y")}


class Law(NamedTuple):
    """kernel: of a robot and of a frame where the law is `of` one. samples: plausible inputs by their names."""

    kernel: Callable[[Robot, str], tuple[Signature, Function]]
    of: str
    samples: Callable[[Robot, str, np.random.Generator], Samples]


def _nothing(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    return {}


def _placed(pose: Array) -> Array:
    return np.concatenate([pose[:3, :3].reshape(-1), pose[:3, 3]])


def _near(pose: Array, rng: np.random.Generator) -> Array:
    """(4, 4)"""
    found = pose.copy()
    found[:3, :3] = found[:3, :3] @ exp_so3(0.1 * rng.normal(size=3))
    found[:3, 3] += 0.05 * rng.normal(size=3)
    return found


def _chart(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    base = exp_so3(rng.normal(size=3))
    pose = np.eye(4)
    pose[:3, :3] = base
    return {"base": base, "placed": _placed(_near(pose, rng))}


def _cartesian(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    model, gains = robot.model, CartesianGains()
    q = np.asarray(model.random(rng))
    pose = robot.pose(q, frame)
    along, about = STIFFNESS["impedance"]
    stiffness = np.diag([about] * 3 + [along] * 3)
    _, lower, upper = limits = PositionLimits.of(model)
    return {
        "q": q,
        "base": pose[:3, :3],
        "theta": np.concatenate([0.1 * rng.normal(size=3), pose[:3, 3] + 0.02 * rng.normal(size=3)]),
        "span": np.array([3e-3]),
        "dt": np.array([1e-3]),
        "posture": np.asarray(model.random(rng)),
        "stiffness": stiffness,
        "wanted_stiffness": 1.1 * stiffness,
        "tank": np.ones(1),
        "tool": _placed(_near(np.eye(4), rng)),
        "gains": gains.numbers(),
        "damping": gains.dampings(),
        "carrier": np.array([1.0, 0.0]),
        "axes": exp_so3(rng.normal(size=3)),
        "weights": np.ones(5),
        "lower": lower,
        "upper": upper,
        "margins": limits.margins(gains.joint_limit_margin),
        "limit_torques": np.full(model.nv, 10.0),
        "speeds": np.full(model.nv, 3.0),
    }


def _damping(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    along, about = STIFFNESS["impedance"]
    root = rng.normal(size=(6, 6))
    return {
        "stiffness": np.diag([about] * 3 + [along] * 3),
        "mobility": root @ root.T + np.eye(6),
        "dampings": np.where(np.arange(6) == 4, 20.0, -1.0),
        "ratios": np.full(6, 0.7),
    }


def _reachable(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    model, room = robot.model, JointRoom(robot.model)
    q = np.asarray(model.random(rng))
    speed, acceleration = room.rates()
    before = _near(robot.pose(q, frame), rng)
    return {
        "q": q,
        "before": _placed(before),
        "target": _placed(_near(before, rng)),
        "dt": np.array([1e-3]),
        "tool": _placed(np.eye(4)),
        "lower": np.maximum(room.lower, -10.0),
        "upper": np.minimum(room.upper, 10.0),
        "speed": speed,
        "acceleration": acceleration,
        "efforts": np.full(model.nv, 100.0),
    }


def pressing_task(model: Model, frame: str) -> tuple[ConstraintSet, ConstraintSet]:
    """Constraints and task of a tool on a frame that presses on a plane and moves along it, both placed anywhere.

    Arms of fewer than six joints move along and about fewer axes: as many as they have joints beside the normal.
    """
    return HybridTask(frame, controlled=_CONTROLLED.get(model.nv, ALONG)).sets(model)


def _hybrid_kernel(model: Model, frame: str) -> tuple[Signature, Function]:
    return hybrid_kernel(model, *pressing_task(model, frame))


def _pressed_rows(model: Model, frame: str) -> tuple[Signature, Function]:
    """The one row of the constraint, then those of the task."""
    constraints, task = pressing_task(model, frame)
    rows = ConstraintSet(model, (*constraints.constraints, *task.constraints))
    return specialise(model, "constraint_rows", constraints=rows)


def _pressing(robot: Robot, frame: str, rng: np.random.Generator) -> dict[str, Array]:
    """A tool somewhere near a surface, turned a little to its task frame."""
    q = np.asarray(robot.model.random(rng))
    tool, pose = _near(np.eye(4), rng), robot.pose(q, frame)
    placed = [_placed(tool), _placed(_near(pose @ tool, rng))]
    offset, near = [rng.uniform(0.0, 0.02)], [1.0, 0.0, 0.0, 0.0]
    return {"q": q, "parameters": np.concatenate([np.zeros(2), *placed, offset, *placed, near])}


def _felt(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    made = _pressing(robot, frame, rng)
    return {"q": made["q"], "parameters": made["parameters"][:27]}


def _hybrid(robot: Robot, frame: str, rng: np.random.Generator) -> Samples:
    model, task = robot.model, pressing_task(robot.model, frame)[1]
    gains = HybridGains(ki=5.0, normal_damping=30.0, posture_kp=25.0, posture_kd=10.0, task_ki=8.0)
    _, lower, upper = limits = PositionLimits.of(model)
    own = gains.of_law("geometric").numbers("geometric", task.row_names)
    return {
        **_pressing(robot, frame, rng),
        "gains": np.concatenate([own, [0.01, 1.0, 1e-3]]),
        "span": np.array([3e-3]),
        "posture": np.asarray(model.random(rng)),
        "limits": np.full(model.nv, 100.0),
        "speeds": usable_speeds([joint.limits.velocity for joint in model.joints]),
        "lower": lower,
        "upper": upper,
        "margins": limits.margins(LIMIT_MARGIN),
    }


LAWS = {
    FEEDFORWARD: Law(lambda robot, frame: feedforward_law(robot), "model", _nothing),
    CARTESIAN: Law(lambda robot, frame: cartesian_kernel(robot.model, frame), "frame", _cartesian),
    REACHABLE: Law(lambda robot, frame: reachable_kernel(robot.model, frame), "frame", _reachable),
    HYBRID: Law(lambda robot, frame: _hybrid_kernel(robot.model, frame), "frame", _hybrid),
    MULTIPLIERS: Law(
        lambda robot, frame: sensor_kernel(robot.model, pressing_task(robot.model, frame)[0], frame), "frame", _felt
    ),
    PRESSED_ROWS: Law(lambda robot, frame: _pressed_rows(robot.model, frame), "frame", _pressing),
    COORDINATES: Law(lambda robot, frame: coordinates_kernel(), "model", _chart),
    DAMPING: Law(lambda robot, frame: damping_kernel(), "model", _damping),
    CHART_MOTION: Law(lambda robot, frame: motion_kernel(), "model", _chart),
}
