# SPDX-License-Identifier: Apache-2.0
"""The Cartesian impedance controller of an exported package, without ROS, beside the law and the node's engine."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.checks.exported import needs
from helpers.checks.exported_arms import exported_arm

import rbd_dynamics as rbd
from rbd_dynamics.control import CartesianController, CartesianOutput
from rbd_dynamics.control.cartesian.controller import Compliance
from rbd_dynamics.control.cartesian.gains import CartesianGains
from rbd_dynamics.control.cartesian.pose_follower import Limits3, Moving, driven, towards
from rbd_dynamics.control.cartesian.stability import StiffnessCheck, ToolLoop
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters
from rbd_dynamics.nodes.tool.cartesian_engine import build_engine
from rbd_dynamics.nodes.tool.tool_messages import stiffness_of
from rbd_dynamics.spatial import exp_so3, quaternion_from_rotation
from rbd_dynamics.spatial.so3 import rotation_from_rpy

pytestmark = needs("gcc", "g++")
MS = 1_000_000  # ns
LOAD = (1.3, (0.01, -0.02, 0.05), (4e-3, 1e-4, 0.0, 5e-3, 0.0, 3e-3))
HOLD, POSE = 0, 1
NO, AT_LIMIT, SINGULAR, OFF_PATH, MOVED = range(5)
TOOL = ((0.02, -0.01, 0.1), (0.3, -0.2, 0.5))  # place, m; roll, pitch, yaw


STARTS = {"ur5": (0.3, -1.2, 1.6, -1.9, -1.4, 0.2), "panda": (0.1, 0.3, -0.1, -1.9, 0.1, 2.2, 0.785)}


@pytest.fixture(scope="module", params=list(STARTS))
def arm(request, exported):
    return exported_arm(request.param, exported, Path(__file__).parent / "cartesian_main.cpp", STARTS[request.param])


def wishes(**given):
    """Lines that set parameters, as the controller's defaults have them where nothing is said."""
    defaults = {
        "stiffness": [500.0],
        "rotational_stiffness": [30.0],
        "velocity_limits": [1.0, 1.0, 1.0, 0.5, 0.5, 0.5],
        "acceleration_limits": [10.0, 10.0, 10.0, 5.0, 5.0, 5.0],
        "path_tolerance": [0.2],
    }
    for name, value in {**defaults, **given}.items():
        if isinstance(value, (str, float)):
            yield ("wish", name, value)
        else:
            yield ("wish", name, len(value), value)


def configured(arm, *, terms=(1, 1, 1, 1, 0), limits=None, rates=math.inf, **given):
    limits = arm.efforts if limits is None else limits
    return [*wishes(**given), ("configure", terms, limits, np.broadcast_to(rates, arm.model.nv))]


def numbers(answer):
    return np.array(answer, dtype=float)


def placed(pose):
    return np.concatenate([pose[:3, :3].reshape(-1), pose[:3, 3]])


def goto(pose):
    return ("goto", pose[:3, 3], quaternion_from_rotation(pose[:3, :3]))


LARGEST = (5000.0, 500.0)  # N/m, N m/rad


def coupled():
    """(6, 6) of x, y, z, rx, ry, rz: along an axis that is none of these, and a turn with a way."""
    K, axis = np.diag([400.0, 300.0, 200.0, 20.0, 30.0, 25.0]), np.array([0.6, -0.3, 0.74])
    K[:3, :3] += 900.0 * np.outer(axis, axis)
    K[0, 4] = K[4, 0] = 25.0
    return K


def reordered(K):
    """The same, the angular part first."""
    order = [3, 4, 5, 0, 1, 2]
    return K[np.ix_(order, order)]


def tool_pose():
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.array(rotation_from_rpy(*TOOL[1])).reshape(3, 3), TOOL[0]
    return pose


