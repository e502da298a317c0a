# SPDX-License-Identifier: Apache-2.0
"""What is commanded once nothing else is: by time, within limits, and never against a robot that stands still."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.control import SafeStop, StopOptions
from rbd_dynamics.control.safety.safe_stop import OLDEST, RAMP
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

LIMITS = np.array([80.0, 40.0, 30.0])
Q, V = np.array([0.4, -0.6, 0.1]), np.array([0.5, -0.4, 0.2])


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(ARM))


@pytest.fixture
def stop(robot):
    return SafeStop(robot)


@pytest.fixture(scope="module")
def one_stop(robot):
    return SafeStop(robot)


def oracle(q, mass=0.0):
    """Gravity torque by Pinocchio, with a point mass at the hand."""
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromXML(ARM)
    if mass:
        model.appendBodyToJoint(
            model.getJointId("slide"), pinocchio.Inertia(mass, np.zeros(3), np.zeros((3, 3))), pinocchio.SE3.Identity()
        )
    q = np.array([q[0], math.cos(q[1]), math.sin(q[1]), q[2]])
    return pinocchio.computeGeneralizedGravity(model, model.createData(), q)


def inertia(q):
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromXML(ARM)
    q = np.array([q[0], math.cos(q[1]), math.sin(q[1]), q[2]])
    upper = pinocchio.crba(model, model.createData(), q)
    return np.triu(upper) + np.triu(upper, 1).T


def test_at_fresh_states_gravity_and_damping_of_each(stop):
    stop.begin(10.0, Q, V, age=0.0)
    for k, scale in enumerate((1.0, -0.5, 0.0)):
        q, v = scale * Q, scale * V
        np.testing.assert_allclose(
            stop.answer(10.0 + 0.1 * k, q, v), oracle(q) - 10.0 * inertia(q) @ v, rtol=1e-9, atol=1e-9
        )


def test_given_damping_is_that_of_each_joint(robot):
    stop = SafeStop(robot, joints=["slide", "shoulder"], options=StopOptions(damping=(3.0, 2.0)))
    stop.begin(0.0, Q, V)
    expected = oracle(Q)[[2, 0]] - [3.0 * V[2], 2.0 * V[0]]
    np.testing.assert_allclose(stop.answer(0.1, Q, V), expected, rtol=1e-9)


def test_without_states_gravity_at_the_last_good_one_and_damping_that_dies_out(stop):
    stop.begin(0.0, Q, V, age=0.1)
    held = oracle(Q)
    first, later, last = (stop.blind(t) - held for t in (0.0, 0.5, 1.25))
    np.testing.assert_allclose(first, -5.0 * math.exp(-1.0) * inertia(Q) @ V, rtol=1e-9)
    np.testing.assert_allclose(later, first * math.exp(-5.0), rtol=1e-6, atol=1e-12)
    assert np.abs(last).max() < 1e-5


@pytest.mark.parametrize("damping", [(), (0.1,), (5.0,), (1e6,)])
def test_without_states_no_more_than_half_the_momentum_is_taken(robot, damping):
    """Whatever the damping: a robot whose friction takes the other half is not thrown back."""
    stop = SafeStop(robot, options=StopOptions(damping=damping, duration=4.0))
    stop.begin(0.0, Q, V)
    held = oracle(Q)
    times = np.linspace(0.0, 3.7, 3701)
    impulse = np.trapezoid([stop.blind(t) - held for t in times], times, axis=0)
    momentum = inertia(Q) @ V
    assert (np.abs(impulse) <= 0.5 * np.abs(momentum) * (1.0 + 1e-4)).all()
    assert (impulse * momentum <= 0.0).all()


def test_it_goes_to_zero_within_its_time_and_stays_there(robot):
    stop = SafeStop(robot, options=StopOptions(duration=1.0))
    stop.begin(5.0, Q, np.zeros(3))
    full = oracle(Q)
    for time, share in (
        (5.0, 1.0),
        (6.0 - RAMP, 1.0),
        (6.0 - 0.5 * RAMP, 0.5),
        (6.0 - 1e-9, 0.0),
        (6.0, 0.0),
        (99.0, 0.0),
    ):
        np.testing.assert_allclose(stop.answer(time, Q, np.zeros(3)), share * full, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(stop.blind(time), share * full, rtol=1e-6, atol=1e-6)
    assert stop.over(6.0) and not stop.over(6.0 - 1e-9)
    np.testing.assert_array_equal(stop.answer(6.0, Q, V), np.zeros(3))


@pytest.mark.parametrize("options", [StopOptions(on_silence="zero"), StopOptions(duration=0.0)])
def test_zero_is_zero_at_once(robot, options):
    stop = SafeStop(robot, options=options)
    stop.begin(0.0, Q, V)
    assert stop.over(0.0)
    np.testing.assert_array_equal(stop.answer(0.0, Q, V), np.zeros(3))
    np.testing.assert_array_equal(stop.blind(0.0), np.zeros(3))


@pytest.mark.parametrize(("q", "age"), [(None, 0.0), (Q, OLDEST + 1e-3), (Q, math.inf), (Q, math.nan), (Q, -1.0)])
def test_without_a_state_that_says_where_the_robot_is_zero_at_once(stop, q, age):
    stop.begin(0.0, q, None if q is None else V, age=age)
    assert stop.over(0.0)
    np.testing.assert_array_equal(stop.blind(0.0), np.zeros(3))


def test_what_the_robot_compensates_itself_is_left_out(robot):
    stop = SafeStop(robot, terms=("inertia", "coriolis"))
    stop.begin(0.0, Q, V)
    np.testing.assert_allclose(stop.answer(0.0, Q, V), -10.0 * inertia(Q) @ V, rtol=1e-9)


def test_payloads_count():
    robot = Robot(load_urdf(ARM))
    stop = SafeStop(robot)
    robot.set_payload("hand", 1.5)
    stop.begin(0.0, Q, np.zeros(3))
    np.testing.assert_allclose(stop.blind(0.0), oracle(Q, 1.5), rtol=1e-9)


def test_springs_hold_the_robot_too():
    sprung = Robot(load_urdf(ARM.replace('damping="0.2"', 'damping="0.2" spring_stiffness="7" spring_reference="0.1"')))
    stop = SafeStop(sprung)
    stop.begin(0.0, Q, np.zeros(3))
    np.testing.assert_allclose(stop.blind(0.0), oracle(Q) + [0.0, 7.0 * (Q[1] - 0.1), 0.0], rtol=1e-9)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(), min_size=3, max_size=3),
    st.lists(st.floats(), min_size=3, max_size=3),
    st.floats(),
    st.sampled_from([(), (1e308,), (0.5,)]),
)
def test_never_beyond_limits_and_never_without_a_finite_number(one_stop, q, v, time, damping):
    stop = one_stop
    stop.tune(StopOptions(damping=damping))
    q, v = np.array(q), np.array(v)
    for start in (Q, q):
        stop.begin(0.0, start, v)
        for efforts in (stop.answer(0.1, q, v), stop.blind(0.1), stop.answer(time, q, v), stop.blind(time)):
            assert np.isfinite(efforts).all()
            assert (np.abs(efforts) <= LIMITS).all()


def test_a_bad_state_in_between_is_as_none(stop):
    stop.begin(0.0, Q, V)
    expected = stop.blind(0.2)
    np.testing.assert_array_equal(stop.answer(0.2, np.full(3, np.nan), V), expected)
    np.testing.assert_array_equal(stop.blind(0.2), expected)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (StopOptions(on_silence="brake"), "on_silence"),
        (StopOptions(duration=math.nan), "silence_duration"),
        (StopOptions(damping=(1.0, 2.0)), "silence_damping has 2 values for 3 joints"),
        (StopOptions(damping=(math.inf,)), "silence_damping"),
        (StopOptions(damping=(-1.0,)), "silence_damping"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(stop, options, culprit):
    stop.begin(0.0, Q, V)
    before = stop.blind(0.0)
    with pytest.raises(ValueError, match=culprit):
        stop.tune(options)
    with pytest.raises(ValueError, match="effort_limits"):
        stop.tune(StopOptions(damping=(9.0,)), effort_limits=[1.0, 2.0])
    np.testing.assert_array_equal(stop.blind(0.0), before)
    assert stop.joints == tuple(JOINTS)


def test_a_moving_robot_comes_to_rest_and_is_held():
    """Simulated with friction that the stop does not know, states at 1 kHz."""
    robot = Robot(load_urdf(ARM), friction=True)
    stop = SafeStop(Robot(load_urdf(ARM)))
    q, v = Q.copy(), V.copy()
    stop.begin(0.0, q, v)
    for k in range(1200):
        v = v + 1e-3 * robot.forward_dynamics(q, v, stop.answer(1e-3 * k, q, v))
        q = q + 1e-3 * v
    assert np.abs(v).max() < 1e-2
    assert np.abs(q - Q).max() < 0.15
