# SPDX-License-Identifier: Apache-2.0
"""What the shell offers for names of a running ROS graph, where argcomplete is installed."""

from __future__ import annotations

import argparse
import re
from typing import Any

PATIENCE = 2.0  # s


def complete_node(prefix: str, **_: Any) -> list[str]:
    return [each.name for each in _nodes() if each.name.startswith(prefix)]


def complete_service(prefix: str, **_: Any) -> list[str]:
    return sorted(name for each in _nodes() for name in each.services if name.startswith(prefix))


def complete_topic(prefix: str, **_: Any) -> list[str]:
    try:
        from rbd_dynamics.nodes.tools.listening import topics, visitor
    except ImportError:
        return []
    with visitor("completion") as (node, spin):
        return [each.name for each in topics(node, spin) if each.name.startswith(prefix)]


def complete_values(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Fields of the service or topic that is named before, and joints, after what is there of the YAML."""
    try:
        from rbd_dynamics.nodes.tools.listening import visitor
        from rbd_dynamics.nodes.tools.requests import Graph
    except ImportError:
        return []
    word = re.split(r"[\s{\[,]", prefix)[-1]
    before = prefix[: len(prefix) - len(word)] or "{"
    name = getattr(parsed_args, "service", None) or parsed_args.topic
    with visitor("completion") as (node, spin):
        try:
            fields, joints = Graph(node, spin, PATIENCE).fields(name)
        except ValueError:
            return []
    return [before + each for each in (*(f"{field}: " for field in fields), *joints) if each.startswith(word)]


def complete_parameter(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    try:
        from rbd_dynamics.nodes.tools.listening import visitor
        from rbd_dynamics.nodes.tools.requests import Graph
    except ImportError:
        return []
    with visitor("completion") as (node, spin):
        try:
            found = Graph(node, spin, PATIENCE).parameters(parsed_args.node, [])
        except ValueError:
            return []
    return [each.name for each in found if each.name.startswith(prefix)]


def _nodes() -> list[Any]:
    try:
        from rbd_dynamics.nodes.tools.listening import visitor
        from rbd_dynamics.nodes.tools.requests import Graph
    except ImportError:
        return []
    with visitor("completion") as (node, spin):
        return Graph(node, spin, PATIENCE).nodes()