# --- the law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("carrier", ["root", "tool", "wanted"])
def test_a_step_of_the_law_is_the_library_s(arm, carrier):
    """States at random, at speeds up to the limits, near limits of position and singular postures, with a load.

    Half-way another stiffness is wanted, one that couples axes.
    """
    rng = np.random.default_rng(5)
    robot = rbd.Robot(arm.model)
    nv, turn = arm.model.nv, (0.4, -0.3, 0.2)
    gains = CartesianGains(
        stiffness=(800.0, 300.0, 90.0), rotational_stiffness=40.0, rotational_damping=(2.0, 3.0, 4.0),
        least_manipulability=0.05, reaction_time=0.004, damping_ratio=0.9,
    )  # fmt: skip
    compliance = Compliance(carrier=carrier, orientation=np.array(rotation_from_rpy(*turn)).reshape(3, 3))
    own = CartesianController(robot, arm.frame, tool=tool_pose(), gains=gains, compliance=compliance)
    robot.set_payload(arm.frame, LOAD[0], com=LOAD[1], inertia=LOAD[2])
    lines = [
        *configured(
            arm, tool_position=TOOL[0], tool_orientation=TOOL[1], stiffness=(800.0, 300.0, 90.0),
            rotational_stiffness=[40.0], rotational_damping=(2.0, 3.0, 4.0), least_manipulability=0.05,
            reaction_time=0.004, damping_ratio=0.9, stiffness_axes=carrier, stiffness_orientation=turn,
        ),
        ("load", arm.frame, *LOAD),
        ("reset",),
    ]  # fmt: skip
    expected, hasty = [], []
    for k in range(40):
        if k == 20:
            own.want_stiffness(reordered(coupled()))
            lines.append(("stiffen", LARGEST, 36.0, coupled()))
        q, v = arm.model.random(rng), rng.uniform(-1.2, 1.2) * rng.uniform(-1, 1, nv) * arm.speeds
        base, theta = exp_so3(rng.normal(size=3)), np.concatenate([0.5 * rng.normal(size=3), rng.normal(size=3)])
        rate, acceleration = rng.normal(size=(2, 6))
        wrench = 20.0 * rng.normal(size=12)
        posture, posture_rate = arm.model.random(rng), rng.normal(size=nv)
        dt = rng.uniform(5e-4, 2e-3)
        own.base = base
        out = own.step(
            q, v, theta, rate=rate, acceleration=acceleration, wrench=wrench[:6], tool_wrench=wrench[6:],
            posture=posture, posture_rate=posture_rate, dt=dt,
        )  # fmt: skip
        expected.append(CartesianOutput(*(array.copy() for array in out)))
        hasty.append(own.in_haste)
        lines.append(("law", q, v, base, theta, rate, acceleration, wrench, posture, posture_rate, dt))
    answers = [answer for line, answer in zip(lines, arm.talk(*lines)) if line[0] == "law"]
    worst = 0.0
    for answer, out, haste in zip(answers, expected, hasty, strict=True):
        assert answer[:2] == ["0", str(int(haste))]
        found = numbers(answer[2:])
        for name, wanted in zip(CartesianOutput._fields, out):
            part, found = found[: wanted.size], found[wanted.size :]
            difference = np.abs(part - wanted.reshape(-1)).max() / max(1.0, np.abs(wanted).max())
            worst = max(worst, float(difference))
            assert difference <= 1e-12, name
        assert found.size == 0
    print(f"largest difference: {worst:.2g}")
    assert any(hasty) and not all(hasty)


@pytest.mark.parametrize("size", [6, 36])
def test_a_target_stiffness_is_what_the_node_makes_of_the_message(arm, size):
    message = SimpleNamespace(data=np.diag(coupled()) if size == 6 else coupled().ravel())
    (answer,) = arm.talk(("stiffen", LARGEST, float(size), message.data))
    np.testing.assert_allclose(numbers(answer).reshape(6, 6), stiffness_of(message, LARGEST), rtol=1e-15)
    for changed, reason in (
        (lambda K: K * math.nan, "not finite"), (lambda K: -K, "a negative spring pushes away"),
        (lambda K: 1e3 * K, "of translations, more than largest_stiffness (5000)"),
        (lambda K: np.where(np.arange(size) == size - 1, 600.0, K), "of rotations, more than largest_stiffness (500)"),
        (lambda K: K[:5], "5 numbers: expected 6 (x, y, z, rx, ry, rz) or 36"),
        *([(lambda K: K + np.eye(36)[1], "not symmetric")] if size == 36 else []),
    ):  # fmt: skip
        data = changed(message.data)
        with pytest.raises(ValueError, match=re.escape(reason)):
            stiffness_of(SimpleNamespace(data=data), LARGEST)
        assert reason in " ".join(arm.talk(("stiffen", LARGEST, float(len(data)), data))[0])


