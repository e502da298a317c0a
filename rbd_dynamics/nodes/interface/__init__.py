# SPDX-License-Identifier: Apache-2.0
"""Everything the nodes show to the outside: parameters, topics, services and actions, one file a node.

The nodes declare their parameters from here; docs/nodes.md is written from here; tests compare both, and
config/*.yaml, with the running nodes. Nothing here imports ROS; a node imports its own file alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.nodes.interface.every import INTERFACES
    from rbd_dynamics.nodes.interface.tables import Interface
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["INTERFACES", "Interface"]
