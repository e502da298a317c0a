# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a long program: a function for each part, or for all parts that do the same, and a frame between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rbd_dynamics.compiler.llvm.code import Machine, Table
from rbd_dynamics.compiler.llvm.frame import Framed
from rbd_dynamics.compiler.parts import Parts
from rbd_dynamics.compiler.program import Program
from rbd_dynamics.compiler.repeats import Piece

#: accesses to the frame. LLVM's scheduler compares each with all others up to a fence, which is no instruction
BETWEEN_FENCES = 100


class _PartFunction(Framed):
    """What parts of one shape do; it leaves in the frame what others need, and gives the range of its angles.

    Slots and constants that are the same in all of them are in the code, others in tables, of which each has a row.
    """

    def __init__(self, program: Program, lanes: int, machine: Machine, parts: Parts, pieces: Sequence[Piece]) -> None:
        super().__init__(program, lanes, machine)
        self._slots, self._pieces, self._unused = parts.slots, pieces, parts.unused
        self.shared = len(pieces) > 1
        self._accesses = 0
        #: slots of each result that is kept: as many as in the piece that keeps it in most places
        copies = [[len(parts.slots.get(node, ())) for node in piece.nodes] for piece in pieces]
        self._copies = list(map(max, *copies)) if self.shared else copies[0]
        first, columns = pieces[0], list(zip(*(self._all_slots(piece) for piece in pieces)))
        self._taken = {node: k for k, node in enumerate(first.taken)}
        self._uses = {use: k for k, use in enumerate(first.constants)}
        self._columns, self._column = columns, _columns(columns)
        self._values = list(zip(*(piece.constants.values() for piece in pieces)))
        self._value = _columns(self._values)

    def slot(self, frame: str, number: int | str) -> str:
        self._accesses += 1
        if self._accesses % BETWEEN_FENCES == 0:
            self.lines.append('  fence syncscope("singlethread") acq_rel')
        return super().slot(frame, number)

    def _all_slots(self, piece: Piece) -> list[int]:
        slots = [self._slots[node][0] for node in piece.taken]
        for node, copies in zip(piece.nodes, self._copies):
            own = self._slots.get(node, [])
            slots += [*own, *[self._unused] * (copies - len(own))]
        return slots

    def operand(self, node: int, which: int) -> str:
        arg = self.program.nodes[node][1 + which]
        if (node, which) in self._uses:
            return self._constant(self._uses[node, which])
        if arg not in self.values:
            self.values[arg] = self.kept("%frame", self._number(self._taken[arg]))
        return self.values[arg]

    def _constant(self, k: int) -> str:
        if k not in self._value:
            return self.number(self._values[k][0])
        at = self.let(f"getelementptr {self.scalar}, {self.pointer} %constants, i64 {self._value[k]}")
        value = self.let(f"load {self.scalar}, {self.pointer} {at}, align {self.bytes}")
        return value if self.lanes == 1 else self.splat(value)

    def _number(self, k: int) -> int | str:
        if k not in self._column:
            return int(self._columns[k][0])
        return self.entry("%slots", self._column[k])

    def row(self, number: int) -> tuple[list[int], list[float]]:
        """Row of the tables for one of the pieces."""
        return [self._columns[k][number] for k in self._column], [self._values[k][number] for k in self._value]

    def emit(self, name: str) -> list[str]:
        k = len(self._taken)
        for node, copies in zip(self._pieces[0].nodes, self._copies):
            self.compute([node])
            for copy in range(copies):
                self.keep(self.values[node], "%frame", self._number(k + copy))
            k += copies
        tables = f", {self.integers} %slots, {self.pointer} %constants" if self.shared else ""
        result = f"ret {self.type} {self.range_used()}"
        return [
            f"define internal {self.type} @{name}({self.vectors} %frame{tables}) {{",
            *self.lines, f"  {result}",
            "}",
        ]  # fmt: skip


def _columns(values: Sequence[Sequence[float]]) -> dict[int, int]:
    """Which of them are not all the same, and so have a column of a table: its number."""
    varied = [k for k, column in enumerate(values) if any(value != column[0] for value in column)]
    return {k: number for number, k in enumerate(varied)}


class PartsCode:
    """The lines that call all parts, in `caller`, which has %frame.

    outside: functions and tables; their names begin with `name`. ranges: values that the calls give.
    """

    def __init__(self, caller: Framed, name: str, parts: Parts) -> None:
        self.outside: list[str] = []
        of_shape: dict[int, list[Piece]] = {}
        for piece in parts.parts:
            of_shape.setdefault(piece.shape, []).append(piece)
        functions = {
            shape: _PartFunction(caller.program, caller.lanes, caller.machine, parts, pieces)
            for shape, pieces in of_shape.items()
        }
        for shape, function in functions.items():
            self.outside += function.emit(f"{name}.{shape}")
        slots, constants, starts = list[int](), list[float](), list[tuple[int, int]]()
        done: Counter[int] = Counter()
        for piece in parts.parts:
            starts.append((len(slots), len(constants)))
            row = functions[piece.shape].row(done[piece.shape])
            slots += row[0]
            constants += row[1]
            done[piece.shape] += 1
        slots_table = Table(f"{name}.slots", "i32", slots, caller.pointer)
        constants_table = Table(
            f"{name}.constants", caller.scalar, list(map(caller.constant, constants)), caller.pointer
        )
        self.outside += [slots_table.line, constants_table.line]
        self.ranges = []
        for piece, (slot, constant) in zip(parts.parts, starts):
            rows = f", {slots_table.at(slot)}, {constants_table.at(constant)}" if functions[piece.shape].shared else ""
            called = f"@{name}.{piece.shape}({caller.vectors} %frame{rows})"
            self.ranges.append(caller.let(f"call {caller.type} {called}"))
