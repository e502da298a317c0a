# SPDX-License-Identifier: Apache-2.0
"""Simulation of elastic joints: exact for the linear case, second order, energy kept, stiff springs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.driven import driven_tree

from rbd_dynamics import Drive, ModelBuilder, Robot, joints
from rbd_dynamics.actuators import DrivenRobot, Motor
from rbd_dynamics.constraints import placement
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.model import Limits
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


# --- stops and contacts -------------------------------------------------------------------------

G = 9.81


def lift(*, K=None, B=0.5, M=2.0, D=0.0, lower=-9.0, upper=9.0, slides=False):
    """A mass that moves up and down, and aside with slides, by a motor, behind a spring or not."""
    drive = None if K is None else Drive(stiffness=K, damping=D, gear_ratio=40.0)
    builder = ModelBuilder("lift")
    motor = {"armature": 0.0 if K is None else B, "drive": drive}
    limits = Limits(lower=lower, upper=upper)
    if slides:
        builder.add_body("carriage", None, joints.Prismatic((0, 0, 1)), joint_name="z", mass=0.5)
        builder.add_body(
            "mass", "carriage", joints.Prismatic((1, 0, 0)), joint_name="x", mass=M, limits=limits, **motor
        )
    else:
        builder.add_body("mass", None, joints.Prismatic((0, 0, 1)), joint_name="z", mass=M, limits=limits, **motor)
    return DrivenRobot(builder.build())


def ball(**options):
    return Contact("floor", "mass", radius=0.1, **options)


@pytest.mark.parametrize("K", [None, 800.0, 1e9])
def test_a_stop_holds_what_the_motor_pushes_against_it(K):
    """The spring carries the motor's torque, the stop the rest; free of it, it moves at once."""
    simulation = DrivenSimulation(lift(K=K, D=20.0, upper=0.02), q=[0.0], step=1e-3)
    simulation.command([2.0 * G + 40.0])
    simulation.advance(1500)
    assert simulation.q[0] == pytest.approx(0.02, abs=1e-12)
    assert simulation.v[0] == pytest.approx(0.0, abs=1e-9)
    if K is not None:
        assert K * (simulation.theta[0] - simulation.q[0]) == pytest.approx(2.0 * G + 40.0, rel=1e-6)
    simulation.command([0.0])
    simulation.advance(30 if K != 800.0 else 100)
    assert simulation.q[0] < 0.02 - 1e-4


def test_without_stops_it_moves_on():
    simulation = DrivenSimulation(lift(upper=0.02), q=[0.0], stops=False)
    simulation.command([2.0 * G + 40.0])
    simulation.advance(100)
    assert simulation.q[0] == pytest.approx(0.5 * 20.0 * 0.1**2, rel=1e-9)


@pytest.mark.parametrize("K", [None, 800.0])
def test_what_falls_does_so_as_without_a_floor_and_then_lies_on_it(K):
    """The midpoint rule is exact until it lands; then the floor carries what the motor does not."""
    robot = lift(K=K, D=20.0)
    simulation = DrivenSimulation(robot, q=[0.2], theta=None if K is None else [0.2], contacts=[ball()])
    free = DrivenSimulation(robot, q=[0.2], theta=None if K is None else [0.2])
    simulation.advance(100)
    free.advance(100)
    np.testing.assert_array_equal(simulation.q, free.q)
    if K is None:
        assert simulation.q[0] == pytest.approx(0.2 - 0.5 * G * 0.1**2, abs=1e-12)
    simulation.command([5.0])
    simulation.advance(2000)
    assert simulation.q[0] == pytest.approx(0.1, abs=1e-6)
    np.testing.assert_allclose(simulation.contact_forces, [[2.0 * G - 5.0, 0.0, 0.0]], atol=1e-4)
    assert simulation.contacts[0].name == "floor"
    if K is not None:
        assert simulation.theta[0] - simulation.q[0] == pytest.approx(5.0 / K, rel=1e-5)


def test_a_ball_rebounds_as_far_as_its_restitution_says():
    simulation = DrivenSimulation(lift(), q=[0.2], contacts=[ball(restitution=0.5)], step=1e-4)
    speeds = []
    for _ in range(2000):
        before = float(simulation.v[0])
        simulation.advance()
        if simulation.v[0] > 0.0 > before:
            speeds.append(-float(simulation.v[0]) / before)
    assert speeds[0] == pytest.approx(0.5, rel=2e-3)


@pytest.mark.parametrize("pushing", [7.0, 9.0])
def test_friction_holds_what_the_spring_pushes_up_to_its_cone(pushing):
    """2.5 kg on friction 0.3 hold 7.36 N. What slides gains momentum of links and motor as forces say, exactly."""
    M, B, K, mu = 2.0, 0.5, 800.0, 0.3
    robot = lift(K=K, B=B, M=M, D=20.0, slides=True)
    simulation = DrivenSimulation(robot, q=[0.1, 0.0], contacts=[ball(friction_coefficient=mu)])
    held = mu * (M + 0.5) * G
    if pushing < held:
        for k in range(300):  # so slowly that the spring does not swing
            simulation.command([0.0, pushing * min(1.0, k / 200.0)])
            simulation.advance(10)
        assert abs(simulation.v[1]) < 1e-6 and abs(simulation.q[1]) < 1e-6
        assert K * (simulation.theta[0] - simulation.q[1]) == pytest.approx(pushing, rel=1e-3)
        assert abs(simulation.contact_forces[0, 1:]).max() == pytest.approx(pushing, rel=1e-3)
        return
    simulation.v[1] = simulation.theta_velocity[0] = 1.0
    simulation.command([0.0, pushing])
    simulation.advance(200)
    momentum = M * simulation.v[1] + B * simulation.theta_velocity[0]
    assert momentum == pytest.approx((M + B) * 1.0 + 0.2 * (pushing - held), rel=1e-9)


