# SPDX-License-Identifier: Apache-2.0
"""What calls keep of memory, and threads and processes that call."""

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
from helpers.checks.oracles import BACKENDS
from helpers.models.robots import states

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots

pytestmark = pytest.mark.skipif(not robots(), reason="example-robot-data is not installed")


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
