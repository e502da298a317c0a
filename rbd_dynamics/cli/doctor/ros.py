# SPDX-License-Identifier: Apache-2.0
"""ROS 2: whether it is found, its middleware, and the executor that works here. Tried in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from rbd_dynamics.cli.doctor.findings import Looked

SECONDS = 60.0
NEEDED = ("sensor_msgs", "trajectory_msgs", "diagnostic_msgs", "lifecycle_msgs", "std_srvs")


def look_at_ros() -> Iterator[Looked]:
    """What is missing is no fault: the library, replay and the command line need no ROS."""
    distribution = os.environ.get("ROS_DISTRO", "")
    if find_spec("rclpy") is None:
        told = f"no rclpy, but ROS_DISTRO is {distribution}" if distribution else "not found"
        yield Looked(
            "ROS 2",
            told,
            state="broken" if distribution else "note",
            advice="the nodes, `play` and `demo` need it: source the installation's setup.bash",
        )
        return
    yield Looked("ROS 2", distribution or "found, ROS_DISTRO is not set")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield Looked("messages", f"not found: {', '.join(missing)}", state="broken", advice="install them with ROS 2")
    if find_spec("rbd_dynamics_interfaces") is None:
        advice = "`dynamics_server` needs it: build the workspace with colcon, and source it"
        yield Looked("rbd_dynamics_interfaces", "not found", state="note", advice=advice)
    else:
        yield Looked("rbd_dynamics_interfaces", "found")
    domain = os.environ.get("ROS_DOMAIN_ID", "0, the default: all who set nothing share it")
    yield Looked("ROS_DOMAIN_ID", domain)
    yield from _trial()


def _trial() -> Iterator[Looked]:
    command = [sys.executable, "-m", "rbd_dynamics.nodes.wire.ros_trial"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        yield Looked("a node", f"does not start within {SECONDS:g} s", state="broken", advice="try another RMW")
        return
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        yield Looked("a node", f"does not start: {said[0]}", state="broken", advice="ros2 doctor may know more")
        return
    yield Looked("middleware", found["rmw"])
    if "fastrtps" in found["rmw"]:
        yield _transport(os.environ)
    events = found["executor"] == "EventsExecutor"
    yield Looked(
        "executor",
        found["executor"],
        state="fine" if events else "note",
        advice="" if events else "the events executor, of Jazzy and later, takes half the processor time",
    )
    why = found["plain_inputs"]
    yield Looked(
        "inputs",
        f"by the executor: {why}" if why else "in threads of their own",
        state="note" if why else "fine",
        advice="large messages and requests delay torques: docs/safety.md, docs/benchmarks.md" if why else "",
    )


def _transport(environment: Mapping[str, str]) -> Looked:
    """Whether Fast DDS passes messages through shared memory."""
    if environment.get("FASTDDS_DEFAULT_PROFILES_FILE") or environment.get("FASTRTPS_DEFAULT_PROFILES_FILE"):
        return Looked("transport", "as its profile says")
    # with this range rmw_fastrtps chooses the transports, whatever is set
    own = (
        environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE") == "LOCALHOST" or environment.get("ROS_LOCALHOST_ONLY") == "1"
    )
    wanted = environment.get("FASTDDS_BUILTIN_TRANSPORTS", "")
    heeded = environment.get("ROS_DISTRO") not in ("humble", "iron")  # their Fast DDS does not know the variable
    if wanted.startswith("UDP") and heeded and not own:
        return Looked("transport", wanted)
    return Looked(
        "transport",
        "shared memory",
        state="note",
        advice="a process that is stopped in a write may keep torques waiting: docs/safety.md, Shared memory",
    )
