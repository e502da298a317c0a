# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` in contact, whose contacts the server knows or the request brings along."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints.results import no_motion, nothing_lacks
from rbd_dynamics.contacts import ContactResiduals
from rbd_dynamics.contacts.dynamics import TOUCHING
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.nodes.managed.messages import flat
from rbd_dynamics.nodes.server.known_contacts import KnownContacts
from rbd_dynamics.nodes.server.samples import MovingRequest
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics_interfaces import srv

Array = NDArray[np.float64]
#: fills the response to a request, whose types are the service's
Answer = Callable[[Robot, "ContactRequest", Any, Any], None]


class ContactRequest(MovingRequest):
    """What the three services have in common: the state, the contacts and the wrenches of a request."""

    def __init__(self, model: Model, prefix: Prefix, known: KnownContacts, request: Any) -> None:
        super().__init__(model, prefix, request)
        self.contacts = known.chosen(tuple(request.contacts), request.contacts_yaml)
        if not (np.isfinite(request.touching) and request.touching >= 0.0):
            raise ValueError(f"touching {request.touching} must be finite and not negative")
        self.touching = request.touching or TOUCHING

    def answer(self, response: Any) -> None:
        """Fill what all responses have."""
        response.joint_names = self.layout.names
        response.row_names = list(self.contacts.rows.row_names)

    @staticmethod
    def laws(residuals: ContactResiduals) -> Any:
        """Four numbers a sample."""
        return flat(np.stack([*residuals], axis=-1))


def contact_forward_dynamics(
    robot: Robot,
    x: ContactRequest,
    request: srv.ContactForwardDynamics.Request,
    response: srv.ContactForwardDynamics.Response,
) -> None:
    tau = x.per_freedom("efforts", request.efforts)
    found = robot.contact_forward_dynamics(x.q, x.v, tau, x.contacts, f_ext=x.f_ext, touching=x.touching)
    response.accelerations, response.forces = x.layout.flat(found.a), flat(found.forces)
    response.converged = found.converged.tolist()
    response.residuals = x.laws(found.residuals)
    x.answer(response)


def contact_inverse_dynamics(
    robot: Robot,
    x: ContactRequest,
    request: srv.ContactInverseDynamics.Request,
    response: srv.ContactInverseDynamics.Response,
) -> None:
    """Raises ValueError for a motion that passes a surface, or that contacts and actuators cannot make."""
    a = x.per_freedom("accelerations", request.accelerations)
    actuated = x.layout.flags("actuated", request.actuated) if len(request.actuated) else None
    found = robot.contact_inverse_dynamics(
        x.q, x.v, a, x.contacts, actuated=actuated, f_ext=x.f_ext, touching=x.touching
    )
    for k, (needed, lacking, motion) in enumerate(zip(found.needed, found.lacking, found.motion)):
        if not no_motion(motion):
            raise ValueError(f"the motion passes a surface in sample {k}: by {float(motion):.6g} m/s^2")
        if not nothing_lacks(needed, lacking):
            dof = int(np.abs(lacking).argmax())
            joint = next(j for j in robot.model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
            raise ValueError(
                f"contacts and actuators cannot make this motion: joint {x.prefix.outside(joint.name)!r}, which has "
                f"no actuator, lacks {lacking[dof]:.6g} in sample {k}"
            )
    response.efforts, response.forces = x.layout.flat(found.tau), flat(found.forces)
    x.answer(response)


def contact_impulse(
    robot: Robot, x: ContactRequest, request: srv.ContactImpulse.Request, response: srv.ContactImpulse.Response
) -> None:
    found = robot.contact_impulse(x.q, x.v, x.contacts, touching=x.touching)
    response.velocities, response.impulses = x.layout.flat(found.v), flat(found.impulses)
    response.stages, response.converged = found.stages.tolist(), found.converged.tolist()
    response.residuals = x.laws(found.residuals)
    x.answer(response)
