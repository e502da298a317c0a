# SPDX-License-Identifier: Apache-2.0
"""What documentation, parameter files and launch files say of the nodes is what the nodes are."""

from __future__ import annotations

import ast
import functools
import importlib.util
import math
import py_compile
import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import PATIENCE, ROOT, needs_ros, others_run, rclpy, wait_until

from rbd_dynamics.common.node_table import NODES
from rbd_dynamics.nodes import reference
from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
from rbd_dynamics.nodes.interface.parameters import Parameter
from rbd_dynamics.nodes.interface.simulator import SIMULATOR
from rbd_dynamics.nodes.process import parameter_files
from rbd_dynamics.nodes.tools import policies

LAUNCH_FILES = sorted((ROOT / "launch").glob("*.launch.py"))
each_node = pytest.mark.parametrize("interface", INTERFACES, ids=[i.executable for i in INTERFACES])


def has_launch() -> bool:
    """The real package: a folder of that name in the current one is none."""
    try:
        from launch_ros.actions import Node  # noqa: F401

        from launch import LaunchDescription  # noqa: F401
    except ImportError:
        return False
    return True


def test_documentation_is_what_the_tables_say():
    assert (ROOT / "docs" / "nodes.md").read_text() == reference.markdown(), (
        "write it anew with: python -m rbd_dynamics.nodes.reference"
    )


@each_node
def test_policy_file_is_that_of_the_interface(interface):
    text = (ROOT / "config" / "security" / f"{interface.executable}.policy.xml").read_text()
    assert text == policies.policy(interface), "write it anew with: python -m rbd_dynamics.nodes.reference"


@each_node
def test_parameter_file_has_every_parameter_with_its_default(interface):
    text = (ROOT / "config" / f"{interface.executable}.yaml").read_text()
    assert text == reference.config(interface), "write it anew with: python -m rbd_dynamics.nodes.reference"
    values = yaml.safe_load(text)[f"/**/{interface.executable}"]["ros__parameters"]
    expected = {p.name: p.default for p in interface.parameters if p.name != "robot_description"}
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in expected.items()} == values


@each_node
def test_what_a_parameter_is_stands_alone(interface):
    """`ros2 param describe` shows one at a time: nothing before it says what "likewise" or "of that" is."""
    leans = re.compile(r"(Likewise|The same|Their|Its|Of|For|Along|About|In|With|As|Instead|Those|Where those|That)\b")
    assert [each.name for each in interface.parameters if leans.match(each.description)] == []


@each_node
def test_defaults_are_within_their_own_ranges(interface):
    for parameter in interface.parameters:
        assert parameter.checked(parameter.default) == parameter.default


@each_node
def test_executable_and_launch_file_exist(interface):
    name = interface.executable
    assert name in NODES and len(INTERFACES) == len(NODES)
    assert importlib.util.find_spec(f"rbd_dynamics.nodes.{name}")
    assert f'launch_node("{name}", "{name}.yaml")' in (ROOT / "launch" / f"{name}.launch.py").read_text()


@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda file: file.name)
def test_launch_file_is_python_and_starts_nodes_that_there_are(file, tmp_path):
    py_compile.compile(str(file), str(tmp_path / "compiled"), doraise=True)
    named = re.findall(r'(?:launch_node|node_action)\((?:context, )?"(\w+)"', file.read_text())
    assert named
    assert set(named) <= {interface.executable for interface in INTERFACES}


@pytest.mark.skipif(not has_launch(), reason="needs the packages launch and launch_ros, which the wheels do not have")
@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda file: file.name)
def test_launch_description_has_the_usual_arguments_and_the_nodes(file, tmp_path):
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch_ros.actions import Node

    from launch import LaunchContext

    description = PythonLaunchDescriptionSource(str(file)).get_launch_description(LaunchContext())
    arguments = [entity for entity in description.entities if isinstance(entity, DeclareLaunchArgument)]
    names = {argument.name for argument in arguments}
    usual = {"namespace", "tf_prefix", "use_sim_time", "params_file", "urdf", "xacro"}
    assert names >= ({"namespace"} if file.name.startswith("demo") else usual)
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM)
    context = LaunchContext()
    for argument in arguments:
        argument.execute(context)
    if "urdf" in names:
        context.launch_configurations.update(urdf=str(urdf), namespace="left", tf_prefix="l_")
    (opaque,) = (entity for entity in description.entities if isinstance(entity, OpaqueFunction))
    nodes = opaque.execute(context)
    assert nodes
    assert all(isinstance(node, Node) for node in nodes)


