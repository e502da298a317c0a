# SPDX-License-Identifier: Apache-2.0
"""The tool that a force-torque sensor carries, and the sensor's bias, out of static readings at several orientations.

At rest, and where nothing touches, a sensor whose frame has the orientation R in the world reads

    f = m R^T g + b_f,    tau = (m c) x R^T g + b_m

in its own frame: the wrench that the tool of mass m and centre of mass c exerts on the robot under gravity g, and a
constant bias. That is linear in (m, m c, b_m, b_f). Forces tell m and b_f, torques m c and b_m: two least-squares
problems, each with the noise of its own, so that units of length and force do not matter. Only the direction of
gravity in the sensor's frame counts: a turn about the vertical tells nothing. Two directions tell mass and force bias,
three the rest. Sources: Kubus, Kroeger and Wahl, "On-line estimation of inertial parameters using a recursive total
least-squares approach", 2008; Atkinson and Donev, Optimum Experimental Designs, 1992 (the next orientation).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial.arrays import hat
from rbd_dynamics.spatial.rank import DEPENDENT, ROUNDING, measures_of, pseudoinverse, rank_of

Array = NDArray[np.float64]

#: standard deviation of what is taken off, at the worst orientation, beside that of one reading
AMPLIFICATION = 3.0
#: standard deviations from zero by which a mass is significant
SIGNIFICANT = 3.0
_CUBE = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
#: unit vectors (26, 3) to the faces, edges and corners of a cube
DIRECTIONS: Array = _CUBE / np.linalg.norm(_CUBE, axis=1)[:, None]
DIRECTIONS.flags.writeable = False


class UntoldToolError(ValueError):
    """The readings do not tell the tool; the text says what is lacking.

    Attributes:
        direction (3): unit vector of gravity, in the sensor's frame, at the further reading that would tell most.
    """

    def __init__(self, text: str, direction: Array) -> None:
        super().__init__(text)
        self.direction = direction


@dataclass(frozen=True)
class SensorTool:
    """What a sensor carries, in the sensor's frame, and its bias.

    mass: kg. moment (3): mass times the centre of mass, kg m. bias (6): (m, f), N m and N. covariance (10, 10): of
    (mass, moment, bias). noise (2): standard deviation of one reading's torque (N m) and force (N), what the fit leaves
    or what the readings came with, whichever is more. gravity (3): in the world, m/s^2. readings: their number.
    """

    mass: float
    moment: Array
    bias: Array
    covariance: Array
    noise: Array
    gravity: Array
    readings: int

    def __post_init__(self) -> None:
        response = np.vstack([hat(self.moment), self.mass * np.eye(3)])
        rows = np.zeros((6, 4, 4))  # of (m, f), by the numbers of a homogeneous matrix, of which the last is one
        rows[:, :3, :3] = response[:, None, :] * self.gravity[:, None]
        rows[:, 3, 3] = self.bias
        object.__setattr__(self, "_rows", rows.reshape(6, 16))

    @classmethod
    def known(cls, numbers: ArrayLike, gravity: ArrayLike) -> SensorTool:
        """What ten numbers say that were found before, as `numbers` has them. gravity (3): in the world, m/s^2.

        Raises ValueError for another count, numbers that are not finite, or a mass below zero.
        """
        given = np.array(numbers, dtype=float)
        if given.shape != (10,) or not np.isfinite(given).all():
            raise ValueError(f"a tool on a sensor has 10 finite numbers, not {np.size(given)}: mass, centre, bias")
        if given[0] < 0.0:
            raise ValueError(f"the mass of a tool on a sensor is {given[0]:g} kg, below zero")
        exact = np.zeros((10, 10)), np.zeros(2)
        return cls(float(given[0]), given[0] * given[1:4], given[4:], *exact, np.array(gravity, dtype=float), 0)

    @property
    def numbers(self) -> Array:
        """(10,) mass (kg), centre of mass (m), zero where the mass is not significant, bias (m, f) (N m, N)."""
        center = self.center_of_mass if self.significant else np.zeros(3)
        return np.array([self.mass if self.significant else 0.0, *center, *self.bias])

    @property
    def deviation(self) -> float:
        """Standard deviation of the mass, kg."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def significant(self) -> bool:
        """Whether the mass is more than noise and rounding."""
        rounding = ROUNDING * float(np.linalg.norm(self.bias[3:]) / np.linalg.norm(self.gravity))
        return abs(self.mass) > max(SIGNIFICANT * self.deviation, rounding)

    @property
    def center_of_mass(self) -> Array:
        """(3,) in the sensor's frame, m. Raises ValueError where the mass is not significant."""
        if not self.significant:
            raise ValueError(f"the mass, {self.mass:.3g} kg, is not more than noise: it has no centre")
        return self.moment / self.mass

    def felt(self, pose: Array) -> Array:
        """(m, f) (6,) that the sensor reads of the tool and the bias. pose (4, 4): of its frame in the world."""
        return np.asarray(self._rows @ pose.ravel())  # type: ignore[attr-defined]

    def without(self, reading: Array, R: Array) -> Array:
        """(m, f) (6,) of a reading (6,) at the sensor's orientation R (3, 3) in the world, without weight and bias."""
        pose = np.eye(4)
        pose[:3, :3] = R
        return reading - self.felt(pose)

    def __str__(self) -> str:
        if not self.significant:
            return (
                f"no tool: mass {self.mass:.3g} kg is within noise ({self.deviation:.2g} kg); bias {_text(self.bias)}"
            )
        center = _text(self.center_of_mass)
        return f"mass {self.mass:.4g} kg (+-{self.deviation:.2g}), centre of mass {center} m, bias {_text(self.bias)}"


