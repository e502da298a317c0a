# SPDX-License-Identifier: Apache-2.0
"""The headers without ROS of an exported package for ros2_control, against the library."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.exported import needs
from helpers.checks.exported_arms import POINTING_DOWN, exported_arm
from scipy.integrate import solve_ivp

import rbd_dynamics as rbd
from rbd_dynamics.control import Feedforward
from rbd_dynamics.control.motion.splines import motion_of
from rbd_dynamics.control.pd_gains import gains_of_faster_law
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.export.ros2_control.configuration import FASTEST

pytestmark = needs("gcc", "g++")
TIP = "panda_hand_tcp"
#: kg, m and kg m^2 of a load
LOAD = (1.3, (0.01, -0.02, 0.05), (4e-3, 1e-4, 0.0, 5e-3, 0.0, 3e-3))


@pytest.fixture(scope="module")
def arm(exported):
    return exported_arm("panda", exported, Path(__file__).parent / "plain_main.cpp", POINTING_DOWN["panda"])


@pytest.fixture(scope="module")
def model(arm):
    return arm.model


@pytest.fixture(scope="module")
def talk(arm):
    """Answers of the compiled headers to lines of commands: their words after the first, numbers where they are."""
    return arm.talk


NONE = np.full(7, np.nan)


def settings(*, terms=(1, 1, 1, 1, 0, 0, 0), kp=0.0, kd=0.0, limits=np.inf, rates=np.inf, positions=True):
    each = [np.broadcast_to(value, 7) for value in (kp, kd, limits, rates)]
    return ("settings", terms, *each, positions)


def step(q, v, *, position=NONE, velocity=NONE, acceleration=NONE, effort=NONE, period=1e-3):
    return ("step", q, v, position, velocity, acceleration, effort, period)


def efforts_of(answer):
    """Efforts within limits and rates, and those wanted, of a step that went well."""
    assert answer[0] == "0"
    numbers = np.array(answer[2:], dtype=float)
    return numbers[:7], numbers[7:]


def load_line(transition):
    return ("load", TIP, LOAD[0], LOAD[1], LOAD[2], transition)


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
@pytest.mark.parametrize("evaluate_at", ["measured", "desired"])
def test_efforts_are_those_of_the_library(model, talk, law, evaluate_at):
    rng = np.random.default_rng(7)
    chosen = ("inertia", "coriolis", "gravity", "friction")
    kp, kd = rng.uniform(10, 90, 7), rng.uniform(1, 9, 7)
    robot = rbd.Robot(model)
    robot.set_payload(TIP, LOAD[0], com=LOAD[1], inertia=LOAD[2])
    own = Feedforward(robot, terms=chosen, kp=kp, kd=kd, law=law, evaluate_at=evaluate_at)
    weights = (1, 1, 1, 0, 1, evaluate_at == "desired", law == "computed_torque")
    lines, expected = [settings(terms=weights, kp=kp, kd=kd, limits=own.effort_limits), load_line(0.0)], []
    for _ in range(20):
        q, v = model.random(rng), rng.normal(size=7)
        position, velocity, acceleration, added = q + 0.1 * rng.normal(size=7), *rng.normal(size=(3, 7))
        lines.append(step(q, v, position=position, velocity=velocity, acceleration=acceleration, effort=added))
        expected.append(
            own.compute(q, v, motion_of([position, velocity, acceleration]), np.zeros(1), added=added).copy()
        )
    for answer, wanted in zip(talk(*lines)[2:], expected, strict=True):
        np.testing.assert_allclose(efforts_of(answer)[0], wanted, rtol=1e-12, atol=1e-12)


def test_the_first_efforts_hold_here_and_what_is_not_said_is_held(model, talk):
    rng = np.random.default_rng(8)
    robot = rbd.Robot(model)
    q, v, zero = model.random(rng), np.zeros(7), np.zeros(7)
    away = q + 0.3
    gains = settings(kp=50.0, kd=5.0, rates=10.0)
    answers = talk(
        gains,
        ("start", q),
        step(q, v),  # nothing was ever said
        step(q, v, position=away, velocity=zero, acceleration=zero),
        step(q, v, position=away),  # no velocity, no acceleration: none
        step(q, v),  # no longer said: held where it was wanted last
        step(q, v, position=np.where(np.arange(7) == 3, np.nan, q)),  # not said whole
        ("start", q),
        step(q, v),
    )
    gravity = robot.gravity(q)
    pull = gravity + 50.0 * 0.3
    first = efforts_of(answers[2])[0]
    np.testing.assert_allclose(first, gravity, rtol=1e-12, atol=1e-12)  # at once, whatever the rates
    for number, answer in enumerate(answers[3:7], start=1):
        limited, wanted = efforts_of(answer)
        np.testing.assert_allclose(wanted, pull, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(limited, gravity + number * 10.0 * 1e-3, rtol=1e-12, atol=1e-12)
    assert [answer[1] for answer in answers[2:7]] == ["1", "0", "0", "1", "1"]
    np.testing.assert_allclose(efforts_of(answers[8])[0], gravity, rtol=1e-12, atol=1e-12)


def test_efforts_alone_have_the_terms_added_at_the_measured_state(model, talk):
    rng = np.random.default_rng(9)
    robot = rbd.Robot(model)
    q, v, effort = model.random(rng), rng.normal(size=7), rng.normal(size=7)
    answers = talk(
        settings(kp=50.0, kd=5.0, positions=False),
        ("start", q),
        step(q, v, effort=effort),
        step(q, 0 * v),  # from here on it is held, where it is
    )
    np.testing.assert_allclose(efforts_of(answers[2])[0], robot.bias(q, v) + effort, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(efforts_of(answers[3])[0], robot.gravity(q), rtol=1e-12, atol=1e-12)


def test_limits_hold_and_numbers_that_are_none_change_nothing(model, talk):
    q, v = model.random(np.random.default_rng(10)), np.zeros(7)
    broken = np.where(np.arange(7) == 2, np.nan, v)
    answers = talk(
        settings(kp=1e4, limits=20.0),
        ("start", q),
        step(q, v, position=q + 1.0),
        step(q, broken, position=q - 1.0),
        step(q, v),
    )
    limited, wanted = efforts_of(answers[2])
    assert np.array_equal(limited, np.full(7, 20.0))
    assert np.all(wanted > 20.0)
    assert answers[3][0] != "0"
    assert np.array_equal(np.array(answers[3][2:9], dtype=float), limited)


def test_a_load_is_taken_over_step_by_step_or_refused(model, talk):
    q, v = model.random(np.random.default_rng(11)), np.zeros(7)
    robot = rbd.Robot(model)
    light, heavy = robot.gravity(q), robot.carrying(TIP, LOAD[0], com=LOAD[1], inertia=LOAD[2]).gravity(q)
    steps = [step(q, v, period=0.1) for _ in range(12)]
    answers = talk(settings(), ("start", q), load_line(1.0), *steps)
    assert float(answers[2][0]) == pytest.approx(model.mass + LOAD[0], rel=1e-3) or len(answers[2]) == 1
    for number, answer in enumerate(answers[3:], start=1):
        share = min(0.1 * number, 1.0)
        np.testing.assert_allclose(efforts_of(answer)[0], light + share * (heavy - light), rtol=1e-12, atol=1e-12)

    refused = talk(
        ("load", "nowhere", 1.0, np.zeros(9), 0.0),
        ("load", TIP, -1.0, np.zeros(9), 0.0),
        ("load", TIP, 1.0, np.zeros(3), (1.0, 0, 0, 1e-3, 0, 1e-3), 0.0),  # no triangle
        ("load", TIP, 1.0, (np.nan, 0, 0), np.zeros(6), 0.0),
        ("load", TIP, 0.0, np.zeros(9), 0.0),
    )
    reasons = [" ".join(answer[1:]) for answer in refused]
    assert reasons == [
        "the robot has no frame named nowhere",
        "a mass is a finite number from 0 on",
        "no body has these moments of inertia",
        "the numbers of the load are not finite",
        "",
    ]


@pytest.mark.parametrize("computed", [False, True])
def test_the_check_of_stability_is_the_library_s(model, talk, computed):
    rng = np.random.default_rng(12)
    robot = rbd.Robot(model)
    lines, expected = [], []
    for scale, delay, bandwidth in itertools.product((0.3, 30.0), (0.0, 1e-3, 2.5e-3), (0.0, 30.0)):
        q = model.random(rng)
        kp, kd = scale * np.array([600.0, 30.0]) if computed else scale * np.array([100.0, 5.0])
        M = robot.mass_matrix(q) if computed else np.eye(7)
        expected.append(growth_rate(robot.mass_matrix(q), kp * M, kd * M, Timing(1e-3, delay, bandwidth)))
        lines.append(("growth", q, np.full(7, kp), np.full(7, kd), computed, 1e-3, delay, bandwidth))
    found = np.array([answer[0] for answer in talk(*lines)], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-6)
    assert min(expected) < 0.0 < max(expected)


def test_cycles_neither_allocate_nor_lock_nor_fault_pages_in_and_take_microseconds(model, talk):
    q = model.random(np.random.default_rng(13))
    zero = np.zeros(7)
    answers = talk(
        settings(kp=50.0, kd=5.0, rates=100.0),
        ("start", q),
        load_line(1.0),
        *[step(q, zero, position=q + 0.01) for _ in range(3)],
        ("floor", 5.0, 1e4, 1e2, 0.3),
        ("simulate", q, zero, zero, 1e-4, 1e-3),
        ("faults", 1000, q),
        ("time", q),
        ("mailbox",),
        ("found",),
    )
    locked, faults = map(int, answers[-4])
    print(f"memory {'is' if locked else 'could not be'} locked")
    assert faults == 0, "page faults in cycles"
    cycle, simulated = map(float, answers[-3])
    print(f"a cycle of the law: {cycle:.2f} us; a cycle of the simulated robot: {simulated:.1f} us")
    assert cycle < 5.0
    assert answers[-2] == ["1"]
    assert answers[-1][0] == "0", "allocations or locks in a cycle"
    assert int(answers[-1][1]) > 0, "the counters count"


@pytest.mark.parametrize(("shape", "most", "at_rest"), [(0, 3e-3, 1e-4), (1, 0.1, 5e-3), (2, 0.71, 5e-3)])
def test_a_motion_is_followed_with_the_gains_that_are_written(model, talk, shape, most, at_rest):
    """Also one whose velocity steps by 0.7 rad/s, and a step of 0.7 rad; efforts change no faster than usual."""
    law, gains = gains_of_faster_law(rbd.Robot(model), Timing(1e-3, 1e-3), most=FASTEST)
    q = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.5])
    goal = q + np.array([0.6, 0.4, -0.5, 0.5, 0.4, -0.4, 0.7])
    limits = np.array([model.joint(name).limits.effort for name in model.joint_names])
    rates = np.minimum(limits / 0.1, 1000.0)
    weights = (1, 1, 1, 1, 1, 0, law == "computed_torque")
    terms = settings(terms=weights, kp=gains.kp, kd=gains.kd, limits=limits, rates=rates)
    *first, worst, left = map(float, talk(terms, ("chain", float(shape), q, goal))[1])
    np.testing.assert_allclose(first, rbd.Robot(model).gravity(q), rtol=1e-12, atol=1e-12)
    print(f"on the simulated Panda: {worst:.2g} rad at most, {left:.2g} rad at rest")
    assert worst < most
    assert left < at_rest


# --- the simulated robot ---


def simulate(q, v, efforts, *, substep=1e-4, period=1e-3):
    return ("simulate", q, v, efforts, substep, period)


def state_of(answer):
    assert answer[0] == "1"
    numbers = np.array(answer[1:], dtype=float)
    return numbers[:7], numbers[7:14], numbers[14:21], numbers[21:24]


def test_it_moves_as_forward_dynamics_says(model, talk):
    rng = np.random.default_rng(14)
    robot = rbd.Robot(model, friction=True)
    q, v = model.random(rng), 0.5 * rng.normal(size=7)
    tau = robot.gravity(q) + rng.normal(size=7)

    def rates(_, x):
        return np.concatenate([x[7:], robot.forward_dynamics(x[:7], x[7:], tau)])

    exact = solve_ivp(rates, (0.0, 0.05), np.concatenate([q, v]), method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for answer in talk(*(simulate(q, v, tau, substep=h, period=0.05) for h in (1e-4, 1e-5))):
        ended, speed, applied, _ = state_of(answer)
        assert np.array_equal(applied, tau)
        errors.append(max(np.abs(ended - exact[:7]).max(), 0.05 * np.abs(speed - exact[7:]).max()))
    assert errors[0] < 2e-4
    assert errors[1] < 0.2 * errors[0], "of first order"


def test_stops_limits_and_brakes(model, talk):
    limits = [model.joint(name).limits for name in model.joint_names]
    upper, most = np.array([one.upper for one in limits]), np.array([one.effort for one in limits])
    q = model.random(np.random.default_rng(15))
    zero = np.zeros(7)
    at_stop, clipped, held, half = talk(
        simulate(upper - 1e-5, zero + 2.0, zero, substep=1e-5, period=1e-5),
        simulate(q, zero, np.full(7, 1e6)),
        simulate(q, zero, NONE, period=0.5),
        simulate(q, zero, np.where(np.arange(7) == 3, np.nan, 0.0), period=0.05),
    )
    ended, speed, _, _ = state_of(at_stop)
    there = ended == upper
    assert there.all()
    assert np.all(speed[there] <= 0.0)
    assert np.array_equal(state_of(clipped)[2], most)
    assert np.array_equal(state_of(held)[0], q)
    ended, speed, _, _ = state_of(half)
    assert ended[3] == q[3]
    assert np.abs(ended - q).max() > 1e-3, "the others fall"
    # without that joint the others obey the equation of motion
    brief = talk(simulate(q, zero, np.where(np.arange(7) == 3, np.nan, 0.0), substep=1e-7, period=1e-7))[0]
    robot, free = rbd.Robot(model), np.delete(np.arange(7), 3)
    a = state_of(brief)[1][free] / 1e-7
    np.testing.assert_allclose(robot.mass_matrix(q)[np.ix_(free, free)] @ a, -robot.gravity(q)[free], atol=1e-3)


def test_a_tip_on_the_floor_is_carried_and_slides_with_friction(model, talk):
    robot = rbd.Robot(model)
    q = np.array([0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.8])
    pose = robot.pose(q, TIP)
    height = float(pose[2, 3])
    # pressed down with 20 N, gravity compensated: at rest the floor gives as much
    jacobian = robot.jacobian(q, TIP)
    world = pose[:3, :3] @ jacobian[3:]
    tau = robot.gravity(q) + world.T @ np.array([0.0, 0.0, -20.0])
    floor = ("floor", height, 1e5, 1e3, 0.5)
    # all joints but one are braked: what moves presses along the normal
    ended, speed, _, force = state_of(talk(floor, simulate(q, np.zeros(7), tau, period=1e-3))[1])
    assert force[2] > 0.0
    answers = talk(floor, simulate(q, np.zeros(7), np.where(np.arange(7) == 1, tau, np.nan), period=2.0))
    ended, speed, _, force = state_of(answers[1])
    # at rest the torque of the one joint is that of gravity and of the floor
    still = robot.jacobian(ended, TIP)
    held = robot.pose(ended, TIP)[:3, :3] @ still[3:]
    assert np.abs(speed).max() < 1e-3
    missing = robot.gravity(ended)[1] - held[:, 1] @ force - tau[1]
    assert abs(missing) < 0.05 * 20.0
    assert np.hypot(force[0], force[1]) <= 0.5 * force[2] * 1.001
    above = talk(("floor", height - 0.1, 1e5, 1e3, 0.5), simulate(q, np.zeros(7), tau))
    assert np.array_equal(state_of(above[1])[3], np.zeros(3))
