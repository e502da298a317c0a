# SPDX-License-Identifier: Apache-2.0
"""A tool is wanted where its arm can take it; joints stay within their velocity limits whatever drives them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helpers.models.robots import FILES
from helpers.wide import table

pytest.importorskip("mujoco")
if not FILES:
    pytest.skip("needs Pinocchio (pin) and example-robot-data", allow_module_level=True)
import pinocchio as pin
from rigs.reaching import ARMS, PERIOD, Arm, LatePlant, Reach

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.joint_speed_bound import APPROACH, REACHED
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.cartesian.gains import STIFFNESS, CartesianGains
from rbd_dynamics.control.cartesian.reachable import ReachableReference
from rbd_dynamics.control.cartesian.stability import (
    StiffnessCheck,
    ToolLoop,
    softer_where_unstable,
)
from rbd_dynamics.control.motion.joint_room import FULL_TIME, SPEED_SHARE
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.spatial import exp_so3, log_so3

AT_DEFAULTS = Timing(0.001, 0.006, 30.0)  # as of a node at 1 kHz
DT = 0.001


def placed(name):
    """A robot, its tool's frame, and a reference at a posture that is not singular."""
    arm = Arm.of(name)
    robot = rbd.Robot(arm.model)
    begin = {"UR5": [0.0, -1.2, 1.3, -0.5, 0.8, 0.0], "Panda": [0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785]}[name]
    reference = ReachableReference(robot, arm.frame)
    reference.reset(np.array(begin))
    return robot, arm, reference


def smooth(s):
    """0 to 1, at rest at both ends."""
    s = min(max(s, 0.0), 1.0)
    return 10 * s**3 - 15 * s**4 + 6 * s**5


@pytest.mark.parametrize("name", ["UR5", "Panda"])
def test_a_target_that_the_arm_can_follow_is_followed_to_a_hair(name):
    robot, arm, reference = placed(name)
    begin = robot.pose(reference.q, arm.frame)
    posture, poses = reference.q.copy(), []
    for k in range(3500):
        share = smooth(k * DT / 3.0)
        target = begin.copy()
        target[:3, 3] += share * np.array([-0.1, -0.05, 0.1])
        target[:3, :3] = begin[:3, :3] @ exp_so3(share * np.array([0.3, -0.2, 0.4]))
        step = reference.follow(target, DT, posture)
        assert np.linalg.norm(step.pose[:3, 3] - target[:3, 3]) < 1e-5
        assert np.linalg.norm(log_so3(step.pose[:3, :3].T @ target[:3, :3])) < 2e-5
        np.testing.assert_allclose(step.pose, robot.pose(reference.q, arm.frame), atol=1e-12)
        poses.append(step)
    assert reference.behind < 1e-8 and np.abs(step.twist).max() < 1e-6
    # twist and acceleration are the derivatives of the poses
    for k in range(100, 2900, 100):
        before, now, after = poses[k - 1 : k + 2]
        np.testing.assert_allclose(now.twist[3:], (after.pose - before.pose)[:3, 3] / (2 * DT), atol=2e-3)
        spin = log_so3(after.pose[:3, :3] @ before.pose[:3, :3].T) / (2 * DT)
        np.testing.assert_allclose(now.twist[:3], spin, atol=5e-3)
        np.testing.assert_allclose(now.acceleration, (after.twist - before.twist) / (2 * DT), atol=0.05)


@pytest.mark.parametrize("name", ["UR5", "Panda"])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_target_joints_stay_within_their_limits(name, seed):
    """Targets that jump anywhere, within reach and beyond."""
    robot, arm, reference = placed(name)
    rng, model = np.random.default_rng(seed), arm.model
    most = SPEED_SHARE * arm.speeds
    for _ in range(5):
        target = robot.pose(model.random(rng), arm.frame)
        target[:3, 3] *= rng.uniform(0.3, 2.0)
        dt = rng.uniform(0.001, 0.005)
        for _ in range(300):
            before = reference.v
            step = reference.follow(target, dt, reference.q)
            assert np.isfinite(np.concatenate([step.pose.ravel(), step.twist, step.acceleration])).all()
            assert (np.abs(reference.v) <= most + 1e-9).all()
            braking = np.abs(reference.v) < np.abs(before)  # before a limit a joint may have to stop faster
            assert (np.abs(reference.v - before) <= most / FULL_TIME * dt * (1 + braking) + 1e-9).all()
            assert (model.lower <= reference.q).all() and (reference.q <= model.upper).all()


