# SPDX-License-Identifier: Apache-2.0
"""What a motion tells of base parameters and friction, and how that changes with the motion.

Efforts are W x plus noise, W the regressor of the base parameters beside each joint's offset, Coulomb and viscous
friction: the same parameters as `identification.InertiaIdentifier` finds. With white noise of standard deviation s_j in
joint j the information is G = W^T S^-2 W. Parameters are measured in their scales D (`BaseErrors.scale`; for friction a
tenth of the largest effort), and are known to be within these before anything is measured, so that

    gain = log det(I + D G D) / (2 p)

is the mean of the logarithms by which errors shrink: D-optimality, finite for every motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.joint_columns import BY_LOAD, FALLS, largest_inertia
from rbd_dynamics.replay.identification.samples import dof_names, torque_unit
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Criterion = Literal["gain", "condition"]
OWN = ("offset", "coulomb", "viscous")
TINY = 1e-18  # (rad/s^2)^2
ROUNDING = 1e-14  # of the largest eigenvalue of the information
STEP = 1e-5  # of differences by position; the regressor is quadratic in velocities, linear in accelerations


@dataclass(frozen=True)
class Parameters:
    """All that is to be found: names, units, scales, and which of each joint's columns they are.

    base: how many of them are base parameters; those of friction follow, three for each joint.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    scale: Array
    base: int


