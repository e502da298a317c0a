# SPDX-License-Identifier: Apache-2.0
"""All inertial parameters that a recording shows, and bodies that can exist and have them.

First the base parameters, those combinations of the bodies' inertial parameters on which torque depends, as deviations
from the given model's: what the motion does not excite stays as it was. Then the inertias of all bodies: of those that
can exist and fit the base parameters as well as their confidence asks for, the ones nearest to the given model's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.analysis.base_parameters import BaseParameters
from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.dictionary import model_to_dict
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.corrected_urdf import corrected_urdf
from rbd_dynamics.replay.identification.estimates import Estimate, plain
from rbd_dynamics.replay.identification.joint_columns import JointColumns, JointFit
from rbd_dynamics.replay.identification.least_squares import Solution, fit, mean_squares, solve
from rbd_dynamics.replay.identification.leave_one_out import residual_squares
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.one_body import OneBody, one_body
from rbd_dynamics.replay.identification.possible_model import ROTOR, Possible, PossibleModel
from rbd_dynamics.replay.identification.samples import Preparation, with_friction
from rbd_dynamics.replay.identification.validation import Validation, chance_of_all, validate
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

UNITS = ("kg", *3 * ("kg m",), *6 * ("kg m^2",))
UNPROVEN = "not exported: the recording is too short to prove that it is no worse than the given model"
CAUTION = 0.01  # of what is left: by so much less a bolder way to fit must leave
ENOUGH = 0.8  # of the squares before
ROUGH = 1e-4  # of the cost: a validation needs no more
FOLDS, LEVEL = 8, 0.01  # that bodies, or rotors, are changed though they are as described
STIFF = 100.0  # so many times fewer observations, where nothing else is as good as the given model
BEYOND = 2.0  # intervals, by which a base parameter is off what bodies can have: no result
IMPOSSIBLE = "no bodies have this together with the others"
NO_BETTER = "with other bodies than those described stretches that were not fitted are predicted no better"
MOST_OF, HEAVY = 0.3, 4.0  # of all mass no description has so many times too much
OFFSET = 0.1  # of a joint's torque: an offset of that size counts for one observation


@dataclass(frozen=True)
class InertiaResult:
    """Base parameters, friction, and a model that can exist.

    Attributes:
        base: base parameters, each named for the inertial parameter that leads its combination; `prior` (n,) as in the
            given model; `base_consistent` (n,) as in `model`.
        joints: friction, and RMSE with the given model and with the base parameters and friction found.
        rmse_consistent: RMSE of the same joints with `model`, its friction and the offsets.
        parameters: (bodies, 10) of `model`, as `Robot.inertial_parameters` has them.
        model: the given one with inertias that can exist, rotor inertias, and Coulomb and viscous friction, at least
            zero, where they are identifiable; fitted together. Bodies without mass stay as they are, and so do bodies,
            or rotors, if other ones do not lower the error on stretches that were not fitted by more than chance.
        offsets: {joint: N m or N} that stand beside `model`, which cannot hold them.
        validation: of all that on stretches that a fit has not seen; None where the recording is too short.
        rotors: {joint: kg m^2 or kg}, rotor inertias of `model` that are not as given.
        refused: why `model` is not to be exported; empty where it is no worse than the given one.
        given: (bodies, 10) inertial parameters of the given model.
        one_body: the body whose inertia alone explains nearly all; None: there is no such body.
    """

    base: tuple[Estimate, ...]
    prior: Array
    base_consistent: Array
    joints: tuple[JointFit, ...]
    rmse_consistent: tuple[float, ...]
    parameters: Array
    model: Model
    offsets: dict[str, float]
    validation: Validation | None
    terms: tuple[str, ...]
    _: KW_ONLY
    refused: str = ""
    rotors: dict[str, float] = field(default_factory=dict)
    given: Array = field(default_factory=lambda: np.zeros((0, 10)))
    one_body: OneBody | None = None

    def urdf(self, source: str | os.PathLike[str]) -> str:
        """The text of the URDF that the model was made of, with `model`'s numbers: see `corrected_urdf`."""
        return corrected_urdf(source, self.model, drives=self.rotors)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON; what is not identifiable is None. "model" is for `rbd_dynamics.model_from_dict`."""
        found: dict[str, Any] = plain(replace(self, model=None))  # type: ignore[arg-type]
        return {**found, "bodies": self.model.body_names, "model": model_to_dict(self.model)}


class InertiaIdentifier:
    """Takes segments, gives an `InertiaResult`.

    Parameters:
        robot: the model to start from, without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`).
        friction: find friction of the joints at the same time.
        weight: of the given model's inertias, in independent observations each.
        prepare: of the same robot, filter and terms, to share its work with others; None: its own. base: likewise.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        low_pass: LowPass | None = None,
        terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY),
        friction: bool = True,
        weight: float = 1.0,
        prepare: Preparation | None = None,
        base: BaseErrors | None = None,
    ) -> None:
        if not weight > 0.0:
            raise ValueError(f"weight must be positive, got {weight!r}")
        self.weight = weight
        self._prepare = prepare or Preparation(robot, low_pass, terms)
        self._base = base or BaseErrors(robot)
        self.base: BaseParameters = self._base.base
        self._columns = JointColumns(self._prepare, self._base.felt, self.base.count, friction, rotors=True, bends=True)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is not None:
            self._columns.add(samples, self._base.block(self._prepare.regressor(samples)))

    def merge(self, other: InertiaIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot or other terms."""
        self._columns.merge(other._columns)

    @property
    def step(self) -> int:
        """Every which sample of a segment is used."""
        return self._prepare.step

    def unexplained(self) -> tuple[NDArray[np.int64], Array]:
        """Samples, and mean squares of what the best base parameters and friction leave, of joints that feel any."""
        return self._columns.equations.samples, fit(self._columns.equations, self._scale()).after

    def results(self) -> InertiaResult:
        """Inertias from all that was added; ask repeatedly. Raises ArithmeticError where there are no such bodies."""
        robot = self._prepare.robot
        given = robot.inertial_parameters
        equations = self._columns.equations
        found = solve(equations, self._scale())
        prior = self.base.of(given)
        units = [UNITS[k % 10] for k in self.base.independent]
        base = tuple(
            Estimate.of(
                name, prior[k] + found.values[k], found.errors[k], found.quantile, unit, bool(found.identifiable[k])
            )
            for k, (name, unit) in enumerate(zip(self.base.names, units))
        )
        bodies, rotary = self._wrong()
        possible, validation = self._possible(given, found, bodies=bodies, rotors=rotary)
        joints = self._columns.joints(found, self.base.count)
        names = [joint.joint for joint in joints]
        squares = mean_squares(equations, possible.values)[equations.samples > 0]
        rotors = self._columns.rotors(possible.values)
        model = with_rotors(with_inertias(robot.model, possible.parameters), rotors)
        friction, offsets = self._columns.exported(possible.values, found)
        attained = self.base.of(possible.parameters)
        refused = UNPROVEN if validation is None else validation.refusal()
        refused = implausible_masses(given[:, 0], possible.parameters[:, 0]) or refused
        why = IMPOSSIBLE if bodies else NO_BETTER
        base = tuple(
            part.refused(why) if abs(part.value - value) > BEYOND * (part.upper - part.lower) else part
            for part, value in zip(base, attained)
        )
        return InertiaResult(
            base, prior, attained, joints, tuple(np.sqrt(squares).tolist()),
            possible.parameters, with_friction(model, friction), {k: offsets[k] for k in names if k in offsets},
            validation, self._prepare.terms, refused=refused, rotors=rotors, given=given,
            one_body=one_body(equations, self._bodies(), self._scale()),
        )  # fmt: skip

    def _wrong(self) -> tuple[bool, bool]:
        """Whether bodies, and rotors, are other than described: else more is left of stretches that were not fitted
        than chance explains, whatever friction is.

        Of an arm that is described without error, bodies would stand in for friction that a description cannot hold.
        """
        equations, count, own = self._columns.equations, self.base.count, self._columns.own
        folds, there = equations.folds(FOLDS), equations.samples > 0
        if len(folds) < FOLDS:
            return True, True

        def left(scale: Array) -> Array:
            values = [fit(rest, scale).values for rest, _ in folds]
            parts = [residual_squares(part.columns, part.totals(), x) for (_, part), x in zip(folds, values)]
            return np.array(parts)[:, there]

        large = self._columns.scale(self._base.scale)
        no_bodies = np.concatenate([np.zeros(count), large[count:]])
        neither = no_bodies.copy()
        if own:
            neither[count + ROTOR :: own] = 0.0
        as_given, other_rotors, other_bodies = left(neither), left(no_bodies), left(large)
        rotors = chance_of_all(as_given, other_rotors) <= LEVEL
        bodies = chance_of_all(other_rotors if rotors else as_given, other_bodies) <= LEVEL
        return bodies, bodies or rotors

    def _possible(
        self, given: Array, found: Solution, *, bodies: bool, rotors: bool
    ) -> tuple[Possible, Validation | None]:
        """The fit, of some to what can exist, that predicts best what it has not seen.

        bodies, rotors: whether these are other than described.
        """
        equations = self._columns.equations
        best: tuple[float, Possible, Validation | None] | None = None
        how = PossibleModel(given, self.base, self.weight, **self._columns.own_limits(found))
        scale, sought = self._scale(), {"bodies": bodies, "rotors": rotors}
        colours = max(1.0, found.colour)
        ways = (2, colours, OFFSET), (1, 1.0, OFFSET), (0, 1.0, 0.0), (3, STIFF * colours, OFFSET)
        for caution, colour, offset in ways:
            if best is not None and caution == 3 and best[0] < ENOUGH:
                break  # better than the given model by far: this is for where nothing is
            weights = fit(equations, scale).weights
            begin = best[1] if best else None
            whole = how.fit(equations, weights, colour=colour, offset=offset, begin=begin, **sought)

            def of(
                part: NormalEquations, colour: float = colour, offset: float = offset, whole: Possible = whole
            ) -> tuple[Array, Array, Array]:
                free = fit(part, scale)
                values = how.fit(
                    part, free.weights, colour=colour, offset=offset, begin=whole, precision=ROUGH, **sought
                ).values
                return free.values, how.without_offsets(values), values

            validation = validate(equations, self._columns.names, of, torque=self._columns.torque)
            score = (
                np.inf if validation is None else (validation.score + len(validation.worse)) * (1.0 - CAUTION * caution)
            )
            if best is None or score < best[0]:
                best = score, whole, validation
            if validation is None:
                break
        assert best is not None
        return best[1], best[2]

    def _bodies(self) -> list[tuple[str, float, Array]]:
        """Name, mass, and base parameters by inertial parameters, of each body."""
        combination = self.base.combination
        return [
            (body.name, body.inertia.mass, combination[:, 10 * k : 10 * k + 10])
            for k, body in enumerate(self._prepare.robot.model.bodies)
        ]

    def _scale(self) -> Array:
        """Large values of base parameters, friction and rotors; zero of rotors that bodies can stand in for."""
        found = self._columns.helpful_scale(self._base.scale)
        if self._columns.own > 3:
            rotors = self.base.count + 3 + self._columns.own * np.arange(len(self._columns.dofs))
            found[rotors[~self._base.apart[self._columns.dofs]]] = 0.0
        return found


def implausible_masses(given: Array, found: Array) -> str:
    """Why bodies with so little or so much mass (bodies,), kg, are not exported; empty where a description may be so
    wrong.

    It is about those that lose most of their mass, or gain much of the robot's: what the motion does not show of the
    others stays as it was.
    """
    for which, why in (
        (found < given / HEAVY, "the efforts are in another unit, without gravity, or none at all"),
        (found > given * HEAVY, "something else is in the efforts, and they would stand in for it"),
    ):
        before, after = float(given[which].sum()), float(found[which].sum())
        if max(before, after) > MOST_OF * float(given.sum()):
            return f"not exported: bodies of {before:.3g} kg in the description would have {after:.3g} kg: {why}"
    return ""


def with_rotors(model: Model, rotors: Mapping[str, float]) -> Model:
    """The model with rotor inertias of joints by name, kg m^2 or kg; of the others as they are."""
    bodies = (
        replace(body, joint=replace(body.joint, armature=rotors.get(body.joint.name, body.joint.armature)))
        for body in model.bodies
    )
    return replace(model, bodies=tuple(bodies))


def with_inertias(model: Model, parameters: Array) -> Model:
    """The model with these inertial parameters (bodies, 10) at the bodies' frames."""
    rows = [RigidInertia.from_parameters(tuple(row)) for row in np.asarray(parameters, dtype=float).tolist()]
    if len(rows) != len(model.bodies):
        raise ValueError(f"parameters of {len(rows)} bodies, {model.name} has {len(model.bodies)}")
    return replace(model, bodies=tuple(replace(body, inertia=row) for body, row in zip(model.bodies, rows)))
