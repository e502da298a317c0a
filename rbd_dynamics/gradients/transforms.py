# SPDX-License-Identifier: Apache-2.0
"""Derivatives of programs, exact and of any order: a program's operations, differentiated one by one.

`tangent` goes with the operations (forward mode: the rates of the outputs as inputs move), `cotangent` against them
(reverse mode: the gradient of a weighted sum of the outputs by all inputs, for three to four times the operations of
the program). What they give is a program again. Source: Griewank and Walther, Evaluating Derivatives, SIAM 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rbd_dynamics.compiler.program import Argument, Function, Program, Signature
from rbd_dynamics.spatial import scalar
from rbd_dynamics.spatial.scalar import Scalar

Vector = Sequence[Scalar]
Operations = Mapping[str, Callable[..., Scalar]]


def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a / b, and for numbers that have none what `reciprocal` gives."""
    return a * scalar.reciprocal(b) if isinstance(b, (float, int)) else a / b


#: of generic scalars
GENERIC: Operations = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _quotient,
    "neg": lambda a: -a,
    "sin": scalar.sin,
    "cos": scalar.cos,
    "sqrt": scalar.sqrt,
    "tanh": scalar.tanh,
    "less": scalar.less,
    "select": scalar.where,
}


def values_of(program: Program, vectors: Sequence[Vector], operations: Operations = GENERIC) -> list[Scalar]:
    """The value of each node of a program without sweeps, for input vectors of any scalars."""
    named = {argument.name: vector for argument, vector in zip(program.signature.inputs, vectors, strict=True)}
    values: list[Scalar] = []
    for opcode, *rest in program.nodes:
        if opcode == "const":
            values.append(rest[0])
        elif opcode == "input":
            values.append(named[rest[0]][rest[1]])
        else:
            values.append(operations[opcode](*[values[k] for k in rest]))
    return values


def results_of(program: Program, values: Sequence[Scalar]) -> list[list[Scalar]]:
    """The outputs among the values of all nodes, each flat."""
    return [[values[k] for k in output] for output in program.results]


def tangent(program: Program, active: Sequence[bool], order: int) -> tuple[Signature, Function]:
    """The rates of all outputs as the active inputs move: its inputs are the program's, and a rate for each of those.

    order: of the derivative, for names.
    """
    signature = program.signature
    moving = [argument for argument, moves in zip(signature.inputs, active, strict=True) if moves]
    rates = tuple(_own(argument, f"t{order}") for argument in moving)
    outputs = tuple(_own(argument, f"r{order}") for argument in signature.outputs)

    def function(*vectors: Vector) -> list[Vector]:
        count = len(signature.inputs)
        values = values_of(program, vectors[:count])
        given = {argument.name: vector for argument, vector in zip(moving, vectors[count:])}
        found = _rates(program, values, given)
        return [*([found[k] for k in output] for output in program.results), [values[k] for k in program.checks]]

    return Signature((*signature.inputs, *rates), outputs, signature.precision), function


def _rates(program: Program, x: Sequence[Scalar], given: Mapping[str, Vector]) -> list[Scalar]:
    """The rate of each node. What does not move has the number 0.0, with which the tracer does not compute."""
    d: list[Scalar] = []
    for k, (opcode, *rest) in enumerate(program.nodes):
        if opcode in ("const", "less"):
            d.append(0.0)
        elif opcode == "input":
            d.append(given[rest[0]][rest[1]] if rest[0] in given else 0.0)
        else:
            total: Scalar = 0.0
            for operand, slope in _slopes(opcode, rest, x, k):
                if _moves(d[operand]):
                    total = _sum(total, slope(d[operand]))
            d.append(total)
    return d