def test_eigenvalues_are_those_of_numpy(arm):
    rng = np.random.default_rng(3)
    given = [np.eye(6), np.diag(np.arange(6.0)), np.zeros((6, 6)), coupled()]
    given += [10.0 ** rng.uniform(-6, 6) * (A + A.T) for A in rng.normal(size=(20, 6, 6))]
    for A, answer in zip(given, arm.talk(*(("eigenvalues", A) for A in given))):
        np.testing.assert_allclose(np.sort(numbers(answer)), np.linalg.eigvalsh(A), atol=1e-13 * np.abs(A).max())


def test_a_point_goes_after_its_goal_as_the_library_s(arm):
    rng = np.random.default_rng(6)
    lines, expected = [], []
    for k in range(60):
        far = 10.0 ** rng.uniform(-10, 0)
        x, v, a = far * rng.normal(size=(3, 3))
        goal = x + far * rng.normal(size=3) if k % 2 else rng.normal(size=3)
        lower, upper = x - rng.uniform(-0.1, 0.5, 3), x + rng.uniform(0.0, 0.5, 3)
        limits = Limits3(rng.uniform(5, 50), rng.uniform(0.1, 1), rng.uniform(1, 10), tuple(lower), tuple(upper))
        now = Moving(*(tuple(row) for row in (x, v, a)))
        for name, law in (("towards", towards), ("driven", driven)):
            lines.append((name, x, v, a, goal, *limits[:3], lower, upper, 1e-3))
            expected.append(np.concatenate(law(now, tuple(goal), limits, 1e-3)))
    for answer, wanted in zip(arm.talk(*lines), expected, strict=True):
        np.testing.assert_allclose(numbers(answer), wanted, rtol=1e-12, atol=1e-15)


# --- beside the node -------------------------------------------------------------------------------


def test_the_controller_does_what_the_node_does(arm):
    """A pose, a twist, a wrench, a target that is out of reach, which both give up in the same cycle."""
    params = CartesianControllerParameters(
        tool_frame=arm.frame, tool_position=TOOL[0], tool_orientation=TOOL[1], stiffness=(400.0,),
        rotational_stiffness=(8.0,), sensor_delay=0.001, actuator_bandwidth=0.0, path_tolerance=(0.0,),
    )  # fmt: skip
    engine = build_engine(arm.model, params, lambda *a: None)
    robot, q, v = engine.robot, arm.start.copy(), np.zeros(arm.model.nv)
    pose = engine.controller.pose(q)
    turned, beyond = pose.copy(), pose.copy()
    turned[:3, :3] = turned[:3, :3] @ exp_so3(np.array([0.9, -0.8, 1.2]))
    turned[:3, 3] += [-0.08, 0.06, 0.05]
    beyond[:3, 3] += 3.0 * pose[:3, 3] / np.linalg.norm(pose[:3, 3])
    twist, wrench = np.array([0.3, -0.2, 0.4, 0.05, -0.1, 0.08]), 5.0 * np.arange(-6.0, 6.0)
    lines = [
        *configured(
            arm, tool_position=TOOL[0], tool_orientation=TOOL[1], stiffness=[400.0], rotational_stiffness=[8.0],
            path_tolerance=[0.0], reaction_time=params.gains.reaction_time,
        ),
        ("start", q),
    ]  # fmt: skip
    steps, rows = [], []
    for k in range(6500):
        now = k * MS + MS
        if k == 20:
            engine.motion.go_to(turned, engine.reader.stamp)
            lines.append(goto(turned))
        if k == 500:  # on the way
            engine.wanted_wrench[:] = wrench
            lines.append(("press", wrench))
        if k == 1500:
            engine.motion.drive(twist, engine.reader.stamp)
            lines.append(("drive", twist, params.setpoint_timeout))
        if k == 2300:
            engine.motion.go_to(beyond, engine.reader.stamp)
            lines.append(goto(beyond))
        engine.reader.q[:], engine.reader.v[:], engine.reader.stamp = q, v, now
        tau = engine.step(params.wrench_rate).tau
        steps.append(len(lines))
        lines.append(("step", q, v, 1e-3))
        rows.append((tau.copy(), placed(engine.wanted), engine.reference.q.copy(), engine.motion.mode))
        v = v + 1e-3 * robot.forward_dynamics(q, v, tau)
        q = q + 1e-3 * v
    answers = arm.talk(*lines)
    nv, worst = arm.model.nv, np.zeros(3)
    for step, (tau, wanted, joints, mode) in zip(steps, rows):
        assert answers[step][0] == "0"
        assert (answers[step][1] == str(HOLD)) == (mode == "hold"), step
        found = numbers(answers[step][4:])
        pairs = (found[:nv], tau), (found[nv + 12 : nv + 24], wanted), (found[nv + 24 : 2 * nv + 24], joints)
        worst = np.maximum(worst, [np.abs(a - b).max() / max(1.0, np.abs(b).max()) for a, b in pairs])
    print(f"efforts, wanted pose, joints: {worst}")
    assert "the tool does not reach its target" in engine.motion.problem
    assert answers[steps[-1]][2] in (str(AT_LIMIT), str(SINGULAR))
    # the node's second derivatives of a chart's coordinates are differences
    assert (worst <= [1e-9, 1e-12, 1e-12]).all()


