# SPDX-License-Identifier: Apache-2.0
"""Linear least squares out of sums of products, and the same with each part of the data left out in turn.

Sums are [X y]^T [X y], (n_j + 1, n_j + 1), of each joint j; `columns` are the parameters (n_j,) of its X. Sums of all
data less those of a part are the sums of all other data: a fit without a part costs one solution and no sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def gram(columns: Sequence[Indices], sums: Sequence[Array], weights: Array, count: int) -> Array:
    """[X y]^T W [X y], (..., count + 1, count + 1), of all parameters, with these weights of the joints.

    sums: of each joint, (..., n_j + 1, n_j + 1), as of several parts of the data.
    """
    found = np.zeros((*(sums[0].shape[:-2] if len(sums) else ()), count + 1, count + 1))
    for indices, total, weight in zip(columns, sums, weights):
        place = np.append(indices, count)
        found[..., place[:, None], place] += weight * total
    return found


def residual_squares(columns: Sequence[Indices], sums: Sequence[Array], values: Array) -> Array:
    """What these values (..., p) leave of each joint's squares, (..., joints)."""
    found = np.zeros((*values.shape[:-1], len(sums)))
    for joint, (indices, total) in enumerate(zip(columns, sums)):
        x = np.ones((*values.shape[:-1], len(indices) + 1))
        x[..., :-1] = -values[..., indices]
        found[..., joint] = np.maximum(((x[..., None, :] @ total)[..., 0, :] * x).sum(axis=-1), 0.0)
    return found


def ridge(whole: Array, scale: Array) -> Array:
    """Solution (..., p) of a Gram matrix with the prior that a parameter is hardly larger than its scale (p,)."""
    size = np.maximum(scale, 1e-12)
    scaled = size[:, None] * whole[..., :-1, :-1] * size + np.eye(len(size))
    return np.asarray(size * np.linalg.solve(scaled, size[:, None] * whole[..., :-1, -1:])[..., 0])


def without_each(whole: Array, parts: Sequence[Array] | Array, scale: Array) -> Array:
    """Solutions (parts, p) of fits that leave out one part each of what the Gram matrix `whole` is the sum of."""
    return ridge(whole - np.reshape(parts, (-1, *whole.shape)), scale)
