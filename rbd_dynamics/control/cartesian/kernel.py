# SPDX-License-Identifier: Apache-2.0
"""The law of Cartesian control as one kernel: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.modal_damping import ModalDamping
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.control.cartesian.gains import GainNumbers
from rbd_dynamics.control.cartesian.law import CartesianLaw, Law, square
from rbd_dynamics.control.motion.joint_room import PositionLimits
from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
Vector = Sequence[Scalar]


class CartesianOutput(NamedTuple):
    """What one step found; the same two sets of arrays in turn. Six numbers have the angular part first.

    tau (nv): the command. wanted (nv): the same without effort limits. theta, rate (6): the measured chart coordinates
    and their rates. pose (12): rotation matrix and place of the tool in the root frame. twist (6): of its point, root
    axes. error, slip (6): rotation vector and way to where it is wanted, and what its twist lacks, in the axes of
    stiffness. wrench (6): what the tool presses with, root axes, without the model's part. stiffness (6, 6): that was
    used. tank: energy left, J. manipulability: sqrt(det(J J^T)). energy: of the spring, J. power: dissipated, W.
    braking: how much joints, or the whole robot, are kept from going faster, 0 to 1. outside, driven (nv): what
    accelerates joints beside the command, as far as it has been seen, and by the command, rad/s^2 or m/s^2.
    """

    tau: Array
    wanted: Array
    theta: Array
    rate: Array
    pose: Array
    twist: Array
    error: Array
    slip: Array
    wrench: Array
    stiffness: Array
    tank: Array
    manipulability: Array
    energy: Array
    power: Array
    braking: Array
    outside: Array
    driven: Array


def output_sizes(nv: int) -> list[tuple[int, ...]]:
    """Shapes of the outputs, in the order of `CartesianOutput`."""
    tool: list[tuple[int, ...]] = [(6,), (6,), (12,), (6,), (6,), (6,), (6,), (36,)]
    return [(nv,), (nv,), *tool, *[(1,)] * 5, (nv,), (nv,)]


def damping_kernel() -> tuple[Signature, Function]:
    """Damping (6, 6) of the law `impedance`, out of stiffness and mobility (6, 6) of the tool.

    dampings (6): negative where the ratio counts; ratios (6), of the axes.
    """
    matrices = Argument("stiffness", (6, 6)), Argument("mobility", (6, 6))
    return Signature(
        (*matrices, Argument("dampings", (6,)), Argument("ratios", (6,))), (Argument("D", (6, 6)),)
    ), _damping


def _damping(stiffness: Vector, mobility: Vector, dampings: Vector, ratios: Vector) -> list[Vector]:
    damping = ModalDamping.of(dampings, ratios, square(stiffness), square(mobility))
    columns = [damping.times([float(i == j) for i in range(6)]) for j in range(6)]
    return [[column[i] for i in range(6) for column in columns]]


def cartesian_kernel(model: Model, frame: str, law: Law = "impedance") -> tuple[Signature, Function]:
    """The whole law as a kernel's function, with what goes in and out, for the tool on a link or joint.

    All joints of the model have one degree of freedom. Raises KeyError for an unknown frame.
    """
    nv = (model.nv,)
    own = {
        "v_before": nv, "span": (1,), "base": (3, 3), "theta": (6,), "rate": (6,), "acceleration": (6,),
        "wrench": (12,), "posture": nv, "posture_rate": nv,
        "stiffness": (36,), "wanted_stiffness": (36,), "tank": (1,), "dt": (1,),
        "outside": nv, "driven": nv,
    }  # fmt: skip
    shared = {
        "tool": (12,), "gains": (len(GainNumbers._fields),), "damping": (6,), "carrier": (2,), "axes": (9,),
        "weights": (len(TERMS),), "lower": nv, "upper": nv, "margins": nv, "limit_torques": nv, "speeds": nv,
        "limits": nv,
    }  # fmt: skip
    named = {name: Argument(name, shape) for name, shape in own.items()}
    named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
    results = zip(CartesianOutput._fields, output_sizes(model.nv))
    outputs = tuple(Argument(f"{name}_found", size) for name, size in results)
    signature = Signature(arguments(f"q v {' '.join(named)} inertia", sizes_of(model), named), outputs)
    continuous = tuple(joint.kind.name == "continuous" for joint in model.joints)
    limited = tuple(PositionLimits.of(model).limited.tolist())
    algorithm = CartesianLaw(law, continuous, limited, model.nv >= 6)
    return signature, function_of(model, signature, algorithm, frame=frame)
