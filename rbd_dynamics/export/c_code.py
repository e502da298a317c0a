# SPDX-License-Identifier: Apache-2.0
"""A program as a C function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rbd_dynamics.compiler.precision import DOUBLE, TWO_BY_PI, Precision
from rbd_dynamics.compiler.program import Argument, Program
from rbd_dynamics.compiler.trace import operands
from rbd_dynamics.export.pieces import ANGLES_AT_A_TIME, Piece, Pieces, cut

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
Remembered = Callable[[int], str]  #: the text of a node that was computed before
_COMPUTED_IN_C = ("sqrt", "tanh", "sin", "cos")


class CFunction:
    """The text of one kernel.

    Parameters:
        name: of the function.
        real: name of the type of a number.
    """

    linkage, part, restrict = "", "SEPARATE static ", "restrict"

    def __init__(self, program: Program, name: str, real: str, precision: Precision = DOUBLE) -> None:
        self.program, self.name, self.real, self.precision = program, name, real, precision
        self.pieces: Pieces = cut(program)
        signature = program.signature
        self._inputs = {argument.name: argument for argument in signature.inputs}

    @property
    def declaration(self) -> str:
        """The function's declaration, without the semicolon."""
        signature = self.program.signature
        given = [f"const {self.type_of(argument)} *{argument.name}" for argument in signature.inputs]
        given += [f"{self.real} *{output_name(argument, self._inputs)}" for argument in signature.outputs]
        return f"{self.linkage}int {self.name}({', '.join(given)})"

    def text(self) -> str:
        if self.pieces.is_whole:
            return "\n".join([self.declaration, "{", *self._whole(), "}", ""])
        parts = [line for number, piece in enumerate(self.pieces.pieces) for line in self._piece(number, piece)]
        return "\n".join([*parts, self.declaration, "{", *self._calls(), "}", ""])

    # --- one function -----------------------------------------------------------------------------

    def _whole(self) -> list[str]:
        pieces = self.pieces
        (piece,) = pieces.pieces
        body = self._operations(piece, lambda index: self._of_trigonometry(index))
        computed = {index: f"x{index}" for index in piece.nodes}
        angles = [f"{self.real} sine[{pieces.padded}], cosine[{pieces.padded}];"] if pieces.angles else []
        return [
            *indented([*angles, *self._angles("sine", "cosine"), *body]),
            *indented(self._end(lambda index: computed.get(index) or self._operand(index, self._of_trigonometry))),
        ]

    def _of_trigonometry(self, index: int) -> str:
        place, padded = self.pieces.places[index], self.pieces.padded
        return f"sine[{place}]" if place < padded else f"cosine[{place - padded}]"

    # --- several ----------------------------------------------------------------------------------

    def _piece(self, number: int, piece: Piece) -> list[str]:
        used = self._used(piece)
        given = [f"const {self.type_of(a)} *{self.restrict} {a.name}" for a in used]
        given.append(f"{self.real} *{self.restrict} w")
        body = self._operations(piece, lambda index: f"w[{self.pieces.places[index]}]")
        return [f"{self.part}void {self.name}_{number}({', '.join(given)})", "{", *indented(body), "}"]

    def _calls(self) -> list[str]:
        calls = [
            f"{self.name}_{number}({', '.join([*(a.name for a in self._used(piece)), 'w'])});"
            for number, piece in enumerate(self.pieces.pieces)
        ]
        padded = self.pieces.padded
        return indented([
            f"{self.real} w[{self.pieces.size}];",
            *self._angles("w", f"w + {padded}"),
            *calls,
            *self._end(lambda index: self._operand(index, lambda k: f"w[{self.pieces.places[k]}]")),
        ])  # fmt: skip

    def _used(self, piece: Piece) -> list[Argument]:
        nodes = self.program.nodes
        read = {k for index in piece.nodes for k in operands(nodes[index])}
        names = {nodes[k][1] for k in read if nodes[k][0] == "input"}
        return [argument for argument in self.program.signature.inputs if argument.name in names]

    # --- what both have ---------------------------------------------------------------------------

    def _angles(self, sine: str, cosine: str) -> list[str]:
        if not self.pieces.angles:
            return []
        values = [self._input(index) for index in self.pieces.angles]
        values += ["0"] * (self.pieces.padded - len(values))
        return [
            f"const {self.real} angle[{len(values)}] = {{{', '.join(values)}}};",
            f"sines_and_cosines({len(values)}, angle, {sine}, {cosine});",
        ]

    def _operations(self, piece: Piece, remembered: Remembered) -> list[str]:
        """A line for each node."""
        lines: list[str] = []
        own = set(piece.nodes)
        for index in piece.nodes:
            opcode, *args = self.program.nodes[index]
            values = [f"x{k}" if k in own else self._operand(k, remembered) for k in args]
            lines.append(f"const {self.real} x{index} = {self._expression(opcode, values)};")
            if index in piece.writes:
                lines.append(f"w[{piece.writes[index]}] = x{index};")
        return lines

    def _expression(self, opcode: str, values: Sequence[str]) -> str:
        if opcode in _BINARY:
            return f"{values[0]} {_BINARY[opcode]} {values[1]}"
        if opcode == "neg":
            return f"-{values[0]}"
        if opcode in _COMPUTED_IN_C:
            return f"{opcode.upper()}({values[0]})"
        if opcode == "less":
            return f"({self.real})({values[0]} < {values[1]})"
        if opcode == "select":
            return f"{values[0]} != 0 ? {values[1]} : {values[2]}"
        raise ValueError(f"no C for operation {opcode!r}")

    def _operand(self, index: int, remembered: Remembered) -> str:
        node = self.program.nodes[index]
        if node[0] == "const":
            return number(node[1], self.precision)
        return self._input(index) if node[0] == "input" else remembered(index)

    def _input(self, index: int) -> str:
        _, name, position = self.program.nodes[index]
        return f"({self.real})({name}[{position}] != 0)" if self._inputs[name].boolean else f"{name}[{position}]"

    def _end(self, value: Remembered) -> list[str]:
        """Nothing is written unless all is well."""
        signature = self.program.signature
        given = [f"{a.name}[{k}]" for a in signature.inputs if not (a.shared or a.boolean) for k in range(a.size)]
        results, start = self.pieces.results, 2 * self.pieces.padded
        found = total([value(k) for k in results]) if self.pieces.is_whole else f"sum_of({len(results)}, w + {start})"
        lines = [f"const {self.real} given = {total(given)};", f"const {self.real} found = {found};"]
        lines.append("if (!(given - given == 0)) return 1;")
        lines += [f"if (!(FABS({value(index)}) <= 1)) return 4;" for index in self.program.checks]
        lines.append("if (!(found - found == 0)) return 2;")
        for argument, result in zip(signature.outputs, self.program.results):
            name = output_name(argument, self._inputs)
            lines += [f"{name}[{k}] = {value(index)};" for k, index in enumerate(result)]
        return [*lines, "return 0;"]

    def type_of(self, argument: Argument) -> str:
        return "unsigned char" if argument.boolean else self.real


