# SPDX-License-Identifier: Apache-2.0
"""Hold, approach, press and stop: the supervisor of the hybrid controller, with MuJoCo as the robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
pytestmark = pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data")

from rbd_dynamics.control.hybrid.checks import HybridChecks  # noqa: E402
from rbd_dynamics.control.hybrid.controller import HybridController  # noqa: E402
from rbd_dynamics.control.hybrid.limits import HybridLimits  # noqa: E402
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside  # noqa: E402
from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor  # noqa: E402
from rbd_dynamics.control.hybrid.touch.approach import Approach  # noqa: E402
from rbd_dynamics.control.motion.desired_motion import DesiredMotion  # noqa: E402
from rbd_dynamics.control.motion.trajectory import Point, Waypoints  # noqa: E402
from rbd_dynamics.robot import Robot  # noqa: E402

MS = 1_000_000  # ns
LIMITS = HybridLimits(contact_force=0.5)


class Cell:
    """A robot, its supervisor and a clock."""

    def __init__(self, height=0.0, limits=LIMITS):
        self.robot, self.plant, controller, q, _ = pressing.scene(pressing.Case())
        if height:
            J = self.robot.jacobian(q, pressing.TOOL)
            R = self.robot.pose(q, pressing.TOOL)[:3, :3]
            q = q + np.linalg.pinv(J) @ np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, height]])
            self.plant.reset(q)
        self.tasks = controller.task.row_names
        self.supervisor = HybridSupervisor(controller, DesiredMotion(self.tasks), limits)
        self.supervisor.desired[:] = 10.0
        self.now = 1_000_000_000
        self.sensor_works = True
        self.sensed = self.now
        self.forces, self.torques = [], []

    @property
    def measured(self):
        return np.array([self.plant.normal_force])

    def run(self, seconds, bias=0.0):
        for _ in range(round(1000 * seconds)):
            q, v = self.plant.state
            if self.sensor_works:
                self.sensed = self.now
            tau = self.supervisor.torque(self.now, q, v, self.measured + bias, self.sensed).copy()
            assert np.isfinite(tau).all()
            self.forces.append(self.plant.normal_force)
            self.torques.append(tau)
            self.plant.advance(tau, 1e-3)
            self.now += MS
        return self

    def engage(self):
        self.supervisor.engage(self.now, self.measured, self.sensed)
        return self

    def move(self, *points):
        waypoints = [Point(t, [0.0, 0.0, 0.0, x, y], [], []) for t, x, y in points]
        theta = self.supervisor.output.theta
        self.supervisor.motion.follow(
            Waypoints.of(list(self.tasks), waypoints, positions=True), self.now, self.now, theta, 0.0 * theta
        )


def test_holds_until_it_is_engaged():
    cell = Cell(height=0.02)
    start = cell.plant.state[0]
    cell.run(0.5)
    assert cell.supervisor.mode == "hold" and cell.supervisor.reason == "not engaged"
    np.testing.assert_allclose(cell.plant.state[0], start, atol=1e-5)


def test_a_robot_that_is_moved_while_it_is_held_is_held_where_it_is_then():
    """By its brakes, by hand or by others: 0.8 rad of a Panda's shoulder would be drawn back at 2.7 times its limit."""
    cell = Cell(height=0.02).run(0.05)
    q, still = cell.plant.state[0], np.zeros(7)
    name = cell.robot.model.joint_names[1]

    def asked(at):
        cell.now += MS
        return cell.supervisor.torque(cell.now, at, still, cell.measured, cell.now).copy() - cell.robot.gravity(at)

    moved = np.eye(7)[1]
    assert np.abs(asked(q - 0.19 * moved)[1]) > 10.0 and cell.supervisor.reason == "not engaged"
    np.testing.assert_allclose(asked(q - 0.8 * moved), 0.0, atol=1e-9)
    said = f"the robot was moved while it was held: joint {name!r} is 0.8 from where it was held"
    assert cell.supervisor.mode == "hold" and said in cell.supervisor.reason
    assert np.abs(asked(q - 0.7 * moved)[1]) > 10.0  # it is drawn there from now on
    cell.supervisor.limits = replace(LIMITS, hold_stiffness=0.0)
    np.testing.assert_allclose(asked(q - 0.1 * moved), 0.0, atol=1e-9)
    cell.supervisor.limits = LIMITS  # what holds it now begins where it is
    np.testing.assert_allclose(asked(q - 0.1 * moved), 0.0, atol=1e-9)
    assert said in cell.supervisor.reason  # until the next motion
    assert cell.engage().supervisor.reason == ""
    cell.supervisor.begin_anew()
    cell.supervisor.limits = replace(LIMITS, hold_tolerance=0.0)
    asked(q)
    assert np.abs(asked(q - 0.8 * moved)[1]) > 40.0


