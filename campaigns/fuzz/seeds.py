# SPDX-License-Identifier: Apache-2.0
"""Valid inputs, small ones that have everything in them, from which mutations start."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2" rpy="0 0.1 0"/><mass value="2.0"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.005"/></inertial></link>
  <link name="fore"><inertial><mass value="1.0"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.002"/></inertial></link>
  <link name="finger"><inertial><origin xyz="0.01 0 0.02"/><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="thumb"><inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 0 1.57"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="80" velocity="2"/><dynamics damping="0.5" friction="0.1" armature="0.01"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit effort="30" velocity="3"/><dynamics spring_stiffness="20" spring_reference="0.1" rotor_inertia="1e-4" gear_ratio="50"/></joint>
  <joint name="grip" type="prismatic"><parent link="fore"/><child link="finger"/><origin xyz="0 0.02 0.3"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.1"/></joint>
  <joint name="grip_too" type="prismatic"><parent link="fore"/><child link="thumb"/><origin xyz="0 -0.02 0.3"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.1"/><mimic joint="grip" multiplier="1.0" offset="0.0"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0 0 0.35"/></joint>
  <transmission name="t1"><type>transmission_interface/SimpleTransmission</type>
    <joint name="shoulder"/><actuator name="m1"><mechanicalReduction>100</mechanicalReduction><rotor_inertia>1e-5</rotor_inertia></actuator></transmission>
</robot>
"""  # noqa: E501
FLOATER = """<robot name="floater">
  <link name="world"/><link name="body"><inertial><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="cart"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="free" type="floating"><parent link="world"/><child link="body"/></joint>
  <joint name="slide" type="planar"><parent link="body"/><child link="cart"/><axis xyz="0 0 1"/></joint>
</robot>
"""  # noqa: E501

#: what only tinyxml2 reads
ODD = (
    (
        ' \n<?xml version="1.0"?>\n<!DOCTYPE robot SYSTEM "urdf.dtd">\n<!-- a -- b -->\n'
        + ARM.partition("?>")[2].replace("</robot>", '<sensor:camera a:b="1"/><!-- \u00e9 -->\n</robot>')
    ).encode("latin-1"),
    ARM.replace("</robot>", "<xacro:hand/><!-- \u5173\u8282 --></robot>").encode("gb18030"),
    ARM.replace("</robot>", "<a::b c='1'd='<&nbsp;&#0;' xmlns:e=''/> ]]> <![CDATA[ <]]>\a</robot f>\0").encode(),
)