def test_the_motion_leaves_efforts_within_their_limits_and_does_not_chatter():
    """By Pinocchio: TIAGo's wrist has 3 and 6.6 N m; joints changed their accelerations from step to step before."""
    arm = Arm.of("TIAGo")
    robot, rng = rbd.Robot(arm.model), np.random.default_rng(5)
    whole = pin.buildModelFromUrdf(str(robots()["tiago"]))
    fixed = [k for k in range(1, whole.njoints) if whole.names[k] not in arm.model.joint_names]
    model = pin.buildReducedModel(whole, fixed, pin.neutral(whole))
    data, limits = model.createData(), np.array([joint.limits.effort for joint in arm.model.joints])
    reference, used, turns = ReachableReference(robot, arm.frame), 0.0, []
    middle = 0.5 * (reference.room.lower + reference.room.upper)
    for _ in range(4):
        reference.reset(middle + rng.uniform(-0.3, 0.3, 7))
        target = robot.pose(reference.q + rng.uniform(-0.5, 0.5, 7), arm.frame)
        before = np.zeros(7)
        for _ in range(500):
            v = reference.v
            reference.follow(target, DT, reference.q)
            a = (reference.v - v) / DT
            used = max(used, float((np.abs(pin.rnea(model, data, reference.q, reference.v, a)) / limits).max()))
            turns.append((a * before < -1.0).sum())
            before = a
    assert 0.4 < used < 0.9
    assert np.mean(turns) < 0.05


def test_beyond_reach_the_target_waits_and_the_reason_is_said():
    robot, arm, reference = placed("UR5")
    begin = robot.pose(reference.q, arm.frame)
    way = 0.0
    for _ in range(15000):
        way += 0.1 * DT * reference.pace
        target = begin.copy()
        target[:3, 3] *= 1.0 + way
        step = reference.follow(target, DT, reference.q)
    assert reference.pace < 0.1 and way < 1.0
    assert np.linalg.norm(step.twist) < 0.01
    assert "singular" in reference.obstacle() or "limit" in reference.obstacle()


@pytest.mark.parametrize(("name", "seed"), [("UR10", 1), ("Kinova j2s6s200", 6), ("Kinova j2s6s200", 8), ("xArm7", 0)])
def test_an_arm_without_friction_that_is_pushed_comes_back_to_rest(name, seed):
    """A light wrist that was pushed to its velocity limit had the arm driven on by what was to hold it back."""
    reach = Reach(name, "impedance", seed)
    plant, controller, q = reach.plant, reach.controller, reach.begin
    theta, push = controller.chart(q), 0.03 * np.array([joint.limits.effort for joint in reach.arm.model.joints])
    plant.model.dof_frictionloss[:] = plant.model.dof_damping[:] = 0.0
    begin = controller.pose(q)[:3, 3].copy()
    speeds = []
    for k in range(4000):
        at, v = plant.measured()
        tau = controller.step(at, v, theta, posture=q, dt=PERIOD).tau
        plant.command(tau + push * (100 <= k < 150))
        speeds.append(np.abs(plant.state[1] / reach.arm.speeds).max())
    assert max(speeds) > 1.0 and max(speeds[3500:]) < 0.05
    assert np.linalg.norm(controller.pose(plant.state[0])[:3, 3] - begin) < 0.01


