# SPDX-License-Identifier: Apache-2.0
"""One regression of all joints of a recording, in which all is free that a description may have wrong.

    effort_j(t + delay_j) = scale_j (model_j + Y_j E x) + own_j c_j

x are errors of the bodies that all joints share, in units of the largest that are thought of (`BaseErrors.errors`),
with the prior that they are hardly larger than one, those of bodies that may carry a load than that load (`Load`); c_j
what joint j has for itself: offset, friction, rotor, none of which may drive. What a scale, a sign or a delay explains
beside all that is said by two such fits, by the squares that they leave of stretches that they have not seen. All of it
from sums of products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.leave_one_out import gram, residual_squares, ridge, without_each
from rbd_dynamics.replay.identification.validation import FEWEST, chance_of_all

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CHANCE = 0.01  # that one of all suppositions about a recording is believed, and wrong
REWEIGHTED = 4  # times: enough for the joints' weights, and for what would drive
STEPS, SETTLED, LARGEST = 20, 1e-3, 0.7  # in which scales are found, and of their logarithms
LEAST = 1e-6  # of a joint's torque: less is rounding
ROTOR = 3  # of a joint's own parameters: after offset, Coulomb and viscous friction


@dataclass(frozen=True)
class JointSums:
    """Sums of one joint.

    Attributes:
        sums: X^T X of each stretch, (stretches, n, n), of the columns [Y E | own | model | effort at all lags].
        samples: of each stretch. lower: least values of its own parameters, (own,), of an effort with the right sign.
        weights: what of the lags makes the effort at each delay that is tried, (lags, tried). here: which is none.
    """

    name: str
    sums: Array
    samples: Array
    lower: Array
    weights: Array
    here: int

    def torque(self) -> float:
        """Root mean square of the effort."""
        lags = self.weights[:, self.here]
        square = float(lags @ self.sums.sum(axis=0)[-len(lags) :, -len(lags) :] @ lags)
        return float(np.sqrt(max(square, 0.0) / max(float(self.samples.sum()), 1.0)))


@dataclass(frozen=True)
class Load:
    """A body that may carry one: no load has a mass below zero.

    Attributes:
        columns: of the shared errors, (10,): of its mass first. sizes: how large these may be with a load, (10,).
    """

    columns: NDArray[np.intp]
    sizes: Array


@dataclass(frozen=True)
class FreeFit:
    """What was fitted.

    Attributes:
        scales, delays: of the joints, delays by their place among those that are tried. values: x and all c.
        left: squares of each stretch by fits to all others, (stretches, joints). weights: of the joints.
        errors: deviations that the prior and white noise leave of the joints' scales, (joints,).
        others: scales by fits without a stretch each, (stretches, joints). size: large values of all parameters; zero
            of those that are left out, since they would drive. without: values by fits without a stretch each.
    """

    scales: Array
    delays: NDArray[np.intp]
    values: Array
    left: Array
    weights: Array
    errors: Array
    others: Array
    size: Array
    without: Array


class Regression:
    """Fits of joints that share `shared` errors of bodies.

    independent: share of the samples that counts against the prior: of a signal whose neighbours err alike, few.
    loads: bodies that may carry one.
    """

    def __init__(
        self, joints: Sequence[JointSums], shared: int, *, independent: float = 1.0, loads: Sequence[Load] = ()
    ) -> None:
        self.joints, self.shared, self._independent = list(joints), shared, independent
        self._loads = tuple(loads)
        starts = shared + np.cumsum([0, *(len(joint.lower) + 1 for joint in self.joints)])
        self._own = [np.arange(a, b) for a, b in zip(starts, starts[1:])]  # the last of each changes the scale
        self._columns = [np.concatenate([np.arange(shared), own]) for own in self._own]
        self._count = int(starts[-1])
        self._samples = np.array([max(1.0, float(joint.samples.sum())) for joint in self.joints])
        self.torque = np.array([joint.torque() for joint in self.joints])

    @property
    def enough(self) -> bool:
        """Whether there are stretches to be left out."""
        return bool(self.joints) and all(len(joint.sums) >= FEWEST for joint in self.joints)

    def none(self) -> tuple[Array, NDArray[np.intp]]:
        """Scales of one, and no delays."""
        return np.ones(len(self.joints)), np.array([joint.here for joint in self.joints], dtype=np.intp)

    def fit(
        self,
        scales: Array,
        delays: NDArray[np.intp],
        *,
        free: Sequence[int] = (),
        no_offset: Sequence[int] = (),
        bodies: bool = True,
    ) -> FreeFit:
        """Fit with these scales and delays. free: joints whose scale is looked for, from there. no_offset: joints
        whose offset is none. bodies: whether these, and rotors, may be others than described."""
        whole = [joint.sums.sum(axis=0) for joint in self.joints]
        started = scales = scales.copy()
        values, last = np.zeros(self._count), [own[-1] for own in self._own]
        for _ in range(STEPS if len(free) else 1):
            x = values[: self.shared]
            parts = self._changed(whole, scales, delays, x)
            values, weights, size = self._solved(parts, self._size(parts, free, no_offset, bodies), scales)
            started, change = scales, values[last] / scales
            values[last] = 0.0
            if not np.abs(change).max(initial=0.0) > SETTLED:
                break
            scales = scales * np.exp(np.clip(change, -LARGEST, LARGEST))  # a sign is kept
        stretches = self._changed([joint.sums for joint in self.joints], started, delays, x)
        square = gram(self._columns, parts, weights, self._count)
        others = without_each(square, gram(self._columns, stretches, weights, self._count), size)
        left = residual_squares(self._columns, stretches, others)
        inverse = np.linalg.inv(size[:, None] * square[:-1, :-1] * size + np.eye(self._count))
        errors = size[last] * np.sqrt(np.maximum(np.diag(inverse)[last], 0.0))
        return FreeFit(scales, delays, values, left, weights, errors, started + others[:, last], size, others)

    def profiles(self, fit: FreeFit, *, without: int | None = None) -> list[Array]:
        """All weighted squares that are left with one joint's effort at each delay, (tried,); of all stretches but one.

        Scales and what would drive are those of the fit.
        """
        kept = [k for k in range(len(self.joints[0].sums)) if k != without]
        x = fit.values[: self.shared]
        whole_sums = [joint.sums[kept].sum(axis=0) for joint in self.joints]
        wholes = self._changed(whole_sums, fit.scales, fit.delays, x)
        size = np.where(fit.size > 0.0, self._size(wholes, ()), 0.0)
        size[: self.shared] = fit.size[: self.shared]
        whole = gram(self._columns, wholes, fit.weights, self._count)
        inverse = np.linalg.inv(size[:, None] * whole[:-1, :-1] * size + np.eye(self._count))
        found = []
        for j, joint in enumerate(self.joints):
            factors, new = self._change(joint, float(fit.scales[j]), int(fit.delays[j]), x)
            sums, lags = whole_sums[j], len(joint.weights)
            targets = np.zeros((len(sums), joint.weights.shape[1]))
            targets[-lags:], targets[-lags - 1] = joint.weights, -fit.scales[j]
            products = sums @ targets
            changed = np.vstack([factors[:, None] * products[: len(factors)], new[:, :1].T @ products])
            moments = np.repeat(whole[:-1, [-1]], targets.shape[1], axis=1)
            moments[self._columns[j]] += fit.weights[j] * (changed - wholes[j][:-1, [-1]])
            moments *= size[:, None]
            squares = fit.weights[j] * np.einsum("nt,nt->t", targets, products)
            found.append(squares - np.einsum("nt,nt->t", moments, inverse @ moments))
        return found

    def shares(self, fit: FreeFit) -> Array:
        """What is left of each joint, root mean square of the torque's, (joints,)."""
        return np.asarray(np.sqrt(fit.left.sum(axis=0) / self._samples) / np.maximum(self.torque, 1e-300))

    def errors(self, fit: FreeFit) -> float:
        """Square of the bodies' errors in units of the prior."""
        return float(np.square(fit.values[: self.shared] / np.maximum(fit.size[: self.shared], 1.0)).sum())

    def cost(self, fit: FreeFit) -> float:
        """Logarithms of what is left of the joints, added up, and what the errors of bodies that it takes cost."""
        left = float(np.log(np.maximum(fit.left.sum(axis=0), 1e-300)).sum())
        return left + self.errors(fit) / (self._independent * float(self._samples.mean()))

    def friction(self, fit: FreeFit) -> Array:
        """Friction that does not grow with speed, root mean square of the torque's, (joints,): of its own parameters
        all but offset, viscous friction and rotor (0, 2 and 3)."""
        found = []
        for joint, own, torque in zip(self.joints, self._own, self.torque):
            values = fit.values[own[:-1]].copy()
            values[[0, 2, 3]] = 0.0
            whole = joint.sums.sum(axis=0)[self.shared : self.shared + len(values), self.shared :][:, : len(values)]
            power = max(float(values @ whole @ values), 0.0) / max(1.0, float(joint.samples.sum()))
            found.append(np.sqrt(power) / max(torque, 1e-300))
        return np.array(found)

    def own(self, fit: FreeFit) -> list[Array]:
        """Values of each joint's own parameters."""
        return [fit.values[own[:-1]] for own in self._own]

    def offsets(self, fit: FreeFit) -> tuple[Array, Array]:
        """Offsets (joints,), and by fits without a stretch each, (stretches, joints)."""
        places = [own[0] for own in self._own]
        return fit.values[places], fit.without[:, places]

    def rigid(self, fit: FreeFit) -> list[Array]:
        """Factors (columns,) of each joint that make its rigid torque, model + Y E x, of its columns; without loads."""
        found = []
        for joint in self.joints:
            row = np.zeros(joint.sums.shape[-1])
            row[: self.shared] = np.where(fit.size[: self.shared] > 1.0, 0.0, fit.values[: self.shared])
            row[-len(joint.weights) - 1] = 1.0
            found.append(row)
        return found

    # --- inside ---------------------------------------------------------------------------------------

    def _change(self, joint: JointSums, scale: float, delay: int, x: Array) -> tuple[Array, Array]:
        """A joint's columns with this scale and delay: factors (shared + own,) of those that stay, and what makes two
        new ones of all, (columns of the sums, 2): the rigid torque, and the effort less that torque times the scale."""
        factors = np.ones(self.shared + len(joint.lower))
        factors[: self.shared] = scale
        new, lags = np.zeros((joint.sums.shape[-1], 2)), len(joint.weights)
        new[: self.shared, 0], new[-lags - 1, 0] = x, 1.0
        new[-lags:, 1], new[-lags - 1, 1] = joint.weights[:, delay], -scale
        return factors, new

    def _changed(self, sums: Sequence[Array], scales: Array, delays: NDArray[np.intp], x: Array) -> list[Array]:
        """Sums (..., shared + own + 1 + target, the same) of each joint with these scales and delays."""
        found = []
        for joint, own, scale, delay in zip(self.joints, sums, scales, delays):
            factors, new = self._change(joint, float(scale), int(delay), x)
            kept, both = len(factors), own @ new
            changed = np.empty((*own.shape[:-2], kept + 2, kept + 2))
            changed[..., :kept, :kept] = factors[:, None] * own[..., :kept, :kept] * factors
            changed[..., :kept, kept:] = factors[:, None] * both[..., :kept, :]
            changed[..., kept:, :kept] = np.swapaxes(changed[..., :kept, kept:], -1, -2)
            changed[..., kept:, kept:] = new.T @ both
            found.append(changed)
        return found

    def _size(
        self, wholes: Sequence[Array], free: Sequence[int], no_offset: Sequence[int] = (), bodies: bool = True
    ) -> Array:
        """Large values of all parameters: one of the shared ones, or a load's, what makes the joint's torque of its
        own."""
        found = np.ones(self._count)
        for load in self._loads:
            found[load.columns] = load.sizes
        found[: self.shared] *= float(bodies)
        for j, (own, whole) in enumerate(zip(self._own, wholes)):
            power = np.diag(whole)[self.shared : -1] / self._samples[j]
            found[own] = np.where(power > 0.0, self.torque[j] / np.sqrt(np.where(power > 0.0, power, 1.0)), 0.0)
            if j not in free:
                found[own[-1]] = 0.0
            if j in no_offset:
                found[own[0]] = 0.0
            if not bodies:
                found[own[ROTOR]] = 0.0
        return found

    def _solved(self, wholes: Sequence[Array], size: Array, scales: Array) -> tuple[Array, Array, Array]:
        """Values, the joints' weights, and the sizes without those that would drive, or lighten."""
        least = np.square(LEAST * np.maximum(self.torque, 1e-300))
        weights = self._independent / np.maximum(np.square(self.torque), least)
        for _ in range(REWEIGHTED):
            values = ridge(gram(self._columns, wholes, weights, self._count), size)
            size = np.where(self._driving(values, scales), 0.0, size)
            for load in self._loads:
                if values[load.columns[0]] < 0.0:
                    size[load.columns] = np.minimum(size[load.columns], 1.0)
            left = residual_squares(self._columns, wholes, values) / self._samples
            weights = self._independent / np.maximum(left, least)
        return ridge(gram(self._columns, wholes, weights, self._count), size), weights, size

    def _driving(self, values: Array, scales: Array) -> Mask:
        """Which own parameters are less than they can be."""
        found = np.zeros(self._count, dtype=bool)
        for joint, own, scale in zip(self.joints, self._own, scales):
            way = np.sign(scale) or 1.0
            found[own[:-1]] = way * values[own[:-1]] < joint.lower
        return found


def falls(worse: FreeFit, better: FreeFit) -> float:
    """How likely it is by chance that what is left of all joints together falls so much."""
    return chance_of_all(worse.left, better.left)
