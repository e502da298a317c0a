# SPDX-License-Identifier: Apache-2.0
"""The controller of an exported package that presses, without ROS: beside the library's law and on simulated floors."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import NamedTuple

import numpy as np
import pytest
from helpers.checks.exported import needs
from helpers.checks.exported_arms import configured, numbers, usual_rates, wishes

import rbd_dynamics as rbd
from rbd_dynamics.control import HybridController, HybridGains, HybridLimits, HybridOutput, HybridTask, MultiplierSensor
from rbd_dynamics.control.hybrid.placement import Placement, PlacementPath
from rbd_dynamics.control.hybrid.stability import Plant, contact_radius, motion_radius
from rbd_dynamics.control.hybrid.touch.approach import Approach
from rbd_dynamics.control.hybrid.touch.contact_sense import ContactSense
from rbd_dynamics.control.hybrid.touch.letting_go import LOST, HeldByFriction, LettingGo, answers
from rbd_dynamics.control.hybrid.touch.normal_speed import NormalSpeed
from rbd_dynamics.control.safety.softening import Softening
from rbd_dynamics.spatial import exp_so3, quaternion_from_rotation

pytestmark = needs("gcc", "g++")
LOAD = (1.3, (0.01, -0.02, 0.05), (4e-3, 1e-4, 0.0, 5e-3, 0.0, 3e-3))
HOLD, APPROACH, PRESS = range(3)
(
    NO, BY_REQUEST, SILENT, NOT_FINITE, STATES_SILENT, FORCE, IMPACT, SIDE_FORCE, MOMENT, POWER, NO_CONTACT_WAY,
    NO_CONTACT_TIME, MOVES_AWAY, STUCK, READS_A_PULL, BEYOND, OFF_SURFACE, OUT_OF_REACH, TURNED, SINGULAR, CONTACT_LOST,
    GIVES_WAY, PULLS, IN_THE_WAY, UNFELT, MOVED,
) = range(26)  # fmt: skip
AT_LIMIT, NEARLY_SINGULAR = 1, 2
FLOOR = (1e5, 1e3, 0.2)  # N/m, N s/m, friction
DOWN = (math.pi, 0.0, 0.0)


# --- the law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [1.0, 1e6], ids=["efforts are cut off", "integrals grow"])
def test_a_step_of_the_law_is_the_library_s(arm, room):
    """States at random where no posture magnifies rounding, at speeds up to the limits and beyond, with a load.

    Half-way gains change, and then they are softer: what integrals give stays.
    """
    rng = np.random.default_rng(5)
    robot, nv = rbd.Robot(arm.model), arm.model.nv
    placed = {
        "tool_position": (0.02, -0.01, 0.1), "tool_orientation": (0.3, -0.2, 0.5), "task_position": (0.3, 0.1, 0.2),
        "task_orientation": (0.1, 0.2, -0.3), "contact_offset": 0.01,
    }  # fmt: skip
    sets = HybridTask(arm.frame, **placed).sets(arm.model)
    kp, kd = (900.0, 1000.0, 1100.0, 1200.0, 1300.0), (50.0, 55.0, 60.0, 65.0, 70.0)
    gains = HybridGains(kp=kp, kd=kd, ki=5.0, normal_damping=30.0, posture_kp=25.0, posture_kd=10.0, task_ki=8.0)
    own = HybridController(robot, *sets, gains=gains, reaction_time=0.004, effort_limits=room * arm.efforts)
    robot.set_payload(arm.frame, LOAD[0], com=LOAD[1], inertia=LOAD[2])
    lines = [
        *configured(arm, limits=room * arm.efforts, **placed, kp=kp, kd=kd, reaction_time=0.004),
        ("load", arm.frame, *LOAD),
        ("reset",),
    ]
    before, expected, felt = len(lines), [], np.random.default_rng(51)
    speeds = np.array([joint.limits.velocity for joint in arm.model.joints])
    for k in range(40):
        q, v = arm.model.random(rng), rng.uniform(0.1, 1.2) * rng.uniform(-1, 1, nv) * speeds
        while np.linalg.svd(robot.constraint_rows(q, v, own.rows).A, compute_uv=False)[-1] < 0.05:
            q = arm.model.random(rng)
        if k == 20:
            own.tune(dataclasses.replace(gains, kp=700.0, kd=40.0, ki=2.0, task_ki=4.0, normal_damping=20.0))
            softer = {"kp": [700.0], "kd": [40.0], "ki": 2.0, "task_ki": 4.0, "normal_damping": 20.0}
            lines += [*wishes(**softer), ("tune",)]
        if (share := {10: 0.7, 15: 0.4, 30: 0.6, 35: 1.0}.get(k)) is not None:
            own.soften(share)
            lines.append(("soften", share))
        theta = 0.3 * rng.normal(size=5)
        rate, acceleration = 0.2 * rng.normal(size=(2, 5))
        force, approach, measured = 20.0 * rng.normal(), 0.02 * rng.normal(), 20.0 * rng.normal()
        beside, aside = (robot.jacobian(q, arm.frame)[3:].T @ (5.0 * each.normal(size=3)) for each in (rng, felt))
        posture, dt = arm.model.random(rng), rng.uniform(5e-4, 2e-3)
        read = math.nan if k % 4 == 0 else measured
        out = own.step(
            q, v, theta, rate=rate, acceleration=acceleration, force=np.array([force]),
            measured=None if k % 4 == 0 else np.array([measured]), dt=dt, posture=posture,
            approach=np.array([approach]), beside=beside, aside=aside,
        )  # fmt: skip
        expected.append(HybridOutput(*(array.copy() for array in out)))
        lines.append(("law", q, v, theta, rate, acceleration, force, approach, read, beside, aside, posture, dt))
    worst = 0.0
    answers = [answer for answer in arm.talk(*lines)[before:] if answer]
    for answer, out in zip(answers, expected, strict=True):
        assert answer[0] == "0"
        found = numbers(answer[1:])
        for name, wanted in zip(HybridOutput._fields, out):
            part, found = found[: wanted.size], found[wanted.size :]
            difference = np.abs(part - wanted.reshape(-1)).max() / max(1.0, np.abs(wanted).max())
            worst = max(worst, float(difference))
            assert difference <= 1e-12, name
        assert found.size == 0
    print(f"largest difference: {worst:.2g}")
    grown, cut = expected[-1].integral[0] != 0.0, any((out.tau != out.wanted).any() for out in expected)
    assert (grown, cut) == ((False, True) if room == 1.0 else (True, False))


def test_what_is_felt_is_what_the_library_s_sensor_says(arm):
    rng = np.random.default_rng(6)
    robot, placed = rbd.Robot(arm.model), {"tool_position": (0.02, -0.01, 0.1), "task_orientation": (0.1, 0.2, -0.3)}
    constraints, _ = HybridTask(arm.frame, **placed).sets(arm.model)
    sensor = MultiplierSensor(robot, constraints, arm.frame)
    lines, expected = configured(arm, **placed), []
    before = len(lines)
    for _ in range(10):
        q, v, wrench = arm.model.random(rng), rng.normal(size=arm.model.nv), 10.0 * rng.normal(size=6)
        normal = sensor.read(q, v, wrench, np.zeros(6)).copy()
        expected.append(np.concatenate([normal, sensor.beside[:3], sensor.beside.efforts]))
        lines.append(("felt", q, v, wrench))
    for answer, wanted in zip(arm.talk(*lines)[before:], expected, strict=True):
        np.testing.assert_allclose(numbers(answer), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("touching", [False, True], ids=["from afar", "touching already"])
def test_an_approach_is_the_library_s(arm, touching):
    """A surface of 2e4 N/m under a sensor with an offset and noise, which the tool meets with its wanted speed."""
    rng = np.random.default_rng(7)
    limits, rows = HybridLimits(), np.array([True])
    inertia, push, h = np.array([3.0]), np.array([1.5]), np.array([0.0 if touching else 4e-3])
    first = np.array([0.7])
    own, sense = Approach(rows, inertia, push, h, first, 30.0, limits), ContactSense()
    sense.begin()
    lines, expected = [*configured(arm), ("approach", 3.0, 1.5, h[0], 0.7, 30.0)], []
    before = len(lines)
    for _ in range(1200):
        drift = own.velocity + 1e-3 * rng.normal(size=1)
        h = h + 1e-3 * drift
        felt = 0.7 + 0.1 * rng.normal() + np.maximum(0.0, -2e4 * h)
        sense.update(float(felt[0] - own.zero[0]), 1e-3, limits.contact_debounce, free=True)
        touches = own.touches(h, felt, 1e-3, noise=sense)
        problem = own.step(h, drift, 1e-3)
        expected.append(
            [touches, bool(problem), own.free, own.velocity[0], own.push[0], own.zero[0], own.offset[0],
             own.free_push[0], sense.least]
        )  # fmt: skip
        lines.append(("approaches", h[0], drift[0], felt[0], 1e-3))
        if touches or problem:
            break
    assert expected[-1][0], "it meets the surface"
    for answer, wanted in zip(arm.talk(*lines)[before:], expected, strict=True):
        found = numbers(answer)
        found[1] = found[1] != NO
        np.testing.assert_allclose(found, np.array(wanted, dtype=float), rtol=1e-12, atol=1e-12)


def test_the_bound_of_the_speed_along_the_normal_is_the_library_s(arm):
    rng = np.random.default_rng(8)
    own, drift = NormalSpeed(np.array([True])), 0.0
    lines, expected = [], []
    for _ in range(600):
        drift += 4e-3 * rng.normal() - 0.02 * drift
        own.update(np.array([drift]), 1e-3, 0.05, 0.01)
        expected.append([own.share, own.slow, own.aim(np.array([drift]), np.array([-0.01]))[0]])
        lines.append(("speed", drift, 1e-3, 0.05, 0.01))
    np.testing.assert_allclose(numbers(arm.talk(*lines)), expected, rtol=1e-12, atol=1e-12)
    shares = np.array(expected)[:, 0]
    assert shares.min() == 0.0 and shares.max() == 1.0


@pytest.mark.parametrize("lag", [0.0, 1.0 / (2.0 * math.pi * 30.0)], ids=["no lag", "30 Hz"])
def test_the_force_that_can_be_let_go_is_the_library_s(arm, lag):
    """The arm's answer, and the search for the force, however few steps of it are made in a cycle."""
    rng = np.random.default_rng(9)
    robot, nv = rbd.Robot(arm.model), arm.model.nv
    placed = {"tool_position": (0.02, -0.01, 0.1), "task_position": (0.3, 0.1, 0.2), "contact_offset": 0.01}
    sets = HybridTask(arm.frame, **placed).sets(arm.model)
    gains = HybridGains(kp=900.0, kd=55.0, ki=5.0, normal_damping=30.0, posture_kp=25.0, posture_kd=10.0, task_ki=8.0)
    own, letting_go = HybridController(robot, *sets, gains=gains), LettingGo(nv)
    letting_go.rates[:], letting_go.lag = 1000.0, lag
    lines = configured(arm, rates=1.0, **placed, kp=[900.0], kd=[55.0], actuator_lag=lag)
    before, expected = len(lines), []
    for k in range(12):
        q, held, most = arm.model.random(rng), 0.3 * rng.normal(size=nv), rng.uniform(5.0, 200.0)
        while np.linalg.svd(robot.constraint_rows(q, np.zeros(nv), own.rows).A, compute_uv=False)[-1] < 0.05:
            q = arm.model.random(rng)
        (answer,) = answers(own, q, np.zeros(nv), np.array([0]))
        aside = answer._replace(pushed=answer.row + held)
        found = min(letting_go.largest(each, 0.05, most) for each in (answer, aside))
        expected.append((answer, found, most))
        lines.append(("answer", q, held, most, LOST * 0.05, float(1 + 20 * k)))
    calls = []
    for answer, (own_answer, force, _) in zip(arm.talk(*lines)[before:], expected, strict=True):
        found = numbers(answer)
        for wanted in (own_answer.row, own_answer.inverse, own_answer.damping, own_answer.stiffness):
            part, found = found[: wanted.size], found[wanted.size :]
            assert np.abs(part - wanted.reshape(-1)).max() <= 1e-12 * max(1.0, np.abs(wanted).max())
        calls.append(found[0])
        assert found[1] == pytest.approx(force, rel=1e-12)
    assert calls[0] > 50 and calls[-1] < 20, "a step a cycle, and many"
    bounded = [force < most for _, force, most in expected]
    assert any(bounded) and not all(bounded)


