# SPDX-License-Identifier: Apache-2.0
"""Cartesian control whose efforts change no faster than their rates, as a node's do by default, on a simulated arm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.robots import robot_file

pytest.importorskip("rclpy")

from rbd_dynamics import load_urdf
from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters
from rbd_dynamics.nodes.tool.cartesian_engine import build_engine
from rbd_dynamics.nodes.torque.safeguards import Bounds, Safeguards

LAG = 1.0 / (2.0 * math.pi * 30.0)  # s, of the actuators; states are 5 ms late
RATE = 50.0  # N m/s: slow motors
ARMS = {
    "panda": ("panda_hand_tcp", [0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785], [-0.26, 0.67, 0.38]),
    "ur10_robot": ("tool0", [0.0, -1.2, 1.3, -0.5, 0.8, 0.0], [0.44, -0.04, 0.43]),
}


def fastest(name, *, eased=True):
    """The largest speed of a joint beside its limit, on the way to a target (m beside where the tool is)."""
    frame, start, away = ARMS[name]
    model = load_urdf(robot_file(name), locked={"panda_finger_joint1": 0.0} if name == "panda" else {})
    params = CartesianControllerParameters.of({"tool_frame": frame, "effort_rate_limits": [RATE]})
    engine, safeguards = build_engine(model, params, lambda *_: None), Safeguards()
    robot, reader, limits = engine.robot, engine.reader, np.array([j.limits.velocity for j in model.joints])
    safeguards.use(Bounds.of(list(model.joint_names), params), engine.effort_limits)
    q, v, now, worst = np.array(start), np.zeros(model.nv), 10**9, 0.0
    late, tau, goal = [robot.gravity(q).copy() for _ in range(5)], robot.gravity(q).copy(), engine.controller.pose(q)
    goal[:3, 3] += away
    for k in range(3000):
        reader.q[:], reader.v[:], reader.stamp = q, v, now
        if k == 200:
            engine.motion.go_to(goal, now)
        if eased:
            engine.ease(safeguards.behind, safeguards.rates)
        efforts = engine.step(params.wrench_rate).tau[engine.joints].copy()
        safeguards.limit(efforts, now, engine.effort_limits, urgent=engine.controller.in_haste, together=eased)
        safeguards.commanded(efforts, now)
        late.append(efforts)
        command = late.pop(0)
        for _ in range(2):
            tau = tau + (1.0 - math.exp(-5e-4 / LAG)) * (command - tau)
            v = v + 5e-4 * robot.forward_dynamics(q, v, tau)
            q = q + 5e-4 * v
        now += 10**6
        worst = max(worst, float((np.abs(v) / limits).max()))
        if worst > 5.0:
            break
    return worst


@pytest.mark.parametrize("name", ARMS)
def test_no_joint_is_faster_than_its_limit_though_efforts_come_late(name):
    assert fastest(name) < 1.0
    assert fastest(name, eased=False) > 1.5  # each effort by itself, and gains as they are
