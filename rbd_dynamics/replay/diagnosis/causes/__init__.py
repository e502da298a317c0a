# SPDX-License-Identifier: Apache-2.0
"""What may explain a joint's residual: a file a cause, and here the list of them."""

from rbd_dynamics.replay.diagnosis.causes.base import CauseKind
from rbd_dynamics.replay.diagnosis.causes.contact import Contact
from rbd_dynamics.replay.diagnosis.causes.delay import DELAY
from rbd_dynamics.replay.diagnosis.causes.friction import FRICTION
from rbd_dynamics.replay.diagnosis.causes.load import LOAD
from rbd_dynamics.replay.diagnosis.causes.offset import OFFSET
from rbd_dynamics.replay.diagnosis.causes.rotor import ROTOR
from rbd_dynamics.replay.diagnosis.causes.scale import SCALE

__all__ = ["CAUSES", "CauseKind"]

#: the simplest first: of causes that explain as much it is the one
CAUSES: tuple[CauseKind, ...] = (
    OFFSET,
    ROTOR,
    SCALE,
    FRICTION,
    DELAY,
    LOAD,
    Contact(),
)
