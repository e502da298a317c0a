# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of `@one`: a program for one sample, and `@repeat`, which calls it again and again."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.compiler.llvm.code import Code, Machine, Table
from rbd_dynamics.compiler.llvm.frame import emit_sum, emit_trigonometry, trigonometry_table
from rbd_dynamics.compiler.llvm.function import BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE, Function, arguments
from rbd_dynamics.compiler.parts import Parts
from rbd_dynamics.compiler.program import Argument, Program


class One(Function):
    """`@one`: scalar arithmetic; the sines and cosines of the inputs are computed as vectors."""

    NAME = "one"

    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(program, 1, machine)

    def elements(self, argument: Argument) -> list[str]:
        return [self.load(argument, k) for k in range(argument.size)]

    def sum(self, outputs: int) -> list[str]:
        self.outside += emit_sum("one.sum", outputs, self.machine)
        return [self.let(f"call {self.scalar} @one.sum({self.pointer} %frame)")]

    def emit(self) -> list[str]:
        signature = self.program.signature
        names = [self.parameter(argument, prefix) for argument, prefix in arguments(self.program)]
        flags = []
        for flag, value in zip((BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE), self.body()):
            bad = self.let(f"fcmp une {self.scalar} {value}, 0.0")
            flags.append(self.let(f"select i1 {bad}, i32 {flag}, i32 0"))
        status = self.let(f"or i32 {self.let(f'or i32 {flags[0]}, {flags[1]}')}, {flags[2]}")
        # an output may be one of the inputs, which must be there still for whoever looks into a refusal
        accepted = self.let(f"icmp eq i32 {status}, 0")
        self.lines += [f"  br i1 {accepted}, label %accept, label %leave", "accept:"]
        for argument, values in zip(signature.outputs, self.outputs):
            for k, value in enumerate(values):
                self.store(value, f"%out.{argument.name}", k)
        for k, (argument, places) in enumerate(zip(signature.outputs, self.places or ())):
            self._copy(k, argument, places)
        return [
            *self.outside,
            f"define i32 @one({', '.join(names)}) {{",
            *self.allocations,
            *self.lines,
            "  br label %leave",
            "leave:",
            f"  ret i32 {status}",
            "}",
            f"define i64 @repeat(i64 %n, {', '.join(names)}) {{",
            "entry:",
            "  br label %again",
            "again:",
            "  %done = phi i64 [ 0, %entry ], [ %next, %good ]",
            f"  %status = call i32 @one({', '.join(names)})",
            "  %fine = icmp eq i32 %status, 0",
            "  br i1 %fine, label %good, label %refused",
            "good:",
            "  %next = add i64 %done, 1",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %again, label %enough",
            "enough:",
            "  ret i64 %next",
            "refused:",
            "  ret i64 %done",
            "}",
        ]

    def _copy(self, k: int, argument: Argument, places: Sequence[int]) -> None:
        """An output from the frame, where its elements are in order, or those of each row are."""
        length, stride = argument.size, 0
        if self.layout is not None:
            length, stride = argument.shape[-1], self.layout.stride
        last, vector = length - self.width, f"<{self.width} x {self.scalar}>"
        if last < 0:
            for element, place in enumerate(places):
                self.store(self.kept("%frame", place), f"%out.{argument.name}", element)
            return
        vector_pointer = "ptr" if self.pointer == "ptr" else f"{vector}*"
        self.lines += [f"  br label %before{k}", f"before{k}:", f"  br label %row{k}", f"row{k}:"]
        self.lines.append(f"  %r{k} = phi i64 [ 0, %before{k} ], [ %r.next{k}, %end{k} ]")
        source = self.let(f"add i64 {self.let(f'mul i64 %r{k}, {stride}')}, {places[0]}")
        target = self.let(f"mul i64 %r{k}, {length}")
        self.lines += [f"  br label %copy{k}", f"copy{k}:"]
        self.lines.append(f"  %i{k} = phi i64 [ 0, %row{k} ], [ %i{k}.next, %copy{k} ]")
        ends = []
        for base, first in (("%frame", source), (f"%out.{argument.name}", target)):
            index = self.let(f"add i64 %i{k}, {first}")
            at = self.let(f"getelementptr {self.scalar}, {self.pointer} {base}, i64 {index}")
            ends.append(self.let(f"bitcast {self.pointer} {at} to {vector_pointer}"))
        value = self.let(f"load {vector}, {vector_pointer} {ends[0]}, align {self.bytes}")
        self.lines.append(f"  store {vector} {value}, {vector_pointer} {ends[1]}, align {self.bytes}")
        more = self.next_block(f"%i{k}", last, self.width)
        self.lines += [
            f"  br i1 {more}, label %copy{k}, label %end{k}",
            f"end{k}:",
            f"  %r.next{k} = add i64 %r{k}, 1",
            f"  %r.more{k} = icmp slt i64 %r.next{k}, {argument.size // length}",
            f"  br i1 %r.more{k}, label %row{k}, label %copied{k}",
            f"copied{k}:",
        ]

    def _angles(self) -> list[int]:
        """Inputs whose sine or cosine is needed."""
        nodes = self.program.nodes
        return list(
            dict.fromkeys(
                args[0] for opcode, *args in nodes if opcode in ("sin", "cos") and nodes[args[0]][0] == "input"
            )
        )

    def trigonometry(self) -> None:
        vector = Code(self.width, self.machine)
        vector.lines = self.lines
        items = self._angles()
        for start in range(0, len(items), self.width):
            group = items[start : start + self.width]
            vector.counter = self.counter
            padded = [self.values[index] for index in group]
            padded += [padded[0]] * (self.width - len(padded))
            pair = vector.sin_cos(vector.pack(padded))
            for lane, index in enumerate(group):
                self.trig["sin", index], self.trig["cos", index] = (vector.extract(p, lane) for p in pair)
            self.counter = vector.counter
        self.angles += [self.absolute(self.values[index]) for index in items]

    def early(self) -> list[int]:
        angles = set(self._angles())
        return [k for k, node in enumerate(self.program.nodes) if node[0] in ("sin", "cos") and node[1] in angles]

    def keep_early(self, early: Sequence[int], parts: Parts) -> list[str]:
        if not early:
            return []
        at = {self.program.nodes[node]: node for node in early}
        places = [
            [self.place(node, parts) for node in (angle, at.get(("sin", angle)), at.get(("cos", angle)))]
            for angle in self._angles()
        ]
        table = Table("one.angles", "i32", trigonometry_table(places, self.width), self.pointer)
        self.outside += [table.line, *emit_trigonometry("one.trigonometry", self.machine)]
        call = f"call {self.scalar} @one.trigonometry({self.pointer} %numbers, {table.at()}, i64 {len(table)})"
        return [self.op("fmul", self.let(call), self.number(1.0 / self.precision.angle_limit))]