# --- stability -------------------------------------------------------------------------------------


@pytest.mark.parametrize("carrier", ["root", "tool"])
def test_the_check_of_stiffness_is_the_library_s(arm, carrier):
    rng = np.random.default_rng(8)
    robot, turn = rbd.Robot(arm.model), (0.4, -0.3, 0.2)
    compliance = Compliance(carrier=carrier, orientation=np.array(rotation_from_rpy(*turn)).reshape(3, 3))
    own = CartesianController(robot, arm.frame, tool=tool_pose(), compliance=compliance)
    lines, expected = [], []
    for stiffness, damping in ((200.0, -1.0), (3e5, -1.0), (500.0, 50.0)):
        given = {} if damping < 0 else {"damping": damping, "rotational_damping": 0.1 * damping}
        gains = CartesianGains(stiffness=stiffness, rotational_stiffness=0.05 * stiffness, **given)
        named = {name: [value] for name, value in given.items()}
        lines += configured(
            arm, tool_position=TOOL[0], tool_orientation=TOOL[1], stiffness=[stiffness],
            rotational_stiffness=[0.05 * stiffness], stiffness_axes=carrier, stiffness_orientation=turn, **named,
        )  # fmt: skip
        tuning = own.tuning(gains=gains, compliance=compliance)
        for timing in (Timing(1e-3, 1e-3), Timing(1e-3, 2.5e-3, 40.0)):
            q = arm.model.random(rng)
            loop = ToolLoop.of(own, tuning, q)
            K, D = loop.feedback(gains.stiffness_of("impedance"), gains)
            expected.append(growth_rate(0.9 * loop.M, K, D, timing))
            lines.append(("growth", q, timing))
    for timing in (Timing(1e-3, 1e-3), Timing(1e-3, 6e-3, 20.0)):  # of a stiffness that couples axes
        q, gains = arm.model.random(rng), CartesianGains()
        K, D = ToolLoop.of(own, own.tuning(gains=gains, compliance=compliance), q).feedback(reordered(coupled()), gains)
        expected.append(growth_rate(0.9 * robot.mass_matrix(q), K, D, timing))
        placed_tool = {"tool_position": TOOL[0], "tool_orientation": TOOL[1], "damping": [], "rotational_damping": []}
        lines += configured(arm, stiffness_axes=carrier, stiffness_orientation=turn, **placed_tool)
        lines += [("stiffen", LARGEST, 36.0, coupled()), ("growth", q, timing)]
    answers = [answer for line, answer in zip(lines, arm.talk(*lines)) if line[0] == "growth"]
    np.testing.assert_allclose([float(answer[0]) for answer in answers], expected, rtol=1e-7, atol=1e-4)
    assert min(expected) < 1.0 < max(expected)