def test_the_force_that_friction_may_let_go_is_the_library_s(arm):
    rng = np.random.default_rng(10)
    robot, nv, own = rbd.Robot(arm.model), arm.model.nv, HeldByFriction()
    speeds = np.array([joint.limits.velocity for joint in arm.model.joints])
    lines, expected = configured(arm), []
    before = len(lines)
    for _ in range(20):
        q, efforts, force, late = arm.model.random(rng), rng.normal(size=nv), rng.uniform(5, 50), rng.uniform(0, 0.02)
        expected.append([own.largest(robot.mass_matrix(q), efforts, force, speeds, late)])
        lines.append(("friction", q, efforts, force, late))
    np.testing.assert_allclose(numbers(arm.talk(*lines)[before:]), expected, rtol=1e-12)


def test_the_check_of_gains_is_the_library_s(arm):
    lines, expected = [], []
    for bandwidth, delay, late in ((0.0, 0.0, 0.0), (30.0, 1e-3, 5e-3), (60.0, 2.5e-3, 1e-3)):
        plant = Plant(actuator_bandwidth=bandwidth, state_delay=delay, sensor_delay=late)
        timing = (1e-3, delay, bandwidth)
        for c, ki, w in ((30.0, 5.0, 40.0), (30.0, 60.0, 300.0), (400.0, 5.0, 900.0)):
            lines.append(("growth", "contact", c, ki, w, late, *timing))
            expected.append(contact_radius(c, ki, w, plant))
        for kp, kd, ki in ((1200.0, 70.0, 9600.0), (400.0, 40.0, 0.0), (1e5, 900.0, 0.0)):
            lines.append(("growth", "motion", kp, kd, ki, late, *timing))
            expected.append(motion_radius(kp, kd, ki, plant))
    np.testing.assert_allclose(np.exp(numbers(arm.talk(*lines))[:, 0]), expected, rtol=1e-9)
    assert min(expected) < 1.0 < max(expected)


