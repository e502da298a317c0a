# SPDX-License-Identifier: Apache-2.0
"""Steps in contact, one after the other, of one state or of several side by side, for `compiler.loops` to translate.

Kernels compute what each state needs, of all states in one call; contacts are found and their forces solved for one
state after the other, by loops of their own. A step that is rare for a state, as `ended` says, is left to NumPy: that
state stays, all others go on to the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.time_step import ACCURATE, FASTEST
from rbd_dynamics.compiler.loops import Kernel, Table, run_bound, run_kernel, run_single
from rbd_dynamics.simulation.march import copied

Array = NDArray[np.float64]
#: why it ends early: a kernel has refused a state; the search for contacts of the state why[1] is not complete; the
#: step just done is left to NumPy for the states that are marked
REFUSED, UNFINISHED, LONG = 1, 2, 3
HELD = -1  # mark of a state that does not move any more


def pointed(plan: Table, moves: Table, i: int) -> int:
    """Arrays of other loops become those of state i.

    moves: how many, then of each its place in the plan, where state 0 has it, and how far on the next, in bytes.
    """
    for k in range(moves[0]):
        plan[moves[3 * k + 1]] = moves[3 * k + 2] + i * moves[3 * k + 3]
    return 0


def begun(
    states: int, nv: int, efforts: Array, at: int, per_step: int, per_state: int, per_joint: int, most: Array,
    tau: Array, moving: Table, marks: Table,
) -> int:  # fmt: skip
    """Efforts of a step, and marks of who moves."""
    for i in range(states):
        marks[i] = HELD
        if moving[i] == 1:
            marks[i] = 0
            if per_step != 0:
                for j in range(nv):
                    effort = efforts[at + i * per_state + j * per_joint]
                    tau[i * nv + j] = max(min(effort, most[j]), -most[j])
    return 0


def ended(
    states: int, single: int, floats: int, nq: int, nv: int, h: Array, carry: Kernel, carry_at: Table, change: Array,
    joints: int, places: Table, lower: Array, upper: Array, q: Array, v: Array, reached: Array, q_then: Array,
    v_then: Array, q_before: Array, marks: Table,
) -> int:  # fmt: skip
    """q and v after a step with the velocities `reached`, of states that are not marked. How many are left to NumPy, or
    -1 where the kernel has refused. single: 1 where kernels are those for one sample.

    Marked as such are a base that turns too far for the step, a limit that is passed, and what is faster than anything.
    joints: with limits, whose positions stand at `places`.
    """
    if floats == 1:
        status = 0
        if single == 1:
            status = run_single(carry, carry_at, 8)
        else:
            status = run_kernel(carry, states, carry_at, 8)
        if status != 0:
            return -1
    else:
        for k in range(states * nv):
            q_then[k] = q[k] + h[0] * reached[k]
            v_then[k] = reached[k]
    left = 0
    for i in range(states):
        if marks[i] == 0:
            if floats == 1 and change[i] > ACCURATE * ACCURATE:
                marks[i] = 1
            for k in range(joints):
                position = q_then[nq * i + places[k]]
                if position > upper[k] or position < lower[k]:
                    marks[i] = 1
            speed = 0.0
            for k in range(nv):
                speed += v_then[nv * i + k] * v_then[nv * i + k]
            if not speed < FASTEST * FASTEST:
                marks[i] = 1
        if marks[i] == 0:
            copied(nq, q, nq * i, q_before, nq * i)
            copied(nq, q_then, nq * i, q, nq * i)
            copied(nv, v_then, nv * i, v, nv * i)
        if marks[i] > 0:
            left += 1
    return left


def march_touching(
    steps: int, wait: int, efforts_at: int, q_to: int, v_to: int, states: int, single: int, nq: int, nv: int,
    dynamics: Kernel, dynamics_at: Table, solve: Kernel, solve_plan: Table, solve_moves: Table,
    floats: int, h: Array, carry: Kernel, carry_at: Table, change: Array, joints: int, places: Table, lower: Array,
    upper: Array, q: Array, v: Array, tau: Array, reached: Array, q_then: Array, v_then: Array, q_before: Array,
    moving: Table, marks: Table, efforts: Array, per_step: int, per_state: int, per_joint: int, most: Array,
    used: int, every: int, all_q: Array, all_v: Array, q_apart: int, v_apart: int, why: Table,
) -> int:  # fmt: skip
    """Up to so many steps of contacts that are always the same; how many were done, and in why[0] why no more, or 0.

    The first `used` states go after `wait` steps, and then after every `every` ones, to all_q[q_to:], all_v[v_to:],
    from where the next are q_apart, v_apart further on. efforts: the one of step s, state i and joint j stands at
    efforts_at + s per_step + ...; without per_step those in `tau` stay.
    """
    done = 0
    while done < steps:
        begun(states, nv, efforts, efforts_at, per_step, per_state, per_joint, most, tau, moving, marks)
        status = 0
        if single == 1:
            status = run_single(dynamics, dynamics_at, 11)
        else:
            status = run_kernel(dynamics, states, dynamics_at, 11)
        if status != 0:
            why[0] = REFUSED
            return done
        for i in range(states):
            solved = 0
            if marks[i] == 0:
                pointed(solve_plan, solve_moves, i)
                solved = run_bound(solve, solve_plan)
                if solved == 0:
                    marks[i] = 1
            if solved == 0:
                copied(nv, v, nv * i, reached, nv * i)
        left = ended(
            states, single, floats, nq, nv, h, carry, carry_at, change, joints, places, lower, upper, q, v, reached,
            q_then, v_then, q_before, marks,
        )  # fmt: skip
        if left < 0:
            why[0] = REFUSED
            return done
        done += 1
        efforts_at += per_step
        wait += -1
        if wait == 0:
            copied(used * nq, q, 0, all_q, q_to)
            copied(used * nv, v, 0, all_v, v_to)
            q_to += q_apart
            v_to += v_apart
            wait = every
        if left > 0:
            why[0] = LONG
            return done
    why[0] = 0
    return done


def march_among_shapes(
    steps: int, wait: int, efforts_at: int, q_to: int, v_to: int, begin: int, known: int,
    states: int, single: int, nq: int, nv: int,
    motions: Kernel, motions_at: Table, forward: Kernel, forward_at: Table, mass: Kernel, mass_at: Table,
    search: Kernel, search_plan: Table, search_moves: Table, counts: Table,
    rows: Kernel, rows_plan: Table, rows_moves: Table, solve: Kernel, solve_plan: Table, solve_moves: Table,
    floats: int, h: Array, carry: Kernel, carry_at: Table, change: Array, joints: int, places: Table, lower: Array,
    upper: Array, q: Array, v: Array, tau: Array, reached: Array, q_then: Array, v_then: Array, q_before: Array,
    moving: Table, marks: Table, efforts: Array, per_step: int, per_state: int, per_joint: int, most: Array,
    used: int, every: int, all_q: Array, all_v: Array, q_apart: int, v_apart: int, why: Table,
) -> int:  # fmt: skip
    """The same of contacts that are found in each step.

    begin, known: goes on within a step at a state, of which so many contacts are known, unless negative; else 0, -1.
    """
    done = 0
    i = begin
    found = known
    while done < steps:
        if i == 0 and found < 0:
            begun(states, nv, efforts, efforts_at, per_step, per_state, per_joint, most, tau, moving, marks)
            status = 0
            if single == 1:
                status = run_single(motions, motions_at, 5)
                status += run_single(forward, forward_at, 5)
            else:
                status = run_kernel(motions, states, motions_at, 5)
                status += run_kernel(forward, states, forward_at, 5)
                status += run_kernel(mass, states, mass_at, 3)
            if status != 0:
                why[0] = REFUSED
                return done
        while i < states:
            solved = 0
            if marks[i] == 0:
                if found < 0:
                    pointed(search_plan, search_moves, i)
                    if run_bound(search, search_plan) == 0:
                        why[0] = UNFINISHED
                        why[1] = i
                        return done
                    found = counts[0]
                if found > 0:
                    pointed(rows_plan, rows_moves, i)
                    rows_plan[0] = found
                    run_bound(rows, rows_plan)
                    if single == 1:
                        run_single(mass, mass_at, 3)
                pointed(solve_plan, solve_moves, i)
                solve_plan[0] = found
                solved = run_bound(solve, solve_plan)
                if solved == 0:
                    marks[i] = 1
            if solved == 0:
                copied(nv, v, nv * i, reached, nv * i)
            found = -1
            i += 1
        i = 0
        left = ended(
            states, single, floats, nq, nv, h, carry, carry_at, change, joints, places, lower, upper, q, v, reached,
            q_then, v_then, q_before, marks,
        )  # fmt: skip
        if left < 0:
            why[0] = REFUSED
            return done
        done += 1
        efforts_at += per_step
        wait += -1
        if wait == 0:
            copied(used * nq, q, 0, all_q, q_to)
            copied(used * nv, v, 0, all_v, v_to)
            q_to += q_apart
            v_to += v_apart
            wait = every
        if left > 0:
            why[0] = LONG
            return done
    why[0] = 0
    return done


LOOPS = (copied, pointed, begun, ended)
