# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms and their Jacobians of arrays: the formulas of `lie`, as machine code where that can be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbd_dynamics.common import machine_code
from rbd_dynamics.spatial import lie
from rbd_dynamics.spatial.entries import Array, Entries, entries_of_map, join, pose_of_twist, split, twist_of_pose


def formula(
    name: str, function: Callable[[Any], Entries], taken: tuple[int, ...], given: tuple[int, ...]
) -> Callable[[ArrayLike], Array]:
    """The function from arrays (..., *taken) to arrays (..., *given), of one over the entries of a sample.

    Where there is a compiler it is machine code: loaded at the first call in a process, which takes some milliseconds,
    and made at the first on a machine. What that refuses, such as numbers that are not finite, goes through `function`
    itself, and so does all where there is no compiler. The same formula is behind both.
    """
    call: Callable[[ArrayLike, Array], Array | None] = _refuse  # that of the kernel, once it is there
    empty = np.empty

    @cache
    def kernel() -> Any:
        nonlocal call
        found = None if machine_code.maker is None else machine_code.maker(name, function, taken, given)
        if found is not None:
            call = found.call
        return found

    def of_anything(x: ArrayLike) -> Array:
        values = np.asarray(x, dtype=float)
        lead = values.shape[: max(0, values.ndim - len(taken))]
        if values.shape == (*lead, *taken) and values.size and (several := kernel()) is not None:
            rows, found = np.require(values, requirements=["C", "A"]), np.empty((*lead, *given))
            rows, results = rows.reshape(-1, *taken), found.reshape(-1, *given)
            if several.many(len(rows), [rows], [results]) == 0:
                return found
        return join(function(split(values, *taken)), *given)

    def of_array(x: ArrayLike) -> Array:  # a closure, not an object: half of the time of a call
        found = call(x, empty(given))  # takes one sample, contiguous doubles
        return of_anything(x) if found is None else found

    return of_array


def _refuse(x: ArrayLike, found: Array) -> None:
    """The call of a kernel that is not there."""


def _jacobian(times: Callable[[Any, Any], Entries], size: int) -> Callable[[ArrayLike], Array]:
    """times: the Jacobian at the first argument, times the second."""
    return formula(times.__name__, lambda at: entries_of_map(lambda x: times(at, x), size), (size,), (size, size))


exp_so3 = formula("exp_so3", lie.exp_so3, (3,), (3, 3))
log_so3 = formula("log_so3", lie.log_so3, (3, 3), (3,))
left_jacobian_so3 = _jacobian(lie.left_jacobian_so3, 3)
left_jacobian_inverse_so3 = _jacobian(lie.left_jacobian_inverse_so3, 3)
right_jacobian_so3 = _jacobian(lie.right_jacobian_so3, 3)
right_jacobian_inverse_so3 = _jacobian(lie.right_jacobian_inverse_so3, 3)

exp_se3 = formula("exp_se3", pose_of_twist, (6,), (4, 4))
log_se3 = formula("log_se3", twist_of_pose, (4, 4), (6,))
left_jacobian_se3 = _jacobian(lie.left_jacobian_se3, 6)
left_jacobian_inverse_se3 = _jacobian(lie.left_jacobian_inverse_se3, 6)
right_jacobian_se3 = _jacobian(lie.right_jacobian_se3, 6)
right_jacobian_inverse_se3 = _jacobian(lie.right_jacobian_inverse_se3, 6)