def test_gains_that_are_not_stable_are_refused_by_their_names(arm):
    timing, late = (1e-3, 1e-3, 30.0), 5e-3
    wrong = {
        "": {},
        "ki is not below normal_damping": {"ki": 30.0},
        "normal_damping is unstable": {"normal_damping": 900.0},
        "kp and kd are unstable": {"kp": [90000.0]},
        "hold_stiffness and hold_damping are unstable": {"hold_stiffness": 1e5},
    }
    for reason, given in wrong.items():
        answer = " ".join(arm.talk(*configured(arm, **given), ("unstable", late, *timing))[-1])
        assert answer.startswith(reason) and bool(answer) == bool(reason), answer


def test_the_way_of_a_task_frame_is_the_library_s(arm):
    """The places on it, and how long it takes, by the limits of the wanted motion and the rate of the force."""
    start = {"task_position": (0.3, 0.1, 0.2), "task_orientation": (0.1, 0.2, -0.3), "contact_offset": 0.01}
    goal = {"task_position": (0.36, 0.05, 0.21), "task_orientation": (0.1, 0.5, 0.2), "contact_offset": 0.02}
    own = [Placement.of(HybridTask(arm.frame, **each)) for each in (start, goal)]
    for lever, force, velocity in ((0.0, 0.0, 0.5), (0.3, 50.0, 0.5), (0.3, 50.0, 0.05)):
        ways = own[0].way(own[1], max(lever, 0.1))
        speeds = min(0.25, velocity), min([0.5, velocity, *([20.0 / force] if force else [])])
        seconds = max(PlacementPath.least_time(way, speed, min(speed / 0.2, 2.0)) for way, speed in zip(ways, speeds))
        path, steps = PlacementPath(*own, seconds), [0.1 * seconds, 0.35 * seconds, 0.4 * seconds, 0.2 * seconds]
        lines = [*configured(arm, **start, velocity_limits=[velocity]), *wishes(**goal)]
        (*_, answer) = arm.talk(*lines, ("frame", lever, force, float(len(steps)), *steps))
        for found, dt in zip(numbers(answer).reshape(-1, 13), steps):
            at = path.after(dt)
            np.testing.assert_allclose(found, [*at.task.rotation, *at.task.p, at.offset], atol=1e-12)
        assert path.over


# --- on a floor ------------------------------------------------------------------------------------


class Ran(NamedTuple):
    """What so many cycles came to: the fastest along the normal into it, the deepest, the floor's largest force, the
    largest change of an effort from cycle to cycle, and how it stands at the end."""

    fastest: float
    deepest: float
    hardest: float
    jump: float
    floor: np.ndarray
    mode: int
    reason: int
    stopped: int
    felt: float
    force: float
    distance: float
    figure: float
    efforts: np.ndarray
    theta: np.ndarray
    q: np.ndarray
    v: np.ndarray


def ran(answer, nv):
    found = numbers(answer)
    efforts, theta, q, v = found[14 : 14 + nv], found[14 + nv : 19 + nv], found[19 + nv : 19 + 2 * nv], found[-nv:]
    modes = (int(found[7]), int(found[8]), int(found[9]))
    return Ran(*found[:4], found[4:7], *modes, *found[10:14], efforts, theta, q, v)


def above_floor(arm, height=0.004, *, friction=FLOOR[2], stiffness=FLOOR[0], **given):
    """Lines up to a robot at rest, whose tool is so high above the floor, where the task frame is."""
    place = arm.place
    point = (place[0, 3], place[1, 3], place[2, 3] - height)
    task = {"tool_orientation": DOWN, "task_position": point, "task_orientation": (0.0, 0.0, turn_of(arm))}
    return [
        *configured(arm, rates=usual_rates(arm), **{**task, **given}),
        ("floor", point[2], stiffness, FLOOR[1], friction),
        ("sensing", "well", 0.0, 1e-6),
        ("at", arm.start),
    ]


def goto(pose):
    """To where the tip has that pose; the tool's axes are turned there, see DOWN."""
    turned = pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    return ("goto", pose[:3, 3], quaternion_from_rotation(turned))


def turn_of(arm):
    """The angle about the vertical by which the tool's x axis is turned: that of the task frame."""
    place = arm.place
    return math.atan2(place[1, 0], place[0, 0])


def test_the_first_efforts_hold_here(arm):
    zero = np.zeros(arm.model.nv)
    answers = arm.talk(
        *above_floor(arm), ("start", arm.start), ("step", arm.start, zero, np.zeros(6), 1e-3), ("run", 1000)
    )
    found = numbers(answers[-2])
    np.testing.assert_allclose(
        found[8 : 8 + arm.model.nv], rbd.Robot(arm.model).gravity(arm.start), rtol=1e-12, atol=1e-12
    )
    held = ran(answers[-1], arm.model.nv)
    assert (held.mode, held.reason) == (HOLD, NO)
    np.testing.assert_allclose(held.q, arm.start, atol=1e-6)


