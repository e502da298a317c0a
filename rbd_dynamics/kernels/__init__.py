# SPDX-License-Identifier: Apache-2.0
"""The algorithms as kernels: which vectors go in and out of each, and how they are called with what users pass.

`CATALOG` lists them, each an `Entry` over `Inputs`; `BoundModel` makes those of one robot, and each is an `Evaluation`.
`BoundModel.custom_kernel` makes one of a function of one's own.
"""

from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.catalog import CATALOG
from rbd_dynamics.kernels.entry import Entry
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs, RowSource

__all__ = [
    "CATALOG",
    "BoundModel",
    "Entry",
    "Evaluation",
    "Inputs",
    "RowSource",
]
