# SPDX-License-Identifier: Apache-2.0
"""One least-squares fit over many recordings, and each of them left out in turn.

Inertias are the same in all robots of a kind; friction and offsets are each robot's own; loads each have their own ten
parameters, or are known. Every recording and joint weighs by the inverse variance of what the fit leaves there. Errors
come from leaving out one quarter of a recording after the other (the jackknife).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.control.terms import WITHOUT_FRICTION
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.friction import DRIVES
from rbd_dynamics.replay.identification.inertial import UNITS
from rbd_dynamics.replay.identification.joint_columns import JointColumns
from rbd_dynamics.replay.identification.least_squares import KNOWN, LEAST_BLOCKS
from rbd_dynamics.replay.identification.leave_one_out import gram, ridge, without_each
from rbd_dynamics.replay.identification.payload import DISTANCE, LARGEST_SHARE, load_columns
from rbd_dynamics.replay.identification.samples import Preparation, torque_unit
from rbd_dynamics.replay.identification.together.held_out import Groups, left_out, transfers
from rbd_dynamics.replay.identification.together.results import FoundLoad, Recorded, RobotFriction, TogetherResult
from rbd_dynamics.replay.identification.together.sums import Sums, weights_of
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

SIZE = 0.1  # m: a load is hardly larger


class TogetherIdentifier:
    """Takes recordings, gives a `TogetherResult`.

    Parameters:
        robot: the kind's model, without loads and without friction in its equation of motion.
        terms: what the measured efforts contain (`Settings.terms`).
    """

    def __init__(self, robot: Robot, *, terms: Sequence[str] = WITHOUT_FRICTION) -> None:
        self._robot, self._terms = robot, tuple(terms)
        self._base = BaseErrors(robot)
        self._found: dict[str, tuple[Recorded, JointColumns]] = {}

    def add(self, recorded: Recorded, segments: Iterable[Segment], *, low_pass: LowPass | None) -> None:
        """A recording, of which each may have a rate of its own.

        Raises ValueError for a name that was there, segments that do not fit, or a frame fixed to the world; KeyError
        for an unknown frame.
        """
        if recorded.name in self._found:
            raise ValueError(f"recording {recorded.name!r} is given twice")
        if recorded.frame:
            load_columns(self._robot.model, recorded.frame)
        prepare = Preparation(self._robot, low_pass, self._terms)
        columns = JointColumns(prepare, self._base.felt, self._base.base.count, True)
        for segment in segments:
            samples = prepare(segment)
            if samples is not None:
                columns.add(samples, self._base.block(prepare.regressor(samples)))
        if not columns.equations.samples.any():
            raise ValueError(f"recording {recorded.name!r} has no stretch of motion that is long enough")
        self._found[recorded.name] = recorded, columns

    def results(self) -> TogetherResult:
        """Parameters from all that was added. Raises ValueError where that is nothing."""
        if not self._found:
            raise ValueError("no recording")
        recorded = [one for one, _ in self._found.values()]
        columns = [one for _, one in self._found.values()]
        names, base = columns[0].names, self._base.base
        groups = Groups.of(recorded, base.count, len(names))
        known = [self._known(one, len(names)) for one in recorded]
        sums = [
            Sums.of(found, self._combination(one, groups, len(names)), more)
            for one, found, more in zip(recorded, columns, known)
        ]
        scale = self._scale(groups, recorded, sums)
        weights = weights_of(sums, scale)
        whole = [gram(one.columns, one.totals(), row, groups.count) for one, row in zip(sums, weights)]
        values = ridge(np.sum(whole, axis=0), scale)
        stretches = [
            gram(one.columns, part, row, groups.count) for one, row in zip(sums, weights) for part in one.stretches
        ]
        others = without_each(np.sum(whole, axis=0), stretches, scale)
        spread = _Spread(values, others, scale)
        held = tuple(left_out(recorded, sums, whole, groups, scale)) if len(recorded) > 1 else ()
        prior = base.of(self._robot.inertial_parameters)
        units = [UNITS[k % 10] for k in base.independent]
        found = tuple(
            spread.estimate(name, k, unit, more) for k, (name, unit, more) in enumerate(zip(base.names, units, prior))
        )
        return TogetherResult(
            tuple(self._found), tuple(names), found, tuple(prior.tolist()),
            tuple(self._friction(groups, spread, columns)), tuple(self._loads(groups, spread, recorded)),
            held, transfers(held), self._terms,
        )  # fmt: skip

    def _known(self, recorded: Recorded, joints: int) -> Array:
        """Base parameters of a known load, and no friction."""
        found = np.zeros(self._base.base.count + 3 * joints)
        if recorded.load is not None:
            load = recorded.load
            body, inertia = payload_inertia(
                self._robot.model, recorded.frame, load.mass, com=load.com, inertia=load.inertia
            )
            of_body = self._base.base.combination[:, 10 * body + np.arange(10)]
            found[: self._base.base.count] = of_body @ np.array(inertia.parameters, dtype=float)
        return found

    def _combination(self, recorded: Recorded, groups: Groups, joints: int) -> Array:
        """(parameters of one recording, all parameters)."""
        count = self._base.base.count
        found = np.zeros((count + 3 * joints, groups.count))
        found[:count, :count] = np.eye(count)
        found[count + np.arange(3 * joints), groups.friction[recorded.robot]] = 1.0
        if recorded.unknown:
            body, to_body = load_columns(self._robot.model, recorded.frame)
            of_body = self._base.base.combination[:, 10 * body + np.arange(10)]
            found[:count, groups.loads[recorded.unknown]] = of_body @ to_body
        return found

    def _scale(self, groups: Groups, recorded: Sequence[Recorded], sums: Sequence[Sums]) -> Array:
        """Large values of all parameters."""
        found = np.zeros(groups.count)
        found[: self._base.base.count] = self._base.scale
        heaviest = LARGEST_SHARE * self._robot.model.mass
        for places in groups.loads.values():
            found[places] = [heaviest, *3 * [heaviest * DISTANCE], *6 * [heaviest * SIZE**2]]
        for one, part in zip(recorded, sums):
            places = groups.friction[one.robot]
            found[places] = np.maximum(found[places], np.repeat(np.sqrt(part.torque), 3))
        return found

    def _friction(self, groups: Groups, spread: _Spread, columns: Sequence[JointColumns]) -> Iterable[RobotFriction]:
        prior = columns[0].friction_prior()
        for robot, places in groups.friction.items():
            for k, name in enumerate(columns[0].names):
                unit = torque_unit(self._robot.model, name)
                rate = f"{unit} s" if unit == "N m" else "N s/m"
                three = [
                    spread.estimate(what, int(place), of, float(more))
                    for what, place, of, more in zip(
                        ("offset", "coulomb", "viscous"), places[3 * k : 3 * k + 3], (unit, unit, rate), prior[k]
                    )
                ]
                yield RobotFriction(robot, name, three[0], *(part.at_least_zero(DRIVES) for part in three[1:]))

    def _loads(self, groups: Groups, spread: _Spread, recorded: Sequence[Recorded]) -> Iterable[FoundLoad]:
        for name, places in groups.loads.items():
            frame = next(one.frame for one in recorded if one.unknown == name)
            mass = spread.estimate("mass", int(places[0]), "kg")
            there = mass.identifiable and mass.lower > 0.0
            com = tuple(
                spread.ratio(f"com {axis}", int(places[1 + k]), int(places[0]), "m", there)
                for k, axis in enumerate("xyz")
            )
            yield FoundLoad(name, frame, mass.at_least_zero("a load cannot have negative mass"), com)


class _Spread:
    """Estimates from a fit and from those that leave out one part each (the jackknife)."""

    def __init__(self, values: Array, others: Array, scale: Array) -> None:
        self._values, self._others, self._scale = values, others, scale
        self._enough = len(others) >= LEAST_BLOCKS
        self._quantile = float(scipy.stats.t.ppf(0.975, max(1, len(others) - 1)))

    def estimate(self, name: str, place: int, unit: str, more: float = 0.0) -> Estimate:
        error = self._error(self._others[:, place])
        known = self._enough and error < KNOWN * self._scale[place]
        return Estimate.of(name, float(self._values[place]) + more, error, self._quantile, unit, bool(known))

    def ratio(self, name: str, above: int, below: int, unit: str, known: bool) -> Estimate:
        if not known:
            return Estimate.of(name, 0.0, 0.0, 0.0, unit, False)
        error = self._error(self._others[:, above] / self._others[:, below])
        return Estimate.of(name, float(self._values[above] / self._values[below]), error, self._quantile, unit, True)

    def _error(self, others: Array) -> float:
        count = len(others)
        return float(np.sqrt((count - 1) / count * np.square(others - others.mean()).sum()))
