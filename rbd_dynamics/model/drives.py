# SPDX-License-Identifier: Apache-2.0
"""How a motor moves its joint: the gear between them, how it yields, and about which axis the rotor spins.

What a motor's side is seen as at the joint: of its speed 1 / n, of its torque n, of its inertia n^2, n being the gear
ratio. The rotor's inertia is the joint's `armature`, as seen there; the stator's, and all of the rotor but its spin,
belongs to the link that carries it, as in a description of the robot. `Robot` takes gears as rigid;
`rbd_dynamics.actuators` computes with what is here (docs/actuators.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, fields
from typing import Any

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import vector_of
from rbd_dynamics.model.open_kinds import built


@dataclass(frozen=True)
class Drive:
    """A joint's drive.

    Parameters:
        gear_ratio: the rotor's speed over the joint's, rad/rad or rad/m; negative: it turns the other way.
        stiffness: between the gear's output and the link, N m/rad or N/m; infinite: rigid.
        damping: beside the stiffness, N m s/rad or N s/m.
        rotor_frame: name of a link or joint whose body carries the motor; by default the link that the joint is on.
        rotor_axis: about which the rotor spins, in the axes of `rotor_frame`, or else of the joint's frame where it
            is at zero; by default the joint's own axis.

    Raises ModelError for numbers that make no sense.
    """

    _: KW_ONLY
    gear_ratio: float = 1.0
    stiffness: float = math.inf
    damping: float = 0.0
    rotor_frame: str | None = None
    rotor_axis: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        stiffness = self.stiffness
        if stiffness != math.inf:
            stiffness = vector_of((stiffness,), 1, "stiffness")[0]
            if stiffness <= 0.0:
                raise ModelError(f"stiffness {stiffness:g} is not positive")
        damping = vector_of((self.damping,), 1, "damping")[0]
        if damping < 0.0:
            raise ModelError(f"damping {damping:g} is negative")
        if damping > 0.0 and stiffness == math.inf:
            raise ModelError(f"damping {damping:g} is that of a spring, which needs a finite stiffness")
        ratio = vector_of((self.gear_ratio,), 1, "gear_ratio")[0]
        if ratio == 0.0:
            raise ModelError("gear_ratio is zero")
        if self.rotor_frame is not None and (not isinstance(self.rotor_frame, str) or not self.rotor_frame):
            raise ModelError(f"rotor_frame {excerpt(self.rotor_frame)} is not a name")
        if self.rotor_frame is not None and self.rotor_axis is None:
            raise ModelError(f"rotor_frame {excerpt(self.rotor_frame)} needs a rotor_axis, in its axes")
        for name, number in (("gear_ratio", ratio), ("stiffness", stiffness), ("damping", damping)):
            object.__setattr__(self, name, float(number))
        if self.rotor_axis is not None:
            x, y, z = vector_of(self.rotor_axis, 3, "rotor_axis")
            length = math.hypot(x, y, z)
            if not length > 1e-9:
                raise ModelError("rotor_axis has no direction")
            if abs(length - 1.0) > 1e-15:  # what is one already keeps its last bits
                x, y, z = x / length, y / length, z / length
            object.__setattr__(self, "rotor_axis", (x, y, z))

    def to_dict(self) -> dict[str, Any]:
        """What is not as by default; `from_dict` is its inverse."""
        own = {each.name: each.default for each in fields(self)}
        data = {key: value for key, value in asdict(self).items() if value != own[key]}
        if self.rotor_axis is not None:
            data["rotor_axis"] = list(self.rotor_axis)
        return data

    @classmethod
    def from_dict(cls, data: Any, *, where: str = "drive") -> Drive:
        """Raises ModelError that begins with `where`."""
        if not isinstance(data, Mapping):
            raise ModelError(f"{where}: expected keys and values, not {excerpt(data)}")
        return built(cls, data, where)
