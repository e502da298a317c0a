# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control brakes joints that near their velocity limits, and drives no other joint by that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import robot_file
from scipy.optimize import lsq_linear

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.joint_speed_bound import APPROACH, BEGINS, COMPLETE, DAMPING, REACHED
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.task import HybridTask

TOOL = "panda_hand_tcp"
POSE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
REACTION = 0.01  # s


def room(v: float, limit: float) -> tuple[float, float]:
    """Accelerations of a joint: any while it is slow; else those that keep it from its limit, and a damper besides."""
    share = min(1.0, max(0.0, (abs(v) / limit - BEGINS) / (COMPLETE - BEGINS)))
    if share == 0.0:
        return -np.inf, np.inf
    least, most = (APPROACH / REACTION * (side * REACHED * limit - v) for side in (-1.0, 1.0))
    damper = share * DAMPING / REACTION * v
    return min(most, least - min(damper, 0.0)), max(least, most - max(damper, 0.0))


def far_from_limits(model: rbd.Model) -> rbd.Model:
    """Of position: those bound speeds as well."""
    bodies = [
        body if body.joint is None else replace(
            body, joint=replace(body.joint, limits=replace(body.joint.limits, lower=-100.0, upper=100.0))
        )
        for body in model.bodies
    ]  # fmt: skip
    return replace(model, bodies=tuple(bodies))


@pytest.mark.parametrize("law", ["geometric", "gauge_invariant"])
def test_what_brakes_a_joint_takes_energy_and_is_its_own_effort(law):
    """Mass matrix and bias by Pinocchio; the acceleration nearest to what is wanted, in its metric, by SciPy. What is
    felt beside the surface accelerates joints from the first moment on.

    Accelerations that are cut off one by one need efforts of all joints, some of which drive the arm.
    """
    pin = pytest.importorskip("pinocchio")
    file = robot_file("panda")
    robot = rbd.Robot(far_from_limits(rbd.load_urdf(file, locked={"panda_finger_joint1": 0.02})))
    at = tuple(robot.pose(POSE, TOOL)[:3, 3].tolist())
    constraints, task = HybridTask(TOOL, tool_orientation=(np.pi, 0.0, 0.0), task_position=at).sets(robot.model)
    gains = HybridGains(kp=1200.0, kd=70.0) if law == "geometric" else HybridGains(kp=30.0, kd=40.0)
    common = {"law": law, "gains": gains, "reaction_time": REACTION, "effort_limits": np.full(7, 1e6)}
    bound = HybridController(robot, constraints, task, **common)
    free = HybridController(robot, constraints, task, velocity_limits=np.zeros(7), **common)

    whole = pin.buildModelFromUrdf(str(file))
    fingers = [whole.getJointId(f"panda_finger_joint{k}") for k in (1, 2)]
    reference = pin.neutral(whole)
    reference[-2:] = 0.02
    model = pin.buildReducedModel(whole, fingers, reference)
    data = model.createData()
    M = pin.crba(model, data, POSE)
    M = np.triu(M) + np.triu(M, 1).T
    root = np.linalg.cholesky(M).T

    rng, limits = np.random.default_rng(2), np.array(robot.model.velocity_limit)
    pushes, J = np.random.default_rng(3), robot.jacobian(POSE, TOOL)[3:]
    braked = driven = 0
    for _ in range(60):
        v = limits * rng.uniform(-0.8, 0.8, 7)
        fast = rng.choice(7, size=rng.integers(0, 4), replace=False)
        v[fast] = limits[fast] * rng.choice([-1.0, 1.0], len(fast)) * rng.uniform(0.9, 1.1, len(fast))
        theta = rng.uniform(-0.1, 0.1, 5)
        for each in (bound, free):
            each.reset()
        aside = J.T @ pushes.normal(size=3) * pushes.choice([0.0, 5.0])
        taus = [each.step(POSE, v, theta, aside=aside).tau.copy() for each in (bound, free)]
        own = taus[0] - taus[1]
        bias = pin.nle(model, data, POSE, v) if law == "geometric" else pin.rnea(model, data, POSE, 0 * v, 0 * v)
        now, wanted = (np.linalg.solve(M, tau - bias + aside) for tau in taus)
        least, most = np.array([room(*each) for each in zip(v, limits)]).T
        nearest = lsq_linear(root, root @ wanted, (least, most), tol=1e-14).x
        close = 5e-3 * (1.0 + np.abs(wanted).max())  # what so many sweeps of Gauss and Seidel leave
        np.testing.assert_allclose(now, nearest, atol=close)

        slow, size = np.abs(v) < BEGINS * limits, 1e-2 * (1.0 + np.abs(own).max())
        assert np.abs(own[slow]).max(initial=0.0) < size  # no effort of a joint that may go on
        # each of them takes energy, but where a joint is braked so hard that it would pass its limit on the other side
        turned_round = np.where(v < 0.0, now > most - close, now < least + close)
        assert (turned_round | (own * v < size * limits)).all()
        braked += np.abs(own).max() > 0.1
        cut = M @ (np.clip(wanted, least, most) - wanted)
        driven += cut @ v > 1.0 or np.abs(cut[slow]).max(initial=0.0) > 1.0
    assert braked > 30 and driven > 20  # there was something to brake, which cutting off would not have passed
