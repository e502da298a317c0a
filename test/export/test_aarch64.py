# SPDX-License-Identifier: Apache-2.0
"""The library itself on aarch64, under QEMU: imported, compiled, and called. scripts/emulators sets its Python up."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.exported import needs, output_of
from helpers.models.arms import ARM
from helpers.paths import ROOT

import rbd_dynamics as rbd

PYTHON = Path(os.environ.get("RBD_DYNAMICS_AARCH64", ROOT / ".venv/aarch64")) / "bin/python"
CODE = """
import json, platform, sys
import numpy as np
import rbd_dynamics as rbd
robot = rbd.Robot(rbd.load_urdf(sys.argv[1]))
q, v, a = np.array([0.3, -0.4, 0.05]), np.array([0.1, 0.2, -0.3]), np.array([1.0, -2.0, 0.5])
batch = robot.inverse_dynamics(np.linspace(-1, 1, 15).reshape(5, 3), v, a)
print(json.dumps([platform.machine(), robot.backend, robot.inverse_dynamics(q, v, a).tolist(), batch.tolist()]))
"""


@needs("qemu-aarch64-static")
@pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON} (scripts/emulators)")
def test_the_library_on_aarch64(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "main.py").write_text(CODE)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "RBD_DYNAMICS_CACHE_DIR": str(tmp_path)}
    answer = output_of(PYTHON, tmp_path / "main.py", tmp_path / "arm.urdf", env=environment)
    machine, backend, tau, batch = json.loads(answer.splitlines()[-1])
    assert (machine, backend) == ("aarch64", "llvm")
    robot = rbd.Robot(rbd.load_urdf(ARM))
    v, a = np.array([0.1, 0.2, -0.3]), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(tau, robot.inverse_dynamics([0.3, -0.4, 0.05], v, a), rtol=1e-12, atol=1e-12)
    expected = robot.inverse_dynamics(np.linspace(-1, 1, 15).reshape(5, 3), v, a)
    np.testing.assert_allclose(batch, expected, rtol=1e-12, atol=1e-12)
