# SPDX-License-Identifier: Apache-2.0
"""Threads that share a robot, sets of constraints, contacts and shapes get what one thread gets.

All public calls are taken from the library's surface by `helpers.public_calls`.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from helpers.public_calls import SIMULATED, calls, equal, simulated, state, world

import rbd_dynamics as rbd
from rbd_dynamics.collisions import CollisionSet
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import ContactSet
from rbd_dynamics.simulation import BatchSimulation, DrivenSimulation, Simulation

STATES, ROUNDS, THREADS = 4, 3, 4
WORLD, STATES_OF = world(), [state(seed) for seed in range(STATES)]
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


@pytest.mark.parametrize("call", CALLS, ids=str)
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
    assert np.isfinite(CALLS[0](WORLD, STATES_OF[0])).all()