class SensorCalibration:
    """Static readings of a sensor, and the tool that they tell.

    Parameters:
        gravity (3): in the world, m/s^2. Raises ValueError where it is zero or not finite.
    """

    def __init__(self, gravity: ArrayLike) -> None:
        self.gravity = np.array(gravity, dtype=float)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all() or not self.gravity.any():
            raise ValueError(f"gravity must be a vector (3,) other than zero, got {gravity!r}")
        self._felt: list[Array] = []  # gravity in the sensor's frame
        self._readings: list[Array] = []
        self._variances: list[Array] = []

    def __len__(self) -> int:
        return len(self._readings)

    def add(self, R: ArrayLike, reading: ArrayLike, *, variance: ArrayLike = 0.0) -> None:
        """A reading (m, f) (6,) at orientation R (3, 3) of the sensor's frame in the world.

        The reading is the wrench on the robot, N m and N. variance: () or (6,) of it, as an average of many. Raises
        ValueError for other shapes, numbers that are not finite, variances below zero, or an R that is no rotation.
        """
        R, reading = np.asarray(R, dtype=float), np.array(reading, dtype=float)
        if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise ValueError("R must be a rotation (3, 3)")
        if reading.shape != (6,) or not np.isfinite(reading).all():
            raise ValueError("a reading has six finite numbers (m, f)")
        if np.shape(variance) not in ((), (6,)):
            raise ValueError("variance has one number, or six")
        variances = np.broadcast_to(np.asarray(variance, dtype=float), 6).copy()
        if not np.isfinite(variances).all() or (variances < 0.0).any():
            raise ValueError("variances are finite and not below zero")
        self._felt.append(R.T @ self.gravity)
        self._readings.append(reading)
        self._variances.append(variances)

    @property
    def next_direction(self) -> Array:
        """Unit vector (3,) of gravity in the sensor's frame at which another reading tells most, one of `DIRECTIONS`.

        It makes the determinant of the information about (m c, b_m) largest.
        """
        size = np.linalg.norm(self.gravity)
        known = 1e-6 * np.eye(6)
        for felt in self._felt:
            known += _information(felt / size)
        return np.array(DIRECTIONS[_best([np.linalg.slogdet(known + _information(d))[1] for d in DIRECTIONS])])

    @property
    def missing(self) -> str:
        """What the readings do not tell, and the further orientation that would help most; empty: nothing."""
        lacking = self._lacking()
        return lacking and f"{lacking}: {_turn_to(self.next_direction)}"

    def tool(self) -> SensorTool:
        """The tool that the readings tell.

        Raises UntoldToolError where they do not, and ValueError where the mass is below zero by more than noise.
        """
        lacking = self._lacking()
        if lacking:
            direction = self.next_direction
            raise UntoldToolError(f"{lacking}: {_turn_to(direction)}", direction)
        G, readings = np.array(self._felt), np.array(self._readings)
        M, F = readings[:, :3], readings[:, 3:]
        count = len(G)
        forces = np.concatenate([np.append(g[:, None], np.eye(3), axis=1) for g in G])  # (m, b_f)
        torques = np.concatenate([np.append(-hat(g), np.eye(3), axis=1) for g in G])  # (m c, b_m)
        variances = np.array(self._variances)
        of_force, force_cov, force_noise = _fit(forces, F.ravel(), variances[:, 3:])
        of_torque, torque_cov, torque_noise = _fit(torques, M.ravel(), variances[:, :3])
        covariance = np.zeros((10, 10))
        from_force = np.array([0, 7, 8, 9])
        covariance[np.ix_(from_force, from_force)] = force_cov
        covariance[1:7, 1:7] = torque_cov
        tool = SensorTool(
            float(of_force[0]),
            of_torque[:3],
            np.concatenate([of_torque[3:], of_force[1:]]),
            covariance,
            np.array([torque_noise, force_noise]),
            self.gravity.copy(),
            count,
        )
        if tool.significant and tool.mass < 0.0:
            raise ValueError(
                f"the mass would be {tool.mass:.3g} kg, below zero: the readings are the wrench that the robot exerts,"
                " or gravity points elsewhere"
            )
        return tool

    def _lacking(self) -> str:
        if not self._felt:
            return "there is no reading yet"
        units = np.array(self._felt) / np.linalg.norm(self.gravity)
        spread = units - units.mean(axis=0)
        rank = int(rank_of(spread, scale=np.sqrt(len(units)), tolerance=DEPENDENT))
        if rank == 0:
            return "one direction of gravity tells no mass and no bias"
        if rank == 1:
            return "two directions of gravity do not tell the centre of mass along the line between them"
        worst = _amplification(units)
        if worst > AMPLIFICATION:
            where = "the directions of gravity are too near each other, or to one line"
            return f"{where}: noise is amplified {worst:.3g} times"
        return ""