@pytest.mark.parametrize("law", ["impedance", "operational_space"])
def test_a_joint_near_its_velocity_limit_is_braked(law):
    """By Pinocchio: whatever pulls at the tool, a joint that is as fast as it may be is not driven, but slowed.

    By an effort of its own, that of other joints stays as it is: what holds one back drives no other one.
    """
    robot, arm, reference = placed("UR5")
    model = pin.buildModelFromUrdf(str(robots()["ur5_robot"]))
    data, q, rng = model.createData(), reference.q, np.random.default_rng(0)
    common = {"law": law, "effort_limits": [1e6], "gains": CartesianGains(damping_ratio=0.1)}
    loose = CartesianController(robot, arm.frame, velocity_limits=[1e3], **common)
    bound = CartesianController(robot, arm.frame, **common)
    far = loose.pose(q)
    far[:3, 3] += [0.3, 0.3, -0.3]
    loose.base = bound.base = far[:3, :3]
    theta = np.concatenate([np.zeros(3), far[:3, 3]])
    driven = untouched = 0
    # after a reaction time at the first of these shares of it, speeds are within the second
    approach, share = APPROACH / bound.gains.reaction_time, REACHED
    for _ in range(50):
        v = 0.84 * arm.speeds * rng.uniform(-1, 1, len(q))
        taus = [each.step(q, v, theta).tau for each in (bound, loose)]
        # impedance leaves to the robot what its velocities do by themselves
        held = pin.computeGeneralizedGravity(model, data, q) if law == "impedance" else pin.nle(model, data, q, v)
        coasts = pin.aba(model, data, q, v, held).copy()
        now, then = (pin.aba(model, data, q, v, tau).copy() - coasts for tau in taus)
        least, most = (approach * (side * share * arm.speeds - v) for side in (-1, 1))
        slack = 1e-6 * (most - least)
        assert (now >= least - slack).all() and (now <= most + slack).all()
        held_back = taus[0] - taus[1]
        close = 1e-6 * max(1.0, np.abs(held_back).max())
        assert (held_back[now > least + slack] < close).all() and (held_back[now < most - slack] > -close).all()
        untouched += (taus[0] == taus[1]).all()
        k = rng.integers(len(q))
        v[k] = 1.05 * arm.speeds[k] * rng.choice([-1, 1])
        out = bound.step(q, v, theta)
        assert out.braking[0] == 1.0
        held = pin.computeGeneralizedGravity(model, data, q) if law == "impedance" else pin.nle(model, data, q, v)
        coasts = pin.aba(model, data, q, v, held)[k]
        assert (pin.aba(model, data, q, v, out.tau)[k] - coasts) * v[k] < 0.0
        driven += (pin.aba(model, data, q, v, loose.step(q, v, theta).tau)[k] - coasts) * v[k] > 0.0
    assert driven >= 3 and 5 <= untouched <= 45


@pytest.mark.parametrize("joint", [1, 2, 3, 4])
@pytest.mark.parametrize("law", ["impedance", "operational_space"])
def test_a_joint_does_not_pass_its_limit_whatever_pushes_it(law, joint):
    """By Pinocchio: a push that is stronger than the spring that keeps a UR5's joint from there."""
    _, arm, reference = placed("UR5")
    model = pin.buildModelFromUrdf(str(robots()["ur5_robot"]))
    data, q, v = model.createData(), reference.q.copy(), np.zeros(model.nv)
    upper, bodies = float(q[joint]) + 0.3, list(arm.model.bodies)
    own = bodies[joint].joint
    bodies[joint] = replace(bodies[joint], joint=replace(own, limits=replace(own.limits, upper=upper)))
    controller = CartesianController(rbd.Robot(replace(arm.model, bodies=tuple(bodies))), arm.frame, law=law)
    push = np.where(np.arange(model.nv) == joint, 0.35 * controller.effort_limits, 0.0)
    theta, nearest = controller.chart(q), np.inf
    for _ in range(1500):
        v = v + DT * pin.aba(model, data, q, v, controller.step(q, v, theta, dt=DT).tau + push)
        q = q + DT * v
        nearest = min(nearest, upper - q[joint])
    assert nearest > 0.0


def test_efforts_are_in_haste_where_a_joint_comes_near_its_velocity_limit():
    """Whether it is so fast already, or grows to be within the reaction time; not of what was before a gap."""
    robot, arm, reference = placed("UR5")
    controller = CartesianController(robot, arm.frame)
    q, limits, rest = reference.q, controller.velocity_limits, np.zeros(6)
    theta = controller.chart(q)

    def hastes(share, dt):
        v = rest.copy()
        v[4] = share * limits[4]
        controller.step(q, v, theta, dt=dt)
        return controller.in_haste

    assert [hastes(share, 0.002) for share in (0.0, 0.0)] == [False] * 2
    controller.forget_motion()
    assert [hastes(-0.65, 0.002), hastes(-0.75, 0.002)] == [False, True]
    controller.forget_motion()
    assert [hastes(share, 0.002) for share in (0.3, 0.4)] == [False, True]  # 50 times the limit a second
    controller.forget_motion()
    assert not hastes(0.5, 0.002)


