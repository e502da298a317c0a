# SPDX-License-Identifier: Apache-2.0
"""Constrained dynamics against Pinocchio, the matrix formulas, and what has to hold in any case."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import ROBOTS, SINGULAR, load_robot, load_twin, needs_pinocchio, random_state, sampled
from helpers.wide import table
from hypothesis import given, settings
from hypothesis import strategies as st

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    ConstraintSet,
    FrameConstraint,
    HolonomicRows,
    JointCoupling,
    PfaffianRows,
    RollingBall,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.spatial import exp_se3
from rbd_dynamics.spatial.arrays import pose_array, pose_of

POINT = ("x", "y", "z")
ASIDE = pose_of(exp_se3([0.0, 0.0, 0.0, 0.1, 0.05, 0.2]))


def close(found, expected, tolerance=1e-9):
    """Relative to the largest number."""
    scale = np.abs(expected).max(initial=0.0) + 1e-12
    np.testing.assert_allclose(np.asarray(found) / scale, np.asarray(expected) / scale, rtol=0, atol=tolerance)


def spread(model):
    """Constraints that suit any robot with two bodies or more."""
    frames = [model.bodies[-1].name, model.bodies[len(model.bodies) // 2].name]
    return [
        FrameConstraint("hold", frames[0], directions=("x", "rz")),
        SurfaceConstraint("on", frames[1], surface=Sphere(0.8), offset=0.1, placement=ASIDE),
    ]


class Case:
    """A random state of a robot under constraints, and the matrices of its equation of motion."""

    def __init__(self, robot, constraints, seed=0):
        rng = np.random.default_rng(seed)
        self.robot = robot
        self.of = ConstraintSet(robot.model, constraints)
        self.q, self.v, self.a = random_state(robot.model, rng)
        self.tau = rng.normal(size=robot.model.nv)
        self.M, self.b = robot.mass_matrix(self.q), robot.bias(self.q, self.v)
        _, self.A, self.Adot_v = robot.constraint_rows(self.q, self.v, self.of)

    def kkt(self, tau=None):
        """(a, lambda) from the whole matrix."""
        n, m = self.robot.model.nv, len(self.of)
        K = np.block([[self.M, -self.A.T], [self.A, np.zeros((m, m))]])
        tau = self.tau if tau is None else tau
        x = np.linalg.solve(K, np.concatenate([tau - self.b, -self.Adot_v]))
        return x[:n], x[n:]


CHAINS = ("ur5_robot", "panda", "solo12", "icub_reduced", "double_pendulum_continuous")


@pytest.mark.parametrize(
    ("name", "base", "backend"),
    table(
        product(CHAINS[:3], ("fixed", "floating"), BACKENDS),
        lambda case: case[2] == "reference" or case[:2] in (("ur5_robot", "floating"), ("panda", "fixed")),
    ),
)
def test_forward_is_the_solution_of_the_whole_matrix(name, base, backend):
    case = Case(rbd.Robot(load_robot(name, base), backend=backend), spread(load_robot(name, base)))
    found = case.robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    a, multipliers = case.kkt()
    close(found.a, a)
    close(found.multipliers, multipliers)
    assert found.rank == len(case.of)
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-9 * (1.0 + np.abs(case.Adot_v).max()))


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_contacts_and_loops_against_pinocchio(name, base):
    import pinocchio as pin

    twin = load_twin(name, base)
    model = twin.model
    if any(body.joint.mimic for body in model.bodies) or name in SINGULAR:
        pytest.skip("with mimic joints, or joints without mass, Pinocchio's forward dynamics is another robot's")
    if model.nv < 3:
        pytest.skip("fewer than three freedoms")
    robot = rbd.Robot(model, backend="reference")
    rng = np.random.default_rng(1)
    q, v, _ = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    one, other = model.bodies[-1].name, model.bodies[len(model.bodies) // 3].name
    T_one, T_other = robot.pose(q, one), robot.pose(q, other)
    meeting = np.linalg.inv(T_other) @ T_one  # the loop is closed where the two happen to be
    touching = pose_of(T_one @ pose_array(ASIDE))
    contact = FrameConstraint("contact", one, placement=ASIDE, reference_placement=touching, directions=POINT)
    loop = FrameConstraint("loop", one, other, reference_placement=pose_of(meeting))
    for constraints in ([contact, loop], [contact]):
        of = ConstraintSet(model, constraints)
        if np.linalg.matrix_rank(robot.constraint_rows(q, v, of).A, tol=1e-6) == len(of):
            break
    else:
        pytest.skip("the point cannot move freely")
    v, _, _ = robot.constraint_impulse(q, v, of)  # there all ways to write the constraint agree
    frame, base_frame = (twin.pinocchio.frames[twin.frame_id(n)] for n in (one, other))
    models = pin.StdVec_RigidConstraintModel()
    local = pin.ReferenceFrame.LOCAL
    at = frame.placement * pin.SE3(pose_array(ASIDE))
    models.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, twin.pinocchio, frame.parentJoint, at, local))
    if len(of) > 3:
        placed = base_frame.placement * pin.SE3(meeting[:3, :3], meeting[:3, 3])
        models.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D,
                twin.pinocchio,
                frame.parentJoint,
                frame.placement,
                base_frame.parentJoint,
                placed,
                local,
            )  # fmt: skip
        )
    datas = pin.StdVec_RigidConstraintData()
    datas.extend([m.createData() for m in models])
    pin.initConstraintDynamics(twin.pinocchio, twin.data, models, datas)
    tau_p = np.linalg.lstsq(twin.P.T, tau, rcond=None)[0]
    accurate = pin.ProximalSettings(1e-14, 1e-12, 200)
    a_p = pin.constraintDynamics(twin.pinocchio, twin.data, twin.q(q), twin.v(v), tau_p, models, datas, accurate)
    found = robot.constrained_forward_dynamics(q, v, tau, of)
    free = np.abs(robot.forward_dynamics(q, v, tau)).max()
    np.testing.assert_allclose(twin.v(found.a), a_p, atol=1e-7 * (free + np.abs(a_p).max()))
    force = datas[0].contact_force.linear  # in the frame's own axes
    close(robot.constraint_wrenches(q, of, found.multipliers)["contact"][3:], force, 1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_hybrid_on_random_trees(seed):
    """Any mask, against M_vv^-1 and the multipliers' own equation."""
    rng = np.random.default_rng(seed)
    model = mixed_tree(seed, n=5)
    robot = rbd.Robot(model, backend="reference")
    case = Case(robot, [FrameConstraint("p", "link4", directions=POINT)], seed)
    prescribed = rng.random(model.nv) < 0.3
    free = ~prescribed
    found = robot.constrained_hybrid_dynamics(case.q, case.v, case.a, case.tau, prescribed, case.of)
    A_v, A_u, M = case.A[:, free], case.A[:, prescribed], case.M
    W = np.linalg.inv(M[np.ix_(free, free)])
    G = A_v @ W @ A_v.T
    if np.linalg.matrix_rank(G, tol=1e-9 * np.abs(G).max()) < 3:
        return
    push = case.tau[free] - case.b[free] - M[np.ix_(free, prescribed)] @ case.a[prescribed]
    multipliers = np.linalg.solve(G, -case.Adot_v - A_u @ case.a[prescribed] - A_v @ W @ push)
    a = case.a.copy()
    a[free] = W @ (push + A_v.T @ multipliers)
    precision = 1e-12 * np.linalg.cond(G) + 1e-11 * np.linalg.cond(M)
    close(found.a, a, 1e-9 + precision)
    close(found.multipliers, multipliers, 1e-9 + precision)
    close(found.tau, np.where(prescribed, M @ a + case.b - case.A.T @ multipliers, case.tau), 1e-9 + precision)
    np.testing.assert_array_equal(found.a[prescribed], case.a[prescribed])


