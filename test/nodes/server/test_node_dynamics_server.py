# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics_server` over real DDS: the library's numbers in the requester's order, refusals with the culprit."""

from __future__ import annotations

import math
import re
from functools import partial

import numpy as np
import pytest
from helpers.models.arms import ARM, FLOATING_ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros, wait_until

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
ORDER = [2, 0, 1]  # of the requests
NAMES = [JOINTS[k] for k in ORDER]
SAMPLES = [1, 7]


@pytest.fixture(scope="module")
def server(ros):
    with ros.start("dynamics_server", {"robot_description": ARM}) as node:
        node.is_active()
        yield node


@pytest.fixture(scope="module")
def call(ros, server):
    from rbd_dynamics_interfaces import srv

    clients = {}

    def call(name, request=None, **fields):
        kind = getattr(srv, name)
        if name not in clients:
            service = "".join("_" + c.lower() if c.isupper() else c for c in name)[1:]
            clients[name] = ros.client(kind, f"dynamics_server/{service}")
        return clients[name](request or kind.Request(**{k: ordered(v) for k, v in fields.items()}))

    return call


def ordered(value):
    """An array in robot order as a request has it."""
    return value[..., ORDER].ravel().tolist() if isinstance(value, np.ndarray) else value


def read(flat, samples):
    """An array of a response in robot order."""
    result = np.empty((samples, 3))
    result[:, ORDER] = np.reshape(flat, (samples, 3))
    return result


def states(samples):
    return np.random.default_rng(samples).uniform(-1, 1, (4, samples, 3))


def wrench(frame, torque, force):
    from geometry_msgs.msg import WrenchStamped

    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.torque.x, message.wrench.torque.y, message.wrench.torque.z = map(float, torque)
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = map(float, force)
    return message


@pytest.mark.parametrize("n", SAMPLES)
def test_inverse_dynamics(call, robot, n):
    q, v, a, _ = states(n)
    answer = call("InverseDynamics", joint_names=NAMES, positions=q, velocities=v, accelerations=a)
    assert answer.success, answer.message
    assert list(answer.joint_names) == NAMES
    expected = robot.inverse_dynamics(q, v, a) + robot.friction_torque(v)
    np.testing.assert_allclose(read(answer.efforts, n), expected, rtol=1e-12, atol=1e-12)
    answer = call("InverseDynamics", joint_names=NAMES, positions=q, velocities=v, terms=["coriolis"])
    np.testing.assert_allclose(read(answer.efforts, n), robot.coriolis(q, v), rtol=1e-9, atol=1e-12)
    answer = call("InverseDynamics", positions=q[:, :].ravel().tolist())  # robot order, at rest
    np.testing.assert_allclose(np.reshape(answer.efforts, (n, 3)), robot.gravity(q), rtol=1e-12, atol=1e-12)


