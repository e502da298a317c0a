# SPDX-License-Identifier: Apache-2.0
"""Could this robot exist, and are its dynamics well posed?

What cannot be is an error. What is wrong in a way that leaves the dynamics usable is a defect, an
error only when strict: published files of real robots have some (an inertia with a slip in one
number, fingers without mass).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rbd_dynamics.model.description import Description, Inertial
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.inertia_felt import all_inertia_is_felt
from rbd_dynamics.model.mass_matrix_pivots import SINGULAR, Pivots, pivots
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.physical_inertia import ROUNDED_RADIUS, Excess, about_com
from rbd_dynamics.model.urdf_reading.parser import INERTIA_ENTRIES

# --- inertias ------------------------------------------------------------------------------------


def check_inertials(description: Description, findings: Findings) -> None:
    """What no link may have, wherever it is: negative mass or moments."""
    for link in description.links:
        if link.inertial is None:
            continue
        where, mass = f"link {link.name!r}", link.inertial.mass
        if mass < 0.0:
            findings.error(where, f"has the negative mass {mass:g}")
        for entry in (0, 3, 5):
            moment = link.inertial.rotational[entry]
            if moment < -(ROUNDED_RADIUS**2) * max(mass, 0.0):
                findings.impossible(where, f"has the negative moment of inertia {INERTIA_ENTRIES[entry]}={moment:g}")
        if mass == 0.0 and any(link.inertial.rotational):
            findings.warning(where, "has inertia but no mass")


def check_bodies(model: Model, links: Mapping[str, Inertial | None], findings: Findings) -> None:
    """Every moving body, with all that is fixed to it, has an inertia that some mass distribution has."""
    on_body: dict[int, list[str]] = {}
    for frame in model.frames:
        on_body.setdefault(frame.body, []).append(frame.name)
    for body in model.bodies:
        if not math.isfinite(sum(body.inertia.parameters)) and not all(map(math.isfinite, body.inertia.parameters)):
            findings.error(f"link {body.name!r}", "has an inertia too large to compute with")
    excesses = Excess.found_in([(about_com(body.inertia), body.inertia.mass) for body in model.bodies])
    for index, excess in excesses.items():
        parts = {name: links.get(name) for name in on_body.get(index, ())}
        wrong = [
            (found.radius, name)
            for name, part in parts.items()
            if part is not None and (found := Excess.of(part.rotational, part.mass))
        ]
        where = f"link {(max(wrong)[1] if wrong else model.bodies[index].name)!r}"
        if excess.gross:
            findings.impossible(where, f"has an inertia that no rigid body has: {excess}")
        else:
            findings.defect(where, f"has an inertia that no rigid body has: {excess}", "check its numbers")
    findings.told_of_given()
    known = {finding.element for finding in findings if finding.severity != "note"}
    given = [(name, inertial) for name, inertial in links.items() if inertial is not None]
    for index, slip in Excess.found_in([(inertial.rotational, inertial.mass) for _, inertial in given]).items():
        where = f"link {given[index][0]!r}"
        if where not in known:
            findings.warning(
                where,
                f"has an inertia that no rigid body has: {slip}",
                "it does not matter once merged with what it is fixed to",
            )


# --- the mass matrix -----------------------------------------------------------------------------


def check_motion(model: Model, findings: Findings) -> None:
    """Every degree of freedom feels inertia: the mass matrix is positive definite."""
    if all_inertia_is_felt(model):
        return
    samples = _samples(model)
    if samples.too_large is not None:
        findings.error(
            f"joint {samples.too_large!r}", "it, or the link it moves, has numbers too large to compute with"
        )
        return
    lowest, largest = samples.left.min(axis=0), np.abs(samples.left).max(axis=0)
    if not np.any(lowest < -SINGULAR) and not np.any(largest <= SINGULAR):
        return
    for joint in model.joints:
        dofs = slice(joint.v_index, joint.v_index + joint.kind.nv)
        if np.any(lowest[dofs] < -SINGULAR):
            findings.error(f"joint {joint.name!r}", "feels negative inertia: the mass matrix is not positive definite")
        elif np.any(largest[dofs] <= SINGULAR):
            own = samples.own.max(axis=0)[dofs].min()
            if own == 0.0:
                message = "moves no mass"
            elif own < SINGULAR:
                message = "moves only mass that lies on its axis"
            else:
                message = "moves no mass that the joints after it do not move in the same way"
            findings.defect(
                f"joint {joint.name!r}",
                f"{message}: the mass matrix is singular",
                "give what it moves an inertia, or lock the joint",
            )


def singular_joints(model: Model) -> list[str]:
    """Names of the joints that make the mass matrix singular in every configuration."""
    singular = np.abs(_samples(model).left).max(axis=0) <= SINGULAR
    return [joint.name for joint in model.joints if singular[joint.v_index : joint.v_index + joint.kind.nv].any()]


def _samples(model: Model) -> Pivots:
    """Pivots in two configurations without symmetry: one that is zero in both is zero everywhere."""
    with np.errstate(all="ignore"):  # of random positions, too
        return pivots(model, np.stack([model.random(seed) for seed in (1, 2)]))
