# SPDX-License-Identifier: Apache-2.0
"""Energies, centre of mass and momentum: against Pinocchio, and as conservation laws."""

from __future__ import annotations

import numpy as np
from helpers.checks.oracles import (
    SAME_FILE,
    assert_close,
    derivative,
    every_backend,
    every_robot,
    random_states,
    real_robot,
    trees,
)
from helpers.models.robots import load_twin, needs_pinocchio, random_state

from rbd_dynamics import Robot


@needs_pinocchio
@every_robot
def test_energies_and_center_of_mass_agree_with_pinocchio(name, base, backend):
    import pinocchio as pin

    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    fixed = robot.model.fixed_inertia  # what is fixed to the world they leave out
    q, v, _ = random_states(robot.model, np.random.default_rng(9), 3)
    kinetic, potential, center = robot.kinetic_energy(q, v), robot.potential_energy(q), robot.center_of_mass(q)
    for k in range(3):
        theirs = pin.computeKineticEnergy(twin.pinocchio, twin.data, twin.q(q[k]), twin.v(v[k]))
        assert_close(kinetic[k], theirs, SAME_FILE)
        theirs = pin.computePotentialEnergy(twin.pinocchio, twin.data, twin.q(q[k]))
        theirs -= np.dot(robot.model.gravity, fixed.moment)
        assert_close(potential[k], theirs, SAME_FILE)
        if robot.model.nv:
            moving = robot.model.mass - fixed.mass
            theirs = moving * pin.centerOfMass(twin.pinocchio, twin.data, twin.q(q[k])) + fixed.moment
            assert_close(center[k], theirs / robot.model.mass, SAME_FILE)


@every_backend
def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q, v, _ = random_state(robot.model, rng)
        assert_close(robot.kinetic_energy(q, v), v @ robot.mass_matrix(q) @ v / 2)
        found = robot.kinetic_energy(q, v)
        assert found.shape == ()


@every_backend
def test_gravity_torque_is_the_slope_of_the_potential_energy(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q, v, _ = random_state(robot.model, rng)
        slope = derivative(lambda t, r=robot, q=q, v=v: r.potential_energy(r.model.integrate(q, t * v)), 1e-3)
        scale = np.abs(robot.gravity(q)) @ np.abs(v)
        assert abs(slope - robot.gravity(q) @ v) <= 1e-9 * scale


@every_backend
def test_the_energy_rises_by_the_power_of_the_torque(backend):
    """d/dt (T + U) = v . tau along the motion that forward dynamics predicts."""
    for robot, rng in trees(backend, mimic=0.3):
        q, v, tau = random_state(robot.model, rng)
        a = robot.forward_dynamics(q, v, tau)

        def energy(t, robot=robot, q=q, v=v, a=a):
            # to first order in t, which is all that the rate at 0 depends on
            at, speed = robot.model.integrate(q, t * v), v + t * a
            return robot.kinetic_energy(at, speed) + robot.potential_energy(at)

        terms = np.abs(v) @ (np.abs(tau) + np.abs(robot.gravity(q)))
        assert abs(derivative(energy, 1e-3) - v @ tau) <= 1e-7 * terms


@every_backend
def test_the_center_of_mass_balances_gravity(backend):
    """The weight times the centre of mass is the potential energy."""
    for robot, rng in trees(backend):
        q = robot.model.random(rng)
        potential = -robot.model.mass * np.dot(robot.model.gravity, robot.center_of_mass(q))
        assert abs(robot.potential_energy(q) - potential) <= 1e-12 * (1 + abs(potential))


@needs_pinocchio
def test_without_forces_a_floating_robot_keeps_its_momentum():
    """The rate of the momentum under internal torques is the weight."""
    for name in ("solo12", "iris_simple"):
        robot = real_robot(name, "floating", "reference")
        rng = np.random.default_rng(10)
        q, v, tau = random_state(robot.model, rng)
        tau[:6] = 0.0  # nothing pushes the base
        a = robot.forward_dynamics(q, v, tau)
        rate = derivative(lambda t, r=robot, q=q, v=v, a=a: r.momentum(r.model.integrate(q, t * v), v + t * a), 1e-3)
        weight = robot.model.mass * np.array(robot.model.gravity)
        np.testing.assert_allclose(rate, [0, 0, 0, *weight], atol=1e-7 * robot.model.mass * 10)


def test_a_free_rigid_body_obeys_euler():
    """J wdot + w x J w = m, and p'' = g + f / mass, in theory.md section 1."""
    from rbd_dynamics import load_urdf

    body = """<robot name="body"><link name="base"><inertial><origin xyz="0 0 0"/><mass value="3"/>
      <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0.02" iyz="-0.03"/></inertial></link></robot>"""
    robot = Robot(load_urdf(body, base="floating"), backend="reference")
    J = np.array([[0.2, 0.01, 0.02], [0.01, 0.3, -0.03], [0.02, -0.03, 0.4]])
    rng = np.random.default_rng(0)
    q, v, tau = random_state(robot.model, rng)
    w, u = v[:3], v[3:]
    R = robot.pose(q, "base")[:3, :3]
    a = robot.forward_dynamics(q, v, tau)
    assert_close(a[:3], np.linalg.solve(J, tau[:3] - np.cross(w, J @ w)))
    assert_close(a[3:], tau[3:] / 3 + R.T @ [0, 0, -9.81] - np.cross(w, u))
