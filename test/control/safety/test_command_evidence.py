# SPDX-License-Identifier: Apache-2.0
"""Whether efforts act is told from what a robot measures; the robot is MuJoCo's, with lag, delay and friction."""

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS

from rbd_dynamics.control.safety.command_evidence import EffortEvidence, MotionEvidence
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

mujoco = pytest.importorskip("mujoco")
from rigs.mujoco_plant import Plant  # noqa: E402

PERIOD = 0.004
LIMITS = np.array([80.0, 40.0, 30.0])
KP, KD = np.array([400.0, 200.0, 400.0]), np.array([30.0, 12.0, 30.0])


class Driven:
    """A PD with gravity on the arm, whose efforts reach the motors late, or not."""

    def __init__(self, friction=0.0, compensated=True, damping=0.0, described=0.0):
        self.plant = Plant(mujoco.MjSpec.from_string(ARM), JOINTS, 5e-4)
        self.plant.model.dof_frictionloss[:] = friction * LIMITS
        self.plant.model.dof_damping[:] = damping * LIMITS
        self.described = described * LIMITS  # viscous friction
        self.robot = Robot(load_urdf(ARM))
        self.gravity = self.robot.gravity if compensated else lambda q: np.zeros(3)  # the node's terms
        self.wanted, self.on, self.brakes = np.zeros(3), True, False
        self.time, self.late = 0, [np.zeros(3)] * 2
        self.plant.reset(np.zeros(3))
        self.acts = self.robot.gravity(np.zeros(3))
        self.motion, self.efforts = MotionEvidence(JOINTS), EffortEvidence(JOINTS)
        self.wrong = set()

    def run(self, seconds, wanted=None):
        """Go on; `wanted` (passed, seconds): where to."""
        for k in range(round(seconds / PERIOD)):
            if wanted is not None:
                self.wanted = wanted(k * PERIOD)
            q, v = self.plant.state
            held = self.gravity(q)
            tau = np.clip(held + KP * (self.wanted - q) - KD * v, -LIMITS, LIMITS)
            self.time += round(1e9 * PERIOD)
            self.late = [*self.late[1:], tau]
            self.acts = self.acts + 0.5 * (self.late[0] - self.acts) if self.on else np.zeros(3)
            for what, problem in (
                ("efforts", self.efforts.problem(self.acts, LIMITS, self.time)),
                ("motion", self.motion.problem(
                    held, LIMITS, v, self.time, lambda q=q: self.robot.mass_matrix(q), self.described * v
                )),
            ):  # fmt: skip
                (self.wrong.add if problem else self.wrong.discard)(what)
            self.efforts.commanded(tau, self.time)
            self.motion.commanded(tau)
            if not self.brakes:
                self.plant.advance(self.acts, PERIOD)
        return self.wrong


def swing(t):
    """To and fro by 0.6 rad, as hard as the arm can."""
    return np.array([0.6, -0.8, 0.05]) * np.sin(6.0 * t)


@pytest.mark.parametrize("friction", [0.0, 0.15])
def test_a_robot_that_follows_is_in_command(friction):
    arm = Driven(friction)
    for wanted in (None, swing, lambda t: swing(4.0)):
        assert not arm.run(2.0, wanted)


@pytest.mark.parametrize("described", [0.3, 0.5])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_viscous_friction_by_the_description_is_no_sign_whether_the_robot_has_it_or_compensates_it(damping, described):
    """An arm whose joints take more than half of their efforts to move: none is left to accelerate it, at speed."""
    driven = Driven(damping=damping, described=described)
    for t in np.arange(0.0, 8.0, 0.5):
        assert "motion" not in driven.run(0.5, lambda s, t=t: np.array([1.6, -1.6, 0.0]) * np.sin(1.5 * (t + s)))
    driven.run(2.0, lambda s: np.zeros(3))
    driven.brakes = True
    assert "motion" in driven.run(1.5, swing)


def test_efforts_that_followed_and_are_zero_now_tell_that_drives_are_off():
    arm = Driven()
    assert not arm.run(1.0)
    arm.on, arm.brakes = False, True
    assert "efforts" in arm.run(0.5)
    arm.on, arm.brakes, arm.wanted = True, False, arm.plant.state[0]
    assert "efforts" not in arm.run(0.5)


