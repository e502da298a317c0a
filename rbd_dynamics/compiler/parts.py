# SPDX-License-Identifier: Apache-2.0
"""A long program in parts that are compiled one by one: the longer a function, the more time each of its lines takes.

What one part computes and another needs goes through a frame in memory. The outputs come first in it; each of the
other slots is used again once nobody needs what it holds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from rbd_dynamics.compiler.program import Program, RowSweeps
from rbd_dynamics.compiler.repeats import Piece, cut
from rbd_dynamics.compiler.trace import operands

PART = 1000  # operations of a part of a long program, at most
#: operations of a program that stays whole, at most; and of one that gives vectors, which has fewer numbers in the air
WHOLE, WHOLE_OF_VECTORS = 5000, 15_000
VECTORS = 140  # outputs, at most: matrices have more


def stays_whole(program: Program) -> bool:
    """Whether it is compiled in one piece, which takes longer to compile and, of some programs, less to run."""
    few = sum(map(len, program.results)) <= VECTORS
    return program.rows is None and program.operations <= (WHOLE_OF_VECTORS if few else WHOLE)


@dataclass(frozen=True)
class Layout:
    """Places of elements in sweeps: the sum of what belongs to the row, the block and the column.

    size: of a row in a block, with what it is filled up by. mirrored: of what is symmetric, the half left of the
    diagonal is in the place of the other.
    """

    rows: list[int]
    blocks: list[int]
    size: int
    mirrored: bool

    @property
    def stride(self) -> int:
        """Distance from one row of a matrix to the next."""
        return self.rows[1] if len(self.rows) > 1 else 0

    @classmethod
    def of(cls, rows: RowSweeps, align: int, apart: bool) -> Layout:
        """apart: blocks are side by side, each filled up to a multiple of `align`; else one lies behind the other."""
        height, beside = rows.width * (rows.outputs // rows.beside), rows.beside
        if apart:
            size = -(-rows.width // align) * align
            return cls([row * beside * size for row in range(height)], [k * size for k in range(beside)], size, False)
        size, area = rows.width, rows.width**2
        at = [row // size * beside * area + row % size * size for row in range(height)]
        return cls(at, [k * area for k in range(beside)], size, rows.symmetric is not None)

    def places(self, rows: RowSweeps) -> tuple[list[list[int]], int]:
        """Places of the elements of all outputs, and how many places there are."""
        found = [
            [
                self.rows[k // rows.beside * rows.width + i] + self.blocks[k % rows.beside] + j
                for i in range(rows.width)
                for j in range(rows.width)
            ]
            for k in range(rows.outputs)
        ]
        return found, self.rows[-1] + self.blocks[-1] + self.size


@dataclass(frozen=True)
class Parts:
    """parts: in order. slots: where in the frame a node's value goes. size: of the frame, in values.

    places: of the elements of each output, in the frame; all of them are below `outputs`. layout: of outputs that
    sweeps work on. factors: where scales and coefficients of the sweeps are.
    """

    parts: list[Piece]
    slots: dict[int, list[int]]
    places: list[list[int]]
    layout: Layout | None
    factors: dict[int, int]
    outputs: int
    size: int

    @property
    def unused(self) -> int:
        """A slot behind the others, for what nobody needs."""
        return self.size


def divided(
    program: Program, given: Sequence[int], *, apart: bool, length: int, align: int = 1, kept: Iterable[int] = ()
) -> Parts:
    """given: nodes that are there before the first part. apart: equal elements of outputs have slots of their own.

    kept: those of the given that have a slot in any case. align: what the rows of outputs begin at multiples of, where
    there are sweeps over them.
    """
    nodes, known = program.nodes, set(given)
    own = [k for k, node in enumerate(nodes) if node[0] != "const" and k not in known]
    parts = cut(nodes, own, length)
    slots: dict[int, list[int]] = {}
    results, layout = program.results, None
    if program.rows is not None:
        layout = Layout.of(program.rows, align, apart)
        places, size = layout.places(program.rows)
        if layout.mirrored:
            results, places = _mirrored(program, places)
    else:
        places, size = _in_order(program.results, apart)
    outputs, factors = size, dict[int, int]()
    for node, place in zip(chain(*results), chain(*places)):
        if place not in (taken := slots.setdefault(node, [])):
            taken.append(place)
    for node in program.rows.factors if program.rows is not None else ():
        factors[node] = size  # none of its slots among the outputs: the sweeps change those
        slots.setdefault(node, []).append(size)
        size += 1
    computed, until = [given, *(part.nodes for part in parts)], dict[int, int]()
    for number, part in enumerate(computed[1:]):
        for node in part:
            until.update(dict.fromkeys(operands(nodes[node]), number))
    until |= dict.fromkeys(program.checks, len(parts))
    for node in kept:
        until.setdefault(node, 0)
    held, free = list[tuple[int, int]](), list[int]()  # (the last part that needs it, slot)
    for number, part in enumerate(computed, start=-1):
        while held and held[0][0] < number:
            free.append(heapq.heappop(held)[1])
        for node in part:
            if until.get(node, number) > number and node not in slots:
                slots[node] = [free.pop() if free else size]
                size = max(size, slots[node][0] + 1)
                heapq.heappush(held, (until[node], slots[node][0]))
    return Parts(parts, slots, places, layout, factors, outputs, size)


def _in_order(results: Sequence[Sequence[int]], apart: bool) -> tuple[list[list[int]], int]:
    """Places of the elements of all outputs, and how many there are."""
    numbers: dict[int, int] = {}
    count = 0
    places = []
    for result in results:
        if apart:
            places.append(list(range(count, count + len(result))))
            count += len(result)
        else:
            places.append([numbers.setdefault(node, len(numbers)) for node in result])
    return places, count if apart else len(numbers)


def _mirrored(program: Program, places: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Nodes and places of outputs, where each element left of the diagonal is the one across."""
    assert program.rows is not None and program.rows.symmetric is not None
    width, results = program.rows.width, list(program.results)
    upper = [min(i, j) * width + max(i, j) for i in range(width) for j in range(width)]
    for values in (results, places):
        values[program.rows.symmetric] = [values[program.rows.symmetric][k] for k in upper]
    return results, places
