# SPDX-License-Identifier: Apache-2.0
"""Finds where a program repeats itself, as limbs, bodies of a chain and columns of derivatives do: it is cut so that
pieces that do the same with other values can share their code.

Where to cut is decided by the operations around a place alone, so that what repeats is cut alike (content-defined
chunking, as in Muthitacharoen, Chen and Mazieres: A low-bandwidth network file system, 2001).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.trace import ARITY, Node

COMMUTATIVE = ("add", "mul")
WINDOW, NEAR = 16, 64  # operations that decide about a cut; distance to an operand that counts there
#: a piece at first, as shares of the longest: pieces that always follow each other are joined after that
SHORTEST, LONGEST = 0.2, 0.6
_IN_ORDER = ((), (0,), (0, 1), (0, 1, 2))  # operands, by their number
_OPCODES = {opcode: number for number, opcode in enumerate(ARITY, start=1)}
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)

Shapes = dict[tuple[tuple[str | int, ...], ...], int]  # their numbers


@dataclass(frozen=True)
class Piece:
    """Operations in a row.

    nodes: of the program. shape: a number, equal for pieces that do the same. taken: nodes from before, in the order
    in which the shape wants them. constants: likewise, by the node and operand that use them.
    """

    nodes: list[int]
    shape: int
    taken: list[int]
    constants: dict[tuple[int, int], float]


def cut(nodes: Sequence[Node], own: Sequence[int], longest: int) -> list[Piece]:
    """These operations of a program in pieces of at most so many."""
    shapes: Shapes = {}
    shortest, most = max(1, round(SHORTEST * longest)), max(1, round(LONGEST * longest))
    marks, pieces, begin = _marks(nodes, own), list[Piece](), 0
    while begin < len(own):
        end = len(own)
        if begin + most < end:
            end = begin + shortest + int(np.argmin(marks[begin + shortest : begin + max(most, shortest + 1)]))
        pieces.append(_piece(nodes, own[begin:end], shapes))
        begin = end
    return _joined(nodes, pieces, longest, shapes)


def _marks(nodes: Sequence[Node], own: Sequence[int]) -> NDArray[np.uint64]:
    """A number for each place before which could be cut, from the operations before it."""
    lines = [nodes[node] for node in own]
    position = np.full(len(nodes), -1)
    position[own] = np.arange(len(own))
    near = np.zeros((max(ARITY.values()), len(own)), np.uint64)  # distances to operands
    arity = np.array([ARITY[line[0]] for line in lines])
    users = [np.flatnonzero(arity > which) for which in range(len(near))]
    for which, using in enumerate(users):
        places = position[np.array([lines[k][1 + which] for k in using], int)]
        distances = using - places
        near[which, using] = np.where((places >= 0) & (distances < NEAR), distances, 0)
    commute = [k for k, line in enumerate(lines) if line[0] in COMMUTATIVE]
    near[:2, commute] = np.sort(near[:2, commute], axis=0)
    codes = np.array([_OPCODES[line[0]] for line in lines], np.uint64)
    for which, using in enumerate(users):
        codes[using] = codes[using] * np.uint64(NEAR + 1) + near[which, using]
    codes = np.concatenate([np.zeros(WINDOW, np.uint64), codes])
    marks = np.zeros(len(own), np.uint64)
    for back in range(WINDOW, 0, -1):
        marks = (marks + codes[WINDOW - back : len(codes) - back]) * _FACTOR
        marks ^= marks >> _SHIFT
    return marks


def _piece(nodes: Sequence[Node], part: Sequence[int], shapes: Shapes) -> Piece:
    inside = {node: k for k, node in enumerate(part)}
    taken: dict[int, int] = {}
    constants: dict[tuple[int, int], float] = {}
    shape = []
    for node in part:
        opcode, *args = nodes[node]
        order = _IN_ORDER[len(args)]
        if opcode in COMMUTATIVE:  # in an order that does not depend on where the operands are in the program
            one, other = args
            if _rank(nodes, other, inside, taken) < _rank(nodes, one, inside, taken):
                order = (1, 0)
        line: list[str | int] = [opcode]
        for which in order:
            arg = args[which]
            if arg in inside:
                line.append(inside[arg])
            elif nodes[arg][0] == "const":
                constants[node, which] = nodes[arg][1]
                line.append("constant")
            else:
                if arg not in taken:
                    taken[arg] = len(taken)
                line.append(-1 - taken[arg])
        shape.append(tuple(line))
    return Piece(list(part), shapes.setdefault(tuple(shape), len(shapes)), list(taken), constants)


def _rank(nodes: Sequence[Node], node: int, inside: dict[int, int], taken: dict[int, int]) -> tuple[int, int]:
    if node in inside:
        return 0, inside[node]
    if node in taken:
        return 1, taken[node]
    return 2, nodes[node][0] == "const"


def _joined(nodes: Sequence[Node], pieces: list[Piece], longest: int, shapes: Shapes) -> list[Piece]:
    """The pieces, with what is always followed by the same as one piece, as long as that is not too long."""
    unlike: set[int] = set()  # shapes of which two take different values from what follows
    while True:
        count = Counter(piece.shape for piece in pieces)
        pairs = Counter((a.shape, b.shape) for a, b in zip(pieces, pieces[1:]))
        new, found, k = list[Piece](), dict[int, set[int]](), 0
        while k < len(pieces):
            first, second = pieces[k], pieces[min(k + 1, len(pieces) - 1)]
            one, other = first.shape, second.shape
            always = one != other and count[one] == count[other] == pairs[one, other] and one not in unlike
            if always and len(first.nodes) + len(second.nodes) <= longest:
                first = _piece(nodes, first.nodes + second.nodes, shapes)
                found.setdefault(one, set()).add(first.shape)
                k += 1
            new.append(first)
            k += 1
        wrong = {shape for shape, joined in found.items() if len(joined) > 1}
        if wrong:
            unlike |= wrong
        elif found:
            pieces = new
        else:
            return pieces
