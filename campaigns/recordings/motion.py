# SPDX-License-Identifier: Apache-2.0
"""Motions of an arm as recordings have them, friction that it has on the way, and noise of its sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.signal
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.recordings.arms import ranges, robot_of, within

Array = NDArray[np.float64]

REVERSES = 0.01  # rad/s, at which friction turns round
STANDS = 1e-4  # rad/s
FALLS = 0.05  # rad/s, over which breakaway falls to Coulomb friction (Stribeck)


@dataclass(frozen=True)
class Motion:
    """t (N,), and q, v, a (N, nv)."""

    t: Array
    q: Array
    v: Array
    a: Array


def swinging(model: rbd.Model, t: Array, rng: np.random.Generator) -> Motion:
    """Five harmonics of each joint about a posture."""
    lower, upper = ranges(model)
    centre = within(model, rng)
    amplitude = rng.uniform(0.3, 0.9, model.nv) * np.minimum(centre - lower, upper - centre)
    w = 2.0 * np.pi * rng.uniform(0.08, 0.16) * np.arange(1, 6)[:, None]
    phases, shares = rng.uniform(0.0, 2.0 * np.pi, (5, model.nv)), rng.uniform(0.3, 1.0, (5, model.nv))
    x = w * t[:, None, None] + phases
    q = np.sum(shares * np.sin(x), axis=1)
    size = amplitude / np.abs(q).max(axis=0)
    v, a = np.sum(shares * w * np.cos(x), axis=1), -np.sum(shares * w**2 * np.sin(x), axis=1)
    return Motion(t, centre + size * q, size * v, size * a)


def stop_and_go(model: rbd.Model, t: Array, rng: np.random.Generator) -> Motion:
    """From posture to posture by polynomials of degree 5, with half a second to two of rest."""
    q, v, a = np.zeros((3, len(t), model.nv))
    here, now = within(model, rng), 0.0
    while now < t[-1]:
        there, rest = within(model, rng), rng.uniform(0.5, 2.0)
        takes = float(np.abs(there - here).max()) / rng.uniform(0.4, 0.9)
        rows = t >= now
        s = np.clip((t[rows] - now) / takes, 0.0, 1.0)[:, None]
        way = there - here
        q[rows] = here + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        v[rows] = way * 30.0 * s**2 * (1.0 - s) ** 2 / takes
        a[rows] = way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / takes**2
        here, now = there, now + takes + rest
    return Motion(t, q, v, a)


def torque(model: rbd.Model, motion: Motion) -> Array:
    """Torques (N, nv) of the bodies and rotors."""
    return np.asarray(robot_of(model).inverse_dynamics(motion.q, motion.v, motion.a))


def friction(
    model: rbd.Model, motion: Motion, rigid: Array, rng: np.random.Generator, *, breakaway: float, by_load: float
) -> Array:
    """What the drives need besides the rigid torque (N, nv).

    Coulomb friction, at rest `breakaway` times as large and larger by a share of the torque that the gear carries,
    and viscous friction. A joint that stands holds anything in between, the same until it moves again.
    """
    coulomb, viscous = np.array([(joint.friction, joint.damping) for joint in model.joints]).T
    level = coulomb * (1.0 + (breakaway - 1.0) * np.exp(-np.square(motion.v / FALLS))) + by_load * np.abs(rigid)
    found = level * np.tanh(motion.v / REVERSES) + viscous * motion.v
    stands = np.abs(motion.v) < STANDS
    for joint in range(model.nv):
        edges = np.flatnonzero(np.diff(stands[:, joint].astype(int), prepend=0, append=0)).reshape(-1, 2)
        for begin, end in edges:
            if end - begin > 5:
                found[begin:end, joint] += rng.uniform(-0.8, 0.8) * coulomb[joint]
    return found


def noise(shape: tuple[int, int], rate: float, rng: np.random.Generator, *, colour: float, coupled: float) -> Array:
    """Noise of one unit's deviation (N, nv), kept for `colour` s, of which a share is the same in all joints."""
    found = np.sqrt(1.0 - coupled) * rng.normal(size=shape) + np.sqrt(coupled) * rng.normal(size=(shape[0], 1))
    if colour:
        kept = np.exp(-1.0 / (colour * rate))
        found = scipy.signal.lfilter([np.sqrt(1.0 - kept**2)], [1.0, -kept], found, axis=0)
    return np.asarray(found)
