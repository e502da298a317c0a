# SPDX-License-Identifier: Apache-2.0
"""A service answers whatever happens in it: whoever waits for an answer that never comes waits for ever."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node

from rbd_dynamics.common.excerpt import shortened

Answer = Callable[[Any, Any], Any]


def always(node: Node, answer: Answer, *, faults: bool) -> Answer:
    """The callback of a service that turns an exception into the response as far as it has come, and a line of the log.

    rclpy sends nothing where a callback raises, as its own do for a transition that is not allowed and for a
    parameter of an unknown type. faults: an exception is a fault of ours, and logged in full.
    """

    def callback(request: Any, response: Any) -> Any:
        try:
            return answer(request, response)
        except Exception as error:
            reason = one_line(error)
            if faults:
                node.get_logger().error(traceback.format_exc())
                reason = f"internal error: {type(error).__name__}: {reason}"
            else:
                node.get_logger().warning(f"{type(request).__qualname__} refused: {reason}")
            refuse(response, reason, len(getattr(request, "parameters", ())))
            return response

    return callback


def answer_always(node: Node) -> None:
    """The same for the services that rclpy has made for a node: of parameters and of the life cycle."""
    for service in node.services:
        service.callback = always(node, service.callback, faults=False)


def one_line(error: Exception) -> str:
    """The text of an exception, without the lines of others' sources that the layers below rclpy add."""
    return shortened(re.sub(r"[.,]*,? at /\S+:\d+", "", " ".join(str(error).split())))


def refuse(response: Any, reason: str, count: int) -> None:
    """What is not yet in the response says no. count: of parameters that were to be set."""
    if hasattr(response, "success"):
        response.success = False
    if hasattr(response, "message"):
        response.message = reason
    if hasattr(response, "failure_reason"):
        response.successful, response.failure_reason = False, reason
    refused = SetParametersResult(successful=False, reason=reason)
    if hasattr(response, "result") and isinstance(response.result, SetParametersResult):
        response.result = refused
    if hasattr(response, "results"):
        response.results = [*response.results, *[refused] * (count - len(response.results))]
