# SPDX-License-Identifier: Apache-2.0
"""Operations of a robot for batches in arrays of one machine: shapes, precisions, and where samples lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rbd_dynamics.compiler.precision import DOUBLE, SINGLE, Precision
from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.export.cuda_code import KERNELS, CudaFunction, functions_text
from rbd_dynamics.gradients.operation import Operation, Shape
from rbd_dynamics.gradients.robot_operations import RobotOperations

#: the kernel's name in its source
KERNEL = "many"
_NAMESPACE = "device"
_NO_STATUS = 0


class Machine(Protocol):
    """What runs kernels, and its arrays. xp: the module of these, as NumPy."""

    xp: Any

    @property
    def place(self) -> int:
        """Which memory arrays are in, of several."""
        ...

    def array(self, value: Any, what: str) -> Any:
        """What somebody has given, as an array. Raises TypeError that names `what`."""
        ...

    def kernel(self, source: str) -> Callable[[Sequence[Any]], None]:
        """What starts the kernel of a source with its arguments: arrays and integers, the number of samples first."""
        ...


def source_of(operation: Operation, precision: Precision) -> str:
    """The kernel of one operation in CUDA C++, which needs no header."""
    function = CudaFunction(operation.program, "one", "real", precision)
    return "\n".join([
        "#if !defined(__CUDACC_RTC__)\n#include <math.h>\n#endif",
        f"typedef {precision.scalar} real;",
        functions_text([function], _NAMESPACE, "real", precision),
        KERNELS,
        function.batch(KERNEL, _NAMESPACE),
    ])  # fmt: skip


class Batches:
    """A `Library` of arrays without derivatives."""

    name = "CUDA"

    def __init__(self, operations: RobotOperations, machine: Machine) -> None:
        self._operations, self._machine = operations, machine
        self._kernels: dict[tuple[str, Precision, int], Callable[[Sequence[Any]], None]] = {}
        self._own: dict[tuple[str, int, Any], tuple[bytes, Any]] = {}

    def apply(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        operation, xp = self._operations[name], self._machine.xp
        inputs = operation.signature.inputs
        given = [None if x is None else self._machine.array(x, own.name) for x, own in zip(values, inputs, strict=True)]
        dtype = _widest(given, values)
        arrays = [
            self._robots_own(own, dtype) if array is None
            else (array != 0).astype(np.uint8) if own.boolean
            else array.astype(dtype, copy=False)
            for array, own in zip(given, inputs)
        ]  # fmt: skip
        leads = operation.leads([array.shape for array in arrays])
        lead = operation.lead(leads)
        count = math.prod(lead)
        found = [xp.empty((*lead, *own.shape), dtype) for own in operation.signature.outputs]
        if count:
            rows: list[Any] = [count]
            for array, own, its in zip(arrays, inputs, leads):
                rows += self._rows(array, own, its, lead)
            self._kernel(operation, SINGLE if dtype == np.float32 else DOUBLE)([*rows, *found, _NO_STATUS])
        return found

    def elements(self, value: Any, what: str, size: int) -> list[Any]:
        array = self._machine.array(value, what)
        if array.ndim > 1 and size != array.shape[-1] and size == array.shape[-1] * array.shape[-2]:
            array = array.reshape(*array.shape[:-2], size)
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"{what} has shape {tuple(array.shape)}, expected (..., {size})")
        return [array[..., k] for k in range(size)]

    def rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        xp = self._machine.xp
        numbers = [x if isinstance(x, float) else self._machine.array(x, "a number") for row in rows for x in row]
        dtype = _widest(numbers, numbers)
        spread = xp.broadcast_arrays(*(xp.asarray(x, dtype) for x in numbers))
        return xp.stack(spread, axis=-1).reshape(*spread[0].shape, len(rows), len(rows[0]))

    # --- parts ------------------------------------------------------------------------------------

    def _rows(self, array: Any, own: Argument, lead: Shape, whole: Shape) -> tuple[Any, int]:
        """Contiguous samples, and from one to the next; nothing is copied where there is one for all."""
        xp = self._machine.xp
        if math.prod(lead) == 1:
            return xp.ascontiguousarray(array), 0
        if lead != whole:
            array = xp.broadcast_to(array, (*whole, *own.shape))
        return xp.ascontiguousarray(array), own.size

    def _robots_own(self, argument: Argument, dtype: Any) -> Any:
        """The robot's own numbers, copied to the machine where they have changed."""
        numbers = self._operations.own(argument.name).astype(dtype)
        key, now = (argument.name, self._machine.place, dtype), numbers.tobytes()
        before = self._own.get(key)
        if before is None or before[0] != now:
            before = self._own[key] = now, self._machine.xp.asarray(numbers)
        return before[1]

    def _kernel(self, operation: Operation, precision: Precision) -> Callable[[Sequence[Any]], None]:
        key = operation.name, precision, self._machine.place
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = self._machine.kernel(source_of(operation, precision))
        return found


def _widest(arrays: Sequence[Any], given: Sequence[Any]) -> np.dtype[Any]:
    """The precision of the widest array that was given with one; without any, double. Raises TypeError."""
    kinds = [a.dtype for a, x in zip(arrays, given) if hasattr(x, "dtype") and hasattr(a, "dtype")]
    if any(kind.kind == "c" for kind in kinds):
        raise TypeError("functions on a GPU take real numbers")
    real = [kind for kind in kinds if kind.kind == "f"]
    return np.dtype(np.float32) if real and all(kind.itemsize <= 4 for kind in real) else np.dtype(np.float64)