def test_hybrid_is_forward_with_nothing_and_inverse_with_everything_prescribed():
    case = Case(rbd.Robot(load_robot("panda"), backend="reference"), spread(load_robot("panda")))
    robot, every = case.robot, np.ones(case.robot.model.nv, bool)
    forward = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    hybrid = robot.constrained_hybrid_dynamics(case.q, case.v, case.a, case.tau, ~every, case.of)
    close(hybrid.a, forward.a, 1e-13)
    close(hybrid.multipliers, forward.multipliers, 1e-12)
    back = robot.constrained_hybrid_dynamics(case.q, case.v, forward.a, case.tau, every, case.of)
    close(back.tau, robot.inverse_dynamics(case.q, case.v, forward.a))
    assert back.rank == 0  # nothing is left that constraints could move
    assert np.abs(back.residual).max() < 1e-9
    wrong = robot.constrained_hybrid_dynamics(case.q, case.v, case.a, case.tau, every, case.of)
    close(wrong.residual, case.A @ case.a + case.Adot_v)


# --- inverse --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closed():
    """A Panda whose hand is held in five directions, in a motion that this allows."""
    robot = rbd.Robot(load_robot("panda"), backend="reference")
    case = Case(robot, [FrameConstraint("held", "panda_hand", directions=(*POINT, "rx", "ry"))], 3)
    case.a = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of).a
    case.needed = case.M @ case.a + case.b
    return case


