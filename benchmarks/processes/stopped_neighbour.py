# SPDX-License-Identifier: Apache-2.0
"""For how long a write may stand still because another process does: with Fast DDS' shared memory, and without.

    scripts/run python -m benchmarks.processes.stopped_neighbour --seconds 60

Two processes publish joint states to the same reader. One of them is stopped by SIGSTOP, again and again, as a debugger
or a terminal does it; counted are the other one's writes that stood still for longer than LONG. What its thread waited
for a processor is taken off (/proc/PID/task/TID/schedstat).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.processes.loopback import udp_on_this_machine
from rbd_dynamics.demo.ros_domain import own_domain

LONG = 0.05  # s
STOPPED = 0.4  # s


def publish(topic: str, seconds: float, rate: float) -> None:
    """And print how long each write took, s, without what the thread waited for a processor."""
    import rclpy
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node(f"{topic}_writer")
    publisher = node.create_publisher(JointState, topic, 10)
    while publisher.get_subscription_count() == 0:
        time.sleep(0.01)
    waits = open(f"/proc/self/task/{threading.get_native_id()}/schedstat")

    def waited() -> float:
        waits.seek(0)
        return 1e-9 * int(waits.read().split()[1])

    message, took = JointState(name=[f"joint{k}" for k in range(7)], position=[0.0] * 7), []
    due = end = time.monotonic() + seconds
    due -= seconds
    while due < end:
        due += 1.0 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        begin = time.monotonic() - waited()
        publisher.publish(message)
        took.append(time.monotonic() - waited() - begin)
    print(*(f"{each:.6f}" for each in took))


def read(topics: list[str]) -> None:
    import rclpy
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node("reader")
    subscriptions = [node.create_subscription(JointState, topic, lambda _: None, 10) for topic in topics]
    assert subscriptions
    rclpy.spin(node)


def measure(variables: dict[str, str], seconds: float, rate: float) -> tuple[int, np.ndarray]:
    """(how often the neighbour was stopped, s of each write); variables: of the environment."""
    times = tempfile.TemporaryFile("w+")
    environment = {**os.environ, "ROS_DOMAIN_ID": str(own_domain()), **variables}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "benchmarks.processes.stopped_neighbour", *arguments]
        return subprocess.Popen(command, env=environment, stdout=times)

    options = ("--seconds", str(seconds), "--rate", str(rate))
    reader = start("--read")
    neighbour = start("--publish", "neighbour", "--seconds", str(10.0 * seconds), "--rate", str(rate))
    writer, stops = start("--publish", "own", *options), 0
    try:
        while writer.poll() is None:
            time.sleep(random.uniform(0.05, 0.15))
            os.kill(neighbour.pid, signal.SIGSTOP)
            time.sleep(STOPPED)
            os.kill(neighbour.pid, signal.SIGCONT)
            stops += 1
        times.seek(0)
        return stops, np.array(times.read().split(), float)
    finally:
        times.close()
        for process in (reader, neighbour, writer):
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="writes per second")
    parser.add_argument("--publish", metavar="TOPIC", help=argparse.SUPPRESS)
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.publish:
        publish(options.publish, options.seconds, options.rate)
    elif options.read:
        read(["own", "neighbour"])
    else:
        print("| transport | writes | stops of the neighbour | writes above 50 ms | as long as a stop | longest, ms |")
        print("|---|---|---|---|---|---|")
        with tempfile.TemporaryDirectory() as folder:
            shared = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
            for name, variables in (("shared memory", shared), ("UDP", udp_on_this_machine(Path(folder)))):
                stops, took = measure(variables, options.seconds, options.rate)
                as_long = (abs(took - STOPPED) < 0.02).sum()
                print(
                    f"| {name} | {len(took)} | {stops} | {(took > LONG).sum()} | {as_long} | {1e3 * took.max():.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
