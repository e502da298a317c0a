# SPDX-License-Identifier: Apache-2.0
"""Numbers of any type and layout are taken, and results written where they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import states

from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.kernels.evaluation import Evaluation

pytestmark = pytest.mark.skipif(not robots(), reason="example-robot-data is not installed")


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
