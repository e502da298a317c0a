# SPDX-License-Identifier: Apache-2.0
"""The state of a task as `hybrid_controller` publishes it: where the tool is, what it feels, what is wanted of both."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.nodes.managed.messages import SECOND, flat
from rbd_dynamics.nodes.tool.hybrid_engine import HybridEngine

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.msg import TaskState


def fill_task_state(message: TaskState, engine: HybridEngine, felt: NDArray[np.float64], *, tilt: bool) -> TaskState:
    """Fill a message with the supervisor's latest output.

    felt (m): multipliers. tilt: with that of a surface whose normal is estimated.
    """
    out, controller = engine.supervisor.output, engine.controller
    assert out is not None
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(engine.reader.stamp, SECOND)
    message.controlled_names = [*controller.task.row_names]
    message.positions, message.velocities = flat(out.theta), flat(out.rate)
    message.desired_positions = flat(engine.supervisor.motion.state()[0])
    message.constraint_names = [*controller.constraints.row_names]
    message.violations, message.violation_rates = flat(out.h), flat(out.drift)
    message.forces, message.desired_forces = flat(felt), flat(engine.supervisor.force)
    if engine.normal is not None and tilt:
        message.surface_tilt = array.array("d", [engine.normal.tilt])
    return message