def passive_joints(case, *which):
    actuated = np.ones(case.robot.model.nv, bool)
    actuated[list(which)] = False
    return actuated


@pytest.mark.parametrize("objective", ["torque", "constraint_force"])
def test_as_many_passive_joints_as_constraints_leave_one_solution(closed, objective):
    actuated = passive_joints(closed, 0, 1, 2, 3, 5)
    found = closed.robot.constrained_inverse_dynamics(
        closed.q, closed.v, closed.a, closed.of, actuated=actuated, objective=objective
    )
    multipliers = np.linalg.solve(closed.A.T[~actuated], closed.needed[~actuated])
    close(found.multipliers, multipliers, 1e-8)
    close(found.tau, np.where(actuated, closed.needed - closed.A.T @ multipliers, 0.0), 1e-8)
    assert found.feasible and found.rank == 5


def test_least_constraint_force_and_least_torque(closed):
    actuated = passive_joints(closed, 2, 5)
    A_p, A_a = closed.A.T[~actuated], closed.A.T[actuated]
    found = {
        objective: closed.robot.constrained_inverse_dynamics(
            closed.q, closed.v, closed.a, closed.of, actuated=actuated, objective=objective
        )
        for objective in ("torque", "constraint_force")
    }
    least = np.linalg.pinv(A_p) @ closed.needed[~actuated]
    close(found["constraint_force"].multipliers, least)
    N = np.linalg.svd(A_p)[2][2:].T
    best = least + N @ (np.linalg.pinv(A_a @ N) @ (closed.needed[actuated] - A_a @ least))
    close(found["torque"].multipliers, best)
    norms = {key: np.linalg.norm(one.tau[actuated]) for key, one in found.items()}
    assert norms["torque"] < norms["constraint_force"]
    for one in found.values():
        assert one.feasible
        np.testing.assert_array_equal(one.tau[~actuated], 0.0)
        made = closed.robot.constrained_forward_dynamics(closed.q, closed.v, one.tau, closed.of)
        close(made.a, closed.a, 1e-8)


def test_all_joints_actuated_is_the_projection_of_the_torque(closed):
    """000 equations 65 and 66: what the constraints can carry is taken off."""
    found = closed.robot.constrained_inverse_dynamics(closed.q, closed.v, closed.a, closed.of)
    close(found.multipliers, np.linalg.pinv(closed.A.T) @ closed.needed)
    close(found.tau, closed.needed - closed.A.T @ found.multipliers)


def test_infeasible_motion_is_said(closed):
    actuated = passive_joints(closed, *range(7))
    found = closed.robot.constrained_inverse_dynamics(closed.q, closed.v, closed.a, closed.of, actuated=actuated)
    assert not found.feasible and np.abs(found.lacking).max() > 1e-3
    found = closed.robot.constrained_inverse_dynamics(closed.q, closed.v, closed.a + 1.0, closed.of)
    assert not found.feasible
    close(found.residual, closed.A @ (closed.a + 1.0) + closed.Adot_v)


def test_passive_torques_are_taken_as_given(closed):
    actuated = passive_joints(closed, 2, 5)
    springs = np.linspace(-1.0, 1.0, 8)
    found = closed.robot.constrained_inverse_dynamics(
        closed.q, closed.v, closed.a, closed.of, actuated=actuated, tau=springs
    )
    np.testing.assert_array_equal(found.tau[~actuated], springs[~actuated])
    made = closed.robot.constrained_forward_dynamics(closed.q, closed.v, found.tau, closed.of)
    close(made.a, closed.a, 1e-8)


def test_unknown_objective(closed):
    with pytest.raises(ValueError, match="objective 'speed'"):
        closed.robot.constrained_inverse_dynamics(closed.q, closed.v, closed.a, closed.of, objective="speed")


