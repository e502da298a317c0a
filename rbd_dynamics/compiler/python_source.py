# SPDX-License-Identifier: Apache-2.0
"""Emitter to Python source: the traced program as a function that any interpreter runs.

The same source works on floats (one sample) and on NumPy arrays (a batch, one element a sample).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.compiler.program import Program
from rbd_dynamics.compiler.trace import ARITY
from rbd_dynamics.spatial import scalar

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def emit_python(program: Program, name: str = "kernel") -> str:
    """Source of `def kernel(<inputs>)`, each input a sequence of scalars; returns a tuple of lists.

    After the outputs comes the list of the program's checks, if it has any.
    """
    arguments = [argument.name for argument in program.signature.inputs]
    lines = [f"def {name}({', '.join(arguments)}):"]
    names: list[str] = []
    uses = [0] * len(program.nodes)
    for node in program.nodes:
        for operand in node[1:] if ARITY[node[0]] else ():
            uses[operand] += 1
    for index, node in enumerate(program.nodes):
        opcode = node[0]
        if opcode == "const":
            names.append(repr(node[1]) if node[1] >= 0 else f"({node[1]!r})")
            continue
        if opcode == "input":
            expression = f"{node[1]}[{node[2]}]"
        else:
            operands = [names[operand] for operand in node[1:]]
            if opcode == "div":
                expression = f"divide({operands[0]}, {operands[1]})"
            elif opcode in _BINARY:
                expression = f"{operands[0]} {_BINARY[opcode]} {operands[1]}"
            elif opcode == "neg":
                expression = f"-{operands[0]}"
            else:
                function = "where" if opcode == "select" else opcode
                expression = f"{function}({', '.join(operands)})"
        names.append(f"x{index}")
        lines.append(f"    x{index} = {expression}")
    lists = [*program.results, program.checks] if program.checks else program.results
    outputs = ", ".join(f"[{', '.join(names[i] for i in result)}]" for result in lists)
    lines.append(f"    return ({outputs},)")
    return "\n".join(lines) + "\n"


def load_python(source: str, name: str = "kernel") -> Callable[..., Sequence[Sequence[Any]]]:
    """The function that emitted source defines."""
    namespace: dict[str, Any] = {
        "sin": scalar.sin, "cos": scalar.cos, "sqrt": scalar.sqrt, "tanh": scalar.tanh,
        "less": scalar.less, "where": scalar.where, "divide": lambda a, b: a * scalar.reciprocal(b),
    }  # fmt: skip
    exec(compile(source, "<emitted kernel>", "exec"), namespace)
    function: Callable[..., Sequence[Sequence[Any]]] = namespace[name]
    return function
