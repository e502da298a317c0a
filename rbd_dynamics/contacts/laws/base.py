# SPDX-License-Identifier: Apache-2.0
"""What a law of friction of one contact is: how much tangential force the normal force lets there be, and which way.

A new law is a file with a `FrictionLaw` and its place in the list of `laws/__init__.py`. The tangential force lies in a
convex set that grows in proportion to the bound mu f_n, and that of what slides takes most power from the motion. All
that solvers, dynamics, impacts and simulations know of a law is said here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SINGULAR = 1e-12  # of a diagonal element: what is left of it below that is rounding
ACCURATE = 1e-14  # relative


def contact_force(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array, w: Array) -> int:
    """found (3): the force of contact k, normal and two tangents, while the others keep theirs; 1 where there is none.

    u = G f + free are the velocities (or accelerations) of the contacts, three rows each: normal, two tangents; u0, u1,
    u2 those of contact k without its own force, G a flat (n, n). w (3) is for its own use. Each law has a function of
    this name and kind, in the part of Python that `compiler.loops` translates.
    """
    raise NotImplementedError


class FrictionLaw(ABC):
    """A law of friction, the same object for all contacts; its methods have no state.

    Attributes:
        name: in options, files and messages.
        loops: `contact_force` of the law, after what it calls.
        as_one: both tangents stick or slide together; else each by itself.
    """

    name: str
    loops: tuple[Callable[..., int], ...]
    as_one = True

    @abstractmethod
    def direction(self, velocity: Array, still: float) -> Array:
        """(n, 2): d of the friction -mu f_n d at tangential velocities (n, 2); zero for what is slower than `still`."""

    @abstractmethod
    def bounded(self, tangential: Array, bound: Array) -> Array:
        """(n, 2): the forces within the bounds (n), mu f_n >= 0, that are nearest to tangential ones (n, 2)."""

    @abstractmethod
    def slope(self, tangential: Array, bound: float, mu: float, normal: float) -> tuple[Array, Array]:
        """Derivatives of `bounded` (of one contact) by the tangential force (2, 2) and by the normal force (2).

        bound: by which it is told whether it slides; normal: the force whose mu-fold it then is.
        """

    @abstractmethod
    def nearest(self, z: Array, mu: float) -> tuple[Array, Array]:
        """The force (3) of the law's cone nearest to z (3), and its derivative by z (3, 3)."""

    def sliding(self, direction: Array) -> NDArray[np.bool_]:
        """(n, 2): which tangential forces follow from the normal force where contacts slide like that (n, 2)."""
        slides: NDArray[np.bool_] = direction != 0.0
        return np.repeat(slides.any(axis=1, keepdims=True), 2, axis=1) if self.as_one else slides
