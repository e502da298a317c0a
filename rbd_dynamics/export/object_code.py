# SPDX-License-Identifier: Apache-2.0
"""The same functions as `c_code` has, in LLVM's IR, for object files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rbd_dynamics.compiler.llvm.code import Code, Machine
from rbd_dynamics.compiler.precision import Precision
from rbd_dynamics.compiler.program import Argument, Program
from rbd_dynamics.compiler.trace import Node
from rbd_dynamics.export.c_code import output_name
from rbd_dynamics.export.pieces import ANGLES_AT_A_TIME, Piece, cut

if TYPE_CHECKING:
    from rbd_dynamics.export.exported import Exported

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
BAD_INPUT, BAD_RESULT, OUT_OF_RANGE = 1, 2, 4


def object_ir(robot: Exported, abi: str) -> str:
    """LLVM IR of all kernels; abi: of calls, where the processor needs it."""
    precision = robot.precision
    scalar, suffix = precision.scalar, precision.suffix
    vector = f"<{ANGLES_AT_A_TIME} x {scalar}>"
    tanh = "tanh" if suffix == "f64" else "tanhf"
    lines = [
        f"declare {scalar} @llvm.sqrt.{suffix}({scalar})",
        f"declare {scalar} @llvm.fabs.{suffix}({scalar})",
        f"declare {vector} @llvm.fabs.v{ANGLES_AT_A_TIME}{suffix}({vector})",
        f"declare {scalar} @{tanh}({scalar})",
    ]
    for each in robot.kernels:
        lines += _Kernel(each.program, f"{robot.prefix}_{each.identifier}", precision).text()
    if abi:  # of the calls; without it the linker refuses the object
        lines += [f'!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !"target-abi", !"{abi}"}}']
    return "\n".join(lines)


class _Kernel:
    """One kernel: a function for each piece, and the one that calls them."""

    def __init__(self, program: Program, name: str, precision: Precision) -> None:
        self.program, self.name, self.precision = program, name, precision
        self.pieces = cut(program)
        inputs = program.signature.inputs
        self.inputs = {argument.name: argument for argument in inputs}
        given = [f"ptr %{argument.name}" for argument in inputs]
        self.parameters = [*given, *(f"ptr %{output_name(a, self.inputs)}" for a in program.signature.outputs)]
        self.private = [f"ptr noalias %{argument.name}" for argument in inputs] + ["ptr noalias %w"]

    def text(self) -> list[str]:
        parts: list[str] = []
        main = _Body(self)
        angles = main.angles()
        if self.pieces.is_whole:
            (piece,) = self.pieces.pieces
            main.operations(piece)
        else:
            arguments = ", ".join([*(f"ptr %{name}" for name in self.inputs), "ptr %w"])
            for place, value in main.known.items():
                main.store(value, "%w", self.pieces.places[place])
            for number, piece in enumerate(self.pieces.pieces):
                body = _Body(self)
                body.operations(piece)
                head = f"define internal void @{self.name}_{number}({', '.join(self.private)}) noinline {{"
                parts += [head, *body.lines, "  ret void", "}"]
                main.lines.append(f"  call void @{self.name}_{number}({arguments})")
            main.known.clear()
        main.end(angles)
        size = self.pieces.size
        stack = [f"  %w = alloca [{size} x {self.precision.scalar}], align 16"] if size else []
        head = f"define i32 @{self.name}({', '.join(self.parameters)}) {{"
        return [*parts, head, *stack, *main.lines, "}"]


class _Body(Code):
    """Lines of one function."""

    def __init__(self, kernel: _Kernel) -> None:
        super().__init__(1, Machine(1, "ptr", kernel.precision))
        self.kernel = kernel
        self.program = kernel.program
        self.known: dict[int, str] = {}  # of nodes that were computed here
        self._read: dict[int, str] = {}

    def angles(self) -> list[str]:
        """Sines and cosines of the inputs, some at a time; returns the absolute values of their angles."""
        pieces, sizes = self.kernel.pieces, []
        sines = [index for index, place in pieces.places.items() if place < 2 * pieces.padded]
        found: dict[Node, str] = {}
        vector = Code(ANGLES_AT_A_TIME, self.machine)
        vector.lines = self.lines
        for start in range(0, len(pieces.angles), ANGLES_AT_A_TIME):
            group = pieces.angles[start : start + ANGLES_AT_A_TIME]
            values = [self.value(index) for index in group]
            vector.counter = self.counter
            x = vector.pack([*values, *[values[0]] * (ANGLES_AT_A_TIME - len(values))])
            pair, size = vector.sin_cos(x), vector.absolute(x)
            for lane, index in enumerate(group):
                found["sin", index], found["cos", index] = (vector.extract(one, lane) for one in pair)
                sizes.append(vector.extract(size, lane))
            self.counter = vector.counter
        self.known |= {index: found[self.program.nodes[index]] for index in sines}
        return sizes

    def operations(self, piece: Piece) -> None:
        for index in piece.nodes:
            opcode, *args = self.program.nodes[index]
            self.known[index] = self._operation(opcode, [self.value(k) for k in args])
            if index in piece.writes:
                self.store(self.known[index], "%w", piece.writes[index])

    def value(self, index: int) -> str:
        """Value of a node that stands before this place."""
        opcode, *args = self.program.nodes[index]
        if opcode == "const":
            return self.number(args[0])
        if index in self.known:
            return self.known[index]
        if index not in self._read:
            self._read[index] = (
                self.load(self.kernel.inputs[args[0]], args[1])
                if opcode == "input"
                else self.load(Argument("w", ()), self.kernel.pieces.places[index])
            )
        return self._read[index]

    def _operation(self, opcode: str, args: list[str]) -> str:
        if opcode in _BINARY:
            return self.op(f"{_BINARY[opcode]} contract", *args)
        made: dict[str, Callable[..., str]] = {
            "neg": lambda x: self.let(f"fneg {self.type} {x}"),
            "sqrt": self.sqrt,
            "sin": lambda x: self._far(x, self.sin_cos(x)[0]),
            "cos": lambda x: self._far(x, self.sin_cos(x)[1]),
            "tanh": lambda x: self.let(f"call {self.type} @{self._tanh}({self.type} {x})"),
            "less": lambda a, b: self.let(
                f"uitofp i1 {self.let(f'fcmp olt {self.type} {a}, {b}')} to {self.type}"
            ),
            "select": lambda test, a, b: self.let(
                f"select i1 {self._is_true(test)}, {self.type} {a}, {self.type} {b}"
            ),
        }  # fmt: skip
        return made[opcode](*args)

    @property
    def _tanh(self) -> str:
        return "tanh" if self.precision.suffix == "f64" else "tanhf"

    def _is_true(self, x: str) -> str:
        return self.let(f"fcmp une {self.type} {x}, {self.number(0.0)}")

    def _far(self, angle: str, value: str) -> str:
        """The value, or NaN where the angle is too large for it: the result then is none."""
        far = self.let(f"fcmp ogt {self.type} {self.absolute(angle)}, {self.number(self.precision.angle_limit)}")
        return self.let(f"select i1 {far}, {self.type} {self.number(float('nan'))}, {self.type} {value}")

    def end(self, angles: Sequence[str]) -> None:
        """The status; outputs are written where it is 0."""
        signature, pieces = self.program.signature, self.kernel.pieces
        own = [a for a in signature.inputs if not (a.shared or a.boolean)]
        given = self.total([self.load(a, k) for a in own for k in range(a.size)])
        found = self.total([self.value(index) for index in pieces.results])
        limit, one = self.number(self.precision.angle_limit), self.number(1.0)
        far = [f"fcmp ogt {self.type} {size}, {limit}" for size in angles]
        far += [f"fcmp ugt {self.type} {self.absolute(self.value(k))}, {one}" for k in self.program.checks]
        # the last one that holds counts
        faults = [
            (self._lost(found), BAD_RESULT),
            *((test, OUT_OF_RANGE) for test in far),
            (self._lost(given), BAD_INPUT),
        ]
        status = "0"
        for test, fault in faults:
            status = self.let(f"select i1 {self.let(test)}, i32 {fault}, i32 {status}")
        well = self.let(f"icmp eq i32 {status}, 0")
        self.lines += [f"  br i1 {well}, label %accept, label %leave", "accept:"]
        for argument, result in zip(signature.outputs, self.program.results):
            values = [self.value(index) for index in result]
            for k, value in enumerate(values):
                self.store(value, f"%{output_name(argument, self.kernel.inputs)}", k)
        self.lines += ["  br label %leave", "leave:", f"  ret i32 {status}"]

    def _lost(self, x: str) -> str:
        """The condition that a sum is not finite."""
        return f"fcmp une {self.type} {self.op('fsub', x, x)}, {self.number(0.0)}"