def test_it_finds_the_floor_and_presses(arm):
    """At 20 mm/s, with an offset in the sensor, and 10 N within 0.1 N, with the tool held along the surface."""
    answers = arm.talk(
        *above_floor(arm, approach_speed=0.02), ("sensing", "well", 0.7, 0.2), ("press", 10.0), ("run", 150),
        ("run", 3850), ("run", 500),
    )  # fmt: skip
    before, on_the_way, settled = (ran(answer, arm.model.nv) for answer in answers[-3:])
    print(f"{1e3 * on_the_way.fastest:.3g} mm/s, {on_the_way.hardest:.3g} N at the blow, then {settled.floor[2]:.5g} N")
    assert before.mode == APPROACH
    assert 0.95 * 0.02 < on_the_way.fastest < 1.15 * 0.02
    assert (settled.mode, settled.reason) == (PRESS, NO)
    assert abs(settled.floor[2] - 10.0) < 0.1
    assert settled.hardest < 10.3
    np.testing.assert_allclose(settled.theta, before.theta, atol=1e-3)


def test_a_load_that_it_does_not_know_changes_neither_speed_nor_force(arm):
    """The arm sags where it is held, less where `hold_load` makes up for it; from there on nothing jumps."""
    sags = []
    for hold_load in (0.0, 1.0):
        given = above_floor(arm, height=0.04, hold_load=hold_load)
        lines = [*given, ("unknown_load", arm.frame, *LOAD), ("run", 2000), ("press", 10.0)]
        answers = arm.talk(*lines, ("run", 400), ("run", 6000), ("run", 500), ("found",))
        sagged, on_the_way, _, pressed = (ran(answer, arm.model.nv) for answer in answers if len(answer) > 20)
        sags.append(np.abs(sagged.q - arm.start).max())
        print(f"sagged by {1e3 * sags[-1]:.2g} mrad; {1e3 * on_the_way.fastest:.3g} mm/s, jump {on_the_way.jump:.2g}")
        assert (on_the_way.mode, pressed.mode) == (APPROACH, PRESS)
        assert on_the_way.jump < 0.1
        assert 0.009 < on_the_way.fastest < 0.0115
        assert abs(pressed.floor[2] - 10.0) < 0.1
        assert answers[-1][0] == "0", "allocations or locks in a cycle"
    assert sags[1] < 0.5 * sags[0]


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("noise", [1e-6, 2.0])
def test_it_presses_on_what_is_soft_and_on_what_is_hard(arm, stiffness, noise):
    """With an offset of the sensor, noise of 2 N, friction of 0.6, and a tenth of critical damping."""
    height = arm.place[2, 3] - 0.004
    floor = ("floor", height, stiffness, 0.2 * math.sqrt(5.0 * stiffness), 0.6)
    lines = [*above_floor(arm), floor, ("sensing", "well", 0.5, noise), ("press", 10.0), ("run", 6000), ("run", 500)]
    found, settled = (ran(answer, arm.model.nv) for answer in arm.talk(*lines) if len(answer) > 20)
    print(f"{found.hardest:.3g} N at first, then {settled.floor[2]:.4g} N")
    assert settled.mode == PRESS and abs(settled.floor[2] - 10.0) < 0.1
    assert found.hardest < 30.0


def test_the_force_comes_at_its_rate_and_what_is_let_go_fades_at_it(arm):
    lines = [
        *above_floor(arm), ("press", 5.0), ("run", 4000), ("press", 25.0), ("run", 500), ("run", 1500), ("press", 0.0),
        ("run", 1), ("run", 2000),
    ]  # fmt: skip
    answers = arm.talk(*lines)
    found = [ran(answer, arm.model.nv) for answer in answers if len(answer) > 20]
    small, growing, large, _, held = found
    assert abs(small.floor[2] - 5.0) < 0.1
    assert abs(growing.force - 15.0) < 0.1, "20 N/s"
    assert abs(growing.floor[2] - 15.0) < 1.0
    assert abs(large.floor[2] - 25.0) < 0.1 and large.hardest < 26.0
    assert (held.mode, held.reason) == (HOLD, BY_REQUEST)
    assert held.force == 0.0 and np.abs(held.v).max() < 1e-3
    print(f"what is left once it is let go: {held.floor[2]:.3g} N")
    assert held.floor[2] < 3.0


@pytest.mark.parametrize(
    ("leans", "rate", "softer"), [(False, 400.0, True), (True, 400.0, False), (True, 40.0, True)],
    ids=["nothing beside", "leans on something", "leans and swings by late efforts"],
)  # fmt: skip
def test_gains_are_softer_where_efforts_come_late_but_not_where_it_leans_on_something(arm, leans, rate, softer):
    """A tool that presses is fast beside its wanted motion, and efforts follow slowly."""
    rng, nv, rates = np.random.default_rng(12), arm.model.nv, np.full(arm.model.nv, rate)
    placed = {"tool_orientation": DOWN, "task_orientation": (0.0, 0.0, turn_of(arm))}
    lines = [*above_floor(arm), ("configure", arm.efforts, rates), ("at", arm.start), ("press", 10.0), ("run", 4000)]
    still, robot = ran(arm.talk(*lines)[-1], nv), rbd.Robot(arm.model)
    sets = HybridTask(arm.frame, **placed).sets(arm.model)
    A = np.vstack([robot.constraint_rows(still.q, np.zeros(nv), each).A for each in sets])
    R = robot.pose(still.q, arm.frame)[:3, :3]
    thrown = rng.normal(size=nv)
    thrown -= A[0] * (A[0] @ thrown) / (A[0] @ A[0])  # along the surface: nothing is let go of
    thrown *= 0.4 / np.abs(thrown).max()
    aside = [20.0, 0.0] if leans else [0.0, 0.0]
    for k in range(4):
        wrench = np.concatenate([np.zeros(3), R.T @ [*aside, 10.0 + 1e-3 * k]])
        lines += [("step", still.q, thrown, wrench, 1e-3), ("share",)]
    answers = arm.talk(*lines)[-8:]
    assert all(int(answer[1]) == PRESS for answer in answers[::2])
    shares = [float(answer[0]) for answer in answers[1::2]]
    wanted = np.linalg.pinv(A) @ np.concatenate([[A[0] @ thrown], np.zeros(5)])
    momentum = robot.mass_matrix(still.q) @ (thrown - wanted)
    own, expected = Softening(nv), [1.0]
    own.rates = rates
    for k in range(3):  # efforts that softer gains want are not that late any more
        expected.append(own.update(momentum, 70.0, 1e-3, behind=1.0 if softer and (k == 0 or not leans) else 0.0))
    print(f"softest: {min(shares):.3g}")
    assert (min(shares) < 0.7) == softer
    np.testing.assert_allclose(shares, expected, rtol=1e-9)