def test_inverse_dynamics_agrees_with_pinocchio(call):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(ARM)
    q, v, a = np.random.default_rng(5).uniform(-1, 1, (3, 3))
    angles = [q[0], math.cos(q[1]), math.sin(q[1]), q[2]]
    expected = pin.rnea(model, model.createData(), np.array(angles), v, a)
    terms = ["inertia", "coriolis", "gravity"]
    answer = call("InverseDynamics", joint_names=NAMES, positions=q, velocities=v, accelerations=a, terms=terms)
    np.testing.assert_allclose(read(answer.efforts, 1)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("n", SAMPLES)
def test_external_wrenches_for_all_or_for_each_sample(call, robot, n):
    q, v, a, _ = states(n)
    each = np.random.default_rng(8).normal(size=(n, 6))
    shared = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    messages = [wrench("hand", w[:3], w[3:]) for w in each] + [wrench("fore", shared[:3], shared[3:])]
    fields = {"joint_names": NAMES, "positions": q, "velocities": v, "external_wrenches": messages}
    f_ext = {"hand": each, "fore": shared}
    answer = call("InverseDynamics", accelerations=a, terms=["inertia", "coriolis", "gravity"], **fields)
    assert answer.success, answer.message
    expected = robot.inverse_dynamics(q, v, a, f_ext=f_ext)
    np.testing.assert_allclose(read(answer.efforts, n), expected, rtol=1e-11, atol=1e-12)
    answer = call("ForwardDynamics", efforts=a, **fields)
    expected = robot.forward_dynamics(q, v, a - robot.friction_torque(v), f_ext=f_ext)
    np.testing.assert_allclose(read(answer.accelerations, n), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", SAMPLES)
def test_forward_dynamics_undoes_inverse_dynamics(call, robot, n):
    q, v, a, _ = states(n)
    efforts = call("InverseDynamics", joint_names=NAMES, positions=q, velocities=v, accelerations=a).efforts
    request = {"joint_names": NAMES, "positions": q, "velocities": v, "efforts": list(efforts)}
    answer = call("ForwardDynamics", **request)
    assert answer.success, answer.message
    np.testing.assert_allclose(read(answer.accelerations, n), a, rtol=1e-9)


@pytest.mark.parametrize("n", SAMPLES)
def test_hybrid_dynamics_completes_both_vectors(call, robot, n):
    q, v, a, tau = states(n)
    prescribed = np.array([True, False, True])
    a_given, tau_given = np.where(prescribed, a, math.nan), np.where(prescribed, math.nan, tau)
    flags = prescribed[ORDER].tolist()
    answer = call(
        "HybridDynamics", joint_names=NAMES, positions=q, velocities=v, accelerations=a_given, efforts=tau_given,
        prescribed=flags,
    )  # fmt: skip
    assert answer.success, answer.message
    a_all, tau_all = read(answer.accelerations, n), read(answer.efforts, n)
    np.testing.assert_array_equal(a_all[:, prescribed], a[:, prescribed])
    np.testing.assert_array_equal(tau_all[:, ~prescribed], tau[:, ~prescribed])
    expected = robot.inverse_dynamics(q, v, a_all) + robot.friction_torque(v)
    np.testing.assert_allclose(tau_all, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", SAMPLES)
def test_dynamics_terms(call, robot, n):
    q, v, a, _ = states(n)
    answer = call("DynamicsTerms", joint_names=NAMES, positions=q, velocities=v)
    assert answer.success, answer.message
    mass = np.reshape(answer.mass_matrix, (n, 3, 3))
    np.testing.assert_allclose(mass, robot.mass_matrix(q)[:, ORDER][:, :, ORDER], rtol=1e-12)
    np.testing.assert_allclose(read(answer.coriolis, n), robot.coriolis(q, v), rtol=1e-12)
    np.testing.assert_allclose(read(answer.gravity, n), robot.gravity(q), rtol=1e-12)
    np.testing.assert_array_equal(read(answer.spring, n), np.zeros((n, 3)))  # a URDF has none
    np.testing.assert_allclose(read(answer.friction, n), robot.friction_torque(v), rtol=1e-12)
    np.testing.assert_allclose(answer.kinetic_energy, robot.kinetic_energy(q, v), rtol=1e-12)
    np.testing.assert_allclose(answer.potential_energy, robot.potential_energy(q), rtol=1e-12)
    total = np.einsum("nij,nj->ni", mass, a[:, ORDER])
    sums = read(total, n) + sum(read(x, n) for x in (answer.coriolis, answer.gravity, answer.friction))
    efforts = call("InverseDynamics", joint_names=NAMES, positions=q, velocities=v, accelerations=a).efforts
    np.testing.assert_allclose(sums, read(efforts, n), rtol=1e-10, atol=1e-10)


def trajectory(names, times, positions, velocities=None):
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=names)
    message.header.frame_id = "kept"
    for k, t in enumerate(times):
        point = JointTrajectoryPoint(positions=positions[k].tolist())
        if velocities is not None:
            point.velocities = velocities[k].tolist()
        point.time_from_start = Duration(sec=int(t), nanosec=round((t - int(t)) * 1e9))
        message.points.append(point)
    return message


def test_trajectory_comes_back_complete(call, robot):
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    times = np.linspace(0.0, 2.0, 81)
    q = np.array([0.5, 1.0, 0.1]) * np.sin(2 * times)[:, None]
    v = np.array([0.5, 1.0, 0.1]) * 2 * np.cos(2 * times)[:, None]
    a = -4 * q
    request = FillTrajectoryEfforts.Request(trajectory=trajectory(NAMES, times, q[:, ORDER], v[:, ORDER]))
    answer = call("FillTrajectoryEfforts", request)
    assert answer.success, answer.message
    assert answer.trajectory.header.frame_id == "kept"
    assert list(answer.trajectory.joint_names) == NAMES
    efforts = np.array([point.effort for point in answer.trajectory.points])
    accelerations = np.array([point.accelerations for point in answer.trajectory.points])
    np.testing.assert_allclose(accelerations, a[:, ORDER], atol=2e-3)
    expected = robot.inverse_dynamics(q, v, a) + robot.friction_torque(v)
    np.testing.assert_allclose(efforts, expected[:, ORDER], atol=5e-3)
    # what it says is exactly what belongs to the accelerations it gives back
    full = np.empty_like(a)
    full[:, ORDER] = accelerations
    expected = robot.inverse_dynamics(q, v, full) + robot.friction_torque(v)
    np.testing.assert_allclose(efforts, expected[:, ORDER], rtol=1e-10, atol=1e-10)
    positions_only = FillTrajectoryEfforts.Request(trajectory=trajectory(NAMES, times, q[:, ORDER]))
    points = call("FillTrajectoryEfforts", positions_only).trajectory.points
    np.testing.assert_allclose([p.velocities for p in points[20:-20]], v[20:-20, ORDER], atol=1e-4)


def test_joints_that_a_trajectory_does_not_name_stand_where_told_or_seen(ros, call, robot):
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    part = trajectory(["elbow"], [0.0, 1.0, 2.0], np.array([[0.0], [1.0], [0.5]]))

    def fill(others=None):
        others = others or JointState()
        request = FillTrajectoryEfforts.Request(trajectory=part, other_joints=others, terms=["gravity"])
        return call("FillTrajectoryEfforts", request)

    answer = fill()
    assert not answer.success
    assert "'shoulder'" in answer.message
    assert not answer.trajectory.points
    told = JointState(name=["slide", "shoulder"], position=[0.1, 0.7])

    def check(answer, q):
        assert answer.success, answer.message
        for point in answer.trajectory.points:
            q[1] = point.positions[0]
            np.testing.assert_allclose(point.effort, robot.gravity(q)[1:2], rtol=1e-12)

    check(fill(told), np.array([0.7, 0.0, 0.1]))
    states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
    states.publish(JointState(name=JOINTS, position=[0.3, 0.0, 0.05]))
    wait_until(lambda: fill().success, "the joint state to arrive")
    check(fill(), np.array([0.3, 0.0, 0.05]))
    check(fill(JointState(name=["slide"], position=[0.15])), np.array([0.3, 0.0, 0.15]))


def test_inverse_dynamics_of_a_group(ros, robot):
    """The others are at rest where the request says, else where joint states say."""
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    from rbd_dynamics_interfaces.srv import InverseDynamics

    group, index = ["elbow", "shoulder"], np.array([1, 0])
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, 4, 2))
    with ros.start("dynamics_server", {"robot_description": ARM}, name="grouped") as node:
        node.is_active()
        client = ros.client(InverseDynamics, "grouped/inverse_dynamics")

        def ask(slide=None, **changed):
            told = {} if slide is None else {"other_joints": JointState(name=["slide"], position=[slide])}
            fields = {"positions": q.ravel().tolist(), "velocities": v.ravel().tolist()} | changed
            fields |= {"accelerations": a.ravel().tolist(), "terms": ["inertia", "coriolis", "gravity"]}
            return client(joint_names=group, **(fields | told))

        def check(answer, slide):
            assert answer.success, answer.message
            assert list(answer.joint_names) == group
            whole = np.zeros((3, 4, 3))
            whole[0] = [0.0, 0.0, slide]
            for all_joints, some in zip(whole, (q, v, a)):
                all_joints[:, index] = some
            expected = robot.inverse_dynamics(*whole)[:, index]
            np.testing.assert_allclose(np.reshape(answer.efforts, (4, 2)), expected, rtol=1e-12)

        assert "'slide' is neither in joint_names nor in other_joints" in ask().message
        check(ask(0.1), 0.1)
        assert "'slide' is not finite" in ask(math.nan).message
        assert "velocities has 12 numbers: expected 8" in ask(0.1, velocities=[0.0] * 12).message
        unknown = JointState(name=["slider"], position=[0.0])
        assert "slider" in ask(other_joints=unknown).message
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        states.publish(JointState(name=["slide"], position=[0.05]))
        wait_until(lambda: ask().success, "the joint state to arrive")
        check(ask(), 0.05)
        check(ask(0.15), 0.15)