MODEL: dict[str, Any] = {
    "format": "rbd_dynamics model", "version": 1, "name": "feeder", "base": "fixed", "gravity": [0.0, 0.0, -9.81],
    "bodies": [
        {"name": "arm", "parent": None,
         "joint": {"name": "shoulder", "type": "revolute", "axis": [0, 1, 0], "armature": 0.01, "damping": 0.3,
                   "limits": {"lower": -2, "upper": 2, "effort": 40, "velocity": 2.0}, "friction": 0.1,
                   "passive": [{"type": "spring", "stiffness": 20.0, "rest": 0.1}]},
         "placement": {"position": [0, 0, 0.5]},
         "inertia": {"mass": 2.0, "com": [0.2, 0, 0], "inertia_at_com": [0.002, 0, 0, 0.03, 0, 0.03]}},
        {"name": "nut", "parent": "arm",
         "joint": {"name": "spindle", "type": "helical", "axis": [1, 0, 0], "pitch": 0.00159},
         "placement": {"position": [0.4, 0, 0], "rpy": [0, 0, 1.5708]},
         "inertia": {"mass": 0.3, "com": [0, 0, 0], "inertia_at_com": [1e-4, 0, 0, 1e-4, 0, 1e-4]}},
        {"name": "wrist", "parent": "nut",
         "joint": {"name": "cardan", "type": "universal", "first": [1, 0, 0], "second": [0, 1, 0]},
         "inertia": {"mass": 0.2, "com": [0, 0, 0.05], "inertia_at_com": [1e-4, 0, 0, 1e-4, 0, 1e-4]}},
        {"name": "valve", "parent": "arm", "joint": {"name": "valve", "type": "cam", "twist": [0, 0, 0, 0, 0, 1],
                                                     "polynomial": [0.01], "cosine": [-0.01], "armature": 2e-4},
         "inertia": {"mass": 0.2, "com": [0, 0, 0.05], "inertia_at_com": [1e-4, 0, 0, 1e-4, 0, 1e-4]}},
        {"name": "ball", "parent": "wrist", "joint": {"name": "ball", "type": "spherical"},
         "inertia": {"mass": 0.2, "com": [0, 0, 0.05], "inertia_at_com": [1e-4, 0, 0, 1e-4, 0, 1e-4]}},
        {"name": "lid", "parent": "arm", "joint": {"name": "lid", "type": "revolute", "axis": [0, 0, 1],
                                                   "mimic": {"leader": "shoulder", "multiplier": -1, "offset": 0.2}},
         "inertia": {"mass": 0.1, "com": [0, 0, 0], "inertia_at_com": [1e-4, 0, 0, 1e-4, 0, 1e-4]}},
    ],
    "frames": [{"name": "tool", "body": "wrist", "placement": {"position": [0, 0, 0.1]}}],
}  # fmt: skip

CONSTRAINTS: dict[str, Any] = {
    "stabilization": 5.0,
    "constraints": [
        {"name": "table", "type": "surface", "frame": "tool", "surface": {"type": "plane"},
         "reference_placement": {"xyz": [0.4, 0, 0.1], "rpy": [0, 0, 0]}},
        {"name": "ball", "type": "surface", "frame": "fore", "surface": {"type": "sphere", "radius": 0.2},
         "offset": 0.01},
        {"name": "loop", "type": "frame", "frame": "tool", "reference": "upper", "directions": ["x", "y", "rz"]},
        {"name": "gear", "type": "coupling", "coefficients": {"shoulder": 1.0, "elbow": -2.0}},
    ],
}  # fmt: skip
SCENE: dict[str, Any] = {
    **CONSTRAINTS,
    "contacts": [{"name": "floor", "frame": "tool", "radius": 0.01, "friction_coefficient": 0.3, "restitution": 0.0}],
}

PARAMETERS: dict[str, Any] = {
    "robot_description": "", "gravity": [0.0, 0.0, -9.81], "locked_joints": ["a"], "locked_positions": [0.1],
    "tf_prefix": "", "autostart": True, "executor": "auto", "joints": ["a", "b"], "effort_limits": [1.0],
    "state_timeout": 0.1, "missing_velocity": "refuse", "interpolation": "smooth", "start_tolerance": 0.1,
    "setpoint_timeout": 0.5, "terms": ["inertia", "gravity"], "evaluate_at": "measured", "law": "feedforward",
    "kp": [1.0, 2.0], "kd": [0.1],
}  # fmt: skip

TRAJECTORY: dict[str, Any] = {
    "names": ["a", "b", "c"],
    "points": [
        {"time": 0.5, "positions": [0.1, 0.2, 0.3], "velocities": [0.0, 0.1, 0.0], "accelerations": [0.0, 0.0, 0.0]},
        {"time": 1.0, "positions": [0.2, 0.3, 0.3], "velocities": [], "accelerations": []},
        {"time": 2.0, "positions": [0.2, 0.0, 0.3], "velocities": [0.0, 0.0, 0.0], "accelerations": []},
    ],
    "start": 0,
}  # fmt: skip

SETTINGS: dict[str, Any] = {
    "topic": None, "terms": ["inertia", "coriolis", "gravity"], "cutoff": 20.0, "rate": None, "edge": 0.1,
    "velocity": "auto", "clock": "auto", "max_gap": 0.1, "order": 2, "positions": {"a": 0.1}, "block": 1000,
    "reorder_window": 0.1,
}  # fmt: skip