def test_it_moves_along_the_surface_while_it_presses(arm):
    """To a place and a turn, then with rates; friction of 0.2 pulls against it."""
    place = arm.place
    goal = place.copy()
    goal[:3, :3] = goal[:3, :3] @ exp_so3(np.array([0.0, 0.0, 0.3]))
    goal[:2, 3] += [-0.03, 0.06]
    lines = [
        *above_floor(arm), ("press", 10.0), ("run", 3000),
        goto(goal), ("run", 2500), ("drive", (0, 0, 0, 0.03, 0.0, 0.05), 1.0), ("run", 1500),
    ]  # fmt: skip
    answers = arm.talk(*lines)
    first, there, driven = (ran(answer, arm.model.nv) for answer in answers if len(answer) > 20)
    robot = rbd.Robot(arm.model)
    assert (first.mode, there.mode, driven.mode) == (PRESS, PRESS, PRESS)
    assert there.stopped == driven.stopped == NO
    off = robot.pose(there.q, arm.frame)[:2, 3] - goal[:2, 3]
    print(f"{1e3 * np.abs(off).max():.2g} mm from its goal; pressed with {first.hardest:.4g} to {there.hardest:.4g} N")
    assert np.abs(off).max() < 1e-3
    assert abs(there.theta[2] - first.theta[2] + 0.3) < 5e-3, "the tool points down: it turns the other way"
    assert np.hypot(*there.floor[:2]) <= 0.2 * there.floor[2] * 1.01
    assert there.hardest < 10.0 * math.hypot(1.0, 0.2) + 1.0 and abs(there.floor[2] - 10.0) < 0.3
    moved = (driven.theta - there.theta)[3:]
    np.testing.assert_allclose(moved, [0.03, 0.0], atol=3e-3)


def let_go_by_the_library(arm, q, most, lag=0.0):
    """N, that a robot at q can let go in time, with the default gains and rates."""
    sets = HybridTask(arm.frame, tool_orientation=DOWN, task_orientation=(0.0, 0.0, turn_of(arm))).sets(arm.model)
    gains = HybridGains(normal_damping=30.0, posture_kp=25.0, posture_kd=10.0)
    letting_go = LettingGo(arm.model.nv)
    letting_go.rates[:], letting_go.lag = 1000.0, lag
    controller = HybridController(rbd.Robot(arm.model), *sets, gains=gains)
    (found,) = letting_go.bounds(
        controller, q, np.zeros(arm.model.nv), np.array([True]), 0.05, most, np.zeros(1), held=None
    )
    return found


@pytest.mark.parametrize("lag", [0.0, 1.0 / (2.0 * math.pi * 30.0)], ids=["no lag", "30 Hz"])
def test_it_presses_with_no_more_than_it_can_let_go_in_time(arm, lag):
    """Of 200 N that are wanted; a force that is small is pressed as it is, and any where normal_speed is 0."""
    wide = {"largest_force": 200.0, "force_rate": 100.0, "actuator_lag": lag}
    lines = [*above_floor(arm, friction=0.0, **wide), ("press", 200.0), ("run", 4000), ("bound",), ("run", 500)]
    answers = arm.talk(*lines, ("press", 5.0), ("run", 3000))
    desired, bound = numbers(answers[-4])
    held, small = (ran(answers[k], arm.model.nv) for k in (-3, -1))
    print(f"{bound:.4g} N of {desired:.4g} are pressed: {held.floor[2]:.4g} N")
    assert desired == 200.0
    assert abs(bound - let_go_by_the_library(arm, held.q, 200.0, lag)) <= 2.0 * 200.0 / 2**7
    assert (held.mode, held.reason) == (PRESS, NO)
    assert abs(held.floor[2] - bound) < 0.5 and bound < 150.0
    assert abs(small.floor[2] - 5.0) < 0.1
    anyhow = [*above_floor(arm, friction=0.0, normal_speed=0.0, **wide), ("press", 150.0), ("run", 6000), ("run", 500)]
    pressed = ran(arm.talk(*anyhow)[-1], arm.model.nv)
    assert abs(pressed.floor[2] - 150.0) < 0.5


@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_where_its_contact_is_lost_a_tool_that_is_to_press_hard_goes_as_far_as_is_reckoned(arm, friction):
    """Wanted are 200 N; pressed is what it can let go within 4 mm, which is what is measured where the floor goes."""
    place = arm.place
    gone = ("floor", place[2, 3] - 0.5, *FLOOR)
    lines = [*above_floor(arm, friction=friction, largest_force=200.0, force_rate=100.0), ("press", 200.0)]
    pressed, lost = (ran(a, arm.model.nv) for a in arm.talk(*lines, ("run", 5000), gone, ("run", 3000)) if len(a) > 20)
    way = pressed.distance - lost.deepest
    print(f"{pressed.floor[2]:.4g} N, then {1e3 * lost.fastest:.3g} mm/s, {1e3 * way:.3g} mm")
    assert pressed.mode == PRESS and pressed.floor[2] > 15.0
    assert (lost.mode, lost.reason) == (HOLD, CONTACT_LOST)
    assert way < 5e-3
    assert np.abs(lost.v).max() < 1e-3


