# SPDX-License-Identifier: Apache-2.0
"""The plugins of an exported package for ros2_control, compiled against what they use of its interfaces.

`declarations/` has of ros2_control, rclcpp and inverse_dynamics_solver what the plugins use, with the signatures of
their releases, so that no ROS is needed here. Where ros2_control is installed, `test_built_package.py` builds the
package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.checks.exported import STRICT, needs, output_of
from helpers.models.arms import ARM

import rbd_dynamics as rbd
from rbd_dynamics.control import CartesianController, CartesianGains, Feedforward
from rbd_dynamics.control.motion.splines import motion_of
from rbd_dynamics.export import export_ros2_control
from rbd_dynamics.model.tip import tip_of

pytestmark = needs("gcc", "g++")
HERE = Path(__file__).parent
DECLARATIONS = HERE / "declarations"
Q, V, A = 0.1 * np.arange(1, 4), 0.2 * np.arange(1, 4), 1.0 - 0.3 * np.arange(3)
#: releases of ros2_control with different interfaces: Jazzy, early and today, Kilted, and what follows
RELEASES = [4046, *(pytest.param(release, marks=pytest.mark.wide) for release in (4020, 4030, 5004, 5017, 6005))]
TYPES = {
    "bool": "bool",
    "double": "double",
    "string": "std::string",
    "double_array": "std::vector<double>",
    "string_array": "std::vector<std::string>",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return package_of(rbd.load_urdf(ARM), tmp_path_factory.mktemp("package") / "arm")


def package_of(model: rbd.Model, folder: Path, **given: str) -> Path:
    """A package with its kernels compiled, and what is made of its parameters."""
    export_ros2_control(model, folder, **given)
    output_of("gcc", *STRICT, "-c", "-I", folder / "include", folder / "src/arm.c", "-o", folder / "arm.o")
    (folder / "declared/arm").mkdir(parents=True)
    for name in ("feedforward_parameters", "cartesian_impedance_parameters", "hybrid_force_parameters"):
        declared = declared_parameters(folder / f"src/{name}.yaml")
        (folder / f"declared/arm/{name}.hpp").write_text(declared)
    return folder


def declared_parameters(path: Path) -> str:
    """What generate_parameter_library makes of the YAML, as far as a controller uses it."""
    ((name, rows),) = yaml.safe_load(path.read_text()).items()

    def members(rows):
        for member, row in rows.items():
            if "type" not in row:
                yield f"struct {{ {' '.join(members(row))} }} {member};"
                continue
            default = row["default_value"]
            values = default if isinstance(default, list) else [default]
            texts = [f'"{value}"' if isinstance(value, str) else repr(value).lower() for value in values]
            yield f"{TYPES[row['type']]} {member}{{{', '.join(texts)}}};"

    def settable(rows):
        for member, row in rows.items():
            if row.get("type") in ("bool", "double", "double_array"):
                yield f'if (name == "{member}") given().{member} = parameter.as_{row["type"]}();'

    return f"""
    #pragma once
    #include <string>
    #include "rclcpp/parameter.hpp"
    #include <vector>
    namespace {name} {{
    struct Params {{ {" ".join(members(rows))} }};
    struct ParamListener {{
      template <class Node> explicit ParamListener(Node) {{}}
      static Params & given() {{ static Params params; return params; }}
      Params get_params() const {{ return given(); }}
      static void set([[maybe_unused]] const rclcpp::Parameter & parameter) {{
        [[maybe_unused]] const std::string & name = parameter.get_name();
        {chr(10).join(settable(rows))}
      }}
    }};
    }}
    """


def output_of_plugin(
    package: Path, source: str, main: str, *flags: str, beside: tuple[str, ...] = (), arguments: Sequence[str] = ()
) -> list[str]:
    program = package / f"{source}_{''.join(flags)}".replace("=", "_")
    strict = ("-std=c++17", "-Wall", "-Wextra", "-Werror", *flags)
    places = ("-I", package / "include", "-I", package / "declared", "-I", DECLARATIONS)
    plugin = [package / "src" / f"{name}.cpp" for name in (source, *beside)]
    sources = (*plugin, HERE / main, package / "arm.o")
    output_of("g++", *strict, *places, *sources, "-o", program, "-lm")
    return output_of(program, *arguments).splitlines()


def numbers(line: str) -> np.ndarray:
    return np.array([float(word) for word in line.split()[1:]])


@pytest.mark.parametrize("release", RELEASES)
def test_the_controller_commands_what_the_law_says(package, release):
    lines = output_of_plugin(
        package, "feedforward_controller", "controller_main.cpp", f"-DDECLARED_RELEASE={release}",
        beside=("effort_controller",),
    )  # fmt: skip
    found = {line.split()[0]: numbers(line) for line in lines}
    robot = rbd.Robot(rbd.load_urdf(ARM))
    frame = robot.model.frame_names[-1]
    robot.set_payload(frame, 0.7)
    heavy = rbd.Robot(robot.model)
    heavy.set_payload(frame, 1.4)
    zero, one = np.zeros(3), np.ones(3)

    def efforts(position, velocity=zero, acceleration=zero, *, added=zero, of=robot):
        law = Feedforward(of, kp=20.0, kd=0.5)
        return law.compute(Q, V, motion_of([position, velocity, acceleration]), np.zeros(1), added=added).copy()

    left = Q - 0.02
    expected = {
        "holds": efforts(Q),
        "follows": efforts(Q + 0.01, 0.3 * one, -0.5 * one),
        "ignores": efforts(Q + 0.01, 0.3 * one, -0.5 * one),
        "stale": efforts(Q + 0.01),
        "waits": efforts(Q + 0.01),
        "chained": efforts(left, -0.1 * one, 0.4 * one, added=0.25 * one),
        "left": efforts(left),
        "changes": 0.5 * (efforts(left) + efforts(left, of=heavy)),
        "loaded": efforts(left, of=heavy),
        "again": efforts(Q, of=heavy),
        "begins": efforts(Q),  # configured anew: with the load of the parameters
    }
    reach = 0.001 * np.minimum([joint.limits.effort / 0.1 for joint in robot.model.joints], 1000.0)
    wanted = expected["follows"]
    expected["limited"] = np.clip(wanted, expected["begins"] - reach, expected["begins"] + reach)
    assert (expected["limited"] != wanted).any()
    assert set(found) == {"refused", *expected, "refuses", "unread", "ends", "found"}
    assert found["found"][0] == 0.0 < found["found"][1], "allocations or locks in a cycle"
    assert np.array_equal(found["refused"], [1])
    for name, own in expected.items():
        np.testing.assert_allclose(found[name], [1, *own], rtol=1e-12, atol=1e-12, err_msg=name)
    for name in ("refuses", "unread"):  # no new command, and ros2_control is told
        assert np.array_equal(found[name], [0, *found["loaded"][1:]])
    assert np.array_equal(found["ends"], [1, 0, 0, 0])


@pytest.mark.parametrize("release", RELEASES)
def test_the_cartesian_controller_commands_what_its_law_says(package, release):
    lines = output_of_plugin(
        package, "cartesian_impedance_controller", "cartesian_controller_main.cpp", f"-DDECLARED_RELEASE={release}",
        beside=("effort_controller",),
    )  # fmt: skip
    told = dict(line.split(": ", 1) for line in lines)
    model, gains = rbd.load_urdf(ARM), CartesianGains(reaction_time=0.02)
    law = CartesianController(rbd.Robot(model), tip_of(model, None, "tip"), gains=gains)
    q = 0.5 * Q
    held = law.step(q, np.zeros(3), law.chart(q), posture=q).tau  # with what keeps joints from their limits
    np.testing.assert_allclose(numbers(f"first {told.pop('first')}"), held, rtol=1e-12, atol=1e-12)
    assert "would be stable. Joint" in told.pop("unstable")
    assert re.match("target stiffness refused: it is unstable at 1000.* would be stable. Joint", told.pop("shaky"))
    counted = numbers(f"found {told.pop('found')}")
    assert counted[0] == 0.0 < counted[1], "allocations or locks in a cycle"
    assert told == {
        "holds": "holding",
        "goes": "on its way to a pose",
        "drives": "moving with a twist",
        "out of reach": "the tool does not reach its target: joint slide is at its limit; it is held where it is",
        "chained": "on its way to a pose",
        "no stiffness": "target stiffness refused: it has 3 numbers: expected 6 (x, y, z, rx, ry, rz) or 36",
        "too stiff": "target stiffness refused: 501 of rotations, more than largest_stiffness (500)",
        "no pose": "the reference is refused: it is no pose, or outside the workspace",
        "pushed": "the robot was moved while it was held: it is held where it is now",
        "deactivated": "not active",
    }


@pytest.mark.parametrize("release", RELEASES)
def test_the_controller_that_presses_commands_what_its_law_says(tmp_path, release):
    model, q = rbd.load("ur5_robot"), np.array([0.3, -1.4, 1.9, -2.07, -1.57, 0.2])
    package, place = package_of(model, tmp_path / "arm", tip="tool0"), rbd.Robot(model).pose(q, "tool0")
    task = [*place[:2, 3], place[2, 3] - 0.004, np.arctan2(place[1, 0], place[0, 0])]
    lines = output_of_plugin(
        package, "hybrid_force_controller", "hybrid_controller_main.cpp", f"-DDECLARED_RELEASE={release}",
        beside=("effort_controller", "hybrid_force_settings"), arguments=[repr(float(value)) for value in (*q, *task)],
    )  # fmt: skip
    forces = [float(line.split()[1]) for line in lines if line.startswith("force: ")]
    told = dict(line.split(": ", 1) for line in lines if not line.startswith("force: "))
    bounded = told.pop("bounded")
    assert re.fullmatch(r"50 N are wanted, but [\d.]+ pressed: of more the tool could not let go in time .*", bounded)
    np.testing.assert_allclose(forces, [10.0, 5.0, float(bounded.split()[5])], atol=0.1)
    assert forces[-1] < 45.0
    held = rbd.Robot(model).gravity(q)
    np.testing.assert_allclose(numbers(f"first {told.pop('first')}"), held, rtol=1e-12, atol=1e-12)
    way, pressed = numbers(f"moved {told.pop('moved')}")
    assert abs(way - 0.01) < 1e-3 and abs(pressed - 10.0) < 0.3
    assert float(told.pop("largest")) < 15.0
    counted = numbers(f"found {told.pop('found')}")
    assert counted[0] == 0.0 < counted[1], "allocations or locks in a cycle"
    moved = (
        r"task_position = \[.*\]: the surface would be off by -0\.10\d* m where it is pressed, more than .*\(0\.03\)"
    )
    assert re.fullmatch(moved, told["elsewhere"])
    assert told.pop("unstable").startswith("normal_damping is unstable with states 0.001")
    assert told == {
        "force_rate": "force_rate is a finite number above 0",
        "sensor_frame": "sensor_frame: the robot has no frame named nowhere",
        "efforts": "effort_limits needs a number of at least 0 for each of 6 joints, or none",
        "holds": "holding",
        "too much": "desired force refused: it is 51, expected 0 to largest_force (50)",
        "too early": "what was wanted is refused: it is beyond largest_force or reach, or the tool does not press",
        "approaches": "on its way to the surface",
        "presses": "pressing",
        "frame": "target twist refused: it is in frame somewhere, neither the root's nor the task's",
        "beyond": "what was wanted is refused: it is beyond largest_force or reach, or the tool does not press",
        "fixed": "effort_limits is taken when the controller is configured: clean it up first",
        "rate": "force_rate = -1: force_rate is a finite number above 0",
        "no number": "force_rate = : force_rate is a number",
        "no flag": "hold_load = 1: hold_load is true or false",
        "shaky": "ki = 35: ki is not below normal_damping: unstable on a contact that gives and has little damping",
        "wanted": "largest_force = 9: 10 N are wanted now, more than largest_force (9)",
        "elsewhere": told["elsewhere"],
        "changed": "pressing",
        "broken": "holding: the wrench is not finite",
        "again": "pressing",
        "silent": "holding: the wrench has not changed for 0.05 s: the sensor is silent",
        "chained": "pressing",
        "refused": "what was wanted is refused: it is beyond largest_force or reach, or the tool does not press",
        "let go": "holding",
        "deactivated": "not active",
    }


@pytest.mark.parametrize("release", [4046, pytest.param(4030, marks=pytest.mark.wide)])
def test_the_hardware_is_the_robot_and_brakes_without_a_controller(package, release):
    lines = output_of_plugin(package, "dynamics_system", "hardware_main.cpp", f"-DDECLARED_RELEASE={release}")
    *force, is_noisy, has_other, torque = numbers(lines.pop())
    np.testing.assert_allclose(force, [0.0, 0.0, 100.0], atol=0.1)
    assert (is_noisy, has_other) == (1.0, 0.0) and abs(torque) <= 1e-3
    found = {line.split()[0]: numbers(line).reshape(3, 3) for line in lines}
    assert list(found) == ["braked", "waits", "falls", "falls_on", "stopped"]
    for name in ("braked", "waits"):
        assert np.array_equal(found[name], [[0.15] * 3, [0] * 3, [0] * 3])
    robot = rbd.Robot(rbd.load_urdf(ARM), friction=True)
    q, v = np.full(3, 0.15), np.zeros(3)
    for _ in range(5000):  # 50 ms
        new = v + 1e-5 * robot.forward_dynamics(q, v, np.zeros(3))
        q, v = q + 0.5e-5 * (v + new), new
    np.testing.assert_allclose(found["falls"][0], q, atol=1e-5)
    np.testing.assert_allclose(found["falls"][1], v, rtol=1e-3, atol=1e-3)
    assert np.all(np.abs(found["falls_on"][1]) >= 0.5 * np.abs(found["falls"][1])), "it is not braked between"
    assert np.array_equal(found["stopped"][1], np.zeros(3))


@pytest.mark.skipif(not Path("/usr/include/eigen3").is_dir(), reason="no libeigen3-dev (scripts/emulators)")
def test_the_solver_answers_what_the_library_computes(package):
    lines = output_of_plugin(package, "inverse_dynamics_solver", "solver_main.cpp")
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
