# SPDX-License-Identifier: Apache-2.0
"""What a node works with: everything about one robot model, made aside and taken over as a whole."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.safety.safe_stop import SafeStop
from rbd_dynamics.control.safety.softening import Shares
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.robot import Robot


class Engine(Protocol):
    """What any node works with."""

    @property
    def model(self) -> Model: ...

    @property
    def prefix(self) -> Prefix: ...


class CommandingEngine(Engine, Protocol):
    """What a node works with that commands a robot, and says how it is left."""

    @property
    def robot(self) -> Robot: ...

    @property
    def reader(self) -> JointStateReader: ...

    @property
    def safe_stop(self) -> SafeStop: ...


class TorqueEngine(CommandingEngine, Protocol):
    """What a node works with that answers joint states by torques.

    shares: of stiffness and damping, that are in use: less where all of them are unstable.
    """

    shares: Shares

    @property
    def motion(self) -> DesiredMotion: ...

    @property
    def commanded(self) -> slice | NDArray[np.intp]:
        """Indices of the commanded joints in the robot's order."""

    @property
    def effort_limits(self) -> NDArray[np.float64]:
        """Effort limits of the commanded joints, in the order of the efforts, N m or N."""

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Which efforts were cut off at the last call of the law."""


E = TypeVar("E", bound=Engine)
S = TypeVar("S", bound=CommandingEngine)
T = TypeVar("T", bound=TorqueEngine)
