# SPDX-License-Identifier: Apache-2.0
"""The campaign against hybrid control: its plant is physics, its judge sees what is wrong and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("mujoco")
pytest.importorskip("rclpy")
if "panda" not in robots():
    pytest.skip("needs the Panda of example-robot-data", allow_module_level=True)

from rigs.compliant_plant import CompliantPlant, Surroundings

from campaigns.pressing.arms import ARMS, model_of, robot_of
from campaigns.pressing.bench import Bench
from campaigns.pressing.cases import Case, Event
from campaigns.pressing.classes import CLASSES, case_of
from campaigns.pressing.judge import REACTION, let_go_by_friction, verdict
from campaigns.pressing.plant import BALL, PERIOD, Imperfections, PressedArm
from campaigns.pressing.runs import KNOWN, MS, START, Record, Stop, run
from campaigns.pressing.scene import scene_of
from campaigns.pressing.surfaces import Surface

EXACT = Imperfections(rotors=0.0, force_noise=0.0, encoder=0.0, speed_noise=0.0)
STANDING = Case("test", 0, 0, q=ARMS["panda"].q, force=10.0, stiffness=1e5)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_the_plant_is_the_one_of_the_library_s_own_dynamics(friction):
    arm, robot, q = ARMS["panda"], robot_of("panda"), np.array(ARMS["panda"].q)
    point = robot.pose(q, arm.tool)[:3, 3] - [0.0, 0.0, BALL - 2e-5]
    around = Surroundings(stiffness=1e5, friction=friction)
    ours = CompliantPlant(robot, arm.tool, BALL, point, around, effective_mass=4.0)
    ours.reset(q)
    efforts = np.array(model_of("panda").effort_limit)
    theirs = PressedArm(arm, robot.model.joint_names, efforts, (0.0, 0.0, 0.0), EXACT, step=1e-4)
    theirs.touch(
        Surface("plane", tuple(point), (0.0, 0.0, 1.0), stiffness=1e5, damping=ours.damping, friction=friction)
    )
    theirs.reset(q)
    held = ours.tau.copy()
    for k in range(150):
        tau = held + np.sin(0.05 * k) * np.array([2.0, 1.0, -1.0, 2.0, 0.5, -0.5, 0.3])
        ours.advance(tau)
        theirs.command(tau)
    q_theirs, v_theirs = theirs.state
    assert np.abs(ours.q - q).max() > 0.05
    # friction pulls at the ball's surface here, and at its centre there
    np.testing.assert_allclose(q_theirs, ours.q, rtol=0, atol=1e-4 if friction else 3e-5)
    np.testing.assert_allclose(v_theirs, ours.v, rtol=0, atol=3e-3 * np.abs(ours.v).max())
    # late, and in the tool's axes
    seen, own = theirs.read(), ours.read()
    np.testing.assert_allclose(theirs.rotation @ seen.wrench[3:], own.force, rtol=0, atol=0.2)


@given(st.tuples(*[st.floats(-0.5, 0.5)] * 3), st.sampled_from(["plane", "edge", "sphere", "pipe"]))
@settings(max_examples=200, deadline=None)
def test_normals_are_the_gradient_of_the_distance(at, shape):
    along = np.array([1.0, 2.0, 0.5]) / np.linalg.norm([1.0, 2.0, 0.5])
    normal = np.cross(along, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(along, [0.0, 0.0, 1.0]))
    kind = "plane" if shape == "edge" else shape
    surface = Surface(
        kind, (0.1, 0.0, -0.1), tuple(normal), along=tuple(along), radius=0.3, length=0.05 if shape == "edge" else 1e9
    )
    distance, found = surface.distance(at)
    step = 1e-6
    slopes = [
        (surface.distance(tuple(np.array(at) + d))[0] - surface.distance(tuple(np.array(at) - d))[0]) / (2 * step)
        for d in step * np.eye(3)
    ]
    away = np.array(at) - surface.point
    axis_distance = np.linalg.norm(away - (away @ along) * along)
    kinked = (
        abs(abs(away @ normal) - abs(away @ along - 0.05)) < 1e-5 or min(axis_distance, np.linalg.norm(away)) < 1e-4
    )
    if not kinked:
        np.testing.assert_allclose(found, slopes, atol=1e-4)
        assert abs(np.linalg.norm(found) - 1.0) < 1e-12


@given(st.tuples(*[st.floats(-0.02, 0.02)] * 3), st.tuples(*[st.floats(-1e-7, 1e-7)] * 3))
@settings(max_examples=300, deadline=None)
def test_no_corner_is_jumped_at(at, step):
    """A ball that fell before an edge was 2 mm within its side at once, and was shot off with 1.5 kN."""
    surface = Surface("plane", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), length=0.0)
    before, after = surface.distance(at)[0], surface.distance(tuple(np.add(at, step)))[0]
    assert abs(after - before) < 3e-7


def standing(case: Case = STANDING) -> Record:
    """It touches, and presses, and nothing moves."""
    scene, n = scene_of(case), 1500
    q = np.tile(np.array(case.q), (n, 1))
    where = scene.plant.position - (case.height + case.force / case.stiffness) * scene.axes[:, 2]
    forces = np.full((n, 1 if case.wall is None else 2), 0.0)
    forces[:, 0] = case.force
    return Record(
        case, scene, forces, np.tile(where, (n, 1)), np.tile(scene.plant.rotation, (n, 1, 1)), q, 0.0 * q, 0.0 * q,
        ["press"] * n, [], [], 200, "", False, np.full(n, np.nan),
    )  # fmt: skip


def stopped(record: Record, reason: str, at: int = 500) -> Record:
    return record._replace(
        modes=["press"] * at + ["hold"] * (len(record.modes) - at), stops=[Stop(at, "press", reason)]
    )


def wrong_in(found: Any) -> set[str]:
    false = {"reason"} if any(true is not True for said, true in found.reasons if said != "(went on)") else set()
    return {name for name, each in found.bounds.items() if each.bad} | false


def sinking(record: Record, begin: int, end: int, way: float) -> Record:
    """Without contact from one period to another, while the tool goes by `way` (m) along the normal."""
    forces, position = record.forces.copy(), record.position.copy()
    forces[begin:end, 0] = 0.0
    position[begin:] += np.clip((np.arange(begin, len(position)) - begin) / (end - begin), 0.0, 1.0)[:, None] * (
        way * record.scene.axes[:, 2]
    )
    return record._replace(forces=forces, position=position)


def changed(record: Record, name: str, value: float, begin: int = 600, end: int = 620) -> Record:
    array = getattr(record, name).copy()
    array[begin:end, 0] = value
    return record._replace(**{name: array})


def test_the_judge_sees_what_is_wrong_and_nothing_else():
    good = standing()
    assert wrong_in(verdict(good)) == set()
    limit = model_of("panda")
    assert wrong_in(verdict(changed(good, "forces", 61.0))) == set()
    assert wrong_in(verdict(changed(good, "forces", 70.0))) == {"force"}
    assert wrong_in(verdict(changed(good, "v", 1.1 * limit.velocity_limit[0]))) == {"joint speed"}
    assert wrong_in(verdict(changed(good, "tau", -1.1 * limit.effort_limit[0]))) == {"torque"}
    assert wrong_in(verdict(changed(good, "q", limit.upper[0] + 0.01))) == {"joint position"}
    assert wrong_in(verdict(sinking(good, 600, 640, -0.004))) == set()
    assert wrong_in(verdict(sinking(good, 600, 640, -0.009))) == {"lost contact"}
    assert wrong_in(verdict(sinking(good, 600, 620, 0.009))) == {"lost contact", "tool speed"}
    assert wrong_in(verdict(sinking(good, 600, 1400, -0.001))) == {"unsaid"}


@pytest.mark.parametrize(
    "reason, happened, true",
    [
        ("contact lost", lambda r: sinking(r, 300, 520, -0.001), True),
        ("contact lost", lambda r: r, False),
        ("force of surface.normal is 51, more than 50", lambda r: changed(r, "forces", 51.0, 480, 500), True),
        ("force of surface.normal is 51, more than 50", lambda r: r, False),
        ("force of surface.normal is 10, more than 9", lambda r: lowered(r), True),
        ("surface.normal is off by 0.04 at 3 N: the surface is not where it should be", lambda r: r, False),
        ("surface.normal is off by 0.04 at 3 N: the surface is not where it should be",
         lambda r: r._replace(position=r.position + 0.04 * r.scene.axes[:, 2]), True),
        ("tool.x = 0.501 is out of reach (0.5)", lambda r: r, False),
        ("singular: the arm is where constraints and task cannot all be controlled", lambda r: r, False),
        ("singular: the arm is where constraints and task cannot all be controlled", lambda r: stretched(r), True),
        ("the wrench sensor is silent for 0.06 s", lambda r: r, False),
        ("the wrench sensor is silent for 0.06 s",
         lambda r: r._replace(case=replace(r.case, no_wrenches=((0.25, 0.35),))), True),
        ("by request", lambda r: r, False),
        ("by request", lambda r: r._replace(case=replace(r.case, events=(Event(0.29, "engage", False),))), True),
    ],
)  # fmt: skip
def test_a_reason_is_true_or_false_by_what_happened(reason, happened, true):
    found = verdict(stopped(happened(standing()), reason))
    assert [judged for _, judged in found.reasons] == [true]


def lowered(record: Record) -> Record:
    return record._replace(case=replace(record.case, events=(Event(0.2, "set", {"largest_force": 9.0}),)))


def stretched(record: Record) -> Record:
    q = record.q.copy()
    q[:, 1:6] = [0.0, 0.0, -0.08, 0.0, 0.0]
    return record._replace(q=q)


def test_the_judge_sees_an_arm_that_is_not_held():
    record = stopped(standing(), "contact lost")
    still = verdict(record)
    assert not still.bounds["held"].bad and not still.bounds["still"].bad
    position, v = record.position.copy(), record.v.copy()
    position[500:, 2] -= 2e-5 * np.arange(len(position) - 500)
    v[500:, 1] = 0.05
    falling = verdict(record._replace(position=position, v=v))
    assert falling.bounds["held"].bad and falling.bounds["still"].bad


def test_a_surface_that_comes_takes_a_held_arm_along_and_one_that_has_gone_does_not():
    speed = 0.02  # m/s
    record = stopped(standing(), "surface.normal is off by 0.04")
    contacts = record.scene.plant.contacts
    contacts[0].surface = replace(contacts[0].surface, speed=speed)
    along = np.maximum(0.0, 1e-3 * (np.arange(len(record.position)) - 500))[:, None] * record.scene.axes[:, 2]
    pushed = record._replace(position=record.position + speed * along)
    assert not verdict(pushed).bounds["held"].bad
    assert verdict(pushed._replace(position=record.position + 2.0 * speed * along)).bounds["held"].bad
    forces = pushed.forces.copy()
    forces[510:] = 0.0
    assert verdict(pushed._replace(forces=forces)).bounds["held"].bad


def test_what_friction_lets_go_of_is_what_a_torque_that_nothing_answers_makes():
    """A Kinova's wrist without rotors, by the library's own dynamics; where no contact falls, nothing is let go."""
    case = replace(STANDING, arm="kinova", q=ARMS["kinova"].q, friction=0.6, force=10.0, imperfect=EXACT)
    record, robot, arm = standing(case), robot_of("kinova"), ARMS["kinova"]
    assert let_go_by_friction(record)[1] == 0.0
    limits = model_of("kinova").velocity_limit
    assert wrong_in(verdict(changed(record, "v", 1.1 * limits[0]))) == {"joint speed"}

    q, axes = np.array(case.q), record.scene.axes
    R, J = robot.pose(q, arm.tool)[:3, :3], robot.jacobian(q, arm.tool)
    moving, turning = R @ J[3:], R @ J[:3]
    touching = moving + np.cross(turning.T, -BALL * axes[:, 2]).T
    M = robot.mass_matrix(q)
    worst = [np.linalg.solve(M, touching.T @ (math.cos(a) * axes[:, 0] + math.sin(a) * axes[:, 1]))
             for a in np.linspace(0.0, math.pi, 721)]  # fmt: skip
    impulse = 0.6 * 10.0 * REACTION
    joints, tool = let_go_by_friction(sinking(record, 600, 640, -0.001))
    np.testing.assert_allclose(joints, impulse * np.abs(worst).max(axis=0), rtol=2e-3)
    assert tool == pytest.approx(impulse * max(np.linalg.norm(moving @ v) for v in worst), rel=2e-3)


@pytest.mark.parametrize("name", CLASSES)
def test_a_case_is_the_same_whenever_it_is_asked_for(name):
    for number in range(5):
        case = case_of(name, 3, number)
        assert repr(case) == repr(case_of(name, 3, number))  # NaN is wanted of some
        assert case.q and case.told()["variant"]
    assert len({repr(case_of(name, 3, number)) for number in range(5)}) == 5


def test_a_run_can_be_repeated_and_presses_with_what_is_wanted():
    case = replace(STANDING, height=0.001, force=3.0, params={"force_rate": 100.0}, seconds=0.2)
    one, other = run(case), run(case)
    assert one.begun > 0 and not one.stops
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.forces, other.forces)
    assert one.forces[-50:, 0].mean() == pytest.approx(3.0, abs=0.3)
    assert wrong_in(verdict(one)) == set()


def test_what_was_held_against_friction_is_let_go_with_a_contact_that_is_lost():
    """On a friction of 0.6 integrals hold 17 N along the normal, 23 N aside: by them a tool went on by 7 and 25 mm."""
    case = case_of("edge", 201, 0)
    record = run(case)
    found = verdict(record)
    assert case.friction == 0.6 and found.good and found.reasons == [("contact lost", True)], found
    lost = int(np.flatnonzero(record.forces[:, 0])[-1])
    aside = (record.position[lost:] - record.position[lost]) @ record.scene.axes[:, 0]
    assert found.bounds["lost contact"].value < 4e-3 and 0.0 < aside.max() < 0.014


@pytest.mark.parametrize(("seed", "number"), [(947, 3), (921, 13)])
def test_a_wall_neither_lifts_nor_turns_a_tool_that_slides_into_it(seed, number):
    """A UR10 went up along its wall by 10 mm; a Kinova without rotors was turned at 1.7 of a joint's limit."""
    found = verdict(run(case_of("wall", seed, number)))
    assert found.pressed and found.good, found
    assert found.bounds["lost contact"].value < 3e-3 and found.bounds["joint speed"].value < 0.9


