# SPDX-License-Identifier: Apache-2.0
"""Operations of a robot as one operator of PyTorch, of which backward is the same operator of another operation.

There are two forms of it. `torch.library` has the one that graphs of torch.compile hold, with a fake kernel, vmap and
autograd; a function of autograd has forward derivatives besides, which libraries' operators cannot have. Both say which
operation by its name, and which robot by a number: graphs hold no other objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from rbd_dynamics.gradients.operation import Operation, Shape
from rbd_dynamics.gradients.robot_operations import RobotOperations

Tensor: TypeAlias = torch.Tensor
#: of each robot by its number, for good: graphs may outlive all else that holds them
_ROBOTS: list[RobotOperations] = []


class Torch:
    """PyTorch as a `Library`."""

    name = "PyTorch"

    def __init__(self, operations: RobotOperations) -> None:
        _ROBOTS.append(operations)
        self._robot = len(_ROBOTS) - 1

    def apply(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        """The outputs of an operation, of numbers in the precision of the widest; None: the robot's own."""
        values = [torch.as_tensor(value) if isinstance(value, np.ndarray) else value for value in values]
        dtype = _widest(values)
        own = torch.empty(0, dtype=dtype)  # stands for what is the robot's
        tensors = []
        for value in values:
            tensor = own if value is None else torch.as_tensor(value)
            if tensor.dtype != torch.bool:
                tensor = torch.as_tensor(value, dtype=dtype) if value is not None else own
            tensors.append(tensor)
        if torch.compiler.is_compiling():
            return _operator(tensors, name, self._robot)
        return _Kernel.apply(name, self._robot, *tensors)

    def elements(self, value: Any, what: str, size: int) -> list[Any]:
        tensor = torch.as_tensor(value)
        if tensor.ndim > 1 and size != tensor.shape[-1] and size == tensor.shape[-1] * tensor.shape[-2]:
            tensor = tensor.flatten(-2)
        if tensor.ndim == 0 or tensor.shape[-1] != size:
            raise ValueError(f"{what} has shape {tuple(tensor.shape)}, expected (..., {size})")
        return [tensor[..., k] for k in range(size)]

    def rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        numbers = [x for row in rows for x in row]
        dtype = _widest(numbers)
        spread = torch.broadcast_tensors(*(torch.as_tensor(x, dtype=dtype) for x in numbers))
        return torch.stack(spread, dim=-1).unflatten(-1, (len(rows), len(rows[0])))


def _widest(values: Sequence[Any]) -> torch.dtype:
    """The precision of the widest tensor; without any PyTorch's own."""
    given = [value for value in values if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if not given:
        return torch.get_default_dtype()
    dtype = given[0].dtype
    for value in given[1:]:
        dtype = torch.promote_types(dtype, value.dtype)
    return dtype


# --- numbers ----------------------------------------------------------------------------------------------


def _computed(name: str, robot: int, tensors: Sequence[Tensor]) -> list[Tensor]:
    operations = _ROBOTS[robot]
    operation = operations[name]
    dtype = _dtype(operation, tensors)
    arrays = []
    for tensor, own in zip(tensors, operation.signature.inputs):
        if tensor.device.type != "cpu":
            raise ValueError(
                f"{operation.title}: {own.name} is on {tensor.device}, expected one on the processor (cpu)"
            )
        array = tensor.detach().resolve_neg().numpy()
        arrays.append(operations.own(own.name).astype(dtype) if _is_own(tensor, own.shape) else array)
    return [torch.from_numpy(array) for array in operation(arrays)]


def _is_own(tensor: Tensor, shape: Shape) -> bool:
    """Whether a tensor stands for the robot's own numbers."""
    return tuple(tensor.shape) == (0,) and 0 not in shape


def _dtype(operation: Operation, tensors: Sequence[Tensor]) -> Any:
    real = next(tensor for tensor, own in zip(tensors, operation.signature.inputs) if not own.boolean)
    if real.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"{operation.title}: takes numbers in single or double precision, not {real.dtype}")
    return np.float32 if real.dtype == torch.float32 else np.float64


def _leads(operation: Operation, shapes: Sequence[Shape]) -> list[Shape]:
    inputs = operation.signature.inputs
    return operation.leads(
        [own.shape if shape == (0,) and 0 not in own.shape else shape for shape, own in zip(shapes, inputs)]
    )


def _shapes(name: str, robot: int, tensors: Sequence[Tensor]) -> list[Shape]:
    operation = _ROBOTS[robot][name]
    lead = operation.lead(_leads(operation, [tuple(tensor.shape) for tensor in tensors]))
    return [(*lead, *own.shape) for own in operation.signature.outputs]


# --- derivatives ------------------------------------------------------------------------------------------


