# SPDX-License-Identifier: Apache-2.0
"""What the flags of an MJCF, `<option><flag .../></option>`, leave of its forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Flags:
    """What acts. `constraint` turns off equalities, limits and dry friction; both springs and dampers off, or
    `passive` of MuJoCo before 3.3.6, also gravity compensation and media.
    """

    springs: bool
    dampers: bool
    friction: bool
    equalities: bool
    limits: bool
    gravity: bool
    actuation: bool
    controls_are_clamped: bool

    @property
    def passive(self) -> bool:
        return self.springs or self.dampers

    @classmethod
    def of(cls, m: Any) -> Flags:
        import mujoco

        bits = int(m.opt.disableflags)

        def acts(*names: str) -> bool:
            known = [getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names]
            return not any(bits & int(bit) for bit in known if bit is not None)

        return cls(
            springs=acts("SPRING", "PASSIVE"),
            dampers=acts("DAMPER", "PASSIVE"),
            friction=acts("FRICTIONLOSS", "CONSTRAINT"),
            equalities=acts("EQUALITY", "CONSTRAINT"),
            limits=acts("LIMIT", "CONSTRAINT"),
            gravity=acts("GRAVITY"),
            actuation=acts("ACTUATION"),
            controls_are_clamped=acts("CLAMPCTRL"),
        )
