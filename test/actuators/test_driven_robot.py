# SPDX-License-Identifier: Apache-2.0
"""Robots with elastic joints and rotors against trees whose rotors are bodies, and closed forms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.models.driven import driven_tree

from rbd_dynamics import Drive, ModelBuilder, Robot, joints
from rbd_dynamics.actuators import DrivenRobot


def relative(found, expected):
    return np.max(np.abs(found - expected)) / (1.0 + np.max(np.abs(expected)))


@pytest.mark.parametrize("rigid", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_complete_model_is_that_of_a_tree_with_rotors_as_bodies(seed, rigid):
    pair = driven_tree(seed, rigid=rigid)
    robot = DrivenRobot(pair.model, gyroscopics=True, backend="reference")
    twin = Robot(pair.twin, backend="reference")
    rng = np.random.default_rng(seed)
    nv, m = pair.model.nv, len(robot.elastic)
    assert robot.elastic == tuple(pair.elastic)
    q, v, a, tau = rng.normal(size=(4, nv))
    theta, speed, acceleration = rng.normal(size=(3, m))
    state = pair.on_twin(q, theta), pair.on_twin(v, speed)

    # inverse: torques of links and motors
    links, own = pair.of_twin(twin.inverse_dynamics(*state, pair.on_twin(a, acceleration)), inverse=True)
    found = robot.drive_torques(q, v, a, speed, acceleration)
    assert relative(found[0], links) < 1e-12
    if m:
        assert relative(found[1], own) < 1e-12

    # forward
    spring = robot.stiffness * (theta - q[robot.positions]) + robot.damping * (speed - v[robot.dofs])
    on_links = tau.copy()
    on_links[robot.dofs] = spring
    expected = twin.forward_dynamics(*state, pair.on_twin(on_links, tau[robot.dofs] - spring, inverse=True))
    found = robot.forward_dynamics(q, v, theta, speed, tau)
    for one, other in zip(found, pair.of_twin(expected)):
        if len(other):
            assert relative(one, other) < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_on_a_floating_base_and_with_a_load(seed):
    pair = driven_tree(seed, n=4, rigid=0.3, base="floating")
    robot = DrivenRobot(pair.model, gyroscopics=True, backend="reference")
    twin = Robot(pair.twin, backend="reference")
    for each in (robot.links, twin):
        each.set_payload("link3", 1.5, com=(0.1, 0.2, 0.3))
    rng = np.random.default_rng(seed)
    nv, m = pair.model.nv, len(robot.elastic)
    q, v, tau = pair.model.random(rng), rng.normal(size=nv), rng.normal(size=nv)
    theta, speed = rng.normal(size=(2, m))
    base = slice(0, 6)

    def both(links, motors, inverse=False):
        found = np.zeros(pair.twin.nv)
        found[base] = links[base]
        for joint in pair.model.joints[1:]:
            found[pair.twin.joint(joint.name).v_index] = links[joint.v_index]
        for name, value in zip(robot.elastic, motors):
            ratio = pair.ratio[name]
            found[pair.twin.joint(f"{name} rotor").v_index] = value / ratio if inverse else value * ratio
        return found

    at = np.zeros(pair.twin.nq)
    at[:7] = q[:7]
    at[7:] = both(np.concatenate([np.zeros(6), q[7:]]), theta)[6:]
    on_links = tau.copy()
    spring = on_links[robot.dofs] = robot.spring_torque(q, v, theta, speed)
    torque = both(on_links, tau[robot.dofs] - spring, inverse=True)
    expected = twin.forward_dynamics(at, both(v, speed), torque)
    a, acceleration = robot.forward_dynamics(q, v, theta, speed, tau)
    assert relative(both(a, acceleration), expected) < 1e-10
    energy = twin.kinetic_energy(at, both(v, speed)) + twin.potential_energy(at)
    stored = 0.5 * robot.stiffness @ (theta - q[robot.positions]) ** 2
    assert relative(robot.energy(q, v, theta, speed), energy + stored) < 1e-12


@pytest.mark.parametrize("gyroscopics", [False, True])
def test_forward_dynamics_obeys_the_whole_mass_matrix(gyroscopics):
    pair = driven_tree(3, rigid=0.3)
    robot = DrivenRobot(pair.model, gyroscopics=gyroscopics, backend="reference")
    rng = np.random.default_rng(0)
    nv, m = pair.model.nv, len(robot.elastic)
    q, v, tau = rng.normal(size=(3, nv))
    theta, speed = rng.normal(size=(2, m))
    bias = np.concatenate(robot.drive_torques(q, v, np.zeros(nv), speed, np.zeros(m)))
    spring = robot.spring_torque(q, v, theta, speed)
    given = np.concatenate([tau, tau[robot.dofs] - spring])
    given[robot.dofs] = spring
    M = robot.mass_matrix(q)
    assert (
        relative(np.concatenate(robot.forward_dynamics(q, v, theta, speed, tau)), np.linalg.solve(M, given - bias))
        < 1e-10
    )
    assert np.linalg.eigvalsh(M)[0] > 0.0
    assert np.any(M[:nv, nv:]) == gyroscopics


def test_without_gyroscopics_links_and_motors_are_apart():
    """Spong's reduced model, from `Robot` alone."""
    pair = driven_tree(1)
    robot = DrivenRobot(pair.model, backend="reference")
    rng = np.random.default_rng(1)
    q, v, theta, speed, tau = rng.normal(size=(5, pair.model.nv))
    bare = Robot(pair.model, backend="reference")
    spring = robot.stiffness * (theta - q) + robot.damping * (speed - v)
    B = np.array([joint.armature for joint in pair.model.joints])
    M = bare.mass_matrix(q) - np.diag(B)
    a, acceleration = robot.forward_dynamics(q, v, theta, speed, tau)
    assert relative(a, np.linalg.solve(M, spring - bare.bias(q, v))) < 1e-10
    assert relative(acceleration, (tau - spring) / B) < 1e-12