def test_what_friction_holds_is_pressed_less_hard_and_goes_no_farther_where_it_lets_go(arm):
    """A tool that slides to four sides, with a friction of 0.6, is to press with 200 N; meanwhile the floor goes."""
    gone = ("floor", arm.place[2, 3] - 0.5, *FLOOR)
    bounds, ways, speeds = [], [], np.array([joint.limits.velocity for joint in arm.model.joints])
    lines = [*above_floor(arm, friction=0.6, largest_force=200.0, force_rate=100.0), ("press", 200.0), ("run", 4000)]
    for x, y in ((0.04, 0.0), (-0.04, 0.0), (0.0, 0.04), (0.0, -0.04)):
        slide = [("drive", (0, 0, 0, x, y, 0.0), 3.0), ("run", 1500), ("bound",), gone]
        answers = arm.talk(*lines, *slide, *[("run", 10)] * 100, ("run", 2000))
        _, pressed, *on_the_way, lost = (ran(each, arm.model.nv) for each in answers if len(each) > 20)
        bounds.append(numbers(next(each for each in answers[-110:] if len(each) == 2))[1])
        ways.append(pressed.distance - min(each.deepest for each in on_the_way))
        fastest = max(np.abs(each.v / speeds).max() for each in on_the_way)
        print(f"{bounds[-1]:.3g} N, then {1e3 * ways[-1]:.3g} mm, {fastest:.2f} of a velocity limit")
        assert fastest < 1.0
        assert (lost.mode, lost.reason) == (HOLD, CONTACT_LOST)
    assert min(bounds) < 0.9 * let_go_by_the_library(arm, arm.start, 200.0)
    assert max(ways) < 5e-3


@pytest.mark.parametrize(("force", "speed", "way"), [(10.0, 0.05, 3e-3), (45.0, 0.15, 5e-3)])
def test_a_contact_that_is_lost_throws_nothing_and_is_held(arm, force, speed, way):
    place = arm.place
    gone = ("floor", place[2, 3] - 0.5, *FLOOR)
    lines = [*above_floor(arm), ("press", force), ("run", 4500)]
    pressed, lost = (ran(a, arm.model.nv) for a in arm.talk(*lines, gone, ("run", 3000)) if len(a) > 20)
    assert pressed.mode == PRESS
    print(f"where nothing pushes back: {1e3 * lost.fastest:.3g} mm/s, {-1e3 * lost.deepest:.3g} mm")
    assert (lost.mode, lost.reason) == (HOLD, CONTACT_LOST)
    assert lost.fastest < speed and lost.deepest > -way
    assert np.abs(lost.v).max() < 1e-3


def test_a_contact_that_is_lost_for_a_moment_is_found_again(arm):
    """The floor falls by 2 mm."""
    near = ("floor", arm.place[2, 3] - 0.006, *FLOOR)
    lines = [*above_floor(arm), ("press", 10.0), ("run", 4500), near, ("run", 6000)]
    again = ran(arm.talk(*lines)[-1], arm.model.nv)
    assert (again.mode, again.reason) == (PRESS, NO)
    assert abs(again.floor[2] - 10.0) < 0.1 and again.hardest < 30.0


@pytest.mark.parametrize(("state", "reason"), [("nan", NOT_FINITE), ("silent", SILENT)])
@pytest.mark.parametrize("presses", [False, True], ids=["on the way", "in contact"])
def test_a_sensor_that_fails_ends_it_and_the_robot_is_held(arm, state, reason, presses):
    lines = [*above_floor(arm), ("press", 10.0), ("run", 3000 if presses else 150), ("sensing", state, 0.0, 1e-6)]
    later = [
        ("run", 2000), ("press", 10.0), ("run", 100), ("sensing", "well", 0.0, 1e-6), ("press", 0.0), ("press", 10.0),
        ("run", 3000),
    ]  # fmt: skip
    answers = arm.talk(*lines, *later)
    before, after, still, anew = (ran(answer, arm.model.nv) for answer in answers if len(answer) > 20)
    assert before.mode == (PRESS if presses else APPROACH)
    assert (after.mode, after.reason) == (HOLD, reason)
    assert after.force == 0.0 and np.abs(after.v).max() < 1e-3 and after.hardest < 12.0
    assert np.abs(after.q - before.q).max() < 0.02
    assert still.mode == HOLD, "it does not begin by itself"
    assert anew.mode == PRESS and abs(anew.floor[2] - 10.0) < 0.1


def test_more_than_the_largest_force_ends_it(arm):
    """A sensor that comes to read too much, and a blow that is too hard."""
    lines = [*above_floor(arm, largest_force=30.0), ("press", 10.0), ("run", 3000), ("sensing", "well", -25.0, 1e-6)]
    pressed, after = (ran(answer, arm.model.nv) for answer in arm.talk(*lines, ("run", 2000)) if len(answer) > 20)
    assert pressed.mode == PRESS
    assert (after.mode, after.reason) == (HOLD, FORCE)
    assert after.figure > 30.0 and after.force == 0.0 and np.abs(after.v).max() < 1e-3
    hard = above_floor(arm, largest_force=30.0, approach_speed=0.09, height=0.02, stiffness=1e6)
    blown = ran(arm.talk(*hard, ("press", 10.0), ("run", 3000))[-1], arm.model.nv)
    assert (blown.mode, blown.reason) == (HOLD, IMPACT)
    assert np.abs(blown.v).max() < 1e-3


def test_what_friction_holds_at_a_blow_is_let_go_of_with_it(arm):
    """A tool that slides stops at a blow of 60 N: what stays of the friction is the share of the wanted force."""
    nv, instant = arm.model.nv, ("configure", arm.efforts, np.full(arm.model.nv, 1e6))
    lines = [*above_floor(arm), instant, ("at", arm.start), ("press", 10.0), ("run", 4000)]
    lines += [("drive", (0, 0, 0, 0.03, 0, 0), 2.0), ("run", 1000)]
    slides = ran(arm.talk(*lines)[-1], nv)
    robot = rbd.Robot(arm.model)
    J, pose = robot.jacobian(slides.q, arm.frame, reference="aligned"), robot.pose(slides.q, arm.frame)
    aside = np.array([1.5 * slides.floor[0], 1.5 * slides.floor[1], 0.0])

    def read(pressed):
        return ("step", slides.q, slides.v, np.concatenate([np.zeros(3), pose[:3, :3].T @ (aside + [0, 0, pressed])]))

    answers = arm.talk(*lines, (*read(60.0), 1e-3), (*read(59.9), 0.2))[-2:]
    (blown, later), reasons = (numbers(answer) for answer in answers), [int(answer[2]) for answer in answers]
    assert reasons == [FORCE, FORCE]
    fallen = (blown[5] - later[5]) * J[5]
    leant = (blown[8 : 8 + nv] - later[8 : 8 + nv] + fallen) / 0.99  # 1 ms of 0.1 s
    stays = (blown[5] + 0.02) / 60.0
    wanted = -stays * (J[3:].T @ aside)
    print(f"{stays:.2f} of the friction stays, of {np.linalg.norm(aside):.3g} N")
    assert np.abs(wanted).max() > 0.05 and stays < 0.25
    assert (np.abs(leant) <= np.abs(wanted) + 1e-3).all(), "no more than was pushed"
    assert np.isclose(leant, wanted, rtol=0.02, atol=1e-3).mean() > 0.5