def test_the_stiffest_that_the_library_calls_stable_is_stable_and_more_is_refused(arm):
    check = StiffnessCheck(CartesianController(rbd.Robot(arm.model), arm.frame))
    timing, gains = Timing(1e-3, 6e-3, 30.0), CartesianGains()
    along, about = check.usual(gains, timing)
    share = check.largest(np.diag([10.0 * about] * 3 + [along] * 3), gains, timing)
    fits = [*configured(arm, stiffness=[along], rotational_stiffness=[about]), ("unstable", timing)]
    more = [*configured(arm, stiffness=[along], rotational_stiffness=[10.0 * about]), ("unstable", timing)]
    answers = arm.talk(*fits, *more)
    assert answers[len(fits) - 1] == []
    refused = " ".join(answers[-1])
    assert "are unstable at 1000" in refused
    assert f"{share:f} times of it would be stable" in refused
    assert check.lightest in refused


def test_a_target_stiffness_is_checked_as_any_other(arm):
    """At the same postures, with what couples axes: the share that would be stable is the library's."""
    check = StiffnessCheck(CartesianController(rbd.Robot(arm.model), arm.frame))
    timing, gains, much = Timing(1e-3, 6e-3, 30.0), CartesianGains(), 3.9 * coupled()
    share = check.largest(reordered(much), gains, timing)
    lines = configured(arm)
    *_, fits, _, more = arm.talk(
        *lines, ("stiffen", LARGEST, 36.0, 0.99 * share * much), ("unstable", timing),
        ("stiffen", LARGEST, 36.0, much), ("unstable", timing),
    )  # fmt: skip
    assert share < 1.0 and fits == []
    assert f"{share:f} times of it would be stable" in " ".join(more)


# --- on the simulated robot ------------------------------------------------------------------------


def test_a_tool_gives_way_by_the_stiffness_that_is_wanted(arm):
    """Under 5 N along z: a third as far where it is three times as stiff, and back."""
    lines = [*configured(arm, rates=1000.0), ("at", arm.start), ("press", [0.0] * 5 + [5.0] + [0.0] * 6), ("run", 4000)]
    stiff = [("stiffen", LARGEST, 6.0, (500.0, 500.0, k, 30.0, 30.0, 30.0)) for k in (1500.0, 500.0)]
    answers = arm.talk(*lines, stiff[0], ("run", 4000), stiff[1], ("run", 5), ("run", 4000))
    target = rbd.Robot(arm.model).pose(arm.start, arm.frame)[2, 3]
    ways = [numbers(answer)[-1] - target for answer in answers if len(answer) > 40]
    print(f"{1e3 * np.array(ways)} mm")
    assert ways[0] == pytest.approx(5.0 / 500.0, rel=0.02)
    assert ways[1] == pytest.approx(5.0 / 1500.0, rel=0.02)
    assert abs(ways[2] - ways[1]) < 0.1 * ways[1], "not at once"
    assert ways[3] == pytest.approx(5.0 / 500.0, rel=0.02)


def ran(answer, nv):
    """What a run says: shares of the limits of velocity and effort, mode, reason, joint, and the tool at its end."""
    fastest, strongest = numbers(answer[:2])
    return fastest, strongest, *map(int, answer[2:5]), np.array(answer[-12:], dtype=float)


def usual(arm, **given):
    rates = np.minimum(10.0 * arm.efforts, 1000.0)
    return configured(arm, rates=rates, reaction_time=0.02, **given)


def test_it_holds_from_the_first_effort_on(arm):
    zero = np.zeros(arm.model.nv)
    answers = arm.talk(
        *usual(arm), ("start", arm.start), ("step", arm.start, zero, 1e-3), ("at", arm.start), ("run", 1000)
    )
    first = numbers(answers[-3][4 : 4 + arm.model.nv])
    gravity = rbd.Robot(arm.model).gravity(arm.start)
    np.testing.assert_allclose(first, gravity, rtol=1e-12, atol=1e-12)
    fastest, _, mode, stopped, _, tool = ran(answers[-1], arm.model.nv)
    here = placed(rbd.Robot(arm.model).pose(arm.start, arm.frame))
    assert (mode, stopped) == (HOLD, NO)
    assert fastest < 1e-6
    np.testing.assert_allclose(tool, here, atol=1e-6)


