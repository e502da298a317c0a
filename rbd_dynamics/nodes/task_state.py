# SPDX-License-Identifier: Apache-2.0
"""Where the tool is and what it feels, as `hybrid_controller` publishes it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rbd_dynamics.nodes.hybrid_engine import Engine
from rbd_dynamics.nodes.messages import SECOND


def task_state(engine: Engine, felt: NDArray[np.float64], *, tilt: bool) -> JointState:
    """Task rows: value, velocity; constraint rows: violation, its rate, and multiplier as effort.

    felt (m): multipliers. tilt: with that of a surface whose normal is estimated, as a row of its own.
    """
    out, controller = engine.supervisor.output, engine.controller
    assert out is not None
    message = JointState(name=[*controller.task.row_names, *controller.constraints.row_names])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(engine.reader.stamp, SECOND)
    message.position = [*out.theta.tolist(), *out.h.tolist()]
    message.velocity = [*out.rate.tolist(), *out.drift.tolist()]
    message.effort = [*[0.0] * controller.k, *felt.tolist()]
    if engine.normal is not None and tilt:
        message.name = [*message.name, "surface.tilt"]
        message.position.append(engine.normal.tilt)
        message.velocity.append(0.0)
        message.effort.append(0.0)
    return message
