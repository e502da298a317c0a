# SPDX-License-Identifier: Apache-2.0
"""One rigid body over generic scalars: momentum, wrench and energy in its own frame (000 section 1)."""

from __future__ import annotations

from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Vec6, ad, ad_dual, add6, dot6, sub6


def twist_derivative(frame_twist: Vec6, x: Vec6, rate: Vec6) -> Vec6:
    """dX/dt = Xdot + ad_V X: of a twist-like X given in a frame that moves at V (000 lemma 1).

    `rate` is the rate of X's components; the result is in the same moving frame.
    """
    return add6(rate, ad(frame_twist, x))


def wrench_derivative(frame_twist: Vec6, y: Vec6, rate: Vec6) -> Vec6:
    """dY/dt = Ydot - ad*_V Y: of a wrench-like Y given in a frame that moves at V (000 lemma 2)."""
    return sub6(rate, ad_dual(frame_twist, y))


def net_wrench(inertia: RigidInertia, twist: Vec6, acceleration: Vec6) -> Vec6:
    """F = dL/dt = I Vdot - ad*_V I V: what must act on the body (000 equation 31)."""
    return wrench_derivative(twist, inertia * twist, inertia * acceleration)


def kinetic_energy(inertia: RigidInertia, twist: Vec6) -> Scalar:
    """V^T I V / 2 [J] (000 equation 15)."""
    return 0.5 * dot6(twist, inertia * twist)
