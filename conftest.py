# SPDX-License-Identifier: Apache-2.0
"""Every test run is on its own in ROS: nothing on the network, nothing in the home folder, a domain per process.

What is collected lives to the end: the garbage collector leaves those million objects alone, which takes a fifth off
the time of collecting tests.
"""

import gc
import os
import tempfile

from rbd_dynamics.demo.ros_domain import own_domain

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")  # else rclpy does not notice wrong fields
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.pop("COLUMNS", None)  # processes of pytest-xdist have one, and tables would heed it
if "ROS_LOG_DIR" not in os.environ:
    os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="rbd_dynamics_log_")
os.environ["ROS_DOMAIN_ID"] = str(own_domain())  # also where one is set: a process of pytest-xdist inherits it

pytest_plugins = ["helpers.processor_times"]

gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
