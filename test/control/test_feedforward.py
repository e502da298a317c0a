# SPDX-License-Identifier: Apache-2.0
"""Feedforward torque: the terms asked for, the PD around it, the limits."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.arms import ARM, FLOATING_ARM, JOINTS

from rbd_dynamics.control.feedforward import Feedforward
from rbd_dynamics.control.terms import TERMS, inverse_dynamics_terms
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot


@pytest.fixture(scope="module")
def robot():
    """An arm with springs, stiff enough to matter."""
    model = load_urdf(ARM)
    bodies = [
        replace(body, joint=replace(body.joint, passive=(Spring(20.0 + 5.0 * k, rest=0.3 * k),)))
        for k, body in enumerate(model.bodies)
    ]
    return Robot(replace(model, bodies=tuple(bodies)))


@pytest.fixture
def state():
    rng = np.random.default_rng(4)
    return rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (3, 3))


def motion(desired):
    """A desired state as `compute` takes it: as a polynomial that is not the simplest one."""
    t = 0.3
    position, velocity, acceleration = desired
    coefficients = np.zeros((6, desired.shape[1]))
    coefficients[3] = 1.7
    coefficients[2] = 0.5 * (acceleration - 6 * t * 1.7)
    coefficients[1] = velocity - 2 * t * coefficients[2] - 3 * t**2 * 1.7
    coefficients[0] = position - t * coefficients[1] - t**2 * coefficients[2] - t**3 * 1.7
    return coefficients, np.array([t])


def expected_terms(robot, q, v, a, v_friction, terms):
    parts = {
        "inertia": robot.mass_matrix(q) @ a,
        "coriolis": robot.mass_matrix(q) @ -robot.forward_dynamics(q, v, robot.bias(q, 0 * v)),
        "gravity": robot.gravity(q),
        "spring": (20.0 + 5.0 * np.arange(3)) * (q - 0.3 * np.arange(3)),
        "friction": robot.friction_torque(v_friction),
    }
    return sum((parts[term] for term in terms), np.zeros(3))


@pytest.mark.parametrize("terms", [c for n in range(6) for c in itertools.combinations(TERMS, n)], ids="+".join)
def test_torque_is_the_sum_of_the_chosen_terms(robot, state, terms):
    q, v, desired = state
    unlimited = [np.inf]
    tau = Feedforward(robot, terms=terms, effort_limits=unlimited).compute(q, v, *motion(desired))
    np.testing.assert_allclose(tau, expected_terms(robot, q, v, desired[2], desired[1], terms), atol=1e-12)
    controller = Feedforward(robot, terms=terms, evaluate_at="desired", effort_limits=unlimited)
    tau = controller.compute(q, v, *motion(desired))
    expected = expected_terms(robot, desired[0], desired[1], desired[2], desired[1], terms)
    np.testing.assert_allclose(tau, expected, atol=1e-12)
    np.testing.assert_allclose(
        inverse_dynamics_terms(robot, q, v, desired[2], terms),
        expected_terms(robot, q, v, desired[2], v, terms),
        atol=1e-12,
    )


def test_pd_acts_on_the_error_and_turns_the_short_way(robot, state):
    q, v, desired = state
    kp, kd = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0])
    pd = Feedforward(robot, terms=(), kp=kp, kd=kd, effort_limits=[np.inf])
    expected = kp * (desired[0] - q) + kd * (desired[1] - v)
    np.testing.assert_allclose(pd.compute(q, v, *motion(desired)), expected)
    q[1] += 4 * np.pi  # the elbow is continuous
    np.testing.assert_allclose(pd.compute(q, v, *motion(desired)), expected, atol=1e-12)


def test_computed_torque_gives_every_joint_the_same_error_dynamics(robot, state):
    q, v, desired = state
    controller = Feedforward(robot, kp=[30.0], kd=[11.0], effort_limits=[np.inf], law="computed_torque")
    a = robot.forward_dynamics(q, v, controller.compute(q, v, *motion(desired)))
    error, rate = desired[0] - q, desired[1] - v
    np.testing.assert_allclose(desired[2] - a, -11.0 * rate - 30.0 * error, rtol=1e-9)


def test_efforts_are_limited_and_reported(robot, state):
    q, v, desired = state
    controller = Feedforward(robot, terms=(), kp=[1000.0])
    np.testing.assert_array_equal(controller.effort_limits, [80, 40, 30])
    desired[0] = q + [1.0, -1.0, 0.001]
    desired[1] = v
    np.testing.assert_allclose(controller.compute(q, v, *motion(desired)), [80, -40, 1])
    np.testing.assert_array_equal(controller.saturated, [True, True, False])


@pytest.mark.parametrize("evaluate_at", ["measured", "desired"])
def test_a_part_of_the_joints_in_another_order(robot, state, evaluate_at):
    q, v, desired = state
    order = [2, 0]
    part = Feedforward(
        robot, joints=[JOINTS[k] for k in order], evaluate_at=evaluate_at, kp=[5.0], effort_limits=[np.inf]
    )
    full = Feedforward(robot, evaluate_at=evaluate_at, kp=[5.0], effort_limits=[np.inf])
    desired[:, 1] = q[1], v[1], 0.0  # what a joint without command is taken to do
    expected = full.compute(q, v, *motion(desired))[order]
    np.testing.assert_allclose(part.compute(q, v, *motion(desired[:, order])), expected, atol=1e-12)


def test_nothing_is_allocated_at_steady_state(robot, state):
    import tracemalloc

    controller = Feedforward(robot, terms=TERMS, kp=[1.0], kd=[1.0])
    q, v, desired = state
    inputs = motion(desired)
    for _ in range(10):
        first = controller.compute(q, v, *inputs)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            assert controller.compute(q, v, *inputs) is first
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ["wrist"]}, "'wrist'"),
        ({"joints": ["elbow", "elbow"]}, "'elbow' is named twice"),
        ({"terms": ["momentum"]}, "unknown term 'momentum'"),
        ({"kp": [1.0, 2.0]}, "kp has 2 values for 3 joints"),
        ({"kd": [1.0, -2.0, 1.0]}, "kd of elbow is -2.0"),
        ({"effort_limits": [np.nan]}, "effort_limits of every joint is nan"),
    ],
)
def test_wrong_options_are_refused(robot, options, message):
    with pytest.raises(ValueError, match=message):
        Feedforward(robot, **options)


def test_computed_torque_needs_the_inertia(robot):
    with pytest.raises(ValueError, match="needs the term inertia"):
        Feedforward(robot, terms=["gravity"], law="computed_torque")
    with pytest.raises(ValueError, match="law is 'x', expected one of feedforward, computed_torque"):
        Feedforward(robot, law="x")


def test_joint_with_several_freedoms_is_refused():
    with pytest.raises(ValueError, match=r"'root_joint' has 6 degrees of freedom.*lock it"):
        Feedforward(Robot(load_urdf(FLOATING_ARM, base="floating")))


def test_non_finite_state_gives_no_torque(robot, state):
    q, v, desired = state
    q[1] = np.nan
    with pytest.raises(ValueError, match="elbow"):
        Feedforward(robot).compute(q, v, *motion(desired))


def test_another_tuning_is_tried_without_being_used(robot, state):
    q, v, desired = state
    controller = Feedforward(robot, kp=[10.0])
    before = controller.compute(q, v, *motion(desired)).copy()
    tuning = controller.tuning(["inertia"], kp=[1e300])
    with np.errstate(over="ignore"):
        controller.attempt(q, v, *motion(desired), controller.tuning(["gravity"], kp=[3.0]))
        with pytest.raises((ValueError, ArithmeticError)):
            controller.attempt(q, v, *motion(1e300 * desired), tuning)
    np.testing.assert_array_equal(controller.compute(q, v, *motion(desired)), before)
    assert controller.terms == frozenset({"inertia", "coriolis", "gravity", "spring"})
    controller.use(tuning)
    assert controller.terms == frozenset({"inertia"})


def test_holding_torque_is_that_of_the_chosen_terms_with_another_load(robot, state):
    q = state[0]
    order = [JOINTS[2], JOINTS[0]]
    controller = Feedforward(robot, joints=order, kp=[100.0], effort_limits=[0.1])
    index = [JOINTS.index(name) for name in order]
    carrying = robot.carrying("hand", 3.0, com=(0.1, 0.0, 0.2))
    for other in (robot, carrying):
        expected = other.inverse_dynamics(q, 0 * q, 0 * q)[index]
        np.testing.assert_allclose(controller.holding(q, other.inertia_input), expected, rtol=1e-12)
    assert not np.array_equal(carrying.inertia_input, robot.inertia_input)
    controller.tune(["inertia"])
    np.testing.assert_array_equal(controller.holding(q, carrying.inertia_input), 0.0)


def test_offsets_are_added_within_the_limits_whatever_the_law(robot, state):
    q, v, desired = state
    offsets = {"elbow": -3.0, "slide": 1.5}
    for law in ("feedforward", "computed_torque"):
        plain = Feedforward(robot, kp=[10.0], law=law).compute(q, v, *motion(desired)).copy()
        controller = Feedforward(robot, kp=[10.0], law=law, effort_offsets=offsets)
        np.testing.assert_allclose(controller.compute(q, v, *motion(desired)), plain + [0.0, -3.0, 1.5], rtol=1e-12)
        held = Feedforward(robot, kp=[10.0], law=law).holding(q, robot.inertia_input)
        np.testing.assert_allclose(controller.holding(q, robot.inertia_input), held + [0.0, -3.0, 1.5], rtol=1e-12)
    some = Feedforward(robot, joints=["slide"], effort_offsets=offsets)  # those of other joints are not asked for
    others = Feedforward(robot, joints=["slide"])
    np.testing.assert_allclose(
        some.compute(q, v, *motion(desired[:, 2:])), others.compute(q, v, *motion(desired[:, 2:])) + 1.5, rtol=1e-12
    )
    tight = Feedforward(robot, effort_limits=[5.0], effort_offsets={"elbow": 5.0})
    assert np.abs(tight.compute(q, v, *motion(desired))).max() <= 5.0


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        ({"elbw": 1.0}, "effort_offsets: no joint named 'elbw'; did you mean 'elbow'"),
        ({"elbow": np.nan}, "effort_offsets of joint 'elbow' is nan, expected a finite number"),
        ({"elbow": -40.5}, "effort_offsets of joint 'elbow' is -40.5, beyond its effort limit of 40"),
    ],
)
def test_offsets_that_cannot_be_are_refused_and_change_nothing(robot, state, offsets, reason):
    q, v, desired = state
    controller = Feedforward(robot, effort_offsets={"elbow": 2.0})
    before = controller.compute(q, v, *motion(desired)).copy()
    with pytest.raises(ValueError, match=reason):
        controller.tune(TERMS, effort_offsets=offsets)
    np.testing.assert_array_equal(controller.compute(q, v, *motion(desired)), before)
