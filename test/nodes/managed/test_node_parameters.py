# SPDX-License-Identifier: Apache-2.0
"""Parameters over their real services and files: lists that are empty, dumps that load again, the clock."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
import yaml
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import joint_state, needs_ros, wait_until
from helpers.paths import ROOT

from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER

pytestmark = needs_ros
TASK = {"tool_frame": "hand", "constrained": ["z"], "controlled": ["x"], "locked_joints": ["slide"]}


def get(ros, node, *names):
    """{name: value} as Python has it."""
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import parameter_value_to_python

    found = ros.client(GetParameters, f"{node}/get_parameters")(names=list(names)).values
    return {
        name: list(value) if hasattr(value, "tolist") else value
        for name, value in zip(names, map(parameter_value_to_python, found))
    }


def load(ros, node, file):
    """What `ros2 param load` does: guess types from the texts of a file, set one parameter after the other."""
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import parameter_dict_from_yaml_file

    found = list(parameter_dict_from_yaml_file(str(file), use_wildcard=True).values())
    results = ros.client(SetParameters, f"{node}/set_parameters")(parameters=found).results
    return {parameter.name: result for parameter, result in zip(found, results)}


def empty_lists():
    """An empty list of every type that a list may have."""
    from rcl_interfaces.msg import ParameterType, ParameterValue

    kinds = ("BYTE", "BOOL", "INTEGER", "DOUBLE", "STRING")
    return [ParameterValue(type=getattr(ParameterType, f"PARAMETER_{kind}_ARRAY")) for kind in kinds]


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.executable)
def test_dumped_parameters_load_again(ros, tmp_path, interface):
    """Those of config/ at the start, and by service; what the node then has, likewise; all lists empty as they are."""
    table = {each.name: each for each in interface.parameters}
    config = ROOT / "config" / f"{interface.executable}.yaml"
    with ros.start(
        interface.executable, {}, "--ros-args", "--params-file", str(config), "-p", "autostart:=false"
    ) as node:
        node.is_there()
        dumped = get(ros, node.name, *table)
        assert dumped == {name: each.default for name, each in table.items()} | {"autostart": False}
        file = tmp_path / "dump.yaml"
        file.write_text(yaml.safe_dump({f"/{node.name}": {"ros__parameters": dumped}}))
        refused = {name: result.reason for name, result in load(ros, node.name, file).items() if not result.successful}
        assert not refused and get(ros, node.name, *table) == dumped
    arguments = ["--ros-args", "--params-file", str(file)]
    with ros.start(interface.executable, {}, *arguments, name=interface.executable) as node:
        node.is_there()
        assert get(ros, node.name, *table) == dumped


def test_empty_lists_of_any_type_and_numbers_for_lists_are_understood(ros):
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParameters

    with ros.start("hybrid_controller", TASK | {"autostart": False}, name="lists") as node:
        node.is_there()
        call = ros.client(SetParameters, f"{node.name}/set_parameters")
        arrays = [each for each in HYBRID_CONTROLLER.parameters if each.is_array and each.default == []]
        assert {each.kind for each in arrays} == {"string_array", "double_array"}
        for value in empty_lists():
            results = call(parameters=[Parameter(name=each.name, value=value) for each in arrays]).results
            assert [result.reason for result in results if not result.successful] == []
        assert all(value == [] for value in get(ros, node.name, *(each.name for each in arrays)).values())
        integers = ParameterValue(type=ParameterType.PARAMETER_INTEGER_ARRAY, integer_array_value=[1, 2])
        one = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=3)
        assert call(parameters=[Parameter(name="kp", value=integers)]).results[0].successful
        assert call(parameters=[Parameter(name=name, value=one) for name in ("kd", "ki")]).results[1].successful
        assert get(ros, node.name, "kp", "kd", "ki") == {"kp": [1.0, 2.0], "kd": [3.0], "ki": 3.0}


def test_requests_that_make_no_sense_are_answered(ros):
    """A type that there is not, no type at all, a name that there is not: rclpy's own answer is none, or a deletion."""
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters, SetParametersAtomically

    good = Parameter(name="kp", value=ParameterValue(type=8, double_array_value=[1.0]))
    text = ParameterValue(type=4, string_value="[1.0, 2]")
    odd = [
        Parameter(name="kp", value=ParameterValue(type=77)),
        Parameter(name="kp"),
        Parameter(name="kq", value=good.value),
        Parameter(name="kp", value=text),
    ]
    with ros.start("feedforward", {"autostart": False}, name="answering") as node:
        node.is_there()
        each = ros.client(SetParameters, f"{node.name}/set_parameters")
        together = ros.client(SetParametersAtomically, f"{node.name}/set_parameters_atomically")
        for wrong in odd:
            results = each(parameters=[good, wrong, good]).results
            assert [result.successful for result in results[:2]] == [True, False] and len(results) == 3
            assert results[1].reason
            result = together(parameters=[Parameter(name="kd", value=good.value), wrong]).result
            assert not result.successful and result.reason
        assert get(ros, node.name, "kp", "kd") == {"kp": [1.0], "kd": []}
        assert "Traceback" not in node.log


