# SPDX-License-Identifier: Apache-2.0
"""Every test run is on its own in ROS: nothing on the network, nothing in the home folder, a domain per process."""

import os
import tempfile

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")  # else rclpy does not notice wrong fields
os.environ.setdefault("MPLBACKEND", "Agg")
if "ROS_LOG_DIR" not in os.environ:
    os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="rbd_dynamics_log_")
if "ROS_DOMAIN_ID" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