@pytest.mark.skipif(not has_launch(), reason="needs the packages launch and launch_ros, which the wheels do not have")
def test_launch_arguments_rename_the_topics_that_a_node_has():
    from rbd_dynamics.nodes.tools import launching

    topics = launching.topics_named("hybrid_controller")
    assert topics == {"joint_states": "joint_states", "wrench": "wrench", "commands": "~/commands"}
    assert launching.renamed(topics, {"wrench": "/fts/wrench", "commands": ""}) == [("wrench", "/fts/wrench")]
    assert set(launching.topics_named("monitor")) == {"joint_states"}
    assert set(launching.topics_named("guard")) == {"joint_states", "commands", "unguarded_commands"}


@pytest.mark.skipif(not has_launch(), reason="needs the packages launch and launch_ros, which the wheels do not have")
def test_a_guard_is_told_what_its_torque_node_is_where_it_has_that_too(tmp_path):
    from launch import LaunchContext
    from rbd_dynamics.nodes.tools import launching

    sections = {
        "/**": {"state_timeout": 0.3, "joints": ["elbow"], "autostart": False},
        "/left/feedforward": {"joints": ["shoulder", "elbow"], "effort_limits": [], "kp": [10.0]},
        "guard": {"silence_duration": 3.0},
    }
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({name: {"ros__parameters": values} for name, values in sections.items()}))
    context = LaunchContext()
    context.launch_configurations["params_file"] = str(file)
    found = launching.shared_parameters(launching.parameter_text(context), "feedforward")
    assert found == {"state_timeout": 0.3, "joints": ["shoulder", "elbow"]}


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        ("double", 3, 3.0),
        ("double_array", 3, [3.0]),
        ("double_array", (1, 2.5), [1.0, 2.5]),
        ("double_array", None, []),
        ("string_array", ["a"], ["a"]),
        ("bool", True, True),
    ],
)
def test_parameter_values_are_converted_where_the_meaning_is_clear(kind, value, result):
    assert Parameter("p", kind, None, "").checked(value) == result


@pytest.mark.parametrize(
    ("kind", "value"),
    [("double", "1"), ("double", True), ("int", 1.5), ("double_array", "12"), ("double_array", [1, "a"]),
     ("string_array", [1]), ("bool", 1), ("double", float("nan")), ("string", 1)],
)  # fmt: skip
def test_parameter_values_of_another_kind_are_refused_by_name(kind, value):
    with pytest.raises(ValueError, match="'p'"):
        Parameter("p", kind, None, "").checked(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1.1e12, -1e300, 10**310, -(10**310)], ids=range(6))
@pytest.mark.parametrize("kind", ["double", "double_array"])
def test_numbers_beyond_all_bounds_are_refused_by_name(kind, value):
    given = [value] if kind == "double_array" else value
    with pytest.raises(ValueError, match="'p'"):
        Parameter("p", kind, None, "").checked(given)
    if isinstance(value, float) and math.isinf(value):
        assert Parameter("p", kind, None, "", infinite=True).checked(given) == given
    assert Parameter("p", kind, None, "").checked(1e12)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: [x, y, 'n', {y: y, n: [N]}]", 'a: [x, "y", \'n\', {y: y, n: ["N"]}]'),
        (
            "tf_prefix: n\nlockstep: y\nc:\n- y\n- yes\n- &a y\n",
            'tf_prefix: "n"\nlockstep: y\nc:\n- "y"\n- yes\n- &a y\n',
        ),
        ("a: [y", "a: [y"),
        ("", ""),
    ],
)
def test_bare_y_and_n_of_a_parameter_file_are_texts_where_texts_are_meant(text, meant):
    assert parameter_files.quoted(text, ["tf_prefix"]) == meant


