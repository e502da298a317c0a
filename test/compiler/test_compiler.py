# SPDX-License-Identifier: Apache-2.0
"""What tracing simplifies, and that all forms of a traced program compute the same numbers."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from helpers.models.robots import load_robot, needs_pinocchio
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.compiler import backends, cache
from rbd_dynamics.compiler.llvm import function as llvm_function
from rbd_dynamics.compiler.parts import divided
from rbd_dynamics.compiler.program import Argument, Signature, trace
from rbd_dynamics.compiler.python_source import emit_python
from rbd_dynamics.compiler.trace import operands
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.spatial.scalar import atan2, cos, less, reciprocal, sin, sqrt, tanh, where

ANGLE_LIMIT = 1.0e6


@pytest.fixture(autouse=True, scope="module", params=["whole", "in parts"])
def no_cache(request):
    """Kernels of these tests are not kept: their functions have no identity. Parts are those of long programs."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in parts":
            patch.setattr(llvm_function, "stays_whole", lambda program: False)
            patch.setattr(llvm_function, "PART", 7)
        patch.setattr(cache, "load", lambda name, key: None)
        patch.setattr(cache, "store", lambda name, key, data: None)
        yield


def signature(inputs: int, outputs: int) -> Signature:
    return Signature((Argument("x", (inputs,)),), (Argument("y", (outputs,)),))


def traced(function, inputs: int = 3):
    """Program of y = function(x0, x1...)."""

    def vectors(x):
        return [function(*x)]

    count = len(function(*[1.0 + k for k in range(inputs)]))
    return trace(vectors, signature(inputs, count))


def kernel(backend: str, function, inputs: int, outputs: int, name: str = "test"):
    """A kernel y = function(x)."""
    return backends.build(backend, name, signature(inputs, outputs), lambda x: [function(*x)])


def evaluate(built, x: np.ndarray, outputs: int) -> np.ndarray:
    """Through `many`, (N, inputs) -> (N, outputs)."""
    y = np.empty((len(x), outputs))
    built.many(len(x), [np.ascontiguousarray(x)], [y])
    return y


# --- what tracing leaves out --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda x, y, z: [2.0 * 3.0 + math.sin(0.0)], 0),  # constants
        (lambda x, y, z: [x * 0.0, 0.0 * y, x + 0.0, 0.0 + x, x - 0.0, 1.0 * x, x / 1.0], 0),  # neutral and zero
        (lambda x, y, z: [x - x, 0.0 / x], 0),
        (lambda x, y, z: [-(-1.0 * x)], 0),
        (lambda x, y, z: [x * y, y * x, x * y], 1),  # commuted products are one
        (lambda x, y, z: [x + y, y + x], 1),
        (lambda x, y, z: [(-x) * (-y)], 1),  # signs move outwards
        (lambda x, y, z: [(-x) * y, x * (-y)], 2),  # one product, one negation
        (lambda x, y, z: [x + (-y), x - y], 1),
        (lambda x, y, z: [-(x - y), y - x], 1),
        (lambda x, y, z: [sin(x) * sin(x) + cos(x) * cos(x)], 5),
        (lambda x, y, z: [sin(-x) + sin(x)], 1),  # sin(-x) = -sin(x), then x - x
        (lambda x, y, z: [cos(-x) - cos(x)], 1),
        (lambda x, y, z: [where(x, y, y)], 0),
        (lambda x, y, z: [where(x, y, z), where(x, y, z)], 1),
    ],
)
def test_tracing_folds_what_it_can(function, operations):
    program = traced(function)
    assert program.operations <= operations


def test_operations_without_use_are_dropped():
    def function(x, y, z):
        _unused = sin(x) * y + sqrt(z)
        return [x * y]

    assert traced(function).operations == 1


def test_branching_on_a_run_time_value_is_an_error():
    with pytest.raises(TypeError, match="where"):
        trace(lambda x: [[x[0] if x[1] else x[2]]], signature(3, 1))


