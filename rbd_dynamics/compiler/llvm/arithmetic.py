# SPDX-License-Identifier: Apache-2.0
"""Lines of LLVM IR for the operations of a program."""

from __future__ import annotations

from collections.abc import Iterable

from rbd_dynamics.compiler.llvm.code import Code, Machine
from rbd_dynamics.compiler.program import Program

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Arithmetic(Code):
    """values: names in the IR, of the nodes that are there. angles: absolute values, of sines and cosines."""

    def __init__(self, program: Program, lanes: int, machine: Machine) -> None:
        super().__init__(lanes, machine)
        self.program = program
        self.values: dict[int, str] = {}
        self.angles: list[str] = []
        self.trig: dict[tuple[str, int], str] = {}  # sines and cosines, by their operands
        self._tests: dict[str, str] = {}  # conditions that were evaluated already, by their values

    def operand(self, node: int, which: int) -> str:
        """Register of an operand of an operation; it was computed before."""
        return self.values[self.program.nodes[node][1 + which]]

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
                    x = self.operand(index, 0)
                    self.trig["sin", args[0]], self.trig["cos", args[0]] = self.sin_cos(x)
                    self.angles.append(self.absolute(x))
                self.values[index] = self.trig[opcode, args[0]]
            else:
                self.values[index] = self._operation(opcode, [self.operand(index, k) for k in range(len(args))])

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
            value = self._select(lower, self.number(1.0), self.number(0.0))
            self._tests[value] = lower
            return value
        if opcode == "select":
            test = self._tests.get(args[0])
            if test is None:
                test = self._tests[args[0]] = self.let(f"fcmp une {self.type} {args[0]}, {self.number(0.0)}")
            return self._select(test, args[1], args[2])
        raise ValueError(f"no IR for operation {opcode!r}")

    def _select(self, test: str, if_true: str, if_false: str) -> str:
        return self.let(f"select {self.boolean} {test}, {self.type} {if_true}, {self.type} {if_false}")

    def _tanh(self, x: str) -> str:
        """The C library's, lane by lane: only joint friction needs it."""
        address = self.let("load i64, " + ("ptr" if self.pointer == "ptr" else "i64*") + " @tanh_pointer")
        target = "ptr" if self.pointer == "ptr" else f"{self.scalar} ({self.scalar})*"
        function = self.let(f"inttoptr i64 {address} to {target}")
        if self.lanes == 1:
            return self.let(f"call {self.scalar} {function}({self.scalar} {x})")
        lanes = [
            self.let(f"call {self.scalar} {function}({self.scalar} {self.extract(x, k)})") for k in range(self.lanes)
        ]
        return self.pack(lanes)

    def range_used(self) -> str:
        """Above 1 where an angle is too large for sine and cosine."""
        return self.op("fmul", self.total(self.angles), self.number(1.0 / self.precision.angle_limit))
