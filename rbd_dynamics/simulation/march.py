# SPDX-License-Identifier: Apache-2.0
"""Steps of many samples together, in the part of Python that `compiler.loops` translates.

The kernel of `algorithms/time_step.py` does a step of every sample, but ends early where a joint comes to a limit or
leaves it: what is left of that step is done of those samples alone, gathered side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Kernel, Table, run_kernel

Array = NDArray[np.float64]
#: the kernel's arrays: q, v, a, tau, step, lower, upper, side, counts, inertia; what becomes of q, v, a, side, counts
NUMBER = 15
Q, V, A, SIDE, COUNTS = 0, 2, 4, 14, 16  # where the addresses of inputs stand in a table of places
NEXT = 20  # the same of the first output; then as many more
DOUBLE = 8  # bytes
REFUSED, ENDED = 1, 2  # why it ends early


def copied(size: int, source: Array, at: int, target: Array, to: int) -> int:
    """So many numbers from one place to another."""
    for k in range(size):
        target[to + k] = source[at + k]
    return 0


def limited(count: int, nv: int, efforts: Array, at: int, sample: int, joint: int, most: Array, tau: Array) -> int:
    """Efforts of a step: the number of sample i and joint j stands at `at` + i sample + j joint."""
    for i in range(count):
        for j in range(nv):
            tau[i * nv + j] = max(min(efforts[at + i * sample + j * joint], most[j]), -most[j])
    return 0


def march(
    steps: int, turn: int, q_now: int, v_now: int, q_next: int, v_next: int, efforts_now: int,
    count: int, nq: int, nv: int, kernel: Kernel, places: Table, few_places: Table, bases: Table,
    q: Array, v: Array, way: int,
    a: Array, side: Array, counts: Array, to_do: Array, tau: Array,
    efforts: Array, per_step: int, per_sample: int, per_joint: int, most: Array,
    few_q: Array, few_v: Array, few_a: Array, few_tau: Array, few_side: Array, few_counts: Array,
    rows: Table, why: Table,
) -> int:  # fmt: skip
    """Up to so many steps; returns how many were done, and in why[0] 0, or why there are no more.

    q[q_now + i nq], v[v_now + i nv]: the states of sample i; the next are q_next and v_next further on, from where the
    ones after them are as far again, `way` = 1, or back, -1. a, side, counts: two turns of (count, ...), of which
    `turn` is the present one. bases: addresses of q, v, a, side, counts. to_do[i]: 1, or 0 for a sample that stays.
    REFUSED: the kernel has refused a sample, in the step that comes. ENDED: the step before has ended some, whose
    counts are negative.
    """
    done = 0
    while done < steps:
        if per_step != 0:
            limited(count, nv, efforts, efforts_now, per_sample, per_joint, most, tau)
            efforts_now += per_step
        then = 1 - turn
        q_then = q_now + q_next
        v_then = v_now + v_next
        for i in range(count):
            counts[(turn * count + i) * 2] = to_do[i]
            counts[(turn * count + i) * 2 + 1] = 0.0
        places[Q] = bases[0] + DOUBLE * q_now
        places[V] = bases[1] + DOUBLE * v_now
        places[A] = bases[2] + DOUBLE * turn * count * nv
        places[SIDE] = bases[3] + DOUBLE * turn * count * nv
        places[COUNTS] = bases[4] + DOUBLE * turn * count * 2
        places[NEXT] = bases[0] + DOUBLE * q_then
        places[NEXT + 2] = bases[1] + DOUBLE * v_then
        places[NEXT + 4] = bases[2] + DOUBLE * then * count * nv
        places[NEXT + 6] = bases[3] + DOUBLE * then * count * nv
        places[NEXT + 8] = bases[4] + DOUBLE * then * count * 2
        if run_kernel(kernel, count, places, NUMBER) != 0:
            why[0] = REFUSED
            return done
        left = 1
        ended = 0
        while left > 0:
            left = 0
            for i in range(count):
                to_come = counts[(then * count + i) * 2]
                if to_come > 0.0:
                    rows[left] = i
                    left += 1
                if to_come < 0.0:
                    ended = 1
            if left > 0:
                for k in range(left):
                    i = rows[k]
                    copied(nq, q, q_then + i * nq, few_q, k * nq)
                    copied(nv, v, v_then + i * nv, few_v, k * nv)
                    copied(nv, a, (then * count + i) * nv, few_a, k * nv)
                    copied(nv, tau, i * nv, few_tau, k * nv)
                    copied(nv, side, (then * count + i) * nv, few_side, k * nv)
                    copied(2, counts, (then * count + i) * 2, few_counts, k * 2)
                if run_kernel(kernel, left, few_places, NUMBER) != 0:
                    why[0] = REFUSED
                    return done
                for k in range(left):
                    i = rows[k]
                    copied(nq, few_q, k * nq, q, q_then + i * nq)
                    copied(nv, few_v, k * nv, v, v_then + i * nv)
                    copied(nv, few_a, k * nv, a, (then * count + i) * nv)
                    copied(nv, few_side, k * nv, side, (then * count + i) * nv)
                    copied(2, few_counts, k * 2, counts, (then * count + i) * 2)
        done += 1
        turn = then
        q_now = q_then
        v_now = v_then
        q_next = q_next * way
        v_next = v_next * way
        if ended > 0:
            why[0] = ENDED
            return done
    why[0] = 0
    return done
