# SPDX-License-Identifier: Apache-2.0
"""What recordings say of friction, of drives, of a load, and of all inertias; each with its confidence.

    found = replay.segments(recording, robot.model, settings)
    identifier = FrictionIdentifier(robot, found.low_pass, settings.terms)
    for segment in found:
        identifier.add(segment)
    result = identifier.results()

Identifiers keep sums only, however long the recording; `merge` adds what another one found. They can be pickled.
"""

from rbd_dynamics.replay.identification.corrected_urdf import corrected_urdf, lumped_links
from rbd_dynamics.replay.identification.drive_gains import DriveGainIdentifier, DriveGains
from rbd_dynamics.replay.identification.drives import DriveIdentifier, DrivePart, DriveResult, JointDrive, with_drives
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.friction import FrictionIdentifier, FrictionResult, JointFriction, Stribeck
from rbd_dynamics.replay.identification.inertial import InertiaIdentifier, InertiaResult
from rbd_dynamics.replay.identification.joint_columns import JointFit
from rbd_dynamics.replay.identification.payload import Load, PayloadIdentifier, PayloadResult
from rbd_dynamics.replay.identification.together import Recorded, TogetherIdentifier, TogetherResult, Transfer

__all__ = [
    "DriveGainIdentifier",
    "DriveGains",
    "DriveIdentifier",
    "DrivePart",
    "DriveResult",
    "Estimate",
    "FrictionIdentifier",
    "FrictionResult",
    "InertiaIdentifier",
    "InertiaResult",
    "JointDrive",
    "JointFit",
    "JointFriction",
    "Load",
    "PayloadIdentifier",
    "PayloadResult",
    "Recorded",
    "Stribeck",
    "TogetherIdentifier",
    "TogetherResult",
    "Transfer",
    "corrected_urdf",
    "lumped_links",
    "with_drives",
]
