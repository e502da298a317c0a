# SPDX-License-Identifier: Apache-2.0
"""What `rbd_dynamics.jax.functions` gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from rbd_dynamics.constraints.bound import Constraints
from rbd_dynamics.gradients.functions import Functions
from rbd_dynamics.gradients.robot_operations import RobotOperations
from rbd_dynamics.jax.primitive import apply
from rbd_dynamics.jax.targets import PREFIX, minor, register
from rbd_dynamics.kernels.bound_model import BoundModel

if TYPE_CHECKING:
    from jax.export import Exported


class _Jax:
    """JAX as a `Library`."""

    name = "JAX"

    def __init__(self, operations: RobotOperations) -> None:
        self._operations = operations

    def apply(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        return apply(self._operations, name, values)

    def elements(self, value: Any, what: str, size: int) -> list[Any]:
        array = jnp.asarray(value)
        if array.ndim > 1 and size != array.shape[-1] and size == array.shape[-1] * array.shape[-2]:
            array = array.reshape(*array.shape[:-2], size)
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"{what} has shape {array.shape}, expected (..., {size})")
        return [array[..., k] for k in range(size)]

    def rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        numbers = jnp.stack(jnp.broadcast_arrays(*(jnp.asarray(x) for row in rows for x in row)), axis=-1)
        return numbers.reshape(*numbers.shape[:-1], len(rows), len(rows[0]))


class JaxFunctions(Functions):
    """`gradients.Functions` for JAX, and what `jax.export` needs."""

    def __init__(self, robot: BoundModel, *, constraints: Constraints | None = None) -> None:
        if isinstance(robot, BoundModel) and robot.backend != "llvm":
            raise RuntimeError(
                f"functions of JAX need machine code, not backend {robot.backend!r}: "
                "pip install 'rbd_dynamics[compiled]', or Robot(model, backend=\"llvm\")"
            )
        minor()  # a version that is not known is an error now, and not in the first call
        super().__init__(robot, _Jax, constraints=constraints)

    def export(self, function: Any, **options: Any) -> Callable[..., Exported]:
        """`jax.export.export(function, **options)` of a jitted function that calls these functions.

        What it gives can be serialized. It holds the names of kernels, not their code: the process that calls it makes
        functions of the same robot, by the same version of rbd_dynamics, and `prepare`s it. For the processor alone.
        """

        from jax import export  # which asks for packages that JAX itself does without

        def of(*args: Any, **named: Any) -> Exported:
            names = _targets(function.lower(*args, **named).as_text())
            allowed = [export.DisabledSafetyCheck.custom_call(name) for name in names]
            return export.export(function, disabled_checks=allowed, **options)(*args, **named)

        return of

    def prepare(self, exported: Exported) -> None:
        """Make the kernels that an exported function calls, in the process that calls it.

        Raises ValueError where it was made for another robot, with other constraints or friction, or by another version
        of rbd_dynamics.
        """
        for name in _targets(exported.mlir_module()):
            register(name, self.operations)


def _targets(module: str) -> list[str]:
    """Names of the targets that a module calls."""
    return sorted(set(re.findall(rf'@"({PREFIX}/[^"]+)"', module)))
