# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot for JAX: jit, grad, vmap, scan and the rest, at the speed of machine code.

    from rbd_dynamics.jax import functions
    f = functions(robot)
    jax.grad(lambda tau: f.forward_dynamics(q, v, tau).sum())(tau)

See docs/learning.md. JAX itself is imported by `functions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.extras import require

if TYPE_CHECKING:
    from rbd_dynamics.constraints.bound import Constraints
    from rbd_dynamics.jax.robot_functions import JaxFunctions
    from rbd_dynamics.kernels.bound_model import BoundModel

__all__ = ["functions"]


def functions(robot: BoundModel, *, constraints: Constraints | None = None) -> JaxFunctions:
    """The functions of a robot for JAX, on the processor: `gradients.Functions`, and what `jax.export` needs.

    constraints: a `ConstraintSet` or a sequence of constraints, for `constrained_forward_dynamics`. Arrays of single
    and double precision are computed as they are; JAX makes double ones only with jax_enable_x64. Raises ValueError
    where JAX is not installed, RuntimeError for a version of JAX that is not known, or without machine code.
    """
    require("jax")
    from rbd_dynamics.jax.robot_functions import JaxFunctions

    return JaxFunctions(robot, constraints=constraints)
