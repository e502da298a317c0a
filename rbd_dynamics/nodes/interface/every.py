# SPDX-License-Identifier: Apache-2.0
"""The interfaces of all nodes, for the documents and for tests."""

from rbd_dynamics.nodes.interface.cartesian_controller import CARTESIAN_CONTROLLER
from rbd_dynamics.nodes.interface.dynamics_server import DYNAMICS_SERVER
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD
from rbd_dynamics.nodes.interface.guard import GUARD
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER
from rbd_dynamics.nodes.interface.monitor import MONITOR
from rbd_dynamics.nodes.interface.simulator import SIMULATOR
from rbd_dynamics.nodes.interface.trajectory_proxy import TRAJECTORY_PROXY

INTERFACES = (
    FEEDFORWARD, DYNAMICS_SERVER, SIMULATOR, HYBRID_CONTROLLER, CARTESIAN_CONTROLLER, GUARD, MONITOR, TRAJECTORY_PROXY,
)  # fmt: skip