def test_numpy_scalars_do_not_hide_tracing_scalars():
    program = trace(lambda x: [[np.float64(2.0) * x[0], np.float64(0.0) * x[0]]], signature(1, 2))
    assert program.operations == 1


def test_emitted_source_is_plain_python():
    source = emit_python(traced(lambda x, y, z: [x * y - z, sin(x)]))
    compile(source, "emitted", "exec")
    assert source.count("sin(") == 1
    assert "def kernel(x):" in source


@needs_pinocchio
def test_programs_are_short():
    """Operations for a UR5, with its inertias as inputs: about what they are now. Fewer are welcome."""
    model = load_robot("ur5_robot")

    def operations(name):
        signature, function = specialise(model, name, friction=False)
        return trace(function, signature).operations

    assert operations("inverse_dynamics") <= 890
    assert operations("forward_dynamics") <= 1610
    assert operations("hybrid_dynamics") <= 1810
    assert operations("mass_matrix") <= 410
    assert operations("gravity") <= 310
    assert operations("pose:tool0") <= 170
    assert operations("jacobian:tool0") <= 133, "of the body twist as if there were no other references"
    assert operations("jacobian_dot:tool0") <= 292
    assert operations("jacobian_aligned:tool0") <= 270
    assert operations("jacobian_world:tool0") <= 330


# --- all backends agree -------------------------------------------------------------------------------


def random_expression(seed: int, operations: int = 40):
    """A function of scalars made of random operations whose values stay moderate."""

    def function(*x):
        rng = random.Random(seed)
        pool = [*x, 0.0, 1.0, -1.0, 0.5]
        for _ in range(operations):
            a, b, c = (rng.choice(pool) for _ in range(3))
            flag = rng.choice(x)  # a computed condition may be 0 in one form and 1e-17 in another
            pool.append(
                rng.choice(
                    [
                        lambda a=a, b=b: a + b,
                        lambda a=a, b=b: a - b,
                        lambda a=a, b=b: 0.5 * (a * b),
                        lambda a=a, b=b: -a,
                        lambda a=a, b=b: a * reciprocal(2.0 + b * b),
                        lambda a=a, b=b: sin(a) * b,
                        lambda a=a, b=b: cos(a - b),
                        lambda a=a, b=b: sqrt(1.0 + a * a),
                        lambda a=a, b=b: tanh(a),
                        lambda b=b, c=c, flag=flag: where(flag, b, c),
                    ]
                )()
            )
        # bounded, so that no product of products leaves the range of sine and cosine
        return [tanh(0.01 * value) for value in pool[-8:]]

    return function


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), values=st.lists(st.integers(-12, 12).map(lambda k: k / 4), min_size=4, max_size=4))
def test_random_programs_give_the_same_numbers_in_every_backend(seed, values):
    function = random_expression(seed)
    expected = np.array(function(*values))
    x = np.array([values] * 5)
    for backend in ("reference", "python", "llvm"):
        built = kernel(backend, function, 4, 8)
        np.testing.assert_allclose(evaluate(built, x, 8), np.tile(expected, (5, 1)), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(evaluate(built, x[:1], 8)[0], expected, rtol=1e-9, atol=1e-13)
    y = np.empty(8)
    assert built.call(x[0].copy(), y) is y
    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
def test_a_program_may_be_constant_or_hand_inputs_through(backend):
    built = kernel(backend, lambda a, b: [b, 3.0, -0.0, a, -a], 2, 5)
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    expected = np.stack([x[:, 1], 0 * x[:, 0] + 3.0, 0 * x[:, 0], x[:, 0], -x[:, 0]], axis=1)
    np.testing.assert_array_equal(evaluate(built, x, 5), expected)


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
def test_select_drops_the_other_value_whatever_it_is(backend):
    built = kernel(backend, lambda a, b: [where(a, b, reciprocal(a)), where(a, reciprocal(b - b * a), b)], 2, 2)
    x = np.array([[0.0, 7.0], [2.0, 5.0]])
    y = evaluate(built, x, 2)
    assert y[0, 0] == math.inf  # selected: nothing hides it
    assert y[0, 1] == 7.0
    np.testing.assert_allclose(y[1], [5.0, -0.2])


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
def test_less_is_a_condition_and_false_where_nothing_can_be_compared(backend):
    def function(a, b):
        return [less(a, b), less(b, 1.0), less(1.0, b), where(less(a, b), a, b), less(a - a, 0.0 * a)]

    built = kernel(backend, function, 2, 5)
    x = np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5], [-1.0, 3.0], [3.0, -1.0]])
    smaller = np.minimum(*x.T)
    expected = np.stack([x[:, 0] < x[:, 1], x[:, 1] < 1, x[:, 1] > 1, smaller, np.zeros(5)], axis=1)
    np.testing.assert_array_equal(evaluate(built, x, 5), expected)
    assert less(math.nan, 1.0) == less(1.0, math.nan) == 0.0


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
def test_the_angle_of_a_point_is_right_all_around(backend):
    angle = np.concatenate([np.linspace(-np.pi, np.pi, 1001), [1e-300, 1e-9, -1e-9, np.pi - 1e-9]])
    radius = np.exp(np.random.default_rng(0).normal(size=angle.size, scale=5.0))
    points = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    points = np.concatenate([points, [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]])
    built = kernel(backend, lambda y, x: [atan2(y, x)], 2, 1)
    np.testing.assert_allclose(evaluate(built, points, 1)[:, 0], np.arctan2(*points.T), rtol=5e-16, atol=0)


