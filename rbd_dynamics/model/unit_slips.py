# SPDX-License-Identifier: Apache-2.0
"""Numbers that look as if they were in other units: degrees, millimetres, grams.

All of these can be computed with, so they are warnings of `check` alone. Bounds are where no robot is.
"""

from __future__ import annotations

import math
from typing import Any

from rbd_dynamics.model.description import LARGEST_ANGLE, Description, Inertial
from rbd_dynamics.model.errors import Findings

NO_LIMIT = 3600.0  # degrees: what is more stands for none
FAR = 100.0  # m between two links, or from a link to its centre of mass
LONG = 10.0  # m, radius of gyration of a link
DENSEST = 22_600.0  # kg/m^3: osmium. A sphere of it is the smallest body of its mass
HEAVY = 5.0  # kg: small parts are often given moments that were made up
IN_GRAMS = 0.3  # a mass in grams makes the radius of gyration 0.03 of what it is


def check_units(description: Description, findings: Findings) -> None:
    """Joint limits in degrees, lengths in millimetres, masses in grams, moments of inertia in kg mm^2."""
    for joint in description.joints:
        where = f"joint {joint.name!r}"
        if joint.type in ("revolute", "continuous"):
            for name in ("lower", "upper"):
                limit = getattr(joint.limits, name)
                if LARGEST_ANGLE < abs(limit) < NO_LIMIT:
                    findings.warning(where, f"has the limit {name}={limit:g}", "limits are in radians")
        if _length(joint.origin.p) > FAR:
            findings.warning(where, f"is {_length(joint.origin.p):g} m from its parent link", "lengths are in metres")
    for link in description.links:
        if link.inertial is not None:
            _check_inertial(f"link {link.name!r}", link.inertial, findings)


def _check_inertial(where: str, inertial: Inertial, findings: Findings) -> None:
    mass, second = inertial.mass, 0.5 * sum(inertial.rotational[k] for k in (0, 3, 5))  # of mass about its centre
    if _length(inertial.com) > FAR:
        findings.warning(where, f"has its centre of mass {_length(inertial.com):g} m away", "lengths are in metres")
    if not (mass > 0.0 and second > 0.0 and math.isfinite(mass + second)):
        return
    radius = math.sqrt(second / mass)
    sphere = math.sqrt(0.6) * (3.0 * mass / (4.0 * math.pi * DENSEST)) ** (1.0 / 3.0)
    if radius > LONG:
        message = f"has the moments of inertia of a body of {2.0 * radius:.3g} m"
        findings.warning(where, message, "they are in kg m^2, about the centre of mass")
    elif mass > HEAVY and radius < IN_GRAMS * sphere:
        message = f"weighs {mass:g} kg and has the moments of inertia of a body of {2e3 * radius:.2g} mm"
        findings.warning(where, f"{message}: denser than any metal", "masses are in kg, moments of inertia in kg m^2")


def _length(p: Any) -> float:
    return math.sqrt(sum(float(x) ** 2 for x in p)) if all(map(math.isfinite, p)) else 0.0
