# SPDX-License-Identifier: Apache-2.0
"""Kernels of directional derivatives: any algorithm of the catalog, as it changes while its state moves.

The algorithm itself is run on jets, so that the derivative is exact, by one program two to three times as long. A whole
Jacobian is a batch of directions (`by_directions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.relative_motion import moving_configuration
from rbd_dynamics.common.real_numbers import plain_array
from rbd_dynamics.kernels.entry import Entry
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.spatial.jets import Jet, rate_of
from rbd_dynamics.spatial.row_sweeps import finished

Array = NDArray[np.float64]

#: inputs that a direction moves; of each there is another input, named with "along_" before
MOVING = ("q", "v", "a", "tau", "target")


def directional(entry: Entry, outputs: str = "", fixed: str = "") -> Entry:
    """The kernel of the rates at which outputs change as the state moves, and external wrenches where there are any.

    Its inputs are those of `entry` and then a direction for each that moves: along the tangent for q. outputs: which,
    of the first ones of `entry`; by default all. fixed: inputs that do not move here.
    """
    wanted = outputs or entry.outputs
    assert entry.outputs.startswith(wanted)

    def function(x: Inputs) -> Any:
        moved = {name: [Jet(*pair) for pair in zip(getattr(x, name), along)] for name, along in x.directions.items()}
        moved["q"] = moving_configuration(x.model, x.q, x.directions["q"])
        results = finished(entry.function(x.moved(moved)))
        return [[rate_of(value) for value in vector] for vector, _ in zip(results, wanted.split())]

    moving = [f"along_{name}" for name in entry.inputs.split() if name in MOVING and name not in fixed.split()]
    return Entry(" ".join([entry.inputs, *moving]), wanted, function, entry.of, entry.wrenches)


def by_directions(
    kernel: Evaluation, inputs: Sequence[ArrayLike], groups: Sequence[Sequence[Array | None]]
) -> list[tuple[Array, ...]]:
    """Rates of each output along groups of directions, from a directional kernel; the direction is the last axis.

    inputs: of the kernel but for the directions, with any leading axes. A group: for each input that moves
    (k, ...) directions, None where it does not move.
    """
    arguments = kernel.arguments
    arrays = [plain_array(value, f"{kernel.name}: {argument.name}") for value, argument in zip(inputs, arguments)]
    leads = {argument.name: x.shape[: x.ndim - len(argument.shape)] for x, argument in zip(arrays, arguments)}
    try:
        np.broadcast_shapes(*leads.values())
    except ValueError:
        text = ", ".join(f"{name} has {lead}" for name, lead in leads.items() if lead)
        raise ValueError(f"{kernel.name}: numbers of samples differ: {text}") from None
    # directions are one axis more, behind the leading ones
    spread = [
        np.expand_dims(x, x.ndim - len(argument.shape)) if x.ndim > len(argument.shape) else x
        for x, argument in zip(arrays, arguments)
    ]
    counts = [next(len(part) for part in group if part is not None) for group in groups]
    directions = [
        np.concatenate([np.zeros((k, *argument.shape)) if part is None else part for part, k in zip(parts, counts)])
        for parts, argument in zip(zip(*groups, strict=True), arguments[len(arrays) :], strict=True)
    ]
    found = kernel((*spread, *directions))
    derivatives = []
    for rates, axes in zip(found if isinstance(found, tuple) else (found,), kernel.output_axes):
        by_all = np.moveaxis(rates, rates.ndim - axes - 1, -1)
        parts = np.split(by_all, np.cumsum(counts)[:-1], axis=-1)
        derivatives.append(tuple(map(np.ascontiguousarray, parts)))
    return derivatives
