# SPDX-License-Identifier: Apache-2.0
"""docs/ros2_control.md and examples/ros2_control: names are those of the nodes and of ros2_control's controllers."""

from __future__ import annotations

import ast
import re
from xml.etree import ElementTree

import pytest
import yaml
from helpers.models.arms import JOINTS
from helpers.paths import ROOT

from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER
from rbd_dynamics.nodes.interface.trajectory_proxy import TRAJECTORY_PROXY

FOLDER = ROOT / "examples" / "ros2_control"
PAGE = (ROOT / "docs" / "ros2_control.md").read_text()
#: parameters of the controllers, by their sources: ros2_controllers (jazzy, kilted, master), those that are used here
CONTROLLERS = {
    "joint_state_broadcaster/JointStateBroadcaster": {"joints", "interfaces", "use_local_topics", "extra_joints"},
    "forward_command_controller/ForwardCommandController": {"joints", "interface_name"},
    "joint_trajectory_controller/JointTrajectoryController": {
        "joints", "command_interfaces", "state_interfaces", "allow_partial_joints_goal", "gains", "constraints",
        "action_monitor_rate", "interpolation_method",
    },
    "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster": {"sensor_name", "frame_id", "interface_names"},
}  # fmt: skip
GAINS = {"p", "i", "d", "u_clamp_max", "u_clamp_min", "ff_velocity_scale"}


def load(name):
    return yaml.safe_load((FOLDER / name).read_text())


def test_controllers_have_the_parameters_of_their_kinds():
    found = load("controllers.yaml")
    manager = found.pop("controller_manager")["ros__parameters"]
    kinds = {name: entry["type"] for name, entry in manager.items() if isinstance(entry, dict)}
    assert set(kinds) == set(found)
    for entry in manager.values():  # of the manager, beside each controller's type
        assert not isinstance(entry, dict) or set(entry.get("fallback_controllers", ())) <= set(kinds)
    for name, section in found.items():
        assert set(section["ros__parameters"]) <= CONTROLLERS[kinds[name]], name
    trajectories = found["arm_controller"]["ros__parameters"]
    assert set(trajectories["gains"]) == set(JOINTS)
    assert all(set(gains) <= GAINS for gains in trajectories["gains"].values())
    assert {"position", "velocity"} <= set(trajectories["state_interfaces"])  # an effort interface needs both


@pytest.mark.parametrize(
    ("file", "interface"),
    [
        ("feedforward.yaml", FEEDFORWARD),
        ("trajectory_proxy.yaml", TRAJECTORY_PROXY),
        ("hybrid.yaml", HYBRID_CONTROLLER),
    ],
)
def test_parameters_of_our_nodes_are_theirs(file, interface):
    values = load(file)[f"/**/{interface.executable}"]["ros__parameters"]
    table = {parameter.name: parameter for parameter in interface.parameters}
    for name, value in values.items():
        assert table[name].checked(value) is not None


def test_joints_are_in_the_same_order_everywhere():
    controllers = load("controllers.yaml")
    for name in ("effort_controller", "arm_controller"):
        assert controllers[name]["ros__parameters"]["joints"] == JOINTS
    assert load("feedforward.yaml")["/**/feedforward"]["ros__parameters"]["joints"] == JOINTS
    moveit = load("moveit_controllers.yaml")["moveit_simple_controller_manager"]
    assert moveit["arm_controller"]["joints"] == JOINTS
    description = ElementTree.parse(FOLDER / "arm.ros2_control.xml").getroot()
    assert [joint.get("name") for joint in description.iter("joint")] == JOINTS
    for joint in description.iter("joint"):
        assert [each.get("name") for each in joint.iter("command_interface")] == ["effort"]
        assert [each.get("name") for each in joint.iter("state_interface")] == ["position", "velocity", "effort"]


def test_moveits_line_and_servos_topic_are_ours():
    moveit = load("moveit_controllers.yaml")["moveit_simple_controller_manager"]
    (action,) = TRAJECTORY_PROXY.actions
    assert moveit["arm_controller"]["action_ns"] == action.name.replace("~", TRAJECTORY_PROXY.executable)
    assert f"action_ns: {moveit['arm_controller']['action_ns']}" in PAGE
    assert [each.name for each in FEEDFORWARD.actions] == ["~/follow_joint_trajectory"]
    servo = load("servo.yaml")
    topics = {topic.name.replace("~", "/feedforward"): topic.kind for topic in FEEDFORWARD.topics}
    assert topics[servo["command_out_topic"]].replace("/msg/", "/") == servo["command_out_type"]


def test_yaml_of_the_page_is_that_of_the_examples():
    """Line by line, but for what the page calls an alternative: feedforward in MoveIt's list in place of the proxy."""
    of_examples = {line.strip() for path in FOLDER.glob("*.yaml") for line in path.read_text().splitlines()}
    instead = {"controller_names: [feedforward]", "feedforward:", "action_ns: follow_joint_trajectory"}
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    lines = {line.partition("#")[0].strip() for block in blocks for line in block.splitlines()}
    assert len(blocks) >= 4 and lines - of_examples - {""} == instead


def test_launch_file_is_python_and_names_files_that_there_are():
    text = (FOLDER / "bringup.launch.py").read_text()
    ast.parse(text)
    controllers = load("controllers.yaml")
    for controller in re.findall(r'"(\w+_controller)"', text):
        assert controller in controllers
    for name in ("feedforward", "trajectory_proxy"):
        assert f'ours = "{name}"' in text
        assert (FOLDER / f"{name}.yaml").exists()
        assert (ROOT / "launch" / f"{name}.launch.py").exists()


def test_launch_arguments_rename_topics_that_the_nodes_have():
    source = (ROOT / "rbd_dynamics" / "nodes" / "tools" / "launching.py").read_text()
    arguments = set(re.findall(r'^    "(\w+)": \(', source[source.index("TOPICS = {") :], re.MULTILINE))
    assert {"joint_states", "commands", "wrench"} <= arguments
    names = {topic.name.removeprefix("~/") for each in (FEEDFORWARD, HYBRID_CONTROLLER) for topic in each.topics}
    assert {"joint_states", "commands", "wrench"} <= names


def test_every_file_of_the_folder_is_in_its_list():
    listed = set(re.findall(r"^\| `([\w.]+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE))
    assert listed == {path.name for path in FOLDER.iterdir()} - {"README.md", "__pycache__"}


def test_every_source_is_cited():
    sources = PAGE.partition("## Sources")[2]
    numbers = set(re.findall(r"^(\d+)\. ", sources, re.MULTILINE))
    assert numbers == set(re.findall(r"\[(\d+)\]", PAGE.partition("## Sources")[0]))
