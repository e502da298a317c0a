# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of sweeps over rows: loops over a table of steps, with a part of a row in vector registers at a time."""

from __future__ import annotations

from rbd_dynamics.compiler.llvm.code import Code, Machine, Table
from rbd_dynamics.compiler.parts import Parts
from rbd_dynamics.compiler.program import Program
from rbd_dynamics.spatial.row_sweeps import Step

#: vectors of a row that are worked on together, at most, where there are 32 registers of 512 bits, and where less
TOGETHER = {512: 16}
FEWER = 8
#: of a batch, of which a panel of all rows is to be in the nearest cache
IN_CACHE = 10


class RowsCode:
    """Functions for the sweeps of one program, and the lines that call them, for %numbers, the frame as numbers.

    One panel after the other goes through all sweeps: some columns of all rows. What is known to be zero in a panel is
    left out of its steps. outside: functions and tables, whose names begin with `name`. zeros: places of outputs that
    have to be zero before.
    """

    def __init__(self, name: str, program: Program, parts: Parts, lanes: int, machine: Machine) -> None:
        assert program.rows is not None and parts.layout is not None
        self._layout = parts.layout
        self._name, self._program, self._rows, self._parts = name, program, program.rows, parts
        self._lanes, self._machine = lanes, machine
        self._width, self._pointer, precision = machine
        self._scalar, self._bytes = precision.scalar, precision.bits // 8
        self._tables: dict[tuple[int, ...], Table] = {}
        self.outside: list[str] = []
        self.calls: list[str] = []
        zeros = set[int]()
        self._functions: dict[tuple[int, bool], str] = {}
        for block, panel in self._panels():
            zeros |= self._sweep(block, panel)
        for size, less in self._functions:
            self.outside += self._function(size, less)
        self.zeros = sorted(zeros - self._nonzero())

    def _nonzero(self) -> set[int]:
        """Places of outputs that something else is put to before the sweeps."""
        nodes = self._program.nodes
        return {
            place
            for result, places in zip(self._program.results, self._parts.places)
            for node, place in zip(result, places)
            if nodes[node] != ("const", 0.0)
        }

    def _panels(self) -> list[tuple[int, range]]:
        """Vectors of the rows, in a block and those beside it that go through the same sweeps."""
        layout = self._layout
        borders = sorted({0, *(sweep.blocks for sweep in self._rows.sweeps)})
        most = TOGETHER.get(8 * self._bytes * self._width, FEWER)
        if self._lanes > 1:
            borders, most = list(range(self._rows.beside + 1)), IN_CACHE
        found = []
        for begin, end in zip(borders, borders[1:]):
            vectors = (end - begin) * layout.size * self._lanes // self._width
            count = -(-vectors // most)
            bounds = [round(vectors * k / count) for k in range(count + 1)]
            found += [(begin, range(*pair)) for pair in zip(bounds, bounds[1:])]
        return found

    def _sweep(self, block: int, panel: range) -> set[int]:
        """Calls that take these vectors of all rows through all sweeps; places that have to be zero before."""
        width, last = self._rows.width, self._rows.width
        columns = range(*(k * self._width // self._lanes for k in (panel.start, panel.stop)))
        if self._layout.mirrored and block == self._rows.symmetric:
            last = columns.stop
        before = self._full(block, columns)
        full, begun = set(before), set(before) if self._lanes > 1 else set(range(len(self._layout.rows)))
        column = (self._layout.blocks[block] + columns.start) * self._lanes
        for sweep in self._rows.sweeps:
            if block >= sweep.blocks:
                continue
            steps = list[tuple[Step, bool]]()
            for row, scale, terms in sweep.steps:
                left = [term for term in terms if term[1] in full]
                if row % width < last and (row in full or left):
                    full.add(row)
                    if left or self._program.nodes[scale] != ("const", 1.0):
                        steps.append((Step(row, scale, left), row not in begun))
                        begun.add(row)
            if steps:
                arguments = f"{self._table(steps)}, i64 {len(steps)}, i64 {column}"
                kind = len(panel), sweep.less
                name = self._functions.setdefault(kind, f"@{self._name}.sweep{len(self._functions)}")
                self.calls.append(f"  call void {name}({self._pointer} %numbers, {arguments})")
        untouched = set(range(len(self._layout.rows))) - begun
        return {
            self._layout.rows[row] + self._layout.blocks[block] + k
            for row in before | untouched
            if row % width < last
            for k in columns
        }

    def _full(self, block: int, columns: range) -> set[int]:
        """Rows that are not zero there before the sweeps."""
        rows, nodes, found = self._rows, self._program.nodes, set[int]()
        for number, result in enumerate(self._program.results):
            first = (number % rows.beside - block) * self._layout.size
            for k, node in enumerate(result):
                if first + k % rows.width in columns and nodes[node] != ("const", 0.0):
                    found.add(number // rows.beside * rows.width + k // rows.width)
        return found

    def _table(self, steps: list[tuple[Step, bool]]) -> str:
        """Table in memory, as an argument: of each step row, scale, whether the row is new, how many terms, and these.

        Places are in numbers. A new row is zero, whatever is in memory.
        """
        places = self._parts.factors
        numbers: list[int] = []
        for (row, scale, terms), new in steps:
            numbers += [self._layout.rows[row] * self._lanes, places[scale] * self._lanes, int(new), len(terms)]
            for factor, other in terms:
                numbers += [self._layout.rows[other] * self._lanes, places[factor] * self._lanes]
        table = self._tables.get(tuple(numbers))
        if table is None:
            table = Table(f"{self._name}.steps{len(self._tables)}", "i32", numbers, self._pointer)
            self._tables[tuple(numbers)] = table
            self.outside.append(table.line)
        return table.at()

    def _function(self, size: int, less: bool) -> list[str]:
        """All steps of a table on so many vectors of the rows, from a column on."""
        to_sum = "fsub contract" if less else "fadd contract"
        code = Code(self._width, self._machine)

        def number(place: str) -> str:
            return code.let(f"getelementptr {self._scalar}, {self._pointer} %frame, i64 {place}")

        def vectors(place: str) -> list[str]:
            first = number(code.let(f"add i64 {place}, %column"))
            return [code.vector_at(first, k * self._width) for k in range(size)]

        def loaded(at: str) -> str:
            return code.let(f"load {code.type}, {code.vectors} {at}, align {self._bytes * self._width}")

        def factor(place: str) -> str:
            if self._lanes == 1:
                return code.splat(
                    code.let(f"load {self._scalar}, {self._pointer} {number(place)}, align {self._bytes}")
                )
            return loaded(code.vector_at("%frame", place))

        def phis(names: str, values: list[tuple[list[str], str]]) -> list[str]:
            return [
                f"  {names}{k} = phi {code.type} " + ", ".join(f"[ {each[k]}, %{label} ]" for each, label in values)
                for k in range(size)
            ]

        code.lines += [
            "entry:", "  br label %step", "step:",
            "  %s = phi i64 [ 0, %entry ], [ %s.next, %done ]",
            f"  %at = phi {code.integers} [ %steps, %entry ], [ %at.next, %done ]",
        ]  # fmt: skip
        place, scale_place, new, terms = (code.entry("%at", k) for k in range(4))
        rows = vectors(place)
        scale, is_new, zero = factor(scale_place), code.let(f"icmp ne i64 {new}, 0"), code.number(0.0)
        first = [code.op("fmul", loaded(at), scale) for at in rows]
        if self._lanes > 1:
            first = [code.let(f"select i1 {is_new}, {code.type} {zero}, {code.type} {each}") for each in first]
        pairs = code.let(f"getelementptr i32, {code.integers} %at, i64 4")
        code.lines += [
            f"  %any = icmp sgt i64 {terms}, 0", "  br i1 %any, label %term, label %done", "term:",
            "  %t = phi i64 [ 0, %step ], [ %t.next, %term ]",
            f"  %pair = phi {code.integers} [ {pairs}, %step ], [ %pair.next, %term ]",
        ]  # fmt: skip
        marked = len(code.lines)
        other, coefficient_place = code.entry("%pair", 0), code.entry("%pair", 1)
        coefficient = factor(coefficient_place)
        more = [
            code.op(to_sum, f"%sum{k}", code.op("fmul contract", coefficient, loaded(at)))
            for k, at in enumerate(vectors(other))
        ]
        code.lines[marked:marked] = phis("%sum", [(first, "step"), (more, "term")])
        code.lines += [
            "  %t.next = add i64 %t, 1",
            f"  %pair.next = getelementptr i32, {code.integers} %pair, i64 2",
            f"  %goes.on = icmp slt i64 %t.next, {terms}", "  br i1 %goes.on, label %term, label %done", "done:",
            *phis("%row", [(first, "step"), (more, "term")]),
            f"  %at.next = phi {code.integers} [ {pairs}, %step ], [ %pair.next, %term ]",
        ]  # fmt: skip
        for k, at in enumerate(rows):
            code.lines.append(f"  store {code.type} %row{k}, {code.vectors} {at}, align {self._bytes * self._width}")
        arguments = f"{self._pointer} %frame, {code.integers} %steps, i64 %count, i64 %column"
        return [
            f"define internal void {self._functions[size, less]}({arguments}) {{",
            *code.lines, "  %s.next = add i64 %s, 1", "  %more = icmp slt i64 %s.next, %count",
            "  br i1 %more, label %step, label %end", "end:", "  ret void",
            "}",
        ]  # fmt: skip