def test_it_goes_to_a_pose_and_moves_with_a_twist(arm):
    pose = rbd.Robot(arm.model).pose(arm.start, arm.frame)
    goal = pose.copy()
    goal[:3, :3] = goal[:3, :3] @ exp_so3(np.array([0.3, -0.2, 0.4]))
    goal[:3, 3] += [-0.05, 0.08, 0.04]
    twist = np.array([0.0, 0.0, 0.2, 0.03, -0.05, 0.02])
    answers = arm.talk(*usual(arm), ("at", arm.start), goto(goal), ("run", 3000), ("drive", twist, 1.0), ("run", 3000))
    fastest, strongest, mode, stopped, _, tool = ran(answers[-3], arm.model.nv)
    assert (mode, stopped) == (HOLD, NO)
    assert fastest < 0.9 and strongest <= 1.0
    print(f"at rest {1e6 * np.abs(tool - placed(goal)).max():.2g} um from its goal, {fastest:.0%} of a velocity limit")
    np.testing.assert_allclose(tool, placed(goal), atol=2e-4)
    fastest, _, mode, stopped, _, tool = ran(answers[-1], arm.model.nv)
    assert (mode, stopped) == (HOLD, NO)
    np.testing.assert_allclose(tool[9:], goal[:3, 3] + twist[3:], atol=2e-2)
    turned = tool[:9].reshape(3, 3) @ goal[:3, :3].T
    np.testing.assert_allclose(turned, exp_so3(twist[:3]), atol=5e-2)


@pytest.mark.parametrize("limits", [[0.0], [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]], ids=["at any speed", "usual"])
def test_a_target_out_of_reach_is_given_up_with_the_reason(arm, limits):
    pose = rbd.Robot(arm.model).pose(arm.start, arm.frame)
    for direction in ([1.0, 0.2, 0.3], [-0.2, 0.9, -0.1], [0.1, -0.3, 1.0]):
        goal = pose.copy()
        goal[:3, 3] += 2.0 * np.array(direction) / np.linalg.norm(direction)
        lines = usual(arm, velocity_limits=limits, path_tolerance=[0.0])
        answers = arm.talk(*lines, ("at", arm.start), goto(goal), ("run", 12000), ("run", 2000))
        fastest, strongest, mode, stopped, joint, tool = ran(answers[-2], arm.model.nv)
        print(f"{fastest:.0%} of a velocity limit; stopped by {stopped}, joint {joint}")
        assert mode == HOLD
        assert stopped == (AT_LIMIT if joint < arm.model.nv else SINGULAR)
        assert fastest < 1.0 and strongest <= 1.0
        slow, _, mode, _, _, after = ran(answers[-1], arm.model.nv)
        assert mode == HOLD and slow < 0.1, "joints go on to their posture, as far as the tool leaves them free"
        np.testing.assert_allclose(after, tool, atol=1e-2)


def test_no_joint_is_faster_than_its_limit_through_singular_postures(arm):
    """The tool turns to where the wrist's axes are in line and beyond, and is to go across the robot's own axis."""
    robot, nv = rbd.Robot(arm.model), arm.model.nv
    through = arm.start.copy()
    wrist = 4 if nv == 6 else 5
    through[wrist] = -through[wrist] if nv == 6 else 0.2
    across = robot.pose(arm.start, arm.frame)
    across[:2, 3] = -across[:2, 3]
    for goal in (robot.pose(through, arm.frame), across):
        lines = [*usual(arm, velocity_limits=[0.0]), ("at", arm.start), goto(goal), ("run", 8000), ("run", 500)]
        answers = arm.talk(*lines)
        fastest, strongest, mode, stopped, joint, tool = ran(answers[-2], nv)
        left = np.linalg.norm(tool[9:] - goal[:3, 3])
        print(f"{fastest:.0%} of a velocity limit; mode {mode}, stopped {stopped} by {joint}, {1e3 * left:.3g} mm left")
        assert fastest < 1.0 and strongest <= 1.0
        assert mode == HOLD
        assert stopped != NO or left < 1e-3, "it is there, or it is said why not"
        np.testing.assert_allclose(ran(answers[-1], nv)[-1], tool, atol=2e-3)


