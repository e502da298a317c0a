# SPDX-License-Identifier: Apache-2.0
"""Which of the implementations of `inputs.py` works with this ROS, found by a trial."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from rbd_dynamics.nodes.wire.input_threads import InputThreads
from rbd_dynamics.nodes.wire.inputs import Inputs
from rbd_dynamics.nodes.wire.plain_inputs import PlainInputs

#: what a ROS raises on which `InputThreads` are not possible
IMPOSSIBLE = (OSError, ImportError, AttributeError, TypeError, ValueError, RuntimeError)


def choose_inputs(
    node: Node, *, largest: Callable[[], int], texts: Callable[[], int], refuse: Callable[[str], None]
) -> tuple[Inputs, str]:
    """What works with this ROS: threads, or public rclpy alone, with the reason; empty for threads.

    largest, texts, refuse: see `InputThreads`.
    """
    try:
        return InputThreads(node, largest=largest, texts=texts, refuse=refuse), ""
    except IMPOSSIBLE as error:
        return PlainInputs(node), str(error)