SDF = """<?xml version="1.0"?>
<sdf version="1.9"><model name="arm" canonical_link="base">
  <frame name="mount" attached_to="base"><pose degrees="true">0 0 0.3 0 0 90</pose></frame>
  <link name="base"><inertial><mass>4</mass></inertial></link>
  <link name="upper"><pose relative_to="mount">0 0 0.2 0 0.1 0</pose><inertial><mass>2.0</mass>
      <pose>0 0 0.1 0 0 0.2</pose>
    <inertia><ixx>0.02</ixx><ixy>0.001</ixy><ixz>0</ixz><iyy>0.02</iyy><iyz>0</iyz><izz>0.005</izz></inertia>
      </inertial></link>
  <link name="fore"><pose relative_to="elbow"/><inertial><mass>1.0</mass></inertial></link>
  <link name="rod"><inertial><mass>0.5</mass></inertial></link>
  <joint name="fixed" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><axis>
      <xyz expressed_in="__model__">0 1 0</xyz>
    <limit><lower>-2</lower><upper>2</upper><effort>80</effort><velocity>2</velocity></limit>
    <dynamics><damping>0.5</damping><friction>0.1</friction><spring_stiffness>3</spring_stiffness></dynamics>
      </axis></joint>
  <joint name="elbow" type="universal"><pose relative_to="upper">0 0 0.4 0 0 0</pose><parent>upper</parent>
      <child>fore</child>
    <axis><xyz>0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2></joint>
  <joint name="slide" type="prismatic"><parent>fore</parent><child>rod</child><axis><xyz>1 0 1</xyz>
    <mimic joint="shoulder"><multiplier>0.5</multiplier><offset>0.1</offset><reference>0</reference></mimic>
      </axis></joint>
  <joint name="closing" type="ball"><parent>base</parent><child>rod</child></joint>
</model></sdf>"""

MJCF = """<mujoco model="machine"><compiler angle="degree" autolimits="true"/><option gravity="0 0 -9.81"/>
  <default><default class="arm"><joint damping="0.4" armature="0.01" range="-90 90"/><geom density="500"/>
      </default></default>
  <worldbody><body name="upper" pos="0 0 0.3" euler="0 0 30" childclass="arm">
      <joint name="shoulder" axis="0 1 0" frictionloss="0.2"/>
    <geom type="capsule" size="0.04" fromto="0 0 0 0 0 0.4"/>
    <body name="fore" pos="0 0 0.4"><joint name="elbow" axis="0 1 0" stiffness="2" springref="10"/>
      <inertial pos="0 0 0.1" mass="1"
      fullinertia="0.02 0.02 0.01 0 0 0.001"/><site name="tip" pos="0 0 0.2"/>
      <body name="bob"><joint name="wrist" type="ball" range="0 90"/><geom type="box" size="0.02 0.03 0.04"/>
      </body></body></body>
    <body name="free" pos="1 0 1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body></worldbody>
  <equality><connect body1="fore" body2="free" anchor="0 0 0.2"/>
      <joint joint1="elbow" joint2="shoulder" polycoef="0 0.5 0 0 0"/></equality>
  <actuator><motor joint="shoulder" gear="50" ctrlrange="-1 1"/></actuator></mujoco>"""

START = 1_700_000_000 * 10**9  # ns
JOINTS = ("shoulder", "elbow", "grip")


def joint_states(count: int) -> list[tuple[int, Any]]:
    """(stamp in ns, message of rosbags)."""
    import numpy as np
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY).types
    found = []
    for k in range(count):
        stamp = START + k * 10_000_000
        q = np.array([math.sin(0.1 * k), 0.1, 0.02])
        header = types["std_msgs/msg/Header"](
            types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9), "base"
        )
        found.append((stamp, types["sensor_msgs/msg/JointState"](header, list(JOINTS), q, 0.1 * q, q + 1.0)))
    return found


