# SPDX-License-Identifier: Apache-2.0
"""What the actuators of an MJCF can do at the joints, and what they add to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.formats.mjcf_fields import row
from rbd_dynamics.formats.mjcf_flags import Flags
from rbd_dynamics.formats.mjcf_names import name_of
from rbd_dynamics.model.errors import Findings

_JOINT, _JOINT_IN_PARENT, _TENDON = 0, 1, 3  # mjtTrn
_SLIDE = 2  # mjtJoint: it and what comes after it has one coordinate
_FIXED_GAIN, _NO_BIAS, _NO_DYNAMICS = 0, 0, 0  # mjtGain, mjtBias, mjtDyn
#: groups that `actuatorgroupdisable` can name
_GROUPS = 31
#: coefficients of a polynomial beside the linear one
HIGHER = 2


def _zeros() -> NDArray[np.float64]:
    return np.zeros(HIGHER + 1)


@dataclass
class Actuation:
    """Largest effort, by number of the joint, rotor inertia, and damping (its linear part and the higher ones)."""

    efforts: dict[int, float] = field(default_factory=dict)
    rotors: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    dampings: dict[int, NDArray[np.float64]] = field(default_factory=lambda: defaultdict(_zeros))


def read_actuators(m: Any, flags: Flags, findings: Findings) -> Actuation:
    """What they give each joint, all that drive it together.

    An actuator's largest force is that of its force range, else a motor's at the end of its control range; times
    the gear. What the joint's own `actuatorfrcrange` allows is the most. Inertia and damping of an actuator count by
    the square of its first gear, on all axes of the joint, whether it is enabled or not.
    """
    found = Actuation()
    enabled: dict[int, float] = {}
    disabled: dict[int, float] = {}
    for actuator in _actuators(m):
        joint = actuator.joint
        damping = np.append(actuator.row("damping"), actuator.row("dampingpoly"))[: HIGHER + 1]
        rotor = actuator.number("armature")
        if joint is None:
            if rotor or np.any(damping):
                findings.defect(actuator.where, "has an armature or damping and drives no joint, they are left out")
            if np.isfinite(actuator.largest_force(flags)):
                findings.note(actuator.where, "has a largest force and drives no joint, it limits no joint's effort")
            continue
        squared = actuator.gear * actuator.gear
        if not np.isfinite(squared):
            findings.error(actuator.where, f"has the gear {actuator.gear:g}, too large to compute with")
            continue
        found.rotors[joint] += squared * rotor
        found.dampings[joint][: len(damping)] += squared * damping * flags.dampers
        if int(m.jnt_type[joint]) >= _SLIDE:
            efforts = disabled if actuator.is_disabled else enabled
            efforts[joint] = efforts.get(joint, 0.0) + abs(actuator.gear) * actuator.largest_force(flags)
        elif np.isfinite(actuator.largest_force(flags)):
            findings.note(actuator.where, "has a largest force about a ball, it limits no effort")
    if disabled and not disabled.keys() <= enabled.keys():
        findings.note("option", "disables all actuators of a joint: its largest effort is that of them enabled")
    found.efforts = {**disabled, **enabled}
    for joint in range(m.njnt):
        if m.jnt_actfrclimited[joint] and int(m.jnt_type[joint]) >= _SLIDE:
            own = float(np.abs(m.jnt_actfrcrange[joint]).max())
            found.efforts[joint] = min(own, found.efforts.get(joint, np.inf))
    return found


@dataclass(frozen=True)
class _Actuator:
    """The k-th one. Since MuJoCo 3.11 it may have several controls and outputs, whose fields have rows of their own."""

    m: Any
    k: int
    control: int
    output: int

    @property
    def where(self) -> str:
        return f"actuator {name_of(self.m, 'actuator', self.k) or str(self.k)!r}"

    @property
    def joint(self) -> int | None:
        """The joint that it drives, whose number is in `trnid`, where for others that of a tendon or site is."""
        kind = int(self.m.actuator_trntype[self.k])
        return int(np.ravel(self.m.actuator_trnid[self.k])[0]) if kind in (_JOINT, _JOINT_IN_PARENT) else None

    @property
    def gear(self) -> float:
        return float(self.m.actuator_gear[self.output][0])

    @property
    def is_disabled(self) -> bool:
        group, bits = int(self.m.actuator_group[self.k]), int(getattr(self.m.opt, "disableactuator", 0))
        return 0 <= group < _GROUPS and bool(bits >> group & 1)

    def row(self, key: str) -> NDArray[np.float64]:
        return row(self.m, f"actuator_{key}", self.k)

    def number(self, key: str) -> float:
        return float(np.append(self.row(key), 0.0)[0])

    def largest_force(self, flags: Flags) -> float:
        """Infinite where nothing bounds it."""
        m, k, found = self.m, self.k, np.inf
        if m.actuator_forcelimited[k]:
            found = float(np.abs(m.actuator_forcerange[k]).max())
        plain = (int(m.actuator_gaintype[k]), int(m.actuator_biastype[k]), int(m.actuator_dyntype[k]))
        limited = bool(m.actuator_ctrllimited[self.control]) and flags.controls_are_clamped
        if limited and plain == (_FIXED_GAIN, _NO_BIAS, _NO_DYNAMICS):
            most = float(np.abs(m.actuator_ctrlrange[self.control]).max())
            found = min(found, abs(float(m.actuator_gainprm[k][0])) * most)
        return found


def _actuators(m: Any) -> Iterator[_Actuator]:
    for k in range(len(m.actuator_trntype)):  # m.nu is the number of controls
        control, output = (
            int(getattr(m, key)[k]) if hasattr(m, key) else k for key in ("actuator_ctrladr", "actuator_outadr")
        )
        yield _Actuator(m, k, control, output)
