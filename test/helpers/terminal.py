# SPDX-License-Identifier: Apache-2.0
"""A shell in a folder, with the package's commands and nodes, and a stand-in for `ros2` where there is none."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from helpers.nodes.ros_nodes import wait_until
from helpers.pages import Command
from helpers.paths import ROOT
from rbd_dynamics.common.node_table import NODES

PATIENCE = 120.0  # s, for first compilations on a busy machine


def starts(words: list[str]) -> set[str]:
    """The nodes that a command starts, or a recording, which go on until they are interrupted."""
    if words[0] in NODES:
        return {words[0]}
    if words[:3] == ["ros2", "run", "rbd_dynamics"]:
        return {words[3]} & set(NODES)
    if words[:2] == ["rbd_dynamics", "record"]:
        return {"record"}
    if words[:3] == ["ros2", "launch", "rbd_dynamics"]:
        return {words[3].partition(".")[0], *(["guard"] if "guard:=true" in words else [])}
    return set()


def interruptible() -> None:
    """Ctrl-C ends a command as it does in a terminal, also where tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Running(NamedTuple):
    process: subprocess.Popen[bytes]
    nodes: set[str]
    log: Path


class Terminal:
    """Commands as they are typed; nodes go on, each in a terminal of its own, and are ended in reverse order."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._running = folder, list[Running]()
        programs = folder / "bin"
        programs.mkdir()
        path = os.environ["PATH"]
        for name, command in {"ros2": f"{ROOT}/test/stand_ins/ros2.py", "rbd_dynamics": "-m rbd_dynamics"}.items():
            if shutil.which(name) is None or name == "rbd_dynamics":
                (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
                (programs / name).chmod(0o755)
        here = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        self._environment = {
            **os.environ, "PATH": f"{programs}{os.pathsep}{path}", "PYTHONPATH": here, "PYTHONUNBUFFERED": "1",
            "BROWSER": "true",
        }  # fmt: skip

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(quietly=kind is not None)

    def _begin(self, text: str, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as said:
            return subprocess.Popen(
                ["bash", "-c", text], cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=interruptible,
            )  # fmt: skip

    def run(self, text: str) -> str:
        """What a command says; its exit code is 0."""
        code, said = self._ended(text)
        assert code == 0, f"$ {text}\n{said}\nexit code {code}{self._said()}"
        return said

    def _ended(self, text: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        log = self.folder / "log"
        process = self._begin(text, log)
        try:
            code = process.wait(2.0 * PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return code, log.read_text(errors="replace")

    def do(self, command: Command) -> str:
        """What a command says; an endless echo is ended once it has said something, nodes and recordings go on."""
        if starts(command.words):
            self.start(command.text)
            return ""
        if command.words[1] == "echo" and "--count" not in command.words:
            return self.until_interrupted(command.text, ".")
        if command.words[:2] in (["rbd_dynamics", "call"], ["rbd_dynamics", "set"]):
            return self.until_granted(command.text)
        return self.run(command.text)

    def start(self, text: str) -> None:
        """Wait until its nodes are active. Where one of them is running already, all of this page are ended first."""
        nodes = starts(shlex.split(text))
        if any(nodes & each.nodes for each in self._running):
            self.end()
        self.go_on(text, nodes)

    def go_on(self, text: str, nodes: set[str]) -> None:
        """Start these nodes, or a recording, and wait until they say that they are active."""
        log = self.folder / f"{'_and_'.join(sorted(nodes))}.log"
        running = Running(self._begin(text, log), nodes, log)
        self._running.append(running)

        def active() -> bool:
            said = re.findall(r"\bactive\s*$|^recording\b", log.read_text(errors="replace"), re.M)
            return len(said) >= len(nodes)

        wait_until(lambda: active() or running.process.poll() is not None, f"nodes of {text}", PATIENCE)
        assert running.process.poll() is None, f"$ {text}\n{log.read_text()}"

    def until_granted(self, text: str) -> str:
        """What a request is answered, made again while a node refuses it: on a busy machine states come late."""
        said = [(1, "")]

        def granted() -> bool:
            said.append(self._ended(text))
            return said[-1][0] == 0

        try:
            wait_until(granted, text, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"$ {text}\n{said[-1][1]}{self._said()}") from error
        return said[-1][1]

    def until(self, text: str, seen: str) -> str:
        """What a command says, which is run again and again until that fits `seen`."""
        said = [""]

        def fits() -> bool:
            said.append(self.run(text))
            return bool(re.search(seen, said[-1]))

        wait_until(fits, f"{seen!r} by {text}", PATIENCE)
        return said[-1]

    def until_interrupted(self, text: str, seen: str) -> str:
        """What a command says that goes on, ended once it has said what fits `seen`."""
        log = self.folder / "log"
        process = self._begin(text, log)
        wait_until(lambda: bool(re.search(seen, log.read_text())) or process.poll() is not None, f"{seen!r} by {text}")
        assert process.poll() is None, log.read_text()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) in (0, 130), log.read_text()
        return log.read_text()

    def end(self, quietly: bool = False) -> None:
        """Interrupt all, the last one first: a torque node leaves the robot safe before the simulator ends."""
        for each in reversed(list(self._running)):
            self._running.remove(each)
            if each.process.poll() is None:
                os.killpg(each.process.pid, signal.SIGINT)
            try:
                code = each.process.wait(PATIENCE)
            finally:
                if each.process.poll() is None:
                    os.killpg(each.process.pid, signal.SIGKILL)
            assert quietly or code == 0, f"exit code {code}:\n{each.log.read_text()}"

    def _said(self) -> str:
        return "".join(f"\n--- {each.log.stem}:\n{each.log.read_text()[-2000:]}" for each in self._running)
