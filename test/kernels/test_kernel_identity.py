# SPDX-License-Identifier: Apache-2.0
"""Kernels are shared between robots through the cache: only where the robots are the same for that kernel."""

import numpy as np
import pytest
from helpers.arms import ARM

from rbd_dynamics import Robot, load_urdf


@pytest.mark.parametrize("backend", ["llvm", "python", "reference"])
@pytest.mark.parametrize("attribute", ["damping", "friction"])
def test_friction_is_that_of_the_robot_and_not_of_a_like_one_in_the_cache(backend, attribute, tmp_path, monkeypatch):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    v = np.array([1.0, 0.5, -0.2])
    once = Robot(load_urdf(ARM), backend=backend).friction_torque(v)
    value = {"damping": "0.4", "friction": "0.6"}[attribute]
    other = load_urdf(ARM.replace(f'{attribute}="{value}"', f'{attribute}="7"'))
    assert Robot(other, backend=backend).friction_torque(v)[0] - once[0] > 5.0