def test_stops_and_contacts_act_together():
    """A mass is pushed along the floor against a stop: the floor carries weight, the stop what friction does not."""
    robot = lift(K=800.0, slides=True, upper=0.03)
    simulation = DrivenSimulation(robot, q=[0.1, 0.0], contacts=[ball(friction_coefficient=0.3)])
    simulation.command([0.0, 40.0])
    simulation.advance(1000)
    np.testing.assert_allclose(simulation.q, [0.1, 0.03], atol=1e-9)
    assert simulation.contact_forces[0, 0] == pytest.approx(2.5 * G, rel=1e-6)


@pytest.mark.parametrize(("stiffness", "far"), [({}, 5e-4), ({"j0": 1e8, "j1": 1e8}, 8e-3)])
def test_a_stiff_drive_in_contact_is_the_rigid_robot(stiffness, far):
    """An arm with a ball at its end that falls on the floor, against `Simulation`: both are of first order there, and
    when in a step it lands makes a difference where springs are between."""
    from rbd_dynamics.simulation import Simulation, SimulationOptions

    builder = ModelBuilder("arm")
    for k in range(2):
        builder.add_body(
            f"link {k}", f"link {k - 1}" if k else None, joints.Revolute((0, 1, 0)), joint_name=f"j{k}", mass=1.0,
            com=(0.2, 0.0, 0.0), inertia=0.01 * np.eye(3), placement=(0.4 * k, 0.0, 0.0 if k else 0.3), armature=0.1,
        )  # fmt: skip
    model = builder.build()
    tip = [Contact("tip", "link 1", placement=placement((0.4, 0.0, 0.0)), radius=0.02, friction_coefficient=0.4)]
    options = SimulationOptions(start_braked=False, step=2e-4, integrator="rk4")
    rigid = Simulation(model, q=[0.1, 0.2], contacts=tip, options=options)
    driven = DrivenSimulation(DrivenRobot(model, stiffness=stiffness), q=[0.1, 0.2], contacts=tip, step=2e-4)
    for _ in range(4):
        rigid.advance(700)
        driven.advance(700)
        np.testing.assert_allclose(driven.q, rigid.q, atol=far)
    assert rigid.contact_forces[0, 0] > 1.0
    np.testing.assert_allclose(driven.contact_forces, rigid.contact_forces, rtol=2e-2, atol=0.05)


def test_shapes_are_contacts_too():
    """A sphere on a plane is the ball on the floor, also of a model without the drive that the robot has."""
    pytest.importorskip("coal")
    from rbd_dynamics.collisions import CollisionSet, CollisionShape

    robot = lift(K=800.0)
    shapes = [CollisionShape("floor", "world", "plane"), CollisionShape("ball", "mass", "sphere", size=(0.1,))]
    runs = []
    for contacts in ([ball()], CollisionSet(robot.model, shapes), CollisionSet(robot.links.model, shapes)):
        simulation = DrivenSimulation(robot, q=[0.15], contacts=contacts)
        simulation.advance(400)
        runs.append((*simulation.q, *simulation.theta, *simulation.contact_forces[0]))
    np.testing.assert_allclose(runs[1:], [runs[0]] * 2, atol=1e-9)


def test_contacts_that_make_no_sense():
    robot = lift()
    with pytest.raises(TypeError, match="contacts must be a list of Contacts"):
        DrivenSimulation(robot, contacts=["floor"])
    with pytest.raises(KeyError, match="no frame named 'none'"):
        DrivenSimulation(robot, contacts=[Contact("a", "none")])
    with pytest.raises(ValueError, match="another model"):
        DrivenSimulation(robot, contacts=ContactSet(lift(slides=True).model, [ball()]))
    with pytest.raises(ValueError, match="step 'short' is not a number"):
        DrivenSimulation(robot, step="short")
    with pytest.raises(TypeError, match="motors: joint 'joint': expected a Motor, not 3"):
        DrivenSimulation(robot, motors={"joint": 3})
    with pytest.raises(TypeError, match="stiffness: expected {joint: number}, not 5.0"):
        DrivenRobot(robot.model, stiffness=5.0)
    with pytest.raises(TypeError, match="stops 1 is neither"):
        DrivenSimulation(robot, stops=1)
    with pytest.raises(TypeError, match="robot must be a DrivenRobot, not Robot"):
        DrivenSimulation(robot.links)


def test_the_benchmark_of_actuators_runs(monkeypatch, capsys):
    benchmark = pytest.importorskip("benchmarks.simulation.actuators")
    from rbd_dynamics.common.example_robots import robots

    if "ur5" not in robots() and "ur5_robot" not in robots():
        pytest.skip("needs the UR5 of example-robot-data")
    monkeypatch.setattr(benchmark, "BLOCKS", 1)
    monkeypatch.setattr(benchmark, "CALLS", 1)
    benchmark.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11 and all("µs" in line for line in lines[2:])
