# SPDX-License-Identifier: Apache-2.0
"""Lines of LLVM IR for values of one type, a double or a vector of doubles, with sine and cosine.

Sine and cosine are branch-free polynomials, so that they run in vector registers like all else.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from rbd_dynamics.compiler.program import Argument

#: beyond this angle (rad) the argument reduction of sine and cosine loses accuracy
ANGLE_LIMIT = 1.0e6

# Cody-Waite reduction: pi/2 in three parts, the first two of 33 bits; n * part is exact for n < 2^20
_PIO2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
# Minimax polynomials on [-pi/4, pi/4], the coefficients of fdlibm
_SIN = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
_COS = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip
_ROUNDING = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer


class Code:
    """Lines of one function, values of one type, with helpers that append a line and name it."""

    def __init__(self, lanes: int, pointer: str) -> None:
        self.lines: list[str] = []
        self.lanes = lanes
        self.pointer = pointer
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.integer = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.counter = 0

    def let(self, expression: str) -> str:
        self.counter += 1
        self.lines.append(f"  %t{self.counter} = {expression}")
        return f"%t{self.counter}"

    def number(self, value: float) -> str:
        text = f"0x{_bits(value):016X}"
        return text if self.lanes == 1 else f"<{', '.join([f'double {text}'] * self.lanes)}>"

    def whole(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"<{', '.join([f'i64 {value}'] * self.lanes)}>"

    def op(self, name: str, a: str, b: str) -> str:
        return self.let(f"{name} {self.type} {a}, {b}")

    def mul_add(self, a: str, b: str, c: str) -> str:
        return self.op("fadd contract", self.op("fmul contract", a, b), c)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.mul_add(value, x, self.number(coefficient))
        return value

    def absolute(self, x: str) -> str:
        return self.let(f"call {self.type} @llvm.fabs.{self.suffix}({self.type} {x})")

    def sqrt(self, x: str) -> str:
        return self.let(f"call {self.type} @llvm.sqrt.{self.suffix}({self.type} {x})")

    def load(self, argument: Argument, offset: str | int) -> str:
        """One element of an input, as a double."""
        kind, base = ("i8", "i8*") if argument.boolean else ("double", "double*")
        pointer = "ptr" if self.pointer == "ptr" else base
        at = self.let(f"getelementptr {kind}, {pointer} %{argument.name}, i64 {offset}")
        value = self.let(f"load {kind}, {pointer} {at}")
        return self.let(f"uitofp i8 {value} to double") if argument.boolean else value

    def parameter(self, argument: Argument, prefix: str = "") -> str:
        pointer = "i8*" if argument.boolean and self.pointer != "ptr" else self.pointer
        return f"{pointer} %{prefix}{argument.name}"

    def store(self, value: str, base: str, offset: str | int) -> None:
        at = self.let(f"getelementptr double, {self.pointer} {base}, i64 {offset}")
        self.lines.append(f"  store double {value}, {self.pointer} {at}, align 8")

    def extract(self, vector: str, lane: int) -> str:
        return self.let(f"extractelement {self.type} {vector}, i32 {lane}")

    def pack(self, scalars: Sequence[str]) -> str:
        vector = "undef"
        for lane, scalar in enumerate(scalars):
            vector = self.let(f"insertelement {self.type} {vector}, double {scalar}, i32 {lane}")
        return vector

    def splat(self, scalar: str) -> str:
        one = self.let(f"insertelement {self.type} undef, double {scalar}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.type} {one}, {self.type} undef, {zeros}")

    def total(self, values: Sequence[str]) -> str:
        """Sum as a balanced tree, so that it waits for nothing."""
        layer = list(values) or [self.number(0.0)]
        while len(layer) > 1:
            pairs = [self.op("fadd", a, b) for a, b in zip(layer[::2], layer[1::2])]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    def sin_cos(self, x: str) -> tuple[str, str]:
        """Branch-free sine and cosine for |x| up to ANGLE_LIMIT, within one unit in the last place or so."""
        shifted = self.mul_add(x, self.number(0.63661977236758134308), self.number(_ROUNDING))
        n = self.op("fsub", shifted, self.number(_ROUNDING))
        high, middle, low = (self.number(part) for part in _PIO2)
        rest = self.op("fadd", self.op("fmul", n, middle), self.op("fmul", n, low))
        x = self.op("fsub", self.op("fsub", x, self.op("fmul", n, high)), rest)  # only this one is rounded
        z = self.op("fmul contract", x, x)
        sine = self.mul_add(self.op("fmul contract", z, x), self.polynomial(z, _SIN), x)
        half = self.op("fmul contract", z, self.number(0.5))
        one = self.number(1.0)
        high = self.op("fsub", one, half)
        low = self.op("fsub", self.op("fsub", one, high), half)  # what the subtraction lost
        square = self.op("fmul contract", z, z)
        cosine = self.op("fadd", high, self.mul_add(square, self.polynomial(z, _COS), low))
        quadrant = self.let(f"bitcast {self.type} {shifted} to {self.integer}")
        return (
            self._by_quadrant(quadrant, sine, cosine),
            self._by_quadrant(self.let(f"add {self.integer} {quadrant}, {self.whole(1)}"), sine, cosine),
        )

    def _by_quadrant(self, quadrant: str, sine: str, cosine: str) -> str:
        """sin(x + quadrant * pi/2) from the sine and cosine of the remainder."""
        odd = self.let(f"trunc {self.integer} {quadrant} to {self.integer.replace('i64', 'i1')}")
        chosen = self.let(f"select {self.integer.replace('i64', 'i1')} {odd}, {self.type} {cosine}, {self.type} {sine}")
        high = self.let(f"and {self.integer} {quadrant}, {self.whole(2)}")
        sign = self.let(f"shl {self.integer} {high}, {self.whole(62)}")
        bits = self.let(f"bitcast {self.type} {chosen} to {self.integer}")
        flipped = self.let(f"xor {self.integer} {bits}, {sign}")
        return self.let(f"bitcast {self.integer} {flipped} to {self.type}")


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])