def test_a_parameter_file_beyond_all_use_is_left_as_it_is(tmp_path, monkeypatch):
    text = "tf_prefix: n\n"
    monkeypatch.setattr(parameter_files, "LARGEST", len(text))
    path = tmp_path / "params.yaml"
    arguments = ["--ros-args", parameter_files.OPTION, str(path)]
    path.write_text(text)
    with parameter_files.readable(arguments, ["tf_prefix"]) as found:
        assert found[:2] == arguments[:2] and Path(found[2]).read_text() == 'tf_prefix: "n"\n'
    assert not Path(found[2]).exists()
    path.write_text(text + "\n")
    with parameter_files.readable(arguments, ["tf_prefix"]) as found:
        assert found == arguments


class TestParameterFiles:
    pytestmark = needs_ros

    def test_a_parameter_file_that_has_nothing_for_a_node_is_told_where_rcl_gives_it_nothing(self, tmp_path):
        path = tmp_path / "params.yaml"
        arguments = ["--ros-args", parameter_files.OPTION, str(path)]
        entries = (
            "/**",
            "feedforward",
            "/left/feedforward",
            "/**/feedforward",
            "/*",
            "/*/feedforward",
            "/right/*",
            "/**/arm/*",
        )
        for entry in entries:
            path.write_text(f"{entry}:\n  ros__parameters:\n    known: 1\n")
            context = rclpy.Context()
            rclpy.init(args=arguments, context=context)
            for space in ("/", "/left", "/right/arm"):
                node = rclpy.create_node(
                    "feedforward",
                    namespace=space,
                    context=context,
                    automatically_declare_parameters_from_overrides=True,
                )
                told = list(parameter_files.of_others(arguments, node.get_fully_qualified_name()))
                assert bool(told) != node.has_parameter("known"), (entry, space)
                node.destroy_node()
            rclpy.shutdown(context=context)
        path.write_text("left:\n  feedforward: {ros__parameters: {known: 1}}\n")
        assert not list(parameter_files.of_others(arguments, "/left/feedforward"))
        (told,) = parameter_files.of_others(arguments, "/feedforward")
        assert (
            "has nothing for /feedforward" in told and "its entries are for /left/feedforward; /**/feedforward" in told
        )


class TestParameterSet:
    """What a node knows of its parameters, with their types."""

    def test_values_by_name_with_defaults_for_the_rest(self):
        params = FeedforwardParameters.of({"kp": [3], "law": "computed_torque", "autostart": False})
        assert (params.kp, params.law, params.autostart) == ((3.0,), "computed_torque", False)
        assert params.kd == () and params.gravity == (0.0, 0.0, -9.81)

    @pytest.mark.parametrize(
        ("values", "culprit"),
        [
            ({"law": "magic"}, "'law' must be one of feedforward, computed_torque"),
            ({"terms": ["magic"]}, "'terms' must be any of inertia"),
            ({"kp": [-1.0]}, "'kp' must be at least 0"),
            ({"gravity": [0.0]}, "'gravity' must have 3 numbers, got 1"),
            ({"locked_joints": ["a"], "locked_positions": [1.0, 2.0]}, "'locked_positions' has 2 values for 1 joints"),
        ],
    )
    def test_what_is_wrong_is_named(self, values, culprit):
        with pytest.raises(ValueError, match=re.escape(culprit)):
            FeedforwardParameters.of(values)

    def test_changes_are_refused_where_the_node_is_configured_and_they_are_not_dynamic(self):
        from types import SimpleNamespace as Change

        params = FeedforwardParameters()
        assert params.changed([Change(name="kp", value=[1.0])], configured=True).kp == (1.0,)
        assert params.changed([Change(name="joints", value=["a"])], configured=False).joints == ("a",)
        assert params.changed([Change(name="joints", value=[])], configured=True) == params  # no change
        assert params.changed([Change(name="use_sim_time", value=True)], configured=True) == params  # rclpy's
        with pytest.raises(ValueError, match="'joints' can be changed only while the node is not configured"):
            params.changed([Change(name="joints", value=["a"])], configured=True)
        with pytest.raises(ValueError, match="'gravity' must have 3 numbers"):
            params.changed([Change(name="gravity", value=[])], configured=False)


