# SPDX-License-Identifier: Apache-2.0
"""Processes that fork while another thread is inside a lock: the child can go on compiling."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.common.process.process_lock import QuietLock
from rbd_dynamics.compiler import backends, native
from rbd_dynamics.compiler.llvm import machine as llvm_machine
from rbd_dynamics.kernels import bound_model
from rbd_dynamics.model.joints import Revolute

ENOUGH = 120  # s, after which what waits for ever is taken to do so

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def pendulum() -> rbd.Robot:
    builder = rbd.ModelBuilder("pendulum")
    builder.add_body("rod", None, Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5))
    return rbd.Robot(builder.build(), backend="llvm")


def in_child(work: Callable[[], bool]) -> bool:
    """Fork, and whether the work was well done in the child."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(ENOUGH)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def compiles() -> bool:
    robot = pendulum()
    return bool(np.isfinite(robot.inverse_dynamics([0.3], [0.1], [0.2])).all())


def test_a_child_forked_while_another_thread_compiles_can_compile(monkeypatch, tmp_path):
    """The other thread stands still in the middle of making a kernel until the child is done."""
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))
    expected = pendulum().inverse_dynamics([0.3], [0.1], [0.2])
    inside, done = threading.Event(), threading.Event()
    compile_object, caller = native.compile_object, threading.get_ident()

    def slow(program, **options):
        if threading.get_ident() != caller:
            inside.set()
            done.wait()
        return compile_object(program, **options)

    monkeypatch.setattr(native, "compile_object", slow)
    found = []
    other = threading.Thread(target=lambda: found.append(pendulum().mass_matrix([0.1])))
    other.start()
    try:
        assert inside.wait(ENOUGH)
        assert in_child(compiles)
    finally:
        done.set()
        other.join()
    assert found[0].shape == (1, 1)
    np.testing.assert_array_equal(pendulum().inverse_dynamics([0.3], [0.1], [0.2]), expected)


def test_a_fork_waits_until_llvm_is_at_rest():
    """LLVM and llvmlite have locks of their own, which nobody could open in the child."""
    inside, order = threading.Event(), []

    def hold() -> None:
        with llvm_machine.llvm_lock:
            inside.set()
            told.wait(ENOUGH)
            order.append("left")

    told = threading.Event()  # newer than the lock, so what it registers comes before the lock waits
    os.register_at_fork(before=told.set, after_in_parent=lambda: order.append("forked"))
    other = threading.Thread(target=hold)
    other.start()
    assert inside.wait(ENOUGH)
    assert in_child(compiles)
    other.join()
    assert order == ["left", "forked"]


def test_the_thread_that_holds_such_a_lock_may_fork():
    lock = QuietLock()
    with lock:
        assert in_child(lambda: lock.__enter__() is None)
    with lock:
        pass


def test_locks_that_others_held_are_free_in_the_child():
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with backends.compiler_lock, bound_model._payload_lock:
            inside.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()

    def work() -> bool:
        robot = pendulum()
        robot.set_payload("rod", 2.0)
        return bool(robot.inertial_parameters[0, 0] == 3.0)

    try:
        assert inside.wait(ENOUGH)
        assert in_child(work)
    finally:
        done.set()
        other.join()


def test_of_two_threads_that_attach_payloads_none_loses_the_others(monkeypatch):
    """The first stands still between reading what is attached and writing it until the second is there, or waits."""
    builder = rbd.ModelBuilder("pendulum")
    builder.add_body("rod", None, Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5))
    builder.add_frame("a", "rod")
    builder.add_frame("b", "rod")
    robot = rbd.Robot(builder.build(), backend="reference")
    inside, blocked = threading.Event(), threading.Event()
    parameters = bound_model.BoundModel._inertial_parameters
    first = []

    def slow(self, *arguments):
        if not first:
            first.append(threading.get_ident())
            inside.set()
            blocked.wait(ENOUGH)
        return parameters(self, *arguments)

    monkeypatch.setattr(bound_model.BoundModel, "_inertial_parameters", slow)

    class Told:
        """The lock, which tells when a second thread asks for it."""

        def __enter__(self) -> None:
            if first:
                blocked.set()
            lock.__enter__()

        def __exit__(self, *error: object) -> None:
            lock.__exit__(*error)

    lock = bound_model._payload_lock
    monkeypatch.setattr(bound_model, "_payload_lock", Told())

    def attach_a() -> None:
        robot.set_payload("a", 1.0)

    def attach_b() -> None:
        robot.set_payload("b", 2.0)
        blocked.set()

    threads = [threading.Thread(target=attach_a), threading.Thread(target=attach_b)]
    threads[0].start()
    assert inside.wait(ENOUGH)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert robot.inertial_parameters[0, 0] == 4.0
    assert set(robot._payloads) == {"a", "b"}
