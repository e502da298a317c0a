# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a long program: a function for each part, or for all parts that do the same, and a frame between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rbd_dynamics.compiler.llvm_arithmetic import Arithmetic
from rbd_dynamics.compiler.llvm_code import Code
from rbd_dynamics.compiler.parts import Parts
from rbd_dynamics.compiler.program import Program
from rbd_dynamics.compiler.repeats import Piece

AT_ONCE = 4  # vectors that are summed up beside each other: none waits for the one before


class Framed(Arithmetic):
    """Code that has values in a frame: an array in memory, of `type`."""

    @property
    def frame_pointer(self) -> str:
        return "ptr" if self.pointer == "ptr" else f"{self.type}*"

    def slot(self, frame: str, number: int | str) -> str:
        return self.let(f"getelementptr {self.type}, {self.frame_pointer} {frame}, i64 {number}")

    def keep(self, value: str, frame: str, number: int | str) -> None:
        at = self.slot(frame, number)
        self.lines.append(f"  store {self.type} {value}, {self.frame_pointer} {at}, align {8 * self.lanes}")

    def kept(self, frame: str, number: int | str) -> str:
        at = self.slot(frame, number)
        return self.let(f"load {self.type}, {self.frame_pointer} {at}, align {8 * self.lanes}")


class _PartFunction(Framed):
    """What parts of one shape do; it leaves in the frame what others need, and gives the range of its angles.

    Slots and constants that are the same in all of them are in the code, others in tables, of which each has a row.
    """

    def __init__(self, program: Program, lanes: int, pointer: str, parts: Parts, pieces: Sequence[Piece]) -> None:
        super().__init__(program, lanes, pointer)
        self._slots, self._pieces, self._unused = parts.slots, pieces, parts.size
        self.shared = len(pieces) > 1
        #: slots of each result that is kept: as many as in the piece that keeps it in most places
        self._copies = [
            max(len(parts.slots.get(node, ())) for node in same) for same in zip(*(p.nodes for p in pieces))
        ]
        first, columns = pieces[0], list(zip(*(self._all_slots(piece) for piece in pieces)))
        self._taken = {node: k for k, node in enumerate(first.taken)}
        self._uses = {use: k for k, use in enumerate(first.constants)}
        self._columns, self._column = columns, _columns(columns)
        self._values = list(zip(*(piece.constants.values() for piece in pieces)))
        self._value = _columns(self._values)

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
        value = self.let(f"load {self.scalar}, {self.pointer} {at}, align 8")
        return value if self.lanes == 1 else self.splat(value)

    def _number(self, k: int) -> int | str:
        if k not in self._column:
            return int(self._columns[k][0])
        kind = "ptr" if self.pointer == "ptr" else "i32*"
        at = self.let(f"getelementptr i32, {kind} %slots, i64 {self._column[k]}")
        return self.let(f"zext i32 {self.let(f'load i32, {kind} {at}, align 4')} to i64")

    def row(self, number: int) -> tuple[list[int], list[float]]:
        """Of the tables, for one of the pieces."""
        return [self._columns[k][number] for k in self._column], [self._values[k][number] for k in self._value]

    def emit(self, name: str) -> list[str]:
        k = len(self._taken)
        for node, copies in zip(self._pieces[0].nodes, self._copies):
            self.compute([node])
            for copy in range(copies):
                self.keep(self.values[node], "%frame", self._number(k + copy))
            k += copies
        integers = "ptr" if self.pointer == "ptr" else "i32*"
        tables = f", {integers} %slots, {self.pointer} %constants" if self.shared else ""
        result = f"ret {self.type} {self.range_used()}"
        return [
            f"define internal {self.type} @{name}({self.frame_pointer} %frame{tables}) {{",
            *self.lines, f"  {result}",
            "}",
        ]  # fmt: skip


def _columns(values: Sequence[Sequence[float]]) -> dict[int, int]:
    """Which of them are not all the same, and so have a column of a table: its number."""
    varied = [k for k, column in enumerate(values) if any(value != column[0] for value in column)]
    return {k: number for number, k in enumerate(varied)}


