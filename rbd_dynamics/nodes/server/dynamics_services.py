# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` for free motion: each fills a response, or raises and says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.nodes.managed.messages import flat
from rbd_dynamics.nodes.server.held_joints import held_positions
from rbd_dynamics.nodes.server.samples import Layout, wrenches
from rbd_dynamics.nodes.server.server_engine import ServerEngine

if TYPE_CHECKING:
    from rbd_dynamics_interfaces import srv

Array = NDArray[np.float64]


def inverse_dynamics(
    engine: ServerEngine, request: srv.InverseDynamics.Request, response: srv.InverseDynamics.Response
) -> None:
    def held(moving: Sequence[str]) -> Array:
        return held_positions(
            engine.frictionless, engine.reader, engine.prefix, moving, request.other_joints, "joint_names"
        )

    layout = Layout(engine.model, request.joint_names, engine.prefix, held)
    q = layout.positions(request.positions)
    v = layout.per_freedom("velocities", request.velocities, len(q))
    a = layout.per_freedom("accelerations", request.accelerations, len(q))
    f_ext = wrenches(request.external_wrenches, len(q), engine.prefix, engine.model)
    terms = request.terms or engine.terms
    response.efforts = layout.flat(inverse_dynamics_terms(engine.frictionless, q, v, a, terms, f_ext=f_ext))
    response.joint_names = layout.names


def forward_dynamics(
    engine: ServerEngine, request: srv.ForwardDynamics.Request, response: srv.ForwardDynamics.Response
) -> None:
    layout = Layout(engine.model, request.joint_names, engine.prefix)
    q = layout.positions(request.positions)
    v = layout.per_freedom("velocities", request.velocities, len(q))
    tau = layout.per_freedom("efforts", request.efforts, len(q))
    f_ext = wrenches(request.external_wrenches, len(q), engine.prefix, engine.model)
    response.accelerations = layout.flat(engine.moving.forward_dynamics(q, v, tau, f_ext=f_ext))
    response.joint_names = layout.names


def hybrid_dynamics(
    engine: ServerEngine, request: srv.HybridDynamics.Request, response: srv.HybridDynamics.Response
) -> None:
    layout = Layout(engine.model, request.joint_names, engine.prefix)
    q = layout.positions(request.positions)
    v = layout.per_freedom("velocities", request.velocities, len(q))
    prescribed = layout.flags("prescribed", request.prescribed)
    a = np.where(prescribed, layout.per_freedom("accelerations", request.accelerations, len(q)), 0.0)
    tau = np.where(prescribed, 0.0, layout.per_freedom("efforts", request.efforts, len(q)))
    f_ext = wrenches(request.external_wrenches, len(q), engine.prefix, engine.model)
    a, tau = engine.moving.hybrid_dynamics(q, v, a, tau, prescribed, f_ext=f_ext)
    response.accelerations, response.efforts = layout.flat(a), layout.flat(tau)
    response.joint_names = layout.names


def dynamics_terms(
    engine: ServerEngine, request: srv.DynamicsTerms.Request, response: srv.DynamicsTerms.Response
) -> None:
    layout = Layout(engine.model, request.joint_names, engine.prefix)
    q = layout.positions(request.positions)
    v = layout.per_freedom("velocities", request.velocities, len(q))
    robot = engine.frictionless
    response.mass_matrix = layout.flat_matrices(robot.mass_matrix(q))
    response.coriolis = layout.flat(robot.coriolis(q, v))
    response.gravity = layout.flat(robot.gravity(q))
    response.spring = layout.flat(robot.spring_torque(q))
    response.friction = layout.flat(robot.friction_torque(v) if engine.moving.friction else np.zeros_like(v))
    response.kinetic_energy = flat(robot.kinetic_energy(q, v))
    response.potential_energy = flat(robot.potential_energy(q))
    response.joint_names = layout.names
