# SPDX-License-Identifier: Apache-2.0
"""Run tests on a copy of the project with one fault in it, each time in a process of its own.

This process has what takes long to import, but nothing of the project: a fault's process is its fork.
"""

from __future__ import annotations

import ast
import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from campaigns.mutation.faults import Fault

_IMPORTED_BEFORE = (
    "numpy", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.spatial.transform", "yaml",
    "hypothesis", "hypothesis.strategies", "llvmlite.binding", "llvmlite.ir", "urdf_parser_py.urdf", "rich", "rclpy",
    "rosbags.highlevel", "sensor_msgs.msg", "pyarrow.parquet", "matplotlib", "pinocchio", "mujoco",
)  # fmt: skip
_ENOUGH = 4.0  # times what the tests usually take


class Verdict(NamedTuple):
    """noticed: by which test, or how; empty: by none."""

    noticed: str
    tests: int
    seconds: float


class Judge:
    """root: the checkout; cache: a folder for kernels, which are known by content; budget: s of tests for a fault."""

    def __init__(self, root: Path, cache: Path | None, budget: float) -> None:
        self._root, self._budget = root, budget
        self._scratch = Path(tempfile.mkdtemp(prefix="mutation_"))
        self.tree = self._scratch / "project"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True,
        ).stdout.decode()  # fmt: skip
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / name, self.tree / name)
        self._kernels = cache or self._scratch / "kernels"
        self._changes = 0
        self._passed: dict[str, bool] = {}  # tests without a fault
        for name in _IMPORTED_BEFORE:
            try:
                importlib.import_module(name)
            except ImportError:
                print(f"without {name}: its tests skip", file=sys.stderr)

    def close(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def within_budget(self, tests: list[str], seconds: dict[str, float]) -> list[str]:
        """The first of them that fit; at least one."""
        chosen: list[str] = []
        total = 0.0
        for test in tests:
            total += seconds[test]
            if chosen and total > self._budget:
                break
            chosen.append(test)
        return chosen

    def judge(self, fault: Fault, tests: list[str], seconds: dict[str, float]) -> Verdict:
        """Whether the tests notice the fault. seconds: what each usually takes.

        What fails without it as well, as a test that needs others of its file, says nothing and is left out.
        """
        begin = time.monotonic()
        noticed = self._with(fault, tests, self._usual(tests, seconds)) if tests else ""
        while (test := _named(noticed, tests)) and not self._sound(test, seconds):
            print(f"    left out, fails without the fault: {test}", flush=True)
            tests = [each for each in tests if each != test]
            noticed = self._with(fault, tests, self._usual(tests, seconds)) if tests else ""
        return Verdict(noticed[:300], len(tests), time.monotonic() - begin)

    def _usual(self, tests: list[str], seconds: dict[str, float]) -> float:
        return sum(seconds.get(test, self._budget) for test in tests)

    def _sound(self, test: str, seconds: dict[str, float]) -> bool:
        """Whether it passes without a fault."""
        if test not in self._passed:
            self._passed[test] = not self._run([test], self._usual([test], seconds), self._kernels)
        return self._passed[test]

    def _with(self, fault: Fault, tests: list[str], usual: float) -> str:
        """What was noticed, or nothing."""
        path = self.tree / fault.file
        source, status = path.read_bytes(), path.stat()
        # whoever compiles otherwise does not find what was compiled rightly
        cache = self._scratch / f"kernels{self._changes}" if "/compiler/" in fault.file else self._kernels
        changed = fault.applied(source)
        ast.parse(changed)  # no program at all would pass for a fault that was noticed
        try:
            path.write_bytes(changed)
            self._changes += 1
            os.utime(path, (0, self._changes))  # Python knows bytecode by time and size of its source
            return self._run(tests, usual, cache)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            if cache != self._kernels:
                shutil.rmtree(cache, ignore_errors=True)

    def _run(self, tests: list[str], usual: float, cache: Path) -> str:
        """What was noticed, or nothing."""
        log = self._scratch / "log"
        child = os.fork()
        if child == 0:
            self._be_tested(tests, cache, log, limit=round(_ENOUGH * usual) + 20)
        deadline = time.monotonic() + 10 * _ENOUGH * (usual + 10.0)  # for those that wait; the machine may be busy
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "took too long"
            time.sleep(0.02)
        try:
            os.killpg(child, signal.SIGKILL)  # what its tests have left
        except ProcessLookupError:
            pass
        if os.WIFSIGNALED(status):
            return f"ended by signal {os.WTERMSIG(status)}"
        code = os.WEXITSTATUS(status)
        if code == 0:
            return ""
        text = log.read_text(errors="replace").splitlines()
        failed = [line for line in text if line.startswith(("FAILED ", "ERROR "))]
        return failed[0] if failed else f"exit code {code}: {' '.join(text[-3:])[-300:]}"

    def _be_tested(self, tests: list[str], cache: Path, log: Path, limit: int) -> None:
        """The fork: never returns."""
        try:
            os.setsid()
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            for stream in (1, 2):
                os.dup2(descriptor, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            os.chdir(self.tree)
            for name in [name for name in sys.modules if name.partition(".")[0] in ("benchmarks", "campaigns")]:
                del sys.modules[name]
            sys.path[:] = [str(self.tree), *(path for path in sys.path if path not in ("", str(self._root)))]
            before = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path and path != str(self._root)]
            os.environ.update(PYTHONPATH=":".join([str(self.tree), *before]), RBD_DYNAMICS_CACHE_DIR=str(cache))
            os.environ.update(MPLBACKEND="Agg", ROS_LOG_DIR=str(self._scratch / "ros"))
            os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", OPENBLAS_NUM_THREADS="1")
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            sys.dont_write_bytecode = False
            options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=line"]
            code = int(pytest.main([*options, *tests]))
            sys.stdout.flush()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            code = 99
        os._exit(code)


def _named(noticed: str, tests: list[str]) -> str:
    """The test that noticed; empty where nobody has, or where it is not said which."""
    _, _, rest = noticed.partition(" ")
    return max((test for test in tests if rest.startswith(test)), key=len, default="")