ZERO = np.zeros((1, 3))
GOOD = {"joint_names": NAMES, "positions": ZERO}


@pytest.mark.parametrize(
    ("service", "fields", "culprit"),
    [
        ("InverseDynamics", {"joint_names": ["shoulder", "elbow", "wrist"], "positions": ZERO}, "'wrist'"),
        ("ForwardDynamics", {"joint_names": ["shoulder", "elbow"], "positions": [0.0, 0.0]}, "'slide' is missing"),
        ("InverseDynamics", {"joint_names": ["elbow", "elbow", "slide"], "positions": ZERO}, "'elbow' is named twice"),
        ("InverseDynamics", {"joint_names": NAMES}, "positions has 0 numbers"),
        ("InverseDynamics", {"joint_names": NAMES, "positions": [0.0] * 4}, "positions has 4 numbers"),
        ("InverseDynamics", {**GOOD, "velocities": [0.0] * 6}, "velocities has 6 numbers"),
        ("InverseDynamics", {**GOOD, "accelerations": [0.0] * 2}, "accelerations has 2 numbers"),
        ("InverseDynamics", {**GOOD, "accelerations": [0.0, math.nan, 0.0]}, "shoulder"),
        ("InverseDynamics", {"joint_names": NAMES, "positions": [math.inf, 0.0, 0.0]}, "slide"),
        ("InverseDynamics", {**GOOD, "terms": ["magic"]}, "'magic'"),
        ("ForwardDynamics", {**GOOD, "efforts": [0.0] * 4}, "efforts has 4 numbers"),
        ("ForwardDynamics", {**GOOD, "efforts": [0.0, 0.0, math.nan]}, "elbow"),
        ("ForwardDynamics", {**GOOD, "velocities": [1e300] * 3}, "not finite"),
        ("HybridDynamics", {**GOOD, "prescribed": [True, False]}, "prescribed has 2 flags"),
        ("HybridDynamics", {**GOOD, "velocities": [math.nan, 0.0, 0.0]}, "slide"),
        ("DynamicsTerms", {"joint_names": ["a"], "positions": [0.0]}, "'a'"),
        ("DynamicsTerms", {**GOOD, "velocities": [math.nan, 0.0, 0.0]}, "slide"),
    ],
)
def test_bad_request_is_refused_with_the_culprit(call, service, fields, culprit):
    answer = call(service, **fields)
    assert not answer.success
    assert culprit in answer.message
    for name in answer.get_fields_and_field_types():
        if name not in ("success", "message"):
            assert len(getattr(answer, name)) == 0
    assert call("InverseDynamics", **GOOD).success


