# SPDX-License-Identifier: Apache-2.0
"""Configurations: integrate, difference, neutral and random of every kind of joint."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import ALL_KINDS, random_kind, random_tree, random_unit
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.model import Limits
from rbd_dynamics.spatial import quaternion_exp, quaternion_log
from rbd_dynamics.spatial.se3 import Transform

KINDS = st.sampled_from(ALL_KINDS)
SEEDS = st.integers(0, 2**31)
#: lengths of motions: near zero, ordinary, near half a turn
SIZES = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.009999, 0.01, 0.099, 0.1]),
    st.floats(0.0, 3.1),
    st.sampled_from([np.pi - 1e-4, np.pi - 1e-7, np.pi - 1e-10]),
)


def motion(kind: JointKind, rng: np.random.Generator, size: float) -> np.ndarray:
    """A velocity of that size: of its angular part where it has one."""
    if kind.nv == 1:
        return np.array([size])
    if kind.name == "planar":
        return np.append(rng.normal(size=2), size)
    angular = size * random_unit(rng, 3)
    return angular if kind.nv == 3 else np.append(angular, rng.normal(size=3))


def pose(kind: JointKind, q: np.ndarray) -> np.ndarray:
    transform = kind.transform([float(x) for x in q])
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = np.reshape(transform.rotation, (3, 3)), transform.p
    return found


def exp(columns: np.ndarray) -> np.ndarray:
    """exp of a twist (w, v) as a matrix (4, 4), by scaling and squaring its series."""
    w, v = columns[:3], columns[3:]
    X = np.zeros((4, 4))
    X[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    X[:3, 3] = v
    X /= 2**8
    total, power = np.eye(4), np.eye(4)
    for k in range(1, 12):
        power = power @ X / k
        total = total + power
    return np.linalg.matrix_power(total, 2**8)


@settings(max_examples=300, deadline=None)
@given(KINDS, SEEDS, SIZES)
def test_difference_undoes_integrate(name, seed, size):
    rng = np.random.default_rng(seed)
    kind = random_kind(rng, name)
    q, dv = kind.random(rng, -np.inf, np.inf), motion(kind, rng, size)
    np.testing.assert_allclose(kind.difference(q, kind.integrate(q, dv)), dv, atol=1e-12 if size < 3.14 else 1e-8)


@settings(max_examples=300, deadline=None)
@given(KINDS, SEEDS)
def test_integrate_undoes_difference(name, seed):
    rng = np.random.default_rng(seed)
    kind = random_kind(rng, name)
    q0, q1 = kind.random(rng, -np.inf, np.inf), kind.random(rng, -np.inf, np.inf)
    there = kind.integrate(q0, kind.difference(q0, q1))
    np.testing.assert_allclose(pose(kind, there), pose(kind, q1), atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(KINDS, SEEDS, SIZES)
def test_integrate_is_the_exponential_of_the_twist(name, seed, size):
    rng = np.random.default_rng(seed)
    kind = random_kind(rng, name)
    q, dv = kind.random(rng, -np.inf, np.inf), motion(kind, rng, size)
    twist = np.array(kind.columns(list(q)), dtype=float).T @ dv
    np.testing.assert_allclose(pose(kind, kind.integrate(q, dv)), pose(kind, q) @ exp(twist), atol=1e-12)


@pytest.mark.parametrize("name", ALL_KINDS)
def test_neutral_is_the_identity_and_a_motion_of_zero_stays(name):
    rng = np.random.default_rng(1)
    kind = random_kind(rng, name)
    np.testing.assert_array_equal(pose(kind, kind.neutral()), np.eye(4))
    q = kind.random(rng, -np.inf, np.inf)
    np.testing.assert_array_equal(kind.integrate(q, np.zeros(kind.nv)), q)
    np.testing.assert_array_equal(kind.difference(q, q), np.zeros(kind.nv))


@pytest.mark.parametrize("name", ALL_KINDS)
def test_a_batch_is_its_samples(name):
    rng = np.random.default_rng(2)
    kind = random_kind(rng, name)
    q0 = np.stack([kind.random(rng, -np.inf, np.inf) for _ in range(6)]).reshape(2, 3, kind.nq)
    q1 = np.stack([kind.random(rng, -np.inf, np.inf) for _ in range(6)]).reshape(2, 3, kind.nq)
    dv = kind.difference(q0, q1)
    moved = kind.integrate(q0, dv)
    for k in np.ndindex(2, 3):
        np.testing.assert_allclose(dv[k], kind.difference(q0[k], q1[k]), atol=1e-15)
        np.testing.assert_allclose(moved[k], kind.integrate(q0[k], dv[k]), atol=1e-15)


@given(st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_half_a_turn_is_found_either_way_round(seed):
    w = np.pi * random_unit(np.random.default_rng(seed), 3)
    back = quaternion_log(quaternion_exp(w))
    assert min(np.max(abs(back - w)), np.max(abs(back + w))) < 1e-12


def test_random_positions_keep_to_limits_and_else_to_half_a_turn_or_a_metre():
    rng = np.random.default_rng(4)
    for name, reach in (("revolute", np.pi), ("prismatic", 1.0), ("continuous", np.pi)):
        kind = random_kind(rng, name)
        for limits, low, high in (
            (Limits(), -reach, reach),
            (Limits(lower=-0.5, upper=0.25), -0.5, 0.25),
            (Limits(lower=-20.0, upper=0.25), -20.0, 0.25),
            (Limits(lower=5.0), 5.0, 5.0 + reach),
            (Limits(upper=-5.0), -5.0 - reach, -5.0),
            (Limits(lower=0.3, upper=0.3), 0.3, 0.3),
            (Limits(lower=-1e16, upper=1e16), -reach, reach),
        ):
            drawn = np.array([kind.random(rng, limits.lower, limits.upper) for _ in range(200)])
            assert low <= drawn.min() <= drawn.max() <= high
            assert drawn.max() - drawn.min() >= 0.9 * (high - low)


def test_a_model_joins_its_joints_in_order():
    model = random_tree(6, n=9, base="floating", mimic=0.5)
    rng = np.random.default_rng(5)
    q0, q1 = model.random(rng), model.random(rng)
    assert q0.shape == model.neutral().shape == (model.nq,)
    dv = model.difference(q0, q1)
    assert dv.shape == (model.nv,)
    np.testing.assert_allclose(model.difference(model.integrate(q0, dv), q1), 0.0, atol=1e-11)
    batch = model.integrate(np.stack([q0, q1]), np.stack([dv, -dv]))
    np.testing.assert_array_equal(batch[0], model.integrate(q0, dv))
    assert model.integrate(list(q0), list(dv)).shape == (model.nq,)
    assert np.array_equal(model.random(7), model.random(7))


def test_poses_of_kinds_are_transforms():
    rng = np.random.default_rng(8)
    for name in ALL_KINDS:
        kind = random_kind(rng, name)
        q = kind.random(rng, -np.inf, np.inf)
        assert isinstance(kind.transform(list(q)), Transform)
        assert np.linalg.det(pose(kind, q)[:3, :3]) == pytest.approx(1.0, abs=1e-12)
