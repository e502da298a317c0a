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
from rbd_dynamics.model.inertia_felt import all_inertia_is_felt
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.pivots import SINGULAR, Pivots, pivots
from rbd_dynamics.model.urdf_reading.parser import INERTIA_ENTRIES
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
    given = {name: inertial for name, inertial in links.items() if inertial is not None}
    own = np.array([(*inertial.rotational, inertial.mass) for inertial in given.values()], dtype=float).reshape(-1, 7)
    both = Excess.of_all(np.concatenate([_about_coms([body.inertia for body in model.bodies]), own]))
    excesses, slips = both[: len(model.bodies)], both[len(model.bodies) :]
    for index, (body, excess) in enumerate(zip(model.bodies, excesses)):
        if not math.isfinite(sum(body.inertia.parameters)) and not all(map(math.isfinite, body.inertia.parameters)):
            findings.error(f"link {body.name!r}", "has an inertia too large to compute with")
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
    for name, slip in zip(given, slips):
        where = f"link {name!r}"
        if slip and where not in known:
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
        """Excess of one inertia about the centre of mass."""
        return cls.of_all([(*rotational, mass)])[0]

    @classmethod
    def of_all(cls, bodies: Sequence[Sequence[float]] | Array) -> list[Excess]:
        """Excess of each (ixx, ixy, ixz, iyy, iyz, izz, mass) about the centre of mass; none if one is not finite."""
        numbers = np.array(bodies, dtype=float).reshape(-1, 7)
        finite = np.isfinite(numbers).all(axis=1)
        numbers[~finite] = 0.0
        mass = numbers[:, 6]
        principal = principal_moments(numbers[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3))
        p1, p2, p3 = principal.T
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            missing = np.maximum(-p1, p3 - p1 - p2)
            rounding = ROUNDED * np.maximum(np.abs(p3), np.abs(p1)) + ROUNDED_RADIUS**2 * np.maximum(mass, 0.0)
            missing[missing <= rounding] = 0.0
            radius = np.where(mass > 0.0, np.sqrt(missing / 2.0 / mass), np.copysign(np.inf, missing))
            radius[missing == 0.0] = 0.0
        return [
            cls((least, middle, most), lacking, reach)
            for (least, middle, most), lacking, reach in zip(principal.tolist(), missing.tolist(), radius.tolist())
        ]

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
    """(..., 3), from the smallest to the largest, of symmetric matrices of finite numbers, however large or small."""
    matrix = np.asarray(rotational, dtype=float)
    size = np.max(np.abs(matrix), axis=(-2, -1), keepdims=True, initial=0.0)
    with np.errstate(over="ignore"):  # too large for a float: infinite
        return np.asarray(np.linalg.eigvalsh(matrix / np.where(size > 0.0, size, 1.0))) * size[..., 0]


def about_com(inertia: RigidInertia) -> Sym3:
    """Rotational inertia about the centre of mass."""
    if inertia.mass == 0.0:
        return inertia.rotational
    x, y, z = (entry / inertia.mass for entry in inertia.moment)
    shift = RigidInertia.from_com(inertia.mass, (x, y, z), (0.0,) * 6).rotational
    return tuple(a - b for a, b in zip(inertia.rotational, shift))


def _about_coms(inertias: Sequence[RigidInertia]) -> Array:
    """(n, 7): `about_com` of each, and its mass."""
    numbers = np.array([inertia.parameters for inertia in inertias], dtype=float).reshape(-1, 10)
    mass, moment = numbers[:, 0], numbers[:, 1:4]
    with np.errstate(all="ignore"):
        x, y, z = np.where(mass != 0.0, moment.T / mass, 0.0)
        shift = mass * np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])
        return np.column_stack([numbers[:, 4:] - shift.T, mass])


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
