# SPDX-License-Identifier: Apache-2.0
"""Nodes forked from a process that has imported what they import, which is half of a start's processor time.

All else is as with `python -m`: arguments, environment, log, the module run as `__main__`, the interpreter's end.
Tests of the start itself, and of memory, start nodes afresh.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import runpy
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
IMPORTED = (
    "rbd_dynamics.nodes.feedforward", "rbd_dynamics.nodes.hybrid_controller",
    "rbd_dynamics.nodes.cartesian_controller", "rbd_dynamics.nodes.dynamics_server", "rbd_dynamics.nodes.guard",
    "rbd_dynamics.nodes.simulator", "rbd_dynamics.nodes.monitor", "rbd_dynamics.nodes.trajectory_proxy",
    "rclpy.experimental.events_executor", "rosidl_generator_py", "llvmlite.binding",
)  # fmt: skip
#: what is read only as a node begins; where anything else differs, it is started afresh
READ_LATE = {"ROS_DOMAIN_ID", "ROS_LOG_DIR", "PYTEST_CURRENT_TEST"}
SAID = struct.Struct("=qqd")  # process id, exit code or STARTED, processor time
STARTED = 1 << 20


# --- in the test process --------------------------------------------------------------------------


class Starter:
    """The process that forks; one for a test process, begun with the first node."""

    def __init__(self) -> None:
        self._begun_with: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._codes: dict[int, int] = {}
        self.spent = 0.0  # s of processor time, of nodes that have ended

    def start(self, module: str, arguments: list[str], log: Path) -> Forked | None:
        """A node with this environment; None where the starter has another one, and where coverage is to know whose
        node executes a line, which it learns as an interpreter starts."""
        if "COVERAGE_PROCESS_START" in os.environ:
            return None
        if self._process is None:
            self._begun_with = _settled()
            command = [sys.executable, __file__]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, bufsize=0
            )
            atexit.register(self.close)
        if _settled() != self._begun_with:
            return None
        request = pickle.dumps((module, arguments, dict(os.environ), str(log)))
        assert self._process.stdin is not None
        self._process.stdin.write(len(request).to_bytes(8, "little") + request)
        while True:
            pid, code = self._heard()
            if code == STARTED:
                return Forked(self, pid)

    def code(self, pid: int, seconds: float) -> int | None:
        """Its exit code, once it has ended; None while it has not after that time."""
        end = time.monotonic() + seconds
        assert self._process is not None
        while pid not in self._codes:
            if not select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            self._heard()
        return self._codes[pid]

    def _heard(self) -> tuple[int, int]:
        assert self._process is not None and self._process.stdout is not None
        said = os.read(self._process.stdout.fileno(), SAID.size)
        assert said, f"what starts nodes has ended with {self._process.wait()}"
        pid, code, spent = SAID.unpack(said)
        self.spent += spent
        if code != STARTED:
            self._codes[pid] = code
        return pid, code

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


class Forked:
    """A node's process, as `subprocess.Popen` shows one."""

    def __init__(self, starter: Starter, pid: int) -> None:
        self._starter, self.pid, self.returncode = starter, pid, None

    pid: int
    returncode: int | None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._starter.code(self.pid, 0.0)
        return self.returncode

    def wait(self, timeout: float = 1e6) -> int:
        if self.returncode is None:
            self.returncode = self._starter.code(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _settled() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in READ_LATE}


STARTER = Starter()


# --- in the process that forks --------------------------------------------------------------------


def main() -> None:
    """Fork as often as asked; at the end of the requests end what still runs."""
    sys.path[0] = os.getcwd()  # as with `python -m`
    answers = os.dup(1)
    os.dup2(2, 1)
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    ended, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal's Ctrl-C is for the tests
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: set[int] = set()
    while True:
        ready = select.select([0, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 1024)
            for pid in list(running):
                found, status, usage = os.wait4(pid, os.WNOHANG)
                if found:
                    running.remove(pid)
                    code = os.waitstatus_to_exitcode(status)
                    os.write(answers, SAID.pack(pid, code, usage.ru_utime + usage.ru_stime))
        if 0 in ready:
            length = _read(8)
            if not length:
                break
            request = _read(int.from_bytes(length, "little"))
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                for descriptor in (answers, ended, tell):
                    os.close(descriptor)
                return _run(*pickle.loads(request))
            running.add(pid)
            os.write(answers, SAID.pack(pid, STARTED, 0.0))
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _read(count: int) -> bytes:
    found = b""
    while len(found) < count and (more := os.read(0, count - len(found))):
        found += more
    return found


def _run(module: str, arguments: list[str], environment: dict[str, str], log: str) -> None:
    """As `python -m module arguments` does, in this process; its end is the interpreter's own."""
    nothing, out = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)
    for ours, standard in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(ours, standard)
    os.close(nothing)
    os.close(out)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM):  # as `common/process/early_signals.py` does
        signal.signal(number, lambda *_: os._exit(0))
    path = importlib.import_module("importlib.util").find_spec(module).origin
    sys.modules.pop(module, None)  # it runs as `__main__`
    sys.argv[:] = [path, *arguments]
    sys.orig_argv[:] = [sys.executable, "-m", module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
