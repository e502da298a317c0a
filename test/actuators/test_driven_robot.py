# SPDX-License-Identifier: Apache-2.0
"""Robots with elastic joints and rotors against trees whose rotors are bodies, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.driven import driven_tree

from rbd_dynamics import Robot
from rbd_dynamics.actuators import DrivenRobot


def relative(found, expected):
    return np.max(np.abs(found - expected)) / (1.0 + np.max(np.abs(expected)))


@pytest.mark.parametrize("rigid", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_complete_model_is_that_of_a_tree_with_rotors_as_bodies(seed, rigid):
    pair = driven_tree(seed, rigid=rigid)
    robot = DrivenRobot(pair.model, gyroscopics=True, backend="reference")
    twin = Robot(pair.twin, backend="reference")
    rng = np.random.default_rng(seed)
    nv, m = pair.model.nv, len(robot.elastic)
    assert robot.elastic == tuple(pair.elastic)
    q, v, a, tau = rng.normal(size=(4, nv))
    theta, speed, acceleration = rng.normal(size=(3, m))
    state = pair.on_twin(q, theta), pair.on_twin(v, speed)

    # inverse: torques of links and motors
    links, own = pair.of_twin(twin.inverse_dynamics(*state, pair.on_twin(a, acceleration)), inverse=True)
    found = robot.drive_torques(q, v, a, speed, acceleration)
    assert relative(found[0], links) < 1e-12
    if m:
        assert relative(found[1], own) < 1e-12

    # forward
    spring = robot.stiffness * (theta - q[robot.positions]) + robot.damping * (speed - v[robot.dofs])
    on_links = tau.copy()
    on_links[robot.dofs] = spring
    expected = twin.forward_dynamics(*state, pair.on_twin(on_links, tau[robot.dofs] - spring, inverse=True))
    found = robot.forward_dynamics(q, v, theta, speed, tau)
    for one, other in zip(found, pair.of_twin(expected)):
        if len(other):
            assert relative(one, other) < 1e-10
