# SPDX-License-Identifier: Apache-2.0
"""What a method of `Robot` takes, what it refuses, and with which words."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from helpers.models.arms import ARM

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.constraints import FrameConstraint
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.model.urdf import load_urdf

BACKENDS = ["reference", "python", "llvm"]

pytestmark = pytest.mark.skipif(not robots(), reason="example-robot-data is not installed")


@pytest.fixture(scope="module")
def model() -> rbd.Model:
    return rbd.load_urdf(robots()["ur5_robot"])


@pytest.fixture(scope="module")
def floating() -> rbd.Model:
    return rbd.load_urdf(robots()["bolt"], base="floating")


@pytest.fixture(scope="module", params=BACKENDS)
def robot(request, model) -> rbd.Robot:
    return rbd.Robot(model, backend=request.param)


@pytest.fixture(scope="module", params=BACKENDS)
def walker(request, floating) -> rbd.Robot:
    return rbd.Robot(floating, backend=request.param)


def states(model: rbd.Model, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q, v, a, tau of (count, ...)."""
    rng = np.random.default_rng(seed)
    q = np.stack([model.random(rng) for _ in range(count)]) if count else np.empty((0, model.nq))
    return (q, *(rng.uniform(-1, 1, (count, model.nv)) for _ in range(3)))


# --- batches ------------------------------------------------------------------------------------------


def test_every_size_of_batch_equals_the_single_calls(walker):
    q, v, a, _ = states(walker.model, 40)
    singles = np.stack([walker.inverse_dynamics(*state) for state in zip(q, v, a)])
    matrices = np.stack([walker.mass_matrix(state) for state in q])
    scale = np.abs(singles).max()
    for count in range(41):
        tau = walker.inverse_dynamics(q[:count], v[:count], a[:count])
        assert tau.shape == (count, walker.model.nv)
        np.testing.assert_allclose(tau, singles[:count], rtol=1e-13, atol=1e-14 * scale)
        M = walker.mass_matrix(q[:count])
        assert M.shape == (count, walker.model.nv, walker.model.nv)
        np.testing.assert_allclose(M, matrices[:count], rtol=1e-13, atol=1e-14)
        assert walker.kinetic_energy(q[:count], v[:count]).shape == (count,)
        assert walker.center_of_mass(q[:count]).shape == (count, 3)


def test_a_result_does_not_depend_on_its_place_in_the_batch(robot):
    q, v, _, tau = states(robot.model, 13)
    first = robot.forward_dynamics(q[:1], v[:1], tau[:1])
    for place in range(13):
        order = [(k - place) % 13 for k in range(13)]
        got = robot.forward_dynamics(q[order], v[order], tau[order])[place]
        np.testing.assert_allclose(got, first[0], rtol=1e-12)


def test_a_one_dimensional_argument_counts_for_every_sample(robot):
    q, v, a, tau = states(robot.model, 9)
    np.testing.assert_array_equal(
        robot.inverse_dynamics(q, v[0], a[0]), robot.inverse_dynamics(q, np.tile(v[0], (9, 1)), np.tile(a[0], (9, 1)))
    )
    nine = np.tile(q[0], (9, 1)), np.tile(v[0], (9, 1))
    np.testing.assert_array_equal(robot.forward_dynamics(q[0], v[0], tau), robot.forward_dynamics(*nine, tau))
    mask = np.arange(6) % 2 == 0
    every = robot.hybrid_dynamics(q, v, a, np.tile(tau[0], (9, 1)), np.tile(mask, (9, 1)))
    np.testing.assert_array_equal(robot.hybrid_dynamics(q, v, a, tau[0], mask), every)


