# SPDX-License-Identifier: Apache-2.0
"""The robot of the campaign: its states as a function of time, its descriptions, and Pinocchio's model of each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

JOINTS = tuple(f"panda_joint{k}" for k in range(1, 8))
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
LIMITS = np.array([87.0] * 4 + [12.0] * 3)
SPEEDS = np.array([2.175] * 4 + [2.61] * 3)  # rad/s
TOOL = "panda_hand_tcp"
MIDDLE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
RATE = 2.0 * np.pi * np.array([0.5, 0.7, 1.1, 0.9, 1.3, 1.7, 1.9])
PHASE = np.arange(7.0)
FRAME = "panda_link8"  # of payloads


class Motion:
    """Where the robot is at each time: what a state's stamp says follows from the stamp alone."""

    def __init__(self, begin: int, amplitude: float) -> None:
        self.begin, self.amplitude = begin, amplitude

    def state(self, stamp: int) -> tuple[Array, Array]:
        """Positions and velocities at a stamp, ns."""
        angle = RATE * (1e-9 * (stamp - self.begin)) + PHASE
        return MIDDLE + self.amplitude * np.sin(angle), self.amplitude * RATE * np.cos(angle)

    def positions(self, stamps: NDArray[np.int64]) -> Array:
        """(N, 7)."""
        angle = 1e-9 * (stamps - self.begin)[:, None] * RATE + PHASE
        return np.asarray(MIDDLE + self.amplitude * np.sin(angle))


@lru_cache(maxsize=64)
def description(key: str) -> str:
    """URDF of a variant: "panda", "masses N" (N a percentage), "offset N" (N mm), "heavy N" (N fixed links more);
    "other N": as masses, of another robot's name."""
    from rbd_dynamics.common.example_robots import robots

    text = robots()["panda"].read_text()
    kind, _, number = key.partition(" ")
    if kind in ("masses", "other"):
        factor = 1.0 + 0.01 * float(number)
        text = re.sub(r'(<mass value=")([^"]+)"', lambda m: f'{m[1]}{float(m[2]) * factor!r}"', text)
        if kind == "other":
            text = text.replace('<robot name="panda"', '<robot name="crane"', 1)
    elif kind == "offset":
        return re.sub(r'xyz="0 -0.316 0"', f'xyz="0 {-0.316 - 1e-3 * float(number)} 0"', text)
    elif kind == "heavy":
        links = "".join(
            f'<link name="extra{k}"><inertial><mass value="0.001"/><origin xyz="0 0 0.01"/><inertia ixx="1e-6" ixy="0" '
            f'ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link><joint name="weld{k}" type="fixed">'
            f'<parent link="panda_link{1 + k % 7}"/><child link="extra{k}"/><origin xyz="0.01 0 0"/></joint>'
            for k in range(int(number))
        )
        text = text.replace("</robot>", links + "</robot>")
    return text


Payload = tuple[float, tuple[float, float, float], tuple[float, ...]]  # mass, com, (ixx, ixy, ixz, iyy, iyz, izz)


class Oracle:
    """Pinocchio's dynamics of one description with one payload."""

    def __init__(self, key: str, payload: Payload | None) -> None:
        import pinocchio as pin

        self._pin = pin
        whole = pin.buildModelFromXML(description(key))
        locked = [whole.getJointId(name) for name in FINGERS if whole.existJointName(name)]
        self.model = pin.buildReducedModel(whole, locked, pin.neutral(whole))
        names = [self.model.names[k + 1] for k in range(self.model.nv)]
        assert tuple(names) == JOINTS, names
        if payload is not None:
            mass, com, (xx, xy, xz, yy, yz, zz) = payload
            frame = self.model.frames[self.model.getFrameId(FRAME)]
            own = pin.Inertia(mass, np.array(com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
            self.model.inertias[frame.parentJoint] += frame.placement.act(own)
        self.data = self.model.createData()
        self.remembered: Any = None  # of who judges with it

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        return np.array(self._pin.rnea(self.model, self.data, q, v, a))

    def gravity(self, q: Array) -> Array:
        return np.array(self._pin.computeGeneralizedGravity(self.model, self.data, q))

    def mass_matrix(self, q: Array) -> Array:
        M = np.array(self._pin.crba(self.model, self.data, q))
        return np.triu(M) + np.triu(M, 1).T

    def jacobian(self, q: Array) -> Array:
        """Of the tool (6, 7) in root axes, the angular part first."""
        frame = self.model.getFrameId(TOOL)
        J = self._pin.computeFrameJacobian(self.model, self.data, q, frame, self._pin.LOCAL_WORLD_ALIGNED)
        return np.concatenate([J[3:], J[:3]])

    def tool(self, q: Array) -> Any:
        """Placement of the tool in the root frame."""
        self._pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.model.getFrameId(TOOL)]


@lru_cache(maxsize=512)
def oracle(key: str, payload: Payload | None) -> Oracle:
    return Oracle(key, payload)
