# SPDX-License-Identifier: Apache-2.0
"""The governor of hybrid control: task rows go where they are wanted as far and as fast as the arm can."""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.models.robots import robot_file
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rbd_dynamics.algorithms.reachable_motion import STOPPED, STOPPING
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.governor import PlacementLimits, TaskGovernor
from rbd_dynamics.control.hybrid.placement import Placement, PlacementPath
from rbd_dynamics.control.hybrid.reachable import ReachableTask
from rbd_dynamics.control.hybrid.task import HybridTask
from rbd_dynamics.control.motion.joint_room import SPEED_SHARE
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

DT = 1e-3
POSTURE = np.array([0.0, -1.2, 1.9, -2.2, -1.57, 0.0])  # of a UR5, pointing down, well bent


def task_at(robot, turned=0.0):
    """The tool stands in the task frame, or has to be turned about its z axis to."""
    pose = robot.pose(POSTURE, "tool0")
    R = Rotation.from_matrix(pose[:3, :3]) * Rotation.from_rotvec([0.0, 0.0, turned])
    rpy = tuple(float(x) for x in R.as_euler("xyz"))
    return HybridTask("tool0", task_position=tuple(float(x) for x in pose[:3, 3]), task_orientation=rpy)


@cache
def arm():
    robot = Robot(load_urdf(robot_file("ur5_robot")))
    constraints, moved = task_at(robot).sets(robot.model)
    rows = ConstraintSet(robot.model, (*constraints.constraints, *moved.constraints))
    return robot, rows, ReachableTask(robot, rows, len(constraints))


def at_start():
    _, _, reach = arm()
    reach.reset(POSTURE, np.zeros(reach.k))
    return reach


def least_singular_value(q):
    robot, rows, _ = arm()
    A = robot.constraint_rows(q, np.zeros(6), rows).A.copy()
    A[[name.rsplit(".")[-1].startswith("r") for name in rows.row_names]] *= 0.5
    return np.linalg.svd(A, compute_uv=False)[-1]


def test_a_motion_that_the_arm_can_make_is_followed_as_it_is():
    robot, rows, _ = arm()
    reach, worst = at_start(), 0.0
    for k in range(2000):
        t = 1e-3 * (k + 1)
        s, ds = 0.5 * (1.0 - np.cos(np.pi * t)), 0.5 * np.pi * np.sin(np.pi * t)
        step = reach.follow(np.array([0.1, -0.2, 0.3, 0.08, -0.05]) * s, np.zeros(1), DT, POSTURE)
        worst = max(worst, np.abs(step.theta - np.array([0.1, -0.2, 0.3, 0.08, -0.05]) * s).max())
        if k > 10:
            np.testing.assert_allclose(step.rate, np.array([0.1, -0.2, 0.3, 0.08, -0.05]) * ds, atol=3e-3)
    assert worst < 1e-5
    np.testing.assert_allclose(robot.constraint_rows(reach.q, reach.v, rows).h[0], 0.0, atol=1e-6)  # on the surface


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=10, max_size=10))
def test_targets_that_jump_anywhere_ask_no_joint_for_more_than_it_has(numbers):
    """By the model's limits, and by differences of the positions. The task's speed grows by 5 m/s^2 and no more."""
    robot, _, _ = arm()
    weights = np.array([0.5, 0.5, 0.5, 1.0, 1.0])
    reach = at_start()
    limits = np.array([joint.limits.velocity for joint in robot.model.joints])
    targets = np.array(numbers).reshape(2, 5) * [1.0, 1.0, 2.0, 0.8, 0.8]
    before, speed_before = reach.q.copy(), 0.0
    for target in targets:
        for _ in range(600):
            step = reach.follow(target, np.zeros(1), DT, POSTURE)
            speed = np.linalg.norm(weights * step.rate)
            assert speed <= max(speed_before + 5.0 * DT, 0.0) * 1.05 + 1e-3
            assert (np.abs(reach.q - before) <= (SPEED_SHARE * limits + 1e-9) * DT).all()
            assert (robot.model.lower <= reach.q).all() and (reach.q <= robot.model.upper).all()
            before, speed_before = reach.q.copy(), speed


