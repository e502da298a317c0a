# SPDX-License-Identifier: Apache-2.0
"""A layout of PlotJuggler 3, as its main window reads it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from rbd_dynamics.cli.layouts.views import Chart, Views

STREAMER = "ROS2 Topic Subscriber"
#: told apart without green against red
COLOURS = ("#1f77b4", "#ff7f0e", "#9467bd", "#17becf", "#bcbd22", "#e377c2", "#8c564b", "#7f7f7f")
BUFFER = 30  # s of the stream that are kept
LARGEST_ARRAY = 500


def plotjuggler_layout(views: Views) -> str:
    """The XML: a tab for the robot and one for each node, and the topics to subscribe."""
    root = ET.Element("root")
    window = ET.SubElement(root, "tabbed_widget", {"parent": "main_window", "name": "Main Window"})
    for name, charts in views.tabs.items():
        tab = ET.SubElement(window, "Tab", tab_name=name, containers="1")
        count = len(charts)
        splitter = ET.SubElement(
            ET.SubElement(tab, "Container"),
            "DockSplitter",
            orientation="-",
            count=str(count),
            sizes=";".join(f"{1.0 / count:.6f}" for _ in charts),
        )
        for chart in charts:
            _plot(ET.SubElement(splitter, "DockArea", name=chart.title), chart)
    ET.SubElement(window, "currentTabIndex", index="0")
    ET.SubElement(root, "use_relative_time_offset", enabled="1")
    ET.SubElement(root, "streaming_buffer_size", value=str(BUFFER))
    plugin = ET.SubElement(ET.SubElement(root, "Plugins"), "plugin", ID=STREAMER)
    for option, value in {
        "use_header_stamp": "false",
        "discard_large_arrays": "true",
        "max_array_size": str(LARGEST_ARRAY),
        "boolean_strings_to_number": "true",
        "remove_suffix_from_strings": "true",
        "selected_topics": ";".join(views.topics),
    }.items():
        ET.SubElement(plugin, option, value=value)
    ET.SubElement(root, "previouslyLoaded_Streamer", name=STREAMER)
    ET.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _plot(area: ET.Element, chart: Chart) -> None:
    plot = ET.SubElement(area, "plot", mode="TimeSeries", style="Lines", flip_x="false", flip_y="false")
    ET.SubElement(plot, "limitY")
    for k, curve in enumerate(chart.curves):
        ET.SubElement(plot, "curve", name=curve.series, color=COLOURS[k % len(COLOURS)])
