# SPDX-License-Identifier: Apache-2.0
"""Columns that joints share (inertial parameters) beside those that each has for itself (friction, a rotor)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.friction import friction_prior, joint_estimates
from rbd_dynamics.replay.identification.helpful import helpful
from rbd_dynamics.replay.identification.least_squares import Solution
from rbd_dynamics.replay.identification.normal_equations import Indices, NormalEquations
from rbd_dynamics.replay.identification.samples import (
    JointSamples,
    Preparation,
    dof_names,
    friction_columns,
    friction_of,
    torque_unit,
)
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.rank import pseudoinverse, size_of

Array = NDArray[np.float64]

LEAST_ROTOR = 1e-6  # of the robot's largest inertia about a joint: less is none
MOVES = 0.1  # of a joint's samples: one that moves less is taken as it stands
FALLS = (0.04, 0.16)  # rad/s or m/s, over which friction falls
BY_LOAD = 0.1  # of the model's torque: friction may be so much more
POSTURES = 16  # of which that is the largest


@dataclass(frozen=True)
class JointFit:
    """One joint of a fit of inertial parameters.

    Attributes:
        offset, coulomb, viscous: friction that was found at the same time; None where it was not asked for.
        rmse_before: of measured less predicted torque with the model as given, rmse_after: with what was found.
    """

    joint: str
    samples: int
    offset: Estimate | None
    coulomb: Estimate | None
    viscous: Estimate | None
    rmse_before: float
    rmse_after: float


class JointColumns:
    """Normal equations of `count` shared parameters, then `own` of each joint with one freedom: offset, Coulomb and
    viscous friction, and where `rotors` is true a rotor inertia beyond that of the description; or none. bends: then
    friction that falls with speed, and that grows with the torque of the gear, which a description cannot hold.

    A joint that stands is held by anything up to breakaway: what it shows then counts only where it hardly moves, so
    that there is nothing else.

    shared: for each degree of freedom the shared parameters that it feels. Joints that feel none are left out.
    """

    def __init__(
        self,
        prepare: Preparation,
        shared: Sequence[Indices],
        count: int,
        friction: bool,
        *,
        rotors: bool = False,
        bends: bool = False,
    ) -> None:
        self._prepare, self._count, self._friction = prepare, count, friction
        self._rotors, self._bends = rotors and friction, bends and friction
        self.own = 3 + self._rotors + self._bends * (len(FALLS) + 1) if friction else 0
        self._names = dof_names(prepare.robot.model)
        self.dofs = [dof for dof in self._names if len(shared[dof])]
        self._shared = [shared[dof] for dof in self.dofs]
        columns = [
            np.append(indices, count + self.own * k + np.arange(self.own)) for k, indices in enumerate(self._shared)
        ]
        self._moving, self._standing = (NormalEquations(columns, count + self.own * len(columns)) for _ in range(2))
        self._both: NormalEquations | None = None  # of these, until some are added
        self._helpful: list[bool] | None = None  # of rotors, then of what bends; likewise
        self._torque = np.zeros(len(columns))  # sums of squares of the measured torque
        self._usable = np.zeros(len(columns), dtype=np.int64)  # samples of it

    def add(self, samples: JointSamples, block: Callable[[int], Array]) -> None:
        """block(dof): its shared columns (N, n)."""
        for place, dof in enumerate(self.dofs):
            usable = samples.usable[:, dof]
            if not usable.any():
                continue
            columns = block(dof)
            if self._friction:
                columns = np.column_stack([columns, friction_columns(samples, dof), *self._more(samples, dof)])
            stands = samples.still[:, dof] & self._friction
            for rows, equations in ((usable & ~stands, self._moving), (usable & stands, self._standing)):
                chosen = columns if rows.all() else columns[rows]
                equations.add(place, samples.stamps[rows], chosen, samples.residual[rows, dof])
            self._torque[place] += samples.measured[usable, dof] @ samples.measured[usable, dof]
            self._usable[place] += int(usable.sum())
        self._both = self._helpful = None

    def _more(self, samples: JointSamples, dof: int) -> list[Array]:
        """What a joint has besides friction of three numbers."""
        found = [samples.a[:, dof]] if self._rotors else []
        if self._bends:
            level = samples.level[:, dof] * ~samples.still[:, dof]
            found += [level * np.exp(-np.square(samples.v[:, dof] / speed)) for speed in FALLS]
            found.append(level * np.abs(samples.measured[:, dof] - samples.residual[:, dof]))
        return found

    def merge(self, other: JointColumns) -> None:
        """Raises ValueError for another robot, other terms or other columns."""
        self._prepare.check_same(other._prepare)
        self._moving.merge(other._moving)
        self._standing.merge(other._standing)
        self._torque += other._torque
        self._usable += other._usable
        self._both = self._helpful = None

    @property
    def equations(self) -> NormalEquations:
        """Equations of samples in motion, and of all samples of joints that hardly move."""
        if self._both is None:
            moves = self._moving.samples >= MOVES * self._usable
            self._both = self._moving.of_joints(np.ones_like(moves))
            self._both.merge(self._standing.of_joints(~moves))
        return self._both

    @property
    def torque(self) -> Array:
        """Root mean square of each joint's torque."""
        return np.asarray(np.sqrt(self._torque / np.maximum(self._usable, 1)))

    def scale(self, shared: Sequence[float] | Array) -> Array:
        """Large values of all parameters, given those of the shared ones; for friction the torque of the joint.

        For a rotor inertia that with which the joint's torque would be all rotor; at most that of the whole robot about
        any joint.
        """
        own = np.repeat(self.torque[:, None], self.own, axis=1)
        if self._bends:
            own[:, -1] = BY_LOAD
        if self._rotors:
            place = 3 - self.own - 1  # among columns and target
            squares = np.array([total[place, place] for total in self.equations.totals()])
            a = np.sqrt(squares / np.maximum(self.equations.samples, 1))
            most = largest_inertia(self._prepare.robot)
            own[:, 3] = np.minimum(self.torque / np.maximum(a, 1e-9), most)
        return np.concatenate([np.asarray(shared, dtype=float), own.ravel()])

    def helpful_scale(self, shared: Array) -> Array:
        """The same, with zeros for rotors and for friction that bends where these do not lower the error on stretches
        that the fit has not seen, beside all shared parameters: they would only make what is sought less sure.
        """
        scale = self.scale(shared)
        if self._helpful is None:
            self._helpful = helpful(self.equations, scale, self._groups(self._count))
        return self._without_idle(scale, self._helpful)

    def helpful_beside(self, combination: Array, sought: Array, shared: Array) -> Array:
        """The same, but what helps beside shared parameters that are combination (count, m) of those sought; `sought`:
        large values (m,). All bodies together may stand in for a rotor, which a load cannot."""
        own, count = self.scale(shared), len(sought)
        change = np.zeros((len(own), count + len(own) - self._count))
        change[: self._count, :count] = combination
        change[self._count :, count:] = np.eye(len(own) - self._count)
        scale = np.concatenate([sought, own[self._count :]])
        helps = helpful(self.equations.mapped(change), scale, self._groups(count))
        return self._without_idle(own, helps)

    def _groups(self, count: int) -> list[Indices]:
        """Rotors, then friction that bends, of each joint, where `count` parameters stand before what joints have."""
        firsts = count + self.own * np.arange(len(self.dofs)) + 3
        rotors = [np.array([first]) for first in firsts if self._rotors]
        return [*rotors, *(np.arange(at + self._rotors, at + self.own - 3) for at in firsts if self._bends)]

    def _without_idle(self, scale: Array, helps: Sequence[bool]) -> Array:
        for group, each in zip(self._groups(self._count), helps):
            scale[group] *= each
        return scale

    def shared_information(self, fit: Solution, count: int) -> Array:
        """Inverse covariance of the first `count` parameters of a fit, the shared ones, whatever friction is."""
        n = count
        with_own, own = fit.information[:n, n:], fit.information[n:, n:]
        found: Array = fit.information[:n, :n] - with_own @ pseudoinverse(own, scale=size_of(own)) @ with_own.T
        return found

    def friction_prior(self) -> Array:
        """Offset, Coulomb and viscous friction that the terms already have, (joints, 3)."""
        return np.array([friction_prior(self._prepare, dof) for dof in self.dofs])

    @property
    def names(self) -> list[str]:
        """Names of the joints that feel something, with or without samples."""
        return [self._names[dof] for dof in self.dofs]

    def _known(self, fit: Solution, place: int) -> bool:
        """Whether a joint's Coulomb and viscous friction are."""
        own = self._count + self.own * place
        return bool(self.equations.samples[place] and fit.identifiable[own + 1 : own + 3].all())

    def own_limits(self, fit: Solution) -> dict[str, Any]:
        """Arguments `own`, `least`, `usual`, `free` and `kind` of a `PossibleModel`."""
        if not self._friction:
            nothing = np.zeros(0)
            return {
                "own": nothing, "least": nothing, "usual": nothing, "free": nothing > 0.0, "kind": np.zeros(0, int)
            }  # fmt: skip
        model, prior = friction_of(self._prepare.robot.model), self._prepare.friction
        zeros = np.zeros(len(self.dofs))
        known = np.array([self._known(fit, place) for place in range(len(self.dofs))], dtype=bool)
        seen = self.equations.samples > 0
        rows, n = len(self.dofs), self.own
        more, none = np.zeros((rows, n)), np.zeros((rows, n), dtype=bool)  # of what a description cannot hold
        return {
            "own": np.column_stack([zeros, (model - prior)[:, self.dofs].T, zeros, more])[:, :n].ravel(),
            "least": np.column_stack([zeros - np.inf, -prior[:, self.dofs].T, -self._armature(), more])[:, :n].ravel(),
            "usual": self.scale(np.zeros(self._count))[self._count :],
            "free": np.column_stack([seen, known, known, seen & self._rotors, none])[:, :n].ravel(),
            "kind": np.tile(np.arange(n), rows),
        }

    def _armature(self) -> Array:
        """Rotor inertias of the description, (joints,)."""
        return np.array([self._prepare.robot.model.joint(name).armature for name in self.names])

    def rotors(self, values: Array) -> dict[str, float]:
        """{joint: rotor inertia} where deviations (p,) make it another than the description's."""
        if not self._rotors:
            return {}
        found = values[self._count :].reshape(-1, self.own)[:, 3]
        seen = (self.equations.samples > 0) & (np.abs(found) > LEAST_ROTOR * largest_inertia(self._prepare.robot))
        return {
            name: max(0.0, float(before + more))
            for name, before, more, there in zip(self.names, self._armature(), found, seen)
            if there
        }

    def exported(self, values: Array, fit: Solution) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
        """Coulomb and viscous friction of the joints where they are known, and the offsets, of deviations (p,)."""
        if not self._friction:
            return {}, {}
        own = values[self._count :].reshape(-1, self.own)
        friction, offsets = {}, {}
        for place, (dof, name) in enumerate(zip(self.dofs, self.names)):
            if self._known(fit, place):
                coulomb, viscous = np.maximum(own[place, 1:3] + self._prepare.friction[:, dof], 0.0).tolist()
                friction[name] = coulomb, viscous
            if self.equations.samples[place]:
                offsets[name] = float(own[place, 0])
        return friction, offsets

    def joints(self, fit: Solution, count: int) -> tuple[JointFit, ...]:
        """Fits of the joints that have samples, from a fit with `count` shared parameters."""
        found = []
        for place, dof in enumerate(self.dofs):
            if not self.equations.samples[place]:
                continue
            offset: Estimate | None = None
            coulomb: Estimate | None = None
            viscous: Estimate | None = None
            if self._friction:
                first = count + self.own * place
                places = range(first, first + 3)
                unit = torque_unit(self._prepare.robot.model, self._names[dof])
                offset, coulomb, viscous = joint_estimates(fit, places, friction_prior(self._prepare, dof), unit)
            samples = int(self.equations.samples[place])
            before, after = float(fit.rms_before[place]), float(fit.rms_after[place])
            found.append(JointFit(self._names[dof], samples, offset, coulomb, viscous, before, after))
        return tuple(found)


def largest_inertia(robot: Robot) -> float:
    """Inertia of the bodies about any joint with one freedom, kg m^2 or kg, the mean of some postures, the largest."""
    model, rng = robot.model, np.random.default_rng(0)
    masses = robot.mass_matrix(np.stack([model.random(rng) for _ in range(POSTURES)]))
    dofs = list(dof_names(model))
    rotors = np.array([joint.armature for joint in model.joints if joint.kind.nv == 1])
    return float((np.einsum("nii->ni", masses)[:, dofs].mean(axis=0) - rotors).max(initial=0.0))
