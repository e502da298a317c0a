# SPDX-License-Identifier: Apache-2.0
"""The demo's second part: the same robot presses on a table while its tool follows a circle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics import Robot
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, placement
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.client import Client, DemoError
from rbd_dynamics.demo.motion import ARM
from rbd_dynamics.demo.processes import Processes
from rbd_dynamics.demo.recording import missing
from rbd_dynamics_interfaces.msg import TaskState

Array = NDArray[np.float64]

CONTROLLER = "hybrid_controller"
POSE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])  # tool down, near a table
BALL, HEIGHT = 0.01, 0.004  # m: at the tool; above the table when it begins
FORCE = 10.0  # N
COMPLIANCE, DAMPING = 1e-5, 20.0  # m/N, N s/m: a table that gives by 0.1 mm under 10 N
FRICTION = 0.1  # between ball and table; the controller does not know it
RADIUS, SECONDS = 0.08, 4.0  # of the circle
RATE = 1000.0
TASK = ("rx", "ry", "rz", "x", "y")  # the controlled directions by default
DOWN = (np.pi, 0.0, 0.0)
REACHED = 0.5  # N: so near to the wanted force the circle begins


class Pressing(NamedTuple):
    """What was recorded while the circle was drawn."""

    times: Array  # (N,) s
    path: Array  # (N, 2) of the tool, m
    wanted: Array  # (N, 2)
    force: Array  # (N,) N

    @property
    def off(self) -> Array:
        """(N,) distance from the wanted point, m."""
        return np.asarray(np.linalg.norm(self.path - self.wanted, axis=1))

    def __str__(self) -> str:
        found = self.summary()
        return (
            f"force off by {found['force_error_rms_percent']:.1f} % RMS, path by {found['path_error_rms_mm']:.2f} mm "
            f"RMS, {found['path_error_largest_mm']:.2f} mm at most"
        )

    def summary(self) -> dict[str, float]:
        """Figures for summary.json."""
        error = self.force - FORCE
        return {
            "force_N": FORCE,
            "force_error_rms_percent": round(100.0 * float(np.sqrt(np.mean(error**2))) / FORCE, 3),
            "force_error_largest_percent": round(100.0 * float(np.abs(error).max()) / FORCE, 3),
            "path_error_rms_mm": round(1e3 * float(np.sqrt(np.mean(self.off**2))), 4),
            "path_error_largest_mm": round(1e3 * float(self.off.max()), 4),
        }


def start(processes: Processes, robot: Robot, folder: Path) -> None:
    """Simulator with a table and a wrench sensor, and the controller that believes the description."""
    table = robot.pose(POSE, panda.TOOL)[:3, 3]
    scene = {
        "contacts": [
            {
                "name": "table", "frame": panda.TOOL, "surface": "plane", "radius": BALL,
                "friction_coefficient": FRICTION, "compliance": COMPLIANCE, "damping": DAMPING,
                "surface_placement": {"xyz": table.tolist()},
            }
        ]
    }  # fmt: skip
    file = folder / "scene.yaml"
    file.write_text(yaml.safe_dump(scene))
    tool = placement((table + [0.0, 0.0, BALL + HEIGHT]).tolist(), DOWN)
    begin = robot.project_configuration(
        POSE, ConstraintSet(robot.model, [FrameConstraint("tool", panda.TOOL, reference_placement=tool)])
    )
    simulator = panda.simulator_parameters() | {
        "initial_positions": begin.tolist(), "publish_rate": RATE, "scene_file": str(file), "wrench_frame": panda.TOOL,
    }  # fmt: skip
    controller = panda.CONTROLLER_PARAMETERS | {
        "joints": list(ARM), "tool_frame": panda.TOOL, "tool_orientation": list(DOWN),
        "task_position": table.tolist(), "contact_offset": BALL, "desired_force": [FORCE],
        "ki": 10.0, "posture_kp": 25.0, "posture_kd": 10.0,
    }  # fmt: skip
    processes.start("simulator", simulator, {})
    remapped = {"~/commands": "/simulator/commands", "wrench": "/simulator/wrench"}
    processes.start(CONTROLLER, controller, remapped)


def press(client: Client) -> None:
    """Record, engage, and wait for the force. Raises DemoError where it does not come."""
    client.wait_for_active(CONTROLLER)
    client.record("/joint_states", JointState)
    client.record("/hybrid_controller/task_state", TaskState)
    client.record("/simulator/wrench", WrenchStamped)
    client.wait_for_joint_states()
    _engage(client)
    client.wait_simulated(lambda: abs(_felt(client) - FORCE) < REACHED, f"{FORCE:g} N on the table", 30.0)


def draw_circle(client: Client, settle: float) -> Pressing:
    """While it presses, `settle` seconds from now. Raises ValueError where none was drawn, or recorded."""
    publisher = client.publisher(JointTrajectory, f"/{CONTROLLER}/joint_trajectory")
    start = client.now() + round(settle * 1e9)
    mark = client.recording.mark()
    publisher.publish(_circle(start))
    end = start + round((SECONDS + 0.2) * 1e9)
    client.wait_simulated(
        lambda: client.recording.stamp("/hybrid_controller/task_state") > end,
        f"the end of the circle; {CONTROLLER}.log may say why",
        settle + SECONDS + 10.0,
    )
    states = client.recording.since(mark, "/hybrid_controller/task_state")
    rows = np.array([(_seconds(m) - 1e-9 * start, *m.positions[3:5], m.forces[-1]) for m in states])
    rows = rows[(rows[:, 0] >= 0.0) & (rows[:, 0] <= SECONDS)]
    if len(rows) < 0.9 * RATE * SECONDS or missing(rows[:, 0], RATE):
        raise ValueError(f"{len(rows)} states of the circle were recorded; {CONTROLLER}.log may say why")
    result = Pressing(rows[:, 0], rows[:, 1:3], np.array([_point(t) for t in rows[:, 0]]), rows[:, 3])
    if result.off.max() > RADIUS:
        raise ValueError("the circle was not drawn; it may have been sent too late")
    return result


def _engage(client: Client) -> None:
    """Engage as soon as the controller has its robot, and has seen a joint state and a wrench."""
    reason = ""

    def engaged() -> bool:
        nonlocal reason
        answer = client.call(SetBool, f"/{CONTROLLER}/engage", SetBool.Request(data=True))
        reason = answer.message
        return bool(answer.success)

    try:
        client.wait_simulated(engaged, "the controller to engage", 60.0)
    except DemoError as error:
        raise DemoError(f"{error}: {reason}") from None


def _felt(client: Client) -> float:
    """The latest force on the table, N."""
    latest = client.recording.latest("/hybrid_controller/task_state")
    return float(latest.forces[-1]) if latest is not None else 0.0


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec) + 1e-9 * float(message.header.stamp.nanosec)


def _point(t: float) -> Array:
    """Point of the circle at a time from 0 to SECONDS: it begins and ends at rest."""
    s = min(max(t / SECONDS, 0.0), 1.0)
    angle = 2 * np.pi * (10 * s**3 - 15 * s**4 + 6 * s**5)
    return np.array([RADIUS * (1.0 - np.cos(angle)), RADIUS * np.sin(angle)])


def _circle(begin: int) -> JointTrajectory:
    """Points every 20 ms, from `begin` (ns) on."""
    message = JointTrajectory(joint_names=[f"tool.{name}" for name in TASK])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, 1_000_000_000)
    for k in range(round(SECONDS / 0.02) + 1):
        point = JointTrajectoryPoint(positions=[0.0, 0.0, 0.0, *_point(0.02 * k).tolist()])
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(20_000_000 * k, 1_000_000_000)
        message.points.append(point)
    return message