def _active(operation: Operation, tensors: Sequence[Tensor], wanted: Sequence[bool]) -> list[bool]:
    """Inputs by which there is a derivative, of those that are wanted."""
    return [
        want and not own.boolean and not _is_own(tensor, own.shape)
        for tensor, own, want in zip(tensors, operation.signature.inputs, wanted)
    ]


def _backward(call: Any, name: str, robot: int, tensors: Sequence[Tensor], weights: Any, wanted: Any) -> list[Any]:
    """The gradient by each tensor, by the operator itself of the operation's cotangent."""
    operation = _ROBOTS[robot][name]
    active = _active(operation, tensors, wanted)
    if not any(active):
        return [None] * len(tensors)
    real = next(tensor for tensor, own in zip(tensors, operation.signature.inputs) if not own.boolean)
    shapes = _shapes(name, robot, tensors)
    given = [
        torch.zeros(shape, dtype=real.dtype) if weight is None else weight for weight, shape in zip(weights, shapes)
    ]
    found = iter(call(operation.cotangent(active).name, robot, [*tensors, *given]))
    return [_summed(next(found), tensor.shape) if one else None for tensor, one in zip(tensors, active)]


def _summed(gradient: Tensor, shape: Sequence[int]) -> Tensor:
    """The sum over leading axes that were broadcast."""
    return gradient.sum_to_size(shape) if gradient.shape != shape else gradient


def _batched(call: Any, name: str, robot: int, tensors: Sequence[Tensor], axes: Sequence[Any], size: int) -> Any:
    """The operator for tensors with one more axis, which becomes the first."""
    operation = _ROBOTS[robot][name]
    moved = [tensor if axis is None else tensor.movedim(axis, 0) for tensor, axis in zip(tensors, axes)]
    shapes = [tuple(x.shape) if axis is None else tuple(x.shape[1:]) for x, axis in zip(moved, axes)]
    leads = _leads(operation, shapes)
    longest = max(map(len, leads))
    spread = [
        x if axis is None else x.reshape(size, *[1] * (longest - len(lead)), *shape)
        for x, axis, lead, shape in zip(moved, axes, leads, shapes)
    ]
    found = list(call(name, robot, spread))
    return found, [0] * len(found)


# --- the two forms ----------------------------------------------------------------------------------------


class _Kernel(torch.autograd.Function):
    @staticmethod
    def forward(name: str, robot: int, *tensors: Tensor) -> Any:
        return tuple(_computed(name, robot, tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.name, ctx.robot, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        found = _backward(_apply, ctx.name, ctx.robot, ctx.saved_tensors, weights, ctx.needs_input_grad[2:])
        return None, None, *found

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, *rates: Any) -> Any:
        tensors, operation = ctx.saved_tensors, _ROBOTS[ctx.robot][ctx.name]
        active = _active(operation, tensors, [rate is not None for rate in rates])
        moving = [rate for rate, moves in zip(rates, active) if moves]
        return tuple(_apply(operation.tangent(active).name, ctx.robot, [*tensors, *moving]))

    @staticmethod
    def vmap(info: Any, in_dims: Any, name: str, robot: int, *tensors: Tensor) -> Any:
        found, axes = _batched(_apply, name, robot, tensors, in_dims[2:], info.batch_size)
        return tuple(found), tuple(axes)


def _apply(name: str, robot: int, tensors: Sequence[Tensor]) -> Any:
    return _Kernel.apply(name, robot, *tensors)


@torch.library.custom_op("rbd_dynamics::kernel", mutates_args=())
def _operator(tensors: Sequence[Tensor], name: str, robot: int) -> list[Tensor]:
    return _computed(name, robot, tensors)


def _operate(name: str, robot: int, tensors: Sequence[Tensor]) -> Any:
    return _operator(list(tensors), name, robot)


@_operator.register_fake
def _fake(tensors: Sequence[Tensor], name: str, robot: int) -> list[Tensor]:
    real = next(tensor for tensor in tensors if tensor.dtype != torch.bool)
    return [torch.empty(shape, dtype=real.dtype) for shape in _shapes(name, robot, tensors)]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, ctx.name, ctx.robot = inputs
    ctx.save_for_backward(*tensors)


def _back(ctx: Any, weights: Any) -> Any:
    wanted = ctx.needs_input_grad[0]
    return _backward(_operate, ctx.name, ctx.robot, ctx.saved_tensors, weights, wanted), None, None


_operator.register_autograd(_back, setup_context=_keep)


@_operator.register_vmap
def _mapped(info: Any, in_dims: Any, tensors: Sequence[Tensor], name: str, robot: int) -> Any:
    return _batched(_operate, name, robot, tensors, in_dims[0], info.batch_size)
