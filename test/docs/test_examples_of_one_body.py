# SPDX-License-Identifier: Apache-2.0
"""Box, free body, spinning top and cornering car against their known answers."""

from __future__ import annotations

import numpy as np


def test_the_box_has_its_printed_inertia(example):
    box = example("box_inertia")
    rng = np.random.default_rng(0)
    for _ in range(20):
        mass, edges = rng.uniform(0.1, 10), tuple(rng.uniform(0.05, 2, 3))
        centre = box.by_formula(mass, edges)
        np.testing.assert_allclose(centre, box.by_integration(mass, edges), atol=1e-13)
        np.testing.assert_allclose(centre[3:, 3:], mass * np.eye(3), atol=0)
        np.testing.assert_allclose(box.at_corner(mass, edges)[:3, :3], box.corner_formula(mass, edges), atol=1e-12)


def test_the_cornering_car_has_the_reactions_of_the_source(example):
    car = example("cornering_car")
    rng = np.random.default_rng(1)
    for _ in range(50):
        mass, L, rho, d = rng.uniform(0.5, 8.0, 4)
        one = car.Car(100 * mass, L, rho, d, rng.uniform(0.05, 0.95))
        w, drive = rng.normal(), 1e3 * rng.normal()
        known = car.known_answer(one, w, drive)
        found = car.screw_answer(one, w, drive)[1]
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-9 * np.abs(known).max())


def test_a_free_body_keeps_its_energy_and_its_momentum_in_space(example):
    motion = example("free_rigid_body").tumble(np.array([0.1, 5.0, 0.2]), np.array([0.3, -0.1, 0.4]), 2.0, h=2e-3)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]
    np.testing.assert_allclose(motion.momentum, np.tile(motion.momentum[0], (len(motion.times), 1)), atol=1e-8)
    norms = np.linalg.norm(motion.spin, axis=1)
    np.testing.assert_allclose(norms, norms[0], rtol=1e-10)
    rotations = motion.poses[:, :3, :3]
    np.testing.assert_allclose(rotations @ rotations.swapaxes(1, 2), np.tile(np.eye(3), (len(norms), 1, 1)), atol=1e-12)


def test_a_free_symmetric_body_precesses_at_the_known_rate(example):
    """wdot = (C - A) / A w3 (-w2, w1): the angular velocity goes round the axis at that rate."""
    A, C, w = 0.02, 0.05, np.array([1.0, 0.0, 4.0])
    motion = example("free_rigid_body").tumble(w, np.zeros(3), 2.0, h=2e-3, moments=(A, A, C))
    angle = (C - A) / A * w[2] * motion.times
    expected = np.stack([np.cos(angle), np.sin(angle), np.full(angle.size, w[2])], axis=1)
    np.testing.assert_allclose(motion.twists[:, :3], expected, atol=1e-7)


def test_a_free_body_turns_over_about_its_middle_axis_only(example):
    free = example("free_rigid_body")
    for axis in range(3):
        w = np.array([0.02, 0.01, -0.02])
        w[axis] = 6.0
        lowest = free.tumble(w, np.zeros(3), 4.0, h=1e-2).twists[:, axis].min()
        assert lowest < -5.9 if axis == 1 else lowest > 5.9


def test_the_steadily_precessing_top_goes_on_so(example):
    top = example("spinning_top")
    tilt, rate = np.radians(25.0), 5.0
    motion = top.spin_the_top(*top.steady_precession(tilt, rate), friction=0.0, duration=0.5, h=5e-4)
    np.testing.assert_allclose(np.arccos(motion.axis[:, 2]), tilt, atol=1e-6)
    turned = np.unwrap(np.arctan2(motion.axis[:, 1], motion.axis[:, 0]))
    np.testing.assert_allclose(turned, rate * motion.times, atol=1e-5)
    np.testing.assert_allclose(motion.energy, motion.energy[0], rtol=1e-7)
    np.testing.assert_allclose(motion.angular_momentum[:, 2], motion.angular_momentum[0, 2], rtol=1e-7)
    np.testing.assert_allclose(motion.w[:, 2], motion.w[0, 2], rtol=1e-9)
    # the mass centre goes round a circle: weight upwards, centripetal force inwards
    inwards = -motion.axis[:, :2] / np.sin(tilt)
    centripetal = top.MASS * rate**2 * top.LENGTH * np.sin(tilt)
    np.testing.assert_allclose(motion.force[:, :2], centripetal * inwards, atol=1e-4)
    np.testing.assert_allclose(motion.force[:, 2], top.MASS * top.GRAVITY, atol=1e-4)


def test_viscous_friction_takes_the_energy_of_the_top(example):
    top = example("spinning_top")
    motion = top.spin_the_top(*top.steady_precession(np.radians(25.0), 5.0), friction=4e-4, duration=2.0)
    lost = 4e-4 * np.sum(motion.w**2, axis=1)
    heat = np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]) * np.diff(motion.times))])
    np.testing.assert_allclose(motion.energy + heat, motion.energy[0], rtol=1e-6)
    np.testing.assert_allclose(motion.w[:, 2], motion.w[0, 2] * np.exp(-4e-4 / top.I3 * motion.times), rtol=1e-7)


def test_the_top_hangs_at_rest_with_its_weight_on_the_tip(example):
    top = example("spinning_top")
    motion = top.spin_the_top(np.array([1.0, 0, 0, 0]), np.array([0.01, 0, 0.1]), friction=5e-3, duration=4.0, h=2e-3)
    np.testing.assert_allclose(motion.axis[-1], [0, 0, -1], atol=1e-3)
    np.testing.assert_allclose(motion.force[-1], [0, 0, top.MASS * top.GRAVITY], atol=1e-3)
