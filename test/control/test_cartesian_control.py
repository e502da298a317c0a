# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance and operational-space control: the laws, beside Pinocchio and as the theory says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg
from helpers.checks.differences import along_tangent
from helpers.checks.oracles import assert_close
from helpers.models.robots import needs_pinocchio, robot_file
from scipy.spatial.transform import Rotation

import rbd_dynamics as rbd
from rbd_dynamics.control.cartesian.controller import CartesianController, Compliance
from rbd_dynamics.control.cartesian.gains import CartesianGains, stiffness_matrix

pytestmark = needs_pinocchio
ARMS = {"panda": ("panda_hand_tcp", {"panda_finger_joint1": 0.02}), "ur5_robot": ("tool0", {})}
POSTURES = {"panda": [0.0, 0.3, 0.1, -1.9, 0.2, 2.2, 0.785], "ur5_robot": [0.2, -1.2, 1.6, -1.97, -1.4, 0.3]}
OFFSET = np.block([[Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_matrix(), np.array([[0.02], [0.01], [0.08]])],
                   [np.zeros((1, 3)), np.ones((1, 1))]])  # fmt: skip
AXES = Rotation.from_euler("xyz", [0.4, 0.7, -0.3]).as_matrix()
FIRM = CartesianGains(  # nothing that the plain law does not have
    stiffness=(300.0, 500.0, 900.0), rotational_stiffness=(20.0, 30.0, 50.0), damping=(30.0, 40.0, 50.0),
    rotational_damping=(2.0, 3.0, 4.0), posture_kp=0.0, posture_kd=0.0, largest_force=1e9, largest_moment=1e9,
    joint_limit_margin=0.0, joint_limit_torque=0.0, stiffness_time=0.0, tank_size=0.0,
)  # fmt: skip
LAWS = ("impedance", "operational_space")
CARRIERS = ("root", "tool", "wanted")


@cache
def robot_of(arm):
    return rbd.Robot(rbd.load_urdf(robot_file(arm), locked=ARMS[arm][1]))


@cache
def controller_of(arm, law, carrier):
    return CartesianController(
        robot_of(arm), ARMS[arm][0], law=law, tool=OFFSET, gains=FIRM,
        compliance=Compliance(carrier=carrier, orientation=AXES), effort_limits=1e9, velocity_limits=1e9,
    )  # fmt: skip


@pytest.fixture(params=list(ARMS))
def arm(request):
    return request.param


def firm(arm, law="impedance", carrier="root", **changes):
    """The controller of that arm and law, with these gains different."""
    controller = controller_of(arm, law, carrier)
    gains = CartesianGains(**{**FIRM.__dict__, **changes})
    compliance = Compliance(carrier=carrier, orientation=AXES)
    controller.use(controller.tuning(gains=gains, compliance=compliance, effort_limits=1e9, velocity_limits=1e9))
    controller.base = np.eye(3)
    controller.reset()
    return controller


class Scene:
    """A state, and a wanted motion near it."""

    def __init__(self, arm, controller, seed=0, away=0.1):
        rng = np.random.default_rng(seed)
        self.q = np.array(POSTURES[arm]) + 0.1 * rng.standard_normal(len(POSTURES[arm]))
        self.v = 0.5 * rng.standard_normal(len(self.q))
        controller.base = controller.pose(self.q)[:3, :3] @ Rotation.from_rotvec([0.1, 0.2, -0.3]).as_matrix()
        self.theta = controller.chart(self.q) + away * rng.standard_normal(6)
        self.rate, self.acceleration = 0.3 * rng.standard_normal(6), rng.standard_normal(6)
        self.dynamic = {"rate": self.rate, "acceleration": self.acceleration}


