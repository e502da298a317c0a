# SPDX-License-Identifier: Apache-2.0
"""The examples in C++ compile against the interfaces they implement, and command what the library computes.

`declarations/` has of ros2_control, rclcpp and inverse_dynamics_solver what the examples use, with the signatures of
their releases for Jazzy, so that no ROS is needed here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.checks.exported import STRICT, needs, output_of
from helpers.models.arms import ARM
from helpers.paths import EXAMPLES

import rbd_dynamics as rbd
from rbd_dynamics.control import Feedforward
from rbd_dynamics.control.motion.splines import motion_of
from rbd_dynamics.export import export_c

pytestmark = needs("gcc", "g++")
DECLARATIONS = Path(__file__).parent / "declarations"
Q, V, A = 0.1 * np.arange(1, 4), 0.2 * np.arange(1, 4), 1.0 - 0.3 * np.arange(3)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "robot"
    kernels = ["feedforward", "inverse_dynamics", "mass_matrix", "coriolis", "gravity", "friction"]
    export_c(rbd.load_urdf(ARM), folder, name="robot", friction=True, kernels=kernels)
    output_of("gcc", *STRICT, "-c", "-I", folder / "include", folder / "src/robot.c", "-o", folder / "robot.o")
    return folder


def output_of_example(exported: Path, name: str, main: str, *, status: int = 0) -> list[str]:
    program = exported / name
    strict = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
    places = ("-I", exported / "include", "-I", DECLARATIONS, "-I", EXAMPLES / name)
    sources = (EXAMPLES / name / f"{name}.cpp", DECLARATIONS / main, exported / "robot.o")
    output_of("g++", *strict, *places, *sources, "-o", program)
    return output_of(program, status=status).splitlines()


def numbers(line: str) -> np.ndarray:
    return np.array([float(word) for word in line.split()[1:]])


def test_the_controller_commands_what_the_law_says(exported):
    lines = output_of_example(exported, "exported_controller", "controller_main.cpp")
    names = ["holds", "follows", "ignores", "stale", "refuses", "unread", "ends"]
    assert [line.split()[0] for line in lines] == names
    found = {name: numbers(line) for name, line in zip(names, lines)}

    robot = rbd.Robot(rbd.load_urdf(ARM))
    robot.set_payload(robot.model.frame_names[-1], 0.7)
    law = Feedforward(robot, kp=20.0, kd=3.0)
    ones = np.ones(3)

    def efforts(position, velocity, acceleration):
        return law.compute(Q, V, motion_of([position, velocity, acceleration]), np.zeros(1)).copy()

    expected = {
        "holds": efforts(Q, 0 * ones, 0 * ones),
        "follows": efforts(Q + 0.01, 0.3 * ones, -0.5 * ones),
        "stale": efforts(Q + 0.01, 0 * ones, 0 * ones),
    }
    for name, own in expected.items():
        np.testing.assert_allclose(found[name], [1, *own], rtol=1e-12, atol=1e-12)
    assert np.array_equal(found["ignores"], found["follows"]), "a set-point that is not finite changes nothing"
    for name in ("refuses", "unread"):  # no new command, and ros2_control is told
        assert np.array_equal(found[name], [0, *found["stale"][1:]])
    assert np.array_equal(found["ends"], [1, 0, 0, 0])


@pytest.mark.skipif(not Path("/usr/include/eigen3").is_dir(), reason="no libeigen3-dev (scripts/emulators)")
def test_the_solver_answers_what_the_library_computes(exported):
    lines = output_of_example(exported, "exported_solver", "solver_main.cpp")
    robot = rbd.Robot(rbd.load_urdf(ARM), friction=True)
    robot.set_payload(robot.model.frame_names[-1], 0.7)
    friction = robot.bias(Q, V) - rbd.Robot(robot.model).carrying(robot.model.frame_names[-1], 0.7).bias(Q, V)
    expected = {
        "M": robot.mass_matrix(Q),
        "C": robot.coriolis(Q, V),
        "N": robot.gravity(Q),
        "F": friction,
        "tau": robot.inverse_dynamics(Q, V, A),
    }
    assert lines[:3] == [
        "error: not initialized",
        "error: robot_description has no joint shoulder: it is not the robot that was exported",
        "error: payload.frame: the robot has no frame named nowhere",
    ]
    for line, (name, own) in zip(lines[3:8], expected.items(), strict=True):
        assert line.split()[0] == name
        np.testing.assert_allclose(numbers(line), own.ravel(), rtol=1e-12, atol=1e-12)
    assert lines[8:] == [
        "error: joint_positions has 1 numbers, the robot needs 3",
        "error: getGravityVector: an input is not finite",
    ]
