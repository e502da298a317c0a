# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of `@many`: a program for a batch."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.compiler.llvm.code import Machine, Table
from rbd_dynamics.compiler.llvm.function import BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE, Function, arguments
from rbd_dynamics.compiler.program import Argument, Program


class Many(Function):
    """`@many`: a loop whose body computes `width` samples in vector registers.

    In the last round the lanes past the end repeat the last sample, which costs nothing and needs
    no second copy of the code.
    """

    NAME = "many"

    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(program, machine.width, machine)
        self._offsets: dict[str, list[str]] = {}
        self.scattered: list[str] = []  # sums of what was scattered, of each lane or of any

    def elements(self, argument: Argument) -> list[str]:
        if argument.shared:
            return [self.splat(self.load(argument, k)) for k in range(argument.size)]
        offsets, width = self._offsets[argument.name], self.width
        if argument.boolean:
            return [self.pack([self.load(argument, self.let(f"add i64 {offset}, {k}")) for offset in offsets])
                    for k in range(argument.size)]  # fmt: skip
        found: dict[int, str] = {}
        for first in range(0, argument.size, width):
            first = max(0, min(first, argument.size - width))  # the last block may do some of the one before again
            size = min(width, argument.size)
            base = f"%{argument.name}"
            rows = [self.taken_row(base, self.let(f"add i64 {offset}, {first}"), size) for offset in offsets]
            found.update(enumerate(self.transposed(rows)[:size], start=first))
        return [found[k] for k in range(argument.size)]

    def offsets(self, argument: Argument) -> list[str]:
        return self._offsets.get(argument.name, [])

    def emit(self) -> list[str]:
        signature, vector = self.program.signature, self.type
        names = ["i64 %n"]
        for argument, prefix in arguments(self.program):
            names.append(self.parameter(argument, prefix))
            names.append(f"i64 %stride.{prefix}{argument.name}")
        lanes = []
        for lane in range(self.width):
            at = self.let(f"add i64 %i, {lane}")
            inside = self.let(f"icmp slt i64 {at}, %n")
            lanes.append(self.let(f"select i1 {inside}, i64 {at}, i64 %last"))
        for argument, prefix in arguments(self.program):
            if not argument.shared:
                stride = f"%stride.{prefix}{argument.name}"
                self._offsets[prefix + argument.name] = [self.let(f"mul i64 {lane}, {stride}") for lane in lanes]
        sums = [self.op("fadd", f"%defect{k}", defect) for k, defect in enumerate(self.body())]
        if self.places is None:
            tiles = [self._tile(argument, values) for argument, values in zip(signature.outputs, self.outputs)]
        else:
            tiles = [self._in_frame(places) for places in self.places]
        self.lines.append("  br label %scatter0")
        for k, (argument, (tile, places)) in enumerate(zip(signature.outputs, tiles)):
            if argument.size:
                self._scatter(k, argument, tile, places, self._offsets[f"out.{argument.name}"])
            else:
                self.lines += [f"scatter{k}:", f"  br label %scatter{k + 1}"]
        self.lines.append(f"scatter{len(tiles)}:")
        if self.places is not None:
            total = self.total(self.scattered)
            sums[1] = self.op("fadd", sums[1], self.op("fsub", total, total))
        loop, self.lines = self.lines, []

        flags = []
        for flag, total in zip((BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE), sums):
            scalar = self.extract(total, 0)
            for lane in range(1, self.width):
                scalar = self.let(f"fadd {self.scalar} {scalar}, {self.extract(total, lane)}")
            bad = self.let(f"fcmp une {self.scalar} {scalar}, 0.0")
            flags.append(self.let(f"select i1 {bad}, i32 {flag}, i32 0"))
        status = self.let(f"or i32 {self.let(f'or i32 {flags[0]}, {flags[1]}')}, {flags[2]}")
        latch = f"scatter{len(signature.outputs)}"
        phis = [
            f"  %defect{k} = phi {vector} [ {self.number(0.0)}, %entry ], [ {total}, %{latch} ]"
            for k, total in enumerate(sums)
        ]
        return [
            *self.outside,
            f"define i32 @many({', '.join(names)}) {{",
            "entry:",
            "  %last = sub i64 %n, 1",
            *self.allocations,
            "  br label %loop",
            "loop:",
            f"  %i = phi i64 [ 0, %entry ], [ %next, %{latch} ]",
            *phis,
            *loop,
            f"  %next = add i64 %i, {self.width}",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *self.lines,
            f"  ret i32 {status}",
            "}",
        ]

    def _tile(self, argument: Argument, values: Sequence[str]) -> tuple[str, list[int]]:
        """Put an output's vectors side by side in memory: (element, lane). The tile, and where each element is in it.

        What is given twice, as the zeros and the other half of a symmetric matrix, is written once: the less of the
        nearest cache it takes.
        """
        tile, number = f"%tile.{argument.name}", {value: k for k, value in enumerate(dict.fromkeys(values))}
        kind = f"[{max(1, len(number)) * self.width} x {self.scalar}]"
        self.allocations.append(f"  {tile} = alloca {kind}, align 64")
        source = "ptr" if self.pointer == "ptr" else f"{kind}*"
        base = self.let(f"bitcast {source} {tile} to {self.vectors}")
        for value, k in number.items():
            at = self.let(f"getelementptr {self.type}, {self.vectors} {base}, i64 {k}")
            self.lines.append(f"  store {self.type} {value}, {self.vectors} {at}, align 64")
        return self.let(f"bitcast {source} {tile} to {self.pointer}"), [number[value] for value in values]

    def _in_frame(self, places: list[int]) -> tuple[str, list[int]]:
        """The same of an output that parts of the program have put into the frame."""
        first = min(places, default=0)
        tile = self.let(f"bitcast {self.vectors} {self.slot('%frame', first)} to {self.pointer}")
        return tile, [place - first for place in places]

    def _scatter(self, k: int, argument: Argument, tile: str, places: Sequence[int], offsets: Sequence[str]) -> None:
        """A loop that turns a tile into (lane, element), as the caller's array has it."""
        width, last = self.width, argument.size - self.width
        if last < 0:
            self._scatter_row(k, argument, tile, places, offsets)
            return
        table = self._table(k, places)
        self.lines += [f"scatter{k}:", f"  br label %each{k}", f"each{k}:"]
        self.lines.append(f"  %e{k} = phi i64 [ 0, %scatter{k} ], [ %e{k}.next, %each{k} ]")
        zero = self.number(0.0)
        self.lines.append(f"  %sum{k} = phi {self.type} [ {zero}, %scatter{k} ], [ %sum.next{k}, %each{k} ]")
        base = self.let(f"bitcast {self.pointer} {tile} to {self.vectors}")
        first = self.let(f"getelementptr i32, {table.at()}, i64 %e{k}") if table else ""
        rows = []
        for element in range(width):
            place = self.entry(first, element) if table else self.let(f"add i64 %e{k}, {element}")
            at = self.let(f"getelementptr {self.type}, {self.vectors} {base}, i64 {place}")
            rows.append(self.let(f"load {self.type}, {self.vectors} {at}, align 64"))
        self.lines.append(f"  %sum.next{k} = fadd {self.type} %sum{k}, {self.total(rows)}")
        self.scattered.append(f"%sum.next{k}")
        for row, offset in zip(self.transposed(rows), offsets):
            target = self.vector_at(f"%out.{argument.name}", self.let(f"add i64 {offset}, %e{k}"))
            self.lines.append(f"  store {self.type} {row}, {self.vectors} {target}, align {self.bytes}")
        more = self.next_block(f"%e{k}", last, self._step(k, argument))
        self.lines.append(f"  br i1 {more}, label %each{k}, label %scatter{k + 1}")

    def _step(self, k: int, argument: Argument) -> str:
        """Step to the next block: after the first only so far that each store fills a line of the cache.

        The rows of matrices of 32 and more lie where they drive each other out of the nearest cache, lines half full.
        """
        start = self.let(f"ptrtoint {self.pointer} %out.{argument.name} to i64")
        beyond = self.let(f"and i64 {self.let(f'udiv i64 {start}, {self.bytes}')}, {self.width - 1}")
        first = self.let(f"icmp eq i64 %e{k}, 0")
        return self.let(f"sub i64 {self.width}, {self.let(f'select i1 {first}, i64 {beyond}, i64 0')}")

    def _table(self, k: int, places: Sequence[int]) -> Table | None:
        """Table of each element's place in its tile, in memory; None where they are in order."""
        if list(places) == list(range(len(places))):
            return None
        table = Table(f"many.scatter{k}", "i32", places, self.pointer)
        self.outside.append(table.line)
        return table

    def _scatter_row(
        self, k: int, argument: Argument, tile: str, places: Sequence[int], offsets: Sequence[str]
    ) -> None:
        """The same for fewer elements than a register holds."""
        self.lines.append(f"scatter{k}:")
        base = self.let(f"bitcast {self.pointer} {tile} to {self.vectors}")
        values = []
        for place in places:
            at = self.let(f"getelementptr {self.type}, {self.vectors} {base}, i64 {place}")
            values.append(self.let(f"load {self.type}, {self.vectors} {at}, align 64"))
        self.scattered += values
        for row, offset in zip(self.transposed([*values, *["undef"] * (self.width - len(values))]), offsets):
            self.put_row(row, f"%out.{argument.name}", offset, len(values))
        self.lines.append(f"  br label %scatter{k + 1}")