def test_boolean_inputs_are_zero_or_one():
    shape = Signature((Argument("p", (3,), boolean=True), Argument("x", (3,))), (Argument("y", (3,)),))
    for backend in ("reference", "python", "llvm"):
        built = backends.build(backend, "flags", shape, lambda p, x: [[where(a, b, -1.0 * b) for a, b in zip(p, x)]])
        flags = np.array([[True, False, True], [False, False, True]])
        x, y = np.arange(1.0, 7.0).reshape(2, 3), np.empty((2, 3))
        assert built.many(2, [flags, x], [y]) == 0
        np.testing.assert_array_equal(y, np.where(flags, x, -x))


def test_checks_refuse_results_that_do_not_count():
    for backend in ("reference", "python", "llvm"):
        built = backends.build(backend, "checks", signature(1, 1), lambda x: [[2.0 * x[0]], [x[0] - 3.0]])
        y = np.empty((5, 1))
        assert built.many(1, [np.array([[3.9]])], [y[:1]]) == 0
        assert built.many(1, [np.array([[4.1]])], [y[:1]]) != 0
        assert built.many(5, [np.array([[3.0]] * 5)], [y]) == 0
        for bad in range(5):
            x = np.full((5, 1), 3.0)
            x[bad] = 1.9
            assert built.many(5, [x], [y]) != 0


@pytest.mark.parametrize("value", [0.0, 0.5, -0.5, 1.5])
def test_a_check_may_be_an_input_an_output_or_a_constant(value):
    """Tracing folds what is checked where the robot decides it, as of a joint whose limits are infinite."""
    for backend in ("reference", "python", "llvm"):
        built = backends.build(backend, "folded", signature(2, 2), lambda x: [[x[0] * x[1], 2.0], [x[0], value]])
        y = np.empty((3, 2))
        assert (built.many(3, [np.array([[0.25, 4.0]] * 3)], [y]) == 0) == (abs(value) <= 1.0)
        assert built.many(3, [np.array([[0.25, 4.0], [1.25, 4.0], [0.25, 4.0]])], [y]) != 0


def test_an_empty_output_is_not_written():
    """A robot without joints: vectors of no elements, also in a batch."""
    built = backends.build("llvm", "empty", signature(0, 0), lambda x: [[]])
    guard = np.full((3, 8), 7.0)
    assert built.many(3, [np.empty((3, 0))], [guard[:, :0]]) == 0
    np.testing.assert_array_equal(guard, 7.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2 * ANGLE_LIMIT])
