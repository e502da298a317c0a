# SPDX-License-Identifier: Apache-2.0
"""Impulses of contacts against what a mass on a plane does, with numbers that are known."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.contacts import Contact
from rbd_dynamics.simulation.contact import StepImpulses

H = 1e-3
MASS = 2.0


def contact_impulses(G, velocity, gap, before, contacts):
    return StepImpulses(contacts, H, machine_code=True)(G, velocity, gap, before)


def after(speed, gap, *, before=None, **options):
    """Normal velocity of a mass after the step."""
    velocity = np.array([speed, 0.0, 0.0])
    start = velocity if before is None else np.array([before, 0.0, 0.0])
    contact = Contact("c", "x", **options)
    impulses = contact_impulses(np.eye(3) / MASS, velocity, np.array([gap]), start, [contact])
    assert impulses.shape == (1, 3)
    return speed + impulses[0, 0] / MASS


@pytest.mark.parametrize(
    ("speed", "gap", "expected"),
    [
        (-5.0, 0.001, -1.0),  # comes as near as to touch: gap / h
        (-5.0, 0.004, -4.0),
        (-5.0, 0.006, -5.0),  # does not arrive
        (-5.0, 0.0, 0.0),
        (-5.0, -0.001, 0.2),  # what it is in too deep is taken back, a fifth in each step
        (0.1, -0.001, 0.2),
        (0.3, -0.001, 0.3),  # leaves faster by itself
    ],
)
def test_a_mass_comes_as_near_as_to_touch(speed, gap, expected):
    assert after(speed, gap) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("before", "gap", "expected"),
    [
        (-2.0, 0.001, 1.0),
        (-2.0, 0.0019, 1.0),
        (-2.0, 0.0021, -2.0),  # does not arrive in this step: goes on
        (-0.011, 0.0, 0.0055),
        (-0.009, 0.0, 0.0),  # slower than what rebounds at all
        (0.5, 0.0, 0.0),
    ],
)
def test_a_mass_rebounds_with_a_part_of_the_velocity_with_which_it_arrived(before, gap, expected):
    speed = -2.0 if before == 0.5 else before
    assert after(speed, gap, before=before, restitution=0.5) == pytest.approx(expected, rel=1e-12)


def test_what_nothing_can_move_gets_no_impulse():
    contact = Contact("c", "x", friction_coefficient=0.5)
    velocity = np.array([-1.0, 0.0, 0.0])
    found = contact_impulses(np.zeros((3, 3)), velocity, np.zeros(1), velocity, [contact])
    np.testing.assert_array_equal(found, 0.0)


def test_friction_holds_within_its_cone_and_brakes_beyond_it():
    mu, G = 0.5, np.eye(3) / MASS
    for slip, expected in ((0.4, (2.0, -0.64, -0.48)), (0.6, (2.0, -0.8, -0.6))):
        velocity = np.array([-1.0, 0.8 * slip, 0.6 * slip])
        contact = Contact("c", "x", friction_coefficient=mu)
        found = contact_impulses(G, velocity, np.zeros(1), velocity, [contact])
        np.testing.assert_allclose(found, [expected], rtol=1e-9)


def test_several_contacts_are_exact_where_one_pushes_the_other_up():
    """Two feet of a plank that lands on one of them: the other one rises, or is held as hard as it has to be."""
    m, inertia, half = 1.5, 0.02, 0.4
    G = np.zeros((6, 6))
    for i, x in enumerate((-half, half)):
        for j, y in enumerate((-half, half)):
            G[3 * i, 3 * j] = 1.0 / m + x * y / inertia
    contacts = [Contact(name, "x") for name in "ab"]
    for gaps in ([0.0, 1.0], [0.0, 0.0]):
        velocity = np.array([-1.0, 0, 0, -1.0, 0, 0])
        found = contact_impulses(G, velocity, np.array(gaps), velocity, contacts)
        speed = velocity + G @ found.reshape(-1)
        assert found.min() >= 0.0
        np.testing.assert_allclose(speed[[0, 3]] * found[:, 0], 0.0, atol=1e-6)
        assert speed[0] >= -1e-6 and speed[3] >= -gaps[1] / H - 1e-6
    np.testing.assert_allclose(found[:, 0].sum(), m, rtol=1e-6)  # what stops the plank's fall


def test_a_direction_in_which_friction_jams_is_no_solution():
    """Where the slip jumps its sign changes too; the impulse there would be 1e15 N s."""
    G = np.array([[1.507, 0.021, -0.854], [0.021, 6.868, 1.431], [-0.854, 1.431, 0.834]])
    velocity = np.array([-1.0, -1.527, 0.327])
    contact = Contact("c", "x", friction_coefficient=2.458)
    (found,) = contact_impulses(G, velocity, np.zeros(1), velocity, [contact])
    after = velocity + G @ found
    assert np.abs(found).max() < 1.0 and after[0] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found[1:], -2.458 * found[0] * after[1:] / np.linalg.norm(after[1:]), rtol=1e-6)


def test_a_compliant_contact_is_a_spring_with_a_damper_at_the_end_of_the_step():
    contact = Contact("c", "x", compliance=1e-4, damping=30.0)
    (found,) = contact_impulses(np.eye(3) / MASS, np.array([-0.5, 0.0, 0.0]), np.array([2e-4]), np.zeros(3), [contact])
    speed = -0.5 + found[0] / MASS
    assert found[0] / H == pytest.approx(-(2e-4 + H * speed) / 1e-4 - 30.0 * speed, rel=1e-9) and found[0] > 0.0
