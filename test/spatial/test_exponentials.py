# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms and Jacobians against power series in 60 digits, as machine code and without a compiler."""

from __future__ import annotations

import importlib
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from rbd_dynamics import spatial
from rbd_dynamics.common import machine_code
from rbd_dynamics.compiler import cache
from rbd_dynamics.compiler.cached_only import NotCached, cached_only
from rbd_dynamics.spatial import exponentials

TINY = [0.0, 1e-300, 1e-200, 1e-160, *(10.0**-k for k in range(12, 2, -1))]
FAR = [*(math.pi - 10.0**-k for k in range(3, 16)), math.pi]
ANGLES = [*TINY, 0.1, 1.0, 2.9999, 3.0, 3.0001, *FAR]
HALF_A_TURN = math.pi - 1e-9  # from here the rounding of a matrix may turn the logarithm round
NAMES = ["exp_so3", "log_so3", "exp_se3", "log_se3"]
NAMES += [
    f"{side}_jacobian{inverse}_{group}" for side in ("left", "right") for inverse in ("", "_inverse") for group in
    ("so3", "se3")
]  # fmt: skip


def twists() -> np.ndarray:
    """(n, 6): all angles about coordinate axes and others."""
    rng = np.random.default_rng(0)
    axes = [*np.eye(3), -np.eye(3)[1], *rng.normal(size=(3, 3)), [1.0, 1e-9, 0.0]]
    return np.array(
        [
            np.r_[angle * np.asarray(axis) / np.linalg.norm(axis), rng.normal(size=3)]
            for axis in axes
            for angle in ANGLES
        ]
    )


TWISTS = twists()


@pytest.fixture(params=["machine code", "no compiler"])
def backend(request, monkeypatch):
    if request.param == "no compiler":
        monkeypatch.setattr(machine_code, "maker", None)
    importlib.reload(exponentials)
    yield request.param
    monkeypatch.undo()
    importlib.reload(exponentials)


# --- the oracle: power series in exact matrices of 60 digits -------------------------------------------


def exact(matrix: np.ndarray) -> np.ndarray:
    return np.vectorize(Decimal, otypes=[object])(matrix)