def test_a_target_that_jumps_back_meanwhile_is_followed_from_rest():
    """As where an estimated normal turns the task frame to and fro: the way that is left points back at once.

    The motion had the speed in the other direction at once, too.
    """
    reach, target = at_start(), np.array([0.01, 0.0, 0.0, 0.0, 0.004])
    weights, before, back = np.array([0.5, 0.5, 0.5, 1.0, 1.0]), np.zeros(5), 0
    for k in range(300):
        step = reach.follow(target if k < 120 and k // 15 % 2 else -target, np.zeros(1), DT, POSTURE)
        moving = weights * step.rate
        speed = np.linalg.norm(moving)
        kept = max(0.0, float(moving @ before) / max(speed, 1e-12))
        assert speed <= kept + 1.05 * 5.0 * DT
        back += float(moving @ before) < 0.0
        before = moving
    assert back >= 7
    np.testing.assert_allclose(step.theta, -target, atol=1e-5)


@pytest.mark.parametrize("speed", [0.05, 0.5])
def test_it_stops_in_front_of_a_stretched_arm_and_comes_back(speed):
    robot, _, _ = arm()
    reach, x, gone, hardest = at_start(), 0.0, [], 0.0
    outward = robot.pose(POSTURE, "tool0")[:2, 3]
    R = robot.pose(POSTURE, "tool0")[:3, :3]
    way = (R.T @ np.array([*outward / np.linalg.norm(outward), 0.0]))[:2]
    for _ in range(round(0.9 / speed / DT)):
        x += speed * DT * reach.pace  # the target waits
        target = np.concatenate([np.zeros(3), x * way])
        before = reach.v.copy()
        step = reach.follow(target, np.zeros(1), DT, POSTURE)
        if len(gone) > 50:  # the target sets out with a jerk
            hardest = max(hardest, np.linalg.norm(reach.v - before) / DT)
        gone.append(step.theta)
    gone = np.array(gone)
    assert least_singular_value(reach.q) > 0.8 * STOPPED
    assert np.abs(reach.v).max() < 0.05
    assert "singular" in reach.obstacle()
    assert hardest < 2.0 * STOPPING  # no jerk of what is wanted
    assert np.abs(gone[:, :3]).max() < 1e-4  # on its way: nothing turns, and it goes straight
    across = gone[:, 3:] @ [-way[1], way[0]]
    assert np.abs(across).max() < 1e-4
    reached = float(gone[-1, 3:] @ way)
    for _ in range(3000):
        x -= min(speed, 0.2) * DT
        step = reach.follow(np.concatenate([np.zeros(3), x * way]), np.zeros(1), DT, POSTURE)
        if x < 0.0:
            break
    assert float(step.theta[3:] @ way) < reached - 0.1


def governed():
    """A governor that stands, its motion, and what that wants of the task."""
    robot, rows, _ = arm()
    controller = SimpleNamespace(robot=robot, rows=rows, m=1, task=SimpleNamespace(row_names=rows.row_names[1:]))
    wanted = [np.zeros(5), np.zeros(5), np.zeros(5)]
    motion = SimpleNamespace(mode="trajectory", number=0, problem="", update=lambda *_: None, state=lambda: wanted)
    governor = TaskGovernor(controller, motion)
    governor.begin(POSTURE, np.zeros(5), POSTURE)
    return governor, motion, wanted


def test_what_leant_on_a_wall_lets_go_of_it_gently():
    """Its motion is ended 0.1 m in front of where it is wanted, and it is held where it is.

    A Kinova that a wall held back with 30 N sprang off it at 1.05 of a joint's limit.
    """
    governor, motion, wanted = governed()
    reach, way = governor.reachable, np.array([0.0, 0.0, 0.0, 1.0, 0.0])
    held = SimpleNamespace(theta=0.0 * way, rate=0.0 * way, h=np.zeros(1))
    asked = []
    for k in range(1700):
        if reach.theta[3] < 0.1 and motion.mode == "trajectory":
            wanted[:2] = 0.1 * DT * k * way, 0.1 * way
        else:
            motion.mode, motion.number = "hold", 1
            wanted[:2] = 0.0 * way, 0.0 * way  # it has not moved
        asked.append(governor.follow(0, POSTURE, held, DT).theta[3])
    end = int(np.argmax(asked))
    assert asked[end] > 0.099 and motion.mode == "hold"
    assert np.abs(np.diff(asked[end:])).max() < 3e-4 and asked[-1] == 0.0  # 0.1 m in half a second


def test_a_motion_that_ends_where_its_target_had_run_ahead_jerks_no_joint():
    """The wanted motion has run 50 mm ahead of a stretched arm when it is ended where the tool is.

    The way back to there was taken for a speed, of up to 1.5 m/s: joints were wanted at 0.65 of their limits at once,
    and what is pressed went from 10 to 15 N.
    """
    governor, motion, wanted = governed()
    robot, reach = governor.controller.robot, governor.reachable
    outward = robot.pose(POSTURE, "tool0")[:3, :3].T @ [*(robot.pose(POSTURE, "tool0")[:2, 3]), 0.0]
    way = np.array([0.0, 0.0, 0.0, *(outward[:2] / np.linalg.norm(outward[:2]))])
    jerks = []
    for k in range(3500):
        if motion.mode == "trajectory":
            wanted[:2] = 0.2 * DT * k * way, 0.2 * way
            if reach.away(wanted[0]) > 0.05:
                motion.mode, motion.number = "hold", 1
                wanted[:2] = reach.theta - 2e-3 * way, 0.0 * way  # the tool is a little behind
        before = reach.v.copy()
        step = governor.follow(0, reach.q, SimpleNamespace(theta=reach.theta, rate=0.0 * way, h=np.zeros(1)), DT)
        jerks.append(np.abs(reach.v - before).max())
        assert not governor.problem
    assert motion.mode == "hold" and max(jerks[50:]) < 0.3, max(jerks[50:])
    np.testing.assert_allclose(step.theta, wanted[0], atol=1e-5)


def test_it_stops_in_front_of_a_joints_limit_and_names_it():
    robot, rows, _ = arm()
    model = robot.model
    joints = list(model.joints)
    reach = ReachableTask(robot, rows, 1)
    reach.room.upper = reach.room.upper.copy()
    reach.room.upper[5] = 0.3  # the last joint may turn by so much
    reach.reset(POSTURE, np.zeros(5))
    x = 0.0
    for _ in range(3000):
        x += 0.5 * DT * reach.pace
        reach.follow(np.array([0.0, 0.0, -x, 0.0, 0.0]), np.zeros(1), DT, POSTURE)
    if reach.q[5] < 0.0:  # it turns the other way
        return
    assert 0.28 < reach.q[5] <= 0.3 + 1e-9
    assert joints[5].name in reach.obstacle()


def test_values_of_the_constraints_are_taken_over():
    """The surface is 10 mm lower than it is told: the motion goes on there."""
    robot, rows, _ = arm()
    reach = at_start()
    for _ in range(1000):
        reach.follow(np.zeros(5), np.array([-0.01]), DT, POSTURE)
    np.testing.assert_allclose(robot.constraint_rows(reach.q, reach.v, rows).h[0], -0.01, atol=1e-5)


def test_a_placement_goes_straight_from_rest_to_rest_within_its_limits():
    here = HybridTask("tool0", task_position=(0.1, 0.2, 0.3), task_orientation=(0.1, 0.0, 0.0))
    there = HybridTask("tool0", task_position=(0.3, 0.2, 0.3), task_orientation=(0.1, 0.0, 0.6), contact_offset=0.02)
    start, goal = Placement.of(here), Placement.of(there)
    way, turn = start.way(goal, 0.0)
    np.testing.assert_allclose([way, turn], [0.2, 0.6], atol=1e-12)
    seconds = max(PlacementPath.least_time(way, 0.1, 1.0), PlacementPath.least_time(turn, 0.5, 2.0))
    path, places = PlacementPath(start, goal, seconds), [start]
    while not path.over:
        places.append(path.after(1e-3))
    assert places[-1] == goal
    p = np.array([place.task.p for place in places])
    speed = np.linalg.norm(np.diff(p, axis=0), axis=1) / 1e-3
    assert speed.max() <= 0.1 + 1e-6 and speed[0] < 1e-3 and speed[-1] < 1e-3
    assert np.abs(np.diff(speed)).max() / 1e-3 <= 1.0 + 1e-6
    assert np.abs(p[:, 1:] - [0.2, 0.3]).max() < 1e-12


def test_a_task_frame_waits_for_an_arm_that_cannot_follow_it():
    """It is turned by 0.9 rad at up to 0.5 rad/s; the joints may go at 0.1.

    A Kinova was left behind; a second later that was taken for a singular posture, and the arm was stopped at once.
    """
    robot, rows, _ = arm()
    constraints, moved = (ConstraintSet(robot.model, part) for part in (rows.constraints[:1], rows.constraints[1:]))
    controller = HybridController(robot, constraints, moved)
    held = [np.zeros(5), np.zeros(5), np.zeros(5)]
    motion = SimpleNamespace(mode="hold", number=0, problem="", update=lambda *_: None, state=lambda: held)
    governor = TaskGovernor(controller, motion)
    governor.begin(POSTURE, np.zeros(5), POSTURE)
    reach = governor.reachable
    reach.room.velocity_limits = np.full(6, 0.1 / SPEED_SHARE)
    limits = PlacementLimits(velocity=np.full(5, np.inf), acceleration=np.full(5, np.inf))
    governor.place(Placement.of(task_at(robot, 0.9)), limits)
    for _ in range(20000):
        governor.advance(DT)
        theta = governor.follow(0, reach.q, SimpleNamespace(theta=reach.theta, rate=held[1], h=np.zeros(1)), DT).theta
        assert reach.behind < 0.02 and not governor.problem
        if not governor.moving and reach.behind < 1e-6:
            break
    assert not governor.moving and np.abs(theta).max() < 1e-5
    turn = robot.pose(POSTURE, "tool0")[:3, :3].T @ robot.pose(reach.q, "tool0")[:3, :3]
    np.testing.assert_allclose(Rotation.from_matrix(turn).as_rotvec(), [0.0, 0.0, 0.9], atol=1e-4)


def test_a_state_that_comes_twice_asks_for_nothing_new():
    reach = at_start()
    for k in range(100):
        step = reach.follow(np.array([0.0, 0.0, 0.0, 1e-4 * k, 0.0]), np.zeros(1), DT, POSTURE)
    again = reach.follow(np.array([0.0, 0.0, 0.0, 1e-4 * 99, 0.0]), np.zeros(1), 0.0, POSTURE)
    for one, other in zip(step, again):
        np.testing.assert_array_equal(one, other)
    after = reach.follow(np.array([0.0, 0.0, 0.0, 1e-2, 0.0]), np.zeros(1), DT, POSTURE)
    assert np.abs(after.acceleration).max() < 1.0


def test_a_velocity_limit_of_zero_is_none():
    """As many descriptions have it: the joint moves, and nothing brakes it."""
    _, rows, _ = arm()
    model = load_urdf(re.sub('velocity="[^"]*"', 'velocity="0"', robot_file("ur5_robot").read_text()))
    robot = Robot(model)
    constraints, moved = (ConstraintSet(model, part) for part in (rows.constraints[:1], rows.constraints[1:]))
    controller = HybridController(robot, constraints, moved)
    assert not any(joint.limits.velocity for joint in model.joints)
    out = controller.step(POSTURE, np.full(6, 0.5), np.zeros(5), dt=DT)
    assert out.braking == 0.0 and np.isfinite(out.tau).all()
    reach = ReachableTask(robot, controller.rows, 1)
    reach.reset(POSTURE, np.zeros(5))
    for k in range(200):
        step = reach.follow(np.array([0.0, 0.0, 0.0, 2e-4 * (k + 1), 0.0]), np.zeros(1), DT, POSTURE)
    np.testing.assert_allclose(step.theta[3], 0.04, atol=1e-4)
    tool = CartesianController(robot, "tool0")
    found = tool.step(POSTURE, np.full(6, 0.5), np.zeros(6), dt=DT)
    assert (tool.velocity_limits > 100.0).all() and np.isfinite(found.tau).all()
