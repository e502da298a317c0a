# SPDX-License-Identifier: Apache-2.0
"""A traced algorithm: named input and output vectors and the operations between them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rbd_dynamics.common.collector import without_collector
from rbd_dynamics.compiler.precision import DOUBLE, Precision
from rbd_dynamics.compiler.trace import ARITY, Graph, Node
from rbd_dynamics.spatial.row_sweeps import Step, Sweep, Unfinished, finished

ROWS_FROM = 10_000  # multiplications in sweeps over rows, from which they are loops


@dataclass(frozen=True)
class Argument:
    """An input or output array.

    A shared input is one for a whole batch, not one a sample, and is not tested for non-finite
    numbers; a boolean one is read as 0 or 1.
    """

    name: str
    shape: tuple[int, ...]
    shared: bool = False
    boolean: bool = False

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size


@dataclass(frozen=True)
class Signature:
    """What goes in and out of an algorithm for one robot. precision: of all arrays but booleans."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    precision: Precision = DOUBLE


@dataclass(frozen=True)
class RowSweeps:
    """Loops after the straight line: sweeps over the rows of all outputs, `beside` of them side by side.

    Scales and coefficients in the steps are nodes.
    """

    outputs: int
    width: int
    beside: int
    sweeps: tuple[Sweep, ...]
    symmetric: int | None  # a block of which the part left of the diagonal need not be computed

    @property
    def factors(self) -> list[int]:
        """Nodes that are scales or coefficients."""
        steps = [step for sweep in self.sweeps for step in sweep.steps]
        return list(
            dict.fromkeys(node for step in steps for node in (step.scale, *(factor for factor, _ in step.terms)))
        )


@dataclass(frozen=True)
class Program:
    """Straight-line code: nodes in order of dependence, and which node is each output element."""

    signature: Signature
    nodes: list[Node]
    results: list[list[int]]  # one list of node indices for each output
    checks: list[int]  # nodes whose absolute value must be at most 1 for the result to count
    rows: RowSweeps | None = None

    @property
    def operations(self) -> int:
        """Arithmetic operations for one sample, without sweeps over rows."""
        return sum(1 for node in self.nodes if ARITY[node[0]])

    @functools.cached_property
    def digest(self) -> str:
        """Digest of all that it is, equal for programs that compute the same in the same way."""
        found = hashlib.sha256(repr((self.signature, self.results, self.checks, self.rows)).encode())
        for begin in range(0, len(self.nodes), 1000):  # in parts, so that other threads have their turn
            found.update(repr(self.nodes[begin : begin + 1000]).encode())
        return found.hexdigest()


#: maps input vectors (lists of scalars) to output vectors (flat lists of scalars), and may add one
#: more list: values that must lie in [-1, 1] for the result to count
Function = Callable[..., Sequence[Sequence[Any]] | Unfinished]


def trace(function: Function, signature: Signature, *, rows: bool = False) -> Program:
    """Run the function on tracing scalars and keep what its outputs depend on.

    rows: what may be done with whole rows is left so, where it is much.
    """
    with without_collector():  # all that is made is needed to the end
        return _traced(function, signature, rows)


def _traced(function: Function, signature: Signature, rows: bool) -> Program:
    graph = Graph()
    inputs = [graph.inputs(argument.name, argument.size) for argument in signature.inputs]
    outputs, sweeps = function(*inputs), None
    if rows and isinstance(outputs, Unfinished) and outputs.work >= ROWS_FROM:
        sweeps = _indexed(graph, outputs)
        outputs = [*outputs.outputs, *outputs.more]
    results = [[graph.index(value) for value in output] for output in finished(outputs)]
    factors = sweeps.factors if sweeps else []
    live = graph.live([*factors, *(index for output in results for index in output)])
    renumber = {old: new for new, old in enumerate(live)}
    nodes = [
        (node[0], *map(renumber.__getitem__, node[1:])) if ARITY[node[0]] else node
        for node in map(graph.nodes.__getitem__, live)
    ]
    compact = [[renumber[index] for index in output] for output in results]
    count = len(signature.outputs)
    checks = [i for extra in compact[count:] for i in extra]
    return Program(signature, nodes, compact[:count], checks, sweeps and _mapped(sweeps, renumber.__getitem__))


def _indexed(graph: Graph, outputs: Unfinished) -> RowSweeps:
    return _mapped(
        RowSweeps(len(outputs.outputs), outputs.width, outputs.beside, tuple(outputs.sweeps), outputs.symmetric),
        graph.index,
    )


def _mapped(rows: RowSweeps, number: Callable[[Any], int]) -> RowSweeps:
    """The rows with other numbers for scales and coefficients."""
    sweeps = [
        Sweep(
            [
                Step(row, number(scale), [(number(factor), other) for factor, other in terms])
                for row, scale, terms in sweep.steps
            ],
            sweep.blocks,
            sweep.less,
        )
        for sweep in rows.sweeps
    ]
    return replace(rows, sweeps=tuple(sweeps))