@pytest.mark.parametrize(
    ("entries", "culprit"),
    [
        ([("foot", 0.0)], "foot"),
        ([("", 0.0)], "names no frame"),
        ([("hand", math.nan)], "'hand' is not finite"),
        ([("base", 1.0)], "a wrench at 'base' does nothing: it is fixed to the world"),
        ([("hand", 0.0)] * 3, "3 entries for frame 'hand'"),
    ],
)
def test_bad_wrench_is_refused(call, entries, culprit):
    messages = [wrench(frame, [x] * 3, [0.0] * 3) for frame, x in entries]
    answer = call("InverseDynamics", **{**GOOD, "positions": np.zeros((2, 3))}, external_wrenches=messages)
    assert not answer.success
    assert culprit in answer.message


@pytest.mark.parametrize(
    ("names", "times", "positions", "culprit"),
    [
        ([], [], [], "names no joints"),
        (NAMES, [], [], "no points"),
        (["shoulder", "elbow", "wrist"], [0.0, 1.0], np.zeros((2, 3)), "'wrist'"),
        (NAMES, [0.0, 0.0], np.zeros((2, 3)), "point 1"),
        (NAMES, [0.0, 1.0], np.zeros((2, 2)), "point 0 has 2 positions"),
        (NAMES, [0.0, 1.0], np.array([[0.0] * 3, [0.0, math.nan, 0.0]]), "point 1: positions of joint 'shoulder'"),
    ],
)
def test_bad_trajectory_is_refused_with_the_culprit(call, names, times, positions, culprit):
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    request = FillTrajectoryEfforts.Request(trajectory=trajectory(names, times, positions))
    answer = call("FillTrajectoryEfforts", request)
    assert not answer.success
    assert culprit in answer.message


def load(frame, mass, moment=0.0, com=(0.0, 0.0, 0.1)):
    from geometry_msgs.msg import InertiaStamped

    message = InertiaStamped()
    message.header.frame_id = frame
    message.inertia.m, message.inertia.ixx = float(mass), moment
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = com
    return message


