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
import scipy.linalg
from numpy.typing import NDArray

from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.joint_columns import JointColumns, JointFit
from rbd_dynamics.replay.identification.misfit import solve_widened
from rbd_dynamics.replay.identification.pseudo_inertia import consistent_inertias, inertial_parameters, pseudo_inertia
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

INERTIA_NAMES = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LARGEST_SHARE = 0.5  # of the robot's mass: a load is hardly heavier
DISTANCE = 0.3  # m: the centre of mass is hardly farther from the frame
LIGHTEST = 3.0  # errors: a mass that is smaller may be none, and has no centre
NOTICED = 0.02  # share of the largest errors of a description: smaller ones are none
IMPOSSIBLE = "no body has such an inertia"
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
        prepare: of the same robot, filter and terms, to share its work with others; None: its own. base: likewise.

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
        prepare: Preparation | None = None,
        base: BaseErrors | None = None,
    ) -> None:
        carrier, to_body = load_columns(robot.model, frame)
        if not size > 0.0:
            raise ValueError(f"size must be a positive length, got {size!r}")
        self.frame, self.size = frame, size
        self._prepare = prepare or Preparation(robot, low_pass, terms)
        self._base = base or BaseErrors(robot)
        of_body = self._base.base.combination[:, 10 * carrier + np.arange(10)]
        self._of_load = of_body @ to_body  # base parameters of a load's ten
        carriers = set()
        index = carrier
        while index != WORLD:
            body = robot.model.bodies[index]
            carriers |= set(range(body.joint.v_index, body.joint.v_index + body.joint.kind.nv))
            index = body.parent
        shared = [felt if dof in carriers else felt[:0] for dof, felt in enumerate(self._base.felt)]
        self._columns = JointColumns(self._prepare, shared, self._base.base.count, friction, rotors=True, bends=True)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is not None:
            self._columns.add(samples, self._base.block(self._prepare.regressor(samples)))

    def merge(self, other: PayloadIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot, frame or other terms."""
        if self.frame != other.frame:
            raise ValueError(f"cannot merge loads at {self.frame!r} and {other.frame!r}")
        self._columns.merge(other._columns)

    def results(self) -> PayloadResult:
        """Load from all that was added; ask as often as you like."""
        heaviest = LARGEST_SHARE * self._prepare.robot.model.mass
        usual = [heaviest, *3 * [heaviest * DISTANCE], *6 * [heaviest * (2.0 * self.size) ** 2]]
        count, equations = self._base.base.count, self._columns.equations
        large = self._columns.helpful_beside(self._of_load, np.array(usual), self._base.scale)
        scale = np.concatenate([usual, large[count:]])
        own = equations.count - count
        sought = scipy.linalg.block_diag(self._of_load, np.eye(own))
        errors = np.vstack([self._base.errors, np.zeros((own, self._base.errors.shape[1]))])
        fit = solve_widened(equations, sought, scale, errors, large)
        x, covariance = fit.values[:10], fit.covariance[:10, :10]
        found = Estimate.of("mass", x[0], fit.errors[0], fit.quantile, "kg", bool(fit.identifiable[0]))
        if fit.quantile * fit.misfit[0] > abs(x[0]) and fit.share > NOTICED:
            found = found.refused("errors of the description, of the size that the recording shows, do as much")
        mass = found.at_least_zero(
            "a load cannot have negative mass: the description is too heavy, or efforts are wrong"
        )
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
        turns = _possible_turns(turns, centred[3:])
        load = self._possible(x, self._columns.shared_information(fit, 10)) if there else None
        joints = self._columns.joints(fit, 10)
        return PayloadResult(self.frame, mass, com, turns, load, joints, self._prepare.terms)

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


def load_columns(model: Model, frame: str) -> tuple[int, Array]:
    """The body that carries a frame, and its parameters (10, 10) by those of a load at the frame.

    Raises KeyError for an unknown frame, ValueError for one fixed to the world.
    """
    place = model.frame(frame)
    if place.body == WORLD:
        raise ValueError(f"frame {frame!r} is fixed to the world: no joint feels a load there")
    rows = [RigidInertia.from_parameters(tuple(row)).to_parent(place.placement).parameters for row in np.eye(10)]
    return place.body, np.column_stack(rows)


def _possible_turns(found: tuple[Estimate, ...], values: Array) -> tuple[Estimate, ...]:
    """The moments without numbers where no body has them: one below zero, or larger than both others."""
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz = values
    moments = (
        np.linalg.eigvalsh([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]]) if np.isfinite(values).all() else [0.0]
    )
    if moments[0] >= 0.0 and 2.0 * moments[-1] <= np.sum(moments):
        return found
    checked = tuple(part.at_least_zero(IMPOSSIBLE) if part.name in ("Ixx", "Iyy", "Izz") else part for part in found)
    if all(part.identifiable for part in checked):  # each by itself may be, but not together
        return tuple(part.refused(IMPOSSIBLE) for part in checked)
    return checked


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
