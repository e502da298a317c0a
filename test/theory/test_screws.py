# SPDX-License-Identifier: Apache-2.0
"""Screws: lines, subspaces, projected dynamics, mobility and chain splitting, on real and random robots."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import ROBOTS, Twin, load_robot, needs_pinocchio, random_tree, robot_file, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics import spatial
from rbd_dynamics.algorithms.hybrid_dynamics import hybrid_dynamics
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.kinematics import accelerations, base_acceleration, velocities
from rbd_dynamics.model.model import Model
from rbd_dynamics.theory import screws
from rbd_dynamics.theory.screws import planar
from rbd_dynamics.theory.screws.mobility import mobility_before

quick = settings(max_examples=60, deadline=None, derandomize=True)

numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
directions = vectors.filter(lambda a: np.linalg.norm(a) > 0.1)
seeds = st.integers(0, 10_000)


def lines(pitch=numbers):
    return st.builds(screws.Screw.from_line, directions, point=vectors, pitch=pitch)


# --- screws -------------------------------------------------------------------------------------------


@quick
@given(lines(), st.floats(0.1, 5.0))
def test_twists_and_wrenches_are_screws_with_a_magnitude(screw, size):
    for there, back in ((screw.twist, screws.Screw.from_twist), (screw.wrench, screws.Screw.from_wrench)):
        found, magnitude = back(there(magnitude=size))
        assert magnitude == pytest.approx(size)
        np.testing.assert_allclose(found.axis, screw.axis, atol=1e-12)
        np.testing.assert_allclose(found.point, screw.point, atol=1e-12)
        assert found.pitch == pytest.approx(screw.pitch, abs=1e-12)
    assert screw.point @ screw.axis == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(
        screw.twist(magnitude=size)[3:], size * (screw.moment + screw.pitch * screw.axis), atol=1e-12
    )


@quick
@given(lines(), vectors)
def test_a_point_moves_along_and_around_its_screw(screw, point):
    w, v = np.split(screw.twist(magnitude=2.0), 2)
    velocity = v + np.cross(w, point)
    assert velocity @ screw.axis == pytest.approx(2.0 * screw.pitch, abs=1e-10)
    arm = point - screw.point
    around = velocity - (velocity @ screw.axis) * screw.axis
    assert np.linalg.norm(around) == pytest.approx(2.0 * np.linalg.norm(np.cross(screw.axis, arm)), abs=1e-10)


def test_translations_and_couples_have_infinite_pitch():
    screw, speed = screws.Screw.from_twist([0, 0, 0, 0, 3.0, 4.0])
    assert math.isinf(screw.pitch) and speed == 5.0
    np.testing.assert_allclose(screw.axis, [0, 0.6, 0.8])
    np.testing.assert_allclose(screw.twist(magnitude=5.0), [0, 0, 0, 0, 3.0, 4.0])
    couple, size = screws.Screw.from_wrench([0, 0, 2.0, 0, 0, 0])
    assert math.isinf(couple.pitch) and size == 2.0
    np.testing.assert_allclose(couple.wrench(magnitude=2.0), [0, 0, 2.0, 0, 0, 0])
    both, sizes = screws.Screw.from_twist([[0, 0, 0, 0, 3.0, 4.0], [0, 0, 1.0, 0, 0, 0.5], np.zeros(6)])
    np.testing.assert_allclose(both.pitch[:2], [math.inf, 0.5])
    np.testing.assert_allclose(sizes, [5.0, 1.0, 0.0])
    assert np.isnan(both.axis[2]).all()
    with pytest.raises(ValueError, match="length zero"):
        screws.Screw.from_line([0, 0, 0])


@quick
@given(lines(), lines())
def test_the_reciprocal_product_depends_on_pitches_distance_and_angle(one, other):
    product = screws.reciprocal_product(one.twist(), other.wrench())
    common = np.cross(one.axis, other.axis)
    expected = (one.pitch + other.pitch) * (one.axis @ other.axis)
    expected -= common @ (other.point - one.point)  # distance times sine of the angle, with sign
    assert product == pytest.approx(expected, abs=1e-10)
    meeting = screws.Screw.from_line(other.axis, point=one.point)
    assert screws.reciprocal_product(one._replace(pitch=np.array(0.0)).twist(), meeting.wrench()) == pytest.approx(
        0.0, abs=1e-10
    )


@quick
@given(lines(), st.tuples(directions, vectors).map(np.concatenate))
def test_screws_move_with_their_frame(screw, motion):
    pose = spatial.exp_se3(motion)
    moved, _ = screws.Screw.from_twist(spatial.transform_twist(pose, screw.twist()))
    rotation, position = pose[:3, :3], pose[:3, 3]
    expected = screws.Screw.from_line(rotation @ screw.axis, point=rotation @ screw.point + position, pitch=screw.pitch)
    for found, value in zip(moved, expected):
        np.testing.assert_allclose(found, value, atol=1e-10)


# --- percussion and planar screws ---------------------------------------------------------------------


def test_the_sweet_spot_of_a_rod_is_at_two_thirds():
    rod = spatial.inertia_matrix(2.0, [0.5, 0, 0], np.diag([0.0, 2.0 / 12, 2.0 / 12]))
    hinge = screws.Screw.from_line([0, 0, 1.0]).twist()
    screw = screws.percussion_screw(rod, hinge)
    np.testing.assert_allclose(screw.point, [2 / 3, 0, 0], atol=1e-14)
    np.testing.assert_allclose(screw.axis, [0, 1, 0], atol=1e-14)
    assert screw.pitch == pytest.approx(0.0, abs=1e-14)
    through_com = screws.Screw.from_line([0, 0, 1.0], point=[0.5, 0, 0]).twist()
    assert math.isinf(screws.percussion_screw(rod, through_com).pitch)


@quick
@given(seeds)
def test_a_blow_on_the_axis_of_percussion_leaves_the_hinge_without_reaction(seed):
    rng = np.random.default_rng(seed)
    inertia, s = _inertia(rng), rng.normal(size=6)
    T = screws.percussion_wrench(inertia, s)
    acceleration = spatial.body_acceleration(inertia, np.zeros(6), T)
    assert np.linalg.matrix_rank(np.stack([acceleration, s]), tol=1e-9) == 1
    assert screws.reciprocal_product(s, T) == pytest.approx(1.0)
    np.testing.assert_allclose(screws.subspaces(s, inertia).T[:, 0], T, atol=1e-10)


@quick
@given(seeds)
def test_planar_screws_are_spatial_ones_in_a_plane(seed):
    rng = np.random.default_rng(seed)
    mass, com, at_com = rng.uniform(0.5, 2), rng.normal(size=2), rng.uniform(0.1, 1)
    twist, wrench = rng.normal(size=(2, 3))
    flat = planar.inertia(mass, com, at_com)
    full = spatial.inertia_matrix(mass, [*com, 0.0], np.diag([1.0, 1.0, at_com]))
    np.testing.assert_allclose(flat, full[np.ix_(planar.PLANE, planar.PLANE)], atol=1e-14)
    V, F = planar.to_spatial(twist), planar.to_spatial(wrench)
    np.testing.assert_array_equal(planar.from_spatial(V), twist)
    np.testing.assert_allclose(planar.ad(twist) @ wrench, planar.from_spatial(spatial.ad(V) @ F), atol=1e-14)
    angle, origin = rng.uniform(-3, 3), rng.normal(size=2)
    pose = spatial.pose(spatial.exp_so3([0, 0, angle]), [*origin, 0.0])
    change = planar.change_frame(angle, origin)
    np.testing.assert_allclose(change @ twist, planar.from_spatial(spatial.transform_twist(pose, V)), atol=1e-13)
    moved = np.linalg.solve(change.T, wrench)
    np.testing.assert_allclose(moved, planar.from_spatial(spatial.transform_wrench(pose, F)), atol=1e-13)


@quick
@given(seeds)
def test_a_wrench_does_no_work_if_the_point_lies_on_the_line(seed):
    rng = np.random.default_rng(seed)
    point, force, w = rng.normal(size=2), rng.normal(size=2), rng.uniform(0.5, 2)
    twist, wrench = planar.rotation_about(point, w), planar.force_along(point, force)
    np.testing.assert_allclose(planar.center_of_rotation(twist), point, atol=1e-13)
    line = planar.line_of_action(wrench)
    assert line.normal @ point == pytest.approx(line.distance, abs=1e-13)
    assert line.normal @ force == pytest.approx(0.0, abs=1e-13)
    assert twist @ wrench == pytest.approx(0.0, abs=1e-13)
    off = planar.force_along(point + line.normal, force)
    assert twist @ off == pytest.approx(w * np.linalg.norm(force), abs=1e-12)
    assert not np.isfinite(planar.center_of_rotation(planar.translation(force))).all()


# --- subspaces ----------------------------------------------------------------------------------------


def _inertia(rng: np.random.Generator) -> np.ndarray:
    """A positive definite 6 x 6 matrix, as articulated inertias are."""
    root = rng.normal(size=(6, 6))
    return root @ root.T + 0.1 * np.eye(6)


def check_identities(sub: screws.Subspaces, inertia: np.ndarray, tolerance: float = 1e-10) -> None:
    s, T, U, R = sub
    one, k = np.eye(6), s.shape[-1]
    np.testing.assert_allclose(s @ T.T + U @ R.T, one, atol=tolerance)
    np.testing.assert_allclose(T @ s.T + R @ U.T, one, atol=tolerance)
    np.testing.assert_allclose(R.T @ U, np.eye(6 - k), atol=tolerance)
    np.testing.assert_allclose(U.T @ T, np.zeros((6 - k, k)), atol=tolerance)
    np.testing.assert_allclose(s.T @ T, np.eye(k), atol=tolerance)
    np.testing.assert_allclose(R.T @ s, np.zeros((6 - k, k)), atol=tolerance)
    scale = np.abs(inertia).max()
    np.testing.assert_allclose(sub.active.T @ inertia, inertia @ sub.active, atol=tolerance * scale)
    np.testing.assert_allclose(sub.active @ sub.reactive, np.zeros((6, 6)), atol=tolerance)


@quick
@given(seeds, st.integers(1, 6))
def test_active_and_reactive_subspaces_complete_each_other(seed, k):
    rng = np.random.default_rng(seed)
    A, s = _inertia(rng), np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :k] @ (rng.normal(size=(k, k)) + 3 * np.eye(k))
    sub = screws.subspaces(s, A)
    check_identities(sub, A)
    mobility = np.linalg.inv(A)
    if k < 6:
        np.testing.assert_allclose(sub.U, mobility @ sub.R @ np.linalg.inv(sub.R.T @ mobility @ sub.R), atol=1e-9)
    a, f = rng.normal(size=(2, 6))
    psi, gamma = sub.split_acceleration(a)
    np.testing.assert_allclose(s @ psi + sub.U @ gamma, a, atol=1e-10)
    Q, mu = sub.split_wrench(f)
    np.testing.assert_allclose(sub.T @ Q + sub.R @ mu, f, atol=1e-10)
    np.testing.assert_allclose(sum(sub.split_inertia(A)), A, atol=1e-9)
    np.testing.assert_allclose(sum(sub.split_mobility(A)), mobility, atol=1e-9)


def test_subspaces_of_batches_and_what_is_refused():
    rng = np.random.default_rng(0)
    A, s = np.stack([_inertia(rng) for _ in range(4)]), rng.normal(size=(4, 6, 2))
    both = screws.subspaces(s, A)
    for k in range(4):
        for whole, one in zip(both, screws.subspaces(s[k], A[k])):
            np.testing.assert_allclose(whole[k], one, atol=1e-12)
    with pytest.raises(ValueError, match="not independent"):
        screws.subspaces(np.ones((6, 2)), A[0])
    with pytest.raises(ArithmeticError, match="no inertia"):
        screws.subspaces(np.eye(6)[:, :1], np.zeros((6, 6)))


#: robots whose links are points on their joint's axis, or have no mass, until the next link is on them
POINT_MASSES = ("human_36dof_ISB_model", "iCub")


# --- robots -------------------------------------------------------------------------------------------


def check_robot(model: Model, rng: np.random.Generator, relative: float = 1e-10) -> None:
    """Every recursion against hybrid, forward and inverse dynamics and J M^-1 J^T."""
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(scale=5.0, size=model.nv)
    inertias = [body.inertia for body in model.bodies]
    f_ext = [tuple(rng.normal(size=6)) for _ in model.bodies]
    free = [False] * model.nv
    qdd, _ = hybrid_dynamics(model, inertias, list(q), list(v), [0.0] * model.nv, list(tau), free, f_ext)
    states = velocities(model, list(q), list(v))
    a = np.array(accelerations(model, states, qdd, base_acceleration(model)))
    size = 1.0 + np.abs(qdd).max()

    tree = screws.articulated_tree(model, q, v, tau, f_ext=f_ext)
    motion = screws.projected_motion(tree)
    np.testing.assert_allclose(motion.qdd, qdd, atol=relative * size, rtol=relative)
    np.testing.assert_allclose(motion.accelerations, a, atol=relative * size * 10)
    for k, (term, handle) in enumerate(zip(tree.states, tree.handles)):
        wrench = motion.wrenches[k]
        scale = (1 + np.abs(handle.A).max()) * size
        np.testing.assert_allclose(wrench, handle.A @ a[k] + handle.d, atol=relative * scale)
        force = term.s.T @ wrench + term.rotor @ motion.qdd[term.dofs]
        np.testing.assert_allclose(force, tau[term.dofs], atol=relative * (1 + np.abs(wrench).max()) * 10)

    # one joint at a time, and the same without a sweep
    for k in rng.permutation(len(model.bodies))[:6]:
        body = model.bodies[k]
        try:
            answer = screws.split_chain(model, tree, body.joint.name)
        except ArithmeticError:
            assert model.name in POINT_MASSES
            continue
        np.testing.assert_allclose(answer.acceleration, motion.qdd[tree.states[k].dofs], atol=1e-8 * size)
        scale = 1.0 + np.abs(motion.wrenches[k]).max()
        np.testing.assert_allclose(answer.wrench, motion.wrenches[k], atol=1e-7 * scale)
        np.testing.assert_allclose(answer.body_acceleration, a[k], atol=1e-7 * size)


def body_jacobian(tree: screws.ArticulatedTree, body: int, nv: int) -> np.ndarray:
    J, carry = np.zeros((6, nv)), np.eye(6)
    while body != -1:
        term = tree.states[body]
        J[:, term.dofs] = carry @ term.s
        carry, body = carry @ term.X, term.parent
    return J


def mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    inertias = [body.inertia for body in model.bodies]
    zero = [0.0] * model.nv
    columns = [
        inverse_dynamics(model, inertias, list(q), zero, [float(i == k) for i in range(model.nv)], gravity=False)
        for k in range(model.nv)
    ]
    return np.array(columns)


@pytest.mark.parametrize("seed", range(70))
@pytest.mark.parametrize("tree_kind", ["fixed", "floating", "all kinds of joints"])
def test_recursions_on_random_trees(seed, tree_kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    model = mixed_tree(rng, n) if tree_kind.startswith("all") else random_tree(rng, n, base=tree_kind)
    check_robot(model, rng)
    q, zero = model.random(rng), np.zeros(model.nv)
    tree = screws.articulated_tree(model, q, zero, zero)
    M_inverse = np.linalg.inv(mass_matrix(model, q))
    mobilities = screws.tree_mobility(tree)
    for body in range(len(model.bodies)):
        J = body_jacobian(tree, body, model.nv)
        expected = J @ M_inverse @ J.T
        scale = 1e-10 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(mobilities[body], expected, atol=scale)
        found = screws.inboard_mobility(model, tree, body, whole=True)
        np.testing.assert_allclose(found[-1].Y, expected, atol=scale)


@pytest.mark.parametrize("seed", range(10))
def test_subspace_identities_for_articulated_inertias(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, n=6)
    without = Model(
        model.name,
        tuple(replace(body, joint=replace(body.joint, armature=0.0)) for body in model.bodies),
        gravity=model.gravity,
    )
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    tree = screws.articulated_tree(without, q, v, tau)
    motion = screws.projected_motion(tree)
    for body, (term, handle) in enumerate(zip(tree.states, tree.handles)):
        sub = tree.subspaces(body)
        check_identities(sub, handle.A)
        check_identities(screws.subspaces(term.s, term.I), term.I, 1e-9)
        # without rotors the projections are the source's, and so are its two formulas
        np.testing.assert_allclose(handle.P, sub.reactive, atol=1e-10)
        np.testing.assert_allclose(handle.T, sub.T, atol=1e-10)
        parent = tree.base if term.parent == -1 else motion.accelerations[term.parent]
        carried, Q = term.X @ parent + term.k, tau[term.dofs]
        a = sub.active @ np.linalg.solve(handle.A, sub.T @ Q - handle.d) + sub.reactive @ carried
        f = sub.T @ Q + sub.reactive.T @ (handle.A @ carried + handle.d)
        np.testing.assert_allclose(motion.accelerations[body], a, atol=1e-8 * (1 + np.abs(a).max()))
        np.testing.assert_allclose(motion.wrenches[body], f, atol=1e-10 * (1 + np.abs(f).max()))


def test_mobility_predicts_what_a_wrench_at_the_tip_does():
    rng = np.random.default_rng(3)
    model = random_tree(rng, n=6)
    tip = len(model.bodies) - 1
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    wrench = rng.normal(size=6)
    pushed = [np.zeros(6)] * tip + [-wrench]  # what the tip passes on, it feels with the other sign
    last = screws.inboard_mobility(model, screws.articulated_tree(model, q, v, tau), tip, whole=True)[-1]
    motion = screws.projected_motion(screws.articulated_tree(model, q, v, tau, f_ext=pushed))
    np.testing.assert_allclose(motion.accelerations[tip], last.b - last.Y @ wrench, atol=1e-9)


def test_first_body_of_the_chain_has_the_mobility_of_its_joint():
    """Source 003: Y_1 = s_1 T_1^T I_1^-1."""
    model = random_tree(4, n=3, kinds=("revolute",), branching=0.0)
    model = Model(model.name, tuple(replace(b, joint=replace(b.joint, armature=0.0)) for b in model.bodies))
    zero = np.zeros(model.nv)
    tree = screws.articulated_tree(model, model.neutral(), zero, zero)
    first = screws.inboard_mobility(model, tree, 0)[1]
    s, I = tree.states[0].s, tree.states[0].I
    T = screws.subspaces(s, I).T
    np.testing.assert_allclose(first.Y, s @ T.T @ np.linalg.inv(I), atol=1e-10)
    assert mobility_before(model, tree, 0).body == -1


def test_batches_of_states():
    rng = np.random.default_rng(8)
    model = random_tree(rng, n=5, base="floating")
    q = np.stack([model.random(rng) for _ in range(7)])
    v, tau = rng.normal(size=(2, 7, model.nv))
    tree = screws.articulated_tree(model, q, v, tau)
    motion, mobility = screws.projected_motion(tree), screws.tree_mobility(tree)
    answer = screws.split_chain(model, tree, "joint3")
    for k in range(7):
        one = screws.articulated_tree(model, q[k], v[k], tau[k])
        for whole, single in zip(motion, screws.projected_motion(one)):
            np.testing.assert_allclose(whole[k], single, atol=1e-9)
        np.testing.assert_allclose(mobility[k], screws.tree_mobility(one), atol=1e-9)
        for whole, single in zip(answer, screws.split_chain(model, one, "joint3")):
            np.testing.assert_allclose(whole[k], single, atol=1e-8)


def test_what_the_recursions_refuse_is_named():
    model = random_tree(11, n=8, kinds=("revolute",), mimic=0.9)
    assert any(body.joint.mimic for body in model.bodies)
    zero = np.zeros(model.nv)
    with pytest.raises(ValueError, match="mimics 'joint"):
        screws.articulated_tree(model, model.neutral(), zero, zero)
    plain = random_tree(11, n=3, kinds=("revolute",))
    zero = np.zeros(plain.nv)
    tree = screws.articulated_tree(plain, plain.neutral(), zero, zero)
    with pytest.raises(KeyError, match="joint1"):
        screws.split_chain(plain, tree, "joint_1")
    with pytest.raises(ValueError, match=r"tau has shape \(5,\), expected \(\.\.\., 3\)"):
        screws.articulated_tree(plain, plain.neutral(), zero, np.zeros(5))
    tip = replace(plain.bodies[-1], inertia=type(plain.bodies[-1].inertia)(), joint=plain.bodies[-1].joint)
    tip = replace(tip, joint=replace(tip.joint, armature=0.0))
    empty = Model("empty", (*plain.bodies[:-1], tip))
    with pytest.raises(ArithmeticError, match="'joint2'"):
        screws.articulated_tree(empty, plain.neutral(), zero, zero)
    parameters = np.array(plain.bodies[-1].inertia.parameters)
    heavy = replace(tip, inertia=type(tip.inertia).from_parameters(tuple((1e308 / abs(parameters).max()) * parameters)))
    huge = Model("huge", (*plain.bodies[:-1], heavy))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ArithmeticError, match="at joint 'joint1' is not finite"),
    ):
        screws.articulated_tree(huge, plain.neutral(), zero, zero)


# --- real robots --------------------------------------------------------------------------------------


def without_mimics(model: Model) -> Model:
    """The same robot with every mimic joint free, as Pinocchio reads it."""
    bodies, nq, nv = [], 0, 0
    for body in model.bodies:
        joint = replace(body.joint, mimic=None, q_index=nq, v_index=nv)
        bodies.append(replace(body, joint=joint))
        nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    return replace(model, bodies=tuple(bodies))


@cache
def pinocchio_model(name: str):
    import pinocchio as pin

    return pin.buildModelFromUrdf(str(robot_file(name)))


@needs_pinocchio
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_real_robots_and_pinocchios_operational_space_inertia(name):
    rng = np.random.default_rng(7)
    model = without_mimics(load_robot(name))
    twin = Twin(model, pinocchio_model(name))
    q, zero = model.random(rng), np.zeros(model.nv)
    M = twin.mass_matrix(q)
    if model.nv == 0:
        tree = screws.articulated_tree(model, q, zero, zero)
        assert screws.projected_motion(tree).qdd.shape == (0,) and screws.tree_mobility(tree).shape == (0, 6, 6)
        return
    if np.linalg.cond(M) > 1e12:
        pytest.skip("singular: joints without mass")
    M = M + np.diag([body.joint.armature for body in model.bodies for _ in range(body.joint.kind.nv)])
    tree = screws.articulated_tree(model, q, zero, zero)
    mobilities = screws.tree_mobility(tree)
    for body in rng.permutation(len(model.bodies))[:4]:
        J = twin.jacobian(q, model.bodies[body].name)
        expected = J @ np.linalg.solve(M, J.T)
        np.testing.assert_allclose(mobilities[body], expected, atol=1e-9 * np.abs(expected).max())
    check_robot(model, rng, 1e-8)