def test_what_stopped_it_is_over_when_it_begins_anew():
    supervisor = Cell().run(0.1).engage().supervisor
    supervisor.stop("it slipped")
    supervisor.hold_anew("silent")  # no reason of its own: it held already
    assert supervisor.reason == "it slipped"
    supervisor.begin_anew()
    assert (supervisor.mode, supervisor.reason) == ("hold", "activated anew")


def test_finds_the_surface_presses_and_follows():
    cell = Cell(height=0.01).run(0.1).engage()
    assert cell.supervisor.mode == "approach"
    cell.run(1.5)
    assert cell.supervisor.mode == "press"
    cell.run(1.0)
    np.testing.assert_allclose(cell.forces[-100:], 10.0, rtol=0.02)
    assert max(cell.forces) < 13.0  # no blow where it touches first
    cell.move((1.0, 0.05, 0.0), (2.0, 0.05, 0.05))
    cell.run(3.0)
    np.testing.assert_allclose(cell.supervisor.output.theta[3:], [0.05, 0.05], atol=1e-4)
    np.testing.assert_allclose(cell.forces[-3000:], 10.0, rtol=0.02)


def test_a_posture_is_singular_where_rows_move_less_than_a_hundredth_of_the_joints():
    robot, _, controller, start, _ = pressing.scene(pressing.Case())
    checks, still = HybridChecks(controller, np.ones(1, dtype=bool)), np.zeros(7)

    def posture(elbow):
        return np.array([*start[:3], elbow, *start[4:]])

    def least(elbow):
        sets = controller.constraints, controller.task
        rows = [robot.constraint_rows(posture(elbow), still, each).A for each in sets]
        return np.linalg.svd(np.vstack(rows), compute_uv=False)[-1]

    assert not checks.conditioning(start, still)
    bent, stretched = brentq(lambda x: least(x) - 0.011, -1.0, -0.5), brentq(lambda x: least(x) - 0.009, -1.0, -0.5)
    assert not checks.conditioning(posture(bent), still)
    assert checks.conditioning(posture(stretched), still).startswith("singular")


def test_engaging_in_contact_makes_no_jump():
    cell = Cell().run(0.3).engage()  # it rests on the surface, hardly pressing
    if cell.supervisor.mode == "approach":
        cell.run(0.5)
    cell.run(1.5)
    cell.supervisor.stop("to try again")
    cell.run(0.2)
    felt = cell.forces[-1]
    assert felt > 1.0
    cell.engage().run(0.3)  # presses on a little, until that shows that it touches
    assert cell.supervisor.mode == "press"
    assert not cell.supervisor.tared
    felt_on = np.array(cell.forces[-300:])
    assert felt_on.min() > felt - 0.5
    assert np.abs(np.diff(felt_on)).max() < 1.0  # where it stops to approach
    assert np.abs(cell.torques[-300] - cell.torques[-301]).max() < 1.0
    cell.run(1.5)
    np.testing.assert_allclose(cell.forces[-50:], 10.0, rtol=0.02)


def pressed():
    cell = Cell(height=0.002).run(0.1).engage().run(2.0)
    assert cell.supervisor.mode == "press"
    return cell


def stopped(cell, reason):
    """It holds, says why, moves nowhere, and pushes less and less."""
    assert cell.supervisor.mode == "hold"
    assert reason in cell.supervisor.reason
    where = cell.plant.state[0]
    cell.run(1.0)
    assert np.abs(cell.plant.state[0] - where).max() < 0.02
    assert np.abs(cell.plant.state[1]).max() < 1e-3
    assert cell.forces[-1] < 11.0


def test_silent_sensor_stops():
    cell = pressed()
    cell.sensor_works = False
    cell.run(0.1)
    stopped(cell, "sensor is silent")
    with pytest.raises(ValueError, match="sensor is silent"):
        cell.engage()
    cell.sensor_works = True
    cell.run(0.01).engage().run(1.5)
    assert cell.supervisor.mode == "press"


