# SPDX-License-Identifier: Apache-2.0
"""What a node shows to the outside, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from rbd_dynamics.nodes.interface.parameters import P, Parameter


@dataclass(frozen=True)
class Topic:
    """A topic of a node; relative names are in its name space, ~/ is the node's own."""

    name: str
    kind: str
    published: bool
    description: str


@dataclass(frozen=True)
class Service:
    """A service of a node, or an action."""

    name: str
    kind: str
    description: str


@dataclass(frozen=True)
class Interface(Generic[P]):
    """All of one node, besides what every life-cycle node of ROS 2 has."""

    executable: str
    summary: str
    parameter_set: type[P]
    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    actions: tuple[Service, ...] = ()
    used_services: tuple[Service, ...] = ()  # of other nodes
    used_actions: tuple[Service, ...] = ()
    examples: tuple[str, ...] = ()  # what follows `ros2 run rbd_dynamics EXECUTABLE`

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.parameter_set.table()
