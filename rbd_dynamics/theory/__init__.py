# SPDX-License-Identifier: Apache-2.0
"""The textbook forms of the theory, which nothing else in the package imports: to check against and to explain with.

`Robot` computes the same quantities by recursions at control rate. Here they are as the sources write them, over
NumPy arrays, in three modules, each imported when it is first used:

- `screws`: lines with a pitch, and dynamics by their subspaces and mobilities;
- `closed_forms`: the equations of motion as sums, products and sparse operators;
- `montana`: how the touching points of two smooth surfaces move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.theory import closed_forms, montana, screws
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["closed_forms", "montana", "screws"]