class TestPrivatePartsOfRclpy:
    """They are in one folder, with a way out where they are missing."""

    FILES = sorted((ROOT / "rbd_dynamics" / "nodes").rglob("*.py"))

    @staticmethod
    def attributes(tree):
        """Those that are used, those of self that are made, and methods."""
        used, made = set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                made.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                used.add(node.attr)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                made.add(node.attr)
        return used, made

    def test_no_other_room_uses_any(self):
        used, made = {}, set()
        for file in self.FILES:
            tree = ast.parse(file.read_text())
            found, own = self.attributes(tree)
            made |= own
            if file.parent.name == "wire":
                continue
            used[file.name] = {name for name in found if re.match("_[^_]", name)}
            modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not {name for name in modules if name.startswith(("rclpy.experimental", "rclpy.impl"))}, file.name
        assert {name: names - made for name, names in used.items() if names - made} == {}

    @pytest.mark.ros
    @pytest.mark.skipif(rclpy is None, reason="needs ROS 2: rclpy is not installed")
    def test_nodes_shadow_nothing_of_rclpy_but_what_they_say(self):
        from rclpy.lifecycle import LifecycleNode

        context = rclpy.Context()
        rclpy.init(context=context)
        node = LifecycleNode("plain", context=context)
        theirs = set(dir(node))
        node.destroy_node()
        context.try_shutdown()
        ours = set()
        for file in self.FILES:
            for made in ast.walk(ast.parse(file.read_text())):
                if isinstance(made, ast.ClassDef) and made.name.endswith("Node"):
                    ours |= self.attributes(made)[1]
        cycle = {f"on_{name}" for name in ("configure", "activate", "deactivate", "cleanup", "shutdown", "error")}
        aside = {"services", "subscriptions", "destroy_service", "destroy_subscription"}  # for what no executor takes
        assert ours & theirs == {"__init__", *cycle, *aside}

    @pytest.mark.ros
    @pytest.mark.skipif(rclpy is None, reason="needs ROS 2: rclpy is not installed")
    def test_where_they_are_missing_there_is_a_way_out(self, monkeypatch):
        from types import SimpleNamespace

        from rbd_dynamics.nodes.process import run as process
        from rbd_dynamics.nodes.wire import rclpy_private

        monkeypatch.setattr(rclpy_private, "EVENTS_EXECUTOR", ("rclpy.executors", "rclpy.no_such_module"))
        assert rclpy_private.given_parameters(SimpleNamespace()) == []
        context = rclpy.Context()
        rclpy.init(context=context)
        node = rclpy.create_node("plain", context=context)
        assert rclpy_private.events_executor(node) is None
        executor, spin = process.choose_executor(node, "auto")
        assert isinstance(executor, rclpy.executors.SingleThreadedExecutor)
        fired = []
        node.create_timer(0.001, lambda: fired.append(1))
        for _ in range(600):
            if not fired:
                spin(0.1)
        assert fired  # it serves the node
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