def cotangent(program: Program, active: Sequence[bool], order: int) -> tuple[Signature, Function]:
    """The gradient by the active inputs of a weighted sum of the outputs: its inputs are the program's, and weights.

    order: of the derivative, for names.
    """
    signature = program.signature
    weights = tuple(_own(argument, f"w{order}") for argument in signature.outputs)
    wanted = [argument for argument, moves in zip(signature.inputs, active, strict=True) if moves]
    outputs = tuple(_own(argument, f"g{order}") for argument in wanted)

    def function(*vectors: Vector) -> list[Vector]:
        count = len(signature.inputs)
        values = values_of(program, vectors[:count])
        by_node = _gradient(program, values, vectors[count:], {argument.name for argument in wanted})
        found = {argument.name: [0.0] * argument.size for argument in wanted}
        for k, (opcode, *rest) in enumerate(program.nodes):
            if opcode == "input" and rest[0] in found:
                found[rest[0]][rest[1]] = by_node[k]
        return [*found.values(), [values[k] for k in program.checks]]

    return Signature((*signature.inputs, *weights), outputs, signature.precision), function


def _gradient(program: Program, x: Sequence[Scalar], weights: Sequence[Vector], wanted: set[str]) -> list[Scalar]:
    """What the weighted sum gains by each node: from the last operation to the first."""
    nodes = program.nodes
    depends = [False] * len(nodes)  # on what is wanted
    for k, (opcode, *rest) in enumerate(nodes):
        if opcode == "input":
            depends[k] = rest[0] in wanted
        elif opcode not in ("const", "less"):
            depends[k] = any(depends[operand] for operand in (rest[1:] if opcode == "select" else rest))
    gain: list[Scalar] = [0.0] * len(nodes)
    for output, vector in zip(program.results, weights, strict=True):
        for k, weight in zip(output, vector, strict=True):
            gain[k] = _sum(gain[k], weight)
    for k in range(len(nodes) - 1, -1, -1):
        opcode, *rest = nodes[k]
        if depends[k] and opcode != "input" and _moves(gain[k]):
            for operand, slope in _slopes(opcode, rest, x, k):
                if depends[operand]:
                    gain[operand] = _sum(gain[operand], slope(gain[k]))
    return gain


def _slopes(
    opcode: str, operands: Sequence[int], x: Sequence[Scalar], k: int
) -> list[tuple[int, Callable[..., Scalar]]]:
    """The operands of node k, each with what multiplies with the derivative by it. x: values of all nodes."""
    a, *others = operands
    b = others[0] if others else a
    if opcode == "add":
        return [(a, _same), (b, _same)]
    if opcode == "sub":
        return [(a, _same), (b, lambda d: -d)]
    if opcode == "mul":
        return [(a, lambda d: x[b] * d), (b, lambda d: x[a] * d)]
    if opcode == "div":
        return [(a, lambda d: _quotient(d, x[b])), (b, lambda d: -(x[k] * _quotient(d, x[b])))]
    if opcode == "neg":
        return [(a, lambda d: -d)]
    if opcode == "sin":
        return [(a, lambda d: scalar.cos(x[a]) * d)]
    if opcode == "cos":
        return [(a, lambda d: -(scalar.sin(x[a]) * d))]
    if opcode == "sqrt":
        return [(a, lambda d: _quotient(0.5 * d, x[k]))]
    if opcode == "tanh":
        return [(a, lambda d: (1.0 - x[k] * x[k]) * d)]
    assert opcode == "select", opcode
    yes, no = others
    return [(yes, lambda d: scalar.where(x[a], d, 0.0)), (no, lambda d: scalar.where(x[a], 0.0, d))]


def _same(d: Scalar) -> Scalar:
    return d


def _moves(rate: Scalar) -> bool:
    """Whether a rate is not known to be zero."""
    return not (isinstance(rate, float) and rate == 0.0)


def _sum(a: Scalar, b: Scalar) -> Scalar:
    return a + b if _moves(a) else b


def _own(argument: Argument, mark: str) -> Argument:
    """The argument for a derivative: one for each sample."""
    return replace(argument, name=f"{argument.name}_{mark}", shared=False)