def joint_state_bytes() -> list[bytes]:
    """Serialised by rosbags: of 3, 1 and no joints, of both byte orders, with and without velocities."""
    import numpy as np
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    found = []
    for _, message in joint_states(2):
        for joints in (3, 1, 0):
            for fields in (("velocity", "effort"), ("velocity",), ()):
                message.name = list(JOINTS[:joints])
                message.position = np.arange(1.0, joints + 1.0)
                for field in ("velocity", "effort"):
                    setattr(message, field, np.arange(float(joints)) if field in fields else np.zeros(0))
                for little in (True, False):
                    found.append(
                        bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState", little_endian=little))
                    )
    return found


def bags(folder: Path) -> dict[str, bytes]:
    """{name of a file: its bytes}, in every format; also metadata.yaml."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    found: dict[str, bytes] = {}
    messages = joint_states(8)
    store = get_typestore(Stores.ROS2_JAZZY)
    for plugin, compression in (
        ("SQLITE3", "NONE"),
        ("MCAP", "NONE"),
        ("MCAP", "STORAGE"),
        ("SQLITE3", "MESSAGE"),
        ("MCAP", "FILE"),
    ):
        path = folder / f"{plugin}_{compression}"
        writer = Writer(path, version=9, storage_plugin=StoragePlugin[plugin])
        if compression != "NONE":
            writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
        with writer:
            text = writer.add_connection("/robot_description", "std_msgs/msg/String", typestore=store)
            writer.write(
                text, START, bytes(store.serialize_cdr(store.types["std_msgs/msg/String"](ARM), "std_msgs/msg/String"))
            )
            states = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
            for stamp, message in messages:
                writer.write(states, stamp, bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState")))
        for file in sorted(path.iterdir()):
            key = file.name if file.name == "metadata.yaml" else f"{compression.lower()}{''.join(file.suffixes)}"
            found.setdefault(key, file.read_bytes())
    store1 = get_typestore(Stores.ROS1_NOETIC)
    for compression in ("NONE", "BZ2", "LZ4"):
        path = folder / f"{compression}.bag"
        bag = Writer1(path)
        if compression != "NONE":
            bag.set_compression(Writer1.CompressionFormat[compression])
        with bag:
            states1 = bag.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store1)
            types = store1.types
            for stamp, message in messages:
                time = types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
                header = types["std_msgs/msg/Header"](0, time, "base")
                made = types["sensor_msgs/msg/JointState"](
                    header, message.name, message.position, message.velocity, message.effort
                )
                bag.write(states1, stamp, bytes(store1.serialize_ros1(made, "sensor_msgs/msg/JointState")))
        found[f"{compression.lower()}.bag"] = path.read_bytes()
    return found


FLEET_KEY = "0123456789abcdef"
FLEET_SUMMARY = {"robot": {"name": "arm", "id": "7"}, "recording": {"start": 1.7e9, "duration": 60.0, "messages": 6000},
                 "joints": [{"name": "shoulder", "rmse": 0.5, "bias": 0.1, "measured_rms": 4.0}]}  # fmt: skip
FLEET_COMPARISON = {"joints": ["shoulder"], "terms": ["gravity"], "sums": [[1.0, 2.5e-3], [-7.0, 1e-9]]}


@cache
def fleet() -> dict[str, str]:
    """The files by which the analysis of one recording is found again."""
    from rbd_dynamics.replay.fleet.job import DONE, digest_of

    summary = json.dumps(FLEET_SUMMARY, indent=1) + "\n"
    state = {"key": FLEET_KEY, "digest": digest_of(summary, FLEET_COMPARISON), "comparison": FLEET_COMPARISON}
    return {DONE: json.dumps(state) + "\n", "summary.json": summary}