@pytest.mark.parametrize("law", ["impedance", "operational_space"])
def test_efforts_beyond_limits_keep_the_direction_of_the_acceleration(law):
    """By Pinocchio, of joints with wrists as weak as TIAGo's."""
    robot, arm, reference = placed("Panda")
    whole = pin.buildModelFromUrdf(str(robots()["panda"]))
    fixed = [k for k in range(1, whole.njoints) if whole.names[k] not in arm.model.joint_names]
    model = pin.buildReducedModel(whole, fixed, pin.neutral(whole))
    data, rng = model.createData(), np.random.default_rng(0)
    gravity = pin.computeGeneralizedGravity(model, data, reference.q).copy()
    limits = np.abs(gravity) + [20.0, 20.0, 10.0, 10.0, 2.0, 2.0, 2.0]
    strong, weak = (
        CartesianController(robot, arm.frame, law=law, effort_limits=most, velocity_limits=1e9)
        for most in (np.full(7, 1e9), limits)
    )
    shortened = 0
    for _ in range(30):
        far = strong.pose(reference.q)
        far[:3, 3] += rng.uniform(-0.2, 0.2, 3)
        strong.base = weak.base = far[:3, :3]
        theta = np.concatenate([np.zeros(3), far[:3, 3]])
        taus = [each.step(reference.q, np.zeros(7), theta).tau.copy() for each in (strong, weak)]
        assert (np.abs(taus[1]) <= limits * (1.0 + 1e-12)).all()
        free, held = (pin.aba(model, data, reference.q, np.zeros(7), tau).copy() for tau in taus)
        share = float(held @ free / (free @ free))
        np.testing.assert_allclose(held, share * free, atol=1e-9 * np.abs(free).max())
        assert 0.0 < share <= 1.0 + 1e-12
        assert share > 1.0 - 1e-9 or np.abs(np.abs(taus[1]) / limits - 1.0).min() < 1e-9  # no more than is needed
        shortened += share < 0.9
    assert shortened >= 10


@pytest.mark.parametrize("law", ["impedance", "operational_space"])
def test_a_robot_near_its_kinetic_energy_is_braked_as_a_whole(law):
    """By Pinocchio: whatever pulls at the tool, no effort adds energy, though no joint has a limit of its own."""
    robot, arm, reference = placed("UR5")
    model = pin.buildModelFromUrdf(str(robots()["ur5_robot"]))
    data, q, rng = model.createData(), reference.q, np.random.default_rng(0)
    gravity = pin.computeGeneralizedGravity(model, data, q)
    loose, bound = (
        CartesianController(
            robot,
            arm.frame,
            law=law,
            effort_limits=[1e6],
            velocity_limits=[1e3],
            gains=CartesianGains(largest_energy=energy, damping_ratio=0.3),
        )
        for energy in (1e9, 2.0)
    )
    far = loose.pose(q)
    far[:3, 3] += [0.3, 0.3, -0.3]
    loose.base = bound.base = far[:3, :3]
    theta = np.concatenate([np.zeros(3), far[:3, 3]])
    driven = 0
    for _ in range(50):
        v = rng.uniform(-1, 1, len(q))
        v *= np.sqrt(2.0 / pin.computeKineticEnergy(model, data, q, v))
        slow = 0.8 * v
        np.testing.assert_array_equal(bound.step(q, slow, theta).tau, loose.step(q, slow, theta).tau)
        out = bound.step(q, v, theta)
        assert out.braking[0] == 1.0
        assert v @ (out.tau - gravity) < 0.0
        driven += v @ (loose.step(q, v, theta).tau - gravity) > 0.0
    assert driven >= 3


