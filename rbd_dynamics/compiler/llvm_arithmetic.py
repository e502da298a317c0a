# SPDX-License-Identifier: Apache-2.0
"""Lines of LLVM IR for the operations of a program: of all of it, or of a part that takes the rest from a frame."""

from __future__ import annotations

from collections.abc import Iterable

from rbd_dynamics.compiler.llvm_code import ANGLE_LIMIT, Code
from rbd_dynamics.compiler.parts import Parts
from rbd_dynamics.compiler.program import Program

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Arithmetic(Code):
    """values: names in the IR, of the nodes that are there. angles: absolute values, of sines and cosines."""

    def __init__(self, program: Program, lanes: int, pointer: str) -> None:
        super().__init__(lanes, pointer)
        self.program = program
        self.values: dict[int, str] = {}
        self.angles: list[str] = []
        self.trig: dict[tuple[str, int], str] = {}  # sines and cosines, by their operands
        self._tests: dict[str, str] = {}  # conditions of selections that were evaluated already

    def value(self, node: int) -> str:
        """Of a node that was computed before."""
        return self.values[node]

    def compute(self, nodes: Iterable[int]) -> None:
        """One line for each, or some; what there is already is left out."""
        for index in nodes:
            opcode, *args = self.program.nodes[index]
            if index in self.values:
                continue
            if opcode == "const":
                self.values[index] = self.number(args[0])
            elif opcode in ("sin", "cos"):
                if (opcode, args[0]) not in self.trig:
                    x = self.value(args[0])
                    self.trig["sin", args[0]], self.trig["cos", args[0]] = self.sin_cos(x)
                    self.angles.append(self.absolute(x))
                self.values[index] = self.trig[opcode, args[0]]
            else:
                self.values[index] = self._operation(opcode, [self.value(k) for k in args])

    def _operation(self, opcode: str, args: list[str]) -> str:
        if opcode in _BINARY:
            return self.op(f"{_BINARY[opcode]} contract", *args)
        if opcode == "neg":
            return self.let(f"fneg {self.type} {args[0]}")
        if opcode == "sqrt":
            return self.sqrt(args[0])
        if opcode == "tanh":
            return self._tanh(args[0])
        if opcode == "less":
            lower = self.let(f"fcmp olt {self.type} {args[0]}, {args[1]}")
            return self.let(f"uitofp {self.boolean} {lower} to {self.type}")
        if opcode == "select":
            test = self._tests.get(args[0])
            if test is None:
                test = self._tests[args[0]] = self.let(f"fcmp une {self.type} {args[0]}, {self.number(0.0)}")
            return self.let(f"select {self.boolean} {test}, {self.type} {args[1]}, {self.type} {args[2]}")
        raise ValueError(f"no IR for operation {opcode!r}")

    def _tanh(self, x: str) -> str:
        """The C library's, lane by lane: only joint friction needs it."""
        address = self.let("load i64, " + ("ptr" if self.pointer == "ptr" else "i64*") + " @tanh_pointer")
        target = "ptr" if self.pointer == "ptr" else "double (double)*"
        function = self.let(f"inttoptr i64 {address} to {target}")
        if self.lanes == 1:
            return self.let(f"call double {function}(double {x})")
        lanes = [self.let(f"call double {function}(double {self.extract(x, k)})") for k in range(self.lanes)]
        return self.pack(lanes)

    def range_used(self) -> str:
        """Above 1 where an angle is too large for sine and cosine."""
        return self.op("fmul", self.total(self.angles), self.number(1.0 / ANGLE_LIMIT))

    # --- frames -----------------------------------------------------------------------------------

    @property
    def frame_pointer(self) -> str:
        """The type of a frame, whose elements are values."""
        return "ptr" if self.pointer == "ptr" else f"{self.type}*"

    def slot(self, frame: str, number: int) -> str:
        return self.let(f"getelementptr {self.type}, {self.frame_pointer} {frame}, i64 {number}")

    def keep(self, value: str, frame: str, number: int) -> None:
        at = self.slot(frame, number)
        self.lines.append(f"  store {self.type} {value}, {self.frame_pointer} {at}, align {8 * self.lanes}")

    def kept(self, frame: str, number: int) -> str:
        at = self.slot(frame, number)
        return self.let(f"load {self.type}, {self.frame_pointer} {at}, align {8 * self.lanes}")


class PartFunction(Arithmetic):
    """One part as a function of the frame, in which it leaves what others need, its outputs' sum and its range."""

    def __init__(self, program: Program, lanes: int, pointer: str, parts: Parts) -> None:
        super().__init__(program, lanes, pointer)
        self._parts = parts

    def value(self, node: int) -> str:
        if node not in self.values:
            opcode, *args = self.program.nodes[node]
            self.values[node] = (
                self.number(args[0]) if opcode == "const" else self.kept("%frame", self._parts.slots[node][0])
            )
        return self.values[node]

    def emit(self, name: str, number: int, outputs: set[int]) -> list[str]:
        part = self._parts.parts[number]
        for node in part:
            self.compute([node])
            for slot in self._parts.slots.get(node, ()):
                self.keep(self.values[node], "%frame", slot)
        total = self.total([self.values[node] for node in part if node in outputs])
        self.keep(total, "%frame", sum_slot(self._parts, number))
        self.keep(self.range_used(), "%frame", sum_slot(self._parts, number) + 1)
        return [
            f"define internal void @{name}({self.frame_pointer} %frame) {{",
            *self.lines, "  ret void",
            "}",
        ]  # fmt: skip


def sum_slot(parts: Parts, number: int) -> int:
    """Where a part leaves the sum of its outputs; behind it, its range."""
    return parts.size + 2 * number


def frame_size(parts: Parts) -> int:
    return sum_slot(parts, len(parts.parts))
