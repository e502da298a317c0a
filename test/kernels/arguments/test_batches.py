# SPDX-License-Identifier: Apache-2.0
"""Many samples in a call: what belongs together, and what becomes of bad ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.robots import states

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.constraints import FrameConstraint
from rbd_dynamics.model.urdf import load_urdf

pytestmark = pytest.mark.skipif(not robots(), reason="example-robot-data is not installed")


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


# --- a robot that cannot move -------------------------------------------------------------------------


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
