# SPDX-License-Identifier: Apache-2.0
"""What was found of drives."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from rbd_dynamics.replay.identification.drives.exported import Exported
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.validation import Validation


@dataclass(frozen=True)
class DrivePart(Plain):
    """Something that a joint's drive needs.

    Attributes:
        name: "rotor inertia", "spring", "friction by direction", "friction with load", "friction
            falling with speed", "gain" or "shared motor".
        share: of the squares that are left without it in the joints that it acts on, what it takes away; on stretches
            that were not fitted.
        estimates: its numbers. motor: of a shared one, which position it turns by, as "wrist_3 + wrist_2".
        note: what else may be behind it, or where.
    """

    name: str
    share: float
    estimates: tuple[Estimate, ...]
    _: KW_ONLY
    motor: str = ""
    note: str = ""

    def __str__(self) -> str:
        turns = f" ({self.motor})" if self.motor else ""
        return f"{self.name}{turns}: {', '.join(map(str, self.estimates))}"


@dataclass(frozen=True)
class JointDrive(Plain):
    """One joint's drive.

    Attributes:
        samples: of the moving joint.
        offset, coulomb, viscous: what every joint has, beside the parts, in the unit of the efforts.
        parts: what it needs besides, by held-out data; what takes most away first.
        rmse_before: of measured less predicted torque, as the model is.
        rmse_friction, rmse_after: with friction only and with the parts, on stretches that were not fitted.
    """

    joint: str
    samples: int
    offset: Estimate
    coulomb: Estimate
    viscous: Estimate
    parts: tuple[DrivePart, ...]
    rmse_before: float
    rmse_friction: float
    rmse_after: float

    def part(self, name: str) -> DrivePart | None:
        """Part of that name; None where the joint does not need it."""
        return next((part for part in self.parts if part.name == name), None)


@dataclass(frozen=True)
class DriveResult(Plain):
    """Drives of all joints with a measured effort that moved.

    Attributes:
        inertias_free: whether the description's inertias were left free, since that predicts better.
        finding: why nothing was decided; empty where it was.
        exported: {joint: what a description can hold}, of the joints that need a rotor inertia or a spring, with the
            description's inertias as they are, and that predict held-out stretches no worse with it.
        validation: of these joints.
    """

    joints: tuple[JointDrive, ...]
    inertias_free: bool
    terms: tuple[str, ...]
    _: KW_ONLY
    finding: str = ""
    exported: dict[str, Exported] = field(default_factory=dict)
    validation: Validation | None = None

    def of(self, joint: str) -> JointDrive:
        """Raises KeyError for a joint without samples."""
        return {found.joint: found for found in self.joints}[joint]