def followed(normal_speed: float) -> float:
    """N rms, by which a UR5 on 1e5 N/m misses a force of 15 N with a sine of 5 N and 5 Hz."""
    case = replace(
        STANDING, arm="ur5", q=ARMS["ur5"].q, force=15.0, height=0.002,
        params={"normal_speed": normal_speed, "force_rate": 1000.0},
    )  # fmt: skip
    scene, errors = scene_of(case), []
    plant, bench = scene.plant, Bench(model_of("ur5", KNOWN * case.imperfect.rotors), scene.params)
    point = np.array(scene.params.tool_position)
    for k in range(2600):
        if k == 100:
            bench.engage(True)
        wanted = 15.0
        if k > 1200:
            wanted += 5.0 * math.sin(2.0 * math.pi * 5.0 * PERIOD * k)
            along = plant.rotation.T @ scene.axes[:, 2]
            bench.wish(wanted * np.concatenate([np.cross(point, along), along]))
        tau = bench.answer(START + k * MS, *plant.read())
        plant.command(plant.tau if tau is None else tau)
        if k > 1600:
            errors.append(plant.peaks[0] - wanted)
    return float(np.sqrt(np.mean(np.square(errors))))


def test_a_sine_of_the_force_is_followed_as_well_as_without_a_bound_of_the_speed():
    bounded, free = followed(0.05), followed(0.0)
    assert bounded < 0.85 and bounded < 1.01 * free
