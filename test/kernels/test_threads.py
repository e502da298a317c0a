# SPDX-License-Identifier: Apache-2.0
"""Threads that share a robot, sets of contacts and collision shapes get what one thread gets."""

from __future__ import annotations

import inspect
import sys
import threading

import numpy as np
import pytest
from helpers.touching import balls_in_a_row, block, slope

import rbd_dynamics as rbd
from rbd_dynamics.constraints import FrameConstraint

STATES, ROUNDS, THREADS = 12, 8, 4
#: methods that make kernels, or are state: what they set counts for all threads
NOT_OF_A_STATE = {"compile", "compile_constrained", "set_payload", "custom_kernel", "constrained_kernel", "evaluation"}


def four_threads(call, states):
    """Numbers of the results that four threads, each with states in an order of its own, get wrong, or do not get."""
    expected = [call(state) for state in states]
    wrong = []

    def work(first):
        for k in range(ROUNDS * len(states)):
            number = (k * (first + 1) + 3 * first) % len(states)
            try:
                if not equal(call(states[number]), expected[number]):
                    wrong.append(number)
            except Exception as error:  # whatever it is, it is wrong
                wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return wrong


def equal(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(equal(found[key], expected[key]) for key in expected)
    if isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(equal, found, expected))
    if not isinstance(expected, (np.ndarray, float)):
        return found == expected
    return np.allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, float(np.max(np.abs(expected), initial=0.0))))


MODEL = block()
ROBOT = rbd.Robot(MODEL)
CONTACTS = slope(MODEL, 0.0, friction_coefficient=0.5)
HELD = [FrameConstraint("held", "block", directions=("x", "y"))]


def state(seed):
    """One argument of each name that methods have, on the ground."""
    rng = np.random.default_rng(seed)
    given = {name: rng.normal(size=6) for name in ("v", "a", "tau", "x", "b")}
    turn = 0.5 * float(rng.normal())
    given["q"] = np.array([*rng.normal(size=2), 0.05, 0.0, 0.0, np.sin(turn), np.cos(turn)])
    given["direction"] = tuple(rng.normal(size=(3, 6)))
    given["multipliers"] = rng.normal(size=2)
    return given | {
        "prescribed": rng.random(6) < 0.5, "frame": "block", "contacts": CONTACTS, "constraints": HELD,
    }  # fmt: skip


STATES_OF = [state(seed) for seed in range(STATES)]


def needed(name):
    method = getattr(rbd.Robot, name)
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = [p for p in inspect.signature(method).parameters.values() if p.name != "self" and p.kind not in kinds]
    return [p.name for p in found if p.default is p.empty]


METHODS = sorted(
    name
    for name, member in inspect.getmembers(rbd.Robot, inspect.isfunction)
    if not name.startswith("_") and {"q", "v"} & set(needed(name)) and name not in NOT_OF_A_STATE
)


@pytest.mark.parametrize("name", METHODS)
def test_four_threads_that_share_a_robot_get_what_one_gets(name):
    names = needed(name)
    unknown = set(names) - set(STATES_OF[0])
    assert not unknown, f"Robot.{name}: add values for {sorted(unknown)} to `state` of this test"
    assert four_threads(lambda at: getattr(ROBOT, name)(*(at[key] for key in names)), STATES_OF) == []


def test_four_threads_may_share_a_collision_set():
    pytest.importorskip("coal")
    from rbd_dynamics.collisions import CollisionSet, CollisionShape

    shapes = [CollisionShape("block", "block", "box", size=(0.1, 0.1, 0.1)), CollisionShape("floor", "world", "plane")]
    shapes.append(CollisionShape("ball", "world", "sphere", size=(0.3,)))
    touching = CollisionSet(MODEL, shapes)
    assert four_threads(lambda at: touching.distances(at["q"]), STATES_OF) == []
    assert four_threads(lambda at: [each.point for each in touching.contacts(at["q"], margin=9.0)], STATES_OF) == []
    assert four_threads(lambda at: ROBOT.contact_impulse(at["q"], at["v"], touching), STATES_OF) == []


def test_a_list_that_its_owner_changes_counts_as_it_is_at_each_call():
    model, contacts = balls_in_a_row(3, 0.1)
    q, v, tau = np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0])
    robot, given = rbd.Robot(model), contacts[:1]
    robot.contact_forward_dynamics(q, v, tau, given)
    given.append(contacts[1])
    found = robot.contact_forward_dynamics(q, v, tau, given)
    np.testing.assert_array_equal(found.a, rbd.Robot(model).contact_forward_dynamics(q, v, tau, contacts).a)
    assert len(found.forces) == 2

    at, held = STATES_OF[0], list(HELD)
    state_of = at["q"], at["v"], at["tau"]
    ROBOT.constrained_forward_dynamics(*state_of, held)
    held[0] = FrameConstraint("held", "block", directions=("z",))
    fresh = rbd.Robot(MODEL).constrained_forward_dynamics(*state_of, list(held))
    np.testing.assert_array_equal(ROBOT.constrained_forward_dynamics(*state_of, held).a, fresh.a)
