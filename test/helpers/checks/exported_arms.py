# SPDX-License-Identifier: Apache-2.0
"""Arms whose exported controller of the tool is asked on standard input, without ROS."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rbd_dynamics as rbd
from helpers.checks.asked_programs import Answers, asked_program, whole
from rbd_dynamics.export import export_ros2_control

POINTING_DOWN = {"ur5": (0.3, -1.4, 1.9, -2.07, -1.57, 0.2), "panda": (0.1, 0.1, -0.1, -2.2, 0.05, 2.3, 0.785)}


class Arm(NamedTuple):
    """A robot, its exported program, and a posture of it that is not singular."""

    model: rbd.Model
    frame: str
    start: np.ndarray
    talk: Answers

    @property
    def efforts(self) -> np.ndarray:
        return np.array([joint.limits.effort for joint in self.model.joints])

    @property
    def speeds(self) -> np.ndarray:
        return np.array([joint.limits.velocity for joint in self.model.joints])

    @property
    def place(self) -> np.ndarray:
        return np.asarray(rbd.Robot(self.model).pose(self.start, self.frame))


def exported_arm(name: str, shared: Path, main: Path, start: Sequence[float]) -> Arm:
    """The arm of that name, with the program of `main` around it, of a folder that all tests of a run share."""
    if name == "ur5":
        model, frame = rbd.load("ur5_robot"), "tool0"
    else:
        model, frame = rbd.load("panda", locked={"panda_finger_joint1": 0.0}), "panda_hand_tcp"
    folder = shared / name / "arm"
    with whole(folder):
        if not any(folder.iterdir()):
            export_ros2_control(model, folder, tip=frame)
    return Arm(model, frame, np.array(start), asked_program(folder, main))


def wishes(**given: Any) -> Iterator[Sequence[Any]]:
    for name, value in given.items():
        yield ("wish", name, value) if isinstance(value, float) else ("wish", name, len(value), value)


def usual_rates(arm: Arm) -> np.ndarray:
    return np.minimum(arm.efforts / 0.1, 1000.0)


def configured(arm: Arm, *, limits: Any = None, rates: Any = math.inf, **given: Any) -> list[Sequence[Any]]:
    limits = arm.efforts if limits is None else limits
    return [*wishes(**given), ("configure", limits, np.broadcast_to(rates, arm.model.nv))]


def numbers(words: Sequence[str]) -> np.ndarray:
    return np.array(words, dtype=float)