class Information:
    """Information about one robot's parameters, without friction in its equation of motion.

    Parameters:
        noise: standard deviation of one effort sample (nv,), N m or N.
        effort: size of each joint's effort (nv,), for the scale of friction. friction: it is to be found, too.
    """

    def __init__(self, robot: Robot, noise: Array, effort: Array, *, friction: bool = True) -> None:
        self.robot, self.noise, self.friction = robot, noise, friction
        self._errors = BaseErrors(robot)
        self.base = self._errors.base
        names, units, scale = list(self.base.names), _units(self.base.names), list(self._errors.scale)
        for dof, joint in dof_names(robot.model).items() if friction else ():
            unit = torque_unit(robot.model, joint)
            names += [f"{joint}.{what}" for what in OWN]
            units += [unit, unit, f"{unit} s" if unit == "N m" else "N s/m"]
            scale += [0.1 * effort[dof]] * len(OWN)
        self.parameters = Parameters(tuple(names), tuple(units), np.array(scale), self.base.count)

    def columns(self, q: Array, v: Array, a: Array) -> Array:
        """W (N, nv, p) at q, v, a (N, nv), in the parameters' units."""
        base = self.robot.regressor(q, v, a)[:, :, self.base.independent]
        if not self.friction:
            return base
        count, nv = v.shape
        own = np.zeros((count, nv, nv, len(OWN)))
        joints = np.arange(nv)
        own[:, joints, joints] = np.stack([np.ones_like(v), np.tanh(v / COULOMB_SPEED), v], axis=-1)
        return np.concatenate([base, own.reshape(count, nv, -1)], axis=2)

    def covariance(self, motion: Array, samples: float) -> tuple[Array, Array]:
        """D G D (p, p) of independent samples, and the covariance of x / D once they are known.

        motion: q, v, a (3, N, nv). samples: how many each row stands for. The covariance also has in it what
        `InertiaIdentifier` finds besides: a rotor of each joint, and friction that falls with speed or grows with the
        torque (`JointColumns`).
        """
        more, scale = self._more(*motion)
        weighted = np.concatenate([self.columns(*motion), more], axis=2) / self.noise[:, None]
        rows = weighted.reshape(-1, weighted.shape[2]) * np.concatenate([self.parameters.scale, scale])
        gram, count = samples * rows.T @ rows, len(self.parameters.scale)
        return gram[:count, :count], np.linalg.inv(np.eye(len(gram)) + gram)[:count, :count]

    def _more(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Columns (N, nv, k) of what no description holds but rotors, and their scales (k,)."""
        count, nv = v.shape
        if not self.friction:
            return np.zeros((count, nv, 0)), np.zeros(0)
        torque, level = self.robot.inverse_dynamics(q, v, a), np.tanh(v / COULOMB_SPEED)
        own = [a, *(level * np.exp(-np.square(v / speed)) for speed in FALLS), level * np.abs(torque)]
        size = np.sqrt(np.square(torque).mean(axis=0))
        rotor = np.minimum(size / np.sqrt(np.square(a).mean(axis=0) + TINY), largest_inertia(self.robot))
        scale = [rotor * self._errors.apart, *[size] * len(FALLS), np.full(nv, BY_LOAD)]
        joints = np.arange(nv)
        found = np.zeros((count, nv, nv, len(own)))
        found[:, joints, joints] = np.stack(own, axis=-1)
        return found.reshape(count, nv, -1), np.stack(scale, axis=-1).ravel()

    def value(self, criterion: Criterion, motion: Array, samples: float) -> tuple[float, Array]:
        """What is to be small, and its gradient by the motion (3, N, nv): minus the gain, or the condition's logarithm.

        samples: how many each row of the motion stands for.
        """
        columns = self.columns(*motion)
        if criterion == "gain":
            found, gradient = self._gain(columns, samples)
        else:
            found, gradient = _condition(columns)
        return found, self._back(motion, gradient)

    def _gain(self, columns: Array, samples: float) -> tuple[float, Array]:
        scaled = columns * (np.sqrt(samples) * self.parameters.scale) / self.noise[:, None]
        rows = scaled.reshape(-1, scaled.shape[2])
        count = rows.shape[1]
        information = np.eye(count) + rows.T @ rows
        gain = np.linalg.slogdet(information)[1] / (2.0 * count)
        slope = np.linalg.solve(information, rows.T).T.reshape(columns.shape) / count
        return -gain, -slope * (np.sqrt(samples) * self.parameters.scale) / self.noise[:, None]

    def _back(self, motion: Array, slope: Array) -> Array:
        """Gradient by the motion of a function whose gradient by the columns W is `slope` (N, nv, p)."""
        q, v, a = motion
        count, nv = q.shape
        of_all = np.zeros((count, nv, self.base.combination.shape[1]))
        of_all[:, :, self.base.independent] = slope[:, :, : self.base.count]
        found = np.zeros_like(motion)
        for dof in range(nv):
            step = np.zeros(nv)
            step[dof] = 1.0
            rows = (
                (q + STEP * step, v, a), (q - STEP * step, v, a),
                (q, v + step, a), (q, v - step, a),
                (q, v, a + step), (q, v, a - step),
            )  # fmt: skip
            regressor = self.robot.regressor(*(np.concatenate(part) for part in zip(*rows)))
            sums = (regressor.reshape(6, count, -1) * of_all.reshape(count, -1)).sum(axis=2)
            found[:, :, dof] = (sums[0::2] - sums[1::2]) / np.array([2.0 * STEP, 2.0, 2.0])[:, None]
        if self.friction:
            joints = np.arange(nv)
            own = slope[:, :, self.base.count :].reshape(count, nv, nv, len(OWN))[:, joints, joints]
            sharp = (1.0 - np.tanh(v / COULOMB_SPEED) ** 2) / COULOMB_SPEED
            found[1] += own[..., 1] * sharp + own[..., 2]
        return found


def _condition(columns: Array) -> tuple[float, Array]:
    """Logarithm of the condition number of stacked columns, and its gradient."""
    rows = columns.reshape(-1, columns.shape[2])
    squares, directions = np.linalg.eigh(rows.T @ rows)
    least, most = max(float(squares[0]), ROUNDING * float(squares[-1])), float(squares[-1])
    ends = directions[:, [-1, 0]]
    gradient = (rows @ ends) * [1.0 / most, -1.0 / least] @ ends.T
    return 0.5 * float(np.log(most / least)), gradient.reshape(columns.shape)


def condition_number(columns: Array) -> float:
    """Condition number of stacked columns (N, nv, p), unscaled, as in Gautier and Khalil (1992)."""
    s = np.linalg.svd(columns.reshape(-1, columns.shape[2]), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")


def _units(names: Sequence[str]) -> list[str]:
    kinds = {"m": "kg", "mcx": "kg m", "mcy": "kg m", "mcz": "kg m"}
    return [kinds.get(name.rpartition(".")[2], "kg m^2") for name in names]