# --- projections, subspaces, Gauss ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_projections_and_both_subspaces(seed):
    model = mixed_tree(seed, n=5)
    robot = rbd.Robot(model, backend="reference")
    case = Case(robot, [FrameConstraint("p", "link4", directions=POINT)], seed)
    P_w, rank = robot.force_projection(case.q, case.of)
    P_T, one = P_w.T, np.eye(model.nv)
    M_inverse = np.linalg.inv(case.M)
    precision = 1e-11 * np.linalg.cond(case.M)
    if rank == 3:
        G = case.A @ M_inverse @ case.A.T
        close(P_w, one - case.A.T @ np.linalg.solve(G, case.A @ M_inverse), 1e-9 + precision)
    close(P_w @ P_w, P_w, 1e-10 + precision)
    close(P_w @ case.M, case.M @ P_T, 1e-10 + precision)
    scale = np.abs(case.A).max()
    np.testing.assert_allclose(case.A @ P_T, 0.0, atol=(1e-9 + precision) * scale * np.abs(P_T).max())
    np.testing.assert_allclose(P_w @ case.A.T, 0.0, atol=(1e-9 + precision) * scale * np.abs(P_w).max())
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    C_v, N = robot.coriolis(case.q, case.v), robot.gravity(case.q)
    close(P_w @ (case.M @ found.a + case.b), P_w @ case.tau, 1e-8 + precision)
    left = case.M @ (one - P_T) @ (found.a + M_inverse @ C_v)
    right = (one - P_w) @ (case.tau - N) + case.A.T @ found.multipliers
    np.testing.assert_allclose(left, right, atol=(1e-8 + precision) * np.abs(right).max())


def test_gauss_principle():
    """Of all accelerations that the constraints allow the true one is nearest to the free one, in the metric of M."""
    case = Case(
        rbd.Robot(load_robot("ur5_robot", "floating"), backend="reference"), spread(load_robot("ur5_robot", "floating"))
    )
    found = case.robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of).a
    free = case.robot.forward_dynamics(case.q, case.v, case.tau)

    def compulsion(a):
        return (a - free) @ case.M @ (a - free)

    P_w, _ = case.robot.force_projection(case.q, case.of)
    rng = np.random.default_rng(0)
    for _ in range(30):
        step = P_w.T @ rng.normal(size=case.robot.model.nv)
        assert abs((case.A @ step).max()) < 1e-9 * np.abs(step).max() * 10
        assert compulsion(found + 1e-3 * step) > compulsion(found)


# --- redundant, inconsistent, nearly singular -----------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_redundant_rows_change_nothing_but_share_the_force(backend):
    robot = rbd.Robot(load_robot("ur5_robot"), backend=backend)
    once = Case(robot, [FrameConstraint("p", "tool0", directions=POINT)])
    twice = Case(robot, [FrameConstraint(f"p{k}", "tool0", directions=POINT) for k in range(2)])
    one, two = (robot.constrained_forward_dynamics(c.q, c.v, c.tau, c.of) for c in (once, twice))
    close(two.a, one.a, 1e-11)
    assert two.rank == one.rank == 3
    close(two.multipliers, np.tile(0.5 * one.multipliers, 2), 1e-10)
    assert np.abs(two.residual).max() < 1e-9 * np.abs(twice.Adot_v).max()


def test_rows_without_effect_are_dropped():
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    rows = [PfaffianRows("none", lambda q: [[0.0] * 6]), FrameConstraint("p", "tool0", directions=POINT)]
    case = Case(robot, rows)
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    assert found.rank == 3 and found.multipliers[0] == 0.0
    alone = robot.constrained_forward_dynamics(case.q, case.v, case.tau, rows[1:])
    close(found.a, alone.a)


def test_contradiction_is_in_the_residual_of_the_later_row():
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    name = robot.model.joint_names[2]
    case = Case(robot, [JointCoupling("one", {name: 1.0}), JointCoupling("two", {name: 1.0})])
    target = np.array([0.0, 1.0])
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of, target=target)
    assert found.rank == 1
    np.testing.assert_allclose(found.residual, [0.0, -1.0], atol=1e-9)
    assert abs(found.a[2]) < 1e-9