def test_silent_joint_states_stop():
    cell = pressed()
    cell.now += 300 * MS
    cell.run(0.001)
    stopped(cell, "joint states were silent for 0.3")


def test_too_much_force_stops():
    cell = pressed()
    cell.run(0.001, bias=60.0)
    stopped(cell, "more than 50")
    assert "impact" not in cell.supervisor.reason  # it has pressed for a while


@pytest.mark.parametrize("beside, stays", [(30.0, 10.0 / 70.0), (90.0, 1.0)])
def test_what_friction_holds_at_a_blow_is_let_go_with_it(monkeypatch, beside, stays):
    """Of 70 N, 10 are wanted: so much of the friction may hold on. More than 70 N beside are a wall's."""
    cell, faded = pressed(), []
    supervisor, (q, v) = cell.supervisor, cell.plant.state
    monkeypatch.setattr(supervisor.hold, "fade", lambda last, felt, *_: faded.append(felt.copy()))
    efforts = np.arange(7.0)
    supervisor.torque(cell.now, q, v, np.array([70.0]), cell.now, beside=Beside(beside, 0.0, 0.0, efforts))
    assert supervisor.mode == "hold"
    np.testing.assert_allclose(faded, [stays * efforts], rtol=0.08)


def test_a_blow_of_the_approach_is_named_with_its_speed_and_the_stiffness_it_tells():
    cell = Cell(height=0.02, limits=HybridLimits(contact_force=0.5, approach_speed=0.1, largest_force=20.0))
    cell.run(0.1).engage().run(1.0)
    stopped(cell, "more than 20: the impact of the approach at 100 mm/s, as on ")
    rows, mass, speed, k = np.array([True]), np.array([3.0]), 0.1, 1e5
    approach = Approach(rows, mass, np.zeros(1), np.zeros(1), np.zeros(1), 30.0, cell.supervisor.limits)
    assert "at 100 mm/s, as on 1e+05 N/m" in approach.impact(0, speed * np.sqrt(k * mass[0]))


def test_lost_contact_stops():
    cell = pressed()
    cell.plant.model.geom("surface").pos[2] -= 0.3  # the table is taken away
    cell.run(0.12)
    assert cell.supervisor.mode == "hold"
    assert "contact lost" in cell.supervisor.reason or "off by" in cell.supervisor.reason
    fell = cell.robot.pose(cell.plant.state[0], pressing.TOOL)[2, 3]
    cell.run(0.5)
    assert cell.robot.pose(cell.plant.state[0], pressing.TOOL)[2, 3] > fell - 0.03


def test_surface_that_is_not_there_stops():
    cell = Cell(height=0.005)
    cell.plant.model.geom("surface").pos[2] -= 0.3
    cell.run(0.1).engage().run(2.0)
    assert cell.supervisor.mode == "hold"
    assert "no contact where surface.normal should be" in cell.supervisor.reason


def test_wrong_place_of_the_surface_stops():
    cell = pressed()
    placement = cell.supervisor.controller.constraints["surface"].reference_placement
    moved = placement._replace(p=(placement.p[0], placement.p[1], placement.p[2] - 0.05))
    controller = cell.supervisor.controller
    controller.move(controller.constraints.changed("surface", reference_placement=moved), controller.task)
    cell.run(0.002)
    stopped(cell, "surface.normal is off by 0.0")


def test_out_of_reach_stops():
    cell = pressed()
    cell.supervisor.limits = replace(LIMITS, reach=0.03)
    cell.move((1.0, 0.05, 0.0))
    cell.run(1.0)
    stopped(cell, "out of reach")


def test_cannot_engage_without_a_sensor_or_a_way_to_the_surface():
    cell = Cell(height=0.02)
    with pytest.raises(ValueError, match="no joint state"):
        cell.engage()
    cell.run(0.01)
    with pytest.raises(ValueError, match="no wrench"):
        cell.supervisor.engage(cell.now, None, 0)
    cell.supervisor.limits = replace(LIMITS, approach_speed=0.0)
    with pytest.raises(ValueError, match="there is no contact"):
        cell.engage()
    assert cell.supervisor.mode == "hold"


