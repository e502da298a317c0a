# SPDX-License-Identifier: Apache-2.0
"""The library without a compiler: the emitted Python source, and the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.models.arms import ARM

from rbd_dynamics import Robot, load_urdf

PROCESS = """
import importlib.abc, json, logging, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("llvmlite", "numba", "scipy", "pinocchio", "mujoco", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
from rbd_dynamics import Robot, load_urdf

logging.basicConfig(stream=sys.stderr)
robot = Robot(load_urdf(sys.argv[1]), friction=True)
try:
    Robot(robot.model, backend="llvm").gravity(np.zeros(3))
    problem = ""
except RuntimeError as error:
    problem = str(error)
q, v, a = np.array(json.loads(sys.argv[2]))
one = [robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.mass_matrix(q).ravel()]
many = [robot.inverse_dynamics(np.array([q, v, a]), v, a).ravel(), robot.pose(np.array([q, v, a]), "hand").ravel()]
print(json.dumps([robot.backend, problem, np.concatenate(one + many).tolist()]))
"""
STATE = np.array([[0.3, -0.4, 0.1], [1.0, -2.0, 0.5], [0.2, 0.1, -0.3]])


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "RBD_DYNAMICS_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
    }
    command = [sys.executable, "-c", PROCESS, ARM, json.dumps(STATE.tolist())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_the_best_backend_left_is_taken_and_said(process):
    (backend, _, _), log = process
    assert backend == "python"
    assert log.count("llvmlite is not installed") == 1


def test_asking_for_machine_code_names_what_is_missing(process):
    (_, problem, _), _ = process
    assert "llvmlite is not installed" in problem


@pytest.mark.parametrize("backend", ["reference", "python", "llvm"])
def test_the_numbers_are_the_same(process, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    (_, _, numbers), _ = process
    robot = Robot(load_urdf(ARM), backend=backend, friction=True)
    q, v, a = STATE
    one = [robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.mass_matrix(q).ravel()]
    many = [robot.inverse_dynamics(STATE, v, a).ravel(), robot.pose(STATE, "hand").ravel()]
    np.testing.assert_allclose(np.concatenate(one + many), numbers, rtol=1e-12, atol=1e-13)
