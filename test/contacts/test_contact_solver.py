# SPDX-License-Identifier: Apache-2.0
"""Forces of contacts against the laws themselves, and against closed forms of a mass on planes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbd_dynamics.contacts import ContactSolver, solve_contacts

MASS = 2.0
ONE = np.eye(3) / MASS


def laws_hold(forces, u, mu, cone, fast, accuracy=1e-9):
    """Signorini's and Coulomb's, contact by contact; fast: without forces."""
    size = np.abs(forces).max()
    for f, w, m in zip(forces, u, mu):
        assert f[0] >= -accuracy * size and w[0] >= -accuracy * fast and abs(f[0] * w[0]) <= accuracy * size * fast
        tangential = [(f[1:], w[1:])] if cone == "elliptic" else [(f[1:2], w[1:2]), (f[2:], w[2:])]
        for ft, wt in tangential:
            assert np.linalg.norm(ft) <= m * f[0] + accuracy * size
            np.testing.assert_allclose(ft @ wt, -m * f[0] * np.linalg.norm(wt), atol=accuracy * size * fast)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize(("contacts", "rank"), [(1, 9), (1, 3), (2, 12), (4, 18), (4, 6), (10, 36)])
def test_forces_obey_the_laws(contacts, rank, cone):
    """Random responses with friction up to 1, also of redundant contacts."""
    random = np.random.default_rng(contacts * 100 + rank)
    for _ in range(8):
        A = random.normal(size=(3 * contacts, rank))
        free, mu = A @ random.normal(size=rank), random.uniform(0.0, 1.0, contacts)
        found = solve_contacts(A @ A.T, free, mu, cone=cone)
        assert found.converged and found.residual <= 1e-10
        np.testing.assert_allclose(found.velocity.reshape(-1), A @ A.T @ found.forces.reshape(-1) + free, atol=1e-12)
        laws_hold(found.forces, found.velocity, mu, cone, np.abs(free).max())


@pytest.mark.parametrize(
    ("free", "mu", "expected"),
    [
        ((1.0, 2.0, 3.0), 0.5, (0.0, 0.0, 0.0)),  # leaves
        ((-1.0, 0.3, -0.2), 0.5, (2.0, -0.6, 0.4)),  # sticks
        ((-1.0, 3.0, -4.0), 0.5, (2.0, -0.6, 0.8)),  # slides
        ((-1.0, 3.0, -4.0), 0.0, (2.0, 0.0, 0.0)),
    ],
)
def test_one_mass(free, mu, expected):
    np.testing.assert_allclose(solve_contacts(ONE, free, [mu]).forces[0], expected, atol=1e-12)


def test_the_pyramid_bounds_each_tangent_by_itself():
    found = solve_contacts(ONE, (-1.0, 3.0, -0.2), [0.5], cone="pyramidal")
    np.testing.assert_allclose(found.forces[0], (2.0, -1.0, 0.4), atol=1e-12)


def test_a_compliant_contact_yields():
    """u_n = -compliance f_n: the mass is slowed down to where its spring holds it."""
    found = solve_contacts(ONE, (-1.0, 0.0, 0.0), [0.5], compliance=1.5)
    np.testing.assert_allclose(found.forces[0, 0], 1.0 / (1.0 / MASS + 1.5), rtol=1e-12)
    np.testing.assert_allclose(found.velocity[0, 0], -1.5 * found.forces[0, 0], rtol=1e-12)


def test_redundant_contacts_share_evenly():
    """Twenty contacts at one point are as one; the forces are the shortest."""
    free = np.tile((-1.0, 0.2, 0.1), 20)
    found = solve_contacts(np.tile(ONE, (20, 20)), free, np.full(20, 0.5))
    np.testing.assert_allclose(found.forces, np.tile((0.1, -0.02, -0.01), (20, 1)), atol=1e-10)


def test_a_direction_of_sliding_that_the_friction_itself_turns():
    """One tangent is ten times as heavy: the mass does not slide where it was going."""
    G = np.diag([1.0, 1.0, 0.1])
    found = solve_contacts(G, (-1.0, 1.0, 1.0), [0.9])
    laws_hold(found.forces, found.velocity, [0.9], "elliptic", 1.0, 1e-12)
    assert abs(math.atan2(found.velocity[0, 2], found.velocity[0, 1]) - math.pi / 4) > 0.25


def test_a_jammed_contact_sticks():
    """Friction above what lets it slide at all: the normal response of sliding is negative, that of sticking is not."""
    G = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = solve_contacts(G, (-0.1, 1.0, 0.0), [2.0])
    assert found.converged
    np.testing.assert_allclose(found.velocity[0], 0.0, atol=1e-12)


def test_a_warm_start_takes_one_sweep_and_python_finds_the_same():
    random = np.random.default_rng(3)
    A = random.normal(size=(12, 18))
    solvers = [ContactSolver(4, machine_code=machine_code) for machine_code in (True, False)]
    for solver in solvers:
        solver.delassus[:], solver.free[:], solver.friction[:] = A @ A.T, A @ np.linspace(-1, 1, 18), 0.6
        assert solver.solve()
        before = solver.forces.copy()
        assert solver.sweep()
        np.testing.assert_allclose(solver.forces, before, rtol=0.0, atol=1e-12 * before.max())
    np.testing.assert_allclose(solvers[0].forces, solvers[1].forces, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delassus": np.eye(4)}, r"delassus has shape \(4, 4\), expected \(3, 3\) for 1 contacts"),
        ({"free": [0.0, 1.0]}, "free has shape"),
        ({"free": [0.0, 1.0, math.nan]}, "free: a number is not finite"),
        ({"friction": [-1.0]}, "friction: -1 is negative"),
        ({"compliance": -2.0}, "compliance: -2 is negative"),
        ({"cone": "round"}, "cone 'round' is not one of elliptic, pyramidal"),
        ({"friction": 0.5}, r"friction has shape \(\), expected \(n,\)"),
        ({"compliance": [1.0, 2.0]}, r"compliance has shape \(2,\), expected \(\) or \(1,\)"),
        ({"start": [1.0, 2.0]}, r"start has shape \(2,\), expected \(1, 3\)"),
        ({"start": [math.nan] * 3}, r"start has shape \(3,\), expected \(1, 3\), of finite numbers"),
        ({"tolerance": 0.0}, "tolerance 0 must be positive"),
        ({"tolerance": math.nan}, "tolerance nan must be positive"),
        ({"tolerance": "fine"}, "tolerance 'fine' is not a number"),
        ({"delassus": np.triu(np.ones((3, 3)))}, "delassus is not symmetric"),
        ({"delassus": -ONE}, "delassus has a negative eigenvalue"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        solve_contacts(**{"delassus": ONE, "free": [-1.0, 0.0, 0.0], "friction": [0.5], **change})
