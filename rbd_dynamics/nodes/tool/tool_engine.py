# SPDX-License-Identifier: Apache-2.0
"""What the engines of nodes that control a tool have in common."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.safety.softening import ALL, Shares
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.nodes.interface.tool import ToolParameters
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.arrays import pose_array

Array = NDArray[np.float64]
WORLD_NAME = "world"


class Output(Protocol):
    """What a law gives: the command, and the same without effort limits (nv)."""

    @property
    def tau(self) -> Array: ...

    @property
    def wanted(self) -> Array: ...


class Law(Protocol):
    """The law of a tool."""

    effort_limits: Array  # (nv)


class ToolEngine(Protocol):
    """One robot model, one tool, and the law for both."""

    @property
    def joints(self) -> NDArray[np.intp]:
        """Indices in the model's order, as the efforts are ordered."""

    @property
    def controller(self) -> Law: ...

    @property
    def output(self) -> Output | None:
        """What the last step gave."""


class ToolEfforts:
    """Which efforts the law of a tool commands: a base of engines. It commands all joints."""

    shares: Shares = ALL

    @property
    def commanded(self: ToolEngine) -> NDArray[np.intp]:
        return self.joints

    @property
    def effort_limits(self: ToolEngine) -> Array:
        return self.controller.effort_limits[self.joints]

    @property
    def saturated(self: ToolEngine) -> NDArray[np.bool_]:
        out = self.output
        return np.zeros(len(self.joints), dtype=bool) if out is None else (out.tau != out.wanted)[self.joints]


def controlled_joints(robot: Robot, params: ToolParameters, prefix: Prefix) -> tuple[list[str], NDArray[np.intp]]:
    """All of the robot's in the order of the efforts, as the model has them: names, and where they are in it.

    Raises ValueError where one is missing.
    """
    inside = [prefix.inside(name) for name in params.joints] or list(robot.model.joint_names)
    joints = single_freedom_indices(robot, inside)
    missing = [name for name in robot.model.joint_names if name not in inside]
    if missing:
        raise ValueError(f"parameter 'joints' lacks {missing[0]!r}: lock joints that are not controlled")
    return inside, joints


def reader_of(model: Model, params: ToolParameters, prefix: Prefix) -> JointStateReader:
    """A reader of the states of all joints."""
    names = [prefix.outside(name) for name in model.joint_names]
    return JointStateReader(names, names, missing_velocity=params.missing_velocity, initial=model.start_position())


def root_frames(model: Model, prefix: Prefix) -> tuple[str, ...]:
    """What the root frame is called: its link first, then others that are the same."""
    still = np.eye(4)
    same = [f for f in model.frames if f.body == WORLD and (pose_array(f.placement) == still).all()]
    links = [f.name for f in same if f.element == "link"]
    return (*(prefix.outside(name) for name in links), WORLD_NAME)
