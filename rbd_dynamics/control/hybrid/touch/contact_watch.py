# SPDX-License-Identifier: Apache-2.0
"""Whether a tool that presses still touches what it pressed on, and whether that holds against it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUGHNESS = 2e-4  # m
ASIDE = 0.02  # s: what is felt aside of a contact that is lost is something else
CUT = 0.5  # of the push, and of the wanted force


class ContactWatch:
    """Counts how long nothing was felt.

    Parameters:
        rows (m): which of the constraints can be left.

    Attributes:
        touched (m): values of the constraints where contact was felt last.
        without: s, since contact was felt last. lost: s, of these, in which the tool was where it had touched, or
            inside; a tool that has bounced is to come back. beyond: s, of these, in which it was inside. aside: s, in
            which something was felt beside the constraints.
    """

    def __init__(self, rows: Mask) -> None:
        self._rows = rows
        self.touched = np.zeros(len(rows))
        self.without = self.lost = self.beyond = self.aside = 0.0

    def begin(self, h: Array) -> None:
        """It touches, at values h (m) of the constraints."""
        self.touched[:] = h
        self.without = self.lost = self.beyond = self.aside = 0.0

    def update(self, touches: bool, h: Array, dt: float, *, aside: bool = False) -> None:
        """A state dt seconds after the last, at values h (m) of the constraints. aside: something is felt beside."""
        if touches:
            self.begin(h)
            return
        self.without += dt
        outside = (h - self.touched)[self._rows]
        if not (outside > ROUGHNESS).any():
            self.lost += dt
        if (outside < -ROUGHNESS).any():
            self.beyond += dt
        self.aside = self.aside + dt if aside else 0.0

    def not_found(self, unfelt: bool, beside: float, least: float, timeout: float) -> str:
        """Why a contact is not sought any longer; empty if it is.

        unfelt: the tool stands where it is pushed. beside: N, felt beside the constraints; least: N, that tell contact
        from none. timeout: s, that the contact may be lost.
        """
        if self.aside > ASIDE or unfelt and beside > 2.0 * least:
            return f"contact lost: something is in the way, with {beside:.3g} N beside the constraints"
        if unfelt:
            return "contact lost: the sensor feels nothing, though something is in the way"
        return "contact lost" if self.beyond > timeout else ""


class GivingWay:
    """Counts how long a surface has given way: the push is cut for the tool's speed, and what is felt does not grow.

    A tool that slips off an edge still feels the edge's side, and a part that is pushed away its friction.

    Attributes:
        time: s, so far. felt: N, when it began.
    """

    def __init__(self) -> None:
        self.time = self.felt = self._now = 0.0

    def update(self, share: float, felt: float, wanted: float, least: float, dt: float) -> None:
        """share: of the wanted force (N) that may push. felt: N; it has grown where it is more by `least` (N)."""
        if share >= CUT or felt >= CUT * wanted or felt > self.felt + least:
            self.time, self.felt = 0.0, felt
        else:
            self.time, self._now = self.time + dt, felt

    def words(self, speed: float) -> str:
        """speed: m/s, of the tool into the surface."""
        return f"contact lost: what is pressed gives way, at {1e3 * speed:.3g} mm/s under {self._now:.3g} N"