def test_numbers_that_are_not_finite_raise_and_change_nothing():
    cell = pressed()
    q, v = cell.plant.state
    with pytest.raises(ValueError, match="panda_joint1"):
        cell.supervisor.torque(cell.now, q * np.nan, v, cell.measured, cell.now)
    with pytest.raises(ValueError, match="measured"):
        cell.supervisor.torque(cell.now, q, v, np.array([np.nan]), cell.now)
    cell.run(0.5)
    assert cell.supervisor.mode == "press"
    np.testing.assert_allclose(cell.forces[-1], 10.0, rtol=0.02)


def test_engaging_begins_with_what_is_felt_and_needs_fresh_states():
    """In touch it presses at once, with that force; with a tare, or in the air, it looks for the surface first."""
    for height, limits, mode in (
        (0.0, replace(LIMITS, tare=False), "press"),
        (0.0, replace(LIMITS, tare=False, approach_speed=0.0), "press"),
        (0.0, replace(LIMITS, tare=True), "approach"),
        (0.1, LIMITS, "approach"),
    ):
        cell = Cell(height, limits).run(0.01)
        felt = np.array([0.0 if height else 3.0])
        cell.now += 300 * MS
        with pytest.raises(ValueError, match="joint states are silent"):
            cell.supervisor.engage(cell.now, felt, cell.now)
        cell.run(0.001)
        assert cell.supervisor.mode == "hold"
        cell.supervisor.engage(cell.now, felt, cell.now)
        assert cell.supervisor.mode == mode
        np.testing.assert_array_equal(cell.supervisor.force, felt if mode == "press" else [0.0])
    cell = Cell(0.1, replace(LIMITS, tare=False)).run(0.01)
    with pytest.raises(ValueError, match="surface.normal is off by"):  # what is felt there is not that surface
        cell.supervisor.engage(cell.now, np.array([3.0]), cell.now)


def test_a_contact_that_is_lost_for_a_moment_comes_back_without_a_blow():
    """The table has a step of 2 mm downwards; the force begins anew there and grows to what is wanted."""
    cell = Cell(height=0.005).run(0.1).engage().run(3.0)
    np.testing.assert_allclose(cell.forces[-50:], 10.0, rtol=0.02)
    table = cell.plant.model.geom("surface")
    table.pos[2] -= 0.002  # a step down
    before = len(cell.forces)
    cell.run(3.0)
    assert cell.supervisor.mode == "press"
    assert max(cell.forces[before + 5 :]) < 14.0
    np.testing.assert_allclose(cell.forces[-50:], 10.0, rtol=0.02)


def pressing_cell():
    cell = Cell(height=0.005).run(0.1).engage().run(2.0)
    np.testing.assert_allclose(cell.forces[-50:], 10.0, rtol=0.02)
    return cell


def test_another_robot_takes_the_force_over_and_lets_it_fade():
    """As of a description with 0.1 kg more at the tool: 20 N/s, and the tool stays where it is."""
    cell = pressing_cell()
    old, height = cell.supervisor, cell.plant.data.body(pressing.TOOL).xpos[2]
    heavier = Robot(cell.robot.model)
    heavier.set_payload(pressing.TOOL, 0.1)
    controller = HybridController(heavier, old.controller.constraints, old.controller.task, gains=old.controller.gains)
    cell.supervisor = HybridSupervisor(controller, DesiredMotion(cell.tasks), LIMITS)
    cell.supervisor.fade_from(old)
    begin = len(cell.forces)
    cell.run(0.1)
    assert min(cell.forces[begin:]) > 10.0 - 2.0 - 1.5  # 0.1 kg weighs 1 N
    cell.run(1.0)
    assert cell.forces[-1] < 2.0
    assert abs(cell.plant.data.body(pressing.TOOL).xpos[2] - height) < 2e-3


def test_other_gains_keep_what_the_integrals_give():
    cell = pressing_cell()
    controller, (q, v) = cell.supervisor.controller, cell.plant.state
    theta = cell.supervisor.output.theta.copy()
    wanted = {"force": np.array([10.0]), "measured": np.array([10.0])}
    before = controller.step(q, v, theta, **wanted).wanted.copy()
    integral = controller.force_integral.copy()
    assert np.abs(integral).max() > 0.0
    gains = controller.gains
    controller.tune(replace(gains, ki=2.0 * gains.ki))
    np.testing.assert_allclose(controller.force_integral, integral, rtol=1e-12)
    np.testing.assert_allclose(controller.step(q, v, theta, **wanted).wanted, before, atol=1e-9)
