# SPDX-License-Identifier: Apache-2.0
"""Simulation of elastic joints: exact for the linear case, second order, energy kept, stiff springs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.driven import driven_tree

from rbd_dynamics import Drive, ModelBuilder, Robot, joints
from rbd_dynamics.actuators import DrivenRobot, Motor
from rbd_dynamics.simulation import DrivenSimulation, SimulationDiverged


def slider(M=2.0, B=0.5, K=800.0, D=0.0):
    """A mass on a rail behind a spring, without gravity: linear."""
    builder = ModelBuilder("slider", gravity=(0, 0, 0))
    drive = Drive(stiffness=K, damping=D, gear_ratio=40.0)
    builder.add_body("mass", None, joints.Prismatic((1, 0, 0)), joint_name="rail", mass=M, armature=B, drive=drive)
    return DrivenRobot(builder.build(), backend="reference")


def test_a_vibration_is_as_the_midpoint_rule_has_it():
    """The relative vibration of frequency w goes on by 2 atan(w h / 2) in each step, its size stays."""
    M, B, K, h = 2.0, 0.5, 800.0, 5e-3
    simulation = DrivenSimulation(slider(M, B, K), step=h, theta=[0.01])
    angle = 2.0 * np.arctan(0.5 * h * np.sqrt(K * (1 / M + 1 / B)))
    for k in range(1, 400):
        simulation.advance()
        assert simulation.theta[0] - simulation.q[0] == pytest.approx(0.01 * np.cos(k * angle), abs=1e-13)
    assert simulation.time == pytest.approx(399 * h)
    assert M * simulation.v[0] + B * simulation.theta_velocity[0] == pytest.approx(0.0, abs=1e-13)


def arm(gyroscopics, **options):
    pair = driven_tree(11, n=3, base=options.pop("base", "fixed"))
    return DrivenRobot(
        pair.model, damping=dict.fromkeys(pair.elastic, 0.0), gyroscopics=gyroscopics, backend="reference", **options
    )


@pytest.mark.parametrize("gyroscopics", [False, True])
def test_the_error_falls_with_the_square_of_the_step(gyroscopics):
    robot = arm(gyroscopics)
    ends = []
    for parts in (1, 2, 4):
        simulation = DrivenSimulation(robot, step=4e-3 / parts, q=[0.3, -0.4, 0.5])
        simulation.command([3.0, -2.0, 1.0])
        simulation.advance(25 * parts)
        ends.append(np.concatenate([simulation.q, simulation.theta]))
    coarse, fine = np.abs(ends[0] - ends[1]).max(), np.abs(ends[1] - ends[2]).max()
    assert coarse / fine == pytest.approx(4.0, rel=0.2)


def test_steps_follow_forward_dynamics():
    """A short step's acceleration is that of the state."""
    robot = arm(True)
    simulation = DrivenSimulation(robot, step=1e-5, q=[0.3, -0.4, 0.5])
    simulation.command([3.0, -2.0, 1.0])
    simulation.advance(3)
    state = simulation.q, simulation.v, simulation.theta, simulation.theta_velocity
    a, acceleration = robot.forward_dynamics(*state, np.array([3.0, -2.0, 1.0]))
    simulation.advance()
    np.testing.assert_allclose(simulation.a, a, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(simulation.theta_acceleration, acceleration, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("gyroscopics", [False, True])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_energy_neither_grows_nor_fades(gyroscopics, base):
    robot = arm(gyroscopics, base=base)
    start = robot.model.random(3)
    simulation = DrivenSimulation(robot, step=1e-3, q=start)
    simulation.v[-3:] = [1.0, -2.0, 1.5]
    first = simulation.energy
    kinetic = abs(first - robot.energy(start, 0 * simulation.v, simulation.theta, 0 * simulation.theta))
    found = []
    for _ in range(20):
        simulation.advance(10)
        found.append(simulation.energy)
    assert max(abs(np.array(found) - first)) < 2e-3 * kinetic


def test_damping_takes_the_energy_that_it_should():
    simulation = DrivenSimulation(slider(D=4.0), step=1e-3, theta=[0.01])
    before, lost = simulation.energy, 0.0
    for _ in range(300):
        slip = simulation.theta_velocity - simulation.v
        simulation.advance()
        middle = 0.5 * (slip + simulation.theta_velocity - simulation.v)
        lost += 4.0 * 1e-3 * float(middle[0]) ** 2
    assert before - simulation.energy == pytest.approx(lost, rel=1e-10)
    assert lost > 0.5 * before


def test_springs_of_any_stiffness_are_stepped_over():
    """Of 1e10 N m/rad, with 1 ms: the rigid robot's motion."""
    pair = driven_tree(11, n=3)
    stiff = DrivenRobot(
        pair.model, stiffness=dict.fromkeys(pair.elastic, 1e10), damping=dict.fromkeys(pair.elastic, 0.0),
        backend="reference",
    )  # fmt: skip
    start, tau = np.array([0.3, -0.4, 0.5]), np.array([3.0, -2.0, 1.0])
    simulation = DrivenSimulation(stiff, q=start)
    simulation.command(tau)
    rigid, q, v = Robot(pair.model, backend="reference"), start.copy(), np.zeros(3)
    for _ in range(100):  # the midpoint rule's predictor is enough for what is not stiff
        a = rigid.forward_dynamics(q, v, tau)
        middle = rigid.forward_dynamics(q + 5e-4 * v, v + 5e-4 * a, tau)
        q, v = q + 1e-3 * (v + 5e-4 * a), v + 1e-3 * middle
        simulation.advance()
    assert np.abs(simulation.q - q).max() < 1e-5 * np.abs(q - start).max()


def test_at_rest_springs_hold_against_gravity():
    robot = arm(False)
    q = np.array([0.3, -0.4, 0.5])
    simulation = DrivenSimulation(robot, q=q)
    simulation.command(robot.links.gravity(q))
    simulation.advance(50)
    np.testing.assert_allclose(simulation.q, q, atol=1e-10)


def test_motors_give_what_they_have_at_their_speed():
    motor = Motor(torque_constant=0.1, gear_ratio=40.0, stall_torque=1.0, no_load_speed=100.0)
    simulation = DrivenSimulation(slider(D=5.0), step=1e-2, motors={"rail": motor})
    simulation.command([1e3])
    simulation.advance(1)
    assert simulation.tau == pytest.approx([40.0])
    simulation.advance(120)
    assert 40.0 * simulation.v[0] == pytest.approx(100.0, rel=1e-3)
    assert simulation.tau == pytest.approx([0.0], abs=0.1)


def test_what_makes_no_sense_is_refused():
    robot = slider()
    for wrong in ({"step": 0.0}, {"theta": [1.0, 2.0]}, {"theta": [np.nan]}, {"q": [[0.0]]}):
        with pytest.raises(ValueError):
            DrivenSimulation(robot, **wrong)
    with pytest.raises(KeyError, match="wrist"):
        DrivenSimulation(robot, motors={"wrist": Motor(torque_constant=1.0)})
    simulation = DrivenSimulation(robot)
    for wrong in ([1.0, 2.0], [np.inf]):
        with pytest.raises(ValueError, match="1 finite numbers"):
            simulation.command(wrong)
    with pytest.raises(ValueError, match="whole number"):
        simulation.advance(-1)
    simulation.command([1e12])
    with pytest.raises(SimulationDiverged, match="faster than"):
        simulation.advance(10)
    assert np.isfinite(simulation.q).all()
