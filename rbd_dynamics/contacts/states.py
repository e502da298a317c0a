# SPDX-License-Identifier: Apache-2.0
"""What contacts do at one state: open, at rest, sliding, compliant; and the problem of accelerations that follows.

Where a contact slides its friction is mu f_n opposite to it, so only f_n is unknown: forces are E times the unknowns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.contact import ContactLaws
from rbd_dynamics.contacts.solver import ContactSolver

Array = NDArray[np.float64]


class ContactStates:
    """States of the contacts of one sample: which touch, slide, stick.

    Parameters:
        gap (n): m. velocity (n, 3). touching: a larger gap, m, is open. still: what is slower, m/s, is at rest.

    active (n): carry a force. spring (n): normal force of compliant contacts, N. direction (n, 2): of sliding, zero
    for what is at rest. sliding (n, 2): tangents whose force follows from the normal one.
    """

    def __init__(self, of: ContactLaws, gap: Array, velocity: Array, touching: float, still: float) -> None:
        self.of, self.velocity = of, velocity
        self.compliant = of.compliance > 0.0
        stiffness = 1.0 / np.where(self.compliant, of.compliance, 1.0)
        pushed = -stiffness * gap - of.damping * velocity[:, 0]
        self.spring = np.where(self.compliant & (gap <= 0.0), np.maximum(pushed, 0.0), 0.0)
        held = (gap <= touching) & (velocity[:, 0] <= still)
        self.active = np.where(self.compliant, self.spring > 0.0, held)
        self.direction = of.friction_law.direction(velocity[:, 1:], still)
        self.sliding = of.friction_law.sliding(self.direction)

    def pose(self, solver: ContactSolver, G: Array, acceleration: Array) -> Array:
        """Write the problem; E (3n, 3n), by which forces follow from its unknowns."""
        n = len(self.of)
        E = np.eye(3 * n)
        scale = np.where(np.diagonal(G) > 0.0, np.diagonal(G), 1.0)
        dropped = np.repeat(~self.active, 3)
        for k in np.flatnonzero(self.active & self.sliding.any(axis=1)):
            for i in (0, 1):
                if self.sliding[k, i]:
                    E[3 * k + 1 + i, 3 * k] = -self.of.friction[k] * self.direction[k, i]
                    E[3 * k + 1 + i, 3 * k + 1 + i] = 0.0
                    dropped[3 * k + 1 + i] = True
        given = np.zeros(3 * n, dtype=bool)
        given[::3] = self.compliant & self.active
        solver.delassus[:] = G @ E
        solver.free[:] = acceleration
        replaced = dropped | given
        solver.delassus[replaced] = 0.0
        solver.delassus[replaced, replaced] = scale[replaced]
        solver.free[dropped] = 0.0
        solver.free[3 * np.flatnonzero(~self.active)] = 1.0  # apart: no force
        solver.free[given] = -scale[given] * self.spring[given[::3]]
        solver.friction[:] = self.of.friction
        solver.forces[:] = 0.0
        return E

    def judged(self, motion: Array) -> Array:
        """The motion (n, 3) that has to obey the laws: not that of what is apart, nor what a law of its own rules."""
        judged = motion.copy()
        judged[~self.active] = 0.0
        judged[self.compliant, 0] = 0.0
        judged[:, 1:][self.sliding] = 0.0
        return judged
