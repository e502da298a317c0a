# SPDX-License-Identifier: Apache-2.0
"""Unilateral contacts with Coulomb friction: what touches what, and sets of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints import WORLD_FRAME, ConstraintSet, Plane, RollingBall, Surface
from rbd_dynamics.constraints.forms import number
from rbd_dynamics.contacts.laws import LAWS, law_of
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Contact:
    """A ball about a point of `frame` and a surface that is fixed to the world, or to another body.

    Parameters:
        name: for messages.
        frame: link or joint that carries the ball.
        surface: plane, sphere or cylinder, or one whose `value` is the distance.
        radius: of the ball, m; small for a point.
        friction_coefficient: of Coulomb friction between both.
        restitution: part of the normal velocity with which it rebounds, 0 to 1.
        compliance: m/N; 0: rigid. damping: N s/m, of what is compliant: f_n = -gap / compliance - damping * rate.
        placement: of the ball's centre in the frame. surface_placement: of the surface in the reference.
        reference: link or joint that carries the surface.

    Raises ValueError for numbers that make no sense.
    """

    name: str
    frame: str
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    radius: float = 1e-3
    friction_coefficient: float = 0.0
    restitution: float = 0.0
    compliance: float = 0.0
    damping: float = 0.0
    placement: Transform = IDENTITY
    surface_placement: Transform = IDENTITY
    reference: str = WORLD_FRAME

    def __post_init__(self) -> None:
        where = f"contact {excerpt(self.name)}"
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"contact name {excerpt(self.name)} is not a text")
        for key in ("friction_coefficient", "restitution", "compliance", "damping"):
            number(getattr(self, key), f"{where}: {key}")
        if not (0.0 <= self.friction_coefficient < math.inf and 0.0 <= self.restitution <= 1.0):
            raise ValueError(
                f"{where}: friction_coefficient {self.friction_coefficient} must not be negative and restitution "
                f"{self.restitution} must be between 0 and 1"
            )
        for key in ("compliance", "damping"):
            if not 0.0 <= getattr(self, key) < math.inf:
                raise ValueError(f"{where}: {key} {getattr(self, key)} must be finite and not negative")
        if self.compliance and self.restitution:
            raise ValueError(f"{where}: what is compliant rebounds by its spring: either compliance or restitution")
        if self.damping and not self.compliance:
            raise ValueError(f"{where}: damping is of a compliant contact; this one is rigid")
        try:
            self.rows()
        except ValueError as error:
            raise ValueError(str(error).replace(f"constraint {self.name!r}", where, 1)) from None

    def renamed(self, rename: Callable[[str], str]) -> Contact:
        """The contact with `rename` applied to the frames that it names, as for a prefix of a robot among others."""
        return replace(self, frame=rename(self.frame), reference=rename(self.reference))

    def rows(self) -> RollingBall:
        """Its normal and its two tangents as constraint rows."""
        return RollingBall(
            self.name, self.frame, self.reference, surface=self.surface, radius=self.radius,
            placement=self.placement, reference_placement=self.surface_placement,
        )  # fmt: skip


class ContactLaws:
    """Numbers (n) of n contacts, in order: friction, restitution, compliance, damping. cone: as `ContactSet` has it."""

    def __init__(self, contacts: Iterable[Contact], cone: str) -> None:
        self.contacts, self.friction_law = tuple(contacts), law_of(cone)
        self.friction = self._numbers("friction_coefficient")
        self.restitution = self._numbers("restitution")
        self.compliance, self.damping = self._numbers("compliance"), self._numbers("damping")

    def _numbers(self, name: str) -> Array:
        numbers = np.array([getattr(contact, name) for contact in self.contacts], dtype=float)
        numbers.setflags(write=False)
        return numbers

    def __len__(self) -> int:
        return len(self.contacts)

    @property
    def cone(self) -> str:
        """Name of the law of friction."""
        return self.friction_law.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the contacts, in order."""
        return tuple(contact.name for contact in self.contacts)


class ContactSet(ContactLaws):
    """Contacts of one model; made once, in some milliseconds, and used at control rate. Threads may share it.

    Parameters:
        cone: the law of friction, a name in `CONES`; "elliptic" is Coulomb's (see `laws`).

    Raises KeyError for an unknown frame, TypeError for what is no contact, ValueError for an unknown cone, for two
    contacts of one name, and for frames that do not move against each other.
    """

    def __init__(self, model: Model, contacts: Iterable[Contact], *, cone: str = LAWS[0].name) -> None:
        given = tuple(contacts)
        for contact in given:
            if not isinstance(contact, Contact):
                raise TypeError(f"contacts must be Contacts, not {excerpt(contact)}")
        if not given:
            raise ValueError("contacts: there are none")
        super().__init__(given, cone)
        self.model = model
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise ValueError(f"contact name {excerpt(repeated[0])} occurs twice")
        for contact in given:
            bodies = [_body_of(model, contact, name) for name in (contact.frame, contact.reference)]
            if bodies[0] == bodies[1]:
                raise ValueError(
                    f"contact {excerpt(contact.name)}: {excerpt(contact.frame)} and {excerpt(contact.reference)} do "
                    "not move against each other"
                )
        #: three rows for each contact: normal, and two tangents
        self.rows = ConstraintSet(model, [contact.rows() for contact in given])


def _body_of(model: Model, contact: Contact, name: str) -> int:
    if name == WORLD_FRAME:
        return WORLD
    try:
        return model.frame(name).body
    except KeyError as error:
        raise KeyError(f"contact {excerpt(contact.name)}: {error.args[0]}") from None


def contact_set_of(model: Model, contacts: ContactSet | Iterable[Contact]) -> ContactSet:
    """A set as it is, or one of these. Raises TypeError for what is neither, ValueError for a set of another model."""
    is_sequence = isinstance(contacts, Iterable) and not isinstance(contacts, (str, Mapping))
    if not is_sequence and not isinstance(contacts, ContactSet):
        raise TypeError(f"contacts must be a ContactSet or a sequence of contacts, not {type(contacts).__name__}")
    found = contacts if isinstance(contacts, ContactSet) else ContactSet(model, contacts)
    if found.model is not model and found.model != model:
        raise ValueError("the contact set was made for another model")
    return found