def test_payload_is_attached_replaced_and_detached(call, robot):
    loaded = Robot(robot.model)
    q = np.array([[0.3, 0.2, 0.1]])
    for mass in (2.0, 1.0, 0.0):
        answer = call("SetPayload", payload=load("hand", mass))
        assert answer.success, answer.message
        assert answer.total_mass == pytest.approx(robot.model.mass + mass)
        loaded.set_payload("hand", mass, com=(0.0, 0.0, 0.1))
        efforts = call("InverseDynamics", joint_names=NAMES, positions=q).efforts
        np.testing.assert_allclose(read(efforts, 1), loaded.gravity(q), rtol=1e-12)


@pytest.mark.parametrize(
    ("payload", "culprit"),
    [(("foot", 1.0), "foot"), (("", 1.0), "frame_id"), (("hand", -1.0), "negative"), (("hand", 1.0, 1.0), "inertia"),
     (("hand", math.nan), "mass"), (("base", 1.0), "fixed to the world")],
)  # fmt: skip
def test_impossible_payload_is_refused(call, robot, payload, culprit):
    answer = call("SetPayload", payload=load(*payload))
    assert not answer.success
    assert culprit in answer.message
    efforts = call("InverseDynamics", joint_names=NAMES, positions=ZERO).efforts
    np.testing.assert_allclose(read(efforts, 1), robot.gravity(ZERO), rtol=1e-12)


def test_friction_that_terms_switch_acts_in_all_services_and_loads_stay(ros, robot):
    """Another engine is made aside: meanwhile the old one answers, and afterwards no answer has friction in it."""
    from rbd_dynamics_interfaces import srv

    q, v, a, _ = states(1)
    rough = Robot(robot.model, friction=True)
    with ros.start("dynamics_server", {"robot_description": ARM}, name="switching") as node:
        node.says("active", 60.0)
        kinds = {"inverse_dynamics": srv.InverseDynamics, "forward_dynamics": srv.ForwardDynamics,
                 "dynamics_terms": srv.DynamicsTerms, "set_payload": srv.SetPayload}  # fmt: skip
        call = {name: ros.client(kind, f"switching/{name}") for name, kind in kinds.items()}
        assert call["set_payload"](payload=load("hand", 1.5)).success
        for each in (robot := Robot(robot.model), rough):
            each.set_payload("hand", 1.5, com=(0.0, 0.0, 0.1))
        fields = {"positions": q[0].tolist(), "velocities": v[0].tolist()}
        drag = robot.friction_torque(v[0])

        def answers_with(expected):
            return np.allclose(call["dynamics_terms"](**fields).friction, expected)

        for terms, acting in ((["inertia", "coriolis", "gravity"], robot), (["gravity", "friction"], rough)):
            (result,) = ros.set_parameters("switching", terms=terms)
            assert result.successful, result.reason
            wait_until(partial(answers_with, drag * acting.friction), "the other engine")
            answer = call["forward_dynamics"](**fields, efforts=a[0].tolist())
            expected = acting.forward_dynamics(q[0], v[0], a[0])
            np.testing.assert_allclose(answer.accelerations, expected, rtol=1e-11, atol=1e-12)
            answer = call["inverse_dynamics"](**fields, accelerations=a[0].tolist())
            expected = robot.gravity(q[0]) + drag if acting.friction else robot.inverse_dynamics(q[0], v[0], a[0])
            np.testing.assert_allclose(answer.efforts, expected, rtol=1e-11, atol=1e-12)
        ready = node.log.count("ready for")
        ros.set_parameters("switching", terms=["friction"])  # at once, by the same engine
        answer = call["inverse_dynamics"](**fields)
        np.testing.assert_allclose(answer.efforts, drag, rtol=1e-11, atol=1e-12)
        assert node.log.count("ready for") == ready == 3


def test_floating_base_takes_poses_and_twists(ros):
    from rbd_dynamics_interfaces.srv import InverseDynamics

    parameters = {"robot_description": FLOATING_ARM, "base": "floating", "terms": ["inertia", "coriolis", "gravity"]}
    with ros.start("dynamics_server", parameters, name="floating") as node:
        node.is_active()
        robot = Robot(load_urdf(FLOATING_ARM, base="floating"))
        names = [*JOINTS, "root_joint"]
        rng = np.random.default_rng(11)
        q = robot.model.random(rng)
        v, a = rng.normal(size=(2, robot.model.nv))
        call = ros.client(InverseDynamics, "floating/inverse_dynamics")
        answer = call(
            joint_names=names, positions=np.r_[q[7:], q[:7]].tolist(), velocities=np.r_[v[6:], v[:6]].tolist(),
            accelerations=np.r_[a[6:], a[:6]].tolist(),
        )  # fmt: skip
        assert answer.success, answer.message
        tau = robot.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(answer.efforts, np.r_[tau[6:], tau[:6]], rtol=1e-11, atol=1e-11)
        q[3:7] *= 3.0
        answer = call(joint_names=names, positions=np.r_[q[7:], q[:7]].tolist())
        assert not answer.success
        assert "quaternion of joint 'root_joint'" in answer.message


