# SPDX-License-Identifier: Apache-2.0
"""A small arm for tests of what is built on the dynamics: three joints, one of them continuous, one prismatic."""

LINK = """
  <link name="{name}"><inertial><origin xyz="{x} 0.02 {z}"/><mass value="{m}"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""

ARM = (
    '<robot name="arm"><link name="base"/>'
    + LINK.format(name="upper", x=0.2, z=0.0, m=2.0)
    + LINK.format(name="fore", x=0.15, z=0.01, m=1.2)
    + LINK.format(name="hand", x=0.0, z=0.1, m=0.5)
    + """
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2.5" effort="80" velocity="3"/><dynamics damping="0.4" friction="0.6"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit effort="40" velocity="3"/><dynamics damping="0.2"/></joint>
  <joint name="slide" type="prismatic"><parent link="fore"/><child link="hand"/><origin xyz="0.3 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.2" effort="30" velocity="1"/></joint>
</robot>"""
)
JOINTS = ["shoulder", "elbow", "slide"]
MEASURED_ZERO = (1e-12, 0.0, 0.0)  # rad, rad, m: at zero by encoders; exact zeros are those of who measures nothing

#: the same arm on a body that can float
FLOATING_ARM = ARM.replace('<link name="base"/>', LINK.format(name="base", x=0.0, z=0.05, m=4.0))

#: one with everything that a description is checked for: limits, friction, turned frames, a mimic joint
CHECKED_ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0 0.3 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="lower"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="1" effort="10" velocity="3"/>
  </joint>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 0.1"/><mass value="1.5"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="grip" type="continuous">
    <parent link="lower"/><child link="hand"/><axis xyz="1 0 0"/>
    <mimic joint="elbow" multiplier="2" offset="0.1"/>
  </joint>
  <link name="hand">
    <inertial><mass value="0.3"/><inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial>
  </link>
</robot>
"""
