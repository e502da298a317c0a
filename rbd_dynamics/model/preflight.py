# SPDX-License-Identifier: Apache-2.0
"""Everything about a robot description that is wrong, doubtful or worth knowing, in one list."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from rbd_dynamics.model.checks import check_bodies, check_motion
from rbd_dynamics.model.description import Description
from rbd_dynamics.model.dictionary import joint_to_dict
from rbd_dynamics.model.errors import Finding, Findings, Inertias, ModelError
from rbd_dynamics.model.model import Body, Joint, Model
from rbd_dynamics.model.physical_inertia import about_com
from rbd_dynamics.model.urdf import build_model, checked_description
from rbd_dynamics.model.urdf_reading.versions import STAYS

# What is outside is plausible for few robots, and usual where units are mixed up:
MASSES = (1e-4, 1e3)  # kg, of a moving body
GYRATION = (1e-4, 2.0)  # m, radius of gyration of a moving body
DENSEST = 22_600.0  # kg/m^3: osmium. A sphere of it is the smallest body of its mass
HEAVY = 5.0  # kg: small parts are often given moments that were made up
IN_GRAMS = 0.3  # of that sphere's radius of gyration; a mass in grams makes it 0.03 of what it is
COM_DISTANCE = 2.0  # m, of a centre of mass from its link frame
LINK_LENGTH = 5.0  # m, from joint to joint
ANGLE = 4.0 * math.pi + 1e-6  # rad, position limit of a revolute joint
GRAVITY = 1000.0  # m/s^2
LARGEST_NUMBER = 1e9  # of anything but limits, SI units
TRAVEL = 10.0  # m, position limit of a prismatic joint


def preflight(
    source: str | os.PathLike[str] | Model, *, strict: bool = False, inertias: Inertias = "checked"
) -> list[Finding]:
    """Check a robot description (path or XML text) or a model; errors first.

    All that `load_urdf` would raise, not only the first of it, then warnings and notes. `strict` and
    `inertias` as for `load_urdf`. Never raises for what is in the description.
    """
    findings = Findings(strict, inertias)
    if isinstance(source, Model):
        _check_model(source, None, findings)
    else:
        description = checked_description(source, findings)
        _check_description(description, findings)
        if not [finding for finding in findings.errors if not finding.defect]:
            _check_model(build_model(description), description, findings)
    return findings.in_order()


def _check_model(model: Model, description: Description | None, findings: Findings) -> None:
    links = {} if description is None else {link.name: link.inertial for link in description.links}
    check_bodies(model, links, findings)
    check_motion(model, findings)
    stay = {finding.element for finding in findings if finding.message.endswith(STAYS)}
    doubted = {finding.element for finding in findings if finding.severity != "note"}
    if not model.bodies:
        findings.note("robot", "has no joint that moves")
    if math.hypot(*model.gravity) > GRAVITY:
        findings.warning("robot", f"has a gravity of {math.hypot(*model.gravity):.3g} m/s^2", "is the unit m/s^2?")
    for body in model.bodies:
        if f"link {body.name!r}" not in doubted:
            _check_body(body, findings)
        _check_joint(body.joint, f"joint {body.joint.name!r}" in stay, findings)
        _check_sizes(body, findings)
        if description is None:  # of a description they are checked link by link
            _check_lengths(body, findings)


def _check_body(body: Body, findings: Findings) -> None:
    where, mass = f"link {body.name!r}", body.inertia.mass
    if mass == 0.0:
        findings.note(where, "has no mass", "its joint moves only what comes after it")
        return
    if not MASSES[0] <= mass <= MASSES[1]:
        findings.warning(where, f"weighs {mass:g} kg with what is fixed to it", "is the unit kg?")
    xx, _, _, yy, _, zz = about_com(body.inertia)
    gyration = math.sqrt(max(xx + yy + zz, 0.0) / 2.0 / mass)
    if gyration > GYRATION[1]:
        findings.warning(
            where, f"has the inertia of a body of {gyration:.3g} m radius of gyration", "is the unit kg m^2?"
        )
    elif gyration < GYRATION[0]:
        findings.warning(where, "has practically no rotational inertia", "it counts as a point mass")
    elif HEAVY < mass <= MASSES[1] and gyration < IN_GRAMS * math.sqrt(0.6) * (0.75 * mass / math.pi / DENSEST) ** (
        1.0 / 3.0
    ):
        findings.warning(
            where, f"weighs {mass:g} kg within {1e3 * gyration:.2g} mm: denser than any metal", "is the unit kg?"
        )


def _check_joint(joint: Joint, stays: bool, findings: Findings) -> None:
    """stays: it is said already that it cannot move."""
    where, limits = f"joint {joint.name!r}", joint.limits
    if joint.mimic is not None:
        rule = f"{joint.mimic.multiplier:g} * {joint.mimic.leader}"
        offset = f" + {joint.mimic.offset:g}" if joint.mimic.offset else ""
        findings.note(where, f"follows another: {joint.name} = {rule}{offset}")
        return
    if limits.effort == 0.0:
        findings.warning(where, "has the effort limit 0", "nothing may be commanded to it")
    if limits.velocity == 0.0:
        findings.warning(where, "has the velocity limit 0")
    if joint.kind.nq > 1 or not math.isfinite(limits.lower + limits.upper):
        return
    if limits.lower == limits.upper:
        if not stays:
            findings.warning(where, f"cannot move: both its limits are {limits.lower:g}", "should it be fixed?")
    elif not limits.lower <= 0.0 <= limits.upper:
        findings.note(where, f"has 0 outside its limits {limits.lower:g} to {limits.upper:g}")
    reach = max(abs(limits.lower), abs(limits.upper))
    if joint.kind.name == "prismatic" and reach > TRAVEL:
        findings.warning(where, f"travels up to {reach:g} m", "is the unit m?")
    elif joint.kind.name == "revolute" and reach > ANGLE:
        findings.warning(where, f"turns up to {reach:g} rad", "is the unit rad?")


def _check_sizes(body: Body, findings: Findings) -> None:
    """Numbers that no unit explains, with which the dynamics may not be finite."""
    joint = body.joint
    try:
        data = joint_to_dict(joint)
    except ModelError:  # of a kind that only Python can express
        data = {}
    data.pop("limits", None)  # there a large one is none
    for key, part in (*data.items(), ("placement", body.placement.p)):
        largest = max((abs(x) for x in _numbers_in(part)), default=0.0)
        if largest > LARGEST_NUMBER:
            findings.warning(f"joint {joint.name!r}", f"has the number {largest:.3g} as {key}", "no unit explains it")


def _numbers_in(data: Any) -> Iterator[float]:
    if isinstance(data, (int, float)):
        yield float(data)
    elif isinstance(data, Mapping):
        for part in data.values():
            yield from _numbers_in(part)
    elif isinstance(data, (list, tuple)):
        for part in data:
            yield from _numbers_in(part)


def _check_lengths(body: Body, findings: Findings) -> None:
    mass, length = body.inertia.mass, math.hypot(*body.placement.p)
    distance = math.hypot(*body.inertia.moment) / mass if mass else 0.0
    if not distance <= COM_DISTANCE:
        findings.warning(f"link {body.name!r}", f"has its centre of mass {distance:.3g} m away", "is the unit m?")
    if not length <= LINK_LENGTH:
        findings.warning(f"joint {body.joint.name!r}", f"is {length:.3g} m from its parent link", "is the unit m?")


def _check_description(description: Description, findings: Findings) -> None:
    for link in description.links:
        if link.inertial is not None and math.hypot(*link.inertial.com) > COM_DISTANCE:
            distance = math.hypot(*link.inertial.com)
            findings.warning(f"link {link.name!r}", f"has its centre of mass {distance:.3g} m away", "is the unit m?")
    for joint in description.joints:
        length = math.hypot(*joint.origin.p)
        if length > LINK_LENGTH:
            findings.warning(f"joint {joint.name!r}", f"is {length:.3g} m from its parent link", "is the unit m?")