def sine(t, rng, n):
    """q(t) and four derivatives."""
    size, speed, phase = rng.uniform(0.2, 1.0, n), rng.uniform(0.5, 3.0, n), rng.uniform(0, 6, n)
    return [size * speed**k * np.sin(speed * t + phase + k * np.pi / 2) for k in range(5)]


def test_motors_of_a_pendulum_are_as_in_the_closed_form():
    m, d, g, K, B = 2.0, 0.5, 9.81, 300.0, 0.4
    robot = pendulum(m, d, K, B)
    motion = [np.array([x]) for x in (0.3, -1.2, 2.0, 3.0, -5.0)]
    q, v, a, j, s = (float(x[0]) for x in motion)
    I, w = m * d * d, m * g * d
    found = robot.inverse_dynamics(*motion)
    torque = I * a + w * np.sin(q)
    first, second = I * j + w * np.cos(q) * v, I * s + w * (np.cos(q) * a - np.sin(q) * v * v)
    acceleration = a + second / K
    assert found.theta == pytest.approx([q + torque / K], rel=1e-14)
    assert found.velocity == pytest.approx([v + first / K], rel=1e-14)
    assert found.acceleration == pytest.approx([acceleration], rel=1e-14)
    assert found.tau == pytest.approx([torque + B * acceleration], rel=1e-14)


def pendulum(m, d, K, B, damping=0.0, gravity=(0, 0, -9.81)):
    builder = ModelBuilder("pendulum", gravity=gravity)
    drive = Drive(stiffness=K, damping=damping, gear_ratio=50.0)
    builder.add_body(
        "bob", None, joints.Revolute((0, 1, 0)), mass=m, com=(0, 0, -d), armature=B, drive=drive, joint_name="hinge"
    )
    return DrivenRobot(builder.build(), backend="reference")


