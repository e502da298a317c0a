# SPDX-License-Identifier: Apache-2.0
"""Gains and limits of Cartesian control, as users give them and as the law takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.joint_speed_bound import LIMIT_MARGIN
from rbd_dynamics.control.safety.softening import Shares
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
Axes = Sequence[float] | float

#: stiffness of the translations and of the rotations where none is given: N/m and N m/rad, or 1/s^2
STIFFNESS = {"impedance": (500.0, 30.0), "operational_space": (400.0, 400.0)}
NAMES = ("rx", "ry", "rz", "x", "y", "z")
ROUNDING = 1e-9  # relative


class GainNumbers(NamedTuple):
    """What the law takes, apart from vectors; see `CartesianGains`. least_*: mobilities, 1/kg and 1/(kg m^2)."""

    rotation_ratio: Scalar
    translation_ratio: Scalar
    posture_kp: Scalar
    posture_kd: Scalar
    largest_force: Scalar
    largest_moment: Scalar
    least_rotation: Scalar
    least_translation: Scalar
    least_measure: Scalar
    singularity_stiffness: Scalar
    tank_size: Scalar
    tank_share: Scalar
    stiffness_time: Scalar
    reaction_time: Scalar
    largest_energy: Scalar


@dataclass(frozen=True)
class CartesianGains:
    """Gains and limits. Lists are of the axes x, y, z of the stiffness; one number is for all three.

    stiffness, rotational_stiffness: N/m and N m/rad, by default `STIFFNESS`. damping, rotational_damping: N s/m and
        N m s/rad; none: all swings of the tool die out with damping_ratio. Of the operational-space law
        all are per effective inertia: 1/s^2 and 1/s.
    stiffness_time: s, in which another stiffness is approached. tank_size: J of energy that making the spring stiffer
        may take before damping, or a softer spring, gives some back; 0: as much as it takes. tank_share: of the
        dissipated energy, what the tank gets.
    posture_kp, posture_kd: 1/s^2, 1/s, of what the tool leaves free.
    largest_force, largest_moment: N, N m, that spring and wanted wrench have together; of the operational-space law
        the damper, too.
    largest_mass, largest_inertia: kg, kg m^2; a direction in which the tool is heavier cannot be moved: near singular
        postures the law asks for no more than these. It is exact up to a quarter of them.
    joint_limit_margin: rad, m, from where on a joint is kept from its limit, which it does not pass; 0: nothing keeps
        it. joint_limit_torque: N m, N, with which, where the limit is; one for all or one for each joint. None: 0.3 of
        its effort limit, and none without one.
    least_manipulability: sqrt(det(J J^T)) below which the arm is kept from singular postures, in the unit that rad and
        m give; 0: not. singularity_stiffness: J, of that.
    reaction_time: s, from a state to the torque that answers it; joints are kept from their limits of velocity by what
        they would do within that time.
    largest_energy: J, kinetic, from which the robot is kept likewise. None: `usual_energy` of the joints' velocity
        limits.
    """

    _: KW_ONLY
    stiffness: Axes | None = None
    rotational_stiffness: Axes | None = None
    damping: Axes | None = None
    rotational_damping: Axes | None = None
    damping_ratio: float = 1.0
    stiffness_time: float = 0.1
    tank_size: float = 1.0
    tank_share: float = 0.9
    posture_kp: float = 25.0
    posture_kd: float = 10.0
    largest_force: float = 100.0
    largest_moment: float = 30.0
    largest_mass: float = 100.0
    largest_inertia: float = 5.0
    joint_limit_margin: float = LIMIT_MARGIN
    joint_limit_torque: Sequence[float] | float | None = None
    least_manipulability: float = 0.0
    singularity_stiffness: float = 10.0
    reaction_time: float = 0.01
    largest_energy: float | None = None

    def stiffness_of(self, law: str) -> Array:
        """(6, 6), angular part first. Raises ValueError."""
        along, about = STIFFNESS[law]
        return np.diag(
            [
                *_axes("rotational_stiffness", self.rotational_stiffness, about),
                *_axes("stiffness", self.stiffness, along),
            ]
        )

    def dampings(self) -> Array:
        """(6), angular part first; -1 where it comes from the ratio. Raises ValueError."""
        about, along = self.rotational_damping, self.damping
        return np.array([*_axes("rotational_damping", about, -1.0), *_axes("damping", along, -1.0)])

    def softer(self, shares: Shares) -> CartesianGains:
        """Gains of so much stiffness and damping, those of the posture among them; what is not given stays so.

        shares: each 0 (excluded) to 1.
        """

        def some(given: Axes | None, share: float) -> Axes | None:
            return None if given is None else tuple((share * np.atleast_1d(np.asarray(given, dtype=float))).tolist())

        return replace(
            self,
            stiffness=some(self.stiffness, shares.stiffness),
            rotational_stiffness=some(self.rotational_stiffness, shares.stiffness),
            damping=some(self.damping, shares.damping),
            rotational_damping=some(self.rotational_damping, shares.damping),
            # beside a stiffness that is smaller as well
            damping_ratio=shares.damping / math.sqrt(shares.stiffness) * self.damping_ratio,
            posture_kp=shares.stiffness * self.posture_kp,
            posture_kd=shares.damping * self.posture_kd,
        )

    def numbers(self) -> Array:
        """The gains as `GainNumbers`. Raises ValueError for what is no gain or limit."""
        for name in (
            "damping_ratio", "stiffness_time", "tank_size", "tank_share", "posture_kp", "posture_kd",
            "joint_limit_margin", "least_manipulability", "singularity_stiffness",
        ):  # fmt: skip
            _check(name, getattr(self, name))
        for name in ("largest_mass", "largest_inertia", "reaction_time", "largest_energy"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < math.inf:
                raise ValueError(f"{name} = {value:g}: expected a finite number > 0")
        for name in ("largest_force", "largest_moment"):
            value = getattr(self, name)
            if not value >= 0.0:
                raise ValueError(f"{name} = {value:g}: expected a number >= 0")
        if self.tank_share > 1.0:
            raise ValueError(f"tank_share = {self.tank_share:g}: more than 1 would make energy out of nothing")
        return np.array(
            GainNumbers(
                rotation_ratio=self.damping_ratio,
                translation_ratio=self.damping_ratio,
                posture_kp=self.posture_kp,
                posture_kd=self.posture_kd,
                largest_force=min(self.largest_force, 1e12),
                largest_moment=min(self.largest_moment, 1e12),
                least_rotation=1.0 / self.largest_inertia,
                least_translation=1.0 / self.largest_mass,
                least_measure=self.least_manipulability,
                singularity_stiffness=self.singularity_stiffness,
                tank_size=self.tank_size,
                tank_share=self.tank_share,
                stiffness_time=self.stiffness_time,
                reaction_time=self.reaction_time,
                largest_energy=1e30 if self.largest_energy is None else self.largest_energy,
            ),
            dtype=float,
        )


def stiffness_matrix(given: ArrayLike) -> Array:
    """(6, 6), angular part first, out of its diagonal (6) or of all of it. Raises ValueError unless it is a stiffness.

    That is: symmetric, and no displacement gains energy from it.
    """
    K = np.asarray(given, dtype=float)
    if K.shape == (6,):
        K = np.diag(K)
    if K.shape != (6, 6):
        raise ValueError(f"a stiffness has 6 or 6 x 6 numbers, not {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("the stiffness is not finite")
    size = float(np.abs(K).max())
    if np.abs(K - K.T).max() > ROUNDING * size:
        raise ValueError("the stiffness is not symmetric: pushing around in a circle would gain energy")
    least = float(np.linalg.eigvalsh(K)[0])
    if least < -ROUNDING * size:
        raise ValueError(f"the stiffness has the eigenvalue {least:g}: a negative spring pushes away")
    return np.ascontiguousarray(0.5 * (K + K.T))


def _axes(name: str, given: Axes | None, default: float) -> Array:
    """Three numbers >= 0. Raises ValueError."""
    if given is None or np.size(given) == 0:
        return np.full(3, default)
    values = np.asarray(given, dtype=float).reshape(-1)
    if values.size not in (1, 3):
        raise ValueError(f"{name} has {values.size} values: expected one, or one for each of x, y, z")
    for value in values:
        _check(name, value)
    return np.broadcast_to(values, (3,))


def _check(name: str, value: float) -> None:
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} = {value:g}: expected a finite number >= 0")
