# SPDX-License-Identifier: Apache-2.0
"""Does what a joint kind says about its motion belong together? A slip in one part would be wrong dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import Array, JointKind
from rbd_dynamics.spatial.arrays import pose_array
from rbd_dynamics.spatial.jets import moving, rate_of

#: relative to the largest entry: of exact derivatives, and of differences over STEP
EXACT, DIFFERENCE, STEP = 1e-9, 1e-5, 1e-4

_EXPECTED = (
    "`transform` gets q as a sequence, uses sin, cos, ... of rbd_dynamics.spatial.scalar (those of math and numpy "
    "take plain numbers only), and returns Transform((rotation,), (x, y, z))"
)


def inconsistency(kind: JointKind, lower: float = -np.inf, upper: float = np.inf) -> str:
    """What does not belong together at a random configuration within the limits; "" if everything does.

    Raises ModelError with the cause where a part cannot be computed at all.
    """
    try:
        return _contradiction(kind, lower, upper)
    except NotImplementedError as error:
        raise ModelError("it gives no `transform`, the pose T(q)") from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelError(f"{error}; {_EXPECTED}") from error


def _contradiction(kind: JointKind, lower: float, upper: float) -> str:
    rng = np.random.default_rng(1)
    q, v = kind.random(rng, lower, upper), rng.uniform(0.5, 1.0, kind.nv)
    at, speeds = q.tolist(), v.tolist()
    here = pose_array(kind.transform(at))
    if not np.isfinite(here).all():
        return f"it has no pose at {at}, which is within its limits"
    first, second = (np.array(rate, dtype=float) for rate in kind.rates(at, speeds))
    there, back = (np.asarray(kind.integrate(q, step * v), dtype=float) for step in (STEP, -STEP))
    if not _close((there - back) / (2.0 * STEP), first, DIFFERENCE):
        return "its `rates` are not those of `integrate`"
    if not _close((there - 2.0 * q + back) / STEP**2, second, 1e3 * DIFFERENCE):
        return "its second `rates` are not those of `integrate`"
    if not _close(here[:3, :3].T @ here[:3, :3], np.eye(3), EXACT):
        return "its `transform` has no rotation matrix"
    if not _close(kind.columns(at), JointKind.columns(kind, at), EXACT):
        return "its `columns` are not the body twists of `transform`"
    jets = moving(at, first.tolist())
    slopes = [[rate_of(x, jets[0].level) for x in column] for column in kind.columns(jets)]
    if not _close(kind.columns_rate(at, speeds), slopes, EXACT):
        return "its `columns_rate` is not the rate of `columns`"
    chain = kind.as_chain()
    if chain is not None:
        pose, start = np.eye(4), 0
        for part in chain:
            pose = pose @ pose_array(part.transform(at[start : start + part.nq]))
            start += part.nq
        if start != kind.nq or not _close(pose, here, EXACT):
            return "its `as_chain` has not the pose of `transform`"
    return ""


def _close(ours: Array | Sequence[Sequence[float]], theirs: Array | Sequence[Sequence[float]], part: float) -> bool:
    one, other = np.array(ours, dtype=float), np.array(theirs, dtype=float)
    if one.shape != other.shape:
        return False
    return bool(np.abs(one - other).max(initial=0.0) <= part * max(1.0, float(np.abs(other).max(initial=0.0))))