def test_an_approach_that_finds_nothing_ends_with_the_reason(arm):
    far = above_floor(arm, height=0.3, approach_speed=0.05)
    answers = arm.talk(*far, ("press", 10.0), ("run", 5000))
    gone = ran(answers[-1], arm.model.nv)
    assert (gone.mode, gone.reason) == (HOLD, NO_CONTACT_WAY)
    assert 0.1 < gone.figure < 0.101
    late = ran(
        arm.talk(*above_floor(arm, height=0.3, approach_timeout=1.0), ("press", 10.0), ("run", 2000))[-1], arm.model.nv
    )
    assert (late.mode, late.reason) == (HOLD, NO_CONTACT_TIME)
    # the floor is 3 cm below where it should be
    below = [*above_floor(arm), ("floor", arm.place[2, 3] - 0.034, *FLOOR), ("press", 10.0), ("run", 5000)]
    beyond = ran(arm.talk(*below)[-1], arm.model.nv)
    assert (beyond.mode, beyond.reason) == (HOLD, BEYOND)


def test_a_tool_that_is_turned_by_half_a_turn_is_held_and_does_not_begin(arm):
    """As where tool_orientation was left as it is. There no angle is unique, and rounding decides what is told."""
    still, around = np.zeros(arm.model.nv), half_turned(arm.place)
    lines = above_floor(arm)
    for k in range(-8, 9):
        lines += [
            ("wish", "tool_orientation", 3, around + 1e-16 * k), ("wish", "task_orientation", 3, (0.0, 0.0, 0.0)),
            ("configure", arm.efforts, usual_rates(arm)), ("start", arm.start), ("press", 10.0),
            ("step", arm.start, still, np.zeros(6), 1e-3),
        ]  # fmt: skip
    answers = [answer for answer in arm.talk(*lines) if len(answer) > 10]
    assert len(answers) == 17
    assert all(answer[:2] == ["0", str(HOLD)] for answer in answers)
    assert {int(answer[2]) for answer in answers} <= {TURNED, OUT_OF_REACH, SINGULAR}
    for answer in answers:
        efforts = numbers(answer[8 : 8 + arm.model.nv])
        np.testing.assert_allclose(efforts, rbd.Robot(arm.model).gravity(arm.start), rtol=1e-12, atol=1e-12)


def half_turned(pose):
    """Roll, pitch, yaw of a tool in the tip that is turned about the root's x axis by half a turn."""
    R = pose[:3, :3].T @ np.diag([1.0, -1.0, -1.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), -math.asin(R[2, 0]), math.atan2(R[1, 0], R[0, 0])])


def test_no_joint_is_faster_than_its_limit_and_what_is_out_of_reach_is_given_up(arm):
    nv, limit = arm.model.nv, 0.2
    goal = arm.place
    goal[:2, 3] += 0.35 * goal[:2, 3] / np.linalg.norm(goal[:2, 3])
    lines = [
        *above_floor(arm, joint_velocity_limits=[limit], velocity_limits=[1.0], normal_speed=0.1), ("press", 10.0),
        ("run", 4000), goto(goal), *[("run", 20)] * 1000,
    ]  # fmt: skip
    found = [ran(answer, nv) for answer in arm.talk(*lines) if len(answer) > 20]
    fastest = max(np.abs(each.v).max() for each in found)
    last = found[-1]
    print(f"{fastest / limit:.0%} of the limit; mode {last.mode}, reason {last.reason}, stopped {last.stopped}")
    assert fastest < limit
    there = rbd.Robot(arm.model).pose(last.q, arm.frame)[:2, 3]
    off = np.linalg.norm(there - goal[:2, 3])
    print(f"{1e3 * off:.3g} mm left; pressed with {last.floor[2]:.3g} N")
    assert off < 1e-3 or last.stopped in (AT_LIMIT, NEARLY_SINGULAR), "it is there, or it is said why not"
    assert np.abs(last.v).max() < 1e-2


# --- what changes while it runs ---------------------------------------------------------------------


def test_gains_and_limits_change_while_it_presses_without_a_jump(arm):
    """The integrals hold against errors of the model. What allows less than is wanted now is refused."""
    place = arm.place
    goal = place.copy()
    goal[:2, 3] += [-0.03, 0.04]
    load = ("unknown_load", arm.frame, 0.3, np.zeros(3), np.zeros(6))
    lines = [*above_floor(arm, friction=0.0), load, ("run", 1000), ("press", 10.0)]
    lines += [("run", 4000), goto(goal), ("run", 4000), ("run", 1)]
    softer = [*wishes(kp=[600.0], kd=[50.0], task_ki=6.0, ki=3.0, normal_damping=25.0), ("change",)]
    answers = arm.talk(
        *lines, *softer, ("run", 2000), *wishes(largest_force=9.0), ("change",),
        *wishes(largest_force=50.0, reach=0.01), ("change",), *wishes(reach=0.5, force_rate=-1.0), ("change",),
        *wishes(force_rate=5.0), ("change",), ("press", 20.0), ("run", 1000),
    )  # fmt: skip
    *_, before, settled, faster = (ran(answer, arm.model.nv) for answer in answers if len(answer) > 20)
    print(f"{before.floor[2]:.5g} N, then {settled.hardest:.5g} N at most, and {settled.floor[2]:.5g} N")
    assert settled.hardest < 10.3
    assert (settled.mode, settled.reason) == (PRESS, NO) and abs(settled.floor[2] - 10.0) < 0.3
    told = [" ".join(answer) for answer in answers if 5 < len(answer) < 20]
    assert told == [
        "10 N are wanted now, more than largest_force (9)",
        told[1],
        "force_rate is a finite number above 0",
    ]
    assert re.fullmatch(r"the tool is wanted -?0\.0\d+ from the task frame now, more than reach \(0\.01\)", told[1])
    assert abs(faster.force - 15.0) < 0.1, "5 N/s"


