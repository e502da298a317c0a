# SPDX-License-Identifier: Apache-2.0
"""Montana's contact equations: surfaces that obey them stay in contact, by finite differences of poses."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.spatial import log_se3, pose, transform_twist
from rbd_dynamics.theory.montana import (
    ContactCylinder,
    ContactPlane,
    ContactSphere,
    contact_pose,
    contact_rates,
)

SURFACES = {"plane": ContactPlane(), "ball": ContactSphere(0.3), "cylinder": ContactCylinder(0.5)}
AT = {"plane": [0.2, -0.1], "ball": [0.7, 0.5], "cylinder": [0.4, 0.3]}


@pytest.mark.parametrize("other", SURFACES)
@pytest.mark.parametrize("psi", [0.0, 0.9, -2.5])
def test_contact_coordinates_and_relative_motion_belong_together(other, psi):
    """Move the coordinates, see how the bodies move, and ask Montana for the coordinates' rates."""
    surface, finger = SURFACES[other], ContactSphere(0.2)
    rng = np.random.default_rng(1)
    for _ in range(5):
        a_o, a_f = np.array(AT[other]), np.array([0.3, -0.4])
        rates = rng.normal(size=5)
        h = 1e-6

        before, after = (
            contact_pose(
                surface.geometry(a_o + t * rates[:2]), finger.geometry(a_f + t * rates[2:4]), psi + t * rates[4]
            )
            for t in (-h, h)
        )
        body = log_se3(np.linalg.inv(before) @ after) / (2 * h)  # twist of f relative to o, in f
        f = finger.geometry(a_f)
        contact = np.linalg.inv(pose(f.frame, f.point))
        found = contact_rates(surface.geometry(a_o), f, psi, transform_twist(contact, body))
        twist = transform_twist(contact, body)
        assert abs(twist[5]) < 1e-6  # they stay in touch
        np.testing.assert_allclose(found.object, rates[:2], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.finger, rates[2:4], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.angle, rates[4], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SURFACES)
def test_forms_are_those_of_the_surface(name):
    """Metric, curvature and torsion by differences of the Gauss frame."""
    surface, a, h = SURFACES[name], np.array(AT[name]), 1e-6
    here = surface.geometry(a)
    x, y, z = here.frame.T
    steps = [
        [(p - m) / (2 * h) for p, m in zip(surface.geometry(a + d)[:2], surface.geometry(a - d)[:2])]
        for d in h * np.eye(2)
    ]
    lengths = [np.linalg.norm(point) for point, _ in steps]
    np.testing.assert_allclose(np.diag(here.metric), lengths, rtol=1e-8)
    curvature = [[axis @ frame[:, 2] / length for (_, frame), length in zip(steps, lengths)] for axis in (x, y)]
    np.testing.assert_allclose(here.curvature, curvature, atol=1e-8)
    torsion = [y @ frame[:, 0] / length for (_, frame), length in zip(steps, lengths)]
    np.testing.assert_allclose(here.torsion, torsion, atol=1e-8)
    np.testing.assert_allclose(np.cross(x, y), z, atol=1e-12)


def test_a_ball_rolls_as_far_as_its_surface():
    """On a plane: the two touching points run equally far."""
    ball, plane = ContactSphere(0.2), ContactPlane()
    found = contact_rates(plane.geometry([0, 0]), ball.geometry([0.1, 0.2]), 0.4, [1.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    on_ball = ball.geometry([0.1, 0.2]).metric @ found.finger
    np.testing.assert_allclose(np.linalg.norm(found.object), np.linalg.norm(on_ball), rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(on_ball), 0.2 * np.hypot(1.0, 2.0), rtol=1e-12)


def test_surfaces_that_touch_along_a_line_are_refused():
    flat = ContactPlane().geometry([0, 0])
    with pytest.raises(ArithmeticError, match="along a line"):
        contact_rates(flat, ContactCylinder(0.1).geometry([0, 0]), 0.0, np.ones(6))