def test_damping_is_as_in_the_frequency_response():
    """In a steady vibration theta is the response of first order to the link's."""
    I, K, D, B, w, t = 0.5, 300.0, 20.0, 0.4, 9.0, 0.7
    robot = pendulum(2.0, 0.5, K, B, D, gravity=(0, 0, 0))
    q = [(1j * w) ** k * np.exp(1j * w * t) for k in range(5)]
    ratio = 1.0 - I * w * w / (K + 1j * w * D)
    tau = (-I * w * w - B * w * w * ratio) * q[0]
    found = robot.inverse_dynamics(*([x.real] for x in q), theta=[(ratio * q[0]).real])
    assert found.velocity == pytest.approx([(1j * w * ratio * q[0]).real], rel=1e-12)
    assert found.acceleration == pytest.approx([(-w * w * ratio * q[0]).real], rel=1e-12)
    assert found.tau == pytest.approx([tau.real], rel=1e-12)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_forward_dynamics_undoes_inverse_dynamics(base):
    pair = driven_tree(5, n=4, rigid=0.3, base=base)
    robot = DrivenRobot(pair.model, damping=dict.fromkeys(pair.elastic, 0.0), backend="reference")
    rng = np.random.default_rng(5)
    nv = pair.model.nv
    q, rates = pair.model.random(rng), rng.normal(size=(4, nv))
    motion = robot.inverse_dynamics(q, *rates)
    a, acceleration = robot.forward_dynamics(q, rates[0], motion.theta, motion.velocity, motion.tau)
    assert relative(a, rates[1]) < 1e-10
    assert relative(acceleration, motion.acceleration) < 1e-10
    # theta's rates, by differences along the motion of these derivatives
    h = 1e-3

    def theta(t):
        v, a, jerk, snap = rates
        steps = 200  # of Gauss-Legendre's fourth order on the group
        at = q
        for k in range(steps):
            mid = t / steps * (k + 0.5)
            at = pair.model.integrate(at, t / steps * (v + a * mid + jerk * mid**2 / 2 + snap * mid**3 / 6))
        speed = v + a * t + jerk * t**2 / 2 + snap * t**3 / 6
        bare = a + jerk * t + snap * t**2 / 2
        return robot.inverse_dynamics(at, speed, bare, np.zeros(nv), np.zeros(nv)).theta

    before, now, after = theta(-h), theta(0.0), theta(h)
    assert relative((after - before) / (2 * h), motion.velocity) < 1e-4
    assert relative((after - 2 * now + before) / h**2, motion.acceleration) < 1e-3


def test_a_stiff_spring_is_a_rigid_joint():
    pair = driven_tree(2)
    rng = np.random.default_rng(2)
    rates = rng.normal(size=(5, pair.model.nv))
    rigid = Robot(pair.model, backend="reference").inverse_dynamics(*rates[:3])
    errors = []
    for K in (1e5, 1e6, 1e7):
        robot = DrivenRobot(
            pair.model, stiffness=dict.fromkeys(pair.elastic, K), damping=dict.fromkeys(pair.elastic, 0.0),
            backend="reference",
        )  # fmt: skip
        errors.append(relative(robot.inverse_dynamics(*rates).tau, rigid))
    assert errors[-1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05) == errors[1] / errors[2]


def test_compiled_and_in_batches_it_is_the_same():
    pair = driven_tree(4, n=3, rigid=0.3)
    rng = np.random.default_rng(4)
    nv, m = pair.model.nv, len(pair.elastic)
    q, v, a, jerk, snap, tau = rng.normal(size=(6, 7, nv))
    theta, speed, acceleration = rng.normal(size=(3, 7, m))
    for gyroscopics in (False, True):
        fast, plain = (DrivenRobot(pair.model, gyroscopics=gyroscopics, backend=name) for name in (None, "reference"))
        fast.compile()
        calls = [("forward_dynamics", (q, v, theta, speed, tau)), ("drive_torques", (q, v, a, speed, acceleration))]
        calls += [("mass_matrix", (q,)), ("spring_torque", (q, v, theta, speed)), ("energy", (q, v, theta, speed))]
        for name, inputs in calls:
            many = getattr(fast, name)(*inputs)
            for k in range(7):
                one = getattr(plain, name)(*(x[k] for x in inputs))
                for x, y in zip(*(part if isinstance(part, tuple) else (part,) for part in (many, one))):
                    assert relative(x[k], y) < 1e-12
        again = pickle.loads(pickle.dumps(fast)).mass_matrix(q)
        np.testing.assert_array_equal(again, fast.mass_matrix(q))
        if not gyroscopics:
            many = fast.inverse_dynamics(q, v, a, jerk, snap, theta=theta)
            one = plain.inverse_dynamics(q[3], v[3], a[3], jerk[3], snap[3], theta=theta[3])
            for x, y in zip(many, one):
                assert relative(x[3], y) < 1e-12


