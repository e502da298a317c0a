# SPDX-License-Identifier: Apache-2.0
"""A trial in a process of its own: a node, and the executor that the nodes would take; one line of JSON."""

from __future__ import annotations

import json

import rclpy

from rbd_dynamics.nodes.process.run import choose_executor


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("rbd_dynamics_doctor", start_parameter_services=False, enable_rosout=False)
    executor, _ = choose_executor(node, "auto")
    print(
        json.dumps({"rmw": rclpy.utilities.get_rmw_implementation_identifier(), "executor": type(executor).__name__}),
        flush=True,
    )
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
