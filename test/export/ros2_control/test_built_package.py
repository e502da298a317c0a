# SPDX-License-Identifier: Apache-2.0
"""An exported package for ros2_control, built by colcon with its tests run, where ros2_control is installed."""

from __future__ import annotations

import os
import shutil

import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from helpers.checks.exported import output_of

import rbd_dynamics as rbd
from rbd_dynamics.export import export_ros2_control

NEEDED = (
    "ament_cmake_gmock",
    "controller_manager",
    "generate_parameter_library",
    "joint_trajectory_controller",
    "rbd_dynamics_interfaces",
)


def missing() -> list[str]:
    found = []
    for name in NEEDED:
        try:
            get_package_prefix(name)
        except (PackageNotFoundError, LookupError):
            found.append(name)
    return found + [name for name in ("colcon", "g++") if shutil.which(name) is None]


@pytest.mark.skipif(
    bool(missing()),
    reason=f"not installed: {', '.join(missing())}; test_plugins.py compiles against declarations instead",
)
def test_the_package_builds_and_passes_its_own_tests(tmp_path):
    export_ros2_control(rbd.load("ur5_robot"), tmp_path / "src/ur5_dynamics", tip="tool0")
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    environment.pop("COLCON_DEFAULTS_FILE", None)
    output_of("colcon", "build", "--event-handlers", "console_direct+", cwd=tmp_path, env=environment)
    output_of("colcon", "test", "--return-code-on-test-failure", cwd=tmp_path, env=environment)