class Oracle:
    """Pinocchio, in the axes of the root at the tool's point."""

    def __init__(self, arm, q, v):
        import pinocchio as pin

        model = pin.buildModelFromUrdf(str(robot_file(arm)))
        if ARMS[arm][1]:
            at = pin.neutral(model)
            fingers = [model.getJointId(n) for n in model.names if "finger" in n]
            for joint in fingers:
                at[model.joints[joint].idx_q] = 0.02
            model = pin.buildReducedModel(model, fingers, at)
        frame = model.getFrameId(ARMS[arm][0])
        on = model.frames[frame]
        tool = pin.Frame("tool", on.parentJoint, on.placement * pin.SE3(OFFSET), pin.FrameType.OP_FRAME)
        tool = model.addFrame(tool)
        data = model.createData()
        pin.computeAllTerms(model, data, q, v)
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        pin.updateFramePlacements(model, data)
        swap = [3, 4, 5, 0, 1, 2]  # ours has the angular part first
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        self.J = pin.getFrameJacobian(model, data, tool, world)[swap]
        self.Jdot = pin.getFrameJacobianTimeVariation(model, data, tool, world)[swap]
        self.M = np.triu(data.M) + np.triu(data.M, 1).T
        self.C = pin.computeCoriolisMatrix(model, data, q, v).copy()
        self.N = pin.computeGeneralizedGravity(model, data, q).copy()
        self.R, self.p = data.oMf[tool].rotation.copy(), data.oMf[tool].translation.copy()
        self.inverse = np.linalg.solve(self.M, self.J.T) @ np.linalg.inv(self.J @ np.linalg.solve(self.M, self.J.T))


def wanted_motion(controller, scene, t=0.0):
    """R, p, w, pdot (root axes) of the wanted motion a time later."""
    theta = scene.theta + t * scene.rate + 0.5 * t * t * scene.acceleration
    rate = scene.rate + t * scene.acceleration
    R = controller.base @ Rotation.from_rotvec(theta[:3]).as_matrix()
    w = R @ rbd.spatial.right_jacobian_so3(theta[:3]) @ rate[:3]
    return R, theta[3:], w, rate[3:]


@pytest.mark.parametrize("law", LAWS)
def test_laws_agree_with_pinocchio(arm, law):
    controller = firm(arm, law)
    for seed in range(3):
        scene = Scene(arm, controller, seed)
        q, v = scene.q, scene.v
        pin = Oracle(arm, q, v)
        R, p, _, pdot = wanted_motion(controller, scene)
        body = R.T @ wanted_motion(controller, scene)[2]
        h = 1e-4
        after, before = (wanted_motion(controller, scene, t) for t in (h, -h))
        body_rate = (after[0].T @ after[2] - before[0].T @ before[2]) / (2 * h)
        twist = pin.J @ v
        w_ref = pin.R @ body
        reference = np.concatenate([w_ref, pdot])
        wanted = np.concatenate([pin.R @ body_rate + np.cross(twist[:3], w_ref), scene.acceleration[3:]])
        phi = Rotation.from_matrix(R @ pin.R.T).as_rotvec()
        turn = np.kron(np.eye(2), AXES.T)
        K, D = controller.stiffness, np.diag([2.0, 3.0, 4.0, 30.0, 40.0, 50.0])
        error = turn @ np.concatenate([phi, p - pin.p])
        slip = turn @ (reference - twist)
        if law == "impedance":
            moment = rbd.spatial.left_jacobian_inverse_so3(AXES.T @ phi) @ (K @ error)[:3]
            wrench = turn.T @ (np.concatenate([moment, (K @ error)[3:]]) + D @ slip)
            v_r = pin.inverse @ reference
        else:
            wrench = np.linalg.inv(pin.J @ np.linalg.solve(pin.M, pin.J.T)) @ turn.T @ (K @ error + D @ slip)
            v_r = v
        a_r = pin.inverse @ (wanted - pin.Jdot @ v_r)
        tau = pin.M @ a_r + pin.C @ v_r + pin.N + pin.J.T @ wrench
        out = controller.step(q, v, scene.theta, **scene.dynamic)
        assert_close(out.error, error, 1e-9)  # of the UR5's description Pinocchio keeps 10 digits
        assert_close(out.slip, slip, 1e-9)
        assert_close(out.tau, tau, 1e-6)  # as good as the difference of body_rate
        assert_close(out.pose, np.concatenate([pin.R.reshape(-1), pin.p]), 1e-10)
        assert_close(out.twist, twist, 1e-10)
        assert_close(out.manipulability, [np.sqrt(np.linalg.det(pin.J @ pin.J.T))], 1e-10)
        still = controller.step(q, v, scene.theta)  # no wanted motion: no difference
        moment = wrench_at_rest(law, K, D, error, turn, twist, phi, pin)
        at_rest = pin.N + pin.J.T @ moment
        if law == "operational_space":
            at_rest += pin.C @ v - pin.M @ pin.inverse @ pin.Jdot @ v
        assert_close(still.tau, at_rest, 1e-9)


