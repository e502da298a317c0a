# SPDX-License-Identifier: Apache-2.0
"""A load at a frame, from recordings: mass, centre of mass, inertia.

The torque of a load is linear in its ten inertial parameters at the frame: the regressor of the body that carries it,
times the linear map from the frame to the body. Mass and centre of mass follow from gravity and are usually known well;
the inertia needs fast turns and often is not. Friction of the joints (offset, Coulomb, viscous) is found at the same
time, since what friction does otherwise counts as load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import WORLD
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.joint_columns import JointColumns, JointFit
from rbd_dynamics.replay.identification.least_squares import solve
from rbd_dynamics.replay.identification.pseudo_inertia import consistent_inertias, inertial_parameters, pseudo_inertia
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.segmentation import Segment
from rbd_dynamics.replay.signals import LowPass
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

INERTIA_NAMES = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LARGEST_SHARE = 0.5  # of the robot's mass: a load is hardly heavier
DISTANCE = 0.3  # m: the centre of mass is hardly farther from the frame
LIGHTEST = 3.0  # errors: a mass that is smaller may be none, and has no centre
CENTRE_KNOWN = 0.1  # m: a centre of mass with a larger error is not known


@dataclass(frozen=True)
class Load:
    """A load that can exist, as `Robot.set_payload` takes it: kg, m, kg m^2 about the centre of mass, frame's axes."""

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class PayloadResult(Plain):
    """A load at a frame.

    Attributes:
        mass: kg. com: in the frame, m, (x, y, z). inertia: about the centre of mass, in the frame's axes, kg m^2, as in
            `INERTIA_NAMES`. As the data have it: an inertia may be impossible.
        load: the nearest load that can exist, its inertia that of a ball of the given `size` where the motion says
            nothing; None where there is no positive mass.
        joints: of the joints that carry the frame, with a measured effort; RMSE without load and with the one fitted.
    """

    frame: str
    mass: Estimate
    com: tuple[Estimate, ...]
    inertia: tuple[Estimate, ...]
    load: Load | None
    joints: tuple[JointFit, ...]
    terms: tuple[str, ...]


class PayloadIdentifier:
    """Takes segments, gives a `PayloadResult`.

    Parameters:
        robot: with all that is known, without the load, and without friction in its equation of motion.
        frame: where the load is attached.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`).
        friction: find friction of the joints at the same time.
        size: radius of gyration of a usual load, m; only counts for what the motion does not show.

    Raises KeyError for an unknown frame, ValueError for one fixed to the world.
    """

    def __init__(
        self,
        robot: Robot,
        frame: str,
        *,
        low_pass: LowPass | None = None,
        terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY),
        friction: bool = True,
        size: float = 0.05,
    ) -> None:
        place = robot.model.frame(frame)
        if place.body == WORLD:
            raise ValueError(f"frame {frame!r} is fixed to the world: no joint feels a load there")
        if not size > 0.0:
            raise ValueError(f"size must be a positive length, got {size!r}")
        self.frame, self.size = frame, size
        self._prepare = Preparation(robot, low_pass, terms)
        self._body = 10 * place.body + np.arange(10)
        self._to_body = np.column_stack([
            RigidInertia.from_parameters(tuple(row)).to_parent(place.placement).parameters for row in np.eye(10)
        ])  # fmt: skip
        carriers = set()
        index = place.body
        while index != WORLD:
            body = robot.model.bodies[index]
            carriers |= set(range(body.joint.v_index, body.joint.v_index + body.joint.kind.nv))
            index = body.parent
        shared = [np.arange(10 if dof in carriers else 0) for dof in range(robot.model.nv)]
        self._columns = JointColumns(self._prepare, shared, 10, friction)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is not None:
            block = self._prepare.regressor(samples)[:, :, self._body] @ self._to_body
            self._columns.add(samples, lambda dof: block[:, dof])

    def merge(self, other: PayloadIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot, frame or other terms."""
        if self.frame != other.frame:
            raise ValueError(f"cannot merge loads at {self.frame!r} and {other.frame!r}")
        self._columns.merge(other._columns)

    def results(self) -> PayloadResult:
        """Of all that was added; ask as often as you like."""
        heaviest = LARGEST_SHARE * self._prepare.robot.model.mass
        scale = self._columns.scale([heaviest, *3 * [heaviest * DISTANCE], *6 * [heaviest * (2.0 * self.size) ** 2]])
        fit = solve(self._columns.equations, scale)
        x, covariance = fit.values[:10], fit.covariance[:10, :10]
        mass = Estimate.of("mass", x[0], fit.errors[0], fit.quantile, "kg", bool(fit.identifiable[0]))
        centred, slope = _about_com(x)
        error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slope, covariance, slope), 0.0))
        there = mass.identifiable and x[0] > LIGHTEST * fit.errors[0]
        com = tuple(
            Estimate.of(f"com {axis}", centred[k], error[k], fit.quantile, "m", there and bool(error[k] < CENTRE_KNOWN))
            for axis, k in zip("xyz", range(3))
        )
        largest = float(np.abs(centred[3:]).max())
        turns = tuple(
            Estimate.of(name, centred[k], error[k], fit.quantile, "kg m^2",
                        there and bool(fit.identifiable[k + 1]) and bool(fit.quantile * error[k] < largest))
            for name, k in zip(INERTIA_NAMES, range(3, 9))
        )  # fmt: skip
        load = self._possible(x, self._columns.shared_information(fit)) if there else None
        return PayloadResult(self.frame, mass, com, turns, load, self._columns.joints(fit), self._prepare.terms)

    def _possible(self, x: Array, information: Array) -> Load:
        prior = np.zeros((4, 4))
        com = np.append(x[1:4] / x[0], 1.0)
        if np.linalg.norm(com[:3]) > 1.0:  # farther than it can be known
            com[:3] = 0.0
        prior[:3, :3] = x[0] * self.size**2 / 3.0 * np.eye(3)
        prior += x[0] * np.outer(com, com)
        found = consistent_inertias([inertial_parameters(prior)], np.eye(10), x, information, 1.0)[0]
        centred, _ = _about_com(found)
        return Load(float(found[0]), tuple(centred[:3].tolist()), tuple(centred[3:].tolist()))


def _about_com(x: Array) -> tuple[Array, Array]:
    """(com, inertia about it) (9,) of parameters at the frame (10,), and the derivatives (9, 10)."""
    if x[0] == 0.0:
        return np.full(9, np.nan), np.full((9, 10), np.nan)

    def of(y: Array) -> Array:
        com = y[1:4] / y[0]
        centred = pseudo_inertia(y) - y[0] * np.outer(np.append(com, 1.0), np.append(com, 1.0))
        return np.concatenate([com, inertial_parameters(centred)[4:]])

    steps = 1e-6 * np.array([abs(x[0]), *3 * [abs(x[0])], *6 * [abs(x[0])]])
    slope = np.column_stack([(of(x + h * e) - of(x - h * e)) / (2.0 * h) for h, e in zip(steps, np.eye(10))])
    return of(x), slope
