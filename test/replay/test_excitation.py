# SPDX-License-Identifier: Apache-2.0
"""Motions that excite a robot: within their limits everywhere, better than random ones, and as telling as they say."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.identified import arm
from helpers.recorded.exciting import LOW_PASS, RATE, segments_of, stamps_of

from rbd_dynamics import ModelBuilder, Robot, save_yaml
from rbd_dynamics.cli import main
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.planning import PlanRequest
from rbd_dynamics.control.motion.trajectory import Point, Trajectory, TrajectoryError, Waypoints
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model import Limits
from rbd_dynamics.model.joints import Helical
from rbd_dynamics.replay import excitation
from rbd_dynamics.replay.excitation.command import hasty
from rbd_dynamics.replay.excitation.information import Information
from rbd_dynamics.replay.excitation.obstacles import levers
from rbd_dynamics.replay.excitation.problem import Problem
from rbd_dynamics.replay.excitation.proof import peaks, sampled
from rbd_dynamics.replay.identification import InertiaIdentifier
from rbd_dynamics.trajectories import Limits as TrajectoryLimits
from rbd_dynamics.trajectories import check

BASES = [excitation.Fourier(period=5.0, harmonics=3), excitation.ViaPoints(duration=5.0, points=6)]
LIMITS = {"velocity": 2.0, "acceleration": 6.0}
TOOL = "link2"


def limited_arm(effort=60.0):
    model = arm()
    limits = Limits(lower=-2.0, upper=2.5, velocity=2.5, effort=effort)
    bodies = [replace(body, joint=replace(body.joint, limits=limits)) for body in model.bodies]
    return replace(model, bodies=tuple(bodies))


@pytest.fixture(scope="module")
def robot():
    return Robot(limited_arm())


@pytest.fixture(scope="module")
def designed(robot):
    """The design, with an obstacle that cuts through where the tool would be, and little effort."""
    limits = excitation.ExcitationLimits.of(robot.model, share=1.0, effort=11.0, **LIMITS)
    box = excitation.Box((0.3, 0.3, 0.9), (0.3, 0.2, 0.4), rpy=(0.2, 0.1, -0.4))
    obstacles = excitation.Obstacles((box,), (TOOL,), radius=0.06)
    options = excitation.Options(starts=1, seed=1, noise=0.2, rate=RATE)
    given = {"obstacles": obstacles, "options": options}
    found = excitation.design(robot, limits, BASES[0], **given)
    return limits, obstacles, found, excitation.random_motion(robot, limits, BASES[0], **given)


# --- motions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", BASES, ids=["fourier", "via points"])
def test_a_motion_rests_at_both_ends_and_its_derivatives_are_derivatives(basis):
    x = np.random.default_rng(1).normal(size=(basis.count, 3))
    ends = basis.matrices(np.array([0.0, basis.duration])) @ x
    assert np.abs(ends[1:]).max() < 1e-11
    t, h = np.linspace(0.1, basis.duration - 0.1, 50), 1e-5
    before, here, after = (basis.matrices(t + shift) @ x for shift in (-h, 0.0, h))
    np.testing.assert_allclose((after[:2] - before[:2]) / (2 * h), here[1:], rtol=0, atol=1e-6)
    assert basis.standing(np.ones(3)).shape == x.shape
    np.testing.assert_allclose(basis.matrices(t)[0] @ basis.standing(np.ones(3)), 1.0)


@pytest.mark.parametrize("basis", BASES, ids=["fourier", "via points"])
def test_the_points_of_a_trajectory_are_its_motion(robot, basis):
    limits = excitation.ExcitationLimits.of(robot.model, **LIMITS)
    found = excitation.random_motion(robot, limits, basis, options=excitation.Options(noise=0.1, lead=2.0))
    x = np.linalg.lstsq(basis.matrices(basis.times())[0], found.waypoints.positions, rcond=None)[0]
    t = np.linspace(0.0, basis.duration, 1237)
    motion = sampled(found.trajectory, 2.0 + t)
    np.testing.assert_allclose(motion, basis.matrices(t) @ x, rtol=0, atol=2e-3)
    np.testing.assert_allclose(motion[0], basis.matrices(t)[0] @ x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("criterion", ["gain", "condition"])
@pytest.mark.parametrize("basis", BASES, ids=["fourier", "via points"])
def test_gradients_are_those_of_differences(robot, basis, criterion):
    limits = excitation.ExcitationLimits.of(robot.model, **LIMITS)
    obstacles = excitation.Obstacles((excitation.Box((0.4, 0.2, 0.8), (0.2, 0.3, 0.4), rpy=(0.1, 0.4, 0.9)),), (TOOL,))
    information = Information(robot, np.array([0.3, 0.2, 0.1]), limits.effort)
    problem = Problem(information, limits, basis, obstacles, criterion, 600.0)
    rng = np.random.default_rng(3)
    x, along = (0.3 * rng.normal(size=problem.scale.shape) * problem.scale for _ in range(2))
    weights = rng.normal(size=problem.forbidden(x)[0].shape)
    h = 1e-5
    ahead, behind = x + h * along, x - h * along
    wanted = (problem.wanted(ahead)[0] - problem.wanted(behind)[0]) / (2 * h)
    assert np.sum(problem.wanted(x)[1] * along) == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    forbidden = (problem.forbidden(ahead)[0] - problem.forbidden(behind)[0]) @ weights / (2 * h)
    assert np.sum(problem.forbidden(x)[1](weights) * along) == pytest.approx(forbidden, rel=1e-5)


# --- limits along the whole motion ----------------------------------------------------------------------------------


def test_peaks_are_those_between_the_points(robot):
    """A motion of four points, whose extrema are far from all of them."""
    rng = np.random.default_rng(2)
    times = np.array([0.0, 0.7, 1.1, 2.0])
    motion = rng.normal(size=(3, 4, 3))
    trajectory = Trajectory(Waypoints(tuple(robot.model.joint_names), times, *motion))
    found = peaks(robot, trajectory, excitation.Obstacles())
    t = np.linspace(0.0, 2.0, 200_001)
    q, v, a = sampled(trajectory, t)
    for value, dense in ((found.lower, q.min(0)), (found.upper, q.max(0))):
        np.testing.assert_allclose(value, dense, atol=1e-8)
    np.testing.assert_allclose(found.velocity, np.abs(v).max(0), rtol=1e-8)
    np.testing.assert_allclose(found.acceleration, np.abs(a).max(0), rtol=1e-8)
    friction = np.array([[joint.friction, joint.damping] for joint in robot.model.joints]).T
    efforts = np.abs(robot.inverse_dynamics(q, v, a) + friction[1] * v).max(0) + friction[0]
    assert (found.effort >= efforts * (1 - 1e-9)).all()
    assert (np.abs(q[[0, 70_000, 110_000]]).max(0) < np.maximum(found.upper, -found.lower)).any()


def test_efforts_of_what_is_played_are_bounded_tightly(robot, designed):
    _, _, found, _ = designed
    q, v, a = sampled(found.trajectory, np.linspace(3.0, 8.0, 60_001))
    friction = np.array([[joint.friction, joint.damping] for joint in robot.model.joints]).T
    efforts = np.abs(robot.inverse_dynamics(q, v, a) + friction[1] * v).max(0) + friction[0]
    assert (found.peaks.effort >= efforts * (1 - 1e-9)).all()
    np.testing.assert_allclose(found.peaks.effort, efforts, rtol=1e-5)


def test_a_design_keeps_all_limits_between_samples_and_uses_them(robot, designed):
    limits, obstacles, found, _ = designed
    t = np.linspace(3.0, 8.0, 60_001)
    q, v, a = sampled(found.trajectory, t)
    motion = limits.motion
    assert (q >= motion.lower - 1e-9).all() and (q <= motion.upper + 1e-9).all()
    assert (np.abs(v) <= motion.velocity * (1 + 1e-9)).all() and (np.abs(a) <= motion.acceleration * (1 + 1e-9)).all()
    friction = [joint.friction for joint in robot.model.joints]
    viscous = [joint.damping for joint in robot.model.joints]
    assert (np.abs(robot.inverse_dynamics(q, v, a) + viscous * v) + friction <= limits.effort * (1 + 1e-9)).all()
    assert 0.0 <= obstacles.clearance(robot, q)[0].min()
    unaware = excitation.random_motion(robot, limits, BASES[0], options=excitation.Options(noise=0.2))
    there = sampled(unaware.trajectory, t)[0]
    assert obstacles.clearance(robot, there)[0].min() < 0.0, "the box should be in the way"
    limits.motion.check(found.trajectory, found.trajectory.sample(found.trajectory.times[0]))
    assert 0.95 < found.tightest[0] <= 1.0
    efforts = found.peaks.effort / limits.effort
    assert efforts.max() > 0.9, "the effort limit should be felt"


def test_efforts_that_change_faster_than_nodes_let_them_are_told(robot, designed):
    """As the check of trajectories has their rates."""
    found, names = designed[2], robot.model.joint_names
    assert hasty(robot, found) == [], "12 N m within 0.1 s"
    rates = check(robot, found.waypoints, TrajectoryLimits.of(robot, names, effort_rate=1e-6)).margins
    largest = {each.joint: abs(each.value) for each in rates if each.quantity == "effort_rate"}
    most = 0.8 * max(largest.values())
    told = hasty(Robot(limited_arm(effort=0.1 * most)), found)
    words = [re.match(r"the effort of '(\w+)' changes by up to (\d+) N m/s, and", text).groups() for text in told]
    assert {name for name, _ in words} == {name for name, rate in largest.items() if rate > most}
    assert all(float(rate) == pytest.approx(largest[name], rel=0.05) for name, rate in words)


def test_a_design_tells_more_than_random_motions(robot, designed):
    limits, obstacles, found, random = designed
    options = [excitation.Options(seed=seed, noise=0.2) for seed in range(2, 7)]
    given = [
        excitation.random_motion(robot, limits, BASES[0], obstacles=obstacles, options=options[k]) for k in range(5)
    ]
    assert found.gain > max(other.gain for other in [random, *given]) + 0.2  # errors smaller by a fifth at least
    assert all(estimate.identifiable for estimate in found.expected)


def test_the_condition_number_is_what_is_asked_for(robot):
    limits = excitation.ExcitationLimits.of(robot.model, **LIMITS)
    by = {
        criterion: excitation.design(
            robot, limits, BASES[1], options=excitation.Options(criterion=criterion, starts=1, friction=False)
        )
        for criterion in ("gain", "condition")
    }
    random = excitation.random_motion(robot, limits, BASES[1], options=excitation.Options(friction=False))
    assert by["condition"].condition < min(by["gain"].condition, random.condition)
    assert by["gain"].gain > max(by["condition"].gain, random.gain)
    assert by["condition"].condition == by["condition"].condition_with_friction
    motion = sampled(by["condition"].trajectory, np.linspace(3.0, 8.0, 2001)[:-1])
    base = Information(robot, np.ones(3), np.ones(3), friction=False).base
    dense = robot.regressor(*motion)[:, :, base.independent].reshape(-1, base.count)
    assert by["condition"].condition == pytest.approx(np.linalg.cond(dense), rel=0.02)


def test_the_same_seed_gives_the_same_motion(robot):
    limits = excitation.ExcitationLimits.of(robot.model, **LIMITS)
    texts = {
        excitation.random_motion(robot, limits, BASES[0], options=excitation.Options(seed=s)).to_yaml()
        for s in (1, 1, 2)
    }
    assert len(texts) == 2


# --- obstacles ------------------------------------------------------------------------------------------------------


def test_the_distance_to_a_box_is_that_to_its_nearest_point():
    box = excitation.Box((0.1, -0.2, 0.3), (0.4, 0.6, 0.2), rpy=(0.3, -0.5, 1.1))
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, size=(200, 3))
    distance, gradient = box.distance(points)
    h = 1e-6
    for k in range(3):
        step = h * np.eye(3)[k]
        change = (box.distance(points + step)[0] - box.distance(points - step)[0]) / (2 * h)
        np.testing.assert_allclose(gradient[:, k], change, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0)
    surface = points - distance[:, None] * gradient
    np.testing.assert_allclose(box.distance(surface)[0], 0.0, atol=1e-12)
    assert box.distance(np.array([box.center]))[0] == pytest.approx(-0.1)


def test_no_tool_is_faster_than_its_levers_allow(robot):
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-3.0, 3.0, size=(2, 2000, 3))
    speed = np.linalg.norm((robot.jacobian(q, TOOL)[:, 3:] @ v[..., None])[..., 0], axis=1)
    bound = np.abs(v) @ levers(robot.model, TOOL, np.full(3, 3.0))
    assert (speed <= bound * (1 + 1e-12)).all() and (speed > 0.5 * bound).any()


def test_a_tool_that_dips_into_a_box_between_two_samples_is_caught(robot):
    names = tuple(robot.model.joint_names)
    ends = np.array([[0.0, 0.5, 0.0], [1.2, 0.5, 0.0]])
    rest = np.zeros((2, 3))
    trajectory = Trajectory(Waypoints(names, np.array([0.0, 1.0]), ends, rest, rest))
    tip = robot.pose(sampled(trajectory, np.array([0.5]))[0], TOOL)[0, :3, 3]
    thin = excitation.Box(tuple(tip), (0.002, 0.002, 0.002))
    for radius, touches in ((0.001, True), (0.0, True)):
        found = peaks(robot, trajectory, excitation.Obstacles((thin,), (TOOL,), radius=radius))
        assert (found.clearance < 0.0) is touches
    beside = excitation.Box(tuple(tip + [0.0, 0.0, 0.02]), (0.002, 0.002, 0.002))
    found = peaks(robot, trajectory, excitation.Obstacles((beside,), (TOOL,), radius=0.0))
    dense = excitation.Obstacles((beside,), (TOOL,), radius=0.0).clearance(
        robot, sampled(trajectory, np.linspace(0, 1, 100_001))[0]
    )[0]
    assert 0.0 < dense.min() <= found.clearance


# --- what it will tell ----------------------------------------------------------------------------------------------


def test_intervals_to_be_expected_are_those_of_recordings(robot, designed):
    """Errors of identified parameters, in standard errors that were announced, over seeds and parameters."""
    _, _, found, _ = designed
    model = robot.model
    without = Robot(replace(model, bodies=tuple(
        replace(body, joint=replace(body.joint, friction=0.0, damping=0.0)) for body in model.bodies
    )))  # fmt: skip
    t = np.arange(round(5.0 * RATE)) / RATE
    q, v, a = sampled(found.trajectory, 3.0 + t)
    effort = inverse_dynamics_terms(Robot(model), q, v, a, ("inertia", "coriolis", "gravity", "friction"))
    errors = {estimate.name: estimate.error for estimate in found.expected}
    truth = {estimate.name: estimate.value for estimate in found.expected}
    ratios = []
    for seed in range(6):
        noisy = effort + found.noise * np.random.default_rng(seed).normal(size=effort.shape)
        identifier = InertiaIdentifier(without, low_pass=LOW_PASS)
        for segment in segments_of(stamps_of(t), np.stack([q, v, noisy], axis=1)):
            identifier.add(segment)
        result = identifier.results()
        named = [(part.name, part.value) for part in result.base]
        for joint in result.joints:
            named += [(f"{joint.joint}.{what}", getattr(joint, what).value) for what in ("coulomb", "viscous")]
        ratios.append([(value - truth[name]) / errors[name] for name, value in named])
    spread = np.sqrt(np.nanmean(np.square(ratios)))
    assert 0.85 < spread < 1.35, spread  # a little more than announced: half a second at the ends is not used


def test_what_cannot_be_found_is_said(robot):
    """A motion so slow and short that inertias do not show."""
    limits = excitation.ExcitationLimits.of(robot.model, velocity=0.05, acceleration=0.05)
    slow = excitation.random_motion(robot, limits, BASES[0], options=excitation.Options(noise=2.0))
    unknown = [estimate.name for estimate in slow.expected if not estimate.identifiable]
    assert any("I" in name.rpartition(".")[2] for name in unknown)
    assert all(np.isnan(estimate.value) for estimate in slow.expected if not estimate.identifiable)


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_trajectory_comes_back_from_its_file_and_is_played_from_near_its_begin(tmp_path, designed):
    limits, _, found, _ = designed
    path = tmp_path / "motion.yaml"
    found.save(path)
    back = excitation.read_trajectory(path)
    assert back.joint_names == found.waypoints.joint_names
    np.testing.assert_allclose(back.times, found.waypoints.times, atol=1e-9)
    for name in ("positions", "velocities", "accelerations"):
        np.testing.assert_allclose(getattr(back, name), getattr(found.waypoints, name), rtol=1e-10, atol=1e-10)
    start = back.positions[0] + 0.3
    wide = MotionLimits.of(limits.joints, lower=-3.0, upper=3.0, velocity=2.5, acceleration=6.5)
    present = np.array([start, np.zeros(3), np.zeros(3)])
    played = PlanRequest(present, 0.0, wide, np.zeros(3, dtype=bool), "smooth", np.inf).plan(back)
    t = np.linspace(3.0, 8.0, 1001)
    np.testing.assert_allclose(sampled(played, t), sampled(found.trajectory, t), atol=1e-6)


def test_periods_follow_each_other(robot):
    limits = excitation.ExcitationLimits.of(robot.model, **LIMITS)
    one, three = (
        excitation.random_motion(robot, limits, BASES[0], options=excitation.Options(periods=n, noise=0.01))
        for n in (1, 3)
    )
    assert three.samples == 3 * one.samples
    t = np.linspace(0.0, 5.0, 301)
    for k in range(3):
        np.testing.assert_allclose(
            sampled(three.trajectory, 3.0 + 5.0 * k + t), sampled(one.trajectory, 3.0 + t), atol=1e-9
        )
    limits.motion.check(three.trajectory, three.trajectory.sample(three.trajectory.times[0]))
    errors = np.array([[estimate.error for estimate in found.expected] for found in (one, three)])
    np.testing.assert_allclose(errors[0] / errors[1], np.sqrt(3.0), rtol=0.02)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[1, 2]", "expected a JointTrajectory"),
        ("joint_names: [a]\npoints: 3", "points must be a list"),
        ("joint_names: [1]\npoints: []", "joint_names must be texts"),
        ("joint_names: [a]\npoints: [{positions: [0]}]", "point 0 must have time_from_start"),
        ("joint_names: [a]\npoints: [{time_from_start: 1}]", "as in time_from_start: {sec: 1, nanosec: 0}; got"),
        ("joint_names: [a]\npoints: [{positions: [x], time_from_start: {sec: 1}}]", "positions has 'x'"),
        ("joint_names: [a]\npoints: [{positions: [.nan], time_from_start: {sec: 1}}]", "joint 'a' has the value nan"),
        ("joint_names: [a, b]\npoints: [{positions: [1], time_from_start: {sec: 1}}]", "1 positions for 2 joints"),
    ],
)
def test_files_that_are_none_are_refused_by_name(tmp_path, text, what):
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(TrajectoryError, match="odd.yaml") as error:
        excitation.read_trajectory(path)
    assert what in str(error.value)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_refusals_name_the_joint_or_the_option(robot):
    of, model = excitation.ExcitationLimits.of, robot.model
    free = replace(model, bodies=tuple(
        replace(body, joint=replace(body.joint, limits=Limits(lower=-1.0, upper=1.0, effort=9.0)))
        for body in model.bodies
    ))  # fmt: skip
    everywhere = excitation.Obstacles((excitation.Box((0, 0, 0), (9, 9, 9)),), (TOOL,))
    cases = [
        (lambda: of(free), "'j0' has no velocity limit"),
        (lambda: of(model, velocity={"j1": -1.0}), "velocity of joint 'j1' must be positive"),
        (lambda: of(model, lower={"j9": 0.0}), "j9"),
        (lambda: of(model, upper={"j2": -3.0}), "'j2' has no range"),
        (lambda: of(model, effort={"j1": 0.2}), "effort of joint 'j1'"),
        (lambda: of(model, effort=np.nan), "effort of joint 'j0' must be a number"),
        (lambda: of(model, share=0.0), "share"),
        (lambda: excitation.Fourier(harmonics=1), "harmonics"),
        (lambda: excitation.Fourier(period=np.inf), "period"),
        (lambda: excitation.ViaPoints(points=2), "points"),
        (lambda: excitation.Box((0, 0, 0), (1, 0, 1)), "size of a box must be positive"),
        (lambda: excitation.Box((0, 0), (1, 1, 1)), "center of a box must be three numbers"),
        (lambda: excitation.Box((0, 0, 0), (1, np.inf, 1)), "size of a box must be three numbers"),
        (lambda: excitation.Box((0, 0, 0), (1, 1, 1), rpy=(0, 0, np.nan)), "rpy of a box must be three numbers"),
        (lambda: excitation.Obstacles((excitation.Box((0, 0, 0), (1, 1, 1)),)), "tool"),
        (lambda: excitation.Options(noise={"j0": 0.0}).noise_of(of(model)), "noise of joint 'j0'"),
        (lambda: excitation.Options(criterion="best"), "criterion"),
        (lambda: excitation.Options(periods=0), "periods"),
        (
            lambda: excitation.random_motion(robot, of(model), BASES[1], options=excitation.Options(periods=2)),
            "periods",
        ),
        (lambda: excitation.random_motion(robot, of(model), BASES[0], obstacles=everywhere), "no posture"),
        (lambda: excitation.random_motion(Robot(model, friction=True), of(model), BASES[0]), "without friction"),
    ]
    for ask, what in cases:
        with pytest.raises(ValueError, match=what):
            ask()
    with pytest.raises(KeyError, match="gripper"):
        boxes = (excitation.Box((0, 0, 0), (1, 1, 1)),)
        excitation.random_motion(robot, of(model), BASES[0], obstacles=excitation.Obstacles(boxes, ("gripper",)))


def test_noise_is_a_hundredth_of_the_effort_limit_where_none_is_given():
    limits = excitation.ExcitationLimits.of(limited_arm())
    for noise, expected in ((None, 0.01 * limits.effort), (0.2, [0.2] * 3)):
        np.testing.assert_allclose(excitation.Options(noise=noise).noise_of(limits), expected)
    found = excitation.Options(noise={"j1": 0.3}).noise_of(limits)
    np.testing.assert_allclose(found, np.where(np.arange(3) == 1, 0.3, 0.01 * limits.effort))


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def described(tmp_path):
    path = tmp_path / "arm.yaml"
    save_yaml(limited_arm(), path)
    return str(path)


def test_the_command_writes_the_motion_and_says_what_it_tells(described, tmp_path, capsys):
    path = tmp_path / "motion.yaml"
    common = ["excite", described, "--acceleration", "6", "--acceleration", "j2=5", "--noise", "0.2", "--starts", "1"]
    short = ["--period", "5", "--harmonics", "3", "-o", str(path)]
    assert main([*common, *short, "--tool", TOOL, "--obstacle=0,0,-0.2,2,2,0.1"]) == 0
    text = capsys.readouterr().out
    assert "link1.Ixy" in text and "j2.viscous" in text and "condition number" in text and str(path) in text
    back = excitation.read_trajectory(path)
    assert back.joint_names == ("j0", "j1", "j2") and back.times[0] == 3.0 and back.times[-1] == 8.0
    assert np.abs(back.accelerations).max(axis=0)[2] <= 5.0

    assert main([*common, *short, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gain"] > found["random"]["gain"]
    assert {part["name"] for part in found["expected"]} >= {"j0.coulomb", "link2.mcz"}
    assert main([*common, *short, "--noise", "50", "--rate", "1"]) == 0  # there is a motion
    told = capsys.readouterr()
    assert "the motion leaves unknown: " in told.err
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told.out.splitlines()]
    unknown = [row for row in cells if len(row) == 4 and row[2] == "not identifiable"]
    assert len(unknown) > 5 and all(name and unit and not value for name, value, _, unit in unknown)


def test_the_command_says_in_one_line_what_is_wrong(described, capsys):
    assert main(["excite", described, "--velocity", "j7=1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "j7" in error
    assert main(["excite", described, "--obstacle=0,0,0,1,1"]) == 2
    assert "5 numbers" in capsys.readouterr().err


def test_points_may_lack_what_they_need_not_have():
    found = Waypoints.of(["a"], [Point(0.0, [1.0]), Point(1.0, [2.0])])
    text = excitation.trajectory_yaml(found)
    assert "velocities: []" in text


def test_obstacles_are_for_joints_with_levers():
    builder = ModelBuilder("odd")
    builder.add_body("screw", None, Helical((0.0, 0.0, 1.0), pitch=0.01), joint_name="j", mass=1.0, com=(0.1, 0.0, 0.0))
    with pytest.raises(ValueError, match="joint 'j' is helical"):
        levers(builder.build(), "screw", np.ones(1))
