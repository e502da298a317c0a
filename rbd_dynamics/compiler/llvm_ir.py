# SPDX-License-Identifier: Apache-2.0
"""Emitter to LLVM IR: the traced program as machine-independent code for one sample and for a batch.

Three functions come out of one program:

    i32 @one(double* in..., double* out...)
    i64 @repeat(i64 n, double* in..., double* out...)    n times, where outputs are inputs; how often it went well
    i32 @many(i64 n, {double*, i64 stride}... )    strides in elements from sample to sample

`@many` computes as many samples at a time as a vector register holds, so nothing is left to an
auto-vectoriser. It and `@one` return 0, or a sum of the flags below; then the outputs are not to be used.
No fast-math flags but `contract` (fused multiply-add): a NaN comes out as a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.compiler.llvm_code import Code
from rbd_dynamics.compiler.llvm_parts import Framed, PartsCode, emit_sum, emit_zero
from rbd_dynamics.compiler.llvm_rows import RowsCode
from rbd_dynamics.compiler.parts import PART, WHOLE, Layout, Parts, divided
from rbd_dynamics.compiler.program import Argument, Program

BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE = 1, 2, 4


def emit_llvm(program: Program, width: int, opaque_pointers: bool = True) -> str:
    """IR of `@one` and `@many` for vectors of `width` doubles."""
    head = [
        "declare double @llvm.sqrt.f64(double)",
        f"declare <{width} x double> @llvm.sqrt.v{width}f64(<{width} x double>)",
        "declare double @llvm.fabs.f64(double)",
        f"declare <{width} x double> @llvm.fabs.v{width}f64(<{width} x double>)",
        "@tanh_pointer = global i64 0",
    ]
    pointer = "ptr" if opaque_pointers else "double*"
    return "\n".join([*head, *_One(program, width, pointer).emit(), *_Many(program, width, pointer).emit()])


class _Function(Framed):
    """What single and batch functions share: inputs, what is wrong with a result, and where outputs are.

    Of a short program `outputs` are values; of a long one they are in %frame, at `places`.
    """

    NAME = ""

    def __init__(self, program: Program, lanes: int, width: int, pointer: str) -> None:
        super().__init__(program, lanes, pointer)
        self.width = width
        self.allocations: list[str] = []
        self.parts: list[str] = []  # functions
        self.outputs: list[list[str]] = []
        self.places: list[list[int]] | None = None
        self.layout: Layout | None = None
        self.sweeps: list[str] = []  # calls

    def body(self, inputs: Sequence[Sequence[str]]) -> list[str]:
        """All operations. Three values: zero if all is well, else NaN or (the last) positive."""
        signature, nodes = self.program.signature, self.program.nodes
        where = {a.name: k for k, a in enumerate(signature.inputs)}
        for index, (opcode, *args) in enumerate(nodes):
            if opcode == "input":
                self.values[index] = inputs[where[args[0]]][args[1]]
        self.trigonometry()
        for index, (opcode, *args) in enumerate(nodes):
            if (opcode, *args) in self.trig:
                self.values[index] = self.trig[opcode, args[0]]
        if self.program.operations <= WHOLE and self.program.rows is None:
            self.compute(range(len(nodes)))
            self.outputs = [[self.values[i] for i in result] for result in self.program.results]
            sums, ranges = [x for output in self.outputs for x in output], [self.range_used()]
            checked = [self.values[index] for index in self.program.checks]
        else:
            sums, ranges, checked = self._in_parts()
        own = [x for vector, a in zip(inputs, signature.inputs) if not a.shared for x in vector]
        bad_input, bad_output = (self.op("fsub", s, s) for s in map(self.total, (own, sums)))
        range_used = self.total([*ranges, *map(self.absolute, checked)])
        far = self.let(f"fcmp ogt {self.type} {range_used}, {self.number(1.0)}")
        big = f"select {self.boolean} {far}, {self.type} {self.number(1.0)}, {self.type} {self.number(0.0)}"
        return [bad_input, bad_output, self.let(big)]

    def _in_parts(self) -> tuple[list[str], list[str], list[str]]:
        """Call one function after the other. Values whose sum is that of the outputs, ranges, what is checked."""
        given = list(self.values)
        single = self.lanes == 1
        parts = divided(self.program, given, apart=single, length=PART, align=self.width if single else 1)
        self.places, self.layout = parts.places, parts.layout
        zeroed = self._zeroed(parts)
        results = [node for result in self.program.results for node in result]
        needed = dict.fromkeys([*results, *self.program.checks, *parts.factors])
        constants = [node for node in needed if self.program.nodes[node][0] == "const"]
        self.compute(constants)
        for node in [*given, *constants]:
            there = parts.outputs if zeroed and self.program.nodes[node] == ("const", 0.0) else 0
            for slot in parts.slots.get(node, ()):
                if slot >= there:
                    self.keep(self.values[node], "%frame", slot)
        code = PartsCode(self, self.NAME, parts)
        self.allocations.append(f"  %frame = alloca {self.type}, i64 {code.size + self.width}, align 64")
        self.parts += code.outside
        checked = [
            self.kept("%frame", parts.slots[node][0]) if node in parts.slots else self.values[node]
            for node in self.program.checks
        ]
        self.lines += self.sweeps
        return self._sum(parts.outputs), [*code.ranges, self.range_used()], checked

    def _sum(self, outputs: int) -> list[str]:
        """Of the outputs in the frame, unless that is made elsewhere."""
        return []

    def _zeroed(self, parts: Parts) -> bool:
        """Whether outputs that are constantly zero are put into the frame by a loop, which comes before all else."""
        self.lines.append(f"  %numbers = bitcast {self.frame_pointer} %frame to {self.pointer}")
        zeros = list(range(0, parts.outputs, self.width))  # of a single sample just all
        if self.program.rows is not None:
            code = RowsCode(self.NAME, self.program, parts, self.lanes, self.width, self.pointer)
            self.parts += code.outside
            self.sweeps = code.calls
            zeros = zeros if self.lanes == 1 else [place * self.lanes for place in code.zeros]
        elif self.lanes > 1:
            return False
        if zeros:
            self.parts += emit_zero(f"{self.NAME}.zero", zeros, self.width, self.pointer)
            self.lines.append(f"  call void @{self.NAME}.zero({self.pointer} %numbers)")
        return True

    def trigonometry(self) -> None:
        """Sines and cosines to compute ahead of the rest, for `trig`; absolute values of their angles for `angles`."""


class _One(_Function):
    """`@one`: scalar arithmetic; the sines and cosines of the inputs are computed as vectors."""

    NAME = "one"

    def __init__(self, program: Program, width: int, pointer: str) -> None:
        super().__init__(program, 1, width, pointer)

    def _sum(self, outputs: int) -> list[str]:
        self.parts += emit_sum("one.sum", outputs, self.width, self.pointer)
        return [self.let(f"call double @one.sum({self.pointer} %frame)")]

    def emit(self) -> list[str]:
        signature = self.program.signature
        names = [self.parameter(argument, prefix) for argument, prefix in _arguments(self.program)]
        inputs = [[self.load(argument, k) for k in range(argument.size)] for argument in signature.inputs]
        flags = []
        for flag, value in zip((BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE), self.body(inputs)):
            bad = self.let(f"fcmp une double {value}, 0.0")
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
            *self.parts,
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
        last, vector = length - self.width, f"<{self.width} x double>"
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
        self.lines.append(f"  %i{k} = phi i64 [ 0, %row{k} ], [ %i.next{k}, %copy{k} ]")
        ends = []
        for base, first in (("%frame", source), (f"%out.{argument.name}", target)):
            index = self.let(f"add i64 %i{k}, {first}")
            at = self.let(f"getelementptr double, {self.pointer} {base}, i64 {index}")
            ends.append(self.let(f"bitcast {self.pointer} {at} to {vector_pointer}"))
        value = self.let(f"load {vector}, {vector_pointer} {ends[0]}, align 8")
        after = self.let(f"add i64 %i{k}, {self.width}")
        beyond = self.let(f"icmp sgt i64 {after}, {last}")
        self.lines += [
            f"  store {vector} {value}, {vector_pointer} {ends[1]}, align 8",
            # the last block ends with the last element, and may do some of the one before again
            f"  %i.next{k} = select i1 {beyond}, i64 {last}, i64 {after}",
            f"  %i.more{k} = icmp slt i64 %i{k}, {last}",
            f"  br i1 %i.more{k}, label %copy{k}, label %end{k}",
            f"end{k}:",
            f"  %r.next{k} = add i64 %r{k}, 1",
            f"  %r.more{k} = icmp slt i64 %r.next{k}, {argument.size // length}",
            f"  br i1 %r.more{k}, label %row{k}, label %copied{k}",
            f"copied{k}:",
        ]

    def trigonometry(self) -> None:
        nodes = self.program.nodes
        angles = [args[0] for opcode, *args in nodes if opcode in ("sin", "cos") and nodes[args[0]][0] == "input"]
        vector = Code(self.width, self.pointer)
        vector.lines = self.lines
        items = list(dict.fromkeys(angles))
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


class _Many(_Function):
    """`@many`: a loop whose body computes `width` samples in vector registers.

    In the last round the lanes past the end repeat the last sample, which costs nothing and needs
    no second copy of the code.
    """

    NAME = "many"

    def __init__(self, program: Program, width: int, pointer: str) -> None:
        super().__init__(program, width, width, pointer)
        self.tables: list[str] = []
        self.scattered: list[str] = []  # sums of what was scattered, of each lane or of any

    def emit(self) -> list[str]:
        signature, vector = self.program.signature, self.type
        names = ["i64 %n"]
        for argument, prefix in _arguments(self.program):
            names.append(self.parameter(argument, prefix))
            names.append(f"i64 %stride.{prefix}{argument.name}")
        lanes = []
        for lane in range(self.width):
            at = self.let(f"add i64 %i, {lane}")
            inside = self.let(f"icmp slt i64 {at}, %n")
            lanes.append(self.let(f"select i1 {inside}, i64 {at}, i64 %last"))
        offsets: dict[str, list[str]] = {}
        for argument, prefix in _arguments(self.program):
            if not argument.shared:
                stride = f"%stride.{prefix}{argument.name}"
                offsets[prefix + argument.name] = [self.let(f"mul i64 {lane}, {stride}") for lane in lanes]
        inputs = [
            [self.splat(self.load(argument, k)) for k in range(argument.size)]
            if argument.shared
            else [
                self.pack([
                    self.load(argument, self.let(f"add i64 {offset}, {k}"))
                    for offset in offsets[argument.name]
                ])
                for k in range(argument.size)
            ]
            for argument in signature.inputs
        ]  # fmt: skip
        sums = [self.op("fadd", f"%defect{k}", defect) for k, defect in enumerate(self.body(inputs))]
        if self.places is None:
            tiles = [self._tile(argument, values) for argument, values in zip(signature.outputs, self.outputs)]
        else:
            tiles = [self._in_frame(places) for places in self.places]
        self.lines.append("  br label %scatter0")
        for k, (argument, (tile, places)) in enumerate(zip(signature.outputs, tiles)):
            if argument.size:
                self._scatter(k, argument, tile, places, offsets[f"out.{argument.name}"])
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
                scalar = self.let(f"fadd double {scalar}, {self.extract(total, lane)}")
            bad = self.let(f"fcmp une double {scalar}, 0.0")
            flags.append(self.let(f"select i1 {bad}, i32 {flag}, i32 0"))
        status = self.let(f"or i32 {self.let(f'or i32 {flags[0]}, {flags[1]}')}, {flags[2]}")
        latch = f"scatter{len(signature.outputs)}"
        phis = [
            f"  %defect{k} = phi {vector} [ {self.number(0.0)}, %entry ], [ {total}, %{latch} ]"
            for k, total in enumerate(sums)
        ]
        return [
            *self.tables,
            *self.parts,
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

        What is there twice, as the zeros and the other half of a symmetric matrix, is written once: the less of the
        nearest cache it takes.
        """
        tile, number = f"%tile.{argument.name}", {value: k for k, value in enumerate(dict.fromkeys(values))}
        kind = f"[{max(1, len(number)) * self.width} x double]"
        self.allocations.append(f"  {tile} = alloca {kind}, align 64")
        vector_pointer = "ptr" if self.pointer == "ptr" else f"{self.type}*"
        source = "ptr" if self.pointer == "ptr" else f"{kind}*"
        base = self.let(f"bitcast {source} {tile} to {vector_pointer}")
        for value, k in number.items():
            at = self.let(f"getelementptr {self.type}, {vector_pointer} {base}, i64 {k}")
            self.lines.append(f"  store {self.type} {value}, {vector_pointer} {at}, align 64")
        return self.let(f"bitcast {source} {tile} to {self.pointer}"), [number[value] for value in values]

    def _in_frame(self, places: list[int]) -> tuple[str, list[int]]:
        """The same of an output that parts of the program have put into the frame."""
        first = min(places, default=0)
        tile = self.let(f"bitcast {self.frame_pointer} {self.slot('%frame', first)} to {self.pointer}")
        return tile, [place - first for place in places]

    def _scatter(self, k: int, argument: Argument, tile: str, places: Sequence[int], offsets: Sequence[str]) -> None:
        """A loop that turns a tile into (lane, element), as the caller's array has it."""
        width, last = self.width, argument.size - self.width
        if last < 0:
            self._scatter_singly(k, argument, tile, places, offsets)
            return
        table = self._table(k, places)
        self.lines += [f"scatter{k}:", f"  br label %each{k}", f"each{k}:"]
        self.lines.append(f"  %e{k} = phi i64 [ 0, %scatter{k} ], [ %e.next{k}, %each{k} ]")
        zero = self.number(0.0)
        self.lines.append(f"  %sum{k} = phi {self.type} [ {zero}, %scatter{k} ], [ %sum.next{k}, %each{k} ]")
        vector_pointer = "ptr" if self.pointer == "ptr" else f"{self.type}*"
        base = self.let(f"bitcast {self.pointer} {tile} to {vector_pointer}")
        rows = []
        for element in range(width):
            place = self.let(f"add i64 %e{k}, {element}")
            if table:
                place = self._looked_up(table, len(places), place)
            at = self.let(f"getelementptr {self.type}, {vector_pointer} {base}, i64 {place}")
            rows.append(self.let(f"load {self.type}, {vector_pointer} {at}, align 64"))
        self.lines.append(f"  %sum.next{k} = fadd {self.type} %sum{k}, {self.total(rows)}")
        self.scattered.append(f"%sum.next{k}")
        for row, offset in zip(self._transposed(rows), offsets):
            place = self.let(f"add i64 {offset}, %e{k}")
            at = self.let(f"getelementptr double, {self.pointer} %out.{argument.name}, i64 {place}")
            target = self.let(f"bitcast {self.pointer} {at} to {vector_pointer}")
            self.lines.append(f"  store {self.type} {row}, {vector_pointer} {target}, align 8")
        # the last block ends with the last element, and may do some of the one before again
        after = self.let(f"add i64 %e{k}, {width}")
        beyond = self.let(f"icmp sgt i64 {after}, {last}")
        self.lines += [
            f"  %e.next{k} = select i1 {beyond}, i64 {last}, i64 {after}",
            f"  %e.more{k} = icmp slt i64 %e{k}, {last}",
            f"  br i1 %e.more{k}, label %each{k}, label %scatter{k + 1}",
        ]

    def _table(self, k: int, places: Sequence[int]) -> str:
        """Where each element is in its tile, in memory; empty where they are in order."""
        if list(places) == list(range(len(places))):
            return ""
        numbers = ", ".join(f"i32 {place}" for place in places)
        self.tables.append(f"@places{k} = private constant [{len(places)} x i32] [{numbers}], align 64")
        return f"@places{k}"

    def _looked_up(self, table: str, size: int, place: str) -> str:
        kind, opaque = f"[{size} x i32]", self.pointer == "ptr"
        at = self.let(f"getelementptr {kind}, {'ptr' if opaque else kind + '*'} {table}, i64 0, i64 {place}")
        number = self.let(f"load i32, {'ptr' if opaque else 'i32*'} {at}")
        return self.let(f"zext i32 {number} to i64")

    def _transposed(self, rows: Sequence[str]) -> list[str]:
        """Of a square of registers: entry j of row i becomes entry i of row j."""
        rows, width, step = list(rows), self.width, 1
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
        return self.let(f"shufflevector {self.type} {a}, {self.type} {b}, <{self.width} x i32> <{indices}>")

    def _scatter_singly(
        self, k: int, argument: Argument, tile: str, places: Sequence[int], offsets: Sequence[str]
    ) -> None:
        """The same for fewer elements than a register holds."""
        self.lines.append(f"scatter{k}:")
        values: list[str] = []
        for element, place in enumerate(places):
            for lane, offset in enumerate(offsets):
                at = self.let(f"getelementptr double, {self.pointer} {tile}, i64 {place * self.width + lane}")
                value = self.let(f"load double, {self.pointer} {at}")
                values.append(value)
                self.store(value, f"%out.{argument.name}", self.let(f"add i64 {offset}, {element}"))
        self.scattered += [self.pack(values[k : k + self.width]) for k in range(0, len(values), self.width)]
        self.lines.append(f"  br label %scatter{k + 1}")


def _arguments(program: Program) -> list[tuple[Argument, str]]:
    """Inputs and outputs with the prefix of their names in the IR."""
    signature = program.signature
    return [(a, "") for a in signature.inputs] + [(a, "out.") for a in signature.outputs]