def test_the_task_frame_moves_while_it_presses_and_takes_the_tool_along(arm):
    """By 5 cm and a turn about the normal; beyond reach, and where the surface would be elsewhere, it stays."""
    turn, point = turn_of(arm), arm.place[:3, 3] - [0.0, 0.0, 0.004]
    moved = point + [-0.03, 0.04, 0.01]
    lines = [*above_floor(arm), ("press", 10.0), ("run", 4000), ("run", 1)]
    there = [*wishes(task_position=moved, task_orientation=(0.0, 0.0, turn + 0.4)), ("change",)]
    beyond = [
        *wishes(task_position=point + [0.6, 0.0, 0.0]), ("change",), *wishes(task_position=point + [0.0, 0.0, 0.05]),
        ("change",), *wishes(task_position=moved, task_orientation=(1.0, 0.0, turn)), ("change",), ("place",),
    ]  # fmt: skip
    answers = arm.talk(*lines, *there, *[("run", 10)] * 400, *beyond)
    _, start, *on_the_way = (ran(each, arm.model.nv) for each in answers if len(each) > 20)
    robot, end = rbd.Robot(arm.model), on_the_way[-1]
    assert (end.mode, end.reason) == (PRESS, NO)
    forces = [each.floor[2] for each in on_the_way]
    off = robot.pose(end.q, arm.frame)[:2, 3] - robot.pose(start.q, arm.frame)[:2, 3]
    print(f"pressed with {min(forces):.4g} to {max(forces):.4g} N; moved by {1e3 * off} mm")
    np.testing.assert_allclose(end.theta, start.theta, atol=3e-3)
    assert max(np.abs(each.theta - start.theta).max() for each in on_the_way) < 0.02
    assert abs(forces[-1] - 10.0) < 0.3 and max(forces) < 13.0
    turned = robot.pose(start.q, arm.frame)[:3, :3].T @ robot.pose(end.q, arm.frame)[:3, :3]
    assert abs(math.acos((np.trace(turned) - 1.0) / 2.0) - 0.4) < 5e-3
    told = [" ".join(answer) for answer in answers[-12:] if answer and answer[0] == "the"]
    assert re.match(r"the task frame would go 0\.\d+ m while it presses, more than reach \(0\.5\)", told[0])
    assert re.match(r"the surface would be off by -0\.05\d* m where it is pressed, more than press_tolerance", told[1])
    assert re.match(r"the task frame would turn by 1\.\d+ rad while it presses, more than 0\.5", told[2])
    np.testing.assert_allclose(numbers(answers[-1])[9:12], moved, atol=1e-12)


# --- what is refused, and how it runs --------------------------------------------------------------


def test_what_is_no_setting_is_refused_by_its_name(arm):
    wrong = {
        "force_rate is a finite number above 0": {"force_rate": 0.0},
        "largest_force is a finite number above 0": {"largest_force": 0.0},
        "contact_force is not below largest_force": {"contact_force": 60.0},
        "approach_speed is a finite number above 0": {"approach_speed": -0.01},
        "normal_damping is a finite number above 0": {"normal_damping": 0.0},
        "normal_speed is a finite number of at least 0": {"normal_speed": math.nan},
        "tool_position needs three finite numbers": {"tool_position": [0.0, math.nan, 0.0]},
        "task_orientation needs three finite numbers": {"task_orientation": [0.0]},
        "kp needs a number of at least 0": {"kp": [1.0, 2.0]},
        "kd needs a number of at least 0": {"kd": [-1.0]},
        "joint_velocity_limits needs a number": {"joint_velocity_limits": [1.0, 2.0]},
        "velocity_limits needs a number": {"velocity_limits": [1.0, 2.0]},
    }
    for reason, given in wrong.items():
        assert " ".join(arm.talk(*configured(arm, **given))[-1]).startswith(reason)
    refused = arm.talk(*above_floor(arm), ("press", 51.0), ("press", -1.0), ("press", math.nan), ("run", 100))
    assert [answer[0] for answer in refused[-4:-1]] == ["0", "0", "0"]
    assert ran(refused[-1], arm.model.nv).mode == HOLD
    away = arm.place
    away[0, 3] += 0.6
    answers = arm.talk(
        *above_floor(arm), goto(arm.place), ("press", 10.0), ("run", 10), goto(away),
        goto(arm.place), ("drive", (0, 0, 0, math.nan, 0, 0), 1.0),
    )  # fmt: skip
    assert [answers[k][0] for k in (-6, -3, -2, -1)] == ["0", "0", "1", "0"], "only while it presses, within reach"


def test_the_sensor_s_place_is_told_by_a_frame_of_the_robot(arm):
    robot = rbd.Robot(arm.model)
    tip = robot.pose(arm.start, arm.frame)
    body = arm.model.frame(arm.frame).body
    own = [name for name in arm.model.frame_names if arm.model.frame(name).body == body]
    for answer, name in zip(arm.talk(*(("sensor", name) for name in own)), own):
        there = np.linalg.solve(tip, robot.pose(arm.start, name))
        np.testing.assert_allclose(numbers(answer), [*there[:3, :3].reshape(-1), *there[:3, 3]], atol=1e-12)
    other = arm.model.frame_names[1]
    for name, reason in (("nowhere", "the robot has no frame named nowhere"), (other, f"{other} is not fixed to")):
        assert f"sensor_frame: {reason}" in " ".join(arm.talk(("sensor", name))[0])


def test_a_state_that_is_not_finite_changes_no_effort(arm):
    zero, nothing = np.zeros(arm.model.nv), np.zeros(6)
    broken = np.where(np.arange(arm.model.nv) == 1, np.nan, zero)
    answers = arm.talk(
        *above_floor(arm), ("start", arm.start), ("step", arm.start, zero, nothing, 1e-3),
        ("step", arm.start, broken, nothing, 1e-3), ("step", arm.start, zero, nothing, 1e-3),
    )  # fmt: skip
    assert [answer[0] for answer in answers[-3:]] == ["0", "1", "0"]
    assert answers[-2][8 : 8 + arm.model.nv] == answers[-3][8 : 8 + arm.model.nv]


def test_cycles_neither_allocate_nor_lock_nor_fault_pages_in(arm):
    answers = arm.talk(
        *above_floor(arm), ("press", 10.0), ("run", 3000), ("drive", (0, 0, 0.1, 0.02, 0, 0), 0.5), ("run", 500),
        ("faults", 1000), ("time",), ("found",),
    )  # fmt: skip
    locked, faults = map(int, answers[-3])
    assert int(answers[-2][1]) == PRESS
    print(f"a cycle: {answers[-2][0]} us; memory {'is' if locked else 'could not be'} locked, {faults} page faults")
    assert faults == 0
    assert float(answers[-2][0]) < 100.0
    assert answers[-1][0] == "0", "allocations or locks in a cycle"
    assert int(answers[-1][1]) > 0, "the counters count"
