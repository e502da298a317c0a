# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of one function of a program: what those for one sample and for a batch share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rbd_dynamics.compiler.llvm.code import Machine, Table
from rbd_dynamics.compiler.llvm.frame import Framed, emit_taken, emit_zero
from rbd_dynamics.compiler.llvm.parts import PartsCode
from rbd_dynamics.compiler.llvm.rows import RowsCode
from rbd_dynamics.compiler.parts import PART, Layout, Parts, divided, stays_whole
from rbd_dynamics.compiler.program import Argument, Program

BAD_INPUT, BAD_OUTPUT, OUT_OF_RANGE = 1, 2, 4


class Function(Framed):
    """Inputs, all operations, and what is wrong with a result.

    Of a short program `outputs` are values; of a long one they are in %frame, at `places`. %numbers is the frame as
    single numbers.
    """

    NAME = ""

    def __init__(self, program: Program, lanes: int, machine: Machine) -> None:
        super().__init__(program, lanes, machine)
        self.allocations: list[str] = []
        self.outside: list[str] = []  # functions and tables
        self.outputs: list[list[str]] = []
        self.places: list[list[int]] | None = None
        self.layout: Layout | None = None
        self._takes = set[str]()  # functions that there are
        self._inputs: dict[str, dict[int, int]] = {}  # {argument: {position: node}}
        for k, node in enumerate(program.nodes):
            if node[0] == "input":
                self._inputs.setdefault(node[1], {})[node[2]] = k

    # --- what differs -----------------------------------------------------------------------------

    def elements(self, argument: Argument) -> list[str]:
        """An input, loaded."""
        raise NotImplementedError

    def offsets(self, argument: Argument) -> list[str]:
        """Offsets at which the samples begin in an input, if there is more than one."""
        return []

    def early(self) -> list[int]:
        """Sines and cosines of inputs that are not computed in the parts."""
        return []

    def keep_early(self, early: Sequence[int], parts: Parts) -> list[str]:
        """Compute them, from the frame into it; absolute values of the angles."""
        return []

    def trigonometry(self) -> None:
        """The same for a short program, into `trig`; absolute values into `angles`."""

    def sum(self, outputs: int) -> list[str]:
        """Sum of the outputs in the frame, unless that is made elsewhere."""
        return []

    # --- all operations ---------------------------------------------------------------------------

    def body(self) -> list[str]:
        """Three values: zero if all is well, else NaN or (the last) positive."""
        own, sums, ranges, checked = self._whole() if stays_whole(self.program) else self._in_parts()
        bad_input, bad_output = (self.op("fsub", s, s) for s in map(self.total, (own, sums)))
        range_used = self.total([*ranges, *map(self.absolute, checked)])
        far = self.let(f"fcmp ogt {self.type} {range_used}, {self.number(1.0)}")
        big = f"select {self.boolean} {far}, {self.type} {self.number(1.0)}, {self.type} {self.number(0.0)}"
        return [bad_input, bad_output, self.let(big)]

    def _whole(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """One line after the other. Inputs, outputs, ranges, what is checked."""
        own, nodes = self._read(self.program.signature.inputs), self.program.nodes
        self.trigonometry()
        for index, (opcode, *args) in enumerate(nodes):
            if (opcode, *args) in self.trig:
                self.values[index] = self.trig[opcode, args[0]]
        self.compute(range(len(nodes)))
        self.outputs = [[self.values[i] for i in result] for result in self.program.results]
        checked = [self.values[index] for index in self.program.checks]
        return own, [x for output in self.outputs for x in output], [self.range_used()], checked

    def _read(self, arguments: Iterable[Argument]) -> list[str]:
        """Load inputs as values; those that have to be finite."""
        read = {argument.name: self.elements(argument) for argument in arguments}
        for name, elements in read.items():
            self.values |= {node: elements[k] for k, node in self._inputs.get(name, {}).items()}
        return [
            x for argument in self.program.signature.inputs if not argument.shared for x in read.get(argument.name, ())
        ]

    def _in_parts(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """One function after the other. Values whose sums are those of inputs and outputs, ranges, what is checked."""
        nodes, inputs, single = self.program.nodes, self.program.signature.inputs, self.lanes == 1
        long = [argument for argument in inputs if argument.size >= self.width and not argument.boolean]
        own = self._read(argument for argument in inputs if argument not in long)
        early = self.early()
        given = [k for k, node in enumerate(nodes) if node[0] == "input"] + early
        parts = divided(
            self.program, given, apart=single, length=PART, align=self.width if single else 1,
            kept=[nodes[node][1] for node in early],
        )  # fmt: skip
        self.places, self.layout = parts.places, parts.layout
        self.allocations.append(f"  %frame = alloca {self.type}, i64 {parts.unused + 1 + self.width}, align 64")
        self.lines.append(f"  %numbers = bitcast {self.vectors} %frame to {self.pointer}")
        zeroed, sweeps = self._zeroed(parts)
        for argument in long:
            own += self._take(argument, parts)
        self._keep(given, zeroed, parts)
        ranges = self.keep_early(early, parts)
        for node in given:
            self._keep_again(node, parts)
        code = PartsCode(self, self.NAME, parts)
        self.outside += code.outside
        checked = [
            self.kept("%frame", parts.slots[node][0]) if node in parts.slots else self.values[node]
            for node in self.program.checks
        ]
        self.lines += sweeps
        return own, self.sum(parts.outputs), [*ranges, *code.ranges, self.range_used()], checked

    def _zeroed(self, parts: Parts) -> tuple[bool, list[str]]:
        """Whether outputs that are constantly zero are put into the frame by a loop, which comes before all else.

        And the calls for sweeps over rows, which come after it.
        """
        zeros, sweeps = list(range(0, parts.outputs, self.width)), list[str]()  # of a single sample just all
        if self.program.rows is not None:
            code = RowsCode(self.NAME, self.program, parts, self.lanes, self.machine)
            self.outside += code.outside
            sweeps = code.calls
            zeros = zeros if self.lanes == 1 else [place * self.lanes for place in code.zeros]
        elif self.lanes > 1:
            return False, []
        if zeros:
            self.outside += emit_zero(f"{self.NAME}.zero", zeros, self.machine)
            self.lines.append(f"  call void @{self.NAME}.zero({self.pointer} %numbers)")
        return True, sweeps

    def place(self, node: int | None, parts: Parts) -> int:
        """Place of the node in the frame, as numbers; where nobody looks, if it is not needed."""
        slots = parts.slots.get(node, ()) if node is not None else ()
        return (slots[0] if slots else parts.unused) * self.lanes

    def _take(self, argument: Argument, parts: Parts) -> list[str]:
        """Put an input into the frame; a value that is not finite if it has to be and is not."""
        node_of = self._inputs.get(argument.name, {})
        places = [self.place(node_of.get(k), parts) for k in range(argument.size)]
        table = Table(f"{self.NAME}.places.{argument.name}", "i32", places, self.pointer)
        self.outside.append(table.line)
        offsets = self.offsets(argument)
        name = f"{self.NAME}.{'take' if offsets or self.lanes == 1 else 'spread'}"
        if name not in self._takes:
            self._takes.add(name)
            self.outside += emit_taken(name, self.lanes, self.machine, len(offsets))
        more = "".join(f", i64 {offset}" for offset in offsets)
        array = f"{self.pointer} %{argument.name}"
        call = f"call {self.type} @{name}({self.pointer} %numbers, {table.at()}, {array}, i64 {argument.size}{more})"
        total = self.let(call)
        return [] if argument.shared else [total]

    def _keep(self, given: Sequence[int], zeroed: bool, parts: Parts) -> None:
        """Put the values that there are into the frame: inputs that are not long, and constants."""
        nodes = self.program.nodes
        results = [node for result in self.program.results for node in result]
        needed = dict.fromkeys([*results, *self.program.checks, *parts.factors])
        constants = [node for node in needed if nodes[node][0] == "const"]
        self.compute(constants)
        for node in [*given, *constants]:
            if node in self.values:
                there = parts.outputs if zeroed and nodes[node] == ("const", 0.0) else 0
                for slot in parts.slots.get(node, ()):
                    if slot >= there:
                        self.keep(self.values[node], "%frame", slot)

    def _keep_again(self, node: int, parts: Parts) -> None:
        """Put into the other slots what a loop has put into the first."""
        first, *others = parts.slots.get(node) or (0,)
        if node not in self.values and others:
            value = self.kept("%frame", first)
            for slot in others:
                self.keep(value, "%frame", slot)


def arguments(program: Program) -> list[tuple[Argument, str]]:
    """Inputs and outputs with the prefix of their names in the IR."""
    signature = program.signature
    return [(a, "") for a in signature.inputs] + [(a, "out.") for a in signature.outputs]
