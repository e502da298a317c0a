# SPDX-License-Identifier: Apache-2.0
"""The nodes as processes of their own, started together and always ended."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from rbd_dynamics.demo.ros_domain import own_domain

PATIENCE = 8.0  # s that a process has to end after SIGINT, before it is killed
PR_SET_PDEATHSIG = 1


class NodeDied(RuntimeError):
    """A node has ended by itself."""


class Processes:
    """Node processes by name; a context that ends them all.

    Parameters:
        folder: for their parameter files and for what they print, NAME.yaml and NAME.log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str, parameters: Mapping[str, Any], remappings: Mapping[str, str]) -> None:
        """Start `rbd_dynamics.nodes.NAME`."""
        file = self._folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump({name: {"ros__parameters": dict(parameters)}}, sort_keys=False))
        arguments = ["--ros-args", "--params-file", str(file)]
        for source, target in remappings.items():
            arguments += ["--remap", f"{source}:={target}"]
        with open(self._folder / f"{name}.log", "wb") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", f"rbd_dynamics.nodes.{name}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us, and we end them in order
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def check(self) -> None:
        """Raise NodeDied, with what the node said last, if one has ended."""
        for name, process in self._running.items():
            code = process.poll()
            if code is not None:
                raise NodeDied(f"node {name} ended with {describe_exit(code)}; it said last:\n{self.last_lines(name)}")

    def last_lines(self, name: str, count: int = 12) -> str:
        text = (self._folder / f"{name}.log").read_text(errors="replace")
        return "\n".join("    " + line for line in text.splitlines()[-count:]) or "    nothing"

    def stop(self) -> dict[str, int]:
        """SIGINT for all, and SIGKILL for those that do not listen. The exit codes by name."""
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        end = time.monotonic() + PATIENCE
        for process in self._running.values():
            try:
                process.wait(max(end - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        codes = {name: process.returncode for name, process in self._running.items()}
        self._running.clear()
        return codes


def isolated_environment(folder: Path) -> None:
    """Isolate ROS from now on: this machine only, a domain of our own, logs in `folder`.

    A ROS_DOMAIN_ID that is set already stays.
    """
    if os.environ.get("ROS_DISTRO") == "humble":
        os.environ["ROS_LOCALHOST_ONLY"] = "1"
    else:
        os.environ.pop("ROS_LOCALHOST_ONLY", None)  # would win, and is out of use
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    if "ROS_DOMAIN_ID" not in os.environ:
        os.environ["ROS_DOMAIN_ID"] = str(own_domain())
    os.environ["ROS_LOG_DIR"] = str(folder / "ros")
    os.environ["PYTHONUNBUFFERED"] = "1"


def missing_for_demo(modules: Sequence[tuple[str, str]]) -> list[str]:
    """Those of (module, how to get it) that cannot be imported."""
    import importlib

    missing = []
    for module, remedy in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing.append(f"{module} ({error}): {remedy}")
    return missing


def describe_exit(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _die_with_parent() -> None:
    """Make this child end with its parent, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
