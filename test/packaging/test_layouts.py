# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics layouts`: PlotJuggler, Foxglove and rviz find in the files what their loaders look for, of topics that
there are. What these loaders read is stated here from their sources."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
import yaml
from helpers.models.arms import ARM, JOINTS

from rbd_dynamics.cli import main
from rbd_dynamics.cli.layouts.run import FILES
from rbd_dynamics.cli.layouts.views import CHARTS, MARKS, POSE, WRENCH
from rbd_dynamics.nodes.interface import INTERFACES

NODES = ("feedforward", "cartesian_controller", "press=hybrid_controller", "monitor", "guard", "simulator")
#: of the classes that are used: what they read beside Class, Name, Enabled and Value
RVIZ = {
    "Grid": {"Cell Size", "Plane Cell Count", "Reference Frame"},
    "TF": {"Marker Scale", "Show Names"},
    "RobotModel": {"Alpha", "Description Source", "Description Topic", "TF Prefix"},
    "Pose": {
        "Color", "Shape", "Shaft Length", "Shaft Radius", "Head Length", "Head Radius", "Axes Length", "Axes Radius",
        "Topic",
    },
    "Wrench": {"Force Color", "Force Arrow Scale", "Torque Arrow Scale", "Arrow Width", "Topic"},
}  # fmt: skip
TOPIC = {"Value", "Depth", "History Policy", "Reliability Policy", "Durability Policy"}


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    return str(tmp_path / "arm.urdf")


