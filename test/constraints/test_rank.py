# SPDX-License-Identifier: Apache-2.0
"""Rounding is no rank: joints without a motor that no constraint touches, beside loops, and in numbers of any unit.

The oracle is dense: singular values against the size of all of A.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.differences import along_tangent, along_velocity, relative

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.constrained_dynamics import Rows, constrained_inverse_dynamics
from rbd_dynamics.analysis import operational_space
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.spatial.rank import inverse_response, pseudoinverse, rank_of, size_of
from rbd_dynamics.spatial.se3 import IDENTITY, Transform


def leg(builder, name, parent, place, *, mass=1.0, length=0.4):
    """Two links about y, and a foot."""
    for k in range(2):
        builder.add_body(
            f"{name}{k}", parent, Revolute((0, 1, 0)),
            placement=(place[0], place[1], 0.0) if k == 0 else (0.0, 0.0, -length),
            mass=mass * (1.0 + 0.1 * k), com=(0.05 * length, 0.02 * length, -0.5 * length),
            inertia=mass * length**2 * np.diag([0.12, 0.15, 0.06]),
        )  # fmt: skip
        parent = f"{name}{k}"
    builder.add_frame(f"{name}_foot", parent, placement=(0.0, 0.0, -length))


def linkage(base, loops, *, mass=1.0, length=0.4, backwards=False, hanging=(), held=0):
    """A base that carries closed pairs of legs. base: a joint kind. Its own joints come first.

    hanging: links ("base", "l01") that carry a pendulum besides. held: of the left feet so many stand on the world.
    """
    builder = rbd.ModelBuilder("linkage")
    solid = {"mass": 5.0 * mass, "com": (0.05 * length, 0.02 * length, 0.07 * length)}
    builder.add_body("base", None, base, **solid, inertia=mass * length**2 * np.diag([0.6, 1.2, 0.9]))
    rows = []
    for k in range(loops):
        y = 0.7 * length * (k - 1)
        leg(builder, f"l{k}", "base", (-0.5 * length, y), mass=mass, length=length)
        leg(builder, f"r{k}", "base", (0.5 * length, y), mass=mass, length=length)
        rows.append(FrameConstraint(f"loop{k}", f"l{k}_foot", f"r{k}_foot", directions=("x", "z")))
        if k < held:
            rows.append(FrameConstraint(f"foot{k}", f"l{k}_foot", "world", directions=("x", "z")))
    for link in hanging:
        builder.add_body(
            f"{link}_pendulum", link, Revolute((0.2, 1, 0)), placement=(0.0, 0.1 * length, -0.5 * length), mass=mass,
            com=(0.0, 0.0, -0.3 * length), inertia=0.02 * mass * length**2 * np.eye(3),
        )  # fmt: skip
    model = builder.build()
    return model, ConstraintSet(model, rows[::-1] if backwards else rows)


def dense(robot, of, q, v, a, actuated, cut=1e-9):
    """(tau, lacking, rank): the least torques, as far as there are any."""
    A = robot.constraint_rows(q, v, of).A
    needed = robot.mass_matrix(q) @ a + robot.bias(q, v)
    inverse, whole = (lambda X: pseudo(X, cut * np.linalg.norm(A))), A.T
    (shortest, rank) = inverse(whole[~actuated])
    multipliers = shortest @ needed[~actuated]
    free = np.eye(len(A)) - shortest @ whole[~actuated]
    multipliers = multipliers + free @ inverse(whole[actuated] @ free)[0] @ (needed - whole @ multipliers)[actuated]
    left = needed - whole @ multipliers
    return np.where(actuated, left, 0.0), np.where(actuated, 0.0, left), rank


def pseudo(X, least):
    U, sizes, V = np.linalg.svd(X, full_matrices=False)
    kept = sizes > least
    return V.T[:, kept] / sizes[kept] @ U[:, kept].T, int(kept.sum())


def closed_state(robot, of, seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        try:
            q = robot.project_configuration(robot.model.random(rng), of)
            break
        except ArithmeticError:
            continue
    v = robot.constraint_impulse(q, rng.normal(size=robot.model.nv), of)[0]
    return q, v, robot.constrained_forward_dynamics(q, v, rng.normal(size=robot.model.nv), of).a


SWING = Revolute((1, 0.3, 0))  # inboard of the loops, which it does not touch


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("without", ["base", "base and knees", "nothing"])
@pytest.mark.parametrize("base, loops", [(SWING, 1), (Floating(), 1), (Floating(), 2), (Floating(), 3)])
def test_joints_that_no_loop_touches_have_no_rank(base, loops, without, backwards):
    model, of = linkage(base, loops, backwards=backwards)
    robot = rbd.Robot(model, backend="reference")
    actuated = np.ones(model.nv, bool)
    if without != "nothing":
        actuated[: base.nv] = False
    if without == "base and knees":
        actuated[base.nv + 1 :: 4] = False
    for seed in range(3):
        q, v, a = closed_state(robot, of, seed)
        found = robot.constrained_inverse_dynamics(q, v, a, of, actuated=actuated)
        tau, lacking, rank = dense(robot, of, q, v, a, actuated)
        assert found.rank == rank
        assert relative(found.tau, tau) < 1e-9 and relative(found.lacking, lacking) < 1e-9
        assert found.feasible == (np.abs(lacking).max() < 1e-6 * (1.0 + np.abs(tau).max()))


@pytest.mark.parametrize("hanging", [("base",), ("l01",), ("base", "l01", "r01")])  # beside and outboard of the loop
@pytest.mark.parametrize("held", [0, 1])  # feet that stand, together with loops
@pytest.mark.parametrize("base, loops", [(SWING, 1), (Floating(), 2)])
def test_passive_joints_beside_and_outboard_of_loops_have_none_either(base, loops, held, hanging):
    model, of = linkage(base, loops, hanging=hanging, held=held)
    robot = rbd.Robot(model, backend="reference")
    actuated = np.ones(model.nv, bool)
    actuated[: base.nv] = False
    actuated[[model.joint(f"{link}_pendulum_joint").v_index for link in hanging]] = False
    for seed in range(2):
        q, v, a = closed_state(robot, of, seed)
        assert not robot.constrained_inverse_dynamics(q, v, a, of, actuated=actuated).feasible
        given = np.where(actuated, np.random.default_rng(seed).normal(size=model.nv), 0.0)
        a = robot.constrained_forward_dynamics(q, v, given, of).a
        found = robot.constrained_inverse_dynamics(q, v, a, of, actuated=actuated)
        tau, lacking, rank = dense(robot, of, q, v, a, actuated)
        assert found.feasible and found.rank == rank
        assert relative(found.tau, tau) < 1e-9
        assert np.abs([found.lacking, lacking]).max() < 1e-9 * np.abs(found.needed).max()


@pytest.mark.parametrize("hanging", [(), ("base", "l01")])
def test_derivatives_know_it_too(hanging):
    """Beside differences of the dense oracle; constraints hold in the state, not in what is beside it."""
    model, of = linkage(Floating(), 1, hanging=hanging)
    robot = rbd.Robot(model, backend="reference")
    actuated = np.arange(model.nv) >= 6
    actuated[[model.joint(f"{link}_pendulum_joint").v_index for link in hanging]] = False
    q, v, a = closed_state(robot, of, 0)
    found = robot.constrained_inverse_dynamics_derivatives(q, v, a, of, actuated=actuated)
    for name, part, difference in (
        ("q", found.tau_dq, along_tangent(model, q, lambda q: dense(robot, of, q, v, a, actuated)[0])),
        ("v", found.tau_dv, along_velocity(v, lambda v: dense(robot, of, q, v, a, actuated)[0])),
        ("a", found.tau_da, along_velocity(a, lambda a: dense(robot, of, q, v, a, actuated)[0])),
    ):
        assert relative(part, difference) < 1e-5, name
    other = {"actuated": actuated, "objective": "constraint_force"}
    others = robot.constrained_inverse_dynamics_derivatives(q, v, a, of, **other)
    assert max(np.abs(part).max() for part in (*found, *others)) < 1e4


@pytest.mark.parametrize("least_torque", [False, True])
@pytest.mark.parametrize("rounding", [0.0, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12])
def test_rounding_of_any_size_is_as_zero(rounding, least_torque):
    """A column of rounding where a passive joint does not touch the constraints, before, between and behind others."""
    rng = np.random.default_rng(0)
    A, needed = rng.normal(size=(3, 6)), rng.normal(size=6)
    for column in (0, 2, 5):
        exact, rough = A.copy(), A.copy()
        exact[:, column], rough[:, column] = 0.0, rounding * rng.normal(size=3)
        actuated = np.ones(6)
        actuated[[column, 3]] = 0.0
        one, other = (
            constrained_inverse_dynamics(
                needed.tolist(), Rows([0.0] * 3, X.tolist(), [0.0] * 3), [0.0] * 6, actuated.tolist(), least_torque
            )
            for X in (exact, rough)
        )
        assert one.rank == other.rank == 1
        np.testing.assert_allclose(other.tau, one.tau, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(other.residual, one.residual, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("least_torque", [False, True])
@pytest.mark.parametrize("rounding", [0.0, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12])
def test_a_row_of_rounding_is_no_row(rounding, least_torque):
    rng = np.random.default_rng(1)
    A, needed, actuated = rng.normal(size=(3, 6)), rng.normal(size=6), [0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    rough = rounding * rng.normal(size=(1, 6))
    one = found_torque(A, needed, actuated, least_torque)
    for place in range(4):
        other = found_torque(np.insert(A, place, rough, axis=0), needed, actuated, least_torque)
        assert one.rank == other.rank == 2
        np.testing.assert_allclose(other.tau, one.tau, rtol=1e-9, atol=1e-9)
        assert abs(other.multipliers[place]) < 1e-9


def test_what_is_small_and_no_rounding_counts():
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1e-6]])
    found = found_torque(A, np.array([1.0, 2.0, 3e-6]), [1.0, 1.0, 0.0], False)
    assert found.rank == 1
    np.testing.assert_allclose(found.multipliers[1], 3.0, rtol=1e-9)


def found_torque(A, needed, actuated, least_torque):
    rows = Rows([0.0] * len(A), A.tolist(), [0.0] * len(A))
    return constrained_inverse_dynamics(needed.tolist(), rows, [0.0] * A.shape[1], list(actuated), least_torque)


@pytest.mark.parametrize("tilt", [0.0, 1e-16, 1e-14])
def test_a_passive_axis_that_no_contact_turns_is_none_of_its_to_hold(tilt):
    """A carriage on a rail carries a leg; but for rounding, ground without friction gives nothing along the rail."""
    builder = rbd.ModelBuilder("carriage")
    rail = np.array([1.0, 0.0, tilt])
    builder.add_body("carriage", None, Prismatic(rail), mass=3.0, inertia=0.1 * np.eye(3))
    leg(builder, "leg", "carriage", (0.0, 0.0))
    model = builder.build()
    robot = rbd.Robot(model, backend="reference")
    q = model.neutral()
    q[1:] = [0.5, -0.9]
    ground = Transform(IDENTITY.factors, (0.0, 0.0, float(robot.pose(q, "leg_foot")[2, 3]) - 1e-3))
    feet = ContactSet(model, [Contact("foot", "leg_foot", surface_placement=ground)])
    zero = np.zeros(3)
    needed = robot.bias(q, zero)
    found = robot.contact_inverse_dynamics(q, zero, [0.5, 0.0, 0.0], feet, actuated=[False, True, True])
    assert not found.feasible
    np.testing.assert_allclose(found.lacking[0], 0.5 * float(robot.mass_matrix(q)[0, 0]) + needed[0], rtol=1e-9)
    assert np.abs(found.tau).max() < 100.0


@pytest.mark.parametrize("mass, length", [(1e-3, 1.0), (1e3, 1.0), (1.0, 1e-2), (1.0, 1e2), (1e-3, 1e-2)])
def test_rank_does_not_depend_on_units(mass, length):
    ranks = []
    for scale in ((1.0, 0.4), (mass, 0.4 * length)):
        model, of = linkage(Floating(), 2, mass=scale[0], length=scale[1])
        robot = rbd.Robot(model, backend="reference")
        actuated = np.arange(model.nv) >= 6
        actuated[[7, 9]] = False
        q = model.neutral()
        q[7:] = [0.3, 0.4, -0.3, -0.4, 0.5, 0.2, -0.5, -0.2]
        zero = np.zeros(model.nv)
        ranks.append(
            (
                int(robot.constrained_inverse_dynamics(q, zero, zero, of, actuated=actuated).rank),
                int(robot.constrained_forward_dynamics(q, zero, zero, of).rank),
                int(robot.force_projection(q, of)[1]),
            )
        )
    assert ranks[0] == ranks[1] and ranks[0][1] == 4


def test_the_rule_for_arrays_is_the_same():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 5))
    assert rank_of(A, scale=size_of(A)) == 2
    assert rank_of(A - A * (1.0 + 1e-15), scale=size_of(A)) == 0
    np.testing.assert_allclose(pseudoinverse(A, scale=size_of(A)), np.linalg.pinv(A, rcond=1e-10), rtol=1e-9)
    rows = np.vstack([A[:2], 1e3 * A[:1], 1e-16 * A[:1]])  # redundant, in another unit, and rounding
    G = inverse_response(rows, rows.T)
    assert np.all(G[3] == 0.0) and np.all(G[:, 3] == 0.0)
    np.testing.assert_allclose(rows[:3] @ rows.T @ G @ rows, rows[:3], rtol=1e-9, atol=1e-9)
    assert not inverse_response(1e-16 * A, 1e-16 * A.T).any(), "all of it is rounding"


def test_a_direction_without_motion_has_no_inertia_also_alone():
    """A planar arm, turned so that the Jacobian's zeros are rounding, asked for the direction across its plane."""
    builder = rbd.ModelBuilder("planar")
    axis, parent = np.array([0.36, 0.48, 0.8]), None
    along = np.array([0.8, -0.6, 0.0])
    for k in range(3):
        builder.add_body(f"l{k}", parent, Revolute(axis), placement=0.4 * along * (k > 0), mass=1.0, com=0.2 * along,
                         inertia=0.01 * np.eye(3))  # fmt: skip
        parent = f"l{k}"
    third = np.cross(axis, along)
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = np.column_stack([along, third, axis]), 0.4 * along
    builder.add_frame("tool", parent, placement=tool)
    robot, q = rbd.Robot(builder.build(), backend="reference"), [0.3, 0.5, -0.8]
    for rows in ([5], [3, 4, 5]):
        found = operational_space.effective_inertia(robot, q, "tool", rows=rows)
        assert found.rank == len(rows) - 1
        inverse = operational_space.dynamically_consistent_inverse(robot, q, "tool", rows=rows)
        assert np.abs(inverse).max() < 1e3 and not inverse[:, -1].any()