def test_efforts_of_another_kind_tell_nothing():
    arm = Driven()
    arm.run(1.0)
    evidence = EffortEvidence(JOINTS)
    for k in range(500):
        evidence.commanded(np.array([30.0, 10.0, 0.0]), k * 10**7)
        assert not evidence.problem(np.zeros(3), LIMITS, k * 10**7)  # a driver that reports none
        assert not evidence.problem(np.full(3, np.nan), LIMITS, k * 10**7)


def test_brakes_are_told_from_a_motion_that_does_not_begin():
    arm = Driven()
    arm.brakes = True
    assert "motion" not in arm.run(1.0)  # it stands, as it should
    assert "motion" in arm.run(0.6, lambda t: np.array([min(t, 0.5), 0.0, 0.0]))
    arm.wanted = arm.plant.state[0]
    assert "motion" in arm.run(1.0)
    assert "motion" not in arm.run(2.0)  # at rest: it may be tried again


def test_another_that_moves_the_robot_is_told_before_it_is_far():
    arm = Driven()
    arm.run(0.5)
    begin, speed = arm.plant.state[0], np.array([0.6, 0.0, 0.0])
    arm.brakes = True  # of ours; the other is a position controller
    for k in range(300):
        arm.plant.data.qpos[:], arm.plant.data.qvel[:] = begin + speed * k * PERIOD, speed
        if "motion" in arm.run(PERIOD):
            break
    assert "motion" in arm.wrong
    assert np.abs(arm.plant.state[0] - begin).max() < 0.25


def test_a_push_that_the_robot_gives_way_to_is_no_sign():
    arm = Driven()
    arm.run(0.5)
    arm.plant.data.xfrc_applied[arm.plant.model.body("fore").id, :3] = [0.0, 0.0, -30.0]
    assert not arm.run(1.0)
    arm.plant.data.xfrc_applied[:] = 0.0
    assert not arm.run(1.0)


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_load_that_the_model_lacks_is_no_sign(share):
    """Lifted within half a second, carried to and fro, put down."""
    arm = Driven()
    arm.run(0.5)
    weight = share * LIMITS[0] / 0.55  # of the shoulder's limit; it hangs on the centre of mass of the second link
    force = arm.plant.data.xfrc_applied[arm.plant.model.body("fore").id, :3]
    for part in np.linspace(0.0, 1.0, 50):
        force[2] = -weight * part
        assert not arm.run(0.01)
    assert not arm.run(2.0)
    assert not arm.run(2.0, lambda t: 0.3 * swing(t))
    force[2] = 0.0
    assert not arm.run(2.0)


def test_a_robot_whose_terms_lack_gravity_is_in_command():
    """It sinks, by its gains alone, and stays there."""
    arm = Driven(compensated=False)
    for wanted in (None, lambda t: 0.3 * swing(t)):
        assert not arm.run(2.0, wanted)


@pytest.mark.parametrize("compensated", [False, True])
def test_a_robot_that_compensates_gravity_itself_is_in_command(compensated):
    """Whether the node's terms know that or not."""
    arm = Driven(compensated=compensated)
    arm.plant.model.opt.gravity[:] = 0.0
    for wanted in (None, swing, lambda t: swing(4.0)):
        assert not arm.run(2.0, wanted)


def test_a_robot_that_stands_at_a_stop_is_in_command():
    """It is driven there, pressed against the stop with a third of the joint's limit, and driven away."""
    arm = Driven()
    assert not arm.run(2.0, lambda t: np.array([2.5 * min(t / 1.5, 1.0), 0.0, 0.0]))
    assert not arm.run(2.0, lambda t: np.array([2.5 + 0.07 * min(t / 1.5, 1.0), 0.0, 0.0]))
    assert arm.plant.state[0][0] == pytest.approx(2.5, abs=0.02)
    assert not arm.run(2.0, lambda t: np.array([2.5 - 0.5 * min(t, 1.0), 0.0, 0.0]))
