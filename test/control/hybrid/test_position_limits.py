# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control keeps joints from their limits of position, wherever the task wants them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import robot_file

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, JointCoupling
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains

POSE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
DT, REACTION = 0.001, 0.01  # s
HELD = 4  # the joint that a constraint holds


def _rows(model):
    """Constraint and task: all joints."""
    couplings = [JointCoupling(name, {name: 1.0}) for name in model.joint_names]
    held = couplings.pop(HELD)
    return ConstraintSet(model, [held]), ConstraintSet(model, couplings)


@pytest.mark.parametrize("law", ["geometric", "gauge_invariant"])
@pytest.mark.parametrize(("joint", "side"), [(0, 1.0), (3, -1.0), (6, 1.0)])
def test_a_joint_comes_to_its_limit_the_slower_the_nearer_it_is(law, joint, side):
    """It is wanted .5 rad beyond, with gains that overshoot, on masses that are 10 % off, by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    file = robot_file("panda")
    robot = rbd.Robot(rbd.load_urdf(file, locked={"panda_finger_joint1": 0.02}))
    model = robot.model
    held, task = _rows(model)
    gains = HybridGains(kp=100.0, kd=6.0) if law == "geometric" else HybridGains(kp=12.0, kd=6.0)
    controller = HybridController(
        robot,
        held,
        task,
        law=law,
        gains=gains,
        reaction_time=REACTION,
        effort_limits=np.full(7, 1e3),
    )
    whole = pin.buildModelFromUrdf(str(file))
    fingers = [whole.getJointId(f"panda_finger_joint{k}") for k in (1, 2)]
    reference = pin.neutral(whole)
    reference[-2:] = 0.02
    plant = pin.buildReducedModel(whole, fingers, reference)
    for inertia in plant.inertias:
        inertia.mass *= 1.1
    data = plant.createData()
    limits = model.joints[joint].limits
    limit = limits.upper if side > 0.0 else limits.lower
    q, v = POSE.copy(), np.zeros(7)
    q[joint] = limit - 0.4 * side
    wanted = q.copy()
    wanted[joint] = limit + 0.5 * side
    left, speed = [], []
    for _ in range(3000):
        tau = controller.step(q, v, np.delete(wanted, HELD), dt=DT).tau
        v = v + DT * pin.aba(plant, data, q, v, tau)
        q = q + DT * v
        left.append(side * (limit - q[joint]))
        speed.append(side * v[joint])
    print(
        "MIN",
        min(left),
        left[-1],
        max(np.array(speed) - 12.0 * np.array(left)),
        max(speed[k] for k in range(3000) if left[k] < 0.05),
        max(speed),
    )
    near = np.array(left) < 0.1
    assert min(left) > 0.0
    assert abs(left[-1]) < 0.01
    assert (np.array(speed)[near] < 0.05 + 0.12 / REACTION * np.array(left)[near]).all()
    assert max(speed) < limits.velocity


def test_joints_far_from_their_limits_of_position_are_not_braked_by_them():
    robot = rbd.Robot(rbd.load_urdf(robot_file("panda"), locked={"panda_finger_joint1": 0.02}))
    model = robot.model
    held, task = _rows(model)
    controller = HybridController(robot, held, task, gains=HybridGains(kp=1e4, kd=200.0))
    moved = 0.2 * (np.arange(7) != HELD)
    found = controller.step(POSE, np.zeros(7), np.delete(POSE + moved, HELD)).wanted
    expected = robot.inverse_dynamics(POSE, np.zeros(7), 1e4 * moved)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
