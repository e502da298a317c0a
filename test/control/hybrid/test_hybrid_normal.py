# SPDX-License-Identifier: Apache-2.0
"""The normal of a surface out of force and motion: numbers of theory.md section 8, without a simulation."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
pytestmark = pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data")

from rbd_dynamics.control.hybrid.normal import PERIOD as TURNS  # noqa: E402
from rbd_dynamics.control.hybrid.normal import NormalEstimator, NormalOptions  # noqa: E402

PERIOD = 0.02  # s between two states
OPTIONS = NormalOptions(largest_tilt=math.radians(8.0), rate=0.5, smoothing=0.1)
STEP, NEARER = OPTIONS.rate * PERIOD, PERIOD / OPTIONS.smoothing  # at most, and of what is left
LEFT = 1e-5  # rad: less is not turned by
UP = np.array([0.0, 0.0, 1.0])


def tilted(degrees):
    """A unit vector that leans to x."""
    return np.array([math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees))])


def angle(a, b):
    return math.atan2(np.linalg.norm(np.cross(a, b)), a @ b)


class Felt:
    """A tool that moves along a surface, and an estimator that is told of it."""

    def __init__(self):
        self.robot, _, controller, self.q, _ = pressing.scene(pressing.Case())
        self.contact = SimpleNamespace(steady=1.0)
        self.supervisor = SimpleNamespace(  # what it looks at
            controller=controller, mode="press", tared=False, contact=self.contact
        )
        self.estimator = NormalEstimator(self.supervisor, pressing.TOOL, options=OPTIONS)
        self.R = self.robot.pose(self.q, pressing.TOOL)[:3, :3]

    def update(self, force, velocity=(0.0, 0.0, 0.0), dt=PERIOD, turning=(0.0, 0.0, 0.0)):
        """velocity: of the ball's centre, where the tool's frame is."""
        twist = np.concatenate([self.R.T @ turning, self.R.T @ velocity])
        v = np.linalg.pinv(self.robot.jacobian(self.q, pressing.TOOL)) @ twist
        wrench = np.concatenate([np.zeros(3), self.R.T @ force])
        return self.estimator.update(self.q, v, wrench, dt)

    def slide(self, normal, friction=0.3, size=10.0, speed=0.05, offset=0.0, dt=PERIOD):
        """Along the surface, aslant to the way it leans."""
        along = np.cross(normal, [0.6, 0.8, 0.0])
        along /= np.linalg.norm(along)
        return self.update(size * (normal - friction * along) + offset, speed * along, dt)

    def gap(self):
        """From the surface as it is placed now to the point that touches."""
        placed = self.estimator._surface_now().reference_placement
        normal = np.array(placed.rotation).reshape(3, 3)[:, 2]
        np.testing.assert_allclose(normal @ self.estimator.normal, 1.0, rtol=1e-12)
        return float(normal @ (self.estimator._point(self.q) - placed.p))


@pytest.mark.parametrize("friction", [0.0, 0.3, 0.9])
def test_it_turns_to_what_is_felt_whatever_the_friction_is_no_faster_than_allowed(friction):
    felt, wanted, tilt = Felt(), tilted(5.0), 0.0
    gaps = []
    while felt.slide(wanted, friction):
        tilt += min(STEP, NEARER * (math.radians(5.0) - tilt))
        assert felt.estimator.tilt == pytest.approx(tilt, rel=1e-9)
        assert angle(felt.estimator.normal, UP) == pytest.approx(tilt, rel=1e-9)
        gaps.append(felt.gap())
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-12)  # it is turned about the point that touches
    np.testing.assert_allclose(felt.estimator.normal, wanted, atol=LEFT)


def test_friction_pulls_against_the_point_that_touches_also_where_the_tool_turns():
    """The centre of its ball moves along x, and the ball turns: what slips goes aslant, and friction with it."""
    felt, turning, moving = Felt(), np.array([-1.5, 0.0, 0.0]), np.array([0.008, 0.0, 0.0])
    radius = felt.estimator._surface_now().offset
    slip = moving + np.cross(turning, -radius * UP)
    assert radius > 0.0 and angle(slip, moving) > 1.0
    for _ in range(5):
        assert not felt.update(10.0 * (UP - 0.3 * slip / np.linalg.norm(slip)), moving, turning=turning)
    assert angle(felt.estimator.normal, UP) < 1e-6


def test_it_turns_no_farther_than_its_bound():
    felt = Felt()
    while felt.slide(tilted(-12.0)):
        pass
    np.testing.assert_allclose(felt.estimator.normal, tilted(-8.0), atol=LEFT)


def test_a_surface_that_is_where_it_was_given_is_left_there():
    felt = Felt()
    placed = felt.estimator._surface_now().reference_placement
    assert not felt.slide(UP)
    np.testing.assert_allclose(felt.estimator.normal, UP, atol=1e-12)
    assert felt.estimator.tilt == 0.0 and felt.estimator._surface_now().reference_placement is placed


def test_nothing_is_learnt_where_it_stands_or_is_hardly_touched():
    felt = Felt()
    for _ in range(30):
        assert not felt.slide(tilted(5.0), speed=0.0049) and not felt.slide(tilted(5.0), size=2.99)
    assert not felt.estimator.normal.any()
    assert any(felt.slide(tilted(5.0), speed=0.0051, size=3.01) for _ in range(30))


def test_nothing_is_learnt_while_contact_comes_and_goes():
    """A frame that turns under a tool that bounces keeps it bouncing."""
    felt = Felt()
    felt.contact.steady = 0.09
    assert not any(felt.slide(tilted(5.0)) for _ in range(30)) and not felt.estimator.normal.any()
    felt.contact.steady = 0.11
    assert any(felt.slide(tilted(5.0)) for _ in range(30))


def test_a_tool_that_trembles_into_soft_ground_feels_the_normal_that_there_is():
    """It moves along at 50 mm/s, and up and down as fast: what trembles is not taken for the way it goes."""
    felt, along = Felt(), np.array([0.6, 0.8, 0.0])
    tilts = []
    for k in range(400):
        up = 0.05 * math.sin(2.0 * math.pi * 8.0 * 5e-3 * k)
        felt.update(10.0 * (UP - 0.3 * along), 0.05 * along + up * UP, PERIOD / 4.0)
        tilts.append(math.degrees(felt.estimator.tilt))
    assert max(tilts[100:]) < 2.5 and np.mean(tilts[100:]) < 0.6  # they were 7.8 and 7.5


def test_what_is_felt_is_averaged_and_the_frame_turned_once_in_a_millisecond():
    """Of states that come more often; in jerks of 20 ms it would swing the arm."""
    felt, dt = Felt(), TURNS / 4.0
    for k in range(1, 101):
        assert felt.slide(tilted(0.0), dt=dt) is False, k
    tilts = []
    for _ in range(40):  # of a normal that changed
        felt.slide(tilted(5.0), dt=dt)
        tilts.append(felt.estimator.tilt)
    steps = np.diff(tilts)
    # what is felt now counts by dt / smoothing, and a step is by PERIOD / smoothing of what is left
    assert (steps > 0.0).sum() in (9, 10) and steps.max() < (TURNS / OPTIONS.smoothing) * math.radians(5.0) * 0.1
    for _ in range(10_000):
        felt.slide(tilted(5.0), dt=dt)
    assert felt.estimator.tilt == pytest.approx(math.radians(5.0), abs=2.0 * LEFT)


@pytest.mark.parametrize("tare", [True, False])
def test_what_the_sensor_reads_in_free_motion_counts_as_its_zero(tare):
    felt, bias = Felt(), np.array([1.0, -2.0, 0.5])
    felt.supervisor.mode, felt.supervisor.tared = "approach", tare
    for _ in range(3):
        assert not felt.update(bias)
    felt.supervisor.mode = "press"
    while felt.slide(tilted(4.0), offset=bias):
        pass
    assert (angle(felt.estimator.normal, tilted(4.0)) < LEFT) == tare


def test_each_approach_begins_with_the_surface_as_it_was_given():
    felt = Felt()
    while felt.slide(tilted(3.0)):
        pass
    felt.supervisor.mode = "hold"
    assert not felt.update(np.zeros(3)) and felt.estimator.tilt > 0.05
    felt.supervisor.mode = "approach"
    assert felt.update(np.zeros(3)) and felt.estimator.tilt == 0.0
    placed = felt.estimator._surface_now().reference_placement
    np.testing.assert_array_equal(placed.rotation, felt.estimator.given.rotation)
    assert not felt.update(np.zeros(3))


def test_another_place_that_is_given_is_where_it_begins_anew():
    felt = Felt()
    while felt.slide(tilted(3.0)):
        pass
    felt.supervisor.controller.place(felt.estimator.given)
    assert felt.slide(tilted(3.0)) and felt.estimator.tilt == pytest.approx(STEP, rel=1e-9)