def test_wrong_arguments_are_named():
    pair = driven_tree(4, n=3, rigid=0.3)
    robot = DrivenRobot(pair.model, backend="reference")
    nv, m = pair.model.nv, len(robot.elastic)
    zeros, theta = np.zeros(nv), np.zeros(m)
    with pytest.raises(ValueError, match="theta has shape"):
        robot.forward_dynamics(zeros, zeros, np.zeros(m + 1), theta, zeros)
    with pytest.raises(ValueError, match="theta of element 0 is nan"):
        robot.forward_dynamics(zeros, zeros, np.full(m, np.nan), theta, zeros)
    with pytest.raises(ValueError, match=f"joint '{robot.elastic[0]}' has damping, so that theta has to be given"):
        robot.inverse_dynamics(*np.zeros((5, nv)))
    with pytest.raises(KeyError, match="no algorithm named 'dance'"):
        robot.compile("dance")
    with pytest.raises(TypeError, match="needs a Model"):
        DrivenRobot("arm")
    with pytest.raises(TypeError, match="neither true nor false"):
        DrivenRobot(pair.model, gyroscopics="yes")


def test_without_elastic_joints_it_is_the_robot():
    pair = driven_tree(4, n=3, rigid=1.0)
    robot, plain = DrivenRobot(pair.model), Robot(pair.model)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    a, none = robot.forward_dynamics(q, v, [], [], tau)
    assert relative(a, plain.forward_dynamics(q, v, tau)) < 1e-12
    assert none.shape == (0,)
    motion = robot.inverse_dynamics(q, v, a, 0 * q, 0 * q)
    assert relative(motion.tau, tau) < 1e-10


def test_rigid_joints_feel_their_rotors():
    """Inverse dynamics of geared rotors, as mimic joints of the twin, and the energy that they hold."""
    pair = driven_tree(6, n=4, rigid=1.0)
    robot, twin = DrivenRobot(pair.model, gyroscopics=True, backend="reference"), Robot(pair.twin, backend="reference")
    q, v, a, tau = np.random.default_rng(0).normal(size=(4, 4))
    motion = robot.inverse_dynamics(q, v, a, 0 * q, 0 * q)
    assert relative(motion.tau, twin.inverse_dynamics(q, v, a)) < 1e-12
    assert relative(motion.tau, Robot(pair.model, backend="reference").inverse_dynamics(q, v, a)) > 1e-3
    assert relative(robot.forward_dynamics(q, v, [], [], tau)[0], twin.forward_dynamics(q, v, tau)) < 1e-10
    expected = twin.kinetic_energy(q, v) + twin.potential_energy(q)
    assert relative(robot.energy(q, v, [], []), expected) < 1e-12


def test_a_motor_without_a_drive_is_an_armature():
    builder = ModelBuilder("arm")
    for k, drive in enumerate((None, Drive(stiffness=500.0, gear_ratio=20.0))):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, joints.Revolute((1, 0, 0)), joint_name=f"joint{k}", mass=1.0,
            com=(0, 0, 0.3), armature=0.4, drive=drive,
        )  # fmt: skip
    robot = DrivenRobot(builder.build(), gyroscopics=True, backend="reference")
    assert robot.elastic == ("joint1",) and not robot.drives.rigid
    M, links = robot.mass_matrix([0.1, 0.2]), Robot(builder.build(), backend="reference").mass_matrix([0.1, 0.2])
    np.testing.assert_allclose(M[:2, :2], links - np.diag([0.0, 0.4]), rtol=1e-14)
    np.testing.assert_allclose(M[2], [0.4 / 20.0, 0.0, 0.4], rtol=1e-14)