class PartsCode:
    """The lines that call all parts, in `caller`, which has %frame.

    outside: functions and tables; their names begin with `name`. ranges: values that the calls give. size: of the
    frame.
    """

    def __init__(self, caller: Framed, name: str, parts: Parts) -> None:
        self.size = parts.size + 1  # the last is for what nobody needs
        self.outside: list[str] = []
        of_shape: dict[int, list[Piece]] = {}
        for piece in parts.parts:
            of_shape.setdefault(piece.shape, []).append(piece)
        functions = {
            shape: _PartFunction(caller.program, caller.lanes, caller.pointer, parts, pieces)
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
        slots_at = self._table(caller, f"{name}.slots", "i32", list(map(str, slots)))
        constants_at = self._table(caller, f"{name}.constants", "double", list(map(caller.constant, constants)))
        self.ranges = []
        for piece, (slot, constant) in zip(parts.parts, starts):
            rows = f", {slots_at(slot)}, {constants_at(constant)}" if functions[piece.shape].shared else ""
            called = f"@{name}.{piece.shape}({caller.frame_pointer} %frame{rows})"
            self.ranges.append(caller.let(f"call {caller.type} {called}"))

    def _table(self, caller: Framed, name: str, kind: str, values: list[str]) -> Callable[[int], str]:
        """In memory; gives the argument that is its row from there on."""
        array = f"[{len(values)} x {kind}]"
        whole, pointer = ("ptr", "ptr") if caller.pointer == "ptr" else (f"{array}*", f"{kind}*")
        self.outside.append(
            f"@{name} = private constant {array} [{', '.join(f'{kind} {value}' for value in values)}], align 8"
        )
        return lambda start: f"{pointer} " + caller.let(f"getelementptr {array}, {whole} @{name}, i64 0, i64 {start}")


def emit_sum(name: str, size: int, width: int, pointer: str) -> list[str]:
    """A function of a frame: the sum of its first numbers, of which some may count twice.

    It only tells whether all are finite.
    """
    code = Code(width, pointer)
    kind = "ptr" if pointer == "ptr" else f"{code.type}*"

    def at(place: int | str) -> str:
        first = code.let(f"getelementptr double, {pointer} %frame, i64 {place}")
        vector = code.let(f"bitcast {pointer} {first} to {kind}")
        return code.let(f"load {code.type}, {kind} {vector}, align 8")

    block = AT_ONCE * width
    whole, sums = size - size % block, list[str]()
    if whole:
        code.lines += ["  br label %loop", "loop:", "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]"]
        code.lines += [
            f"  %sum{k} = phi {code.type} [ {code.number(0.0)}, %entry ], [ %more{k}, %loop ]" for k in range(AT_ONCE)
        ]
        for k in range(AT_ONCE):
            value = at(code.let(f"add i64 %i, {k * width}"))
            code.lines.append(f"  %more{k} = fadd {code.type} %sum{k}, {value}")
        code.lines += [
            f"  %next = add i64 %i, {block}", f"  %goes.on = icmp slt i64 %next, {whole}",
            "  br i1 %goes.on, label %loop, label %rest", "rest:",
        ]  # fmt: skip
        sums += [f"%more{k}" for k in range(AT_ONCE)]
    places = list(range(whole, size - width + 1, width))
    if size >= width and size % width:
        places.append(size - width)  # some of the one before again
    sums += [at(place) for place in places]
    if size < width:
        for place in range(size):
            first = code.let(f"getelementptr double, {pointer} %frame, i64 {place}")
            value = code.let(f"load double, {pointer} {first}, align 8")
            sums.append(code.pack([value, *["0.0"] * (width - 1)]))
    vector = code.total(sums)
    total, *rest = (code.extract(vector, lane) for lane in range(width))
    for part in rest:
        total = code.let(f"fadd double {total}, {part}")
    return [
        f"define internal double @{name}({pointer} %frame) {{",
        "entry:",
        *code.lines, f"  ret double {total}",
        "}",
    ]  # fmt: skip


def emit_zero(name: str, places: Sequence[int], width: int, pointer: str) -> list[str]:
    """A function of a frame that puts a vector of zeros at each of these places."""
    code = Code(width, pointer)
    vectors, integers = ("ptr", "ptr") if pointer == "ptr" else (f"{code.type}*", "i32*")
    array = f"[{len(places)} x i32]"
    whole = "ptr" if pointer == "ptr" else f"{array}*"
    entry = code.let(f"getelementptr {array}, {whole} @{name}.places, i64 0, i64 %i")
    place = code.let(f"sext i32 {code.let(f'load i32, {integers} {entry}, align 4')} to i64")
    at = code.let(f"bitcast {pointer} {code.let(f'getelementptr double, {pointer} %frame, i64 {place}')} to {vectors}")
    entries = ", ".join(f"i32 {place}" for place in places)
    return [
        f"@{name}.places = private constant {array} [{entries}], align 8",
        f"define internal void @{name}({pointer} %frame) {{",
        "entry:", "  br label %loop", "loop:", "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *code.lines, f"  store {code.type} {code.number(0.0)}, {vectors} {at}, align {8 * width}",
        "  %next = add i64 %i, 1", f"  %more = icmp slt i64 %next, {len(places)}",
        "  br i1 %more, label %loop, label %end",
        "end:", "  ret void",
        "}",
    ]  # fmt: skip
