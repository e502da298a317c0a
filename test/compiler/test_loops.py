# SPDX-License-Identifier: Apache-2.0
"""Functions with loops: machine code does what Python does with the same text, and refuses what it does not know."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from helpers.models.arms import ARM
from numpy.typing import NDArray

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler.loops import Kernel, Loops, Table, run_bound, run_kernel, run_single
from rbd_dynamics.compiler.loops_ir import emit_loops

Array = NDArray[np.float64]
HALF = 0.5


def clipped(values: Array, k: int, least: float) -> int:
    """Calls, min and max."""
    values[k] = max(least, min(values[k], 2.0 * HALF))
    return k


def everything(count: int, values: Array, found: Array) -> int:
    """Each kind of statement and operation."""
    total = 0.0
    k = 0
    while k < count:
        if values[k] < 0.0 and not k == 2:
            total -= values[k]
        elif values[k] == 0.0 or k != 3:
            total += sqrt(abs(values[k]))
        else:
            total = total * 2.0
        k += 1
    found[0] = total
    found[1] = -count / 4
    last = 0
    for i in range(1, count):
        clipped(values, i, -0.25)
        last = i
        if values[i] > 0.9:
            break
    found[2] = last
    return last


def both(values):
    answers = []
    for machine_code in (True, False):
        own, found = np.array(values), np.zeros(3)
        bound = Loops(clipped, everything, machine_code=machine_code).bind(len(own), own, found)
        answers.append((bound.run(), bound.result, own.tolist(), found.tolist()))
    return answers


@pytest.mark.parametrize(
    "values", [[0.3, -0.7, -0.1, 0.5], [0.0, 4.0, 1.0, 1.0], [-1.0], [0.2, -3.0, -0.2, 0.0, 0.8, 7.0]]
)
def test_machine_code_does_what_python_does(values):
    compiled, plain = both(values)
    assert compiled == plain
    assert compiled[0] is (compiled[1] != 0)


def counted(count: int, kernel: Kernel, places: Table, found: Table) -> int:
    """A kernel runs on samples 0 to count, then on half of them again; whole numbers."""
    found[0] = run_kernel(kernel, count, places, 3)
    places[4] = found[1]
    found[1] = 3 * found[0] - count
    return run_kernel(kernel, 2, places, 3)


@pytest.mark.parametrize("machine_code", [True, False])
def test_kernels_run_on_the_arrays_of_a_table(machine_code):
    robot = Robot(load_urdf(ARM))
    rng = np.random.default_rng(3)
    q = rng.normal(size=(5, 3))
    kernel, first, other = robot.evaluation("gravity").kernel, np.zeros((5, 3)), np.zeros((5, 3))
    inputs = (q, np.array(robot.inertia_input))
    bound = kernel.bound(inputs, (first,))
    places, found = np.array(bound.places), np.zeros(2, dtype=np.int64)
    call = Loops(counted, machine_code=machine_code).bind(4, bound.function, places, found)
    call.set(0, 5)

    def begin():
        first[:], other[:] = 0.0, 0.0
        places[:], found[:] = bound.places, (7, other.ctypes.data)

    for run in (call.run, call.run_aside):
        begin()
        assert not run() and found.tolist() == [0, -5] and call.result == 0
        np.testing.assert_array_equal(first, robot.gravity(q))
        np.testing.assert_array_equal(other[:2], robot.gravity(q[:2]))
        assert not other[2:].any()
    q[0] = np.nan
    for run in (call.run, call.run_aside):
        begin()
        assert run() and call.result != 0  # refused


def test_it_reads_and_writes_the_arrays_at_each_call():
    values, found = np.array([1.0, 2.0]), np.zeros(3)
    bound = Loops(clipped, everything, machine_code=True).bind(2, values, found)
    bound.run()
    first = found[0]
    values[:] = 9.0
    bound.run()
    assert found[0] == 6.0 != first


def test_arrays_stay_alive_with_the_call():
    run = Loops(clipped, everything, machine_code=True).bind(2, np.array([1.0, 2.0]), found := np.zeros(3)).run
    others = [np.full(2, 9.0) for _ in range(100)]  # where the freed array would be
    run()
    assert found[0] == 1.0 + 2.0**0.5 and len(others) == 100


def test_arrays_of_another_kind_are_refused():
    loops = Loops(clipped, everything, machine_code=True)
    with pytest.raises(TypeError, match="everything: an array is not contiguous float64"):
        loops.bind(2, np.zeros((2, 2)).T[0], np.zeros(3))
    with pytest.raises(TypeError, match="not contiguous float64"):
        loops.bind(2, np.zeros(2, dtype=int), np.zeros(3))
    with pytest.raises(TypeError, match="not contiguous int64"):
        Loops(counted, machine_code=True).bind(2, len, np.zeros(3), np.zeros(2, dtype=int))


def unknown_name(count: int) -> int:
    return nowhere  # noqa: F821


def two_types(count: int) -> int:
    count = 1.5
    return count


def no_range(values: Array) -> int:
    for _ in values:
        pass
    return 0


def a_power(count: int) -> int:
    count = count**2
    return 0


def a_fraction(places: Table) -> int:
    places[0] = 0.5
    return 0


def a_number_that_varies(kernel: Kernel, places: Table, number: int) -> int:
    return run_kernel(kernel, 1, places, number)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (a_fraction, "whole numbers"),
        (a_number_that_varies, "a constant"),
        (unknown_name, "nowhere is unknown"),
        (two_types, "two types"),
        (no_range, "not a range"),
        (a_power, "operation"),
    ],
)
def test_what_is_no_such_function_is_refused(function, message):
    with pytest.raises(SyntaxError, match=f"{function.__name__}: .*{message}"):
        emit_loops([function])


def one_then_half(kernel: Kernel, places: Table, function: Kernel, plan: Table) -> int:
    """A kernel for one sample, then other loops with another first argument."""
    plan[0] = 2
    status = run_single(kernel, places, 3)
    if status != 0:
        return -1
    return run_bound(function, plan)


@pytest.mark.parametrize("machine_code", [True, False])
def test_kernels_for_one_sample_and_other_loops_are_called(machine_code):
    robot, q, found, values = Robot(load_urdf(ARM)), np.array([0.3, -0.2, 0.1]), np.zeros(3), np.zeros(3)
    kernel = robot.evaluation("gravity").kernel
    single = kernel.bound_single((q, np.array(robot.inertia_input)), (found,))
    other = Loops(clipped, everything, machine_code=True).bind_named(
        found=values, count=0, values=np.array([1.0, 0.5, 4.0])
    )
    call = Loops(one_then_half, machine_code=machine_code)
    bound = call.bind(single.function, np.array(single.places), other.function, other.plan)
    assert bound.run() and bound.result == other.result == 1
    np.testing.assert_array_equal(found, robot.gravity(q))
    assert values[0] == 1.0 + sqrt(0.5) and values[1] == -0.5
    q[:] = np.nan
    assert bound.run() and bound.result == -1
    with pytest.raises(RuntimeError, match="no machine code"):
        _ = Loops(clipped, everything, machine_code=False).bind(0, np.zeros(1), np.zeros(3)).function