def test_a_motion_takes_its_share_of_the_kinetic_energy_and_no_more():
    robot, arm, reference = placed("UR5")
    reference.largest_energy, target = 0.5, robot.pose(reference.q, arm.frame)
    way = most = seconds = 0.0
    while way < 0.3 and seconds < 10.0:
        step = 1.0 * DT * reference.pace  # 1 m/s would have more
        target[0, 3], way = target[0, 3] - step, way + step
        reference.follow(target, DT, reference.q)
        most, seconds = max(most, float(robot.kinetic_energy(reference.q, reference.v))), seconds + DT
    assert way >= 0.3
    assert 0.5 < most / (SPEED_SHARE**2 * 0.5) < 1.1


@pytest.mark.parametrize("name", table(ARMS, ["UR5", "Panda", "Z1", "TIAGo"]))
def test_the_usual_stiffness_is_stable_on_every_arm_or_softer(name):
    arm = Arm.of(name)
    controller = CartesianController(rbd.Robot(arm.model), arm.frame)
    check, gains = StiffnessCheck(controller), CartesianGains()
    usual = check.usual(gains, AT_DEFAULTS)
    assert 0.0 < usual[0] <= STIFFNESS["impedance"][0] and 0.0 < usual[1] <= STIFFNESS["impedance"][1]
    softer = softer_where_unstable(gains, usual)
    # at other postures than those that were tried
    tuning, rng = controller.tuning(gains=softer), np.random.default_rng(7)
    lower, upper = np.maximum(arm.model.lower, -np.pi), np.minimum(arm.model.upper, np.pi)
    for q in rng.uniform(lower, upper, (30, len(lower))):
        loop = ToolLoop.of(controller, tuning, q)
        K, D = loop.feedback(softer.stiffness_of("impedance"), softer)
        np.testing.assert_allclose(K, K.T, atol=1e-9 * np.abs(K).max())
        assert growth_rate(loop.M, K, D, AT_DEFAULTS) <= 1.0
    full = gains.stiffness_of("impedance")
    problem = check.problem(full, gains, AT_DEFAULTS)
    assert bool(problem) == (usual != STIFFNESS["impedance"])
    if problem:
        assert "would be stable" in problem
        if usual[0] == STIFFNESS["impedance"][0]:
            assert f"a rotational stiffness of {usual[1]:g} N m/rad would be stable" in problem
        assert repr(check.lightest) in problem


@pytest.mark.parametrize(("share", "holds"), [(1.0, True), (20.0, False)])
def test_what_is_called_stable_holds_in_another_simulator(share, holds):
    """A UR10 without rotors, in MuJoCo, with torques that come late: at its usual stiffness, and at 20 times that."""
    arm = Arm.of("UR10")
    robot = rbd.Robot(arm.model)
    q = np.array([0.3, -1.2, 1.3, -0.5, 0.8, 0.1])
    plant = LatePlant("UR10", arm)
    plant.stand(q, robot)
    plant.model.dof_frictionloss[:] = 0.0
    controller = CartesianController(robot, arm.frame, velocity_limits=[1e3])
    late = Timing(0.001, 0.004, 1.0 / (2.0 * np.pi * 0.005))
    along, about = StiffnessCheck(controller).usual(CartesianGains(), late)
    gains = CartesianGains(stiffness=along, rotational_stiffness=share * about)
    controller.use(controller.tuning(gains=gains, velocity_limits=[1e3]))
    controller.reset()
    theta = controller.chart(q)
    fastest = 0.0
    for k in range(1500):
        at, moves = plant.measured()
        plant.command(controller.step(at, moves, theta, posture=q, dt=DT).tau)
        if k > 500:
            fastest = max(fastest, float(np.abs(plant.state[1]).max()))
        if k == 200:  # a knock
            plant.data.qvel[:] += 0.05
    assert (fastest < 0.2) if holds else (fastest > 1.0)  # the encoders' steps alone are 0.02 rad/s


@pytest.mark.parametrize(
    ("law", "seed"),
    table(
        product(("impedance", "operational_space"), (1, 3, 7)),
        [("impedance", 3), ("operational_space", 7)],
    ),
)
def test_on_the_way_to_no_target_are_joints_too_fast(law, seed):
    """A UR5 past singular postures and beyond its reach; a plain law drives them at several times their limits."""
    outcome = Reach("UR5", law, seed).run()
    assert outcome.fastest <= 1.0 and outcome.beyond < 0.0
    assert outcome.moving < 0.05
