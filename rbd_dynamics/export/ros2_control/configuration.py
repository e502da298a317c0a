# SPDX-License-Identifier: Apache-2.0
"""What a robot's controllers and its simulated hardware begin with: parameters with gains, and a description."""

from __future__ import annotations

import json
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from rbd_dynamics.control.pd_gains import gains_of_faster_law, named
from rbd_dynamics.control.safety.closed_loop import Timing
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.export.ros2_control.pressing import LATE, PressingGains, gains_at
from rbd_dynamics.export.ros2_control.tool import Tool
from rbd_dynamics.formats.urdf_writer import model_to_urdf
from rbd_dynamics.model.model import EARTH, Joint, Model
from rbd_dynamics.robot import Robot

_STATES = ("position", "velocity", "effort")
#: of the simulated force-torque sensor
SENSOR = "wrench"
_AXES = tuple(f"{what}.{axis}" for what in ("force", "torque") for axis in "xyz")
#: with one number for each direction
_LISTS = ("kp", "kd")
#: Hz. References may step: far set-points, and velocities between points that have none. Faster feedback then asks for
#: more than efforts may change (effort_rates) and loses the robot: a Panda and a UR5 at 0.5 rad with 2 Hz, not at 1 rad
#: with 1 Hz.
FASTEST = 1.0


def controllers_yaml(model: Model, package: str, rate: int, tool: Tool) -> str:
    """The parameter file of a controller manager: gains that are stable at this rate, a period after each state.

    A joint_trajectory_controller is chained in front of the feedforward controller.
    """
    timing = Timing(1.0 / rate, 1.0 / rate)
    law, gains = gains_of_faster_law(Robot(model, backend="reference"), timing, most=FASTEST)
    terms = TERMS if any(joint.friction for joint in model.joints) else WITHOUT_FRICTION
    stiffness, pressing = tool.gains(timing), gains_at(rate)
    joints = [json.dumps(name) for name in gains.joints]
    chained = [json.dumps(f"feedforward_controller/{name}") for name in gains.joints]
    return f"""\
# SPDX-License-Identifier: Apache-2.0
controller_manager:
  ros__parameters:
    update_rate: {rate}
    joint_state_broadcaster:
      type: joint_state_broadcaster/JointStateBroadcaster
    feedforward_controller:
      type: {package}/FeedforwardController
    cartesian_controller:
      type: {package}/CartesianImpedanceController
    hybrid_force_controller:
      type: {package}/HybridForceController
    arm_controller:
      type: joint_trajectory_controller/JointTrajectoryController

# Gains: {named(timing)}.
# In every posture errors die out at {gains.bandwidth:.2g} Hz or faster;
# kd could grow by {gains.margin:.3g} before one is unstable.
feedforward_controller:
  ros__parameters:
    reference_interfaces: [position, velocity, acceleration]
    terms: [{", ".join(terms)}]
    law: {law}
    delay: {1.0 / rate!r}
    kp: {_row(gains.kp.tolist())}
    kd: {_row(gains.kd.tolist())}

# in front of it, as it is
arm_controller:
  ros__parameters:
    joints: [{", ".join(joints)}]
    command_joints: [{", ".join(chained)}]
    command_interfaces: [position, velocity, acceleration]
    state_interfaces: [position, velocity]

# In place of both: the tool, compliantly.{_reason(stiffness.limit)}
cartesian_controller:
  ros__parameters:
    stiffness: {_row([stiffness.stiffness])}
    rotational_stiffness: {_row([stiffness.rotational_stiffness])}
    delay: {1.0 / rate!r}

# In place of all: the tool presses on the plane z = 0 of the task frame. Set that frame, near where it presses, and
# the tool's axes, which are those of the task frame where it is not turned: here of a tool that points down.
hybrid_force_controller:
  ros__parameters:
    sensor_name: {SENSOR}
    tool_orientation: [3.14159265, 0.0, 0.0]
    task_position: [0.0, 0.0, 0.0]
{_lines(pressing)}
    delay: {1.0 / rate!r}
    sensor_delay: {LATE / rate!r}
"""


def description(model: Model, package: str) -> str:
    """The robot as a URDF without shapes, with the element of ros2_control that makes its dynamics the hardware.

    A force-torque sensor is at the tip.
    """
    robot = ET.fromstring(model_to_urdf(model.with_gravity(EARTH), shapes=False))  # the kernels have its own
    control = ET.SubElement(robot, "ros2_control", name=package, type="system")
    hardware = ET.SubElement(control, "hardware")
    ET.SubElement(hardware, "plugin").text = f"{package}/DynamicsSystem"
    for joint in model.joints:
        made = ET.SubElement(control, "joint", name=joint.name)
        ET.SubElement(made, "command_interface", name="effort")
        for name in _STATES:
            state = ET.SubElement(made, "state_interface", name=name)
            if name == "position":
                ET.SubElement(state, "param", name="initial_value").text = repr(_beginning(joint))
    sensor = ET.SubElement(control, "sensor", name=SENSOR)
    for name in _AXES:
        ET.SubElement(sensor, "state_interface", name=name)
    ET.indent(robot)
    return f'<?xml version="1.0"?>\n{ET.tostring(robot, encoding="unicode")}\n'


def _lines(gains: PressingGains) -> str:
    """Parameters."""
    rows = ((name, _row([value])) for name, value in gains._asdict().items())
    return "\n".join(f"    {name}: {row if name in _LISTS else row[1:-1]}" for name, row in rows)


def _reason(limit: str) -> str:
    """A comment on a stiffness that is less than usual."""
    return "".join(f"\n# {line}" for line in textwrap.wrap(limit and f"Stiffer would be unstable. {limit}", 110))


def _beginning(joint: Joint) -> float:
    """Zero, or the middle of limits that exclude it."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return 0.0 if lower < 0.0 < upper or lower == upper == 0.0 else 0.5 * (lower + upper)


def _row(values: Iterable[float]) -> str:
    """Four digits of each, with a point: else YAML takes them for integers."""
    return f"[{', '.join(repr(float(f'{value:.4g}')) for value in values)}]"
