# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics sensor-tool`: the tool on a force-torque sensor, and its bias, out of a recording."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError
from rbd_dynamics.common.whole_files import check_file, write_whole

if TYPE_CHECKING:
    from rbd_dynamics.control.contact.sensor_tool import SensorCalibration, SensorTool
    from rbd_dynamics.model.model import Model
    from rbd_dynamics.replay.reading import JointStates, Recording

Array = NDArray[np.float64]

SETTLING = 200_000_000  # ns, after the last motion
LEAST = 500_000_000  # ns, of a rest with that


def run_sensor_tool(options: argparse.Namespace) -> int:
    """Exit code 1 where the recording's poses do not tell the tool."""
    from rbd_dynamics.control.contact.sensor_tool import UntoldToolError
    from rbd_dynamics.replay.reading import Recording

    if options.output is not None:
        check_file(options.output)
    model = load_and_warn(options)
    model.frame(options.frame)
    recording = Recording(options.recording)
    poses = calibration(
        model,
        recording,
        options.frame,
        topic=options.topic,
        joint_states=options.joint_states,
        of_robot=options.of_robot,
    )
    for warning in recording.log.warnings:
        print(f"rbd_dynamics: warning: {warning}", file=sys.stderr)
    try:
        tool = poses.tool()
    except UntoldToolError as error:
        print(f"poses at rest: {len(poses)}; {error}")
        return 1
    if options.json:
        center = tool.center_of_mass.tolist() if tool.significant else None
        found = {
            "frame": options.frame, "poses": len(poses), "mass": tool.mass, "mass_deviation": tool.deviation,
            "center_of_mass": center, "torque_bias": tool.bias[:3].tolist(), "force_bias": tool.bias[3:].tolist(),
            "torque_noise": float(tool.noise[0]), "force_noise": float(tool.noise[1]),
        }  # fmt: skip
        print(json.dumps(found, indent=2))
    else:
        print(f"poses at rest: {len(poses)}; in {options.frame}: {tool}")
        print(f"readings differ from it by {tool.noise[1]:.2g} N, {tool.noise[0]:.2g} N m")
    if options.output is not None:
        write_whole(options.output, _parameters(tool, options))
        print(options.output, file=sys.stderr if options.json else sys.stdout)
    return 0


def _parameters(tool: SensorTool, options: argparse.Namespace) -> str:
    numbers = ", ".join(repr(float(f"{number:.6g}")) for number in tool.numbers.tolist())
    return "\n".join([
        f"# Tool and bias of the sensor at {options.frame}, by `rbd_dynamics sensor-tool`: {tool}.",
        f"/**/{options.node}:",
        "  ros__parameters:",
        f"    sensor_frame: {options.frame}",
        f"    wrench_of_robot: {str(options.of_robot).lower()}",
        f"    sensor_tool: [{numbers}]",
        "",
    ])  # fmt: skip


def calibration(
    model: Model,
    recording: Recording,
    frame: str,
    *,
    topic: str | None = None,
    joint_states: str | None = None,
    of_robot: bool = False,
) -> SensorCalibration:
    """The poses of a recording at which the robot was at rest for long enough, with the readings there.

    frame: of the sensor. topic, joint_states: by default the only wrench, and the topic that names most joints.
    of_robot: the sensor reports what the robot exerts. Raises UsageError where joints other than of one degree of
    freedom, or not recorded, are between, RecordingError where a topic is not there, KeyError for an unknown frame.
    """
    from rbd_dynamics.control.contact.sensor_tool import SensorCalibration
    from rbd_dynamics.control.contact.settled_readings import FEWEST, average_of
    from rbd_dynamics.replay.reading.decoding import JointStates
    from rbd_dynamics.robot import Robot

    several = [joint.name for joint in model.joints if joint.kind.nq != 1]
    if several:
        raise UsageError(f"joint {several[0]!r} has more than one degree of freedom: joint states do not tell it")
    joints = [joint.name for joint in model.joints]
    chosen = recording.choose_topic(joints=joints, topic=joint_states).name
    states = JointStates.joined(list(recording.joint_states(chosen, joints)), len(joints))
    stamps, readings = recording.wrenches(topic=topic)
    if of_robot:
        readings = -readings
    robot = Robot(model, backend="reference")  # for some poses nothing is worth compiling
    found = SensorCalibration(model.gravity)
    for begin, end, q in rests(states, joints):
        inside = readings[(stamps >= begin) & (stamps <= end)]
        if len(inside) >= FEWEST:
            mean, variance = average_of(inside)
            found.add(robot.pose(q, frame)[:3, :3], mean, variance=variance)
    return found


def rests(states: JointStates, joints: list[str]) -> list[tuple[int, int, Array]]:
    """Begin and end (ns), and the mean q, of each stretch in which all joints stayed where they were.

    Raises UsageError where positions of a joint are not recorded.
    """
    from rbd_dynamics.control.contact.settled_readings import SPREAD

    unknown = np.isnan(states.position).all(axis=0)
    if len(states) < 2 or unknown.any():
        name = joints[int(np.argmax(unknown))]
        raise UsageError(f"the recording has no positions of joint {name!r} (--lock tells where it is)")
    times = np.where(states.stamps > 0, states.stamps, states.received)
    known = ~np.isnan(states.position).any(axis=1)
    times, q = times[known], states.position[known]
    found, begin = [], 0
    for k in range(1, len(times) + 1):
        if k < len(times):
            if times[k] >= times[k - 1] and (np.abs(q[k] - q[begin]) < SPREAD).all():
                continue
        if times[k - 1] - times[begin] > LEAST:
            found.append((int(times[begin]) + SETTLING, int(times[k - 1]), q[begin:k].mean(axis=0)))
        begin = k
    return found
