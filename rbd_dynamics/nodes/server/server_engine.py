# SPDX-License-Identifier: Apache-2.0
"""What `dynamics_server` works with: one model, as a robot without friction and as one with what the server models."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.terms import FRICTION
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.dynamics_server import DynamicsServerParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.nodes.server.known_constraints import KnownConstraints
from rbd_dynamics.nodes.server.known_contacts import KnownContacts
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories import interior_point, passes

#: of the robot whose terms are summed
TERM_KERNELS = (
    "inverse_dynamics", "inverse_dynamics_f_ext", "mass_matrix", "coriolis", "gravity", "springs", "friction",
    "kinetic_energy", "potential_energy",
)  # fmt: skip
#: of the robot that moves
MOTION_KERNELS = ("forward_dynamics", "hybrid_dynamics", "forward_dynamics_f_ext", "hybrid_dynamics_f_ext")


@dataclass
class ServerEngine:
    """Everything about one robot model.

    `frictionless` is for inverse dynamics, of which friction is a term; `moving` for what efforts do. It has friction
    if that is among `terms`; otherwise both are the same robot.
    """

    model: Model
    frictionless: Robot
    moving: Robot
    terms: tuple[str, ...]  # of inverse dynamics where a request names none
    prefix: Prefix
    reader: JointStateReader | None  # of joints that a JointState can carry
    known: KnownConstraints
    known_contacts: KnownContacts

    @property
    def robots(self) -> list[Robot]:
        """Each once."""
        return [self.frictionless] if self.moving is self.frictionless else [self.frictionless, self.moving]

    def fits(self, terms: tuple[str, ...]) -> bool:
        """Whether no other engine is needed for them."""
        return self.moving.friction == (FRICTION in terms)


def build_engine(model: Model, params: DynamicsServerParameters, progress: Progress) -> ServerEngine:
    """An engine with all kernels compiled. Raises ValueError or KeyError for a file that does not fit."""
    frictionless = Robot(model)
    moving = Robot(model, friction=True) if FRICTION in params.terms else frictionless
    frictionless.compile(*TERM_KERNELS, progress=progress)
    moving.compile(*MOTION_KERNELS, progress=progress)
    passes.loops()
    interior_point.loops()
    prefix = Prefix(params.tf_prefix, model)
    reader = None
    if model.nq == model.nv == len(model.joints):
        names = [prefix.outside(name) for name in model.joint_names]
        reader = JointStateReader(names, [], initial=model.neutral())
    known = KnownConstraints(params.constraints_file, moving, prefix)
    contacts = KnownContacts(params.contacts_file, moving, prefix)
    for sets in (known, contacts):
        sets.compile(progress=progress)
    return ServerEngine(model, frictionless, moving, params.terms, prefix, reader, known, contacts)
