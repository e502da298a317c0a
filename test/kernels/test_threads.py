# SPDX-License-Identifier: Apache-2.0
"""Threads that share a robot, sets of constraints, contacts and shapes get what one thread gets.

All public calls are taken from the library's surface by `helpers.checks.public_calls`.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.public_calls import SIMULATED, calls, equal, simulated, state, world
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.collisions import CollisionSet
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import ContactSet
from rbd_dynamics.simulation import BatchSimulation, DrivenSimulation, Simulation

STATES, ROUNDS, THREADS = 4, 3, 4
WORLD, OTHER, STATES_OF = world(), world(), [state(seed) for seed in range(STATES)]
CALLS = calls()


def together(work):
    """Four threads do it at the same time, and are interrupted often; each is given its number. The errors."""
    errors, begin = [], threading.Barrier(THREADS)

    def guarded(number):
        begin.wait()
        try:
            work(number)
        except Exception as error:  # whatever it is, it is wrong
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return errors


def check(call, states, rounds=ROUNDS):
    """Four threads, each with the states in an order of its own, get what one gets."""
    expected = [call(at) for at in states]

    def work(first):
        for k in range(rounds * len(states)):
            number = (k * (first + 1) + 3 * first) % len(states)
            assert equal(call(states[number]), expected[number]), f"state {number}"

    assert together(work) == []


@pytest.mark.parametrize("call", table(CALLS, lambda call: not call.option), ids=str)
def test_four_threads_get_what_one_gets(call):
    if call.name.startswith("CollisionSet") and WORLD["shapes"] is None:
        pytest.skip("Coal is not installed")
    check(lambda at: call(WORLD, at), STATES_OF)


@pytest.mark.parametrize("call", [call for call in CALLS if call.name.startswith("Robot") and not call.option], ids=str)
def test_first_calls_of_four_threads_get_what_one_gets(call):
    """Nothing is traced, loaded or kept yet."""
    expected = [call(WORLD, at) for at in STATES_OF[:THREADS]]
    fresh = world()

    def work(number):
        assert equal(call(fresh, STATES_OF[number]), expected[number]), f"state {number}"

    assert together(work) == []


def interrupted(call, between):
    """The result of a call that stands still for another one wherever it first reaches a line of the library."""
    library, reached, before = str(Path(rbd.__file__).parent), set(), sys.gettrace()

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(library):
            return None
        if (line := (frame.f_code, frame.f_lineno)) not in reached:
            reached.add(line)
            sys.settrace(None)
            between()
            sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_that_stands_still_for_another_gets_what_it_gets_alone(call):
    """What threads do by chance, at every line: the other has other numbers, and the same sets or others."""
    if call.name.startswith("CollisionSet") and WORLD["shapes"] is None:
        pytest.skip("Coal is not installed")
    expected = call(WORLD, STATES_OF[0])
    sets = [name for name in ("contacts", "constraints") if name in call.needs]
    for other in (WORLD, *[{**WORLD, name: OTHER[name]} for name in sets]):
        found = interrupted(lambda: call(WORLD, STATES_OF[0]), lambda of=other: call(of, STATES_OF[1]))
        assert equal(found, expected)


def test_a_payload_that_one_thread_sets_is_there_whole():
    robot, at = world()["robot"], STATES_OF[0]
    loads = [{"mass": 1.0, "com": (0.1, 0.0, 0.0)}, {"mass": 3.0, "com": (0.0, 0.2, 0.0)}]
    expected = []
    for load in loads:
        robot.set_payload("block", **load)
        expected.append(robot.inverse_dynamics(at["q"], at["v"], at["a"]))

    def work(number):
        for k in range(300):
            if number == 0:
                robot.set_payload("block", **loads[k % 2])
            found = robot.inverse_dynamics(at["q"], at["v"], at["a"])
            assert any(equal(found, each) for each in expected)
            carried = robot.carrying("block", **loads[number % 2]).inverse_dynamics(at["q"], at["v"], at["a"])
            assert equal(carried, expected[number % 2])

    assert together(work) == []


@pytest.mark.parametrize("integrator, what", SIMULATED)
def test_simulations_in_threads_that_share_sets_go_as_alone(integrator, what):
    if what == "shapes" and WORLD["shapes"] is None:
        pytest.skip("Coal is not installed")
    check(lambda at: simulated(WORLD, at, integrator, what), STATES_OF[:1], rounds=1)


def test_impulses_on_shapes_in_four_threads():
    if WORLD["shapes"] is None:
        pytest.skip("Coal is not installed")
    check(lambda at: WORLD["robot"].contact_impulse(at["q"], at["v"], WORLD["shapes"]), STATES_OF)


def test_help_says_what_threads_may_do():
    for kind in (rbd.Robot, ConstraintSet, ContactSet, CollisionSet, Simulation, BatchSimulation, DrivenSimulation):
        assert "hread" in (kind.__doc__ or ""), kind


def test_the_surface_is_looked_at():
    """What this file is for is in the list; of an empty one nothing would be tested."""
    names = {call.name for call in CALLS}
    assert {"Robot.inverse_dynamics", "Robot.contact_forward_dynamics", "CollisionSet.distances"} <= names
    assert len(names) > 80 and len(CALLS) > 140
    for at in STATES_OF:
        touching = WORLD["robot"].contact_forward_dynamics(at["q"], at["v"], at["tau"], WORLD["contacts"])
        assert np.linalg.norm(touching.forces) > 1.0
