# SPDX-License-Identifier: Apache-2.0
"""Kernels of the motion of configurations, and of a step of time, whose derivatives are right at rest as well."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.configuration_motion import (
    configuration_difference,
    moved_configuration,
    smooth_exponential,
)
from rbd_dynamics.algorithms.free_base_step import free_base_step
from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.time_step import is_plain
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.spatial.scalar import Scalar

Vector = Sequence[Scalar]


def integrate(x: Inputs) -> list[Vector]:
    """`Model.integrate` as a kernel."""
    return [moved_configuration(x.model, x.q, x.v)]


def difference(x: Inputs) -> list[Vector]:
    """`Model.difference` as a kernel."""
    return [configuration_difference(x.model, x.q, x.q_after)]


def step(x: Inputs) -> list[Vector]:
    """A semi-implicit step of time without limits: v' = v + h a, q' = q moved with h v'."""
    (h,) = x.step
    a = forward_dynamics(x.model, x.inertias, x.q, x.v, x.tau, x.wrenches, x.friction)
    reached = [v + h * rate for v, rate in zip(x.v, a)]
    if not isinstance(x.model.bodies[0].joint.kind, Floating) or not is_plain(x.model):
        return [moved_configuration(x.model, x.q, [h * v for v in reached]), reached]
    coriolis = inverse_dynamics(x.model, x.inertias, x.q, x.v, x.still, gravity=False, springs=False)
    found = free_base_step(x.model, x.inertias, x.q, x.v, reached, coriolis, h, exponential=smooth_exponential)
    return [found.q, found.v]
