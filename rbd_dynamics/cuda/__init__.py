# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot on a GPU of NVIDIA, for batches: one sample a thread, in arrays of CuPy, PyTorch and JAX.

    from rbd_dynamics.cuda import functions
    f = functions(robot)
    a = f.forward_dynamics(q, v, tau)        # an array of CuPy; torch.from_dlpack(a) takes it without a copy

See docs/learning.md. CuPy itself is imported by `functions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.extras import require

if TYPE_CHECKING:
    from rbd_dynamics.constraints.bound import Constraints
    from rbd_dynamics.cuda.robot_functions import CudaFunctions
    from rbd_dynamics.kernels.bound_model import BoundModel

__all__ = ["functions"]


def functions(robot: BoundModel, *, constraints: Constraints | None = None) -> CudaFunctions:
    """The functions of a robot on CUDA's current device: those of `gradients.Functions`, without gradients.

    Arguments are arrays in the device's memory that have DLPack (CuPy, PyTorch, JAX), read where they are, or NumPy's
    and numbers, which are copied there. Results are arrays of CuPy, on CuPy's current stream. The precision is that of
    the widest array. Each function is compiled by NVRTC when it is first called. constraints: a `ConstraintSet` or a
    sequence of constraints, for `constrained_forward_dynamics`. Raises ValueError where CuPy is not installed,
    RuntimeError where there is no device.
    """
    require("cupy")
    from rbd_dynamics.cuda.device import Device
    from rbd_dynamics.cuda.robot_functions import CudaFunctions

    return CudaFunctions(robot, Device(), constraints=constraints)
