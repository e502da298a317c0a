# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a long program: its frame in memory, and loops over it.

Straight lines would do the same, but take the more time to compile, the more of them are in a function. Loops are
functions of the frame as numbers, of which a value has as many as `lanes`, and of tables with places in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.compiler.llvm.arithmetic import Arithmetic
from rbd_dynamics.compiler.llvm.code import Code, Machine, Table

AT_ONCE = 4  # vectors that are summed up beside each other: none waits for the one before


class Framed(Arithmetic):
    """Code that has values in a frame: an array in memory, of `type`."""

    def slot(self, frame: str, number: int | str) -> str:
        return self.let(f"getelementptr {self.type}, {self.vectors} {frame}, i64 {number}")

    def keep(self, value: str, frame: str, number: int | str) -> None:
        at = self.slot(frame, number)
        self.lines.append(f"  store {self.type} {value}, {self.vectors} {at}, align {self.bytes * self.lanes}")

    def kept(self, frame: str, number: int | str) -> str:
        at = self.slot(frame, number)
        return self.let(f"load {self.type}, {self.vectors} {at}, align {self.bytes * self.lanes}")


class _Loop(Code):
    """A function of a frame of numbers, %frame, that is a loop over vectors of `width` of them."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.width, machine)
        self.lines += ["entry:", "  br label %loop", "loop:"]

    def get(self, place: int | str) -> str:
        at = self.let(f"getelementptr {self.scalar}, {self.pointer} %frame, i64 {place}")
        return self.let(f"load {self.scalar}, {self.pointer} {at}, align {self.bytes}")

    def put(self, value: str, lanes: int, place: str) -> None:
        """A number or, of more lanes, a vector."""
        if lanes == 1:
            self.store(value, "%frame", place)
        else:
            at = self.vector_at("%frame", place)
            self.lines.append(f"  store {self.type} {value}, {self.vectors} {at}, align {self.bytes * lanes}")

    def sum_of_lanes(self, vector: str) -> str:
        total, *rest = (self.extract(vector, lane) for lane in range(self.lanes))
        for part in rest:
            total = self.let(f"fadd {self.scalar} {total}, {part}")
        return total

    def function(self, name: str, arguments: Sequence[str], kind: str, result: str = "") -> list[str]:
        head = ", ".join([f"{self.pointer} %frame", *arguments])
        return [f"define internal {kind} @{name}({head}) {{", *self.lines, f"  ret {kind} {result}", "}"]


def emit_taken(name: str, lanes: int, machine: Machine, offsets: int) -> list[str]:
    """A function that puts an input of at least `width` elements into a frame, each where a table says.

    offsets: of the samples in the input, whose elements make a value of the frame; without them it is one element, or
    that in all lanes. Gives the sum of all, which only tells whether they are finite.
    """
    code, width = _Loop(machine), machine.width
    code.lines += [
        "  %e = phi i64 [ 0, %entry ], [ %e.next, %loop ]",
        f"  %sum = phi {code.type} [ {code.number(0.0)}, %entry ], [ %sum.next, %loop ]",
        f"  %last = sub i64 %count, {width}",
    ]
    begins = [code.let(f"add i64 %offset{k}, %e") for k in range(offsets)] or ["%e"]
    rows = [
        code.let(f"load {code.type}, {code.vectors} {code.vector_at('%input', begin)}, align {code.bytes}")
        for begin in begins
    ]
    code.lines.append(f"  %sum.next = fadd {code.type} %sum, {code.total(rows)}")
    values = code.transposed(rows) if offsets else [code.extract(rows[0], k) for k in range(width)]
    for k, value in enumerate(values):
        value = value if offsets or lanes == 1 else code.splat(value)
        code.put(value, lanes, code.entry("%places", code.let(f"add i64 %e, {k}")))
    code.lines.append(f"  br i1 {code.next_block('%e', '%last', width)}, label %loop, label %end")
    code.lines.append("end:")
    kind, result = (code.type, "%sum.next") if lanes > 1 else (code.scalar, code.sum_of_lanes("%sum.next"))
    arguments = [f"{code.integers} %places", f"{code.pointer} %input", "i64 %count"]
    return code.function(name, [*arguments, *(f"i64 %offset{k}" for k in range(offsets))], kind, result)


def trigonometry_table(places: Sequence[Sequence[int]], width: int) -> list[int]:
    """Entries for `emit_trigonometry`, for angles, sines and cosines at these places."""
    filled = [*places, *[places[-1]] * (-len(places) % width)]
    return [place for k in range(0, len(filled), width) for column in zip(*filled[k : k + width]) for place in column]


def emit_trigonometry(name: str, machine: Machine) -> list[str]:
    """A function of a frame of single numbers, and of a table and its length: sines and cosines of what is in it.

    Gives the largest absolute value of the angles.
    """
    code, width = _Loop(machine), machine.width
    code.lines += [
        "  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]",
        f"  %most = phi {code.type} [ {code.number(0.0)}, %entry ], [ %most.next, %loop ]",
        f"  %at = getelementptr i32, {code.integers} %places, i64 %k",
    ]
    angles = code.pack([code.get(code.entry("%at", lane)) for lane in range(width)])
    for which, vector in enumerate(code.sin_cos(angles), start=1):
        for lane in range(width):
            code.put(code.extract(vector, lane), 1, code.entry("%at", which * width + lane))
    size = code.absolute(angles)
    larger = code.let(f"fcmp ogt {code.type} {size}, %most")
    code.lines += [
        f"  %most.next = select {code.boolean} {larger}, {code.type} {size}, {code.type} %most",
        f"  %k.next = add i64 %k, {3 * width}", "  %more = icmp slt i64 %k.next, %count",
        "  br i1 %more, label %loop, label %end", "end:",
    ]  # fmt: skip
    most, *rest = (code.extract("%most.next", lane) for lane in range(width))
    for each in rest:
        larger = code.let(f"fcmp ogt {code.scalar} {each}, {most}")
        most = code.let(f"select i1 {larger}, {code.scalar} {each}, {code.scalar} {most}")
    return code.function(name, [f"{code.integers} %places", "i64 %count"], code.scalar, most)


def emit_sum(name: str, size: int, machine: Machine) -> list[str]:
    """A function of a frame: the sum of its first numbers, of which some may count twice.

    It only tells whether all are finite.
    """
    code, width = _Loop(machine), machine.width

    def at(place: int | str) -> str:
        return code.let(f"load {code.type}, {code.vectors} {code.vector_at('%frame', place)}, align {code.bytes}")

    block = AT_ONCE * width
    whole, sums = size - size % block, list[str]()
    if whole:
        code.lines += ["  %i = phi i64 [ 0, %entry ], [ %next, %loop ]"]
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
        sums += [code.pack([code.get(place), *["0.0"] * (width - 1)]) for place in range(size)]
    return code.function(name, [], code.scalar, code.sum_of_lanes(code.total(sums)))


def emit_zero(name: str, places: Sequence[int], machine: Machine) -> list[str]:
    """A function of a frame that puts a vector of zeros at each of these places."""
    table = Table(f"{name}.places", "i32", places, machine.pointer)
    code, width = _Loop(machine), machine.width
    code.lines += ["  %i = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    code.lines += [f"  %at = getelementptr i32, {table.at()}, i64 %i"]
    code.put(code.number(0.0), width, code.entry("%at", 0))
    code.lines += [
        "  %next = add i64 %i, 1", f"  %more = icmp slt i64 %next, {len(places)}",
        "  br i1 %more, label %loop, label %end", "end:",
    ]  # fmt: skip
    return [table.line, *code.function(name, [], "void")]
