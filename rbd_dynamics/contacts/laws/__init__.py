# SPDX-License-Identifier: Apache-2.0
"""Laws of friction of contacts: a file a law, and here the list of them."""

from __future__ import annotations

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.contacts.laws.base import FrictionLaw
from rbd_dynamics.contacts.laws.elliptic import Elliptic
from rbd_dynamics.contacts.laws.pyramidal import Pyramidal

__all__ = ["CONES", "LAWS", "FrictionLaw", "law_of"]

#: the usual one first
LAWS: tuple[FrictionLaw, ...] = (
    Elliptic(),
    Pyramidal(),
)
#: names of the laws, by the cone in which their forces are
CONES = tuple(law.name for law in LAWS)


def law_of(cone: object) -> FrictionLaw:
    """The law of this name. Raises ValueError for none of `CONES`."""
    if not isinstance(cone, str) or cone not in CONES:
        raise ValueError(f"cone {excerpt(cone)} is not one of {', '.join(CONES)}")
    return LAWS[CONES.index(cone)]
