# SPDX-License-Identifier: Apache-2.0
"""Lines of LLVM IR for values of one type, a number or a vector of numbers, with sine and cosine.

Sine and cosine are branch-free polynomials, so that they run in vector registers like all else.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.compiler.precision import DOUBLE, TWO_BY_PI, Precision
from rbd_dynamics.compiler.program import Argument


class Machine(NamedTuple):
    """What code is made for. width: numbers in a vector register. pointer: what a pointer to numbers is called."""

    width: int
    pointer: str
    precision: Precision = DOUBLE


class Code:
    """Lines of one function, values of one type, with helpers that append a line and name it."""

    def __init__(self, lanes: int, machine: Machine) -> None:
        self.lines: list[str] = []
        self.lanes = lanes
        self.machine = machine
        self.width, self.pointer, self.precision = machine
        precision = self.precision
        self.scalar = precision.scalar
        self.bytes = precision.bits // 8
        self.type, self.integer, self.boolean = map(self._of_lanes, (precision.scalar, precision.integer, "i1"))
        self.suffix = precision.suffix if lanes == 1 else f"v{lanes}{precision.suffix}"
        self.counter = 0

    def _of_lanes(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    def let(self, expression: str) -> str:
        self.counter += 1
        self.lines.append(f"  %t{self.counter} = {expression}")
        return f"%t{self.counter}"

    def constant(self, value: float) -> str:
        return f"0x{_bits(self.precision.rounded(value)):016X}"

    def number(self, value: float) -> str:
        text = self.constant(value)
        return text if self.lanes == 1 else f"<{', '.join([f'{self.scalar} {text}'] * self.lanes)}>"

    def whole(self, value: int) -> str:
        kind = self.precision.integer
        return str(value) if self.lanes == 1 else f"<{', '.join([f'{kind} {value}'] * self.lanes)}>"

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
        """One element of an input, as a number."""
        kind = "i8" if argument.boolean else self.scalar
        pointer = "ptr" if self.pointer == "ptr" else f"{kind}*"
        at = self.let(f"getelementptr {kind}, {pointer} %{argument.name}, i64 {offset}")
        value = self.let(f"load {kind}, {pointer} {at}")
        return self.let(f"uitofp i8 {value} to {self.scalar}") if argument.boolean else value

    def parameter(self, argument: Argument, prefix: str = "") -> str:
        pointer = "i8*" if argument.boolean and self.pointer != "ptr" else self.pointer
        return f"{pointer} %{prefix}{argument.name}"

    def store(self, value: str, base: str, offset: str | int) -> None:
        at = self.let(f"getelementptr {self.scalar}, {self.pointer} {base}, i64 {offset}")
        self.lines.append(f"  store {self.scalar} {value}, {self.pointer} {at}, align {self.bytes}")

    @property
    def integers(self) -> str:
        """Type of a pointer to i32."""
        return "ptr" if self.pointer == "ptr" else "i32*"

    @property
    def vectors(self) -> str:
        """Type of a pointer to values of the type."""
        return "ptr" if self.pointer == "ptr" else f"{self.type}*"

    def entry(self, table: str, offset: str | int) -> str:
        """Entry of a table of i32, which are not negative; as i64."""
        at = self.let(f"getelementptr i32, {self.integers} {table}, i64 {offset}")
        return self.let(f"zext i32 {self.let(f'load i32, {self.integers} {at}, align 4')} to i64")

    def vector_at(self, base: str, offset: str | int) -> str:
        """Pointer to the values from a number on."""
        at = self.let(f"getelementptr {self.scalar}, {self.pointer} {base}, i64 {offset}")
        return self.let(f"bitcast {self.pointer} {at} to {self.vectors}")

    def taken_row(self, base: str, offset: str | int, size: int) -> str:
        """So many numbers from one on, at most as many as a register has; zeros behind them."""
        at = self.vector_at(base, offset)
        if size == self.width:
            return self.let(f"load {self.type}, {self.vectors} {at}, align {self.bytes}")
        where = f"{self.vectors} {at}, i32 {self.bytes}, {self._first(size)}"
        return self.let(f"call {self.type} @llvm.masked.load.{self.masked}({where}, {self.type} zeroinitializer)")

    def put_row(self, value: str, base: str, offset: str | int, size: int) -> None:
        """The same the other way round: the first numbers of a register."""
        where = f"{self.vectors} {self.vector_at(base, offset)}, i32 {self.bytes}, {self._first(size)}"
        self.lines.append(f"  call void @llvm.masked.store.{self.masked}({self.type} {value}, {where})")

    def _first(self, size: int) -> str:
        bits = ", ".join(f"i1 {int(lane < size)}" for lane in range(self.lanes))
        return f"<{self.lanes} x i1> <{bits}>"

    @property
    def masked(self) -> str:
        """What names of functions end with that read or write some of a register."""
        return f"{self.suffix}.p0" + ("" if self.pointer == "ptr" else self.suffix)

    def next_block(self, counter: str, last: str | int, size: str | int) -> str:
        """Lines of a loop over blocks: `counter`.next; whether there is another.

        The last block begins at `last`, and may do some of the one before again.
        """
        after = self.let(f"add i64 {counter}, {size}")
        beyond = self.let(f"icmp sgt i64 {after}, {last}")
        self.lines.append(f"  {counter}.next = select i1 {beyond}, i64 {last}, i64 {after}")
        return self.let(f"icmp slt i64 {counter}, {last}")

    def extract(self, vector: str, lane: int) -> str:
        return self.let(f"extractelement {self.type} {vector}, i32 {lane}")

    def pack(self, scalars: Sequence[str]) -> str:
        vector = "undef"
        for lane, scalar in enumerate(scalars):
            vector = self.let(f"insertelement {self.type} {vector}, {self.scalar} {scalar}, i32 {lane}")
        return vector

    def splat(self, scalar: str) -> str:
        one = self.let(f"insertelement {self.type} undef, {self.scalar} {scalar}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.type} {one}, {self.type} undef, {zeros}")

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Transpose of a square of registers: entry j of row i becomes entry i of row j."""
        rows, width, step = list(rows), self.lanes, 1
        while step < width:
            low = [lane if not lane & step else width + lane - step for lane in range(width)]
            high = [lane + step if not lane & step else width + lane for lane in range(width)]
            for i in range(width):
                if not i & step:
                    pair = rows[i], rows[i + step]
                    rows[i], rows[i + step] = (self._shuffle(*pair, mask) for mask in (low, high))
            step *= 2
        return rows

    def _shuffle(self, a: str, b: str, mask: Sequence[int]) -> str:
        indices = ", ".join(f"i32 {index}" for index in mask)
        return self.let(f"shufflevector {self.type} {a}, {self.type} {b}, <{self.lanes} x i32> <{indices}>")

    def total(self, values: Sequence[str]) -> str:
        """Sum as a balanced tree, so that it waits for nothing."""
        layer = list(values) or [self.number(0.0)]
        while len(layer) > 1:
            pairs = [self.op("fadd", a, b) for a, b in zip(layer[::2], layer[1::2])]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    def sin_cos(self, x: str) -> tuple[str, str]:
        """Branch-free sine and cosine for |x| up to the angle limit, within one unit in the last place or so."""
        rounding = self.number(self.precision.rounding)
        shifted = self.mul_add(x, self.number(TWO_BY_PI), rounding)
        n = self.op("fsub", shifted, rounding)
        high, middle, low = (self.number(part) for part in self.precision.pi_by_2)
        rest = self.op("fadd", self.op("fmul", n, middle), self.op("fmul", n, low))
        x = self.op("fsub", self.op("fsub", x, self.op("fmul", n, high)), rest)  # only this one is rounded
        z = self.op("fmul contract", x, x)
        sine = self.mul_add(self.op("fmul contract", z, x), self.polynomial(z, self.precision.sine), x)
        half = self.op("fmul contract", z, self.number(0.5))
        one = self.number(1.0)
        high = self.op("fsub", one, half)
        low = self.op("fsub", self.op("fsub", one, high), half)  # what the subtraction lost
        square = self.op("fmul contract", z, z)
        cosine = self.op("fadd", high, self.mul_add(square, self.polynomial(z, self.precision.cosine), low))
        quadrant = self.let(f"bitcast {self.type} {shifted} to {self.integer}")
        return (
            self._by_quadrant(quadrant, sine, cosine),
            self._by_quadrant(self.let(f"add {self.integer} {quadrant}, {self.whole(1)}"), sine, cosine),
        )

    def _by_quadrant(self, quadrant: str, sine: str, cosine: str) -> str:
        """sin(x + quadrant * pi/2) from the sine and cosine of the remainder."""
        odd = self.let(f"trunc {self.integer} {quadrant} to {self.boolean}")
        chosen = self.let(f"select {self.boolean} {odd}, {self.type} {cosine}, {self.type} {sine}")
        high = self.let(f"and {self.integer} {quadrant}, {self.whole(2)}")
        sign = self.let(f"shl {self.integer} {high}, {self.whole(self.precision.bits - 2)}")
        bits = self.let(f"bitcast {self.type} {chosen} to {self.integer}")
        flipped = self.let(f"xor {self.integer} {bits}, {sign}")
        return self.let(f"bitcast {self.integer} {flipped} to {self.type}")


class Table:
    """Numbers in memory. line: of IR, that puts them there."""

    def __init__(self, name: str, kind: str, values: Sequence[str | int], pointer: str) -> None:
        self._array, opaque = f"[{len(values)} x {kind}]", pointer == "ptr"
        self._name, self._whole, self._kind = (
            name,
            "ptr" if opaque else f"{self._array}*",
            "ptr" if opaque else f"{kind}*",
        )
        self._length = len(values)
        entries = ", ".join(f"{kind} {value}" for value in values)
        self.line = f"@{name} = private constant {self._array} [{entries}], align 64"

    def __len__(self) -> int:
        return self._length

    def at(self, start: int = 0) -> str:
        """Pointer to what begins there, as an argument."""
        return f"{self._kind} getelementptr ({self._array}, {self._whole} @{self._name}, i64 0, i64 {start})"


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])