class TestRunningNodes:
    """The same, asked of the nodes themselves."""

    pytestmark = needs_ros

    @each_node
    def test_node_has_the_parameters_topics_and_services_of_its_table(self, ros, interface):
        from rcl_interfaces.srv import DescribeParameters, ListParameters

        name = interface.executable
        # every optional topic, too
        options = {"publish_clock": True, "wrench_frame": "tool"} if interface is SIMULATOR else {}
        with ros.start(name, options) as node:
            node.is_there()  # without a robot
            listed = set(ros.client(ListParameters, f"{name}/list_parameters")().result.names)
            expected = [parameter.name for parameter in interface.parameters]
            of_ros = {"use_sim_time", "start_type_description_service"}
            assert {n for n in listed if not n.startswith("qos_overrides")} - of_ros == set(expected)
            described = ros.client(DescribeParameters, f"{name}/describe_parameters")(names=expected).descriptors
            for parameter, descriptor in zip(interface.parameters, described):
                assert descriptor.description == parameter.description
                if parameter.kind == "double" and parameter.minimum is not None:
                    assert descriptor.floating_point_range[0].from_value == parameter.minimum
            expected = (
                {(self.absolute(topic.name, name), topic.kind) for topic in interface.topics if topic.published},
                {(self.absolute(topic.name, name), topic.kind) for topic in interface.topics if not topic.published},
                {(self.absolute(service.name, name), service.kind) for service in interface.services},
            )
            wait_until(lambda: name in ros.node.get_node_names(), f"node {name} in the graph")
            end = time.monotonic() + PATIENCE  # they are not discovered all at once
            while (found := self.shown(ros, name)) != expected and time.monotonic() < end:
                others_run(0.1)
            assert found == expected
            self.check_policy(ros, interface)

    def check_policy(self, ros, interface):
        """The access control policy allows what the node does, and what it allows the node does; /clock on demand."""
        from rclpy.action import get_action_server_names_and_types_by_node

        name, policy = interface.executable, ElementTree.fromstring(policies.policy(interface))
        doing = {
            "publish": ros.node.get_publisher_names_and_types_by_node,
            "subscribe": ros.node.get_subscriber_names_and_types_by_node,
            "reply": ros.node.get_service_names_and_types_by_node,
            "execute": functools.partial(get_action_server_names_and_types_by_node, ros.node),
        }
        on_demand = {"/clock", "/parameter_events", f"/{name}/get_type_description"}
        for what, ask in doing.items():
            allowed = {self.absolute(one.text, name) for one in policy.iterfind(f".//*[@{what}='ALLOW']/*")}
            end = time.monotonic() + PATIENCE  # actions may come after all else
            while True:
                found = {topic for topic, _ in ask(name, "/") if "/_action/" not in topic}
                if allowed - on_demand == found - on_demand or time.monotonic() > end:
                    break
                others_run(0.1)
            assert allowed - on_demand == found - on_demand, what
            assert found <= allowed

    @staticmethod
    def absolute(name, node):
        return name.replace("~", f"/{node}") if name[0] in "~/" else f"/{name}"

    def shown(self, ros, name):
        """Published topics, subscribed topics and services."""
        return self.topics(ros, name, True), self.topics(ros, name, False), self.services(ros, name)

    @staticmethod
    def topics(ros, name, published):
        ask = (
            ros.node.get_publisher_names_and_types_by_node
            if published
            else (ros.node.get_subscriber_names_and_types_by_node)
        )
        own = {"/rosout", "/parameter_events", f"/{name}/transition_event"}
        found = {(topic, kinds[0]) for topic, kinds in ask(name, "/") if topic not in own}
        return {(topic, kind) for topic, kind in found if "/_action/" not in topic}

    @staticmethod
    def services(ros, name):
        found = ros.node.get_service_names_and_types_by_node(name, "/")
        of_ros = ("rcl_interfaces/", "lifecycle_msgs/", "type_description_interfaces/")
        own = {(service, kinds[0]) for service, kinds in found if "/_action/" not in service}
        return {(service, kind) for service, kind in own if not kind.startswith(of_ros)}


def test_ros_is_not_needed_for_this():
    """The tables, and so documentation and parameter files, can be had without ROS."""
    import subprocess
    import sys

    code = "import sys; sys.modules['rclpy'] = None; import rbd_dynamics.nodes.reference as r; r.markdown()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(ROOT))
    assert rclpy is None or rclpy.__name__ == "rclpy"