def test_a_tool_that_is_pushed_away_is_held_where_it_is_then(arm):
    zero = np.zeros(arm.model.nv)
    away = arm.start + 0.3
    answers = arm.talk(
        *usual(arm), ("start", arm.start), ("step", arm.start, zero, 1e-3), ("step", away, zero, 1e-3),
        ("step", away, zero, 1e-3), ("step", away, zero, 1e-3),
    )  # fmt: skip
    assert [answer[2] for answer in answers[-4:]] == [str(NO), str(NO), str(MOVED), str(MOVED)]
    held = numbers(answers[-1][4 + arm.model.nv : 16 + arm.model.nv])
    np.testing.assert_allclose(held, placed(rbd.Robot(arm.model).pose(away, arm.frame)), atol=1e-12)


# --- what is refused, and how it runs --------------------------------------------------------------


def test_what_is_no_setting_is_refused_with_the_reason(arm):
    nv = arm.model.nv
    wrong = {
        "stiffness needs one number": {"stiffness": [1.0, 2.0]},
        "rotational_stiffness needs one number": {"rotational_stiffness": [-1.0]},
        "damping needs one number": {"damping": [-2.0]},
        "joint_velocity_limits needs": {"joint_velocity_limits": [1.0, 2.0]},
        f"posture needs a number for each of {nv} joints": {"posture": [0.0]},
        "is not within its limits": {"posture": [1e3] * nv},
        "velocity_limits needs": {"velocity_limits": [1.0, 2.0]},
        "workspace_lower is above workspace_upper": {
            "workspace_lower": [0.0, 0.0, 1.0], "workspace_upper": [1.0, 1.0, 0.0],
        },
        "stiffness and damping are finite": {"stiffness": [math.inf]},
    }  # fmt: skip
    for reason, given in wrong.items():
        assert reason in " ".join(arm.talk(*configured(arm, **given))[-1])
    pose = rbd.Robot(arm.model).pose(arm.start, arm.frame)
    bound = pose[:3, 3] + 0.1
    outside = pose.copy()
    outside[2, 3] += 0.2
    answers = arm.talk(
        *configured(arm, workspace_upper=bound), ("at", arm.start), goto(outside), goto(pose),
        ("goto", pose[:3, 3], (0.5, 0.0, 0.0, 0.5)), ("drive", (0, 0, 0, 0, 0, 0.5), 5.0), ("run", 4000),
    )  # fmt: skip
    assert [answer[0] for answer in answers[-5:-1]] == ["0", "1", "0", "1"]
    assert ran(answers[-1], nv)[-1][11] < bound[2] + 1e-3, "a twist ends at the bounds of the workspace"


def test_a_state_that_is_not_finite_changes_no_effort(arm):
    zero = np.zeros(arm.model.nv)
    broken = np.where(np.arange(arm.model.nv) == 1, np.nan, zero)
    answers = arm.talk(
        *usual(arm), ("start", arm.start), ("step", arm.start, zero, 1e-3), ("step", arm.start, broken, 1e-3),
        ("step", arm.start, zero, 1e-3),
    )  # fmt: skip
    assert [answer[0] for answer in answers[-3:]] == ["0", "1", "0"]
    assert answers[-2][4 : 4 + arm.model.nv] == answers[-3][4 : 4 + arm.model.nv]


def test_cycles_neither_allocate_nor_lock_nor_fault_pages_in(arm):
    pose = rbd.Robot(arm.model).pose(arm.start, arm.frame)
    pose[:3, 3] += 0.05
    answers = arm.talk(
        *usual(arm), ("at", arm.start), goto(pose), ("run", 500), ("drive", (0, 0, 0.1, 0, 0, 0.1), 0.5), ("run", 500),
        ("faults", 2000), goto(pose), ("run", 10), ("time",), ("found",),
    )  # fmt: skip
    locked, faults = map(int, answers[-5])
    print(f"a cycle: {answers[-2][0]} us; memory {'is' if locked else 'could not be'} locked, {faults} page faults")
    assert faults == 0
    assert float(answers[-2][0]) < 100.0
    assert answers[-1][0] == "0", "allocations or locks in a cycle"
    assert int(answers[-1][1]) > 0, "the counters count"
