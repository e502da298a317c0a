# SPDX-License-Identifier: Apache-2.0
"""Models of drives: what a joint's drive needs beside offset, Coulomb and viscous friction, by held-out data."""

from rbd_dynamics.replay.identification.drives.exported import Exported, with_drives
from rbd_dynamics.replay.identification.drives.identifier import DriveIdentifier
from rbd_dynamics.replay.identification.drives.results import DrivePart, DriveResult, JointDrive

__all__ = ["DriveIdentifier", "DrivePart", "DriveResult", "Exported", "JointDrive", "with_drives"]
