# SPDX-License-Identifier: Apache-2.0
"""The interfaces of all nodes, for the documents and for tests."""

from __future__ import annotations

import importlib
from typing import Any

from rbd_dynamics.common.node_table import NODES
from rbd_dynamics.nodes.interface.tables import Interface


def interface_of(node: str) -> Interface[Any]:
    """What the node of that name shows to the outside."""
    found: Interface[Any] = getattr(importlib.import_module(f"rbd_dynamics.nodes.interface.{node}"), node.upper())
    return found


INTERFACES = tuple(interface_of(node) for node in NODES)
