# SPDX-License-Identifier: Apache-2.0
"""Calling a kernel with whatever a user passes: conversion, batches, and errors that name the culprit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.real_numbers import plain_array, shared_array, transposed_hint
from rbd_dynamics.compiler.backends import FunctionKernel, Kernel
from rbd_dynamics.compiler.program import Argument, Function
from rbd_dynamics.kernels.shared_work import SharedWork
from rbd_dynamics.model.checks import singular_joints
from rbd_dynamics.model.model import QUATERNION_TOLERANCE, Model

Shape = tuple[int, ...]
Errors = Literal["raise", "nan"]
_BOOL = np.dtype(np.bool_)
#: arguments whose numbers are not those of degrees of freedom
OTHERS = frozenset(
    ("f_ext", "inertia", "fixed_inertia", "point", "target", "multipliers", "parameters")
    + ("theta", "theta_velocity", "theta_acceleration")
)
#: samples that are run together where some of them are bad
CHUNK = 64


class Evaluation:
    """One algorithm of one robot, for any input. First the kernel as it is, then with odd input sorted out.

    errors: "nan" writes NaN to all outputs of a sample that cannot be computed, in place of raising. threads: for
    long batches, at most.
    """

    def __init__(
        self, name: str, model: Model, kernel: Kernel, function: Function, *, errors: Errors = "raise", threads: int = 1
    ) -> None:
        self.name = name.replace("_f_ext", "").replace("_along", "")  # as users know it, for messages
        self._errors = errors
        self._model = model
        self._kernel = kernel
        self._function = function
        self._call = kernel.call
        self._batches = SharedWork(kernel, threads)
        self._shapes = [argument.shape for argument in kernel.signature.outputs]
        self._shared = threads > 1
        self._axes = [len(argument.shape) for argument in kernel.signature.inputs]
        self._several = len(self._shapes) > 1
        self._dtype = kernel.signature.precision.dtype
        self._empty = empty_arrays(self._dtype)
        self._checked: tuple[Any, ...] | None = None  # outputs that were checked: loops give the same ones each time

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What goes in."""
        return self._kernel.signature.inputs

    @property
    def kernel(self) -> Kernel:
        """What is called, for who does so many times with the same arrays."""
        return self._kernel

    def complete(self) -> None:
        """Make the code for batches ahead of use, unless it is there."""
        self._kernel.complete()

    @property
    def output_axes(self) -> list[int]:
        """Number of axes of each output of one sample."""
        return [len(shape) for shape in self._shapes]

    @property
    def fast(self) -> Any:
        """One sample by the shortest way: fast(in..., out...) -> last output, or None: call this object."""
        return self._call

    def __call__(self, inputs: Sequence[Any], out: Any = None) -> Any:
        # the common case first, and as little as possible before it
        if out is None:
            made = tuple(map(self._empty, self._shapes))
            if self._call(*inputs, *made) is not None:
                return made if self._several else made[0]
        elif self._several:
            if out is not self._checked:
                check_outputs(self.name, out, len(self._shapes))
                self._checked = out if isinstance(out, tuple) else None
            if self._call(*inputs, *out) is not None:
                return out
        elif self._call(*inputs, out) is not None:
            return out
        found = self._several_samples(inputs, out)
        return self._sorted_out(inputs, out) if found is None else found

    def other(self, inputs: Sequence[Any], *, out: Any = None) -> Any:
        """The same where `fast` has refused it: a batch, most likely."""
        found = self._several_samples(inputs, out)
        return self(inputs, out) if found is None else found

    def _several_samples(self, inputs: Sequence[Any], out: Any) -> Any:
        """A batch with one leading axis by the shortest way; None: this is something else."""
        if out is not None:
            outputs = out if self._several else (out,)
            last = outputs[-1] if type(outputs) is tuple else None
            if type(last) is not np.ndarray or last.ndim <= len(self._shapes[-1]):
                return None
            if self._shared and self._batches.divides(len(last)):
                return None
            return None if self._kernel.several(*inputs, *outputs) is None else out
        for value, axes in zip(inputs, self._axes):
            if type(value) is np.ndarray and value.ndim > axes:
                count = len(value)
                break
        else:
            return None
        if self._shared and self._batches.divides(count):
            return None
        if not self._several:
            made = self._empty((count, *self._shapes[0]))
            return self._kernel.several(*inputs, made)
        outputs = tuple([self._empty((count, *shape)) for shape in self._shapes])
        return None if self._kernel.several(*inputs, *outputs) is None else outputs

    def _sorted_out(self, inputs: Sequence[Any], out: Any) -> Any:
        """A batch, another type of number, or something wrong."""
        signature = self._kernel.signature
        arrays = [self._converted(argument, value) for argument, value in zip(signature.inputs, inputs)]
        lead = self._lead(arrays)
        count = math.prod(lead)
        rows = [
            array if argument.shared else _rows(array, lead, argument.shape)
            for argument, array in zip(signature.inputs, arrays)
        ]
        outputs = self._outputs(lead, out)
        if count:
            views = [array.reshape(count, *a.shape) for a, array in zip(signature.outputs, outputs)]
            # what is written must not be read again by a retry below, or by another sample
            if out is not None:
                rows = [row.copy() if any(np.may_share_memory(row, o) for o in outputs) else row for row in rows]
            if self._batches.many(count, rows, views) != 0:
                if self._errors == "nan":
                    self._spare_bad_samples(rows, views)
                else:
                    self._find_bad_input(rows, lead)
                    self._retry(count, rows, views, lead)
        if out is not None:
            return out
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _converted(self, argument: Argument, value: Any) -> np.ndarray:
        """The argument as an array that a kernel can read, with any leading axes."""
        dtype = _BOOL if argument.boolean else self._dtype
        if type(value) is np.ndarray and value.dtype is dtype and value.flags.c_contiguous:
            array = value
        else:
            array = plain_array(value, f"{self.name}: {argument.name}")
            if argument.boolean and array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
                raise ValueError(f"{self.name}: {argument.name}: expected booleans")
            with np.errstate(over="ignore"):  # what is too large for the precision is found as not finite
                array = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        expected = argument.shape
        if array.shape != expected and (argument.shared or array.shape[array.ndim - len(expected) :] != expected):
            own = len(expected) == 1 and _is_of_joints(argument.name)
            names = f" for joints {', '.join(self._model.joint_names)}" if own else ""
            wanted = ", ".join(map(str, expected))
            hint = transposed_hint(array.shape, expected[0]) if len(expected) == 1 and not argument.shared else ""
            raise ValueError(
                f"{self.name}: {argument.name} has shape {array.shape}, "
                f"expected ({wanted}{',' if len(expected) == 1 else ''}) or (..., {wanted}){names}{hint}"
            )
        return array

    def _lead(self, arrays: Sequence[np.ndarray]) -> Shape:
        """The leading axes of all arguments, broadcast; () if all are single samples."""
        found: dict[Shape, str] = {}
        for argument, array in zip(self._kernel.signature.inputs, arrays):
            if not argument.shared and array.ndim > len(argument.shape):
                found.setdefault(array.shape[: array.ndim - len(argument.shape)], argument.name)
        if len(found) < 2:
            return next(iter(found), ())
        try:
            return np.broadcast_shapes(*found)
        except ValueError:
            text = ", ".join(f"{name} has {lead[0] if len(lead) == 1 else lead}" for lead, name in found.items())
            raise ValueError(f"{self.name}: numbers of samples differ: {text}") from None

    def _outputs(self, lead: Shape, out: Any) -> list[np.ndarray]:
        signature = self._kernel.signature
        shapes = [(*lead, *argument.shape) for argument in signature.outputs]
        if out is None:
            return list(map(self._empty, shapes))
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        check_outputs(self.name, given, len(shapes))
        try:
            given = [shared_array(array) for array in given]
        except Exception as error:  # whatever another library raises
            raise ValueError(f"{self.name}: out: {error}") from None
        for array, shape in zip(given, shapes):
            if type(array) is not np.ndarray or array.dtype != self._dtype or array.shape != shape:
                what = f"{array.dtype}{array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise ValueError(f"{self.name}: out must be a {self._dtype} array of shape {shape}, got {what}")
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                raise ValueError(f"{self.name}: out must be C-contiguous and writeable")
        return given

    def _find_bad_input(self, rows: Sequence[np.ndarray], lead: Shape) -> None:
        """Raise ValueError for the first input that the kernel could not take."""
        for argument, row in zip(self._kernel.signature.inputs, rows):
            bad = np.argwhere(~np.isfinite(row))
            if len(bad):
                index = tuple(int(k) for k in bad[0])
                where = "" if argument.shared else _sample(index[0], lead)
                label = self._label(argument.name, index[-1])
                raise ValueError(f"{self.name}: {argument.name} of {label} is {row[index]}{where}")
            if argument.name == "q":
                for name, square, off in self._bad_quaternions(row):
                    first = int(np.argmax(off))
                    raise ValueError(
                        f"{self.name}: the quaternion of joint {name!r} has norm "
                        f"{np.sqrt(square[first]):.6g}, expected 1{_sample(first, lead)}"
                    )

    def _bad_quaternions(self, q: np.ndarray) -> Iterator[tuple[str, np.ndarray, NDArray[np.bool_]]]:
        """Joints whose quaternions are far from unit length in some samples: name, squared norms, which samples."""
        for joint in self._model.joints:
            part = joint.kind.quaternion
            if part is not None:
                with np.errstate(over="ignore", invalid="ignore"):
                    square = np.sum(q[:, joint.q_index + part.start : joint.q_index + part.stop] ** 2, axis=1)
                bad = ~(np.abs(square - 1.0) * 0.5 <= QUATERNION_TOLERANCE)
                if bad.any():
                    yield joint.name, square, bad

    def _spare_bad_samples(self, rows: Sequence[np.ndarray], views: Sequence[np.ndarray]) -> None:
        """Every sample that can be computed is, the others are NaN. Raises ValueError for a bad shared argument."""
        inputs = self._kernel.signature.inputs
        bad = np.zeros(len(views[0]), dtype=bool)
        for argument, row in zip(inputs, rows):
            finite = np.isfinite(row)
            if argument.shared:
                if not finite.all():
                    raise ValueError(f"{self.name}: {argument.name} is not finite")
                continue
            bad |= ~finite.reshape(len(bad), -1).all(axis=1)
            if argument.name == "q":
                for _, _, off in self._bad_quaternions(row):
                    bad |= off
        good = np.flatnonzero(~bad)
        plain = FunctionKernel(self._function, self._kernel.signature)
        for start in range(0, len(good), CHUNK):
            some = good[start : start + CHUNK]
            chosen = [row if argument.shared else row[some] for argument, row in zip(inputs, rows)]
            found = [self._empty((len(some), *view.shape[1:])) for view in views]
            if self._kernel.many(len(some), chosen, found) != 0:
                plain.many(len(some), chosen, found)
                finite = [np.isfinite(part).reshape(len(some), -1).all(axis=1) for part in found]
                bad[some[~np.logical_and.reduce(finite)]] = True
            for view, part in zip(views, found):
                view[some] = part
        for view in views:
            view[bad] = np.nan

    def _retry(self, count: int, rows: Sequence[np.ndarray], views: Sequence[np.ndarray], lead: Shape) -> None:
        """A second attempt by the plain algorithm: angles may be too large for the fast sine and cosine."""
        if FunctionKernel(self._function, self._kernel.signature).many(count, rows, views) != 0:
            bad = [np.flatnonzero(~np.isfinite(view.reshape(count, -1)).all(axis=1))[:1] for view in views]
            sample = next((int(k[0]) for k in bad if len(k)), 0)
            singular = ", ".join(map(repr, singular_joints(self._model)))
            culprits = f" ({singular} moves no inertia)" if singular else " there"
            raise ArithmeticError(
                f"{self.name}: the result is not finite (sample {_place(sample, lead)}): "
                f"the mass matrix is singular{culprits}, or a number is too large"
            )

    def _label(self, argument: str, position: int) -> str:
        """Which joint an element of q or of a vector of nv numbers belongs to."""
        if not _is_of_joints(argument):
            return f"element {position}"
        for joint in self._model.joints:
            start, size = (joint.q_index, joint.kind.nq) if argument == "q" else (joint.v_index, joint.kind.nv)
            if start <= position < start + size:
                return f"joint {joint.name!r}" + (f" (element {position - start})" if size > 1 else "")
        return f"element {position}"


