# SPDX-License-Identifier: Apache-2.0
"""One Runge-Kutta step for motions with rotations, of fourth order (Munthe-Kaas).

Within a step the motion is q exp(x) with x small. The rate of x is not the velocity but
J_r(x)^-1 times it; with that, the classical scheme keeps its order, and q never leaves the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def group_step(
    q: Any,
    v: Any,
    h: float,
    acceleration: Callable[[Any, Any], Any],
    moved: Callable[[Any, Any], Any],
    jacobian_inverse: Callable[[Any], Any],
) -> tuple[Any, Any]:
    """(q, v) after the time h [s].

    v: body velocity. acceleration(q, v): its rate. moved(q, x): q exp(x). jacobian_inverse(x):
    J_r(x)^-1, of SO(3) or SE(3) as v is.
    """
    stages = []
    x, velocity = np.zeros_like(v), v
    for part in (0.5, 0.5, 1.0, None):
        at = moved(q, x) if stages else q
        stages.append((jacobian_inverse(x) @ velocity, acceleration(at, velocity)))
        if part is not None:
            x, velocity = part * h * stages[-1][0], v + part * h * stages[-1][1]
    (x1, a1), (x2, a2), (x3, a3), (x4, a4) = stages
    return moved(q, h / 6 * (x1 + 2 * x2 + 2 * x3 + x4)), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
