# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot for CasADi: expressions with exact derivatives, for Ipopt, acados and generated code.

    from rbd_dynamics.casadi import functions
    f = functions(robot)
    q, v, tau = (casadi.SX.sym(name, robot.model.nv) for name in ("q", "v", "tau"))
    casadi.jacobian(f.forward_dynamics(q, v, tau), q)

See docs/learning.md. CasADi itself is imported by `functions`.
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
    """The functions of a robot for CasADi, of one sample: `gradients.Functions` of SX, MX and numbers.

    Vectors are columns. Of SX what they give is an expression of single operations, those of the robot's kernels; of MX
    it calls a function of such expressions; of numbers (DM) it is numbers. Nothing is checked: quaternions must have
    unit length, `prescribed` holds 0 and 1. constraints: a `ConstraintSet` or a sequence of constraints, for
    `constrained_forward_dynamics`. Raises ValueError where CasADi is not installed.
    """
    require("casadi")
    from rbd_dynamics.casadi.expressions import Casadi
    from rbd_dynamics.gradients.functions import Functions

    return Functions(robot, Casadi, constraints=constraints)
