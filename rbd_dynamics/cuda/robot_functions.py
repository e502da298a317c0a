# SPDX-License-Identifier: Apache-2.0
"""What `rbd_dynamics.cuda.functions` gives."""

from __future__ import annotations

from functools import partial
from typing import Any

from rbd_dynamics.constraints.bound import Constraints
from rbd_dynamics.cuda.batches import Batches, Machine
from rbd_dynamics.gradients.functions import Functions, Wrenches
from rbd_dynamics.kernels.bound_model import BoundModel


class CudaFunctions(Functions):
    """`gradients.Functions` on a GPU: values alone, and matrices of derivatives as in `Robot`."""

    def __init__(self, robot: BoundModel, machine: Machine, *, constraints: Constraints | None = None) -> None:
        super().__init__(robot, partial(Batches, machine=machine), constraints=constraints)

    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, *, f_ext: Wrenches | None = None, inertial_parameters: Any = None
    ) -> tuple[Any, Any, Any]:
        """(dtau/dq, dtau/dv, dtau/da = M), each (..., nv, nv), by tangent directions."""
        dq, dv, da = self._under("inverse_dynamics_derivatives", (q, v, a), f_ext, inertial_parameters)
        return dq, dv, da

    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, *, f_ext: Wrenches | None = None, inertial_parameters: Any = None
    ) -> tuple[Any, Any, Any]:
        """(da/dq, da/dv, da/dtau), each (..., nv, nv), by tangent directions."""
        dq, dv, dtau = self._under("forward_dynamics_derivatives", (q, v, tau), f_ext, inertial_parameters)
        return dq, dv, dtau
