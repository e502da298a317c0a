# SPDX-License-Identifier: Apache-2.0
"""What `rbd_dynamics export --ros2-control` writes: a whole package under its name, or nothing."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from helpers.checks.exported import needs, output_of
from helpers.models.arms import ARM

import rbd_dynamics as rbd
from rbd_dynamics.__main__ import main
from rbd_dynamics.control import CartesianController, CartesianGains, joint_gains
from rbd_dynamics.control.cartesian.stability import StiffnessCheck
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.stability import Plant
from rbd_dynamics.control.safety.closed_loop import Timing
from rbd_dynamics.export import export_ros2_control
from rbd_dynamics.export.ros2_control.package import TEMPLATES
from rbd_dynamics.export.ros2_control.pressing import LATE, gains_at
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters
from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace") / "My-Arm dynamics"
    assert main(["export", str(ARM), "--ros2-control", "--rate", "500", "-o", str(folder)]) == 0
    return folder


def test_the_package_is_whole_and_of_one_name(package):
    files = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*") if path.is_file()}
    name = "my_arm_dynamics"
    assert ET.fromstring(files["package.xml"]).findtext("name") == name
    for path, text in files.items():
        assert not re.search("robot_package|ROBOT_PACKAGE|THE_[A-Z]+", path + text), path
    # what CMake and its libraries name is there
    for path in re.findall(r"(?:src|test|include)/[\w/]+\.\w+", files["CMakeLists.txt"]):
        assert path in files, path
    generated = [f"{made}.hpp" for made in re.findall(r"generate_parameter_library\((\w+) ", files["CMakeLists.txt"])]
    for path in re.findall(rf'#include "{name}/([\w/]+\.hp*)"', "".join(files.values())):
        assert f"include/{name}/{path}" in files or path in generated, path
    classes = {
        found.get("type"): library.get("path")
        for path, text in files.items()
        if path.startswith(name) and path.endswith(".xml")
        for library in [ET.fromstring(text)]
        for found in library.iter("class")
    }
    exported = re.findall(r"PLUGINLIB_EXPORT_CLASS\(\s*([\w:]+)", "".join(files.values()))
    assert sorted(classes) == sorted(exported)
    assert set(classes.values()) == set(re.findall(r"add_library\((\w+) SHARED", files["CMakeLists.txt"]))
    compile(files["launch/simulated.launch.py"], "simulated.launch.py", "exec")


#: rooms of headers, from low to high, and what each has of the others
ROOMS = {
    "common": (),
    "tool": ("common",),
    "feedforward": ("common",),
    "cartesian": ("common", "tool"),
    "hybrid": ("common", "tool"),
    "simulation": ("common", "tool"),
    "solver": (),
}


def test_headers_are_in_rooms_that_know_none_above_them(package):
    name, headers = "my_arm_dynamics", package / "include/my_arm_dynamics"
    assert {path.name for path in headers.iterdir()} == {f"{name}.h", f"{name}.hpp", *ROOMS}
    for room, known in ROOMS.items():
        files = sorted((headers / room).iterdir())
        assert 0 < len(files) <= 24
        for path in files:
            text = path.read_text()
            assert f"#ifndef {name.upper()}__{room.upper()}__{path.stem.upper()}_HPP_\n" in text, path
            used = set(re.findall(rf'#include "{name}/(\w+)/', text))
            assert used <= {room, *known}, path


def test_parameters_are_those_that_the_controller_declares_with_gains_that_are_stable(package):
    given = yaml.safe_load((package / "config/controllers.yaml").read_text())
    (declared,) = yaml.safe_load((package / "src/feedforward_parameters.yaml").read_text()).values()
    own = given["feedforward_controller"]["ros__parameters"]
    assert set(own) <= set(declared)
    model = rbd.load_urdf(ARM)
    gains = joint_gains(rbd.Robot(model), Timing(2e-3, 2e-3), bandwidth=1.0)
    assert own["law"] == "feedforward", "the other is no faster: it is cut off as well"
    np.testing.assert_allclose(own["kp"], gains.kp, rtol=1e-3)
    np.testing.assert_allclose(own["kd"], gains.kd, rtol=1e-3)
    assert given["controller_manager"]["ros__parameters"]["update_rate"] == 500
    assert own["delay"] == 2e-3
    front = given["arm_controller"]["ros__parameters"]
    assert front["command_joints"] == [f"feedforward_controller/{name}" for name in front["joints"]]
    assert front["command_interfaces"] == own["reference_interfaces"]


def test_parameters_of_the_cartesian_controller_are_the_library_s_defaults_with_a_stiffness_that_is_stable(package):
    given = yaml.safe_load((package / "config/controllers.yaml").read_text())
    (declared,) = yaml.safe_load((package / "src/cartesian_impedance_parameters.yaml").read_text()).values()
    own = given["cartesian_controller"]["ros__parameters"]
    assert set(own) <= set(declared)
    gains = dataclasses.asdict(CartesianGains())
    numbers = {name for name, value in gains.items() if isinstance(value, float)} - {"reaction_time", "tank_size"}
    for name in numbers & set(declared):
        assert declared[name]["default_value"] == gains[name], name
    node = CartesianControllerParameters()
    for name in ("velocity_limits", "acceleration_limits", "path_tolerance", "follow_rate", "wrench_rate"):
        assert np.array_equal(declared[name]["default_value"], getattr(node, name)), name
    assert declared["twist_timeout"]["default_value"] == node.setpoint_timeout
    model = rbd.load_urdf(ARM)
    controller = CartesianController(rbd.Robot(model), tip_of(model, None, "tip"))
    usual = StiffnessCheck(controller).usual(CartesianGains(), Timing(2e-3, 2e-3))
    assert (own["stiffness"], own["rotational_stiffness"]) == ([usual[0]], [usual[1]])
    assert own["delay"] == 2e-3


def test_parameters_of_the_controller_that_presses_are_the_node_s_defaults_with_gains_that_are_stable(package):
    given = yaml.safe_load((package / "config/controllers.yaml").read_text())
    (declared,) = yaml.safe_load((package / "src/hybrid_force_parameters.yaml").read_text()).values()
    own = given["hybrid_force_controller"]["ros__parameters"]
    assert set(own) <= set(declared)
    node = HybridControllerParameters()
    # of lists where there are several rows, of other plants, and of what all controllers of the package have
    others = {"sensor_frame", "sensor_delay", "velocity_limits", "acceleration_limits", "path_tolerance", "kp", "kd"}
    common = set(yaml.safe_load((TEMPLATES / "parts/common_parameters.yaml").read_text()))
    shared = (set(declared) & {field.name for field in dataclasses.fields(node)}) - others - common
    assert {"force_rate", "largest_force", "normal_speed", "approach_speed", "contact_force", "ki"} <= shared
    for name in shared:
        assert np.array_equal(declared[name]["default_value"], getattr(node, name)), name
    assert declared["path_tolerance"]["default_value"] == node.path_tolerance[0]
    gains = HybridGains().of_law("geometric")
    for name in ("kp", "kd"):
        assert own[name] == declared[name]["default_value"] == [getattr(gains, name)]
    assert own["delay"] == 2e-3 and own["sensor_delay"] == 4e-3
    usual, slow = gains_at(500.0), gains_at(60.0)
    assert [own[name] for name in ("ki", "normal_damping", "hold_stiffness")] == [5.0, 30.0, 400.0]
    plant = Plant(actuator_bandwidth=0.0, state_delay=1 / 60, sensor_delay=LATE / 60, period=1 / 60)
    assert not usual.are_stable(plant) and slow.are_stable(plant)
    assert slow.kd < usual.kd and slow.kp / usual.kp == pytest.approx((slow.kd / usual.kd) ** 2)


def test_the_description_is_the_robot_with_its_dynamics_as_hardware(package):
    path = package / "description/my_arm_dynamics.urdf"
    own, written = rbd.load_urdf(ARM), rbd.load_urdf(path)
    q, v = own.random(np.random.default_rng(3)), np.ones(own.nv)
    np.testing.assert_allclose(
        rbd.Robot(written, friction=True).bias(q, v), rbd.Robot(own, friction=True).bias(q, v), rtol=1e-12
    )
    control = ET.parse(path).getroot().find("ros2_control")
    assert control.findtext("hardware/plugin") == "my_arm_dynamics/DynamicsSystem"
    assert [joint.get("name") for joint in control.findall("joint")] == list(own.joint_names)
    (sensor,) = control.findall("sensor")
    controllers = yaml.safe_load((package / "config/controllers.yaml").read_text())
    assert sensor.get("name") == controllers["hybrid_force_controller"]["ros__parameters"]["sensor_name"]
    assert len(sensor.findall("state_interface")) == 6


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--ros2-control", "--single"], "--single does not go with --ros2-control"),
        (["--ros2-control", "--kernels", "bias"], "--kernels does not go with --ros2-control"),
        (["--tip", "tool"], "--tip goes with --ros2-control"),
        (["--rate", "500"], "--rate goes with --ros2-control"),
        (["--ros2-control", "--tip", "nowhere"], "nowhere"),
        (["--ros2-control", "--tip", "base"], "tip 'base' is fixed to the world"),
        (["--ros2-control", "--rate", "0"], "rate is 0, expected at least 1 Hz"),
        (["--ros2-control", "--name", "Upper"], "'Upper' cannot begin names in C"),
        (["--ros2-control", "--floating"], "degrees of freedom"),
    ],
)
def test_what_cannot_be_is_said_and_leaves_nothing(tmp_path, capsys, words, reason):
    folder = tmp_path / "arm"
    assert main(["export", str(ARM), *words, "-o", str(folder)]) != 0
    assert reason in capsys.readouterr().err
    assert not folder.exists()


@needs("gcc")
def test_the_self_test_passes(package):
    name = "my_arm_dynamics"
    sources = [package / "src" / f"{name}.c", package / "test" / f"{name}_self_test.c"]
    places = ["-I", package / "include", "-I", package / "include" / name]
    output_of("gcc", "-std=c99", *places, *sources, "-o", package / "self_test", "-lm")
    assert "wrong" not in output_of(package / "self_test")


def test_a_whole_folder_is_left_alone(package):
    before = sorted(package.rglob("*"))
    with pytest.raises(FileExistsError, match="not empty"):
        export_ros2_control(rbd.load_urdf(ARM), package)
    assert sorted(package.rglob("*")) == before


def test_the_tip_is_a_link_that_moves(tmp_path):
    """The last frame of a UR5 is `base`, which is fixed to the world and touches no floor."""
    export_ros2_control(rbd.load("ur5_robot"), tmp_path / "arm")
    kernels = (tmp_path / "arm/include/arm/arm.h").read_text()
    assert "arm_pose_tool0(" in kernels and "arm_pose_base(" not in kernels
