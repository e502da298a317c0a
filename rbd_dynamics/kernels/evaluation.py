# SPDX-License-Identifier: Apache-2.0
"""Calling a kernel with whatever a user passes: conversion, batches, and errors that name the culprit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbd_dynamics.compiler.backends import FunctionKernel, Kernel
from rbd_dynamics.compiler.program import Argument, Function
from rbd_dynamics.model.checks import singular_joints
from rbd_dynamics.model.model import QUATERNION_TOLERANCE, Model
from rbd_dynamics.model.real_numbers import plain_array


class Evaluation:
    """One algorithm of one robot, for any input. First the kernel as it is, then with odd input sorted out."""

    def __init__(self, name: str, model: Model, kernel: Kernel, function: Function) -> None:
        self.name = name
        self._model = model
        self._kernel = kernel
        self._function = function
        self._call = kernel.call
        self._shapes = [argument.shape for argument in kernel.signature.outputs]
        self._several = len(self._shapes) > 1
        self._checked: tuple[Any, ...] | None = None  # outputs that were checked: loops give the same ones each time

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What goes in."""
        return self._kernel.signature.inputs

    @property
    def fast(self) -> Any:
        """One sample by the shortest way: fast(in..., out...) -> last output, or None: call this object."""
        return self._call

    def __call__(self, inputs: Sequence[Any], out: Any = None) -> Any:
        # the common case first, and as little as possible before it
        if out is None:
            out = tuple(map(np.empty, self._shapes))
            if self._call(*inputs, *out) is not None:
                return out if self._several else out[0]
            out = None
        elif self._several:
            if out is not self._checked:
                check_outputs(self.name, out, len(self._shapes))
                self._checked = out if isinstance(out, tuple) else None
            if self._call(*inputs, *out) is not None:
                return out
        elif self._call(*inputs, out) is not None:
            return out
        return self._sorted_out(inputs, out)

    def _sorted_out(self, inputs: Sequence[Any], out: Any) -> Any:
        """A batch, another type of number, or something wrong."""
        signature = self._kernel.signature
        arrays = [self._converted(argument, value) for argument, value in zip(signature.inputs, inputs)]
        samples = self._samples(arrays)
        count = 1 if samples is None else samples
        rows = [
            array if argument.shared else np.broadcast_to(array, (count, *argument.shape))
            for argument, array in zip(signature.inputs, arrays)
        ]
        outputs = self._outputs(samples, out)
        if count:
            views = [array.reshape(count, *a.shape) for a, array in zip(signature.outputs, outputs)]
            # what is written must not be read again by a retry below
            rows = [row.copy() if any(np.may_share_memory(row, o) for o in outputs) else row for row in rows]
            if self._kernel.many(count, rows, views) != 0:
                self._find_bad_input(rows, batch=samples is not None)
                self._retry(count, rows, views)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _converted(self, argument: Argument, value: Any) -> np.ndarray:
        """The argument as an array that a kernel can read, of shape (...) or (N, ...)."""
        dtype = np.bool_ if argument.boolean else np.float64
        array = plain_array(value, f"{self.name}: {argument.name}")
        if argument.boolean and array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
            raise ValueError(f"{self.name}: {argument.name}: expected booleans")
        array = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        expected = argument.shape
        if array.shape != expected and array.shape[1:] != expected:
            names = f" for joints {', '.join(self._model.joint_names)}" if len(expected) == 1 else ""
            wanted = ", ".join(map(str, expected))
            raise ValueError(
                f"{self.name}: {argument.name} has shape {array.shape}, "
                f"expected ({wanted}{',' if len(expected) == 1 else ''}) or (N, {wanted}){names}"
            )
        return array

    def _samples(self, arrays: Sequence[np.ndarray]) -> int | None:
        """N of a batch; None if all arguments are single samples."""
        found: dict[int, str] = {}
        for argument, array in zip(self._kernel.signature.inputs, arrays):
            if array.ndim > len(argument.shape):
                found.setdefault(len(array), argument.name)
        if len(found) > 1:
            text = ", ".join(f"{name} has {count}" for count, name in found.items())
            raise ValueError(f"{self.name}: numbers of samples differ: {text}")
        return next(iter(found), None)

    def _outputs(self, samples: int | None, out: Any) -> list[np.ndarray]:
        signature = self._kernel.signature
        lead = () if samples is None else (samples,)
        shapes = [(*lead, *argument.shape) for argument in signature.outputs]
        if out is None:
            return [np.empty(shape) for shape in shapes]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        check_outputs(self.name, given, len(shapes))
        for array, shape in zip(given, shapes):
            if type(array) is not np.ndarray or array.dtype != np.float64 or array.shape != shape:
                what = f"{array.dtype}{array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise ValueError(f"{self.name}: out must be a float64 array of shape {shape}, got {what}")
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                raise ValueError(f"{self.name}: out must be C-contiguous and writeable")
        return given

    def _find_bad_input(self, rows: Sequence[np.ndarray], batch: bool) -> None:
        """Raise ValueError for the first input that the kernel could not take."""
        for argument, row in zip(self._kernel.signature.inputs, rows):
            bad = np.argwhere(~np.isfinite(row))
            if len(bad):
                index = tuple(int(k) for k in bad[0])
                where = f" in sample {index[0]}" if batch and not argument.shared else ""
                label = self._label(argument.name, index[-1])
                raise ValueError(f"{self.name}: {argument.name} of {label} is {row[index]}{where}")
            if argument.name == "q":
                self._find_bad_quaternion(row, batch)

    def _find_bad_quaternion(self, q: np.ndarray, batch: bool) -> None:
        for joint in self._model.joints:
            part = joint.kind.quaternion
            if part is not None:
                with np.errstate(over="ignore"):
                    square = np.sum(q[:, joint.q_index + part.start : joint.q_index + part.stop] ** 2, axis=1)
                bad = np.flatnonzero(np.abs(square - 1.0) * 0.5 > QUATERNION_TOLERANCE)
                if len(bad):
                    where = f" in sample {bad[0]}" if batch else ""
                    raise ValueError(
                        f"{self.name}: the quaternion of joint {joint.name!r} has norm "
                        f"{np.sqrt(square[bad[0]]):.6g}, expected 1{where}"
                    )

    def _retry(self, count: int, rows: Sequence[np.ndarray], views: Sequence[np.ndarray]) -> None:
        """A second attempt by the plain algorithm: angles may be too large for the fast sine and cosine."""
        if FunctionKernel(self._function, self._kernel.signature).many(count, rows, views) != 0:
            bad = [np.flatnonzero(~np.isfinite(view.reshape(count, -1)).all(axis=1))[:1] for view in views]
            sample = next((int(k[0]) for k in bad if len(k)), 0)
            singular = ", ".join(map(repr, singular_joints(self._model)))
            culprits = f" ({singular} moves no inertia)" if singular else " there"
            raise ArithmeticError(
                f"{self.name}: the result is not finite (sample {sample}): "
                f"the mass matrix is singular{culprits}, or a number is too large"
            )

    def _label(self, argument: str, position: int) -> str:
        """Which joint an element of q or of a vector of nv numbers belongs to."""
        if argument in ("f_ext", "inertia") or argument.startswith("theta"):
            return f"element {position}"
        for joint in self._model.joints:
            start, size = (joint.q_index, joint.kind.nq) if argument == "q" else (joint.v_index, joint.kind.nv)
            if start <= position < start + size:
                return f"joint {joint.name!r}" + (f" (element {position - start})" if size > 1 else "")
        return f"element {position}"


def check_outputs(name: str, out: Any, count: int) -> None:
    """Raise ValueError where `out` are not so many arrays, or where two of them share memory."""
    if not isinstance(out, (tuple, list)) or len(out) != count:
        got = str(len(out)) if isinstance(out, (tuple, list)) else type(out).__name__
        raise ValueError(f"{name}: out must be {count} arrays, got {got}")
    for k in range(1, count):
        for other in range(k):
            if isinstance(out[k], np.ndarray) and isinstance(out[other], np.ndarray):
                if np.may_share_memory(out[k], out[other]):
                    raise ValueError(f"{name}: out: arrays {other} and {k} share memory, one would overwrite the other")


def no_kernel(*arrays: Any) -> None:
    """Stands for a kernel that is not there yet: as one that cannot take the input."""