def test_a_refused_call_writes_nothing(bad):
    """The output may be one of the inputs, and who sorts out the refusal needs them."""
    built = kernel("llvm", lambda a, b: [sin(a) + b, a * b], 2, 2)
    x = np.array([bad, 3.0])
    assert built.call(x, x) is None
    np.testing.assert_array_equal(x, [bad, 3.0])


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_number_is_refused_without_an_exception(backend, bad):
    built = kernel(backend, lambda a, b: [sin(a) + cos(b)], 2, 1)
    for count in (1, 3):
        x = np.ones((count, 2))
        x[-1, 1] = bad
        assert built.many(count, [x], [np.empty((count, 1))]) != 0


# --- long programs in parts ---------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), length=st.integers(1, 40), apart=st.booleans())
def test_parts_find_in_their_frame_what_others_left_there(seed, length, apart):
    """By a frame of labels: whoever reads a slot finds the node it wants, and outputs are there in the end."""
    program = trace(lambda x: [random_expression(seed, 120)(*x)] + [[x[0]]], signature(4, 8))
    nodes = program.nodes
    inputs = [k for k, node in enumerate(nodes) if node[0] == "input"]
    found = divided(program, inputs, apart=apart, length=length)
    assert max((len(part.nodes) for part in found.parts), default=0) <= length
    frame = {}

    def left(node):
        frame.update(dict.fromkeys(found.slots.get(node, ()), node))

    constants = [k for k, node in enumerate(nodes) if node[0] == "const"]
    for node in (*inputs, *constants):
        left(node)
    for part in found.parts:
        here = set()
        for node in part.nodes:
            for operand in operands(nodes[node]):
                outside = operand in part.taken and frame[found.slots[operand][0]] == operand
                assert operand in here or operand in constants or outside
            here.add(node)
            left(node)
    assert sorted([*inputs, *constants, *(k for part in found.parts for k in part.nodes)]) == list(range(len(nodes)))
    assert [[frame[slot] for slot in places] for places in found.places] == program.results
    assert all(k in constants or frame[found.slots[k][0]] == k for k in program.checks)
    assert max(frame, default=-1) < found.size
    if apart:
        assert found.places == [list(range(8))]
    assert found.outputs == (8 if apart else len({node for result in program.results for node in result}))


def test_slots_are_used_again():
    """A chain of sums needs two, however long it is."""

    def chain(a, b):
        for _ in range(200):
            a, b = b, a + b
        return [a]

    found = divided(traced(chain, 2), [0, 1], apart=True, length=10)
    assert len(found.parts) >= 20
    assert found.size <= 6


def limbs(*x):
    """Three of them, which do the same with other inputs and constants, and something that each has for itself."""
    outputs = []
    for k in range(3):
        a, b = x[2 * k], x[2 * k + 1]
        for step in range(60):
            a, b = 0.5 * b + a * (0.1 + 0.001 * step * (k + 1)), 0.4 * a - 0.3 * sin(b) * b + x[k]
        outputs += [a, b, a * x[0] if k == 1 else sqrt(b * b + 1.0)]
    return outputs


def test_what_repeats_is_cut_alike():
    """Most of the second and third limb is done by the code of the first."""
    program = traced(limbs, 6)
    inputs = [k for k, node in enumerate(program.nodes) if node[0] == "input"]
    pieces = divided(program, inputs, apart=True, length=50).parts
    length = {piece.shape: len(piece.nodes) for piece in pieces}
    assert sum(length.values()) < 0.6 * sum(len(piece.nodes) for piece in pieces)
    assert max(length.values()) <= 50