def _fit(A: Array, b: Array, variances: Array) -> tuple[Array, Array, float]:
    """Least-squares solution, its covariance, and the standard deviation of a number of b."""
    measures = measures_of(np.square(A).sum(axis=0))
    inverse = pseudoinverse(A / measures, scale=1.0, tolerance=DEPENDENT) / measures[:, None]
    found = inverse @ b
    variance = max(float(np.square(A @ found - b).sum()) / (len(b) - A.shape[1]), float(variances.mean()))
    return found, variance * inverse @ inverse.T, float(np.sqrt(variance))


def _amplification(units: Array) -> float:
    """Largest standard deviation of a predicted force or torque at any orientation, of readings of noise one."""
    middle = units.mean(axis=0)
    spread = units - middle
    total = float(np.square(spread).sum())
    inverse = np.linalg.inv(total * np.eye(3) - spread.T @ spread)
    away = DIRECTIONS - middle
    cross = np.array([hat(d) for d in away])
    torques = np.linalg.eigvalsh(cross @ inverse @ np.swapaxes(cross, 1, 2))[:, -1].max()
    forces = float(np.square(away).sum(axis=1).max()) / total
    return float(np.sqrt(1.0 / len(units) + max(torques, forces)))


def _information(direction: Array) -> Array:
    """Information (6, 6) about (m c, b_m) in one reading, for noise and gravity of one."""
    row = np.append(-hat(direction), np.eye(3), axis=1)
    return np.asarray(row.T @ row)


def _best(values: list[float]) -> int:
    """Index of the first value that is the largest up to rounding."""
    return int(np.flatnonzero(np.array(values) > max(values) - 1e-9)[0])


def _turn_to(direction: Array) -> str:
    return f"turn the sensor until gravity points along {_text(direction)} of its frame"


def _text(numbers: Array) -> str:
    return "(" + ", ".join(f"{x + 0.0:.3g}" for x in numbers) + ")"