@pytest.fixture
def files(arm, tmp_path, capsys):
    """The texts, by their names."""
    folder = tmp_path / "new" / "layouts"
    assert main(["layouts", arm, "--nodes", ",".join(NODES), "--namespace", "/left/", "-o", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert all(str(folder / name) in shown for name in FILES)
    return {name: (folder / name).read_text(encoding="utf-8") for name in FILES}


# --- the tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda each: each.executable)
def test_whatever_a_node_publishes_for_people_is_in_its_views(interface):
    seen = {topic for _, topic, _ in CHARTS[interface.executable]}
    drawn = {topic for _, topic in MARKS.get(interface.executable, ())}
    kinds = {topic.name: topic for topic in interface.topics}
    assert seen | drawn <= set(kinds)
    assert all(kinds[topic].published for topic in seen)
    assert {kinds[topic].kind for topic in drawn} <= {POSE, WRENCH}
    charted = {"sensor_msgs/msg/JointState", "geometry_msgs/msg/TwistStamped", "std_msgs/msg/Bool", POSE, WRENCH}
    for topic in interface.topics:
        if topic.published and topic.kind in charted and topic.name != "joint_states":
            assert topic.name in seen, f"{topic.name} is in no chart"
        if topic.published and topic.kind in (POSE, WRENCH):
            assert topic.name in drawn, f"{topic.name} is not drawn"


@pytest.mark.ros
def test_charts_are_of_fields_that_the_messages_have():
    for interface in INTERFACES:
        kinds = {topic.name: topic.kind for topic in interface.topics}
        for _, topic, part in CHARTS[interface.executable]:
            package, _, name = kinds[topic].partition("/msg/")
            message = getattr(pytest.importorskip(f"{package}.msg"), name)()
            for step in part.split("."):
                message = getattr(message, step)


# --- PlotJuggler ----------------------------------------------------------------------------------------


def test_plotjuggler_restores_tabs_splitters_and_plots(files):
    root = ET.fromstring(files["plotjuggler.xml"])
    assert root.tag == "root"
    assert len(files["plotjuggler.xml"].splitlines()) > len(list(root.iter()))  # people can read it, and its changes
    (window,) = root.iter("tabbed_widget")
    assert window.attrib == {"parent": "main_window", "name": "Main Window"}
    tabs = window.findall("Tab")
    names = ["robot", "feedforward", "cartesian_controller", "press", "monitor", "guard", "simulator"]
    assert [tab.get("tab_name") for tab in tabs] == names
    for tab in tabs:
        (container,) = tab.findall("Container")
        assert tab.get("containers") == "1"
        (splitter,) = container  # it goes on with the first child
        sizes = [float(size) for size in splitter.get("sizes").split(";")]
        assert splitter.get("orientation") in ("-", "|")
        assert int(splitter.get("count")) == len(sizes) == len(splitter) >= 1  # an index beyond these is a crash
        assert sum(sizes) == pytest.approx(1.0, abs=1e-5)
        for area in splitter:
            assert area.tag == "DockArea" and area.get("name")
            (plot,) = area
            assert (plot.tag, plot.get("mode"), plot.get("style")) == ("plot", "TimeSeries", "Lines")
            curves = plot.findall("curve")
            assert curves and all(re.fullmatch("#[0-9a-f]{6}", curve.get("color")) for curve in curves)
            assert len({curve.get("name") for curve in curves}) == len(curves)
    index = window.find("currentTabIndex").get("index")
    assert 0 <= int(index) < len(tabs)


def test_plotjuggler_subscribes_all_that_its_curves_are_of(files):
    root = ET.fromstring(files["plotjuggler.xml"])
    (plugin,) = root.find("Plugins")
    assert plugin.tag == "plugin"
    assert plugin.get("ID") == root.find("previouslyLoaded_Streamer").get("name") == "ROS2 Topic Subscriber"
    topics = plugin.find("selected_topics").get("value").split(";")
    assert len(set(topics)) == len(topics) and all(topic.startswith("/") for topic in topics)
    curves = [curve.get("name") for curve in root.iter("curve")]
    of = {next((topic for topic in topics if curve.startswith(f"{topic}/")), None) for curve in curves}
    assert of == set(topics)
    assert f"/left/feedforward/tracking_error/{JOINTS[0]}/position" in curves  # its parser puts names of joints there
    assert "/left/guard/commands/data[0]" in curves and "/left/press/task_state/forces[0]" in curves


# --- Foxglove -------------------------------------------------------------------------------------------


def leaves(layout) -> list[str]:
    """Panels of a layout; each split has two parts."""
    if isinstance(layout, str):
        return [layout]
    assert layout["direction"] in ("row", "column") and 0 < layout["splitPercentage"] < 100
    return leaves(layout["first"]) + leaves(layout["second"])


def test_foxglove_finds_every_panel_of_its_layout(files):
    layout = json.loads(files["foxglove.json"])
    assert set(layout) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    panels = layout["configById"]
    shown = leaves(layout["layout"])
    for tab in panels["Tab!charts"]["tabs"]:
        shown += leaves(tab["layout"])
    assert sorted(shown) == sorted(panels) and len(set(shown)) == len(shown)
    assert {name.partition("!")[0] for name in panels} == {"3D", "DiagnosticSummary", "Tab", "Plot"}
    assert panels["Tab!charts"]["activeTabIdx"] == 0


def test_foxglove_plots_are_of_paths_that_it_can_parse(files):
    panels = json.loads(files["foxglove.json"])["configById"]
    plots = [panel for name, panel in panels.items() if name.startswith("Plot!")]
    step = r"(\.\w+|\[\d+\]|\[:\]|\{\w+==\"[^\"]+\"\})"
    paths = [path for plot in plots for path in plot["paths"]]
    for path in paths:
        assert re.fullmatch(rf"(/\w+)+{step}+", path["value"]), path
        assert path["label"] and path["enabled"] and path["timestampMethod"] in ("receiveTime", "headerStamp")
    assert {plot["xAxisVal"] for plot in plots} == {"timestamp"}
    values = [path["value"] for path in paths]
    assert len(plots) == len(list(ET.fromstring(files["plotjuggler.xml"]).iter("plot"))), "both show the same"
    assert f"/left/monitor/external_torque.effort[{len(JOINTS) - 1}]" in values
    assert '/diagnostics.status[:]{name=="left/guard: guard"}.level' in values


def test_foxglove_draws_the_robot_and_the_poses(files):
    scene = json.loads(files["foxglove.json"])["configById"]["3D!scene"]
    robot = scene["layers"]["robot"]
    assert (robot["layerId"], robot["sourceType"], robot["topic"]) == (
        "foxglove.Urdf", "topic", "/left/robot_description",
    )  # fmt: skip
    assert scene["topics"]["/left/press/surface_normal"]["type"] == "arrow"
    assert scene["topics"]["/left/cartesian_controller/wanted_pose"]["type"] == "axis"
    assert not any("wrench" in topic for topic in scene["topics"]), "it draws none"


# --- rviz -----------------------------------------------------------------------------------------------


def test_rviz_knows_every_class_and_property(files):
    config = yaml.safe_load(files["robot.rviz"])
    manager = config["Visualization Manager"]
    names = [display["Name"] for display in manager["Displays"]]
    assert len(set(names)) == len(names)
    for display in manager["Displays"]:
        package, _, kind = display["Class"].partition("/")
        assert package == "rviz_default_plugins"
        assert RVIZ[kind] >= set(display) - {"Class", "Name", "Enabled", "Value"}
        for key in {"Topic", "Description Topic"} & set(display):
            assert set(display[key]) == TOPIC and display[key]["Value"].startswith("/left/")
    of_class = {display["Name"]: display for display in manager["Displays"]}
    assert of_class["Robot"]["Description Topic"]["Durability Policy"] == "Transient Local"
    assert of_class["Surface"]["Shape"] == "Arrow" and of_class["Wanted tool"]["Shape"] == "Axes"
    assert of_class["Sensor"]["Topic"]["Value"] == "/left/wrench"
    assert manager["Global Options"]["Fixed Frame"] == "base"


def test_a_prefix_is_put_before_joints_and_frames(arm, tmp_path, capsys):
    assert main(["layouts", arm, "--tf-prefix", "l/", "-o", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == list(FILES) and "/feedforward/tracking_error" in told["topics"]
    assert f"/joint_states/l/{JOINTS[0]}/position" in (tmp_path / "plotjuggler.xml").read_text()
    manager = yaml.safe_load((tmp_path / "robot.rviz").read_text())["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "l/base"
    (robot,) = (display for display in manager["Displays"] if display["Name"] == "Robot")
    assert robot["TF Prefix"] == "l" and robot["Description Topic"]["Value"] == "/robot_description"


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (["--nodes", "feedfoward"], "--nodes: 'feedfoward' is not one of feedforward, dynamics_server"),
        (["--nodes", "a b=guard"], "--nodes: 'a b' is not the name of a node"),
        (["--nodes", "guard,guard"], "--nodes: 'guard' is given twice"),
        (["--nodes", ","], "--nodes: there are none"),
        (["--namespace", "a//b"], "--namespace: 'a//b' is not a ROS namespace"),
    ],
)
def test_what_cannot_be_laid_out_is_one_line(options, culprit, arm, tmp_path, capsys):
    assert main(["layouts", arm, *options, "-o", str(tmp_path / "none")]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and culprit in shown.err
    assert not (tmp_path / "none").exists()
