# SPDX-License-Identifier: Apache-2.0
"""Could this robot exist, and are its dynamics well posed?

What cannot be is an error. What is wrong in a way that leaves the dynamics usable is a defect, an
error only when strict: published files of real robots have some (an inertia with a slip in one
number, fingers without mass).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.model.description import Description, Inertial
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Joint, Model
from rbd_dynamics.model.pivots import SINGULAR, Pivots, pivots
from rbd_dynamics.model.urdf_parser import INERTIA_ENTRIES
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.so3 import Sym3

Array = NDArray[np.float64]

# An inertia may miss being physical by this much, which is what rounding in files comes to:
ROUNDED = 1e-3  # of its largest principal moment
ROUNDED_RADIUS = 1e-4  # m, as a radius of gyration of the body's mass
# From here on it is no slip in a file but an error:
GROSS = 5.0  # the largest principal moment is this many times the sum of the others
GROSS_RADIUS = 0.1  # m, imaginary extent of the body


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
    for index, body in enumerate(model.bodies):
        if not all(map(math.isfinite, body.inertia.parameters)):
            findings.error(f"link {body.name!r}", "has an inertia too large to compute with")
        excess = Excess.of(about_com(body.inertia), body.inertia.mass)
        if not excess:
            continue
        parts = {name: links.get(name) for name in on_body.get(index, ())}
        wrong = [
            (found.radius, name)
            for name, part in parts.items()
            if part is not None and (found := Excess.of(part.rotational, part.mass))
        ]
        where = f"link {(max(wrong)[1] if wrong else body.name)!r}"
        if excess.gross:
            findings.impossible(where, f"has an inertia that no rigid body has: {excess}")
        else:
            findings.defect(where, f"has an inertia that no rigid body has: {excess}", "check its numbers")
    findings.told_of_given()
    known = {finding.element for finding in findings if finding.severity != "note"}
    for name, inertial in links.items():
        if inertial is not None and (slip := Excess.of(inertial.rotational, inertial.mass)):
            where = f"link {name!r}"
            if where not in known:
                findings.warning(
                    where,
                    f"has an inertia that no rigid body has: {slip}",
                    "it does not matter once merged with what it is fixed to",
                )


class Excess(NamedTuple):
    """Excess by which principal moments p1 <= p2 <= p3 break 0 <= p1 and p3 <= p1 + p2."""

    principal: tuple[float, float, float]
    missing: float  # kg m^2, beyond rounding
    radius: float  # m: the missing second moment of mass as a radius of gyration

    @classmethod
    def of(cls, rotational: Sym3, mass: float) -> Excess:
        xx, xy, xz, yy, yz, zz = (float(entry) for entry in rotational)
        if not math.isfinite(mass + xx + xy + xz + yy + yz + zz):
            return cls((0.0, 0.0, 0.0), 0.0, 0.0)
        p1, p2, p3 = principal_moments([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
        missing = max(-p1, p3 - p1 - p2)
        rounding = ROUNDED * max(abs(p3), abs(p1)) + ROUNDED_RADIUS**2 * max(mass, 0.0)
        if missing <= rounding:
            missing = 0.0
        radius = math.sqrt(missing / 2.0 / mass) if mass > 0.0 else math.copysign(math.inf, missing)
        return cls((p1, p2, p3), missing, radius if missing else 0.0)

    @property
    def gross(self) -> bool:
        p1, p2, p3 = self.principal
        return self.missing > 0.0 and (p3 >= GROSS * (p1 + p2) * (1.0 - 1e-9) or self.radius > GROSS_RADIUS)

    def __bool__(self) -> bool:
        return self.missing > 0.0

    def __str__(self) -> str:
        p1, p2, p3 = self.principal
        shown = f"of the principal moments {p1:.4g}, {p2:.4g}, {p3:.4g}"
        if p1 < 0.0:
            return f"{shown} one is negative"
        return f"{shown} the largest is more than the sum of the others (triangle inequality)"


def principal_moments(rotational: ArrayLike) -> Array:
    """(3,), from the smallest to the largest, of a symmetric matrix of finite numbers, however large or small."""
    matrix = np.asarray(rotational, dtype=float)
    size = float(np.max(np.abs(matrix)))
    if size == 0.0:
        return np.zeros(3)
    with np.errstate(over="ignore"):  # too large for a float: infinite
        return np.asarray(np.linalg.eigvalsh(matrix / size)) * size


def about_com(inertia: RigidInertia) -> Sym3:
    """Rotational inertia about the centre of mass."""
    if inertia.mass == 0.0:
        return inertia.rotational
    x, y, z = (entry / inertia.mass for entry in inertia.moment)
    shift = RigidInertia.from_com(inertia.mass, (x, y, z), (0.0,) * 6).rotational
    return tuple(a - b for a, b in zip(inertia.rotational, shift))


# --- the mass matrix -----------------------------------------------------------------------------


def check_motion(model: Model, findings: Findings) -> None:
    """Every degree of freedom feels inertia: the mass matrix is positive definite."""
    samples = _samples(model)
    for sample in samples:
        if sample.too_large is not None:
            findings.error(
                f"joint {sample.too_large!r}", "it, or the link it moves, has numbers too large to compute with"
            )
            return
    for joint in model.joints:
        dofs = slice(joint.v_index, joint.v_index + joint.kind.nv)
        if any(np.any(sample.left[dofs] < -SINGULAR) for sample in samples):
            findings.error(f"joint {joint.name!r}", "feels negative inertia: the mass matrix is not positive definite")
        elif _is_singular(joint, samples):
            own = min(max(sample.own[dof] for sample in samples) for dof in range(dofs.start, dofs.stop))
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
    samples = _samples(model)
    return [joint.name for joint in model.joints if _is_singular(joint, samples)]


def _samples(model: Model) -> list[Pivots]:
    """Pivots in two configurations without symmetry: one that is zero in both is zero everywhere."""
    with np.errstate(all="ignore"):
        return [pivots(model, model.random(seed)) for seed in (1, 2)]


def _is_singular(joint: Joint, samples: Sequence[Pivots]) -> bool:
    dofs = range(joint.v_index, joint.v_index + joint.kind.nv)
    return any(max(abs(sample.left[dof]) for sample in samples) <= SINGULAR for dof in dofs)
