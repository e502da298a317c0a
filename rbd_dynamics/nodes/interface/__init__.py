# SPDX-License-Identifier: Apache-2.0
"""Everything the nodes show to the outside: parameters, topics, services and actions, one file a node.

The nodes declare their parameters from here; docs/nodes.md is written from here; tests compare both, and
config/*.yaml, with the running nodes. Nothing here imports ROS; a node imports its own file alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.nodes.interface.cartesian_controller import CARTESIAN_CONTROLLER
    from rbd_dynamics.nodes.interface.dynamics_server import DYNAMICS_SERVER
    from rbd_dynamics.nodes.interface.every import INTERFACES
    from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD
    from rbd_dynamics.nodes.interface.guard import GUARD
    from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER
    from rbd_dynamics.nodes.interface.monitor import MONITOR
    from rbd_dynamics.nodes.interface.simulator import SIMULATOR
    from rbd_dynamics.nodes.interface.tables import Interface
    from rbd_dynamics.nodes.interface.trajectory_proxy import TRAJECTORY_PROXY
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "CARTESIAN_CONTROLLER",
    "DYNAMICS_SERVER",
    "FEEDFORWARD",
    "GUARD",
    "HYBRID_CONTROLLER",
    "INTERFACES",
    "MONITOR",
    "SIMULATOR",
    "TRAJECTORY_PROXY",
    "Interface",
]