def wrench_at_rest(law, K, D, error, turn, twist, phi, pin):
    pull = K @ error
    if law == "impedance":
        pull = np.concatenate([rbd.spatial.left_jacobian_inverse_so3(AXES.T @ phi) @ pull[:3], pull[3:]])
        return turn.T @ (pull - D @ turn @ twist)
    return np.linalg.inv(pin.J @ np.linalg.solve(pin.M, pin.J.T)) @ turn.T @ (pull - D @ turn @ twist)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_spring_is_the_derivative_of_its_energy(arm, carrier):
    """In fixed axes, in the tool's and in the wanted ones, with all couplings."""
    controller = firm(arm, carrier=carrier, damping=0.0, rotational_damping=0.0)
    root = np.random.default_rng(1).standard_normal((6, 6))
    controller.want_stiffness(50.0 * root @ root.T)
    controller.reset()
    scene = Scene(arm, controller, away=0.3)
    still = np.zeros_like(scene.v)

    def energy(q):
        return controller.step(q, still, scene.theta).energy.copy()

    slope = along_tangent(controller.robot.model, scene.q, energy)[0]
    pull = controller.step(scene.q, still, scene.theta).tau - controller.robot.gravity(scene.q)
    assert_close(pull, -slope, 1e-7)


def test_operational_space_errors_decouple(arm):
    """e'' + D e' + K e = 0, whatever else the robot does."""
    controller = firm(arm, "operational_space", posture_kp=30.0, posture_kd=5.0)
    scene = Scene(arm, controller)
    out = controller.step(scene.q, scene.v, scene.theta, **scene.dynamic, posture=scene.q + 0.3)
    pin = Oracle(arm, scene.q, scene.v)
    a = controller.robot.forward_dynamics(scene.q, scene.v, out.tau)
    h = 1e-4
    after, before = (wanted_motion(controller, scene, t) for t in (h, -h))
    twist = pin.J @ scene.v
    here = wanted_motion(controller, scene)
    w_ref = pin.R @ here[0].T @ here[2]
    body_rate = (after[0].T @ after[2] - before[0].T @ before[2]) / (2 * h)
    wanted = np.concatenate([pin.R @ body_rate + np.cross(twist[:3], w_ref), scene.acceleration[3:]])
    turn = np.kron(np.eye(2), AXES.T)
    D = np.diag([2.0, 3.0, 4.0, 30.0, 40.0, 50.0])
    left = turn @ (wanted - pin.J @ a - pin.Jdot @ scene.v) + D @ out.slip + controller.stiffness @ out.error
    assert np.abs(left).max() < 1e-6


@pytest.mark.parametrize("carrier", CARRIERS)
def test_following_a_motion_is_passive(carrier):
    """s = v - v_r: the rate of s M s / 2 + the spring's energy is what the damper takes, whatever the motion."""
    controller = firm("ur5_robot", carrier=carrier)
    scene = Scene("ur5_robot", controller)
    robot = controller.robot

    def stored(t, q, v):
        motion = wanted_motion(controller, scene, t)
        moved = scene.theta + t * scene.rate + 0.5 * t * t * scene.acceleration
        out = controller.step(q, v, moved, rate=scene.rate + t * scene.acceleration, acceleration=scene.acceleration)
        J = np.kron(np.eye(2), motion_axes(controller, carrier, q, motion)) @ out.slip  # root axes
        jacobian = np.kron(np.eye(2), controller.pose(q)[:3, :3]) @ robot_jacobian(controller, q)
        s = np.linalg.solve(jacobian, -J)
        return 0.5 * s @ robot.mass_matrix(q) @ s + out.energy[0]

    out = controller.step(scene.q, scene.v, scene.theta, **scene.dynamic)
    power, a = out.power[0], robot.forward_dynamics(scene.q, scene.v, out.tau)
    assert power > 1.0
    h = 1e-5
    later, sooner = (stored(t, scene.q + t * scene.v + 0.5 * t * t * a, scene.v + t * a) for t in (h, -h))
    np.testing.assert_allclose((later - sooner) / (2 * h), -power, rtol=1e-6)


def motion_axes(controller, carrier, q, motion):
    if carrier == "root":
        return AXES
    return (controller.pose(q)[:3, :3] if carrier == "tool" else motion[0]) @ AXES


def robot_jacobian(controller, q):
    """Of the tool, in its own axes."""
    J = controller.robot.jacobian(q, controller.frame)
    return rbd.spatial.adjoint(np.linalg.inv(controller.tool)) @ J


