# SPDX-License-Identifier: Apache-2.0
"""Base parameters: the combinations of inertial parameters that motion can reveal (theory.md section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rbd_dynamics.kernels.bound_model import require_double
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.rank import measures_of

Array = NDArray[np.float64]

PARAMETER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


@dataclass(frozen=True)
class BaseParameters:
    """A minimal set of identifiable parameters.

    independent (n): columns of the regressor that are kept; combination (n, 10 bodies): base
    parameters = combination @ inertial parameters; tau = Y[:, independent] @ base parameters.
    """

    independent: NDArray[np.intp]
    combination: Array
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.independent)

    def of(self, parameters: Array) -> Array:
        """Base parameters (n) of inertial parameters, (10 bodies) or (bodies, 10)."""
        return self.combination @ np.asarray(parameters).ravel()


def base_parameters(
    robot: Robot, *, samples: int = 100, tolerance: float = 1e-9, rng: np.random.Generator | int | None = 0
) -> BaseParameters:
    """Find them by a rank-revealing QR of regressors at random states.

    Columns are weighted with their own norm before the rank is judged, so that it does not depend on
    units; a singular value below `tolerance` of the largest counts as zero. Of dependent parameters
    the ones of the bodies nearest the tip are kept, as they combine the fewest others.
    """
    require_double(robot, "base_parameters")
    model = robot.model
    rng = np.random.default_rng(rng)
    q = np.stack([model.random(rng) for _ in range(samples)])
    v, a = rng.normal(size=(2, samples, model.nv))
    stacked = robot.regressor(q, v, a).reshape(samples * model.nv, -1)
    weights = measures_of(np.square(stacked).sum(axis=0), tolerance=tolerance)
    scaled = stacked / weights

    # a QR without pivoting, from the tip to the base: a column is kept if the kept ones do not span it
    kept: list[int] = []
    basis = np.zeros((len(scaled), 0))
    for column in reversed(range(scaled.shape[1])):
        rest = scaled[:, column].copy()
        for _ in range(2):  # twice is enough for orthogonality
            rest -= basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > np.sqrt(tolerance):
            kept.append(column)
            basis = np.column_stack([basis, rest / size])
    independent = np.array(sorted(kept), dtype=np.intp)
    solution = scipy.linalg.lstsq(scaled[:, independent], scaled)[0]
    combination = solution / weights[independent, None] * np.where(np.isfinite(weights), weights, 0.0)
    combination[np.abs(combination) < np.sqrt(tolerance) * 1e-3] = 0.0
    names = tuple(f"{model.bodies[k // 10].name}.{PARAMETER_NAMES[k % 10]}" for k in independent)
    return BaseParameters(independent, combination, names)
