# SPDX-License-Identifier: Apache-2.0
"""Contact and drift of a sensor, told from what it reads."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.models.robots import robot_file
from scipy.spatial.transform import Rotation

from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import STUCK, moves
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.pressing import Pressing
from rbd_dynamics.control.hybrid.task import HybridTask
from rbd_dynamics.control.hybrid.touch.approach import Approach
from rbd_dynamics.control.hybrid.touch.contact_sense import ContactSense
from rbd_dynamics.control.hybrid.touch.contact_watch import ContactWatch, GivingWay
from rbd_dynamics.control.hybrid.touch.push import PULLS, Push
from rbd_dynamics.control.hybrid.touch.sensor_drift import SensorDrift, pressed_by_joints
from rbd_dynamics.control.safety.softening import Softening
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

MS = 1e-3
LIMITS = HybridLimits()
ROWS = np.array([True])
GAINS = HybridGains(kp=1200.0, kd=70.0, task_ki=8.0, ki=15.0, normal_damping=30.0)


class Felt:
    """An approach at its speed, with a sensor of so much noise (N rms)."""

    def __init__(self, noise, rng):
        self.noise, self.rng, self.sense, self.h = noise, rng, ContactSense(), np.zeros(1)
        self.approach = Approach(
            ROWS, np.ones(1), np.zeros(1), self.h, np.zeros(1), 30.0, LIMITS
        )  # fmt: skip

    def touches(self, force):
        """A millisecond with a force on the tool, N."""
        approach, reading = self.approach, np.array([force + self.noise * self.rng.standard_normal()])
        felt = float(reading[0] - approach.zero[0])
        self.sense.update(felt, MS, LIMITS.contact_debounce, free=True)
        found = approach.touches(self.h, reading, MS, noise=self.sense)
        approach.step(self.h, np.array([-LIMITS.approach_speed]), MS)
        self.h = self.h - LIMITS.approach_speed * MS
        return found


@pytest.mark.parametrize("noise", [0.1, 1.0, 2.0, 5.0])
def test_noise_is_no_contact_and_what_is_above_it_is(noise):
    felt = Felt(noise, np.random.default_rng(5))
    assert not any(felt.touches(0.0) for _ in range(5000))
    assert felt.sense.least == pytest.approx(5.0 * noise / 3.0, rel=0.35)  # five of what is left by 5 ms of smoothing
    force, steps = max(2.0 * LIMITS.contact_force, 2.5 * felt.sense.least), 0
    while not felt.touches(force):
        steps += 1
    assert steps < 60


def standing(drift, seconds=6.0, friction=0.0, moved=False, jerk=0.0, bounded=False):
    """What is told where a sensor drifts by so much, N/s, while a tool presses with 10 N by what is felt.

    bounded: no more than that may be commanded, so that less and less is wanted.
    """
    watch = SensorDrift(lambda q, tau: -tau, ROWS)  # of one joint that presses
    rng, q = np.random.default_rng(2), np.zeros(1)
    for k in range(round(seconds / MS)):
        zero = drift * k * MS
        wanted = np.array([10.0 + min(0.0, zero)]) if bounded else np.array([10.0])
        rate = np.array([0.05]) if moved and k % 2000 > 500 else np.zeros(1)
        pushed = wanted[0] - zero + jerk * (k % 2000 < 50) + friction * (1.0 if k % 4000 > 2000 else -1.0) * moved
        out = SimpleNamespace(
            tau=np.array([-pushed]), force=np.array([pushed]), drift=2e-4 * rng.standard_normal(1), rate=rate
        )
        watch.update(q, out, wanted + 0.2 * rng.standard_normal(1), wanted, MS, known=True)
    return watch.told


def test_a_sensor_that_drifts_is_told_while_the_tool_stands():
    assert standing(1.0) > 2.0
    assert standing(-1.0) < -2.0
    assert standing(-1.0, bounded=True) < -2.0
    assert standing(0.0) == 0.0


def test_nothing_that_is_pressed_is_pulled_at_whatever_the_sensor_says():
    """A drift of 1 N/s took a Kinova 40 mm off a surface that it pressed with 5 N."""
    push, wanted, before = Push(ROWS), np.array([5.0]), SimpleNamespace(drift=np.zeros(1))
    push.begin()
    push.wish(wanted, MS)
    push.wish(wanted, 0.51)
    for lacking, integral, felt, pulled in (
        (0.0, -5.1, 6.0, False), (0.0, -5.4, 6.0, True), (0.0, -5.4, 4.0, True),
        (2.0, -6.0, 6.0, False),  # friction may be on the other side
        (2.0, -7.4, 6.0, True),
    ):  # fmt: skip
        push.lacking[:], push.pulls = lacking, 0.0
        for _ in range(2):
            found = push.pressing(wanted, np.array([integral]), before, np.array([felt]), MS, alone=True)
        leaning = push.pressing(wanted, np.array([integral]), before, np.array([felt]), MS, alone=False)
        assert leaning == (wanted, None, True) and push.pulls == 0.0
        for _ in range(2):
            push.pressing(wanted, np.array([integral]), before, np.array([felt]), MS, alone=True)
        assert push.pulls == pytest.approx(2 * MS if pulled else 0.0)
        assert found.force[0] + integral == pytest.approx(
            lacking - PULLS - 2.0 * abs(lacking) if pulled else 5.0 + integral
        )
        push.wish(2.0 * wanted, MS)  # an integral may be late behind another one
        assert push.pressing(wanted, np.array([integral]), before, np.array([felt]), MS, alone=True).felt
        push.wish(wanted, MS)
        push.wish(wanted, 0.51)
        assert found.felt == (not pulled or felt < 5.0)  # an integral that finds back goes on


def test_a_jerk_of_the_efforts_is_no_drift():
    """As near a singular posture, where static balance makes hundreds of N of it for some ms."""
    assert standing(0.0, jerk=200.0) == 0.0
    assert standing(1.0, jerk=20.0) > 2.0


def test_friction_that_changes_sides_with_the_motion_is_no_drift():
    assert standing(0.0, seconds=12.0, friction=4.0, moved=True) == 0.0


@pytest.mark.parametrize("name", ["ur5_robot", "panda"])
def test_what_an_integral_pushes_along_the_surface_is_no_drift_of_the_sensor(name):
    """Friction holds a tool 0.1 mm beside its target, and the noise of velocities hides that it is stuck. The plant is
    the balance of forces: what joint torques press with is what is felt."""
    robot = Robot(load_urdf(robot_file(name), locked={} if name == "ur5_robot" else {"panda_finger_joint1": 0.0}))
    nv = robot.model.nv
    q = np.array([0.0, -1.2, 1.9, -2.2, -1.57, 0.3] if nv == 6 else [0.0, -0.4, 0.1, -2.3, 0.2, 2.0, 0.8])
    frame = "tool0" if nv == 6 else "panda_hand_tcp"
    pose = robot.pose(q, frame)
    rpy = tuple(float(x) for x in Rotation.from_matrix(pose[:3, :3]).as_euler("xyz"))
    task = HybridTask(frame, task_position=tuple(float(x) for x in pose[:3, 3]), task_orientation=rpy)
    constraints, moved = task.sets(robot.model)
    controller, rng = HybridController(robot, constraints, moved, gains=GAINS), np.random.default_rng(0)
    watch = SensorDrift(partial(pressed_by_joints, controller), ROWS)
    J, weight = robot.jacobian(q, frame)[[5, 0, 1, 2, 3, 4]], robot.gravity(q)  # the tool's axes are the task frame's
    felt, commanded, wanted = np.array([10.0]), [], np.array([10.0])
    aside = np.array([0.0, 0.0, 0.0, 1e-4, 1e-4])
    for _ in range(5000):
        v = np.linalg.lstsq(J, np.concatenate([[0.0], 4e-4 * rng.standard_normal(5)]), rcond=None)[0]
        out = controller.step(q, v, -aside, force=wanted, measured=felt, dt=MS)
        f = np.linalg.lstsq(J.T, weight - out.tau, rcond=None)[0]
        felt = f[:1] + 0.05 * rng.standard_normal(1)
        commanded.append(float(out.force[0]))
        watch.update(q, out, felt, wanted, MS, known=True)
    np.testing.assert_allclose(pressed_by_joints(controller, q, out.tau), f[:1], atol=1e-9)
    assert abs(commanded[-1] - commanded[1000]) > 2.0  # it does find its way into the force
    assert watch.told == 0.0


def test_the_integral_stands_where_friction_holds_the_tool_near_its_target():
    ki = 8.0
    assert moves(ki, 5e-4, 0.0, 0.0) == 0.0
    assert moves(ki, 5e-4, 2.0 * STUCK * ki * 5e-4, 0.0) == 1.0  # it goes there
    assert moves(ki, 5e-4, 0.0, 0.01) == 1.0  # it is to go on
    assert moves(ki, 5e-3, 0.0, 0.0) == 1.0  # it is far


@pytest.mark.parametrize(
    ("share", "felt", "gives"),
    [
        (0.2, lambda t: 8.0, True),  # the side of an edge
        (0.2, lambda t: 8.0 - 60.0 * t, True),
        (0.2, lambda t: 2.0 + 40.0 * t, False),  # a soft surface: it holds against it more and more
        (0.7, lambda t: 8.0, False),  # slowly
        (0.2, lambda t: 16.0, False),  # half of what is wanted
    ],
)
def test_a_surface_gives_way_where_the_push_is_cut_and_what_is_felt_does_not_grow(share, felt, gives):
    watch = GivingWay()
    for k in range(110):
        watch.update(share, felt(k * MS), 30.0, 1.0, MS)
    assert (watch.time > 0.1) == gives
    if gives:
        assert f"at 44 mm/s under {felt(0.109):.3g} N" in watch.words(0.044)


@pytest.mark.parametrize(
    ("seconds", "aside", "unfelt", "beside", "says"),
    [
        (0.05, False, False, 0.0, ""),
        (0.05, True, False, 8.0, "something is in the way, with 8 N beside"),
        (0.01, True, False, 8.0, ""),
        (0.01, False, True, 8.0, "something is in the way"),
        (0.01, False, True, 0.0, "the sensor feels nothing"),
        (0.11, False, False, 0.0, "contact lost"),
    ],
)
def test_why_a_lost_contact_is_not_sought_any_longer(seconds, aside, unfelt, beside, says):
    watch = ContactWatch(ROWS)
    watch.begin(np.zeros(1))
    for _ in range(round(seconds / MS)):
        watch.update(False, np.array([-1e-3]), MS, aside=aside)
    said = watch.not_found(unfelt, beside, 1.0, 0.1)
    assert says in said and bool(said) == bool(says)


@pytest.mark.parametrize(
    ("late", "leans", "softer"),
    [(0.03, False, True), (0.03, True, False), (0.09, True, False), (0.15, True, True), (0.0, False, False)],
)
def test_what_leans_keeps_its_gains_until_efforts_are_so_late_that_it_swings(late, leans, softer):
    """A Panda on a wall needs all of them, at 29 ms; a UR10 that sticks on a friction of 0.77 is thrown by them, at
    270."""
    shares, softening = [], Softening(1)
    softening.rates[:] = 100.0
    pressing = SimpleNamespace(
        _pressed=1.0, _leant=1.0, approaching=False, behind=late, softening=softening,
        governor=SimpleNamespace(reachable=SimpleNamespace(v=np.zeros(1))),
        controller=SimpleNamespace(
            task_damping=70.0, soften=shares.append, robot=SimpleNamespace(mass_matrix=lambda _: np.eye(1))
        ),
    )  # fmt: skip
    for _ in range(20):
        Pressing._soften(pressing, np.zeros(1), np.ones(1), MS, leans=leans)
    assert (min(shares, default=1.0) < 0.5) == softer