class Clocked:
    """A feedforward node, joint states with any stamp, and /clock."""

    def __init__(self, ros, node):
        from rclpy.qos import qos_profile_sensor_data
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState

        self.ros, self.node = ros, node
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)
        self.kind = Clock

    def tick(self, seconds):
        if not hasattr(self, "clock"):
            self.clock = self.ros.publisher(self.kind, "/clock")
        message = self.kind()
        message.clock.sec = seconds
        self.clock.publish(message)

    def answered(self, stamp, seconds=0.1):
        self.states.publish(joint_state(JOINTS, [0.1] * 3, [0.0] * 3, stamp=stamp))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(effort.header.stamp == stamp for effort in self.efforts):
                return True
            time.sleep(0.005)
        return False


def test_simulated_time_counts_from_when_it_is_set(ros):
    from builtin_interfaces.msg import Time

    with ros.start("feedforward", {"robot_description": ARM}, name="clocked") as node:
        node.is_there()
        talk = Clocked(ros, node)

        def now():
            return ros.node.get_clock().now().to_msg()

        wait_until(lambda: talk.answered(now()), "an effort at wall time")
        assert ros.set_parameters(node.name, use_sim_time=True)[0].successful
        wait_until(lambda: talk.tick(50) or talk.answered(Time(sec=50)), "an effort at simulated time")
        assert not talk.answered(now(), 0.5)
        assert ros.set_parameters(node.name, use_sim_time=False)[0].successful
        wait_until(lambda: talk.answered(now()), "an effort at wall time again")
        assert not talk.answered(Time(sec=51), 0.5)


def test_simulated_time_of_a_parameter_file_counts(ros, tmp_path):
    from builtin_interfaces.msg import Time

    file = tmp_path / "simulated.yaml"
    file.write_text(
        yaml.safe_dump({"/**/filed": {"ros__parameters": {"use_sim_time": True, "robot_description": ARM}}})
    )
    with ros.start("feedforward", {}, "--ros-args", "--params-file", str(file), name="filed") as node:
        node.is_there()
        talk = Clocked(ros, node)
        wait_until(lambda: talk.tick(50) or talk.answered(Time(sec=50)), "an effort at simulated time")
        assert not talk.answered(ros.node.get_clock().now().to_msg(), 0.5)


def test_launch_files_leave_the_clock_to_the_parameter_file_unless_told(monkeypatch):
    """Without launch: its place is taken by what only records what it is given."""
    launching = pytest.importorskip(
        "rbd_dynamics.nodes.tools.launching", reason="needs the packages launch and launch_ros"
    )
    monkeypatch.setattr(launching, "Node", lambda **options: options)
    for given, own in (("", {}), ("true", {"use_sim_time": True}), ("false", {"use_sim_time": False})):
        context = SimpleNamespace(launch_configurations={"use_sim_time": given})
        assert own in launching.node_action(context, FEEDFORWARD.executable, description="")["parameters"]
