# SPDX-License-Identifier: Apache-2.0
"""A trial in a process of its own: a node, the executor and the inputs that the nodes would take; one line of JSON."""

from __future__ import annotations

import json

import rclpy
from std_srvs.srv import Trigger

from rbd_dynamics.nodes.process.run import choose_executor
from rbd_dynamics.nodes.wire.chosen_inputs import choose_inputs


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("rbd_dynamics_doctor", start_parameter_services=False, enable_rosout=False)
    executor, _ = choose_executor(node, "auto")
    node.create_service(Trigger, "~/try", lambda request, response: response)
    inputs, why_not = choose_inputs(node, largest=lambda: 0, texts=lambda: 0, refuse=lambda reason: None)
    found = {
        "rmw": rclpy.utilities.get_rmw_implementation_identifier(),
        "executor": type(executor).__name__,
        "plain_inputs": why_not,
    }
    print(json.dumps(found), flush=True)
    inputs.close()
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
