# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of the complete model: undone by forward dynamics, and theta's rates by differences."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from helpers.models.driven import driven_tree

from rbd_dynamics import Drive, ModelBuilder, joints
from rbd_dynamics.actuators import DrivenRobot


def undamped(pair, **options):
    return DrivenRobot(
        pair.model, damping=dict.fromkeys(pair.elastic, 0.0), gyroscopics=True, backend="reference", **options
    )


def sound_tree(seed, n, rigid=0.0):
    """One in which no rotor is felt at its own joint."""
    for k in range(seed, seed + 1000, 100):
        pair = driven_tree(k, n=n, rigid=rigid)
        try:
            if undamped(pair).needed_derivatives >= 6:
                return pair
        except ValueError:
            continue
    raise AssertionError("no such tree")


def relative(found, expected):
    return np.max(np.abs(found - expected)) / (1.0 + np.max(np.abs(expected)))


@pytest.mark.parametrize("rigid", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_forward_dynamics_undoes_inverse_dynamics(seed, rigid):
    pair = sound_tree(seed, 4, rigid)
    robot = undamped(pair)
    rng = np.random.default_rng(seed)
    order = robot.needed_derivatives
    size, speed, phase = rng.uniform(0.2, 0.8, 4), rng.uniform(0.5, 3.0, 4), rng.uniform(0, 6, 4)

    def motion(t):
        q, v, a, jerk, snap, *further = (
            size * speed**k * np.sin(speed * t + phase + k * np.pi / 2) for k in range(order + 1)
        )
        return q, v, a, robot.inverse_dynamics(q, v, a, jerk, snap, further=further)

    q, v, a, found = motion(0.0)
    forward = robot.forward_dynamics(q, v, found.theta, found.velocity, found.tau)
    assert relative(forward[0], a) < 1e-10
    assert relative(forward[1], found.acceleration) < 1e-10
    h = 1e-3
    one, two = ([motion(k * h)[3].theta for k in (-n, n)] for n in (1, 2))
    rate = (8 * (one[1] - one[0]) - (two[1] - two[0])) / (12 * h)
    bend = (16 * (one[1] + one[0]) - (two[1] + two[0]) - 30 * found.theta) / (12 * h * h)
    assert relative(found.velocity, rate) < 1e-8
    assert relative(found.acceleration, bend) < 1e-5


def test_where_no_rotor_is_carried_it_is_the_reduced_model():
    builder = ModelBuilder("arm")
    for k in range(3):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, joints.Revolute((0.6, 0.0, 0.8)), mass=1.0, com=(0.1, 0.2, 0.3),
            placement=np.array([0.1, 0.2, 0.3]), inertia=[0.02, 0, 0, 0.03, 0, 0.02], armature=0.4,
            drive=Drive(gear_ratio=9.0, stiffness=900.0, rotor_frame="floor", rotor_axis=(0, 0, 1)) ,
        )  # fmt: skip
    builder.add_frame("floor", None)
    model = builder.build()
    rates = np.random.default_rng(0).normal(size=(5, 6, 3))
    whole, reduced = (DrivenRobot(model, gyroscopics=g, backend="reference") for g in (True, False))
    assert whole.needed_derivatives == 4
    for x, y in zip(whole.inverse_dynamics(*rates), reduced.inverse_dynamics(*rates)):
        assert relative(x, y) < 1e-13


def test_of_a_serial_arm_each_motor_takes_two_derivatives_more():
    builder = ModelBuilder("arm")
    for k in range(4):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, joints.Revolute((1, 0, 0)), joint_name=f"joint{k}", mass=1.0,
            com=(0, 0, 0.3), armature=0.4, drive=Drive(gear_ratio=9.0, stiffness=900.0),
        )  # fmt: skip
    robot = DrivenRobot(builder.build(), gyroscopics=True)
    assert robot.needed_derivatives == 2 * (4 + 1)
    with pytest.raises(ValueError, match="needs derivatives up to order 10, not 4"):
        robot.inverse_dynamics(*np.zeros((5, 4)))
    with pytest.raises(ValueError, match="joint 'joint1' has damping"):
        DrivenRobot(robot.model, gyroscopics=True, damping={"joint1": 1.0}).inverse_dynamics(*np.zeros((5, 4)))
    with pytest.raises(ValueError, match="not finite"):
        robot.inverse_dynamics(*np.full((5, 4), np.nan), further=np.zeros((6, 4)))
    with pytest.raises(ValueError, match="shape"):
        robot.inverse_dynamics(*np.zeros((5, 3)), further=np.zeros((6, 3)))


def test_a_rotor_behind_its_own_joint_is_refused():
    builder = ModelBuilder("arm")
    builder.add_body(
        "link", None, joints.Revolute((1, 0, 0)), joint_name="hip", mass=1.0, com=(0, 0, 0.3), armature=0.4,
        inertia=[0.1, 0, 0, 0.1, 0, 0.1],
        drive=Drive(gear_ratio=9.0, stiffness=900.0, rotor_frame="link", rotor_axis=(1, 0, 0)),
    )  # fmt: skip
    robot = DrivenRobot(builder.build(), gyroscopics=True)
    with pytest.raises(ValueError, match="rotor of joint 'hip' is felt at that joint itself"):
        robot.inverse_dynamics(*np.zeros((5, 1)))


def test_payloads_count():
    pair = sound_tree(1, 3)
    robot = undamped(pair)
    rates = np.random.default_rng(0).normal(size=(robot.needed_derivatives + 1, 3)) / factorial(3)
    before = robot.inverse_dynamics(*rates[:5], further=rates[5:])
    robot.links.set_payload("link2", 2.0, com=(0.1, 0.0, 0.2))
    after = robot.inverse_dynamics(*rates[:5], further=rates[5:])
    assert relative(before.tau, after.tau) > 1e-2
    forward = robot.forward_dynamics(rates[0], rates[1], after.theta, after.velocity, after.tau)
    assert relative(forward[0], rates[2]) < 1e-10
