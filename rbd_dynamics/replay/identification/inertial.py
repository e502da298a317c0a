# SPDX-License-Identifier: Apache-2.0
"""All inertial parameters that a recording shows, and bodies that can exist and have them.

First the base parameters, those combinations of the bodies' inertial parameters on which torque depends, as deviations
from the given model's: what the motion does not excite stays as it was. Then the inertias of all bodies: of those that
can exist and fit the base parameters as well as their confidence asks for, the ones nearest to the given model's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.analysis.base_parameters import BaseParameters, base_parameters
from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.identification.corrected_urdf import corrected_urdf
from rbd_dynamics.replay.identification.estimates import Estimate, plain
from rbd_dynamics.replay.identification.joint_columns import JointColumns, JointFit
from rbd_dynamics.replay.identification.least_squares import mean_squares, solve
from rbd_dynamics.replay.identification.pseudo_inertia import consistent_inertias, possible, pseudo_inertia
from rbd_dynamics.replay.identification.samples import Preparation, with_friction
from rbd_dynamics.replay.segmentation import Segment
from rbd_dynamics.replay.signals import LowPass
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

UNITS = ("kg", *3 * ("kg m",), *6 * ("kg m^2",))
WRONG = 0.5  # of a body's mass, and so on: by so much a given model may be wrong
SMALLEST = 0.01  # m: of a body, where its scale is judged


@dataclass(frozen=True)
class InertiaResult:
    """Base parameters, friction, and a model that can exist.

    Attributes:
        base: base parameters, each named for the inertial parameter that leads its combination; `prior` (n,) as in the
            given model; `base_consistent` (n,) as in `model`.
        joints: friction, and RMSE with the given model and with the base parameters and friction found.
        rmse_consistent: RMSE of the same joints with the inertias of `model` and the friction found.
        parameters: (bodies, 10) of `model`, as `Robot.inertial_parameters` has them.
        model: the given one with these inertias, and Coulomb and viscous friction where they are identifiable. Bodies
            without mass stay as they are.
    """

    base: tuple[Estimate, ...]
    prior: Array
    base_consistent: Array
    joints: tuple[JointFit, ...]
    rmse_consistent: tuple[float, ...]
    parameters: Array
    model: Model
    terms: tuple[str, ...]

    def urdf(self, source: str | os.PathLike[str]) -> str:
        """The text of the URDF that the model was made of, with `model`'s numbers: see `corrected_urdf`."""
        return corrected_urdf(source, self.model)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is not identifiable is None. "model" is for `rbd_dynamics.model_from_dict`."""
        found: dict[str, Any] = plain(replace(self, model=None))  # type: ignore[arg-type]
        return {**found, "bodies": self.model.body_names, "model": self.model.to_dict()}


class InertiaIdentifier:
    """Takes segments, gives an `InertiaResult`.

    Parameters:
        robot: the model to start from, without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`).
        friction: find friction of the joints at the same time.
        weight: of the given model's inertias, in independent observations each.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        low_pass: LowPass | None = None,
        terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY),
        friction: bool = True,
        weight: float = 1.0,
    ) -> None:
        if not weight > 0.0:
            raise ValueError(f"weight must be positive, got {weight!r}")
        self.weight = weight
        self._prepare = Preparation(robot, low_pass, terms)
        self.base: BaseParameters = base_parameters(robot)
        self._shared = self._felt(robot)
        self._columns = JointColumns(self._prepare, self._shared, self.base.count, friction)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is not None:
            whole = self._prepare.regressor(samples)
            self._columns.add(samples, lambda dof: whole[:, dof, self.base.independent[self._shared[dof]]])

    def merge(self, other: InertiaIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot or other terms."""
        self._columns.merge(other._columns)

    def results(self) -> InertiaResult:
        """Of all that was added; ask as often as you like. Raises ArithmeticError where no bodies can be found."""
        robot, count = self._prepare.robot, self.base.count
        given = robot.inertial_parameters
        equations = self._columns.equations
        shared = np.sqrt(self.base.combination**2 @ inertial_scale(given).ravel() ** 2)
        fit = solve(equations, self._columns.scale(shared))
        prior = self.base.of(given)
        units = [UNITS[k % 10] for k in self.base.independent]
        base = tuple(
            Estimate.of(name, prior[k] + fit.values[k], fit.errors[k], fit.quantile, unit, bool(fit.identifiable[k]))
            for k, (name, unit) in enumerate(zip(self.base.names, units))
        )
        parameters = self._consistent(given, prior + fit.values[:count], self._columns.shared_information(fit))
        consistent = self.base.of(parameters)
        values = fit.values.copy()
        values[:count] = consistent - prior
        squares = mean_squares(equations, values)[equations.samples > 0]
        joints = self._columns.joints(fit)
        model = with_inertias(robot.model, parameters)
        friction = {k.joint: (k.coulomb.value, k.viscous.value) for k in joints if k.coulomb and k.viscous}
        return InertiaResult(
            base, prior, consistent, joints, tuple(np.sqrt(squares).tolist()), parameters,
            with_friction(model, friction), self._prepare.terms,
        )  # fmt: skip

    def _felt(self, robot: Robot) -> list[NDArray[np.intp]]:
        """For each degree of freedom the base parameters that it feels."""
        rng = np.random.default_rng(0)
        q = np.stack([robot.model.random(rng) for _ in range(8)])
        v, a = rng.normal(size=(2, 8, robot.model.nv))
        seen = (robot.regressor(q, v, a)[:, :, self.base.independent] != 0.0).any(axis=0)
        return [np.flatnonzero(row) for row in seen]

    def _consistent(self, given: Array, target: Array, information: Array) -> Array:
        """Parameters (bodies, 10)."""
        bodies = [k for k in range(len(given)) if given[k, 0] > 0.0]
        found = given.copy()
        columns = self.base.combination.reshape(-1, len(given), 10)[:, bodies].reshape(len(target), -1)
        others = [k for k in range(len(given)) if k not in bodies]
        rest = np.einsum("nbk,bk->n", self.base.combination.reshape(-1, len(given), 10)[:, others], given[others])
        priors = [possible(given[k]) for k in bodies]
        found[bodies] = consistent_inertias(priors, columns, target - rest, information, self.weight)
        return found


def inertial_scale(parameters: Array) -> Array:
    """By how much each body's parameters (bodies, 10) may be wrong: a share of mass, mass times size and so on."""
    mass = parameters[:, 0]
    usual = float(mass.mean()) if mass.any() else 1.0
    mass = np.where(mass > 0.0, mass, usual)
    second = np.array([np.trace(pseudo_inertia(row)[:3, :3]) for row in parameters])
    size = np.sqrt(np.maximum(second / mass, SMALLEST**2))
    return WRONG * np.column_stack([mass, *3 * [mass * size], *6 * [mass * size**2]])


def with_inertias(model: Model, parameters: Array) -> Model:
    """The model with these inertial parameters (bodies, 10) at the bodies' frames."""
    rows = [RigidInertia.from_parameters(tuple(row)) for row in np.asarray(parameters, dtype=float).tolist()]
    if len(rows) != len(model.bodies):
        raise ValueError(f"parameters of {len(rows)} bodies, {model.name} has {len(model.bodies)}")
    return replace(model, bodies=tuple(replace(body, inertia=row) for body, row in zip(model.bodies, rows)))
