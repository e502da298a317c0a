# SPDX-License-Identifier: Apache-2.0
"""Batches over several threads: the same results, errors and samples, whatever is shared."""

from __future__ import annotations

import os
import sys
import threading
import time

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.robots import load_robot

import rbd_dynamics as rbd
from rbd_dynamics.kernels import shared_work
from rbd_dynamics.kernels.shared_work import FIRST

COUNT = 4 * FIRST + 13


@pytest.fixture(scope="module")
def model():
    return rbd.load_urdf(ARM)


@pytest.fixture(params=[2, 3, 5])
def robot(request, model, monkeypatch):
    """One that shares whatever it may, and whose parts can be counted."""
    monkeypatch.setattr(shared_work, "WORTH", 1e-12)
    return rbd.Robot(model, threads=request.param)


def states(count=COUNT, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.4, 0.4, (3, count, 3))


def by_whom(evaluation, monkeypatch):
    """Names of the threads that run parts of a kernel, with the samples of each."""
    found, kernel = [], evaluation._batches._kernel

    class Watched:
        signature = kernel.signature

        @staticmethod
        def many(samples, *arrays):
            found.append((threading.current_thread().name, samples))
            return kernel.many(samples, *arrays)

    monkeypatch.setattr(evaluation._batches, "_kernel", Watched())
    return found


def test_parts_are_done_by_several_threads_and_make_the_whole(model, robot, monkeypatch):
    q, v, a = states()
    alone = rbd.Robot(model)
    robot.compile("inverse_dynamics", "hybrid_dynamics")
    found = by_whom(robot.evaluation("inverse_dynamics"), monkeypatch)
    for _ in range(2):
        np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), alone.inverse_dynamics(q, v, a))
    assert sum(samples for _, samples in found) == 2 * COUNT
    assert len(found) == 1 + 2 * robot.threads  # the first samples were timed
    assert len({name for name, _ in found}) > 1
    # one state for all samples; more leading axes; two results; out
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v[0], a), alone.inverse_dynamics(q, v[0], a))
    shape = (2, COUNT // 2, 3)
    q, v, a = (each[: 2 * (COUNT // 2)].reshape(shape) for each in (q, v, a))
    mask = np.array([True, False, True])
    out = np.empty(shape), np.empty(shape)
    assert robot.hybrid_dynamics(q, v, a, a, mask, out=out) is out
    for ours, theirs in zip(out, alone.hybrid_dynamics(q, v, a, a, mask)):
        np.testing.assert_array_equal(ours, theirs)


def test_small_batches_and_short_work_are_not_shared(model, monkeypatch):
    robot = rbd.Robot(model, threads=4)
    q, v, a = states(2 * FIRST)
    found = by_whom(robot.evaluation("inverse_dynamics"), monkeypatch)
    monkeypatch.setattr(shared_work, "WORTH", 1e9)
    robot.inverse_dynamics(q, v, a)
    robot.inverse_dynamics(q, v, a)
    monkeypatch.setattr(shared_work, "WORTH", 1e-12)
    robot.inverse_dynamics(q[:-1], v[:-1], a[:-1])
    assert [samples for _, samples in found] == [FIRST, FIRST]  # then it is known; the others go a shorter way
    assert {name for name, _ in found} == {threading.current_thread().name}


def test_other_python_threads_run_while_a_long_batch_is_computed(model):
    """The shortest way from Python to machine code gives the interpreter's lock away, and has it back after."""
    robot, (q, v, a) = rbd.Robot(model), states(64 * FIRST)
    out = np.empty_like(v)
    fast = robot.evaluation("inverse_dynamics").kernel.several
    passed, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            passed[0] += 1
            time.sleep(0)  # gives it away too

    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)  # nobody is made to give it away
    try:
        other.start()
        for _ in range(10_000):  # the other may be without a processor for a while
            before = passed[0]
            assert fast(q, v, a, robot.inertia_input, out) is out
            if passed[0] > before:
                break
        else:
            pytest.fail("no other thread ran")
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        other.join()
    assert (out == robot.inverse_dynamics(q, v, a)).all()


@pytest.mark.parametrize("sample", [0, FIRST, COUNT // 2, COUNT - 1])
def test_errors_name_the_sample_whoever_found_it(model, robot, sample):
    q, v, a = states()
    v[sample, 1] = np.nan
    with pytest.raises(ValueError, match=f"v of joint .* is nan in sample {sample}$"):
        robot.inverse_dynamics(q, v, a)
    rows = rbd.Robot(model, threads=robot.threads, errors="nan").inverse_dynamics(q, v, a)
    assert np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist() == [sample]


def test_several_threads_may_share_at_once(model, robot):
    q, v, a = states()
    expected, wrong = rbd.Robot(model).inverse_dynamics(q, v, a), []

    def work():
        for _ in range(20):
            if not np.array_equal(robot.inverse_dynamics(q, v, a), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_has_threads_of_its_own(model, robot):
    q, v, a = states()
    expected = robot.inverse_dynamics(q, v, a)  # the pool is there
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if np.array_equal(robot.inverse_dynamics(q, v, a), expected) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, None])
def test_wrong_numbers_of_threads_are_refused(model, threads):
    with pytest.raises(ValueError, match="threads"):
        rbd.Robot(model, threads=threads)


def test_a_robot_says_how_many(model):
    assert "2 threads" in repr(rbd.Robot(model, threads=2))
    assert "thread" not in repr(rbd.Robot(model))
    assert rbd.Robot(model, threads=2).carrying("hand", 0.1).threads == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["ur5_robot", "panda", "talos_reduced"])
def test_results_are_the_same_wherever_their_array_begins(name, dtype):
    """The loops that write them turn to whole lines of the cache, and write nothing beside the array."""
    model = load_robot(name)
    robot, rng = rbd.Robot(model, dtype=dtype), np.random.default_rng(2)
    q = np.array([model.random(rng) for _ in range(19)], dtype=dtype)
    size, line = model.nv**2, 64 // q.itemsize
    for count in (1, 2, 17, 19):
        expected = robot.mass_matrix(q[:count])
        for begin in range(1, line + 2):
            memory = np.full(begin + count * size + 2 * line, 7.0, dtype=dtype)
            out = memory[begin : begin + count * size].reshape(count, model.nv, model.nv)
            assert robot.mass_matrix(q[:count], out=out) is out
            assert (out == expected).all()
            assert (memory[:begin] == 7.0).all() and (memory[begin + count * size :] == 7.0).all()
