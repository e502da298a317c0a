# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` under constraints, whose names the server knows or the request brings along."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints.results import nothing_lacks
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.nodes.managed.messages import flat
from rbd_dynamics.nodes.server.known_constraints import KnownConstraints
from rbd_dynamics.nodes.server.samples import MovingRequest
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from typing import TypeAlias

    from rbd_dynamics_interfaces import srv

    Request: TypeAlias = (
        srv.ConstrainedForwardDynamics.Request
        | srv.ConstrainedHybridDynamics.Request
        | srv.ConstrainedInverseDynamics.Request
    )
    Response: TypeAlias = (
        srv.ConstrainedForwardDynamics.Response
        | srv.ConstrainedHybridDynamics.Response
        | srv.ConstrainedInverseDynamics.Response
    )

Array = NDArray[np.float64]
#: fills the response to a request, whose types are the service's
Answer = Callable[[Robot, "ConstrainedRequest", Any, Any], None]
CONTRADICTION = 1e-6  # of the largest acceleration: from here on it is no rounding


class Impossible(ValueError):
    """There is no such motion; `fields` of the response tell by how much it is missed."""

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.fields = fields


class ConstrainedRequest(MovingRequest):
    """What the three services have in common: the state, the constraints and the wrenches of a request."""

    def __init__(self, model: Model, prefix: Prefix, known: KnownConstraints, request: Request) -> None:
        super().__init__(model, prefix, request)
        self.constraints = known.chosen(tuple(request.constraints), request.constraints_yaml)

    def answer(self, response: Response, multipliers: Array, rank: Array, residual: Array, of: str = "") -> None:
        """Fill what all responses have."""
        response.joint_names = self.layout.names
        response.row_names = list(self.constraints.row_names)
        response.multipliers, response.residual = flat(multipliers), flat(residual)
        response.rank = [int(round(float(r))) for r in rank]
        rows = len(self.constraints)
        if min(response.rank) < rows:
            sample = int(np.argmin(response.rank))
            response.message = (
                f"{rows - response.rank[sample]} of {rows} rows are redundant{of} in sample {sample}: "
                "multipliers are not unique"
            )

    def check_residual(self, residual: Array, a: Array, reason: str) -> None:
        """Raises Impossible, with a reason for row {row}, where an acceleration is not what the constraints want."""
        off = np.abs(residual) / (1.0 + np.abs(a).max(axis=1, keepdims=True))
        if off.max() > CONTRADICTION:
            sample, row = np.unravel_index(int(off.argmax()), off.shape)
            names = self.constraints.row_names
            raise Impossible(
                f"{reason.format(row=repr(names[row]))} in sample {sample}: its acceleration is off by "
                f"{residual[sample, row]:.6g}",
                row_names=list(names),
                residual=flat(residual),
            )


def constrained_forward_dynamics(
    robot: Robot,
    x: ConstrainedRequest,
    request: srv.ConstrainedForwardDynamics.Request,
    response: srv.ConstrainedForwardDynamics.Response,
) -> None:
    """Raises Impossible where rows contradict each other."""
    tau = x.per_freedom("efforts", request.efforts)
    found = robot.constrained_hybrid_dynamics(
        x.q, x.v, np.zeros_like(tau), tau, np.zeros(robot.model.nv, bool), x.constraints, f_ext=x.f_ext
    )
    x.check_residual(found.residual, found.a, "constraint row {row} contradicts the rows before it")
    response.accelerations = x.layout.flat(found.a)
    x.answer(response, found.multipliers, found.rank, found.residual)


def constrained_hybrid_dynamics(
    robot: Robot,
    x: ConstrainedRequest,
    request: srv.ConstrainedHybridDynamics.Request,
    response: srv.ConstrainedHybridDynamics.Response,
) -> None:
    """Raises Impossible where prescribed accelerations violate a constraint."""
    prescribed = x.layout.flags("prescribed", request.prescribed)
    a = np.where(prescribed, x.per_freedom("accelerations", request.accelerations), 0.0)
    tau = np.where(prescribed, 0.0, x.per_freedom("efforts", request.efforts))
    found = robot.constrained_hybrid_dynamics(x.q, x.v, a, tau, prescribed, x.constraints, f_ext=x.f_ext)
    x.check_residual(found.residual, found.a, "the prescribed motion, or a row before, violates constraint row {row}")
    response.accelerations, response.efforts = x.layout.flat(found.a), x.layout.flat(found.tau)
    of = " for the joints that are not prescribed" if prescribed.any() else ""
    x.answer(response, found.multipliers, found.rank, found.residual, of)


def constrained_inverse_dynamics(
    robot: Robot,
    x: ConstrainedRequest,
    request: srv.ConstrainedInverseDynamics.Request,
    response: srv.ConstrainedInverseDynamics.Response,
) -> None:
    """Raises Impossible where constraints or actuators do not allow the motion."""
    actuated = x.layout.flags("actuated", request.actuated) if len(request.actuated) else np.ones(robot.model.nv, bool)
    a, passive = x.per_freedom("accelerations", request.accelerations), x.per_freedom("efforts", request.efforts)
    found = robot.constrained_inverse_dynamics(
        x.q, x.v, a, x.constraints, actuated=actuated, objective=request.objective or "torque",
        tau=np.where(actuated, 0.0, passive), f_ext=x.f_ext,
    )  # fmt: skip
    x.check_residual(found.residual, a, "the motion violates constraint row {row}")
    _check_actuators(robot.model, x, found.lacking, found.needed)
    # its own rank is of the rows as joints without actuator feel them; redundant are rows for all joints
    still, none = np.zeros_like(a), np.zeros(robot.model.nv, bool)
    rank = robot.constrained_hybrid_dynamics(x.q, x.v, still, still, none, x.constraints, f_ext={}).rank
    response.efforts = x.layout.flat(np.where(actuated, found.tau, passive))
    x.answer(response, found.multipliers, rank, found.residual)


def _check_actuators(model: Model, x: ConstrainedRequest, lacking: Array, needed: Array) -> None:
    for sample, (torque, left) in enumerate(zip(needed, lacking)):
        if not nothing_lacks(torque, left):
            dof = int(np.abs(left).argmax())
            joint = next(j for j in model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
            raise Impossible(
                f"the actuators cannot make this motion: joint {x.prefix.outside(joint.name)!r}, which has none, lacks "
                f"{left[dof]:.6g} in sample {sample}"
            )
