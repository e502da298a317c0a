# SPDX-License-Identifier: Apache-2.0
"""What counts as rank and what is rounding: every such decision of the package is made by the rule here.

A length is never held against itself, which may be rounding alone, nor against a number of some unit. It counts where
it is more than `tolerance` times a `scale`: the size of the numbers that it is what is left of. That is the size of
all of a matrix where one row or column of it is judged, of a sum's terms where the sum is. How much is asked:

- `ROUNDING`, for a row or column as it is given: less is what other numbers, of other units, have left of zero.
- `NORMAL`, for squared lengths of columns of noisy data, of length one each;
- `DEPENDENT`, for what is left of a row or column when its part along others is taken off: the sine of the angle, where
  the scale is its own length before (and that counts).

`counts` is the rule over generic scalars, with squared lengths; the other functions are its NumPy face, by singular
values. Source: Golub and Van Loan, Matrix Computations, section 5.4 (numerical rank).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial.scalar import Scalar, less

Array = NDArray[np.float64]

ROUNDING = 1e-10
#: size of the terms of rows of velocities that do not tell it, rad or m a rad or m
UNTOLD = 1e-2
DEPENDENT = 1e-7
#: of squared lengths of columns of noisy data: the sine of the angle between two of them is 3e-5
NORMAL = 1e-9


def counts(square: Scalar, scale: Scalar, tolerance: float) -> Scalar:
    """1 where a squared length is more than rounding beside the squared scale, else 0; a condition for `where`."""
    return less(tolerance * tolerance * scale, square)


def rank_of(A: ArrayLike, *, scale: ArrayLike, tolerance: float = ROUNDING) -> NDArray[np.intp]:
    """Number (...) of singular values of A (..., m, n) above tolerance times the scale (...)."""
    values = np.linalg.svd(np.asarray(A, dtype=float), compute_uv=False)
    return np.asarray(np.sum(values > tolerance * np.asarray(scale)[..., None], axis=-1), dtype=np.intp)


def pseudoinverse(A: ArrayLike, *, scale: ArrayLike, tolerance: float = ROUNDING) -> Array:
    """A+ (..., n, m) of A (..., m, n), for which singular values up to tolerance times the scale (...) are zero."""
    U, values, Vt = np.linalg.svd(np.asarray(A, dtype=float), full_matrices=False)
    known = values > tolerance * np.asarray(scale)[..., None]
    inverse = np.where(known, 1.0 / np.where(known, values, 1.0), 0.0)
    return np.asarray(np.swapaxes(U * inverse[..., None, :] @ Vt, -1, -2), dtype=np.float64)


def size_of(A: ArrayLike) -> Array:
    """Frobenius norm (...) of A (..., m, n): the scale of what is all of its problem."""
    return np.asarray(np.sqrt(np.square(np.asarray(A, dtype=float)).sum(axis=(-2, -1))), dtype=np.float64)


def measures_of(squares: ArrayLike, *, tolerance: float = ROUNDING) -> Array:
    """Lengths (n,) of columns out of their squares, each in a unit of its own; infinite where one is rounding.

    Divided by them all columns are of length one, so that what is judged next does not depend on units, and those that
    are no more than rounding beside the longest are zero. They take part in no solution.
    """
    lengths = np.sqrt(np.maximum(np.asarray(squares, dtype=float), 0.0))
    return np.where(lengths > tolerance * lengths.max(initial=0.0), lengths, np.inf)


def least_squares(A: ArrayLike, b: ArrayLike, *, tolerance: float = ROUNDING) -> Array:
    """The x (n,) or (n, k) of least |A x - b|, A (m, n), b (m,) or (m, k); of several the shortest for unit columns.

    Columns may have different units. tolerance: of singular values beside the largest, of columns of length one.
    """
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    measures = measures_of(np.square(A).sum(axis=0))
    found = np.linalg.lstsq(A / measures, b, rcond=tolerance)[0]
    return np.asarray((found.T / measures).T, dtype=np.float64)


def normal_solution(gram: ArrayLike, moment: ArrayLike, *, tolerance: float = NORMAL) -> Array:
    """The same out of the normal equations gram x = moment, gram = A^T A (n, n) and moment = A^T b (n,) or (n, k)."""
    gram, moment = np.asarray(gram, dtype=float), np.asarray(moment, dtype=float)
    measures = measures_of(gram.diagonal())
    scaled = gram / np.outer(measures, measures)
    found = np.linalg.lstsq(scaled, (moment.T / measures).T, rcond=tolerance)[0]
    return np.asarray((found.T / measures).T, dtype=np.float64)


def screws_length(S: ArrayLike) -> Array:
    """Length (...) that measures screws (..., 6, k), the angular part first, whatever the units of both.

    It is the ratio of their two parts, or 0.1 where that, which may be rounding, is less; 1 where nothing turns.
    """
    S = np.asarray(S, dtype=float)
    turning, moving = size_of(S[..., :3, :]), size_of(S[..., 3:, :])
    ratio = np.maximum(moving / np.where(turning > 0.0, turning, 1.0), 0.1)
    return np.asarray(np.where(turning > 0.0, ratio, 1.0), dtype=np.float64)


def unit_screws(S: ArrayLike) -> Array:
    """Screws (..., 6, k) with lengths measured by `screws_length`, each of length one; zero where one is rounding."""
    S = np.asarray(S, dtype=float)
    parts = np.concatenate([S[..., :3, :], S[..., 3:, :] / screws_length(S)[..., None, None]], axis=-2)
    lengths = np.linalg.norm(parts, axis=-2)
    known = lengths > ROUNDING * lengths.max(axis=-1, initial=0.0)[..., None]
    unit = np.where(known[..., None, :], parts / np.where(known, lengths, 1.0)[..., None, :], 0.0)
    return np.asarray(unit, dtype=np.float64)


def screws_rank(S: ArrayLike) -> NDArray[np.intp]:
    """Rank (...) of screws (..., 6, k), the angular part first, whatever the units of lengths and of the screws.

    Lengths are measured by the screws' own (`screws_length`).
    """
    unit = unit_screws(S)
    return rank_of(unit, scale=np.ones(unit.shape[:-2]), tolerance=DEPENDENT)


def without_rounding(A: ArrayLike, scale: ArrayLike, *, tolerance: float = ROUNDING) -> Array:
    """A (..., m, n) with zeros in rows whose length is not more than tolerance times the scale (...)."""
    A = np.asarray(A, dtype=float)
    known = np.linalg.norm(A, axis=-1) > tolerance * np.asarray(scale)[..., None]
    return np.where(known[..., None], A, 0.0)


def inverse_response(A: ArrayLike, response: ArrayLike, *, scale: float | None = None) -> Array:
    """(A M^-1 A^T)+ (m, m), with response = M^-1 A^T (n, m): the forces of rows that make accelerations along them.

    Rows may have different units, and may be redundant: each is measured by its own mobility, unless it is rounding
    beside the scale: by default the size of A, or 1e-2 (rad or m a rad or m) where all of A is less.
    """
    A = np.asarray(A, dtype=float)
    held = np.linalg.norm(A, axis=-1) > ROUNDING * (np.hypot(size_of(A), UNTOLD) if scale is None else scale)
    G = np.where(held[:, None] & held, A @ np.asarray(response, dtype=float), 0.0)
    lengths = np.sqrt(np.maximum(np.diagonal(G), 0.0))
    unit = np.where(lengths > 0.0, 1.0 / np.where(lengths > 0.0, lengths, 1.0), 0.0)
    # squares of lengths, and forces are the shortest in the rows' own measures
    found = pseudoinverse(unit[:, None] * G * unit, scale=1.0, tolerance=SQUARED)
    return np.asarray(unit[:, None] * found * unit, dtype=np.float64)


#: of squared lengths, whose own rounding is 1e-16
SQUARED = 1e-12
