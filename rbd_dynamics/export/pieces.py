# SPDX-License-Identifier: Apache-2.0
"""A program cut into pieces, each a function of its own, so that compilers take it in little time.

A compiler's time grows faster than the length of a function: the derivatives of a humanoid's forward dynamics, in one,
take gcc a minute. Values that are needed beyond their piece stand in one array on the stack, whose places are used
again as soon as nobody needs them. Inputs and constants are read where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.compiler.program import Program
from rbd_dynamics.compiler.trace import ARITY, operands

#: operations of a piece
PIECE = 1000
#: sines and cosines of inputs come first, so many at a time: a multiple of what vector registers hold
ANGLES_AT_A_TIME = 4


class Piece(NamedTuple):
    """nodes: computed in it, in order; reads, writes: places in the array, by node."""

    nodes: Sequence[int]
    reads: dict[int, int]
    writes: dict[int, int]


class Pieces(NamedTuple):
    """angles: inputs whose sine and cosine come first; results: computed nodes that are an output or a check.

    The array holds the sines of all angles, filled up to a multiple of `ANGLES_AT_A_TIME`, their cosines, the results,
    and then what crosses from piece to piece: `size` numbers in all. Where there is one piece, it holds nothing.
    """

    angles: Sequence[int]
    padded: int
    results: Sequence[int]
    places: dict[int, int]
    pieces: Sequence[Piece]
    size: int

    @property
    def is_whole(self) -> bool:
        return len(self.pieces) == 1


def cut(program: Program, length: int = PIECE) -> Pieces:
    """The program in pieces of about `length` operations; whole where it is not much longer than one."""
    nodes = program.nodes
    angles = sorted({node[1] for node in nodes if node[0] in ("sin", "cos") and nodes[node[1]][0] == "input"})
    padded = -(-len(angles) // ANGLES_AT_A_TIME) * ANGLES_AT_A_TIME
    place_of = {angle: place for place, angle in enumerate(angles)}
    first = {index for index, node in enumerate(nodes) if node[0] in ("sin", "cos") and node[1] in place_of}
    computed = [index for index, node in enumerate(nodes) if ARITY[node[0]] and index not in first]
    count = max(1, round(len(computed) / length)) if len(computed) > 1.5 * length else 1
    bounds = [len(computed) * k // count for k in range(count + 1)]
    parts = [computed[start:stop] for start, stop in zip(bounds, bounds[1:])]

    wanted = [index for result in (*program.results, program.checks) for index in result]
    results = sorted(set(wanted) & set(computed))
    places: dict[int, int] = {}
    for index in first:
        opcode, angle = nodes[index]
        places[index] = place_of[angle] + (padded if opcode == "cos" else 0)
    places |= {index: 2 * padded + k for k, index in enumerate(results)}
    size = 2 * padded + len(results)
    if count == 1:
        return Pieces(angles, padded, results, places, [Piece(computed, {}, {})], 0)

    part_of = {index: number for number, part in enumerate(parts) for index in part}
    last_use = dict(part_of)
    for number, part in enumerate(parts):
        for index in part:
            for operand in operands(nodes[index]):
                last_use[operand] = number
    kept, free = set(results), list[int]()
    pieces: list[Piece] = []
    for number, part in enumerate(parts):
        own = set(part)
        reads = {k: places[k] for index in part for k in operands(nodes[index]) if k in places and k not in own}
        for index in part:
            if index not in places and last_use[index] > number:
                if not free:
                    free.append(size)
                    size += 1
                places[index] = free.pop()
        pieces.append(Piece(part, reads, {index: places[index] for index in part if index in places}))
        # a place is free again from the next piece on: in this one its value may be read after others are written
        crossing = {k for k in reads if k in part_of and k not in kept and last_use[k] == number}
        free += sorted((places[k] for k in crossing), reverse=True)
    return Pieces(angles, padded, results, places, pieces, size)