def test_posture_does_not_move_the_tool():
    controller = firm("panda", posture_kp=40.0, posture_kd=8.0)
    scene = Scene("panda", controller)
    J = robot_jacobian(controller, scene.q)

    def acceleration(posture):
        tau = controller.step(scene.q, scene.v, scene.theta, posture=posture).tau
        return controller.robot.forward_dynamics(scene.q, scene.v, tau)

    here, there = acceleration(scene.q), acceleration(scene.q + 0.5)
    assert np.abs(here - there).max() > 0.5
    assert np.abs(J @ (here - there)).max() < 1e-10 * np.abs(here - there).max() * 10


def test_all_swings_of_a_tool_die_out_with_the_ratio_that_is_asked_for(arm):
    """M a + D v + K x = 0 falls apart into swings of one ratio, whatever the inertia that moves."""
    controller = firm(arm, damping=None, rotational_damping=None, damping_ratio=0.7)
    scene = Scene(arm, controller)
    out = controller.step(scene.q, scene.v, scene.theta)
    turn = np.kron(np.eye(2), AXES.T)
    pin = Oracle(arm, scene.q, scene.v)
    moved = turn @ pin.J @ np.linalg.solve(pin.M, pin.J.T) @ turn.T
    low = np.repeat([1.0 / controller.gains.largest_inertia, 1.0 / controller.gains.largest_mass], 3)
    inertia, K = np.linalg.inv(moved + np.diag(low)), controller.stiffness
    squares, swings = scipy.linalg.eigh(K, inertia)  # swings^T inertia swings = 1
    D = np.linalg.inv(swings).T @ np.diag(2.0 * 0.7 * np.sqrt(squares)) @ np.linalg.inv(swings)
    np.testing.assert_allclose(out.power[0], out.slip @ D @ out.slip, rtol=1e-9)


def test_a_damping_that_is_given_is_that_of_its_axis(arm):
    controller = firm(arm, damping=[10.0, 20.0, 30.0], rotational_damping=None)
    scene = Scene(arm, controller)
    both = controller.step(scene.q, scene.v, scene.theta)
    power, slip = both.power[0], both.slip.copy()
    alone = firm(arm, damping=0.0, rotational_damping=None)
    rest = alone.step(scene.q, scene.v, scene.theta).power[0]
    np.testing.assert_allclose(power - rest, slip[3:] @ ([10.0, 20.0, 30.0] * slip[3:]), rtol=1e-9)


