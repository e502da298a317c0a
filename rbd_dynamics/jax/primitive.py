# SPDX-License-Identifier: Apache-2.0
"""Operations of a robot as a primitive of JAX: what each of JAX's transformations makes of them.

There is one primitive; which operation it stands for is its parameter. Its derivative is the operation's tangent, the
transposed of that is its cotangent: both are operations again, so that derivatives nest without end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from rbd_dynamics.gradients.operation import Operation
from rbd_dynamics.gradients.robot_operations import RobotOperations
from rbd_dynamics.jax.targets import target

kernel_p = Primitive("rbd_dynamics_kernel")
kernel_p.multiple_results = True


def apply(operations: RobotOperations, name: str, values: Sequence[Any]) -> list[Any]:
    """An operation for what JAX takes as arrays. Raises ValueError for shapes that do not fit.

    All numbers are taken in the precision of the widest, single or double, those of the robot in that one.
    """
    operation = operations[name]
    inputs = operation.signature.inputs
    arrays = [None if value is None else jnp.asarray(value) for value in values]
    given = [array for array, own in zip(arrays, inputs) if not own.boolean and array is not None]
    dtype = jnp.result_type(*given, jnp.float32)
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"{operation.title}: takes numbers in single or double precision, not {dtype}")
    numbers = [
        jnp.asarray(operations.own(own.name), dtype) if array is None else array.astype(bool if own.boolean else dtype)
        for array, own in zip(arrays, inputs)
    ]
    return kernel_p.bind(*_with_one_lead(operation, numbers), operation=operation)


def _with_one_lead(operation: Operation, arrays: Sequence[Any]) -> list[Any]:
    """Arrays whose leading axes are the same, where they have any."""
    leads = operation.leads([array.shape for array in arrays])
    lead = operation.lead(leads)
    return [
        array if own in ((), lead) else jnp.broadcast_to(array, (*lead, *argument.shape))
        for array, own, argument in zip(arrays, leads, operation.signature.inputs)
    ]


@functools.cache
def _compiled(operation: Operation) -> Callable[..., Any]:
    return jax.jit(lambda *arrays: kernel_p.bind(*arrays, operation=operation))


@kernel_p.def_impl
def _impl(*arrays: Any, operation: Operation) -> Any:
    return _compiled(operation)(*arrays)


@kernel_p.def_abstract_eval
def _abstract(*arrays: Any, operation: Operation) -> list[Any]:
    lead = operation.lead(operation.leads([array.shape for array in arrays]))
    dtype = _dtype(operation, arrays)
    return [jax.core.ShapedArray((*lead, *own.shape), dtype) for own in operation.signature.outputs]


def _dtype(operation: Operation, arrays: Sequence[Any]) -> Any:
    return next(array.dtype for array, own in zip(arrays, operation.signature.inputs) if not own.boolean)


def _lowered(ctx: Any, *operands: Any, operation: Operation) -> Any:
    arrays = ctx.avals_in
    leads = operation.leads([array.shape for array in arrays])
    name = target(operation, _dtype(operation, arrays), leads, batches=any(leads))
    return jax.ffi.ffi_lowering(name)(ctx, *operands)


mlir.register_lowering(kernel_p, _lowered, platform="cpu")


def _jvp(primals: Sequence[Any], rates: Sequence[Any], *, operation: Operation) -> tuple[list[Any], list[Any]]:
    results = kernel_p.bind(*primals, operation=operation)
    active = [
        not own.boolean and type(rate) is not ad.Zero and rate.dtype != jax.dtypes.float0
        for rate, own in zip(rates, operation.signature.inputs)
    ]
    if not any(active):
        return results, [jnp.zeros_like(result) for result in results]
    moving = [rate for rate, moves in zip(rates, active) if moves]
    derivative = operation.tangent(active)
    return results, kernel_p.bind(*_with_one_lead(derivative, [*primals, *moving]), operation=derivative)


ad.primitive_jvps[kernel_p] = _jvp


def _transposed(weights: Sequence[Any], *arrays: Any, operation: Operation) -> list[Any]:
    count = len(arrays) - operation.linear
    fixed, linear = arrays[:count], arrays[count:]
    if operation.parent is None or any(map(ad.is_undefined_primal, fixed)):
        raise NotImplementedError(f"{operation.title} is not linear in what is to be transposed")
    unknown = [ad.is_undefined_primal(array) for array in linear]
    given = [ad.instantiate_zeros(weight) for weight in weights]
    other = operation.transposed(unknown)
    found = kernel_p.bind(*_with_one_lead(other, [*fixed, *given]), operation=other)
    if len(found) != sum(unknown):  # rates of all outputs, of which some are wanted
        found = [each for each, wanted in zip(found, unknown) if wanted]
    wanted = iter(found)
    return [
        *(None for _ in fixed),
        *(_summed(next(wanted), array.aval.shape) if one else None for array, one in zip(linear, unknown)),
    ]


def _summed(array: Any, shape: tuple[int, ...]) -> Any:
    """The sum over leading axes that an input does not have."""
    return array.sum(tuple(range(array.ndim - len(shape)))) if array.ndim > len(shape) else array


ad.primitive_transposes[kernel_p] = _transposed


def _batched(arrays: Sequence[Any], axes: Sequence[Any], *, operation: Operation) -> tuple[list[Any], list[int]]:
    """The new axis is the first of the leading ones, also of arrays that have others but not this one."""
    moved = [array if axis is None else jnp.moveaxis(array, axis, 0) for array, axis in zip(arrays, axes)]
    shapes = [array.shape if axis is None else array.shape[1:] for array, axis in zip(moved, axes)]
    leads = operation.leads(shapes)
    lead = operation.lead(leads)
    size = next(array.shape[0] for array, axis in zip(moved, axes) if axis is not None)
    spread = []
    for array, axis, own, argument in zip(moved, axes, leads, operation.signature.inputs):
        if axis is None and own == ():
            spread.append(array)
            continue
        if axis is not None and own != lead:
            array = array.reshape(size, *(1 for _ in lead[len(own) :]), *own, *argument.shape)
        spread.append(jnp.broadcast_to(array, (size, *lead, *argument.shape)))
    return kernel_p.bind(*spread, operation=operation), [0] * len(operation.signature.outputs)


batching.primitive_batchers[kernel_p] = _batched