def output_name(argument: Argument, inputs: Iterable[str]) -> str:
    """Its own, or another one where an input has it."""
    return f"{argument.name}_out" if argument.name in inputs else argument.name


def number(value: float, precision: Precision) -> str:
    """A literal; with parentheses where it is negative."""
    if not math.isfinite(precision.rounded(value)):
        raise ValueError(f"{value} is not a number of this precision")
    text = repr(value) if precision is DOUBLE else f"{np.float32(value)}f"
    return f"({text})" if value < 0 else text


def total(values: Sequence[str]) -> str:
    """Sum as a balanced tree, so that it waits for nothing."""
    layer = list(values) or ["0"]
    while len(layer) > 1:
        pairs = [f"({a} + {b})" for a, b in zip(layer[::2], layer[1::2])]
        layer = pairs + layer[len(pairs) * 2 :]
    return layer[0]


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


GUARD = """\
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile this file without -ffast-math: a NaN would pass for a number"
#elif defined(__ASSOCIATIVE_MATH__)
#error "compile this file without -fassociative-math, -funsafe-math-optimizations: sines would be wrong"
#endif
"""
SEPARATE = """\
#if defined(__GNUC__)
#define SEPARATE __attribute__((noinline))
#else
#define SEPARATE
#endif"""


def prelude(real: str, precision: Precision = DOUBLE) -> str:
    """What the functions of one file share."""
    return "\n".join([GUARD, SEPARATE, macros(precision), "", sines_and_cosines(real, precision)])


def macros(precision: Precision) -> str:
    """The functions of math.h, by the names that operations have."""
    suffix = "" if precision is DOUBLE else "f"
    return "\n".join(f"#define {name.upper()} {name}{suffix}" for name in ("fabs", "sqrt", "tanh", "sin", "cos"))


def sines_and_cosines(real: str, precision: Precision, linkage: str = "static inline ") -> str:
    """The function of this name."""

    def literal(value: float) -> str:
        return number(value, precision)

    def polynomial(coefficients: Sequence[float]) -> str:
        text = literal(coefficients[0])
        for coefficient in coefficients[1:]:
            text = f"({text} * z + {literal(coefficient)})"
        return text

    high, middle, low = map(literal, precision.pi_by_2)
    rounding = literal(precision.rounding)
    return f"""\
/* Sines and cosines of n angles, n a multiple of {ANGLES_AT_A_TIME}, without a branch, so that they run in vector
   registers: x - k pi/2 by Cody and Waite, and minimax polynomials. Large angles go to the C library. */
{linkage}void sines_and_cosines(int n, const {real} *angle, {real} *sine, {real} *cosine)
{{
    int far = 0;
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
    far = 1; /* intermediate results of another precision */
#else
    for (int i = 0; i < n; ++i) {{
        const {real} k = (angle[i] * {literal(TWO_BY_PI)} + {rounding}) - {rounding};
        const {real} turns = (k * {literal(0.25)} + {rounding}) - {rounding};
        const {real} quarter = k - {literal(4.0)} * turns; /* -2 to 2 */
        const {real} x = (angle[i] - k * {high}) - (k * {middle} + k * {low});
        const {real} z = x * x;
        const {real} s = x + (z * x) * {polynomial(precision.sine)};
        const {real} half = {literal(0.5)} * z;
        const {real} one = {literal(1.0)} - half;
        const {real} c = one + (((1 - one) - half) + (z * z) * {polynomial(precision.cosine)});
        const {real} odd = quarter * quarter;
        const {real} a = odd == 1 ? c : s, b = odd == 1 ? s : c;
        sine[i] = ((quarter < 0) | (quarter > {literal(1.5)})) ? -a : a;
        cosine[i] = ((quarter > {literal(0.5)}) | (quarter < {literal(-1.5)})) ? -b : b;
        far |= FABS(angle[i]) > {literal(precision.angle_limit)};
    }}
#endif
    if (far) {{
        for (int i = 0; i < n; ++i) {{
            sine[i] = SIN(angle[i]);
            cosine[i] = COS(angle[i]);
        }}
    }}
}}
"""


def sum_function(real: str, linkage: str = "static ") -> str:
    return f"""\
/* Not finite where one of n numbers is not. */
{linkage}{real} sum_of(int n, const {real} *x)
{{
    {real} sum[4] = {{0, 0, 0, 0}};
    for (int i = 0; i < n; ++i) sum[i & 3] += x[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}}
"""
