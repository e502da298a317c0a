# SPDX-License-Identifier: Apache-2.0
"""What the controllers of a tool take from the library: numbers of its laws, and where an arm is delicate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rbd_dynamics.control.cartesian import controller, gains, motion, pose_follower, reachable, stability
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.cartesian.gains import STIFFNESS, CartesianGains
from rbd_dynamics.control.motion import joint_room
from rbd_dynamics.control.motion.joint_room import JointRoom, largest_inertias
from rbd_dynamics.control.safety import foresight, softening
from rbd_dynamics.control.safety.closed_loop import Timing
from rbd_dynamics.export.c_code import number
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.names import literal
from rbd_dynamics.export.ros2_control.constants import Numbers, constants_header, declared
from rbd_dynamics.robot import Robot

#: the header's place
TOOL_CONSTANTS = "tool/tool_constants.hpp"
_NUMBERS: Numbers = (
    ("behind_most", reachable.BEHIND, "m: a target waits that is so far ahead"),
    ("turn_length", reachable.TURN, "m, that a turn by 1 rad counts as"),
    ("far_away", reachable.FAR, "m: a target that is farther away has not been come to by moving"),
    ("stalled_pace", reachable.STALLED, "a target is not reached where the arm is slower than this for"),
    ("stall_time", reachable.STALL_TIME, "s"),
    ("longest_step", reachable.LONGEST_STEP, "s, after which a motion goes on as after this"),
    ("standing", reachable.THERE, "m, rad/s, m/s: no more is nothing"),
    ("strongest", reachable.STRONGEST, "N m, N: of joints without an effort limit"),
    ("speed_share", joint_room.SPEED_SHARE, "of a joint's velocity limit that a motion may take"),
    ("full_speed_time", joint_room.FULL_TIME, "s: in this time a joint may go from rest to that speed"),
    ("fastest", joint_room.FASTEST, "rad/s, m/s: of joints without a velocity limit"),
    ("room_near", joint_room.NEAR, "rad, m: of the end of what a joint may take"),
    ("drift_rate", joint_room.DRIFT_RATE, "1/s: with which what a task leaves free goes to a posture"),
    ("drift_most", joint_room.DRIFT, "rad/s, m/s: and no faster"),
    ("haste", controller.HASTE, "share of a velocity limit from which on efforts change as fast as they can"),
    ("limit_share", controller.LIMIT_SHARE, "of an effort limit, that keeps a joint from its limit of position"),
    ("follower_step", motion.STEP * 1e-9, "s: poses and twists are followed in such steps"),
    ("turned_far", motion.TURNED, "rad: a chart's base that is farther away comes along"),
    ("follower_largest", pose_follower.LARGEST, "m/s^2, rad/s^2: where there is no limit"),
    ("follower_there", pose_follower.THERE, "rad, m: nearer is there"),
    ("follower_slow", pose_follower.SLOW, "per s: what stops from there on stands"),
    ("soft_in_time", softening.IN_TIME, "of 1 / damping: in so much of it efforts have to change to what is wanted"),
    ("soft_late", softening.LATE, "of 1 / damping: efforts that are later than wanted by more"),
    ("soft_recovery", softening.RECOVERY, "s, in which softer gains come back"),
    ("soft_nearly", softening.NEARLY, "of them are all"),
    ("stiffness_rounding", gains.ROUNDING, "of its largest number: a matrix that is so far from symmetric is"),
    ("stiffness_growth", stability.GROWTH, "1/s: what grows no faster is rounding"),
    ("lighter_inertia", stability.LIGHTER, "of the described inertias, with which stiffness has to be stable, too"),
)


class ToolGains(NamedTuple):
    """Stiffness that is stable, N/m and N m/rad; limit: what limits it, in words, where it is not the usual one."""

    stiffness: float
    rotational_stiffness: float
    limit: str


class Tool:
    """The tool on a link or joint of a robot, looked at for its controllers.

    robot: without friction, all joints of one degree of freedom.
    """

    def __init__(self, robot: Robot, frame: str) -> None:
        self._robot, self._frame = robot, frame
        self._check = stability.StiffnessCheck(CartesianController(robot, frame))

    def gains(self, timing: Timing) -> ToolGains:
        """The usual stiffness, softer where that is not stable."""
        along, about = self._check.usual(CartesianGains(), timing)
        usual = (along, about) == STIFFNESS["impedance"]
        return ToolGains(along, about, "" if usual else self._check.limit)

    def header(self, exported: Exported) -> str:
        """The header of numbers, in C++."""
        room, postures, inertia = JointRoom(self._robot.model), self._check.postures, self._check.inertia
        lines = [
            f"constexpr std::size_t foresight = {foresight.FORESIGHT};  // steps: over which velocities grow",
            *declared(exported, _NUMBERS),
            "\n// what a motion that is planned ahead may take of the joints' limits of position, rad or m",
            f"constexpr double room_lower[nv] = {exported.row(room.lower)};",
            f"constexpr double room_upper[nv] = {exported.row(room.upper)};",
            "// the largest inertia of each joint that is met at random postures, kg m^2 or kg",
            f"constexpr double most_inertia[nv] = {exported.row(largest_inertias(self._robot))};",
            f"constexpr const char * tool_frame = {literal(self._frame)};  // that the tool is on",
            "// postures where a stiffness is most likely to be unstable, and the joint that limits it there",
            f"constexpr std::size_t delicate_postures = {len(postures)};",
            f"constexpr double delicate_posture[{len(postures)}][nv] = {{{_rows(exported, postures)}}};",
            f"constexpr const char * lightest_joint = {literal(self._check.lightest)};",
            f"constexpr double lightest_inertia = {number(inertia, exported.precision)};  // kg m^2 or kg",
        ]
        return constants_header(exported, TOOL_CONSTANTS, "Numbers of its laws for a tool, and of this arm.", lines)


def _rows(exported: Exported, rows: Iterable[np.ndarray]) -> str:
    return ", ".join(exported.row(row) for row in rows)
