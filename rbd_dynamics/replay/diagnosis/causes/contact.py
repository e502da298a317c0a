# SPDX-License-Identifier: Apache-2.0
"""Contact, or another thing that does not last: a few short blocks of time that stand out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes.base import Case, CauseKind

Array = NDArray[np.float64]

MOST = 0.3  # of the blocks; what is everywhere is no contact
CONTRAST = 10.0  # at least, of the mean square in contact, to that elsewhere


class Contact(CauseKind):
    name = "contact"
    words = {"contact": "contact, or something else that does not last"}
    caveats = {"contact": "most of the residual is transient, as from a contact"}
    fitted = False

    def left(self, case: Case, chosen: Sequence[CauseKind], current: Array) -> Array | None:
        """What is left as if all blocks were like those without contact; None where no few blocks stand out."""
        found = standing_out(case, chosen)
        if found is None:
            return None
        apart, power, samples = found
        free = power[~apart] @ samples[~apart] / samples[~apart].sum()
        return np.asarray(current * free / (power @ samples / samples.sum()))


def standing_out(case: Case, chosen: Sequence[CauseKind]) -> tuple[NDArray[np.bool_], Array, NDArray[np.int64]] | None:
    """Which blocks of those that have samples do, with the mean square that is left of each, and its samples."""
    seen = case.samples > 0
    blocks, samples = case.blocks[seen], case.samples[seen]
    apart = np.zeros(len(blocks), dtype=bool)
    for _ in range(4):  # what touched the robot is no part of the fit either
        fit = case.fit(chosen, blocks[~apart].sum(axis=0))
        if fit is None:
            return None
        power = np.maximum(case.squares(fit, blocks), 0.0) / samples
        again = power > CONTRAST * float(np.median(power))
        if again.mean() > MOST:
            return None
        if (again == apart).all():
            break
        apart = again
    return (apart, power, samples) if apart.any() else None
