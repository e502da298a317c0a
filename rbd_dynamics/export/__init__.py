# SPDX-License-Identifier: Apache-2.0
"""The same kernels in C, for real-time loops and small processors.

- `export_c` writes a robot's `KERNELS` as a package in C99, with a thin header for C++, a self-test with reference
  vectors, and object files for other processors: `TARGETS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.export.package import export_c
    from rbd_dynamics.export.selection import KERNELS
    from rbd_dynamics.export.targets import TARGETS
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["KERNELS", "TARGETS", "export_c"]
