# SPDX-License-Identifier: Apache-2.0
"""A long program in parts that are compiled one by one: the longer a function, the more time each of its lines takes.

What one part computes and another needs goes through a frame in memory. The outputs come first in it; each of the
other slots is used again once nobody needs what it holds.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from rbd_dynamics.compiler.program import Program
from rbd_dynamics.compiler.repeats import Piece, cut
from rbd_dynamics.compiler.trace import operands

#: operations of a program that stays whole, at most, and of a part of a longer one
WHOLE, PART = 5000, 1000


@dataclass(frozen=True)
class Parts:
    """parts: in order. slots: where in the frame a node's value goes. size: of the frame, in values.

    places: of the elements of each output, in the frame; all of them are below `outputs`.
    """

    parts: list[Piece]
    slots: dict[int, list[int]]
    places: list[list[int]]
    outputs: int
    size: int


def divided(program: Program, given: Sequence[int], *, apart: bool, length: int) -> Parts:
    """given: nodes that are there before the first part. apart: equal elements of outputs have slots of their own."""
    nodes, known = program.nodes, set(given)
    own = [k for k, node in enumerate(nodes) if node[0] != "const" and k not in known]
    parts = cut(nodes, own, length)
    slots: dict[int, list[int]] = {}
    size = 0
    for node in (node for result in program.results for node in result):
        if apart or node not in slots:
            slots.setdefault(node, []).append(size)
            size += 1
    outputs = size
    order = {node: iter(taken) for node, taken in slots.items()}
    places = [[next(order[node]) if apart else slots[node][0] for node in result] for result in program.results]
    until = {
        operand: number for number, part in enumerate(parts) for node in part.nodes for operand in operands(nodes[node])
    }
    until |= dict.fromkeys(program.checks, len(parts))
    held, free = list[tuple[int, int]](), list[int]()  # (the last part that needs it, slot)
    for number, part in enumerate([given, *(part.nodes for part in parts)], start=-1):
        while held and held[0][0] < number:
            free.append(heapq.heappop(held)[1])
        for node in part:
            if until.get(node, number) > number and node not in slots:
                slots[node] = [free.pop() if free else size]
                size = max(size, slots[node][0] + 1)
                heapq.heappush(held, (until[node], slots[node][0]))
    return Parts(parts, slots, places, outputs, size)
