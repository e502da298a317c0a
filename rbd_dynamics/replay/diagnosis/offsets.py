# SPDX-License-Identifier: Apache-2.0
"""Which joints' efforts have an offset, beside inertias, rotors and friction."""

from __future__ import annotations

from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, Regression, falls
from rbd_dynamics.replay.identification.validation import chance


def claimed_offsets(regression: Regression, found: FreeFit) -> set[int]:
    """Places of the joints without whose offset more is left than chance explains, of themselves or of all together.

    Gravity of a body that is described wrongly is nearly constant where a joint moves little: no offset is said then.
    found: fit with the scales and delays of the efforts.
    """
    level = CHANCE / (2.0 * len(regression.joints))

    def is_needed(j: int) -> bool:
        without = regression.fit(found.scales, found.delays, no_offset=[j])
        return min(chance(without.left[:, j], found.left[:, j]), falls(without, found)) <= level

    return {j for j in range(len(regression.joints)) if is_needed(j)}