def test_wanted_wrenches_are_pressed_with(arm):
    controller = firm(arm)
    scene = Scene(arm, controller)
    still, theta = 0.0 * scene.v, controller.chart(scene.q)
    pin = Oracle(arm, scene.q, still)
    wrench, own = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([0.5, 0.0, -1.0, 2.0, 0.0, 9.0])
    out = controller.step(scene.q, still, theta, wrench=wrench, tool_wrench=own)
    in_root = wrench + np.kron(np.eye(2), pin.R) @ own
    assert_close(out.wrench, in_root, 1e-10)
    assert_close(out.tau, pin.N + pin.J.T @ in_root, 1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_wrenches_are_limited_in_their_direction(arm, law):
    controller = firm(arm, law, largest_force=20.0, largest_moment=3.0)
    scene = Scene(arm, controller, away=0.5)
    still = 0.0 * scene.v
    limited = controller.step(scene.q, still, scene.theta).wrench.copy()
    whole = firm_step(arm, law, scene)
    np.testing.assert_allclose(np.linalg.norm(limited[3:]), 20.0)
    np.testing.assert_allclose(np.linalg.norm(limited[:3]), 3.0)
    np.testing.assert_allclose(np.cross(limited[3:], whole[3:]), 0.0, atol=1e-9 * np.linalg.norm(whole[3:]) * 20.0)
    assert limited[3:] @ whole[3:] > 0.0


def firm_step(arm, law, scene):
    base = controller_of(arm, law, "root").base.copy()
    controller = firm(arm, law)
    controller.base = base
    return controller.step(scene.q, 0.0 * scene.v, scene.theta).wrench.copy()


# --- a spring that changes ---------------------------------------------------------------------------


def test_stiffness_changes_in_its_time():
    controller = firm("ur5_robot", stiffness_time=0.1)
    scene = Scene("ur5_robot", controller)
    before, wanted = controller.stiffness.copy(), 2.0 * controller.stiffness
    controller.want_stiffness(wanted)
    for _ in range(100):
        controller.step(scene.q, scene.v, scene.theta, dt=1e-3)
    way = (controller.stiffness - before) / np.where(wanted > before, wanted - before, 1.0)
    np.testing.assert_allclose(np.diag(way), 1.0 - np.exp(-1.0), rtol=0.01)


def swung(tank):
    """Energy of a mass on the spring of the tool, less what is in the tank, with a stiffness that pumps. At its
    peaks the spring becomes soft, where it is short it becomes stiff: parametric resonance."""
    controller = firm("ur5_robot", stiffness=400.0, rotational_stiffness=30.0, damping=1.0, rotational_damping=0.1,
                      tank_size=tank, tank_share=0.9)  # fmt: skip
    robot = controller.robot
    q = np.array(POSTURES["ur5_robot"])
    controller.base = controller.pose(q)[:3, :3]
    theta = controller.chart(q)
    theta[5] += 0.02
    v, dt, soft, hard = np.zeros(6), 1e-3, np.array([30.0] * 3 + [200.0] * 3), np.array([30.0] * 3 + [1000.0] * 3)
    out = controller.step(q, v, theta)
    begin = out.energy[0]
    energies = []
    for _ in range(3000):
        moving_out = out.error[3:] @ out.slip[3:] > 0.0  # error and its rate have one sign
        controller.want_stiffness(soft if moving_out else hard)
        out = controller.step(q, v, theta, dt=dt)
        q, v = midpoint(robot, q, v, out.tau, dt)
        energies.append(out.energy[0] + robot.kinetic_energy(q, v))
    return begin, np.array(energies)


def midpoint(robot, q, v, tau, dt):
    """A step, with the torque held."""
    half = v + 0.5 * dt * robot.forward_dynamics(q, v, tau)
    a = robot.forward_dynamics(q + 0.5 * dt * v, half, tau)
    return q + dt * half, v + dt * a


def test_a_stiffness_that_pumps_gains_no_energy_with_a_tank():
    begin, energies = swung(0.0)
    assert energies.max() > 3.0 * begin  # it does without one
    begin, energies = swung(0.05)
    assert energies.max() < 1.05 * (begin + 0.05)


def test_a_softer_spring_fills_the_tank():
    controller = firm("ur5_robot", tank_size=10.0, tank_share=0.0)
    scene = Scene("ur5_robot", controller)
    out = controller.step(scene.q, scene.v, scene.theta, dt=1e-3)
    controller._output.tank[:] = 1.0
    before = out.energy[0]
    controller.want_stiffness(0.5 * controller.stiffness)
    out = controller.step(scene.q, scene.v, scene.theta, dt=1e-3)
    np.testing.assert_allclose(out.energy[0], 0.5 * before)
    np.testing.assert_allclose(out.tank[0], 1.0 + 0.5 * before)
    controller.want_stiffness(100.0 * controller.stiffness)  # more than there is
    out = controller.step(scene.q, scene.v, scene.theta, dt=1e-3)
    np.testing.assert_allclose(out.tank[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(out.energy[0], before + 1.0)


# --- limits of joints, singular postures ---------------------------------------------------------------


def test_joints_are_kept_from_their_limits():
    controller = firm("panda", joint_limit_torque=(10.0,) * 7, joint_limit_margin=0.2)
    model = controller.robot.model
    q = np.array(POSTURES["panda"])
    joint = model.joint("panda_joint4")
    for inside, torque in ((0.25, 0.0), (0.1, -5.0), (0.0, -10.0)):
        q[3] = joint.limits.upper - inside
        theta = controller.chart(q)
        out = controller.step(q, np.zeros(7), theta)
        np.testing.assert_allclose((out.tau - controller.robot.gravity(q))[3], torque, atol=1e-9)


@pytest.mark.parametrize("q", [[0.1, -1.2, 1.6, -1.97, -0.02, 0.3], [0.1, -1.2, 0.05, -1.0, -1.4, 0.3]])
def test_near_singular_postures_the_arm_is_kept_from_them_by_a_potential(q):
    controller = firm("ur5_robot", least_manipulability=0.02, singularity_stiffness=5.0)
    q, still = np.array(q), np.zeros(6)

    def potential(q):
        measure = controller.step(q, still, controller.chart(q)).manipulability[0]
        return np.array([0.5 * 5.0 * max(0.0, 1.0 - measure / 0.02) ** 2])

    out = controller.step(q, still, controller.chart(q))
    slope = along_tangent(controller.robot.model, q, potential)[0]
    assert np.abs(slope).max() > 0.1
    assert_close(out.tau - controller.robot.gravity(q), -slope, 1e-6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "q", [[0.1, -1.2, 1.6, -1.97, 0.0, 0.3], [0.0] * 6, [0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0]]
)
def test_at_singular_postures_torques_stay_within_reason(law, q):
    controller = firm("ur5_robot", law, largest_mass=100.0, largest_inertia=10.0)
    q = np.array(q)
    rng = np.random.default_rng(0)
    for _ in range(5):
        near, v = q + 1e-3 * rng.standard_normal(6), 0.1 * rng.standard_normal(6)
        theta = controller.chart(near)
        out = controller.step(near, v, theta + 1e-3 * rng.standard_normal(6), rate=0.05 * rng.standard_normal(6))
        assert np.abs(out.tau - controller.robot.gravity(near)).max() < 150.0


# --- what does not fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stiffness", "reason"),
    [
        (np.ones(5), "6 or 6 x 6"),
        ([1.0, 1.0, np.nan, 1.0, 1.0, 1.0], "not finite"),
        ([1.0, 1.0, -1.0, 1.0, 1.0, 1.0], "eigenvalue"),
        (np.eye(6) + np.eye(6, k=1), "not symmetric"),
    ],
)
def test_what_is_no_stiffness_is_refused(stiffness, reason):
    with pytest.raises(ValueError, match=reason):
        stiffness_matrix(stiffness)


@pytest.mark.parametrize(
    ("gains", "reason"),
    [
        ({"stiffness": (1.0, 2.0)}, "stiffness has 2 values"),
        ({"rotational_damping": -1.0}, "rotational_damping = -1"),
        ({"largest_mass": 0.0}, "largest_mass = 0"),
        ({"tank_share": 1.5}, "out of nothing"),
        ({"joint_limit_torque": (1.0, 2.0)}, "joint_limit_torque has 2 values for 6 joints"),
        ({"stiffness_time": np.inf}, "stiffness_time = inf"),
    ],
)
def test_what_are_no_gains_is_refused_and_changes_nothing(gains, reason):
    controller = firm("ur5_robot")
    with pytest.raises(ValueError, match=reason):
        controller.tuning(gains=CartesianGains(**gains))


def test_other_tunings_are_tried_before_they_are_used():
    controller = firm("ur5_robot")
    scene = Scene("ur5_robot", controller)
    before = controller.step(scene.q, scene.v, scene.theta).tau.copy()
    stiff = controller.tuning(gains=CartesianGains(stiffness=5e3), effort_limits=1e9, velocity_limits=1e9)
    tried = controller.attempt(scene.q, scene.v, scene.theta, stiff)
    assert np.abs(tried.tau - before).max() > 10.0
    np.testing.assert_array_equal(controller.step(scene.q, scene.v, scene.theta).tau, before)
    with pytest.raises((ValueError, ArithmeticError)):
        controller.step(scene.q * np.nan, scene.v, scene.theta)
    np.testing.assert_array_equal(controller.step(scene.q, scene.v, scene.theta).tau, before)


def test_unknown_frames_and_laws_are_named():
    with pytest.raises(KeyError, match="tool1"):
        CartesianController(robot_of("ur5_robot"), "tool1")
    with pytest.raises(ValueError, match="law is 'hybrid'"):
        CartesianController(robot_of("ur5_robot"), "tool0", law="hybrid")
    with pytest.raises(ValueError, match="turn with 'flange'"):
        Compliance(carrier="flange").numbers()


def test_efforts_within_their_limits_are_what_the_law_wants_to_the_last_digit():
    """Seen: "effort limit reached" of an arm at rest, since torques were shortened by a factor of one."""
    robot = robot_of("panda")
    controller, rng = CartesianController(robot, ARMS["panda"][0]), np.random.default_rng(0)
    for _ in range(50):
        q = robot.model.lower + (robot.model.upper - robot.model.lower) * rng.uniform(0.3, 0.7, robot.model.nq)
        controller.reset()
        out = controller.step(q, np.zeros(robot.model.nv), controller.chart(q))
        np.testing.assert_array_equal(out.tau, out.wanted)