@pytest.mark.parametrize(("angle", "rank"), [(1e-2, 2), (1e-5, 2), (1e-9, 1)])
def test_nearly_parallel_rows_around_the_threshold(angle, rank):
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    rows = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, angle, 0.0, 0.0, 0.0, 0.0]]
    case = Case(robot, [PfaffianRows("near", lambda q: rows, labels=("a", "b"))])
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    assert found.rank == rank
    assert np.abs(found.a[0]) < 1e-8
    if rank == 2:
        assert np.abs(found.a[1]) < 1e-14 / angle**1.5 + 1e-9


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9), rank=st.integers(1, 6))
def test_any_rank_gives_the_minimum_norm_multipliers(seed, rows, rank):
    """Random rows of a given rank: as the pseudoinverse has it."""
    rng = np.random.default_rng(seed)
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    A = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, 6))
    case = Case(robot, [PfaffianRows("any", lambda q: A.tolist(), labels=tuple(f"r{k}" for k in range(rows)))], 1)
    rank = min(rank, rows)
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of)
    assert found.rank == rank
    free = robot.forward_dynamics(case.q, case.v, case.tau)
    G = A @ np.linalg.solve(case.M, A.T)
    values = np.linalg.svd(G, compute_uv=False)
    condition = values[0] / values[rank - 1]
    expected = np.linalg.pinv(G, rcond=1e-9) @ (-A @ free)
    if condition < 1e6:
        close(found.multipliers, expected, 1e-9 + 1e-13 * condition)
        np.testing.assert_allclose(A @ found.a, 0.0, atol=1e-8 * np.abs(A).max() * np.abs(free).max())


# --- everything else ------------------------------------------------------------------------------


def test_stabilization_pulls_back():
    """hddot = -2 alpha hdot - alpha^2 h."""
    robot, alpha = rbd.Robot(load_robot("ur5_robot"), backend="reference"), 5.0
    rows = [FrameConstraint("p", "tool0", directions=POINT)]
    case = Case(robot, rows)
    of = ConstraintSet(robot.model, rows, stabilization=alpha)
    h, A, Adot_v = robot.constraint_rows(case.q, case.v, of)
    a = robot.constrained_forward_dynamics(case.q, case.v, case.tau, of).a
    np.testing.assert_allclose(A @ a + Adot_v, -2 * alpha * (A @ case.v) - alpha**2 * h, rtol=1e-9, atol=1e-9)


def test_wrenches_payload_and_friction_count():
    model = load_robot("panda")
    case = Case(rbd.Robot(model, backend="reference"), spread(model))
    wrench = np.arange(6.0)
    J = case.robot.jacobian(case.q, "panda_hand")
    with_wrench = case.robot.constrained_forward_dynamics(
        case.q, case.v, case.tau, case.of, f_ext={"panda_hand": wrench}
    )
    close(with_wrench.a, case.kkt(case.tau + J.T @ wrench)[0])
    loaded = rbd.Robot(model, backend="reference")
    loaded.set_payload("panda_hand", 3.0, com=(0.0, 0.0, 0.1))
    close(
        loaded.constrained_forward_dynamics(case.q, case.v, case.tau, case.of).a,
        Case(loaded, spread(model)).kkt()[0],
    )
    rough = rbd.Robot(model, friction=True, backend="reference")
    close(
        rough.constrained_forward_dynamics(case.q, case.v, case.tau, case.of).a,
        case.kkt(case.tau - rough.friction_torque(case.v))[0],
    )


def test_impulse_at_contact():
    robot = rbd.Robot(load_robot("solo12", "floating"), backend="reference")
    case = Case(robot, [FrameConstraint("foot", robot.model.bodies[3].name, directions=POINT)])
    for restitution in (0.0, 0.4, 1.0):
        after, impulses, rank = robot.constraint_impulse(case.q, case.v, case.of, restitution=restitution)
        assert rank == 3
        speed = case.A @ case.v
        np.testing.assert_allclose(case.A @ after, -restitution * speed, atol=1e-10 * np.abs(speed).max())
        close(case.M @ (after - case.v), case.A.T @ impulses, 1e-10)
        before, later = (robot.kinetic_energy(case.q, v) for v in (case.v, after))
        assert later <= before * (1 + 1e-12)
        if restitution == 1.0:
            np.testing.assert_allclose(later, before, rtol=1e-10)
    P_w, _ = robot.force_projection(case.q, case.of)
    close(robot.constraint_impulse(case.q, case.v, case.of)[0], P_w.T @ case.v, 1e-10)


