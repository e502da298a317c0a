# SPDX-License-Identifier: Apache-2.0
"""How joints are called in a recording, and how in the description."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.safe_yaml import SMALL, read_file
from rbd_dynamics.replay.reading import RecordingError

SEPARATORS = "_/.-:"  # between the name of a robot and that of its joint
NOWHERE = "\0"  # begins what no recording calls a joint


def check_joint_map(given: Any) -> None:
    """Raises ValueError unless it is {name in the recording: joint of the robot}, each joint once."""
    if not isinstance(given, Mapping):
        raise ValueError(f"joint_map must be {{name in the recording: joint of the robot}}, got {excerpt(given)}")
    taken: dict[str, str] = {}
    for recorded, joint in given.items():
        if not (isinstance(recorded, str) and isinstance(joint, str) and recorded and joint):
            raise ValueError(f"joint_map: {excerpt(recorded)}: {excerpt(joint)} are not two names")
        if joint in taken:
            raise ValueError(f"joint_map: both {excerpt(taken[joint])} and {excerpt(recorded)} are joint {joint!r}")
        taken[joint] = recorded


def read_joint_map(path: Path) -> dict[str, str]:
    """Map of joint names from a YAML file. Raises ValueError that names it."""
    given = read_file(path, str(path), SMALL)
    if isinstance(given, Mapping):
        given = {str(key) if isinstance(key, int) and not isinstance(key, bool) else key: given[key] for key in given}
    try:
        check_joint_map(given)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return dict(given)


class JointNames:
    """Which name of a recording is which joint of the robot.

    Parameters:
        joints: of the robot.
        joint_map: {name in the recording: joint}; what is named there has no other name.
        robot: the robot's name in a recording of several; its joints may have it before their own.

    Raises ValueError for a map to a joint that there is not.
    """

    def __init__(self, joints: Sequence[str], joint_map: Mapping[str, str], robot: str | None = None) -> None:
        for joint in joint_map.values():
            if joint not in joints:
                raise ValueError(f"joint_map: {unknown('joint', joint, joints)}")
        self.joints, self._map, self._robot = tuple(joints), dict(joint_map), robot

    def possible(self) -> list[str]:
        """All names by which a recording may call these joints, rather too many."""
        free = [name for name in self.joints if name not in self._map.values() and name not in self._map]
        own = [f"{self._robot}{mark}{name}" for mark in SEPARATORS for name in free] if self._robot else []
        return [*self._map, *free, *own]

    def recorded(self, there: Collection[str], where: str) -> tuple[str, ...]:
        """The name of each joint in a recording that has the names `there`; one that cannot be for what it lacks.

        where: the recording's topic, for the error. Raises RecordingError for a name of the map that is not there.
        """
        for name in self._map:
            if name not in there:
                raise RecordingError(f"{where}: joint_map: {unknown('joint', name, sorted(there))}")
        given = {joint: name for name, joint in self._map.items()}
        return tuple(given.get(joint) or self._by_itself(joint, there) for joint in self.joints)

    def _by_itself(self, joint: str, there: Collection[str]) -> str:
        own = [f"{self._robot}{mark}{joint}" for mark in SEPARATORS] if self._robot else []
        for name in (*own, joint):
            if name in there and name not in self._map and (name == joint or name not in self.joints):
                return name
        return f"{NOWHERE}{joint}" if joint in self._map else joint
