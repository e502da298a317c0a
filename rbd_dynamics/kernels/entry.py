# SPDX-License-Identifier: Apache-2.0
"""What a kernel of the catalog is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.spatial.scalar import Scalar

Vector = Sequence[Scalar]
Algorithm = Callable[[Inputs], Sequence[Any]]


class Entry(NamedTuple):
    """A kernel: names of what goes in and out, and the function, which returns the outputs in order, each flat.

    of: what it is for besides the robot: a frame ("pose:tool0") or a set of constraints. wrenches: there
    is also a kernel "name_f_ext" with external wrenches.
    """

    inputs: str
    outputs: str
    function: Algorithm
    of: Literal["robot", "frame", "constraints"] = "robot"
    wrenches: bool = False


def rows_of(columns: Sequence[Vector]) -> list[Scalar]:
    """Rows of a matrix that is given by its columns, one after the other."""
    return [entry for row in zip(*columns) for entry in row]
