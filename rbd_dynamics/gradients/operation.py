# SPDX-License-Identifier: Apache-2.0
"""A function of a robot with its derivatives of every order, as programs and as kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rbd_dynamics.common.process.process_lock import ProcessLock
from rbd_dynamics.compiler import backends
from rbd_dynamics.compiler.backends import Backend, FunctionKernel, Kernel
from rbd_dynamics.compiler.precision import DOUBLE, SINGLE, Precision
from rbd_dynamics.compiler.program import Argument, Function, Program, Signature, trace
from rbd_dynamics.gradients.transforms import cotangent, tangent
from rbd_dynamics.kernels.evaluation import CHUNK

Shape = tuple[int, ...]
Active = tuple[bool, ...]
_lock = ProcessLock()


class Operation:
    """A function of arrays, which its program computes for one sample, and kernels for any number of them.

    name: of the function and, behind a bar each, of the derivatives that were taken of it: "t" (tangent) or "c"
    (cotangent) and a digit for each input, 1 where it is active. linear: inputs, the last ones, in which it is linear:
    rates of a tangent, weights of a cotangent. parent, active: what it is a derivative of.
    """

    def __init__(
        self,
        name: str,
        signature: Signature,
        function: Function,
        backend: Backend,
        *,
        parent: Operation | None = None,
        active: Active = (),
    ) -> None:
        self.name, self.signature, self.function, self.backend = name, signature, function, backend
        self.parent, self.active = parent, active
        self.linear = 0 if parent is None else len(signature.inputs) - len(parent.signature.inputs)
        self._kernels: dict[tuple[Precision, tuple[bool, ...]], Kernel] = {}
        self._derivatives: dict[tuple[str, Active], Operation] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def title(self) -> str:
        """The function's name, for messages."""
        return self.root.name.partition(":")[0].replace("_f_ext", "")

    @functools.cached_property
    def root(self) -> Operation:
        """The function itself, of which this is a derivative."""
        return self if self.parent is None else self.parent.root

    @functools.cached_property
    def program(self) -> Program:
        """The operations for one sample."""
        return trace(self.function, self.signature)

    @property
    def order(self) -> int:
        """How many derivatives were taken."""
        return 0 if self.parent is None else 1 + self.parent.order

    def tangent(self, active: Sequence[bool]) -> Operation:
        """The rates of the outputs as the active inputs move: inputs, then their rates."""
        return self._derivative("t", tuple(map(bool, active)))

    def cotangent(self, active: Sequence[bool]) -> Operation:
        """The gradient of a weighted sum of the outputs by the active inputs: inputs, then the weights."""
        return self._derivative("c", tuple(map(bool, active)))

    def transposed(self, active: Sequence[bool]) -> Operation:
        """The transposed map of a derivative, between what it is linear in and its outputs.

        active: of the inputs in which it is linear, those that are wanted. Weights for the outputs come in their place.
        """
        assert self.parent is not None
        if self.name.rpartition("|")[2][0] == "c":  # weights to gradients: rates in, rates of the outputs out
            return self.parent.tangent(self.active)
        wanted = iter(active)
        return self.parent.cotangent([moves and next(wanted) for moves in self.active])

    def _derivative(self, kind: str, active: Active) -> Operation:
        with _lock:
            found = self._derivatives.get((kind, active))
            if found is None:
                make = tangent if kind == "t" else cotangent
                signature, function = make(self.program, active, self.order + 1)
                name = f"{self.name}|{kind}{''.join('01'[moves] for moves in active)}"
                found = Operation(name, signature, function, self.backend, parent=self, active=active)
                self._derivatives[kind, active] = found
            return found

    def derivative(self, marks: str) -> Operation:
        """The derivative whose name has these marks behind this one's."""
        found = self
        for part in marks.split("|")[1:]:
            found = found._derivative(part[0], tuple(digit == "1" for digit in part[1:]))
        return found

    # --- numbers ----------------------------------------------------------------------------------

    def kernel(self, dtype: Any, leads: Sequence[Shape], *, batches: bool = False) -> Kernel:
        """The kernel for arrays with these leading axes: where an input that may be shared has none, it is.

        batches: with the code for batches, which else is made when it is first needed.
        """
        precision = SINGLE if np.dtype(dtype) == np.float32 else DOUBLE
        shared = tuple(argument.shared and lead == () for argument, lead in zip(self.signature.inputs, leads))
        with _lock:
            found = self._kernels.get((precision, shared))
            if found is None:
                inputs = tuple(replace(own, shared=one) for own, one in zip(self.signature.inputs, shared))
                signature = replace(self.signature, inputs=inputs, precision=precision)
                found = backends.build(self.backend, self.name, signature, self.function, batches=batches)
                self._kernels[precision, shared] = found
        if batches:
            found.complete()
        return found

    def leads(self, shapes: Sequence[Shape]) -> list[Shape]:
        """The leading axes of arrays of these shapes. Raises ValueError that names one that does not fit."""
        found = []
        for argument, shape in zip(self.signature.inputs, shapes, strict=True):
            own = len(argument.shape)
            if len(shape) < own or tuple(shape[len(shape) - own :]) != argument.shape:
                wanted = ", ".join(["...", *map(str, argument.shape)])
                raise ValueError(f"{self.title}: {argument.name} has shape {tuple(shape)}, expected ({wanted})")
            found.append(tuple(shape[: len(shape) - own]))
        return found

    def lead(self, leads: Sequence[Shape]) -> Shape:
        """Leading axes, broadcast. Raises ValueError where they do not fit together."""
        different = list(dict.fromkeys(lead for lead in leads if lead))
        if len(different) < 2:
            return different[0] if different else ()
        try:
            return tuple(np.broadcast_shapes(*leads))
        except ValueError:
            names = (argument.name for argument in self.signature.inputs)
            text = ", ".join(f"{name} has {lead}" for name, lead in zip(names, leads) if lead)
            raise ValueError(f"{self.title}: numbers of samples differ: {text}") from None

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results for NumPy arrays of one precision with leading axes; of what cannot be computed they are NaN."""
        inputs, outputs = self.signature.inputs, self.signature.outputs
        leads = self.leads([array.shape for array in arrays])
        lead = self.lead(leads)
        dtype = next(array.dtype for array, own in zip(arrays, inputs) if not own.boolean)
        kernel, count = self.kernel(dtype, leads), math.prod(lead)
        made = [np.empty((*lead, *own.shape), dtype) for own in outputs]
        if count:
            rows = [
                np.ascontiguousarray(array) if own.shared else _rows(array, lead, own)
                for array, own in zip(arrays, kernel.signature.inputs)
            ]
            views = [array.reshape(count, *own.shape) for array, own in zip(made, outputs)]
            if kernel.many(count, rows, views) != 0:
                self._one_by_one(kernel, count, rows, views)
        return made

    def _one_by_one(self, kernel: Kernel, count: int, rows: Sequence[np.ndarray], views: Sequence[np.ndarray]) -> None:
        """The same where a sample is bad. Angles too large for the fast sine and cosine are no error."""
        plain, inputs = FunctionKernel(self.function, kernel.signature), kernel.signature.inputs
        for start in range(0, count, CHUNK):
            chunk = slice(start, min(start + CHUNK, count))
            if self._some(kernel, chunk, inputs, rows, views) == 0:
                continue
            for k in range(chunk.start, chunk.stop):
                one = slice(k, k + 1)
                if self._some(kernel, one, inputs, rows, views) and self._some(plain, one, inputs, rows, views):
                    for view in views:
                        view[k] = np.nan

    @staticmethod
    def _some(
        kernel: Kernel,
        which: slice,
        inputs: Sequence[Argument],
        rows: Sequence[np.ndarray],
        views: Sequence[np.ndarray],
    ) -> int:
        chosen = [row if own.shared else row[which] for row, own in zip(rows, inputs)]
        return kernel.many(which.stop - which.start, chosen, [view[which] for view in views])


def _rows(array: np.ndarray, lead: Shape, own: Argument) -> np.ndarray:
    """(samples, ...), contiguous in each sample."""
    count = math.prod(lead)
    if array.shape == own.shape:
        return np.broadcast_to(np.ascontiguousarray(array), (count, *own.shape))
    return np.ascontiguousarray(np.broadcast_to(array, (*lead, *own.shape))).reshape(count, *own.shape)
