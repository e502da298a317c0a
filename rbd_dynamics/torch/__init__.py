# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot for PyTorch: autograd of every order, torch.func, and torch.compile without a graph break.

    from rbd_dynamics.torch import functions
    f = functions(robot)
    f.forward_dynamics(q, v, tau).sum().backward()

See docs/learning.md. PyTorch itself is imported by `functions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.extras import require

if TYPE_CHECKING:
    from rbd_dynamics.constraints.bound import Constraints
    from rbd_dynamics.gradients.functions import Functions
    from rbd_dynamics.kernels.bound_model import BoundModel

__all__ = ["functions"]


def functions(robot: BoundModel, *, constraints: Constraints | None = None) -> Functions:
    """The functions of a robot for PyTorch, for tensors in the processor's memory: `gradients.Functions`.

    constraints: a `ConstraintSet` or a sequence of constraints, for `constrained_forward_dynamics`. Tensors of single
    and double precision are computed as they are. What this gives, and its robot, stay in memory for good, since graphs
    of PyTorch may outlive it. Raises ValueError where PyTorch is not installed.
    """
    require("torch")
    from rbd_dynamics.gradients.functions import Functions
    from rbd_dynamics.torch.operators import Torch

    return Functions(robot, Torch, constraints=constraints)
