# SPDX-License-Identifier: Apache-2.0
"""Spatial algebra against scipy and Pinocchio, its identities, and what is special at 0, pi and 2 pi."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rbd_dynamics import spatial
from rbd_dynamics.compiler import backends, cache
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.spatial import lie, quaternions, rigid_body, scalar
from rbd_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_dynamics.spatial.jets import Jet
from rbd_dynamics.spatial.se3 import Transform, wrench_to_child, wrench_to_parent

quick = settings(max_examples=100, deadline=None, derandomize=True)

numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
directions = vectors.filter(lambda a: np.linalg.norm(a) > 1e-3).map(lambda a: a / np.linalg.norm(a))
#: anything up to pi, and what is next to the two special angles
angles = st.one_of(
    st.floats(0.0, math.pi - 1e-9),
    st.floats(0.0, 1e-9),
    st.floats(1e-300, 1e-150),
    st.floats(1e-12, 1e-9).map(lambda d: math.pi - d),
    st.sampled_from([0.0, 1e-9, 1e-4, 1.0, 3.0, math.pi - 1e-9, math.pi - 1e-6]),
)
rotation_vectors = st.tuples(directions, angles).map(lambda pair: pair[0] * pair[1])
twists = st.tuples(rotation_vectors, vectors).map(np.concatenate)
poses = twists.map(spatial.exp_se3)


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """6 x 6, of eight point masses."""
    points, masses = rng.normal(scale=0.3, size=(8, 3)), rng.uniform(0.1, 1.0, 8)
    com = masses @ points / masses.sum()
    arms = spatial.hat(points - com)
    about_com = np.einsum("k,kji,kjl->il", masses, arms, arms)
    return spatial.inertia_matrix(masses.sum(), com, about_com)


def slope(function, step: float = 1e-5) -> np.ndarray:
    """Derivative of function(t) at 0, by differences of sixth order."""
    return (
        sum(c * (function(k * step) - function(-k * step)) for k, c in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))) / step
    )


# --- exp and log --------------------------------------------------------------------------------------


@quick
@given(rotation_vectors)
@example(np.zeros(3))
def test_rotations_agree_with_scipy(w):
    rotation = spatial.exp_so3(w)
    np.testing.assert_allclose(rotation, Rotation.from_rotvec(w).as_matrix(), atol=2e-15)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=2e-15)
    q = spatial.quaternion_exp(w)
    np.testing.assert_allclose(q, Rotation.from_rotvec(w).as_quat(), atol=2e-16, rtol=1e-14)
    np.testing.assert_allclose(spatial.rotation_from_quaternion(q), rotation, atol=2e-15)


@quick
@given(rotation_vectors)
def test_logarithms_bring_rotation_vectors_back(w):
    np.testing.assert_allclose(spatial.log_so3(spatial.exp_so3(w)), w, atol=4e-15, rtol=1e-12)
    np.testing.assert_allclose(spatial.quaternion_log(spatial.quaternion_exp(w)), w, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(spatial.quaternion_log(-spatial.quaternion_exp(w)), w, rtol=1e-14, atol=1e-300)


@quick
@given(directions)
def test_at_half_a_turn_either_logarithm_is_right(axis):
    rotation = 2.0 * np.outer(axis, axis) - np.eye(3)
    w = spatial.log_so3(rotation)
    assert np.linalg.norm(w) == pytest.approx(math.pi, abs=1e-12)
    np.testing.assert_allclose(spatial.exp_so3(w), rotation, atol=1e-14)


@quick
@given(twists)
def test_exponential_and_logarithm_on_se3(twist):
    pose = spatial.exp_se3(twist)
    np.testing.assert_allclose(pose, scipy.linalg.expm(spatial.hat_se3(twist)), atol=1e-13)
    np.testing.assert_allclose(spatial.log_se3(pose), twist, atol=1e-12, rtol=1e-12)
    np.testing.assert_allclose(spatial.vee_se3(spatial.hat_se3(twist)), twist, atol=0)
    np.testing.assert_allclose(spatial.exp_se3(spatial.log_se3(pose)), pose, atol=1e-13)


@quick
@given(twists)
def test_pinocchio_has_the_same_exponentials_logarithms_and_jacobians(twist):
    pin = pytest.importorskip("pinocchio")
    pose, swap = spatial.exp_se3(twist), np.roll(np.eye(6), 3, axis=0)
    theirs = pin.exp6(pin.Motion(twist[3:], twist[:3]))
    np.testing.assert_allclose(pose, theirs.homogeneous, atol=1e-13)
    np.testing.assert_allclose(spatial.right_jacobian_so3(twist[:3]), pin.Jexp3(twist[:3]), atol=1e-12)
    angle = np.linalg.norm(twist[:3])
    own = spatial.right_jacobian_se3(twist)
    if angle > 1e-2:  # theirs loses digits at small angles, 7e-7 at 5e-4; ours by its series is below
        np.testing.assert_allclose(own, swap @ pin.Jexp6(pin.Motion(twist[3:], twist[:3])) @ swap, atol=1e-7)
    if angle < 3.0:  # their logarithm loses digits near half a turn
        np.testing.assert_allclose(spatial.log_so3(pose[:3, :3]), pin.log3(theirs.rotation), atol=1e-12)
        np.testing.assert_allclose(spatial.log_se3(pose), pin.log6(theirs).np[[3, 4, 5, 0, 1, 2]], atol=1e-9)


@quick
@given(twists)
def test_the_adjoint_of_the_exponential_is_the_exponential_of_the_adjoint(twist):
    expected = scipy.linalg.expm(spatial.ad(twist))
    np.testing.assert_allclose(spatial.adjoint(spatial.exp_se3(twist)), expected, atol=1e-12)
    np.testing.assert_allclose(spatial.adjoint_dual(spatial.exp_se3(twist)), expected.T, atol=1e-12)


# --- Jacobians ----------------------------------------------------------------------------------------


@quick
@given(twists)
def test_jacobians_agree_with_their_power_series(twist):
    ad, term, series = spatial.ad(twist), np.eye(6), np.eye(6)
    for k in range(1, 60):
        term = term @ ad / (k + 1)
        series = series + term
    np.testing.assert_allclose(spatial.left_jacobian_se3(twist), series, atol=1e-12)
    np.testing.assert_allclose(spatial.left_jacobian_so3(twist[:3]), series[:3, :3], atol=1e-13)
    np.testing.assert_allclose(spatial.right_jacobian_se3(-twist), series, atol=1e-12)


@quick
@given(twists, st.floats(0.0, 2 * math.pi - 1e-3))
def test_inverse_jacobians_are_inverses_up_to_a_full_turn(twist, angle):
    norm = np.linalg.norm(twist[:3])
    far = np.concatenate([twist[:3] / norm * angle if norm > 0 else twist[:3], twist[3:]])
    tolerance = 1e-14 / (2 * math.pi - angle) ** 2 + 1e-12
    for v in (twist, far):
        near = 1e-12 if v is twist else tolerance
        for name in ("left_jacobian", "right_jacobian"):
            for group, at in (("so3", v[:3]), ("se3", v)):
                jacobian = getattr(spatial, f"{name}_{group}")(at)
                inverse = getattr(spatial, f"{name}_inverse_{group}")(at)
                np.testing.assert_allclose(jacobian @ inverse, np.eye(len(at)), atol=near)


@quick
@given(twists, vectors, vectors)
def test_jacobians_are_the_derivatives_of_the_exponential(twist, w, v):
    rate = np.concatenate([w, v])
    pose, back = spatial.exp_se3(twist), spatial.pose_inverse(spatial.exp_se3(twist))
    moved = slope(lambda t: spatial.exp_se3(twist + t * rate), 1e-3)
    np.testing.assert_allclose(spatial.vee_se3(moved @ back), spatial.left_jacobian_se3(twist) @ rate, atol=1e-9)
    np.testing.assert_allclose(spatial.vee_se3(back @ moved), spatial.right_jacobian_se3(twist) @ rate, atol=1e-9)
    turned = slope(lambda t: spatial.exp_so3(twist[:3] + t * w), 1e-3)
    np.testing.assert_allclose(
        spatial.vee(pose[:3, :3].T @ turned), spatial.right_jacobian_so3(twist[:3]) @ w, atol=1e-9
    )


@pytest.mark.parametrize("x", [0.0, 1e-320, 1e-16, 1e-3, 0.5, 8.999, 9.0, 9.001, 9.8, 30.0, 39.0])
def test_stumpff_functions_are_accurate_up_to_a_full_turn(x):
    """Against their series in rational arithmetic."""
    for k, value in enumerate(lie.stumpff(x)):
        term, exact = Fraction(1, math.factorial(k)), Fraction(0)
        for j in range(60):
            exact += term
            term = -term * Fraction(x) / ((k + 2 * j + 1) * (k + 2 * j + 2))
            term = term.limit_denominator(10**60)
        size = max(abs(float(exact)), 1.0 / math.factorial(k) / (1.0 + x))
        assert abs(value - float(exact)) <= 2e-15 * size


# --- quaternions --------------------------------------------------------------------------------------

units = rotation_vectors.map(spatial.quaternion_exp)


@quick
@given(units, units, vectors)
def test_quaternions_multiply_like_rotations(a, b, v):
    product = spatial.quaternion_product(a, b)
    both = spatial.rotation_from_quaternion(a) @ spatial.rotation_from_quaternion(b)
    np.testing.assert_allclose(spatial.rotation_from_quaternion(product), both, atol=1e-14)
    np.testing.assert_allclose(spatial.rotate_by_quaternion(product, v), both @ v, atol=1e-13)
    np.testing.assert_allclose(spatial.quaternion_left(a) @ b, product, atol=1e-15)
    np.testing.assert_allclose(spatial.quaternion_right(b) @ a, product, atol=1e-15)
    np.testing.assert_allclose(spatial.quaternion_product(a, spatial.quaternion_conjugate(a)), [0, 0, 0, 1], atol=1e-15)


@quick
@given(units)
def test_the_rotation_matrix_by_the_maps_of_the_lecture(q):
    """N_R_B = H^T L(Q) R^T(Q) H of source 004."""
    H, L, R = spatial.H, spatial.quaternion_left(q), spatial.quaternion_right(q)
    np.testing.assert_allclose(H.T @ L @ R.T @ H, spatial.rotation_from_quaternion(q), atol=1e-14)
    np.testing.assert_allclose(spatial.quaternion_attitude(q), L @ H, atol=0)
    found = spatial.quaternion_from_rotation(spatial.rotation_from_quaternion(q))
    np.testing.assert_allclose(found * np.sign(found @ q), q, atol=1e-15)
    np.testing.assert_array_equal(spatial.from_scalar_first(spatial.to_scalar_first(q)), q)
    assert spatial.to_scalar_first(q)[0] == q[3]


@quick
@given(rotation_vectors, units, vectors)
def test_quaternion_kinematics_there_and_back(_, q, w):
    rate = spatial.quaternion_rate(q, w)
    np.testing.assert_allclose(spatial.angular_velocity(q, rate), w, atol=1e-14)
    moved = slope(lambda t: spatial.quaternion_product(q, spatial.quaternion_exp(t * w)), 1e-3)
    np.testing.assert_allclose(rate, moved, atol=1e-10)
    rotation = spatial.rotation_from_quaternion(q)
    turning = slope(lambda t: spatial.rotation_from_quaternion(q + t * rate), 1e-3)
    np.testing.assert_allclose(rotation.T @ turning, spatial.hat(w), atol=1e-9)


# --- twists, wrenches, inertias -----------------------------------------------------------------------


@quick
@given(poses, poses, st.integers(0, 1000))
def test_changes_of_frame_keep_power_energy_and_momentum(one, two, seed):
    rng = np.random.default_rng(seed)
    twist, wrench, inertia = rng.normal(size=6), rng.normal(size=6), random_inertia(rng)
    there = spatial.transform_twist(one, twist)
    np.testing.assert_allclose(there, spatial.adjoint(one) @ twist, atol=1e-12)
    force = spatial.transform_wrench(one, wrench)
    np.testing.assert_allclose(force, spatial.adjoint_dual(spatial.pose_inverse(one)) @ wrench, atol=1e-12)
    assert spatial.power(force, there) == pytest.approx(spatial.power(wrench, twist), abs=1e-11)
    moved = spatial.transform_inertia(one, inertia)
    energy = spatial.kinetic_energy(inertia, twist)
    assert spatial.kinetic_energy(moved, there) == pytest.approx(energy, rel=1e-10)
    momentum = spatial.transform_wrench(one, spatial.momentum(inertia, twist))
    np.testing.assert_allclose(spatial.momentum(moved, there), momentum, atol=1e-10)
    np.testing.assert_allclose(spatial.adjoint(one @ two), spatial.adjoint(one) @ spatial.adjoint(two), atol=1e-11)


@quick
@given(poses, st.integers(0, 1000))
def test_inertias_of_the_algorithms_follow_the_same_rules(pose, seed):
    rng = np.random.default_rng(seed)
    matrix, twist = random_inertia(rng), rng.normal(size=6)
    rigid = RigidInertia(
        matrix[3, 3], (matrix[2, 4], matrix[0, 5], matrix[1, 3]), tuple(matrix[:3, :3][np.triu_indices(3)])
    )
    at = Transform((tuple(pose[:3, :3].ravel()),), tuple(pose[:3, 3]))
    expected = spatial.transform_inertia(pose, matrix) @ twist
    np.testing.assert_allclose(rigid * tuple(twist), matrix @ twist, atol=1e-13)
    np.testing.assert_allclose(rigid.to_parent(at) * tuple(twist), expected, atol=1e-11)
    np.testing.assert_allclose(ArticulatedInertia.of(rigid).to_parent(at) * tuple(twist), expected, atol=1e-11)
    np.testing.assert_allclose(rigid.to_parent(at).to_child(at) * tuple(twist), matrix @ twist, atol=1e-10)
    wrench = rng.normal(size=6)
    np.testing.assert_allclose(wrench_to_child(at, tuple(wrench)), spatial.adjoint_dual(pose) @ wrench, atol=1e-11)
    np.testing.assert_allclose(wrench_to_child(at, wrench_to_parent(at, tuple(wrench))), wrench, atol=1e-11)
    acceleration = rng.normal(size=6)
    np.testing.assert_allclose(
        rigid_body.net_wrench(rigid, tuple(twist), tuple(acceleration)),
        spatial.net_wrench(matrix, twist, acceleration),
        atol=1e-12,
    )
    assert rigid_body.kinetic_energy(rigid, tuple(twist)) == pytest.approx(spatial.kinetic_energy(matrix, twist))


@quick
@given(poses, twists, st.integers(0, 1000))
def test_rates_in_a_moving_frame_are_those_of_the_fixed_frame(pose, twist, seed):
    """Lemmas 1 and 2 of source 000: differentiate in the fixed frame, bring the result back."""
    rng = np.random.default_rng(seed)
    x, rate = rng.normal(size=6), rng.normal(size=6)
    back = spatial.pose_inverse(pose)

    def moving(t):
        return pose @ spatial.exp_se3(t * twist)

    seen = slope(lambda t: spatial.transform_twist(moving(t), x + t * rate), 1e-3)
    derivative = spatial.twist_derivative(twist, x, rate)
    np.testing.assert_allclose(spatial.transform_twist(back, seen), derivative, atol=1e-8)
    seen = slope(lambda t: spatial.transform_wrench(moving(t), x + t * rate), 1e-3)
    derivative = spatial.wrench_derivative(twist, x, rate)
    np.testing.assert_allclose(spatial.transform_wrench(back, seen), derivative, atol=1e-8)
    np.testing.assert_allclose(spatial.ad_dual(twist), spatial.ad(twist).T, atol=0)


@quick
@given(poses, st.integers(0, 1000))
def test_the_equation_of_motion_keeps_its_form_in_every_frame(pose, seed):
    """000 section 1.5: F_a = I_a Vdot_a - ad*_{V_a} I_a V_a transforms as a wrench."""
    rng = np.random.default_rng(seed)
    inertia, twist, acceleration = random_inertia(rng), rng.normal(size=6), rng.normal(size=6)
    wrench = spatial.net_wrench(inertia, twist, acceleration)
    moved = [spatial.transform_inertia(pose, inertia)]
    moved += [spatial.transform_twist(pose, x) for x in (twist, acceleration)]
    np.testing.assert_allclose(spatial.net_wrench(*moved), spatial.transform_wrench(pose, wrench), atol=1e-10)
    np.testing.assert_allclose(spatial.body_acceleration(inertia, twist, wrench), acceleration, atol=1e-9)


def test_newton_and_euler_at_the_centre_of_mass():
    """J wdot + w x J w = m (004) and m (vdot + w x v) = f (002, seen from the body)."""
    rng = np.random.default_rng(5)
    J, w, v, wdot, vdot = np.diag([1.0, 2.0, 2.5]), *rng.normal(size=(4, 3))
    inertia = spatial.inertia_matrix(3.0, np.zeros(3), J)
    wrench = spatial.net_wrench(inertia, np.r_[w, v], np.r_[wdot, vdot])
    np.testing.assert_allclose(wrench[:3], J @ wdot + np.cross(w, J @ w), atol=1e-14)
    np.testing.assert_allclose(wrench[3:], 3.0 * (vdot + np.cross(w, v)), atol=1e-14)


# --- arrays, tuples and kernels -----------------------------------------------------------------------


def test_batches_are_their_samples_and_arguments_broadcast():
    rng = np.random.default_rng(1)
    twists = rng.normal(size=(2, 5, 6))
    twists[0, 0] = 0.0
    twists[0, 1, :3] *= 1e-200
    twists[0, 2, :3] *= math.pi / np.linalg.norm(twists[0, 2, :3])
    for name in ("exp_se3", "left_jacobian_se3", "left_jacobian_inverse_se3", "right_jacobian_se3", "ad", "ad_dual"):
        function = getattr(spatial, name)
        each = np.array([[function(x) for x in row] for row in twists])
        np.testing.assert_allclose(function(twists), each, atol=1e-14)
    poses = spatial.exp_se3(twists)
    each = np.array([[spatial.log_se3(x) for x in row] for row in poses])
    np.testing.assert_allclose(spatial.log_se3(poses), each, atol=1e-14)
    assert spatial.adjoint(poses).shape == (2, 5, 6, 6)
    assert spatial.transform_twist(poses, twists[0, 0]).shape == (2, 5, 6)
    assert spatial.exp_se3(np.zeros((0, 6))).shape == (0, 4, 4)
    assert spatial.inertia_matrix(np.ones(4), np.zeros(3), np.eye(3)).shape == (4, 6, 6)


@pytest.mark.filterwarnings("error")
def test_no_warning_and_no_nan_at_the_special_points():
    w = np.array([[0.0, 0, 0], [1e-320, 0, 0], [math.pi, 0, 0], [0, 3.0, 0], [0, 0, 40.0]])
    twists = np.concatenate([w, np.ones_like(w)], axis=1)
    for name in spatial.__all__:
        if name.endswith("_se3") and name.startswith(("exp", "left", "right")):
            assert np.isfinite(getattr(spatial, name)(twists)).all(), name
    assert np.isfinite(spatial.log_se3(spatial.exp_se3(twists))).all()
    assert np.isnan(spatial.exp_so3([math.nan, 0, 0])).any()


def test_a_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(4,\) where \(\.\.\., 3\)"):
        spatial.exp_so3([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=r"\(\.\.\., 4, 4\)"):
        spatial.log_se3(np.eye(3))


def _compiled(twist):
    pose = lie.exp_se3(tuple(twist))
    q = quaternions.quaternion_from_rotation(pose.rotation)
    there = lie.left_jacobian_se3(tuple(twist), tuple(twist[::-1]))
    back = lie.left_jacobian_inverse_se3(tuple(twist), there)
    return [*pose.rotation, *pose.p, *lie.log_se3(pose), *q, *there, *back]


@pytest.mark.parametrize("backend", ["python", "llvm"])
def test_the_same_formulas_compile(backend, monkeypatch):
    monkeypatch.setattr(cache, "load", lambda name, key: None)
    monkeypatch.setattr(cache, "store", lambda name, key, data: None)
    rng = np.random.default_rng(2)
    twists = rng.normal(size=(40, 6))
    twists[0], twists[1, :3] = 0.0, 0.0
    twists[2, :3] = [0, math.pi - 1e-9, 0]
    twists[3, :3] = [1e-160, 0, 0]
    expected = np.array([_compiled(x.tolist()) for x in twists])
    signature = Signature((Argument("x", (6,)),), (Argument("y", (expected.shape[1],)),))
    built = backends.build(backend, "lie", signature, lambda x: [_compiled(x)])
    found = np.empty_like(expected)
    built.many(len(twists), [twists], [found])
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(found[:, 12:18], twists, atol=1e-12)
    np.testing.assert_allclose(found[:, -6:], twists[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("exponent", [0, -1, -2, 0.5, 2.0, 1.5, "2"])
def test_jets_take_no_other_powers(exponent):
    with pytest.raises(TypeError, match="whole positive powers"):
        Jet(2.0, 1.0) ** exponent


def test_powers_of_jets():
    for exponent, expected in ((1, (3.0, 2.0, 0.0)), (2, (9.0, 12.0, 8.0)), (4, (81.0, 216.0, 432.0))):
        power = Jet(3.0, 2.0) ** exponent
        assert (power.x, power.d, power.dd) == expected


@pytest.mark.parametrize("kind", [float, np.array])
def test_functions_beyond_their_domain_are_nan_and_no_exception(kind):
    with np.errstate(invalid="ignore"):
        for function, x in ((scalar.sin, np.inf), (scalar.cos, -np.inf), (scalar.sin, np.nan), (scalar.sqrt, -1.0)):
            assert np.isnan(function(kind(x)))
        assert scalar.sqrt(kind(0.0)) == 0.0