def test_configurations_are_projected_on_the_constraint():
    robot = rbd.Robot(load_robot("ur5_robot", "floating"), backend="reference")
    q = robot.model.random(1)
    target = robot.pose(q, "tool0") @ exp_se3([0.3, -0.2, 0.1, 0.05, 0.1, -0.1])
    of = ConstraintSet(robot.model, [FrameConstraint("c", "tool0", reference_placement=pose_of(target))])
    found = robot.project_configuration(q, of)
    close(robot.pose(found, "tool0"), target, 1e-11)
    far = ConstraintSet(load_robot("ur5_robot"), [SurfaceConstraint("far", "tool0", surface=Sphere(50.0))])
    with pytest.raises(ArithmeticError, match="far.normal"):
        rbd.Robot(load_robot("ur5_robot"), backend="reference").project_configuration(np.zeros(6), far)


def test_wrenches_of_constraints_do_the_work_of_the_multipliers():
    case = Case(
        rbd.Robot(load_robot("panda"), backend="reference"),
        [RollingBall("b", "panda_hand", surface=Sphere(0.4), radius=0.1)],
    )
    multipliers = np.array([3.0, -1.0, 2.0])
    wrench = case.robot.constraint_wrenches(case.q, case.of, multipliers)["b"]
    close(case.robot.jacobian(case.q, "panda_hand").T @ wrench, case.A.T @ multipliers, 1e-11)
    with pytest.raises(ValueError, match=r"expected \(3,\)"):
        case.robot.constraint_wrenches(case.q, case.of, [1.0])


def test_target_is_the_acceleration_of_what_moves():
    """A plane that rises as 0.5 t^2: the tool's height follows it."""
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    case = Case(robot, [SurfaceConstraint("plane", "tool0")])
    found = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of, target=[1.0])
    np.testing.assert_allclose(case.A @ found.a + case.Adot_v, [1.0], rtol=1e-9)


def test_batches_outputs_and_copies():
    robot = rbd.Robot(load_robot("panda"), backend="reference")
    rng = np.random.default_rng(0)
    q = np.stack([robot.model.random(rng) for _ in range(7)])
    v, tau = rng.normal(size=(2, 7, robot.model.nv))
    of = ConstraintSet(robot.model, spread(robot.model))
    many = robot.constrained_forward_dynamics(q, v, tau, of)
    assert many.rank.shape == (7,) and many.multipliers.shape == (7, 3)
    out = (np.empty(8), np.empty(3), np.empty(()), np.empty(3))
    one = robot.constrained_forward_dynamics(q[4], v[4], tau[4], of, out=out)
    assert one.a is out[0] and one.multipliers is out[1]
    close(one.a, many.a[4], 1e-12)
    for other in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        close(other.constrained_forward_dynamics(q, v, tau, of).a, many.a, 1e-13)


def test_a_list_of_constraints_will_do():
    case = Case(rbd.Robot(load_robot("ur5_robot"), backend="reference"), spread(load_robot("ur5_robot")))
    found = case.robot.constrained_forward_dynamics(case.q, case.v, case.tau, spread(case.robot.model))
    close(found.a, case.kkt()[0])
    with pytest.raises(TypeError, match="constraints must be"):
        case.robot.constrained_forward_dynamics(case.q, case.v, case.tau, 3)


def test_numbers_that_are_not_finite_are_named():
    case = Case(rbd.Robot(load_robot("ur5_robot"), backend="reference"), spread(load_robot("ur5_robot")))
    bad = case.tau.copy()
    bad[2] = np.nan
    with pytest.raises(ValueError, match="tau of joint 'elbow_joint' is nan"):
        case.robot.constrained_forward_dynamics(case.q, case.v, bad, case.of)
    with pytest.raises(ValueError, match="target"):
        case.robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of, target=[np.nan] * len(case.of))


def test_functions_of_ones_own_act_as_constraints():
    """A joint that follows the sine of another, as no gear in a URDF does."""
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    from rbd_dynamics.spatial.scalar import sin

    case = Case(robot, [HolonomicRows("cam", lambda q: [q[2] - 0.5 * sin(q[1])])])
    a = robot.constrained_forward_dynamics(case.q, case.v, case.tau, case.of).a
    expected = 0.5 * (np.cos(case.q[1]) * a[1] - np.sin(case.q[1]) * case.v[1] ** 2)
    np.testing.assert_allclose(a[2], expected, rtol=1e-9)