def test_code_that_is_shared_computes_what_each_part_is_for(monkeypatch):
    monkeypatch.setattr(llvm_function, "stays_whole", lambda program: False)
    monkeypatch.setattr(llvm_function, "PART", 50)
    x = np.random.default_rng(3).uniform(-1.0, 1.0, (13, 6))
    expected = evaluate(kernel("reference", limbs, 6, 9), x, 9)
    built = kernel("llvm", limbs, 6, 9)
    np.testing.assert_allclose(evaluate(built, x, 9), expected, rtol=1e-12)
    one = np.empty(9)
    assert built.call(x[4], one) is one
    np.testing.assert_allclose(one, expected[4], rtol=1e-12)
    for bad in (math.nan, math.inf):
        assert built.many(13, [np.where(np.arange(13)[:, None] == 7, bad, x)], [np.empty((13, 9))]) != 0


@pytest.mark.parametrize("count", [1, 3, 8, 11, 16, 31, 32, 33, 40, 67])
def test_an_output_that_is_not_finite_is_found_wherever_it_is(count):
    """Outputs of long programs are summed up in memory, in blocks."""
    built = kernel("llvm", lambda *x: [1.0 / a for a in x], count, count)
    x, y = np.ones((3, count)), np.empty((3, count))
    assert built.many(3, [x], [y]) == 0
    for k in range(count):
        for sample in range(3):
            bad = np.where((np.arange(3)[:, None] == sample) & (np.arange(count) == k), 0.0, x)
            assert built.many(3, [bad], [y]) != 0
        assert built.many(1, [bad[2:]], [y[:1]]) != 0


# --- sine and cosine ----------------------------------------------------------------------------------


def angles(count: int = 60_000) -> np.ndarray:
    """Up to ANGLE_LIMIT: uniform, logarithmic, and as near to multiples of pi/2 as doubles come."""
    rng = np.random.default_rng(3)
    uniform = rng.uniform(-ANGLE_LIMIT, ANGLE_LIMIT, count)
    small = rng.uniform(-4, 4, count)
    logarithmic = np.exp(rng.uniform(np.log(1e-300), np.log(ANGLE_LIMIT), count)) * rng.choice([-1, 1], count)
    half_pi = np.longdouble("1.57079632679489661923132")
    quarter = (rng.integers(-636_619, 636_620, count) * half_pi).astype(float)
    near = quarter + rng.integers(-3, 4, count) * np.spacing(quarter)
    first = (np.arange(-2000, 2001) * half_pi).astype(float)
    ends = [0.0, -0.0, ANGLE_LIMIT, -ANGLE_LIMIT]
    every = np.concatenate([uniform, small, logarithmic, near, near + np.pi / 4, first, ends])
    return every[np.abs(every) <= ANGLE_LIMIT]


def errors_in_ulp(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Error in units of the last place, zero where it is below 1e-16."""
    error = np.abs(got.astype(np.longdouble) - exact)
    return np.where(error <= 1e-16, 0.0, error / np.spacing(np.abs(exact).astype(float))).astype(float)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision to compare with")
@pytest.mark.parametrize("form", ["input", "expression"])
def test_sine_and_cosine_are_accurate_to_the_limit(form):
    x = angles()
    # an angle that is not itself an input takes another way through the emitter
    factor = 1.0 if form == "input" else 2.0
    built = kernel("llvm", lambda a: [sin(factor * a), cos(factor * a)], 1, 2)
    argument = x / factor
    y = np.empty((len(x), 2))
    assert built.many(len(x), [argument[:, None].copy()], [y]) == 0
    exact = np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))
    for got, wanted in zip(y.T, exact):
        assert errors_in_ulp(got, wanted).max() <= 1.5
    one = np.empty(2)
    for k in range(0, len(x), 97):
        assert built.call(argument[k : k + 1], one) is one
        np.testing.assert_array_equal(one, y[k])


def test_angles_beyond_the_limit_are_refused_by_the_kernel():
    built = kernel("llvm", lambda a: [sin(a)], 1, 1)
    y = np.empty((1, 1))
    for angle in (1.01e6, -1.01e6, 1e18, -1e300):
        assert built.many(1, [np.array([[angle]])], [y]) != 0
        assert built.call(np.array([angle]), y[0]) is None
