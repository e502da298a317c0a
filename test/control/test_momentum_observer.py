# SPDX-License-Identifier: Apache-2.0
"""The momentum observer: its estimate is the external torque through a first-order filter."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot

from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
from rbd_dynamics.robot import Robot

DT = 1e-3
RATE = 30.0


@pytest.fixture(scope="module", params=[("ur5_robot", "fixed"), ("panda", "fixed"), ("z1", "floating")], ids=str)
def robot(request):
    return Robot(load_robot(*request.param))


def motion(robot, seconds=0.8):
    """States and actuator torques of a swinging robot on which something pulls from 0.3 s on."""
    rng = np.random.default_rng(2)
    model = robot.model
    q, v = model.random(rng), np.zeros(model.nv)
    pull = rng.uniform(-1.0, 1.0, model.nv)
    states = []

    def actuators(t, q, v):
        return robot.gravity(q) + 0.2 * np.sin(9.0 * t + np.arange(model.nv)) - 0.3 * v

    for k in range(round(seconds / DT)):
        t, external = k * DT, pull * (k * DT >= 0.3)
        tau = actuators(t, q, v)
        states.append((q, v, tau, external))
        # midpoint rule, so that the integration is not what is tested
        half, middle = model.integrate(q, 0.5 * DT * v), v + 0.5 * DT * robot.forward_dynamics(q, v, tau + external)
        a = robot.forward_dynamics(half, middle, actuators(t + 0.5 * DT, half, middle) + external)
        q, v = model.integrate(q, DT * middle), v + DT * a
    return [np.array(column) for column in zip(*states)]


def filtered(external):
    """First-order filter of the true torque."""
    out = np.zeros_like(external)
    for k in range(1, len(external)):
        out[k] = out[k - 1] + (1.0 - np.exp(-RATE * DT)) * (external[k - 1] - out[k - 1])
    return out


def test_estimate_is_the_filtered_external_torque(robot):
    q, v, tau, external = motion(robot)
    observer = MomentumObserver(robot, rate=RATE)
    found = np.array([observer.update(*state, DT).copy() for state in zip(q, v, tau)])
    np.testing.assert_allclose(found, filtered(external), atol=0.02)
    np.testing.assert_allclose(found[-1], external[-1], atol=0.02)
    observer.reset()
    pieces = [observer.of_samples(q[k], v[k], tau[k], DT) for k in (slice(0, 1), slice(1, 40), slice(40, None))]
    np.testing.assert_allclose(np.concatenate(pieces), found, atol=1e-10)


def test_payload_that_the_model_lacks_is_seen_as_its_weight():
    robot = Robot(load_robot("ur5_robot"))
    loaded = Robot(robot.model)
    loaded.set_payload("tool0", 2.0)
    q, rest = robot.model.random(3), np.zeros(6)
    observer = MomentumObserver(robot, rate=RATE)
    tau = loaded.gravity(q)
    for _ in range(1000):
        observer.update(q, rest, tau, DT)
    np.testing.assert_allclose(observer.external, robot.gravity(q) - tau, atol=1e-8)


def test_steps_of_any_length_are_stable_and_reset_forgets():
    robot = Robot(load_robot("ur5_robot"))
    q, rest = robot.model.random(3), np.zeros(6)
    observer = MomentumObserver(robot, rate=[10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    for dt in (0.0, 1e-3, 1.0, 100.0):
        observer.update(q, rest, robot.gravity(q) - 1.0, dt)
    np.testing.assert_allclose(observer.external, 1.0, rtol=1e-2)
    observer.reset()
    observer.update(q, rest, robot.gravity(q), DT)
    np.testing.assert_array_equal(observer.external, 0.0)


@pytest.mark.parametrize("wrong", ["q", "v", "tau", "dt"])
def test_what_is_not_finite_is_refused_and_changes_nothing(wrong):
    robot = Robot(load_robot("ur5_robot"))
    q, v = robot.model.random(3), np.full(6, 0.1)
    state = {"q": q, "v": v, "tau": robot.gravity(q), "dt": DT}
    one, other = (MomentumObserver(robot, rate=RATE) for _ in range(2))
    for observer in (one, other):
        observer.update(**state)
    with pytest.raises(ValueError):
        one.update(**state | {wrong: np.nan * np.asarray(state[wrong])})
    np.testing.assert_array_equal(one.update(**state), other.update(**state))
    with pytest.raises(ValueError, match="rate"):
        MomentumObserver(robot, rate=0.0)
