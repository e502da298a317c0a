# SPDX-License-Identifier: Apache-2.0
"""A traced algorithm: named input and output vectors and the operations between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rbd_dynamics.compiler.trace import ARITY, Graph, Node, operands


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
    """What goes in and out of an algorithm for one robot."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]


@dataclass(frozen=True)
class Program:
    """Straight-line code: nodes in order of dependence, and which node is each output element."""

    signature: Signature
    nodes: list[Node]
    results: list[list[int]]  # one list of node indices for each output
    checks: list[int]  # nodes whose absolute value must be at most 1 for the result to count

    @property
    def operations(self) -> int:
        """Arithmetic operations for one sample."""
        return sum(1 for node in self.nodes if ARITY[node[0]])


#: maps input vectors (lists of scalars) to output vectors (flat lists of scalars), and may add one
#: more list: values that must lie in [-1, 1] for the result to count
Function = Callable[..., Sequence[Sequence[Any]]]


def trace(function: Function, signature: Signature) -> Program:
    """Run the function on tracing scalars and keep what its outputs depend on."""
    graph = Graph()
    inputs = [graph.inputs(argument.name, argument.size) for argument in signature.inputs]
    outputs = function(*inputs)
    results = [[graph.index(value) for value in output] for output in outputs]
    live = graph.live([index for output in results for index in output])
    renumber = {old: new for new, old in enumerate(live)}
    nodes = [
        (node[0], *(renumber[k] for k in operands(node))) if ARITY[node[0]] else node
        for node in (graph.nodes[index] for index in live)
    ]
    compact = [[renumber[index] for index in output] for output in results]
    count = len(signature.outputs)
    return Program(signature, nodes, compact[:count], [i for extra in compact[count:] for i in extra])