def empty_arrays(dtype: np.dtype[Any]) -> Callable[[Any], np.ndarray]:
    """`np.empty` of this type."""
    return np.empty if dtype == np.float64 else functools.partial(np.empty, dtype=dtype)


def _is_of_joints(argument: str) -> bool:
    """Whether its numbers belong to degrees of freedom, and not to rows, motors or bodies."""
    return argument.removeprefix("along_") not in OTHERS


def _rows(array: np.ndarray, lead: Shape, shape: Shape) -> np.ndarray:
    """(samples, *shape), without a copy where the array is a single sample or has all the leading axes."""
    count = math.prod(lead)
    if array.shape == shape:
        return np.broadcast_to(array, (count, *shape))
    if array.shape[0] == count and array.ndim == len(shape) + 1:
        return array
    return np.broadcast_to(array, (*lead, *shape)).reshape(count, *shape)


def _place(sample: int, lead: Shape) -> int | Shape:
    """A sample's number, or its index where there are several leading axes."""
    return sample if len(lead) < 2 else tuple(int(k) for k in np.unravel_index(sample, lead))


def _sample(sample: int, lead: Shape) -> str:
    return f" in sample {_place(sample, lead)}" if lead else ""


def check_outputs(name: str, out: Any, count: int) -> None:
    """Raise ValueError where `out` are not so many arrays, or where two of them share memory."""
    if not isinstance(out, (tuple, list)) or len(out) != count:
        several = isinstance(out, (tuple, list)) and count > 1
        got = str(len(out)) if several else f"a {type(out).__name__}"
        raise ValueError(f"{name}: out must be {f'{count} arrays' if count > 1 else 'an array'}, got {got}")
    for k in range(1, count):
        for other in range(k):
            if isinstance(out[k], np.ndarray) and isinstance(out[other], np.ndarray):
                if np.may_share_memory(out[k], out[other]):
                    raise ValueError(f"{name}: out: arrays {other} and {k} share memory, one would overwrite the other")


def no_kernel(*arrays: Any) -> None:
    """Stands for a kernel that is not there yet: as one that cannot take the input."""
