# SPDX-License-Identifier: Apache-2.0
"""Programs as expressions of CasADi."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.gradients.operation import Operation
from rbd_dynamics.gradients.robot_operations import RobotOperations
from rbd_dynamics.gradients.transforms import results_of, values_of

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": casadi.sin,
    "cos": casadi.cos,
    "sqrt": casadi.sqrt,
    "tanh": casadi.tanh,
    "less": lambda a, b: a < b,
    "select": lambda condition, yes, no: casadi.if_else(condition, yes, no),
}


class Casadi:
    """CasADi as a `Library`."""

    name = "CasADi"

    def __init__(self, operations: RobotOperations) -> None:
        self._operations = operations
        self._functions: dict[str, Any] = {}

    def apply(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        operation = self._operations[name]
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = function_of(operation)
        given = []
        for value, own in zip(values, operation.signature.inputs):
            matrix = _matrix(self._operations.own(own.name) if value is None else value)
            if tuple(matrix.shape) != _shape(own):
                title, wanted = operation.title, " x ".join(map(str, _shape(own)))
                raise ValueError(f"{title}: {own.name} is {' x '.join(map(str, matrix.shape))}, expected {wanted}")
            given.append(matrix)
        return function.call(given)

    def elements(self, value: Any, what: str, size: int) -> list[Any]:
        matrix = _matrix(value)
        if matrix.numel() != size:
            raise ValueError(f"{what} is {' x '.join(map(str, matrix.shape))}, expected {size} numbers")
        rows, columns = matrix.shape
        return [matrix[i, j] for i in range(rows) for j in range(columns)]

    def rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))


def function_of(operation: Operation) -> Any:
    """A `casadi.Function` of SX: a matrix for each input and output of the operation, vectors as columns."""
    inputs = operation.signature.inputs
    symbols = [casadi.SX.sym(own.name, *_shape(own)) for own in inputs]
    vectors = [[symbol[divmod(k, symbol.shape[1])] for k in range(own.size)] for symbol, own in zip(symbols, inputs)]
    found = results_of(operation.program, values_of(operation.program, vectors, OPERATIONS))
    outputs = [_filled(values, own) for values, own in zip(found, operation.signature.outputs)]
    return casadi.Function(re.sub(r"\W+|_+", "_", operation.name).strip("_"), symbols, outputs)


def _shape(argument: Argument) -> tuple[int, int]:
    rows, columns = (*argument.shape, 1, 1)[:2]
    return rows, columns


def _filled(values: Sequence[Any], argument: Argument) -> Any:
    """A matrix of numbers that are given row by row."""
    rows, columns = _shape(argument)
    return casadi.reshape(casadi.vertcat(*map(casadi.SX, values)), columns, rows).T


def _matrix(value: Any) -> Any:
    """SX, MX and DM as they are, all else as numbers."""
    if isinstance(value, (casadi.SX, casadi.MX, casadi.DM)):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(x, (casadi.SX, casadi.MX, casadi.DM)) for x in value):
        return casadi.vertcat(*value)
    return casadi.DM(np.asarray(value, dtype=float))
