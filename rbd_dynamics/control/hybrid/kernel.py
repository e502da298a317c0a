# SPDX-License-Identifier: Apache-2.0
"""The law of hybrid position/force control as one kernel: what goes in, what comes out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.hybrid.law import HybridLaw, Law
from rbd_dynamics.control.motion.joint_room import PositionLimits
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model

Array = NDArray[np.float64]


class HybridOutput(NamedTuple):
    """What one step found; the same two sets of arrays in turn.

    tau (nv): the command. wanted (nv): the same without effort limits. theta, rate (k): task rows and
    their velocity. h, drift (m): how far the constraints are from being met, and how fast they leave.
    force (m): commanded multipliers. integral (m): of the force error. task_integral (k): of the task error.
    lacking (nv): torque that joints without actuator would need. rank: of constraints and task together.
    braking: how far joints are kept from their limits of velocity, 0 (not) to 1. outside, driven (nv): what accelerates
    joints beside the command and what is measured, as far as it has been seen, and what these do, rad/s^2 or m/s^2.
    """

    tau: Array
    wanted: Array
    theta: Array
    rate: Array
    h: Array
    drift: Array
    force: Array
    integral: Array
    task_integral: Array
    lacking: Array
    rank: Array
    braking: Array
    outside: Array
    driven: Array


def gain_count(k: int) -> int:
    """How many numbers the kernel takes as `gains`, with k task rows."""
    return 2 * k + 10


def output_sizes(nv: int, m: int, k: int) -> list[tuple[int, ...]]:
    """Shapes of the outputs, in the order of `HybridOutput`."""
    joints, rows, task = (nv,), (m,), (k,)
    return [joints, joints, task, task, rows, rows, rows, rows, task, joints, (), (), joints, joints]


def hybrid_kernel(
    model: Model,
    constraints: ConstraintSet,
    task: ConstraintSet,
    *,
    law: Law = "geometric",
    actuated: NDArray[np.bool_] | None = None,
    friction: bool = False,
) -> tuple[Signature, Function]:
    """The whole law as a kernel's function, with what goes in and out.

    Its rows are those of the constraints (m), then of the task (k). actuated (nv): joints with a motor;
    default all. friction: whether the model's friction is compensated.
    """
    rows = ConstraintSet(model, (*constraints.constraints, *task.constraints))
    m, k, nv = (len(constraints),), (len(task),), (model.nv,)
    sizes = sizes_of(model, len(rows), len(rows.parameters))
    own = {"theta": k, "rate": k, "acceleration": k, "force": m, "approach": m, "measured": m, "integral": m}
    own |= {"task_integral": k, "posture": nv, "v_before": nv, "span": (1,), "outside": nv, "driven": nv}
    shared = {"gains": (gain_count(len(task)),)}
    shared |= dict.fromkeys(("limits", "speeds", "lower", "upper", "margins"), nv)
    named = {name: Argument(name, shape) for name, shape in own.items()}
    named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
    results = zip(HybridOutput._fields, output_sizes(model.nv, len(constraints), len(task)))
    outputs = tuple(Argument(f"{name}_found", size) for name, size in results)
    signature = Signature(arguments(f"q v {' '.join(named)} parameters inertia", sizes, named), outputs)
    motors = (True,) * model.nv if actuated is None else tuple(actuated.tolist())
    limited = tuple(PositionLimits.of(model).limited.tolist())
    algorithm = HybridLaw(law, len(constraints), len(task), tuple(task.holonomic.tolist()), motors, limited, rows)
    return signature, function_of(model, signature, algorithm, friction=friction, constraints=rows)
