# SPDX-License-Identifier: Apache-2.0
"""Tracing scalars: running an algorithm on them records it as an expression graph.

The graph simplifies as it grows. Operations on constants are done at once (constants stay plain
floats), products with zero and sums with zero vanish, signs move outwards, and an operation that
was recorded before is reused. What remains is straight-line code for exactly one robot.

Every start traces, so there are few calls here: in Python they cost more than the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rbd_dynamics.spatial.jets import Jet

#: opcode -> number of operands; `const` and `input` carry a value instead
ARITY = {
    "const": 0, "input": 0, "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1,
    "sin": 1, "cos": 1, "sqrt": 1, "tanh": 1, "less": 2, "select": 3,
}  # fmt: skip

Node = tuple[Any, ...]  # (opcode, operand indices...) or ("const", value) or ("input", name, position)


class Graph:
    """Nodes in order of dependence: a node's operands come before it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.scalars: list[Expr] = []  # that stand for them
        self._known: dict[Node, Expr] = {}

    def node(self, *key: Any) -> Expr:
        """The expression of this node; an equal node is never made twice."""
        if key in self._known:
            return self._known[key]
        made = self._known[key] = Expr(self, len(self.nodes), key[0])
        self.nodes += (key,)
        self.scalars += (made,)
        return made

    def inputs(self, name: str, size: int) -> list[Expr]:
        """Scalars that stand for the elements of an input vector."""
        return [self.node("input", name, position) for position in range(size)]

    def index(self, value: Expr | float) -> int:
        """Index of an operand; a constant becomes a node."""
        if isinstance(value, Expr):
            return value.index
        return self.node("const", float(value)).index

    def live(self, outputs: Iterable[int]) -> list[int]:
        """Indices of the nodes that the outputs depend on, in order."""
        needed = [False] * len(self.nodes)
        for output in outputs:
            needed[output] = True
        for index in range(len(self.nodes) - 1, -1, -1):
            if needed[index]:
                node = self.nodes[index]
                if ARITY[node[0]]:
                    for operand in node[1:]:
                        needed[operand] = True
        return [index for index, is_needed in enumerate(needed) if is_needed]


def operands(node: Node) -> Sequence[int]:
    """Indices of a node's operands."""
    return node[1:] if ARITY[node[0]] else ()


class Expr:
    """A scalar whose value is known only at run time."""

    __slots__ = ("graph", "index", "opcode")
    __array_ufunc__ = None  # NumPy scalars must defer to the operators below

    def __init__(self, graph: Graph, index: int, opcode: str) -> None:
        self.graph = graph
        self.index = index
        self.opcode = opcode

    def _operand(self, position: int = 0) -> Expr:
        return self.graph.scalars[self.graph.nodes[self.index][1 + position]]

    def __add__(self, other: Any) -> Any:
        if type(other) is not Expr:
            if type(other) is not float and isinstance(other, Jet):
                return NotImplemented
            if other == 0.0:
                return self
            return self.graph.node("add", self.index, self.graph.index(other))
        if other.opcode == "neg":
            return self - other._operand()
        if self.opcode == "neg":
            return other - self._operand()
        a, b = self.index, other.index
        return self.graph.node("add", a, b) if a <= b else self.graph.node("add", b, a)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is not Expr:
            if type(other) is not float and isinstance(other, Jet):
                return NotImplemented
            return self + -other
        if other.index == self.index:
            return 0.0
        if other.opcode == "neg":
            return self + other._operand()
        if self.opcode == "neg":
            return -(self._operand() + other)
        return self.graph.node("sub", self.index, other.index)

    def __rsub__(self, other: Any) -> Any:
        if other == 0.0:
            return -self
        if self.opcode == "neg":
            return self._operand() + other
        return self.graph.node("sub", self.graph.index(other), self.index)

    def __mul__(self, other: Any) -> Any:
        if type(other) is not Expr:
            if type(other) is not float and isinstance(other, Jet):
                return NotImplemented
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            if self.opcode == "neg":
                return self._operand() * -other
            if other < 0.0:
                return -(self * -other)
            return self.graph.node("mul", self.index, self.graph.index(other))
        if self.opcode == "neg":
            return -(self._operand() * other)
        if other.opcode == "neg":
            return -(self * other._operand())
        a, b = self.index, other.index
        return self.graph.node("mul", a, b) if a <= b else self.graph.node("mul", b, a)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is not Expr:
            if type(other) is not float and isinstance(other, Jet):
                return NotImplemented
            return self * (1.0 / other)
        if self.opcode == "neg":
            return -(self._operand() / other)
        return self.graph.node("div", self.index, other.index)

    def __rtruediv__(self, other: Any) -> Any:
        if other == 0.0:
            return 0.0
        return self.graph.node("div", self.graph.index(other), self.index)

    def __neg__(self) -> Any:
        if self.opcode == "neg":
            return self._operand()
        if self.opcode == "sub":
            return self._operand(1) - self._operand(0)
        return self.graph.node("neg", self.index)

    def __pos__(self) -> Expr:
        return self

    def sin(self) -> Any:
        if self.opcode == "neg":
            return -self._operand().sin()
        return self.graph.node("sin", self.index)

    def cos(self) -> Any:
        if self.opcode == "neg":
            return self._operand().cos()
        return self.graph.node("cos", self.index)

    def sqrt(self) -> Any:
        return self.graph.node("sqrt", self.index)

    def tanh(self) -> Any:
        return self.graph.node("tanh", self.index)

    def less(self, other: Any) -> Any:
        """1 where self < other, else 0."""
        return self.graph.node("less", self.index, self.graph.index(other))

    def greater(self, other: Any) -> Any:
        """1 where other < self, else 0."""
        return self.graph.node("less", self.graph.index(other), self.index)

    def select(self, if_true: Any, if_false: Any) -> Any:
        """`if_true` where this scalar is non-zero, else `if_false`."""
        yes, no = self.graph.index(if_true), self.graph.index(if_false)
        return if_true if yes == no else self.graph.node("select", self.index, yes, no)

    def __bool__(self) -> bool:
        raise TypeError("an algorithm branched on a value that is known only at run time; use where()")

    def __repr__(self) -> str:
        return f"Expr({self.graph.nodes[self.index]})"