def test_without_a_robot_requests_are_refused(ros):
    from rbd_dynamics_interfaces.srv import InverseDynamics

    with ros.start("dynamics_server", {}, name="waiting"):
        answer = ros.client(InverseDynamics, "waiting/inverse_dynamics")(positions=[0.0])
        assert not answer.success
        assert "no robot_description" in answer.message


def pose_message(pose):
    from geometry_msgs.msg import Point, Pose, Quaternion
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
    return Pose(position=Point(**dict(zip("xyz", pose[:3, 3].tolist()))), orientation=Quaternion(x=x, y=y, z=z, w=w))


def test_inverse_kinematics(call, robot):
    """Positions in the order of the request, of poses that are reached; the nearest, and how near, of one beyond."""
    tip, far = robot.model.frame_names[-1], np.eye(4)
    far[0, 3] = 50.0
    q = 0.09 * states(2)[0]  # within limits
    wanted = [*robot.pose(q, tip), far]
    answer = call(
        "InverseKinematics", joint_names=NAMES, frames=[tip], poses=[pose_message(pose) for pose in wanted],
        positions=q[0] + 0.1, restarts=3,
    )  # fmt: skip
    assert answer.success, answer.message
    assert list(answer.reached) == [True, True, False] and answer.joint_names == NAMES
    np.testing.assert_allclose(robot.pose(read(answer.positions, 3)[:2], tip), wanted[:2], atol=2e-6)
    assert max(answer.distances[:2]) <= 1e-6 and max(answer.rotation_errors[:2]) <= 1e-6
    assert answer.distances[2] == pytest.approx(
        np.linalg.norm(robot.pose(read(answer.positions, 3)[2], tip)[:3, 3] - far[:3, 3]), rel=1e-6
    )


def test_inverse_kinematics_of_a_group_leaves_the_others_where_they_are(call, robot):
    from sensor_msgs.msg import JointState

    tip, q = robot.model.frame_names[-1], 0.09 * states(1)[0][0]
    wanted = robot.pose(q, tip)
    other = JointState(name=[JOINTS[0]], position=[float(q[0])])
    answer = call(
        "InverseKinematics", joint_names=JOINTS[1:], frames=[tip], poses=[pose_message(wanted)], other_joints=other
    )
    assert answer.success and answer.reached[0] and answer.joint_names == list(JOINTS[1:])
    np.testing.assert_allclose(robot.pose([q[0], *answer.positions], tip), wanted, atol=2e-6)
    near = call(
        "InverseKinematics",
        frames=[tip],
        poses=[pose_message(wanted)],
        posture=[float(x) for x in q],
        positions=[0.0] * 3,
    )
    assert near.success and near.reached[0]


@pytest.mark.parametrize(
    ("fields", "culprit"),
    [
        ({"frames": []}, "frames: expected different frames, at least one"),
        ({"frames": ["nowhere"]}, "nowhere"),
        ({"poses": 3}, r"poses has 3 poses for 2 frames"),
        ({"positions": [0.0] * 6}, "positions holds 2 samples: expected one"),
        ({"posture": [0.0] * 6}, "posture holds 2 samples: expected one"),
        ({"tolerance": -1.0}, "tolerance -1 is not a positive number"),
        ({"restarts": 3_000_000}, "restarts 3000000 of 1 samples are more than 2000000 in all"),
        ({"length": 2.0}, "poses: entry 0 refused: its quaternion has the length 2"),
    ],
)
def test_a_bad_request_of_inverse_kinematics_is_refused_with_the_culprit(call, robot, fields, culprit):
    poses = [pose_message(np.eye(4)) for _ in range(fields.pop("poses", 2))]
    poses[0].orientation.w *= fields.pop("length", 1.0)
    frames = fields.pop("frames", robot.model.frame_names[-2:])
    answer = call("InverseKinematics", frames=list(frames), poses=poses, **fields)
    assert not answer.success and re.search(culprit, answer.message), answer.message