def test_a_mask_may_differ_from_sample_to_sample(robot):
    q, v, a, tau = states(robot.model, 11)
    masks = np.random.default_rng(1).random((11, 6)) < 0.5
    accelerations, torques = robot.hybrid_dynamics(q, v, a, tau, masks)
    for k in range(11):
        one = robot.hybrid_dynamics(q[k], v[k], a[k], tau[k], masks[k])
        np.testing.assert_allclose(accelerations[k], one[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(torques[k], one[1], rtol=1e-11, atol=1e-12)


def test_a_batch_of_one_is_a_batch(robot):
    q, v, a, _ = states(robot.model, 1)
    assert robot.inverse_dynamics(q, v, a).shape == (1, 6)
    assert robot.inverse_dynamics(q[0], v, a[0]).shape == (1, 6)
    assert robot.inverse_dynamics(q[0], v[0], a[0]).shape == (6,)


def test_different_numbers_of_samples_are_refused(robot):
    q, v, a, _ = states(robot.model, 4)
    with pytest.raises(ValueError, match="q has 4, v has 3"):
        robot.inverse_dynamics(q, v[:3], a)
    with pytest.raises(ValueError, match=r"samples differ: q has 4, v has \(2, 3\)"):
        robot.inverse_dynamics(q, np.zeros((2, 3, 6)), a[0])
    with pytest.raises(ValueError, match="q has 4, f_ext has 3"):
        robot.inverse_dynamics(q, v, a, f_ext={"tool0": np.zeros((3, 6))})
    with pytest.raises(ValueError, match="tool0"):
        robot.inverse_dynamics(q, v, a, f_ext={"tool0": np.zeros((4, 6)), "wrist_1_link": np.zeros((3, 6))})


def test_outputs_of_one_method_are_checked_again_by_another(robot):
    (q,), (v,), (a,), (tau,) = states(robot.model, 1)
    mask = np.arange(6) < 3
    three, six = (tuple(np.empty((6, 6)) for _ in range(count)) for count in (3, 6))
    robot.inverse_dynamics_derivatives(q, v, a, out=three)
    with pytest.raises(ValueError, match="out must be 6 arrays, got 3"):
        robot.hybrid_dynamics_derivatives(q, v, a, tau, mask, out=three)
    robot.hybrid_dynamics_derivatives(q, v, a, tau, mask, out=six)
    for method in (robot.inverse_dynamics_derivatives, robot.forward_dynamics_derivatives):
        with pytest.raises(ValueError, match="out must be 3 arrays, got 6"):
            method(q, v, a, out=six)
    assert robot.forward_dynamics_derivatives(q, v, tau, out=three) is three
    for ours, theirs in zip(three, robot.forward_dynamics_derivatives(q, v, tau)):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(six, robot.hybrid_dynamics_derivatives(q, v, a, tau, mask)):
        np.testing.assert_array_equal(ours, theirs)


# --- leading axes, bad samples, tensors ---------------------------------------------------------------


def test_leading_axes_broadcast(robot):
    q, v, a, tau = (x.reshape(3, 4, 6) for x in states(robot.model, 12))
    found = robot.inverse_dynamics(q, v, a)
    assert found.shape == (3, 4, 6)
    for k in np.ndindex(3, 4):
        np.testing.assert_allclose(found[k], robot.inverse_dynamics(q[k], v[k], a[k]), rtol=1e-12, atol=1e-12)
    assert robot.mass_matrix(q[:, :1]).shape == (3, 1, 6, 6)
    mixed = robot.forward_dynamics(q[:, :1], v[0], tau[1, 2])
    whole = robot.forward_dynamics(np.repeat(q[:, :1], 4, 1), np.tile(v[0], (3, 1, 1)), tau[1, 2])
    np.testing.assert_array_equal(mixed, whole)
    push = {"tool0": np.ones((4, 6)), "wrist_1_link": np.arange(18.0).reshape(3, 1, 6)}
    pushed = robot.inverse_dynamics(q, v, a, f_ext=push)
    one = robot.inverse_dynamics(
        q[2, 1], v[2, 1], a[2, 1], f_ext={"tool0": np.ones(6), "wrist_1_link": np.arange(12.0, 18.0)}
    )
    np.testing.assert_allclose(pushed[2, 1], one, rtol=1e-12, atol=1e-12)
    out = np.empty((3, 4, 6))
    assert robot.inverse_dynamics(q, v, a, out=out) is out
    np.testing.assert_array_equal(out, found)
    assert robot.inverse_effective_inertia_derivative(q, "tool0").shape == (3, 4, 6, 6, 6)
    assert robot.kinetic_energy(q, v[0, 0]).shape == (3, 4)
    assert robot.inverse_dynamics(np.zeros((0, 4, 6)), v[0], a[0]).shape == (0, 4, 6)


def test_a_bad_sample_among_leading_axes_is_named(robot):
    q, v, a, _ = (x.reshape(3, 4, 6).copy() for x in states(robot.model, 12))
    v[2, 1, 3] = np.nan
    with pytest.raises(ValueError, match=r"v of joint 'wrist_1_joint' is nan in sample \(2, 1\)"):
        robot.inverse_dynamics(q, v, a)


@pytest.fixture(scope="module", params=["reference", "python", "llvm"])
def sparing(request):
    return {
        base: rbd.Robot(rbd.load_urdf(robots()["ur5_robot"], base=base), backend=request.param, errors="nan")
        for base in ("fixed", "floating")
    }


def test_bad_samples_are_nan_and_the_others_right(sparing):
    robot = sparing["floating"]
    strict = rbd.Robot(robot.model, backend=robot.backend)
    q, v, a, tau = (x.reshape(10, 20, -1).copy() for x in states(robot.model, 200))
    good = np.ones((10, 20), dtype=bool)
    expected = strict.inverse_dynamics(q, v, a), *strict.hybrid_dynamics(q, v, a, tau, np.arange(12) < 6)
    q[3, 4, 3:7] *= 2.0  # no unit quaternion
    v[0, 0, 5] = np.inf
    a[9, 19] = np.nan
    q[5, 5, 8] = 1e300  # the sine of that is not known, but no reason to stop
    good[3, 4] = good[0, 0] = good[9, 19] = False
    with np.errstate(all="ignore"):
        found = robot.inverse_dynamics(q, v, a), *robot.hybrid_dynamics(q, v, a, tau, np.arange(12) < 6)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(np.isfinite(ours).all(axis=-1), good)
        assert np.isnan(ours[~good]).all()
        good[5, 5] = False
        np.testing.assert_allclose(ours[good], theirs[good], rtol=1e-9, atol=1e-9)
        good[5, 5] = True
    single = robot.inverse_dynamics(q[0, 0], v[0, 0], a[0, 0])
    assert single.shape == (12,) and np.isnan(single).all()
    with pytest.raises(ValueError, match="q has shape"):
        robot.inverse_dynamics(q[..., 1:], v, a)
    push = robot.inverse_dynamics(
        q[1], v[1], a[1], f_ext={"tool0": np.where(np.arange(20)[:, None] == 7, np.nan, 1.0) * np.ones(6)}
    )
    np.testing.assert_array_equal(np.isfinite(push).all(axis=-1), np.arange(20) != 7)


def test_singular_samples_are_nan(request):
    builder = rbd.ModelBuilder("crank")
    builder.add_body("arm", None, rbd.joints.Revolute((0.0, 0.0, 1.0)))
    builder.add_body("bob", "arm", rbd.joints.Prismatic((1.0, 0.0, 0.0)), mass=1.0)
    model = builder.build()
    q = np.stack([np.zeros(9), np.linspace(-1.0, 1.0, 9)], axis=1)  # at 0 the arm moves no mass
    for backend in ("reference", "python", "llvm"):
        robot = rbd.Robot(model, backend=backend, errors="nan")
        found = robot.forward_dynamics(q, np.zeros(2), np.ones(2))
        np.testing.assert_array_equal(np.isfinite(found).all(axis=-1), q[:, 1] != 0.0)
        np.testing.assert_allclose(found[[0, 8]], [[1.0, 1.0], [1.0, 1.0]], rtol=1e-12)
        with pytest.raises(ArithmeticError, match="sample 4"):
            rbd.Robot(model, backend=backend).forward_dynamics(q, np.zeros(2), np.ones(2))


def test_the_old_name_of_a_backend_warns_and_is_the_new_one(model):
    with pytest.warns(DeprecationWarning, match='"numba" is now called "llvm"') as caught:
        robot = rbd.Robot(model, backend="numba")
    assert robot.backend == "llvm" and caught[0].filename == __file__


def test_what_becomes_of_errors_is_one_of_two(robot):
    with pytest.raises(ValueError, match="errors 'ignore' is not one of raise, nan"):
        rbd.Robot(robot.model, errors="ignore")


class Tensor:
    """As other libraries have them: memory that is exchanged by DLPack and in no other way."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_tensors_are_read_and_written_where_they_are(robot):
    q, v, a, _ = states(robot.model, 5)
    expected = robot.inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(robot.inverse_dynamics(Tensor(q), Tensor(v), Tensor(a)), expected)
    memory = np.zeros((5, 6))
    out = Tensor(memory)
    assert robot.inverse_dynamics(q, v, a, out=out) is out
    np.testing.assert_array_equal(memory, expected)
    np.testing.assert_array_equal(np.from_dlpack(robot.inverse_dynamics(q, v, a)), expected)
    with pytest.raises(ValueError, match="out must be a float64 array"):
        robot.inverse_dynamics(q, v, a, out=Tensor(memory.astype(np.float32)))


def test_a_tensor_elsewhere_is_an_error_by_name(robot):
    q, v, a, _ = states(robot.model, 5)

    class Elsewhere(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("the tensor is on device cuda:0")

    with pytest.raises(ValueError, match="inverse_dynamics: v: the tensor is on device cuda:0"):
        robot.inverse_dynamics(q, Elsewhere(v), a)
    with pytest.raises(ValueError, match="inverse_dynamics: out: the tensor is on device cuda:0"):
        robot.inverse_dynamics(q, v, a, out=Elsewhere(a))
    with pytest.raises(ValueError, match="inverse_dynamics: out must be an array, got a list"):
        robot.inverse_dynamics(q, v, a, out=a.tolist())


def test_messages_name_rows_of_constraints_as_such(robot):
    """Numbers that are not of joints do not blame one."""
    q, v, a, _ = states(robot.model, 5)
    held = [FrameConstraint("held", robot.model.frame_names[-1], directions=("x",))]
    for call in (robot.constrained_forward_dynamics, robot.constrained_inverse_dynamics_derivatives):
        with pytest.raises(ValueError, match=r"target has shape \(2,\), expected \(1,\) or \(..., 1\)$"):
            call(q[0], v[0], a[0], held, target=[1.0, 2.0])
        with pytest.raises(ValueError, match="target of element 0 is nan"):
            call(q[0], v[0], a[0], held, target=[np.nan])
        with pytest.raises(ValueError, match="samples differ: q has .*5.*, v has .*2"):
            call(q, v[:2], a, held)
    for call in (robot.constraint_impulse, robot.constraint_impulse_derivatives):
        with pytest.raises(ValueError, match=r"after has shape \(2,\), expected \(..., 1\)"):
            call(q[0], v[0], held, after=[1.0, 2.0])
        with pytest.raises(ValueError, match="after of row 'held.x' is not finite"):
            call(q[0], v[0], held, after=[np.inf])
        with pytest.raises(ValueError, match=r"samples differ: q has \(?5,?\)?, v has \(?2,?\)?$"):
            call(q, v[:2], held)


def test_messages_name_the_method_that_was_called(robot):
    q, v, a, _ = states(robot.model, 5)
    frame = robot.model.frame_names[-1]
    with pytest.raises(ValueError, match="^inverse_dynamics_derivatives: q has shape"):
        robot.inverse_dynamics_derivatives(q[:, :2], v, a, f_ext={frame: np.zeros(6)})
    with pytest.raises(ValueError, match="^inverse_dynamics_derivatives: v of joint"):
        robot.inverse_dynamics_second_derivatives(q, v * np.nan, a, (v, v, a), f_ext={frame: np.zeros(6)})


# --- types and layouts --------------------------------------------------------------------------------


def test_numbers_of_any_kind_and_layout_are_taken(robot):
    q, v, a, _ = states(robot.model, 5)
    q, v, a = (np.round(x, 1) for x in (q, v, a))
    expected = robot.inverse_dynamics(q[0], v[0], a[0])
    batch = robot.inverse_dynamics(q, v, a)

    def same(result, wanted=expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-14, atol=1e-14)

    same(robot.inverse_dynamics(q[0].tolist(), tuple(v[0]), a[0].tolist()))
    same(robot.inverse_dynamics(q.tolist(), v.tolist(), a.tolist()), batch)
    same(robot.inverse_dynamics(np.asfortranarray(q), np.asfortranarray(v), np.asfortranarray(a)), batch)
    same(robot.inverse_dynamics(*(np.repeat(x, 2, axis=0)[::2] for x in (q, v, a))), batch)
    same(robot.inverse_dynamics(*(np.repeat(x, 2, axis=1)[:, ::2] for x in (q, v, a))), batch)
    same(robot.inverse_dynamics(*(np.repeat(x[0], 3)[::3] for x in (q, v, a))))
    same(robot.inverse_dynamics(*(x[::-1] for x in (q, v, a))), batch[::-1])
    same(robot.inverse_dynamics(*(x[0].astype(">f8") for x in (q, v, a))))
    same(robot.inverse_dynamics(*(np.ascontiguousarray(x.T).T for x in (q, v, a))), batch)

    class Measured(np.ndarray):
        """A subclass, as units packages have it."""

    same(robot.inverse_dynamics(q[0].view(Measured), v[0], a[0]))
    frozen = q[0].copy()
    frozen.flags.writeable = False
    same(robot.inverse_dynamics(frozen, v[0], a[0]))
    packed = np.zeros(6, dtype=[("flag", "i1"), ("value", "f8")])  # unaligned doubles
    packed["value"] = q[0]
    same(robot.inverse_dynamics(packed["value"], v[0], a[0]))
    unaligned = np.frombuffer(b"x" + q.tobytes(), dtype=np.uint8)[1:].view(float).reshape(q.shape)
    assert not unaligned.flags.aligned
    same(robot.inverse_dynamics(unaligned[0], v[0], a[0]))
    same(robot.inverse_dynamics(unaligned, v, a), batch)

    single = robot.inverse_dynamics(*(x[0].astype(np.float32) for x in (q, v, a)))
    same(single, robot.inverse_dynamics(*(x[0].astype(np.float32).astype(float) for x in (q, v, a))))
    whole = np.array([0, 1, -1, 2, 0, 1])
    same(robot.inverse_dynamics(whole, whole, whole), robot.inverse_dynamics(*[whole.astype(float)] * 3))


def test_masks_of_any_kind_are_taken(robot):
    (q,), (v,), (a,), (tau,) = states(robot.model, 1)
    mask = np.array([True, False, False, True, True, False])
    expected = robot.hybrid_dynamics(q, v, a, tau, mask)
    for other in (mask.tolist(), mask.astype(int), mask.astype(float), tuple(map(int, mask)), mask.astype(np.uint8)):
        np.testing.assert_array_equal(robot.hybrid_dynamics(q, v, a, tau, other), expected)
    for wrong in ([0, 1, 2, 0, 0, 0], [0.5] * 6, ["yes"] * 6, mask[:5], [np.nan] * 6):
        with pytest.raises(ValueError, match="prescribed"):
            robot.hybrid_dynamics(q, v, a, tau, wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "text", None, [1.0] * 5, [1.0] * 7, [[1.0] * 5], np.zeros((2, 2, 5)), 3.0, ["a"] * 6, [1j] * 6, {"a": 1},
        [[1.0] * 6, [1.0] * 5], np.zeros(6, dtype=object), np.array(["2020-01-01"] * 6, dtype="M8[D]"),
    ],
)  # fmt: skip
def test_what_is_no_vector_of_joints_is_refused_by_name(robot, wrong):
    (q,), (v,), (a,), (tau,) = states(robot.model, 1)
    with pytest.raises(ValueError, match="inverse_dynamics: v"):
        robot.inverse_dynamics(q, wrong, a)
    with pytest.raises(ValueError, match="forward_dynamics: tau"):
        robot.forward_dynamics(q, v, wrong)
    with pytest.raises(ValueError, match="mass_matrix: q"):
        robot.mass_matrix(wrong)


def test_a_wrong_length_tells_the_joints(robot):
    with pytest.raises(ValueError, match="shoulder_pan_joint, shoulder_lift_joint"):
        robot.mass_matrix(np.zeros(5))


# --- out= ---------------------------------------------------------------------------------------------


def test_results_are_written_into_out_and_returned(robot):
    q, v, a, tau = states(robot.model, 7)
    single, batch = np.empty(6), np.empty((7, 6))
    assert robot.inverse_dynamics(q[0], v[0], a[0], out=single) is single
    np.testing.assert_array_equal(single, robot.inverse_dynamics(q[0], v[0], a[0]))
    assert robot.inverse_dynamics(q, v, a, out=batch) is batch
    np.testing.assert_array_equal(batch, robot.inverse_dynamics(q, v, a))
    M = np.empty((6, 6))
    assert robot.mass_matrix(q[0], out=M) is M
    np.testing.assert_array_equal(M, robot.mass_matrix(q[0]))
    pair = np.empty(6), np.empty(6)
    mask = np.arange(6) < 3
    result = robot.hybrid_dynamics(q[0], v[0], a[0], tau[0], mask, out=pair)
    assert result[0] is pair[0]
    assert result[1] is pair[1]
    np.testing.assert_array_equal(pair, robot.hybrid_dynamics(q[0], v[0], a[0], tau[0], mask))
    lists = robot.inverse_dynamics(q[0].tolist(), v[0].tolist(), a[0].tolist(), out=single)
    assert lists is single


@pytest.mark.parametrize(
    "wrong",
    [
        np.empty(5), np.empty(7), np.empty((1, 6)), np.empty(6, dtype=np.float32), np.empty(6, dtype=int), [0.0] * 6,
        "x", np.empty(12)[::2], np.broadcast_to(np.empty(1), (6,)),
    ],
    ids=["short", "long", "batch", "float32", "int", "list", "text", "strided", "broadcast"],
)  # fmt: skip
def test_an_out_that_does_not_fit_is_refused(robot, wrong):
    (q,), (v,), (a,), _ = states(robot.model, 1)
    with pytest.raises(ValueError, match="out must be"):
        robot.inverse_dynamics(q, v, a, out=wrong)


def test_a_read_only_out_is_refused_and_left_alone(robot):
    (q,), (v,), (a,), _ = states(robot.model, 1)
    out = np.full(6, 7.0)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        robot.inverse_dynamics(q, v, a, out=out)
    np.testing.assert_array_equal(out, 7.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        robot.mass_matrix(q, out=np.empty((6, 6)).T)
    with pytest.raises(ValueError, match="2 arrays"):
        robot.hybrid_dynamics(q, v, a, a, [True] * 6, out=(np.empty(6),))


def test_out_may_be_an_input(robot):
    q, v, a, tau = states(robot.model, 6)
    for place in range(3):
        given = [q[0].copy(), v[0].copy(), a[0].copy()]
        robot.inverse_dynamics(*given, out=given[place])
        np.testing.assert_array_equal(given[place], robot.inverse_dynamics(q[0], v[0], a[0]))
        given = [q.copy(), v.copy(), tau.copy()]
        robot.forward_dynamics(*given, out=given[place])
        np.testing.assert_array_equal(given[place], robot.forward_dynamics(q, v, tau))
    mask = np.arange(6) % 2 == 0
    expected = robot.hybrid_dynamics(q[0], v[0], a[0], tau[0], mask)
    a0, tau0 = a[0].copy(), tau[0].copy()
    robot.hybrid_dynamics(q[0], v[0], a0, tau0, mask, out=(a0, tau0))
    np.testing.assert_array_equal((a0, tau0), expected)


def test_out_may_be_an_input_also_off_the_fast_path(robot):
    """Angles beyond the fast sine and cosine are evaluated a second time: with what was given."""
    (q,), (v,), (a,), _ = states(robot.model, 1)
    q[1] = 3.1e6
    poses = robot.pose(np.tile(q, (3, 1)), "tool0")
    np.testing.assert_allclose(poses, [robot.pose(q, "tool0")] * 3, atol=1e-14)
    expected = robot.inverse_dynamics(q, v, a)
    same = a.copy()
    robot.inverse_dynamics(q, v, same, out=same)
    np.testing.assert_array_equal(same, expected)
    stacked = np.tile(a, (5, 1))
    robot.inverse_dynamics(q, v, stacked, out=stacked)
    np.testing.assert_allclose(stacked, np.tile(expected, (5, 1)), rtol=1e-13)


@pytest.mark.parametrize("by", [-3, -1, 0, 1, 2, 4])
@pytest.mark.parametrize("count", [1, 4, 100])
def test_out_may_overlap_an_input(robot, count, by):
    """by: rows between them."""
    q, v, a, _ = states(robot.model, count)
    expected = robot.inverse_dynamics(q, v, a)
    buffer = np.full((count + 8, 6), np.nan)
    buffer[4 : 4 + count] = v
    out = buffer[4 + by : 4 + by + count]
    assert robot.inverse_dynamics(q, buffer[4 : 4 + count], a, out=out) is out
    np.testing.assert_array_equal(out, expected)
    buffer[2:3] = v[:1]  # one velocity for all samples
    expected = robot.inverse_dynamics(q, v[0], a)
    out = buffer[2 : 2 + count]
    np.testing.assert_array_equal(robot.inverse_dynamics(q, buffer[2], a, out=out), expected)


@pytest.mark.parametrize("count", [1, 7])
def test_few_samples_take_the_shortest_way_with_out_and_without(robot, monkeypatch, count):
    """One, some, one input for all; results as those of single calls, in the arrays that were given."""
    q, v, a, tau = states(robot.model, 7)
    mask = np.arange(6) % 2 == 0
    robot.compile("inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix", "gravity")

    def no_other(*_):
        raise AssertionError("not the shortest way")

    if robot.backend == "llvm":
        monkeypatch.setattr(Evaluation, "_sorted_out", no_other)
    some = slice(0, count)
    for call, expected in (
        (lambda **o: robot.inverse_dynamics(q[some], v[some], a[some], **o),
         [robot.inverse_dynamics(*each) for each in zip(q[some], v, a)]),
        (lambda **o: robot.forward_dynamics(q[0], v[some], tau[some], **o),
         [robot.forward_dynamics(q[0], *each) for each in zip(v[some], tau)]),
        (lambda **o: robot.mass_matrix(q[some], **o), [robot.mass_matrix(each) for each in q[some]]),
        (lambda **o: robot.gravity(q[some], **o), [robot.gravity(each) for each in q[some]]),
    ):  # fmt: skip
        out = np.empty(np.shape(expected))
        np.testing.assert_array_equal(call(), expected)
        assert call(out=out) is out
        np.testing.assert_array_equal(out, expected)
    pair = np.empty((count, 6)), np.empty((count, 6))
    assert robot.hybrid_dynamics(q[some], v[some], a[some], tau[some], mask, out=pair) is pair
    for k in range(count):
        single = robot.hybrid_dynamics(q[k], v[k], a[k], tau[k], mask)
        np.testing.assert_array_equal([part[k] for part in pair], single)


# --- numbers that are none ----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_anywhere_is_refused_by_name(robot, bad):
    names = robot.model.joint_names
    q, v, a, tau = states(robot.model, 7)
    mask = np.arange(6) % 2 == 0
    calls = {
        "inverse_dynamics": lambda x: robot.inverse_dynamics(x["q"], x["v"], x["a"]),
        "forward_dynamics": lambda x: robot.forward_dynamics(x["q"], x["v"], x["tau"]),
        "hybrid_dynamics": lambda x: robot.hybrid_dynamics(x["q"], x["v"], x["a"], x["tau"], mask),
        "mass_matrix": lambda x: robot.mass_matrix(x["q"]),
        "gravity": lambda x: robot.gravity(x["q"]),  # does not depend on the first joint
        "bias": lambda x: robot.bias(x["q"], x["v"]),
        "pose:upper_arm_link": lambda x: robot.pose(x["q"], "upper_arm_link"),  # nor this on the last four
    }
    arguments = {
        "inverse_dynamics": "q v a", "forward_dynamics": "q v tau", "hybrid_dynamics": "q v a tau",
        "mass_matrix": "q", "gravity": "q", "bias": "q v", "pose:upper_arm_link": "q",
    }  # fmt: skip
    for name, call in calls.items():
        for argument in arguments[name].split():
            for joint in range(6):
                single = {"q": q[0].copy(), "v": v[0].copy(), "a": a[0].copy(), "tau": tau[0].copy()}
                single[argument][joint] = bad
                with pytest.raises(ValueError, match=f"{name}: {argument} of joint '{names[joint]}' is {bad}$"):
                    call(single)
                batch = {"q": q.copy(), "v": v.copy(), "a": a.copy(), "tau": tau.copy()}
                sample = (3 * joint + len(argument)) % 7
                batch[argument][sample, joint] = bad
                with pytest.raises(
                    ValueError, match=f"{name}: {argument} of joint '{names[joint]}' is {bad} in sample {sample}$"
                ):
                    call(batch)


def test_every_sample_of_a_batch_is_looked_at(robot):
    q, v, a, _ = states(robot.model, 37)
    for sample in range(37):
        worse = v.copy()
        worse[sample, sample % 6] = np.nan
        with pytest.raises(ValueError, match=f"sample {sample}$"):
            robot.inverse_dynamics(q, worse, a)


def test_a_bad_wrench_is_refused_by_name(robot):
    q, v, a, tau = states(robot.model, 3)
    wrench = np.zeros(6)
    wrench[4] = np.nan
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": wrench})
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.forward_dynamics(q, v, tau, f_ext={"wrist_1_link": np.zeros(6), "tool0": wrench})
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": ["a"] * 6})
    with pytest.raises(ValueError, match="tool0.*shape"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": np.zeros(5)})
    with pytest.raises(KeyError, match="tool_0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool_0": np.zeros(6)})


def test_numbers_too_large_are_an_arithmetic_error(robot):
    q, v, a, _ = states(robot.model, 3)
    with pytest.raises(ArithmeticError, match="not finite"):
        robot.inverse_dynamics(q[0], np.full(6, 1e200), a[0])
    v[1] = 1e200
    with pytest.raises(ArithmeticError, match="sample 1"):
        robot.inverse_dynamics(q, v, a)


def test_unneeded_numbers_must_be_finite_but_do_not_matter(robot):
    (q,), (v,), (a,), (tau,) = states(robot.model, 1)
    mask = np.arange(6) % 2 == 0
    expected = robot.hybrid_dynamics(q, v, a, tau, mask)
    got = robot.hybrid_dynamics(q, v, np.where(mask, a, 1e9), np.where(mask, -1e9, tau), mask)
    np.testing.assert_array_equal(got, expected)


def test_angles_of_any_size_are_right(robot):
    q, v, a, _ = states(robot.model, 6)
    turns = 2 * np.pi * np.array([0, 1, 1e5, 1e6, 1e7, 1e9])
    far = q + turns[:, None]
    near = np.arctan2(np.sin(far), np.cos(far))  # the same angles, reduced
    expected = robot.inverse_dynamics(near, v, a)
    np.testing.assert_allclose(robot.inverse_dynamics(far, v, a), expected, rtol=1e-12, atol=1e-12)
    for k in range(6):
        np.testing.assert_allclose(robot.inverse_dynamics(far[k], v[k], a[k]), expected[k], rtol=1e-12, atol=1e-12)


# --- quaternions --------------------------------------------------------------------------------------


def test_quaternions_are_normalised(walker):
    q, v, a, _ = states(walker.model, 3)
    expected = walker.inverse_dynamics(q, v, a)
    for scale in (1 + 1e-3, 1 - 1e-3, 1 + 1e-7, -1.0):
        scaled = q.copy()
        scaled[:, 3:7] *= scale
        np.testing.assert_allclose(walker.inverse_dynamics(scaled, v, a), expected, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(walker.inverse_dynamics(scaled[0], v[0], a[0]), expected[0], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.95, 1.05, 2.0, 1e100])
def test_a_quaternion_far_from_unit_length_is_refused_by_name(walker, scale):
    q, v, a, tau = states(walker.model, 6)
    q[4, 3:7] *= scale
    for call in (
        lambda k: walker.inverse_dynamics(q[k], v[k], a[k]),
        lambda k: walker.forward_dynamics(q[k], v[k], tau[k]),
        lambda k: walker.mass_matrix(q[k]),
        lambda k: walker.gravity(q[k]),
        lambda k: walker.pose(q[k], "base_link"),
        lambda k: walker.potential_energy(q[k]),
    ):
        with pytest.raises(ValueError, match="quaternion of joint 'root_joint' has norm"):
            call(4)
        with pytest.raises(ValueError, match="quaternion of joint 'root_joint' has norm.*sample 4"):
            call(slice(None))


# --- memory and threads -------------------------------------------------------------------------------


def test_calls_with_out_do_not_allocate(model):
    robot = rbd.Robot(model, backend="llvm")
    (q,), (v,), (a,), (tau,) = states(model, 1)
    out, other, M = np.empty(6), np.empty(6), np.empty((6, 6))
    pair, mask = (out, other), np.arange(6) % 2 == 0

    def loop(count):
        for _ in range(count):
            robot.inverse_dynamics(q, v, a, out=out)
            robot.forward_dynamics(q, v, tau, out=out)
            robot.hybrid_dynamics(q, v, a, tau, mask, out=pair)
            robot.mass_matrix(q, out=M)

    loop(10)
    tracemalloc.start()
    try:
        loop(10)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        loop(1000)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 512  # the loop's own counter
    assert peak - before < 2048


def test_references_are_neither_lost_nor_kept(model):
    robot = rbd.Robot(model, backend="llvm")
    (q,), (v,), (a,), _ = states(model, 1)
    out = np.empty(6)
    kernel = robot._evaluation("inverse_dynamics")._kernel.call
    inertia = robot._inertia
    watched = (q, v, a, inertia, out, None)
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(100_000):
        kernel(q, v, a, inertia, out)  # accepted
    accepted = [sys.getrefcount(x) for x in watched]
    for _ in range(100_000):
        kernel(q, v, a, inertia, None)  # refused
        kernel(q, v)
    refused = [sys.getrefcount(x) for x in watched]
    assert np.abs(np.subtract(accepted, before)).max() < 50
    assert np.abs(np.subtract(refused, before)).max() < 50


def test_the_entry_point_refuses_instead_of_reading_past_its_arguments(model):
    robot = rbd.Robot(model, backend="llvm")
    (q,), (v,), (a,), _ = states(model, 1)
    kernel = robot._evaluation("inverse_dynamics")._kernel.call
    good = (q, v, a, robot._inertia, np.empty(6))
    assert kernel(*good) is good[-1]
    assert kernel() is None
    assert kernel(*good[:4]) is None
    assert kernel(*good, q) is None
    for place in range(5):
        for wrong in (None, 3, 1.0, "x", [1.0] * 6, object(), np.float64(1.0), np.zeros(5), np.zeros(6, np.float32),
                      np.zeros(12)[::2], np.zeros((6, 1)), np.zeros(()), np.zeros(6, bool), np.ndarray):  # fmt: skip
            assert kernel(*good[:place], wrong, *good[place + 1 :]) is None
    with pytest.raises(TypeError):
        kernel(*good, out=good[-1])


def test_a_kernel_outlives_its_robot(model):
    robot = rbd.Robot(model, backend="llvm")
    (q,), (v,), (a,), _ = states(model, 1)
    expected = robot.inverse_dynamics(q, v, a)
    kernel, inertia = robot._evaluation("inverse_dynamics")._kernel.call, robot._inertia
    gone = weakref.ref(robot)
    del robot
    gc.collect()
    assert gone() is None
    out = np.empty(6)
    for _ in range(100):
        assert kernel(q, v, a, inertia, out) is out
    np.testing.assert_array_equal(out, expected)


def test_robots_and_their_machine_code_are_freed(model):
    """Also when the kernel is part of a reference cycle."""
    resource = pytest.importorskip("resource")
    (q,), (v,), (a,), _ = states(model, 1)

    def make(count):
        for _ in range(count):
            robot = rbd.Robot(model, backend="llvm")
            robot.inverse_dynamics(q, v, a)
            robot.itself = robot
        gc.collect()

    make(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    make(150)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 20_000  # kB


@pytest.mark.parametrize("backend", BACKENDS)
def test_robots_can_be_copied_and_sent_to_other_processes(model, backend):
    robot = rbd.Robot(model, backend=backend, friction=True)
    (q,), (v,), (a,), _ = states(model, 1)
    robot.set_payload("tool0", 3.0, com=(0.1, 0.0, 0.2))
    expected = robot.inverse_dynamics(q, v, a)
    copies = [copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))]
    robot.set_payload("tool0", 0.0)
    for other in copies:
        assert (other.backend, other.friction) == (backend, True)
        np.testing.assert_array_equal(other.inverse_dynamics(q, v, a), expected)


def test_threads_may_call_at_once(model):
    robot = rbd.Robot(model, backend="llvm")  # nothing is compiled yet
    q, v, a, tau = states(model, 400)
    reference = rbd.Robot(model, backend="reference")
    expected = reference.inverse_dynamics(q, v, a), reference.forward_dynamics(q, v, tau)
    failures: list[object] = []

    def same(result, wanted):
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)

    def work(start):
        try:
            for _ in range(5):
                for k in range(start, 400, 4):
                    same(robot.inverse_dynamics(q[k], v[k], a[k]), expected[0][k])
                    same(robot.forward_dynamics(q[k], v[k], tau[k]), expected[1][k])
                same(robot.forward_dynamics(q, v, tau), expected[1])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- names --------------------------------------------------------------------------------------------


def test_unknown_names_are_refused(model):
    robot = rbd.Robot(model, backend="reference")
    with pytest.raises(KeyError, match="inverse_dynamic"):
        robot.compile("inverse_dynamic")
    with pytest.raises(KeyError, match="pose:FRAME"):
        robot.compile("pose")
    with pytest.raises(KeyError, match="tool0"):
        robot.pose(np.zeros(6), "tool_0")
    with pytest.raises(ValueError, match="fortran"):
        rbd.Robot(model, backend="fortran")


def test_progress_is_reported_before_each_kernel(model):
    robot = rbd.Robot(model, backend="llvm")
    seen = []
    robot.compile("gravity", "pose:tool0", progress=lambda *args: seen.append(args))
    assert seen == [("gravity", 1, 2), ("pose:tool0", 2, 2)]


# --- a robot that cannot move -------------------------------------------------------------------------

STATUE = """<robot name="statue"><link name="base"><inertial><mass value="2"/>
<origin xyz="0 0 1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_robot_without_joints_has_empty_results(backend):
    robot = rbd.Robot(rbd.load_urdf(STATUE), backend=backend)
    nothing = np.empty(0)
    assert robot.inverse_dynamics(nothing, nothing, nothing).shape == (0,)
    assert robot.forward_dynamics(np.empty((5, 0)), nothing, nothing).shape == (5, 0)
    assert robot.mass_matrix(nothing).shape == (0, 0)
    assert robot.mass_matrix(np.empty((3, 0))).shape == (3, 0, 0)
    assert robot.potential_energy(nothing) == pytest.approx(2 * 9.81)
    np.testing.assert_allclose(robot.center_of_mass(nothing), [0, 0, 1])
    np.testing.assert_allclose(robot.pose(nothing, "base"), np.eye(4))
    assert robot.jacobian(nothing, "base").shape == (6, 0)


class TestFewSamples:
    """The short way for few samples gives what the long way does, and leaves the rest to it."""

    @pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 63, 64, 65, 200])
    def test_results_do_not_depend_on_how_many_there_are(self, count):
        model = load_urdf(ARM)
        robot, rng = rbd.Robot(model), np.random.default_rng(count)
        q, v, a = rng.uniform(-0.1, 0.1, size=(count, 3)), *rng.normal(size=(2, count, 3))
        alone = np.array([robot.inverse_dynamics(*row) for row in zip(q, v, a)])
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), alone, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            robot.inverse_dynamics(q, v[0], a), [robot.inverse_dynamics(x, v[0], y) for x, y in zip(q, a)], rtol=1e-12
        )
        for part, columns in zip(robot.inverse_dynamics_derivatives(q, v, a), zip(*(
            robot.inverse_dynamics_derivatives(*row) for row in zip(q, v, a)
        ))):  # fmt: skip
            np.testing.assert_allclose(part, columns, rtol=1e-11, atol=1e-11)
        energies = [robot.kinetic_energy(*row) for row in zip(q, v)]
        np.testing.assert_allclose(robot.kinetic_energy(q, v), energies, rtol=1e-12)

    @pytest.mark.parametrize(
        ("q", "v", "message"),
        [
            (np.zeros((3, 3)), np.zeros((2, 3)), "numbers of samples differ: q has 3, v has 2"),
            (np.zeros((3, 4)), np.zeros((3, 3)), r"q has shape \(3, 4\)"),
            (np.full((3, 3), np.nan), np.zeros((3, 3)), "q of joint 'shoulder' is nan in sample 0"),
            (
                np.zeros((3, 3)),
                np.array([[0.0] * 3, [0.0, np.inf, 0.0], [0.0] * 3]),
                "v of joint 'elbow' is inf in sample 1",
            ),
        ],
    )
    def test_what_does_not_fit_is_named_as_ever(self, q, v, message):
        with pytest.raises(ValueError, match=message):
            rbd.Robot(load_urdf(ARM)).inverse_dynamics(q, v, np.zeros(3))

    def test_other_types_and_layouts_come_to_the_same(self):
        robot, rng = rbd.Robot(load_urdf(ARM)), np.random.default_rng(3)
        q, v = 0.1 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
        expected = robot.bias(q, v)
        assert expected.flags.c_contiguous
        for x, y in ((q.tolist(), v.tolist()), (np.asfortranarray(q), v), (q[::-1][::-1], v[:, ::-1][:, ::-1])):
            np.testing.assert_allclose(robot.bias(x, y), expected, rtol=1e-13)
        stacked = robot.bias(q.reshape(5, 1, 3), v)
        np.testing.assert_allclose(np.einsum("iij->ij", stacked), expected, rtol=1e-13)
        assert robot.bias(np.zeros((0, 3)), v[0]).shape == (0, 3)
