# SPDX-License-Identifier: Apache-2.0
"""What the actuators of an MJCF can do at the joints, and what they add to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.model.errors import Findings

_JOINT, _JOINT_IN_PARENT = 0, 1  # mjtTrn
_FIXED_GAIN, _NO_BIAS, _NO_DYNAMICS = 0, 0, 0  # mjtGain, mjtBias, mjtDyn


def efforts_and_rotors(
    m: Any, names: Names, findings: Findings
) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """{joint: largest effort}, {joint: rotor inertia} and {joint: damping} that its actuators give it.

    An actuator's largest force is that of its force range, else a motor's at the end of its control range; times
    the gear. What the joint's own `actuatorfrcrange` allows is the most.
    """
    efforts: dict[int, float] = {}
    rotors: dict[int, float] = {}
    dampings: dict[int, float] = {}
    for k in range(m.nu):
        rotor, damping = (float(np.ravel(getattr(m, f"actuator_{key}", np.zeros(m.nu))[k])[0])
                          for key in ("armature", "damping"))  # fmt: skip
        joint = int(np.ravel(m.actuator_trnid[k])[0])
        if int(m.actuator_trntype[k]) not in (_JOINT, _JOINT_IN_PARENT) or int(m.jnt_type[joint]) < 2:
            if rotor or damping:
                name = str(m.actuator(k).name) or str(k)
                findings.defect(f"actuator {name!r}", "has an armature or damping and drives no single joint")
            continue
        gear = abs(float(m.actuator_gear[k][0]))
        efforts[joint] = efforts.get(joint, 0.0) + gear * _largest_force(m, k)
        rotors[joint] = rotors.get(joint, 0.0) + gear * gear * rotor
        dampings[joint] = dampings.get(joint, 0.0) + gear * gear * damping
    for joint in range(m.njnt):
        if m.jnt_actfrclimited[joint]:
            own = float(np.abs(m.jnt_actfrcrange[joint]).max())
            efforts[joint] = min(own, efforts.get(joint, np.inf))
    return efforts, rotors, dampings


def _largest_force(m: Any, k: int) -> float:
    found = np.inf
    if m.actuator_forcelimited[k]:
        found = float(np.abs(m.actuator_forcerange[k]).max())
    plain = (int(m.actuator_gaintype[k]), int(m.actuator_biastype[k]), int(m.actuator_dyntype[k]))
    if m.actuator_ctrllimited[k] and plain == (_FIXED_GAIN, _NO_BIAS, _NO_DYNAMICS):
        found = min(found, abs(float(m.actuator_gainprm[k][0])) * float(np.abs(m.actuator_ctrlrange[k]).max()))
    return found
