# SPDX-License-Identifier: Apache-2.0
"""Everything the nodes show to the outside: parameters, topics, services and actions, one file a node.

The nodes declare their parameters from here; docs/nodes.md is written from here; tests compare both, and
config/*.yaml, with the running nodes. Nothing here imports ROS.
"""

from rbd_dynamics.nodes.interface.dynamics_server import DYNAMICS_SERVER as DYNAMICS_SERVER
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD as FEEDFORWARD
from rbd_dynamics.nodes.interface.guard import GUARD as GUARD
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER as HYBRID_CONTROLLER
from rbd_dynamics.nodes.interface.monitor import MONITOR as MONITOR
from rbd_dynamics.nodes.interface.simulator import SIMULATOR as SIMULATOR
from rbd_dynamics.nodes.interface.tables import Interface as Interface

INTERFACES = (FEEDFORWARD, DYNAMICS_SERVER, SIMULATOR, HYBRID_CONTROLLER, GUARD, MONITOR)
