# SPDX-License-Identifier: Apache-2.0
"""What a wrench sensor reads beside the multipliers of a frame that is held along one direction."""

from __future__ import annotations

import numpy as np
from helpers.models.robots import load_robot

from rbd_dynamics import Robot
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.control.hybrid.multiplier_sensor import MultiplierSensor
from rbd_dynamics.spatial.se3 import Transform

TOOL = "wrist_3_joint"
Q, V = np.array([0.3, -1.2, 1.3, -0.5, 0.8, 0.1]), np.array([0.1, -0.2, 0.3, 0.2, -0.1, 0.4])


def test_what_is_read_in_free_motion_is_nothing_beside_and_stays_in_the_multipliers():
    robot = Robot(load_robot("ur5_robot"))
    held = ConstraintSet(robot.model, [FrameConstraint("held", TOOL, directions=("z",))])
    sensor, free = MultiplierSensor(robot, held, TOOL), np.array([0.3, -0.2, 0.1, 4.0, -5.0, 6.0])
    R = robot.pose(Q, TOOL)[:3, :3]
    read = sensor.read(Q, V, free, free).copy()
    np.testing.assert_allclose(np.hstack(sensor.beside), 0.0, atol=1e-12)
    np.testing.assert_allclose(read, sensor.multipliers(Q, free), rtol=1e-12)
    # and what comes on top of it, in the world: 3 N across the direction that is held, none of it a multiplier
    across = np.concatenate([np.zeros(3), R.T @ [3.0, 0.0, 0.0]])
    same = sensor.read(Q, V, free + across, free).copy()
    np.testing.assert_allclose(same, read, atol=1e-9)
    force, moment, power, efforts = sensor.beside
    twist = robot.jacobian(Q, TOOL) @ V
    np.testing.assert_allclose((force, moment), (3.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(power, -across @ twist, rtol=1e-9)
    np.testing.assert_allclose(efforts, robot.jacobian(Q, TOOL).T @ across, atol=1e-9)


def test_a_moment_beside_is_that_about_the_tools_point():
    """Of a force at 0.1 m beside that point, and of one through it, which makes a moment at the sensor only."""
    robot = Robot(load_robot("ur5_robot"))
    at = (0.05, -0.02, 0.2)
    tool = FrameConstraint("held", TOOL, directions=("z",), placement=Transform.of((1, 0, 0, 0, 1, 0, 0, 0, 1), at))
    sensor = MultiplierSensor(robot, ConstraintSet(robot.model, [tool]), TOOL)
    force = robot.pose(Q, TOOL)[:3, :3].T @ [3.0, 0.0, 0.0]
    aside = 0.1 * np.cross(force, [0.3, 0.5, -0.2]) / np.linalg.norm(np.cross(force, [0.3, 0.5, -0.2]))
    for arm, moment in ((np.zeros(3), 0.0), (aside, 0.3)):
        sensor.read(Q, V, np.concatenate([np.cross(at + arm, force), force]), np.zeros(6))
        np.testing.assert_allclose(sensor.beside[:2], (3.0, moment), atol=1e-5)
