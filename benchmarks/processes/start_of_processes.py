# SPDX-License-Identifier: Apache-2.0
"""Processor time that commands and nodes take to start, beside that of Python and of numpy, in one run.

    scripts/run python -m benchmarks.processes.start_of_processes [--quick] [--json FILE]

A command's time is user and system time of its whole process. A node's is that of its process and of those that it
started, from the beginning to the state active, with the Panda in a parameter and its kernels in the cache. Beside the
nodes stands a bare one of rclpy that loads the same model. All take turns. Ratios to numpy hold on other machines,
seconds do not.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import processor_time
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.processes import Processes, isolated_environment

COMMANDS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import rbd_dynamics": ["-c", "import rbd_dynamics"],
    "rbd_dynamics --help": ["-m", "rbd_dynamics", "--help"],
    "rbd_dynamics info FILE": ["-m", "rbd_dynamics", "info", "URDF"],
}
PATIENCE = 120.0  # s for a node to become active
LOOK = 0.02  # s
_BARE = """
import sys, threading
import rclpy, rbd_dynamics
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
rclpy.init()
node = LifecycleNode("bare")
robot = rbd_dynamics.load_urdf(sys.argv[1])
node.trigger_configure()
node.trigger_activate()
rclpy.spin(node)
"""


def command_time(arguments: list[str], urdf: str) -> float:
    """User and system time, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    filled = [urdf if word == "URDF" else word for word in arguments]
    subprocess.run([sys.executable, *filled], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


class Watcher:
    """A node that asks others for their state."""

    def __init__(self) -> None:
        import rclpy

        rclpy.init()
        self._node = rclpy.create_node("watcher")

    def wait_until_active(self, name: str, alive: Callable[[], object]) -> None:
        import rclpy
        from lifecycle_msgs.msg import State
        from lifecycle_msgs.srv import GetState

        client = self._node.create_client(GetState, f"/{name}/get_state")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            alive()
            if client.service_is_ready():
                asked = client.call_async(GetState.Request())
                rclpy.spin_until_future_complete(self._node, asked, timeout_sec=1.0)
                if asked.done() and asked.result().current_state.id == State.PRIMARY_STATE_ACTIVE:
                    self._node.destroy_client(client)
                    return
            time.sleep(LOOK)
        raise TimeoutError(f"{name} has not become active")


def node_time(watcher: Watcher, folder: Path, name: str, parameters: dict[str, object]) -> float:
    """Of a node of ours."""
    with Processes(folder) as processes:
        processes.start(name, parameters, {})
        watcher.wait_until_active(name, processes.check)
        return processor_time(processes.pid(name))


def bare_time(watcher: Watcher, urdf: str) -> float:
    with subprocess.Popen([sys.executable, "-c", _BARE, urdf], stderr=subprocess.DEVNULL) as process:
        try:
            watcher.wait_until_active("bare", process.poll)
            return processor_time(process.pid)
        finally:
            process.kill()


def main() -> int:
    arguments = parser("processes.start_of_processes", __doc__).parse_args()
    text = panda.description()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        urdf = folder / "panda.urdf"
        urdf.write_text(text)
        isolated_environment(folder)
        watcher = Watcher()
        given = {**panda.LOCKED_PARAMETERS, "robot_description": text}
        nodes = {
            "feedforward": {**panda.feedforward_parameters(), "robot_description": text, "use_sim_time": False},
            "dynamics_server": {**panda.server_parameters(), "robot_description": text},
            "monitor": given,
            "simulator": given,
        }
        tried: dict[str, Callable[[], float]] = {
            name: partial(command_time, words, str(urdf)) for name, words in COMMANDS.items()
        }
        tried["bare node with the model"] = partial(bare_time, watcher, str(urdf))
        for name, parameters in nodes.items():
            tried[name] = partial(node_time, watcher, folder, name, parameters)
        rounds = 2 if arguments.quick else 7
        times, trouble = Guard.of(quick=arguments.quick).run("processes", partial(in_turns, tried, rounds))
    table = Table("processes", ("start of", "processor time, s", "times numpy"))
    numpy = Figure.of(times["import numpy"])
    for name, found in times.items():
        figure = Figure.of(found)
        table.add(name, figure, ratio(figure, numpy), trouble=trouble)
    return deliver(arguments, [table])


def in_turns(tried: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each of them gives in each round, after one that fills caches."""
    times: dict[str, list[float]] = {name: [] for name in tried}
    for number in range(rounds + 1):
        for name, measure in tried.items():
            found = measure()
            if number:
                times[name].append(found)
    return times


if __name__ == "__main__":
    sys.exit(main())