def series(generator: np.ndarray, shift: int) -> np.ndarray:
    """sum_k X^k / (k + shift)! of a matrix of floats: exp for shift 0, the left Jacobian of ad for 1."""
    with localcontext() as context:
        context.prec = 60
        x, power = exact(generator), exact(np.eye(len(generator)))
        total = power
        for k in range(1, 70):
            power = power @ x / (k + shift)
            total = total + power
        return total


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Of the largest entry."""
    with localcontext() as context:
        context.prec = 60
        return float(abs(exact(found) - wanted).max() / max(abs(wanted).max(), Decimal("1e-320")))


@pytest.fixture(scope="module")
def poses() -> list[np.ndarray]:
    return [series(spatial.hat_se3(twist), 0) for twist in TWISTS]


@pytest.fixture(scope="module")
def jacobians() -> list[np.ndarray]:
    return [series(spatial.ad(twist), 1) for twist in TWISTS]


# --- accuracy -----------------------------------------------------------------------------------------


def test_exponentials_have_all_their_digits(backend, poses):
    found, turned = spatial.exp_se3(TWISTS), spatial.exp_so3(TWISTS[:, :3])
    for twist, pose, rotation, wanted in zip(TWISTS, found, turned, poses):
        np.testing.assert_array_equal(pose[:3, :3], rotation)
        np.testing.assert_array_equal(pose[3], [0, 0, 0, 1])
        assert difference(rotation, wanted[:3, :3]) < 1e-15
        assert difference(pose[:3, 3], wanted[:3, 3]) < 1e-15
        if np.linalg.norm(twist[:3]) < 3.0:  # what is small is not lost in what is large
            assert difference(rotation - rotation.T, wanted[:3, :3] - wanted[:3, :3].T) < 1e-14


def test_logarithms_have_all_their_digits(backend, poses):
    rounded = np.array(poses, dtype=float)
    found, turned = spatial.log_se3(rounded), spatial.log_so3(rounded[:, :3, :3])
    np.testing.assert_array_equal(found[:, :3], turned)
    for twist, log, pose in zip(TWISTS, found, poses):
        assert np.linalg.norm(log[:3]) <= math.pi * (1 + 1e-15)
        back = series(spatial.hat_se3(log), 0)
        assert difference(back[:3, :3].astype(float), pose[:3, :3]) < 2e-15
        assert difference(back[:3, 3].astype(float), pose[:3, 3]) < 4e-15
        if np.linalg.norm(twist[:3]) < HALF_A_TURN:
            assert difference(log[:3], exact(twist[:3])) < 4e-15
            assert difference(log[3:], exact(twist[3:])) < 4e-15


def test_jacobians_have_all_their_digits(backend, jacobians):
    for group, size in (("so3", 3), ("se3", 6)):
        left, right = (getattr(spatial, f"{side}_jacobian_{group}") for side in ("left", "right"))
        inverses = [getattr(spatial, f"{side}_jacobian_inverse_{group}") for side in ("left", "right")]
        at = TWISTS[:, :size]
        for k, (found, mirrored, wanted) in enumerate(zip(left(at), right(-at), jacobians)):
            np.testing.assert_allclose(mirrored, found, atol=1e-15)
            assert difference(found[:3, :3], wanted[:3, :3]) < 1e-15
            assert difference(found[:size, :size], wanted[:size, :size]) < 4e-15
            inverse, other = inverses[0](at[k]), inverses[1](-at[k])
            np.testing.assert_allclose(other, inverse, atol=1e-15)
            with localcontext() as context:
                context.prec = 60
                assert difference((exact(inverse) @ wanted[:size, :size]).astype(float), exact(np.eye(size))) < 1e-14


# --- arrays of any kind -------------------------------------------------------------------------------


def arguments(name: str) -> np.ndarray:
    values = TWISTS if name.endswith("se3") else TWISTS[:, :3]
    return getattr(spatial, name.replace("log", "exp"))(values) if name.startswith("log") else values


@pytest.mark.parametrize("name", NAMES)
def test_batches_strides_and_lists_give_the_same_bits(backend, name):
    function, x = getattr(spatial, name), arguments(name)
    each = np.array([function(one) for one in x])
    np.testing.assert_allclose(function(x), each, atol=1e-15 if backend == "machine code" else 1e-14, rtol=0)
    wide = np.zeros((*x.shape, 2))
    wide[..., 0] = x
    turned = np.asfortranarray(x[7])
    odd = np.frombuffer(b"\0" + x[7].tobytes(), offset=1).reshape(x[7].shape)  # not aligned
    assert not odd.flags.aligned
    for other in (x[7].tolist(), wide[7, ..., 0], turned, odd, x[7].astype(">f8"), x[7][None, None]):
        np.testing.assert_array_equal(np.reshape(function(other), each[7].shape), each[7])
    np.testing.assert_array_equal(function(wide[..., 0]), function(x))
    assert function(x.reshape(2, 2, -1, *x.shape[1:])).shape == (2, 2, len(x) // 4, *each.shape[1:])
    assert function(x[:0]).shape == (0, *each.shape[1:])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_spoils_its_own_sample_only(backend, name):
    function, x = getattr(spatial, name), arguments(name)[:30].copy()
    expected = function(x)
    x[3].flat[0] = x[5].flat[1] = math.nan
    with np.errstate(invalid="ignore"):
        found = function(x)
        assert not np.isfinite(found[3]).all() and not np.isfinite(function(x[5])).all()
    rest = np.delete(np.arange(30), [3, 5])
    np.testing.assert_allclose(found[rest], expected[rest], atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (2,), (5, 4), (4, 5), (3, 3, 2)])
def test_a_wrong_shape_is_refused_with_what_is_needed(backend, name, shape):
    with pytest.raises(ValueError, match=r"an array of shape \(.*\) where \(\.\.\., [346](, [34])?\) is needed"):
        getattr(spatial, name)(np.zeros(shape))


# --- where the machine code comes from ----------------------------------------------------------------


class Told:
    """A kernel that gives sevens, and refuses batches."""

    def call(self, x, y):
        if len(x) == len(TWISTS):
            return None
        y[...] = 7.0
        return y

    def many(self, samples, inputs, outputs):
        outputs[0][...] = 7.0
        return int(samples > 1)


def test_each_kernel_is_asked_for_once_and_answers(monkeypatch):
    asked = []
    monkeypatch.setattr(machine_code, "maker", lambda name, *of: asked.append(name) or Told())
    importlib.reload(exponentials)
    try:
        for name in NAMES:
            for one in arguments(name)[:2]:
                assert (getattr(spatial, name)(one) == 7.0).all(), name
            assert not (getattr(spatial, name)(arguments(name)) == 7.0).any()  # refused: the formula itself
        assert sorted(asked) == sorted(NAMES)
    finally:
        monkeypatch.undo()
        importlib.reload(exponentials)


def test_who_wants_no_compilation_is_told_and_asked_again(monkeypatch):
    """As nodes do while they build an engine: what is missing is compiled elsewhere."""
    importlib.reload(exponentials)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "load", lambda name, key: None)
        with cached_only(), pytest.raises(NotCached):
            spatial.log_so3(np.eye(3))
    np.testing.assert_array_equal(spatial.log_so3(np.eye(3)), np.zeros(3))
