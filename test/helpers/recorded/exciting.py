# SPDX-License-Identifier: Apache-2.0
"""Motion of robots that are known exactly: Fourier series, noise as sensors have it, the filter of a replay."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from helpers.models.robots import shared_robot
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model import Model
from rbd_dynamics.replay import Segment
from rbd_dynamics.replay.signals.filtering import LowPass, SegmentSignals

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

RATE = 100.0
LOW_PASS = LowPass(10.0, 4, RATE)
FIRST = 1_700_000_000 * 10**9  # ns
# standard deviations of the noise: rad, rad/s, and share of each joint's torque, but at least so many N m
POSITION_NOISE, VELOCITY_NOISE, TORQUE_NOISE, LEAST_TORQUE_NOISE = 2e-5, 5e-4, 0.02, 0.02


def fourier(model: Model, t: Array, seed: int = 1, base: float = 0.1, speed: float = 0.7) -> tuple[Array, Array, Array]:
    """q, v, a (N, nv) of five harmonics of `base` Hz about the middle of the joints' ranges, `speed` rms in rad/s."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * base * np.arange(1, 6)[:, None]
    sines, cosines = rng.normal(size=(2, 5, model.nv)) * speed / np.sqrt(5.0)
    x = t[:, None] * w[:, 0]
    s, c = np.sin(x), np.cos(x)
    limits = [joint.limits for joint in model.joints]
    middle = np.array([0.5 * (x.lower + x.upper) if np.isfinite(x.lower) else 0.5 for x in limits])
    q = middle + s @ (sines / w) - c @ (cosines / w)
    return q, c @ sines + s @ cosines, c @ (cosines * w) - s @ (sines * w)


def swing(model: Model, t: Array, centre: Array, amplitude: Array, seed: int = 1) -> tuple[Array, Array, Array]:
    """q, v, a (N, nv) of five harmonics of 0.25 Hz about `centre` (nv,), rad, each joint up to its `amplitude`."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * 0.25 * np.arange(1, 6)
    phases = rng.uniform(0.0, 2.0 * np.pi, (5, model.nv))
    shares = rng.uniform(0.5, 1.0, (5, model.nv))
    x = w[:, None] * t[:, None, None] + phases
    q = np.sum(shares * np.sin(x), axis=1)
    size = amplitude / np.abs(q).max(axis=0)
    v, a = (np.sum(shares * part, axis=1) for part in (w[:, None] * np.cos(x), -(w[:, None] ** 2) * np.sin(x)))
    return centre + size * q, size * v, size * a


def stamps_of(t: Array) -> Stamps:
    return FIRST + np.rint(t * 1e9).astype(np.int64)


def measured(
    model: Model,
    seed: int | None,
    duration: float = 60.0,
    offset: Array | float = 0.0,
    stribeck: tuple[float, float] | None = None,
    colour: float = 0.0,
    noise: float = 1.0,
    **motion: float,
) -> tuple[Stamps, Array]:
    """Stamps (N,) and positions, velocities, efforts (N, 3, nv), the efforts with the model's friction.

    seed: of the noise, None for none. stribeck: (breakaway over Coulomb friction, speed). colour: time constant of the
    noise of torques, s. noise: that of torques is so many times the usual.
    """
    t = np.arange(int(duration * RATE)) / RATE
    q, v, a = fourier(model, t, **motion)
    effort = efforts(model, q, v, a) + offset
    if stribeck is not None:
        coulomb = np.array([joint.friction for joint in model.joints])
        effort += (stribeck[0] - 1.0) * coulomb * np.exp(-((v / stribeck[1]) ** 2)) * np.tanh(v / 1e-2)
    return stamps_of(t), with_noise(q, v, effort, seed, colour, noise)


def efforts(model: Model, q: Array, v: Array, a: Array) -> Array:
    """Torques (N, nv), with the model's friction and rotors."""
    return inverse_dynamics_terms(shared_robot(model), q, v, a, ("inertia", "coriolis", "gravity", "friction"))


def with_noise(q: Array, v: Array, effort: Array, seed: int | None, colour: float = 0.0, noise: float = 1.0) -> Array:
    """Positions, velocities, efforts (N, 3, nv) as sensors have them; the other arguments as of `measured`."""
    found = np.stack([q, v, effort], axis=1)
    if seed is not None:
        errors = np.random.default_rng(seed).normal(size=found.shape)
        if colour:
            kept = np.exp(-1.0 / (colour * RATE))
            errors[:, 2] = scipy.signal.lfilter([np.sqrt(1.0 - kept**2)], [1.0, -kept], errors[:, 2], axis=0)
        deviations = np.empty((3, effort.shape[1]))
        deviations[0], deviations[1] = POSITION_NOISE, VELOCITY_NOISE
        deviations[2] = noise * np.maximum(TORQUE_NOISE * effort.std(axis=0), LEAST_TORQUE_NOISE)
        found += deviations * errors
    return found


def segments_of(stamps: Stamps, numbers: Array, block: int = 2000) -> list[Segment]:
    """What `replay.segments` makes of joint states (N, 3, nv) that come without jitter or loss."""
    everything = np.ones(numbers.shape[2], dtype=bool)
    edge = int(2.0 * RATE / LOW_PASS.cutoff)
    signals = SegmentSignals(LOW_PASS, everything, int(stamps[0]), 1.0 / RATE, 1.5 / RATE, edge, block)
    found = []
    fed = [signals.feed(stamps[k : k + block], numbers[k : k + block]) for k in range(0, len(stamps), block)]
    for piece in itertools.chain(*fed, signals.finish()):
        t = (piece.start + np.arange(len(piece.filled))) / RATE
        q, _, tau = (signal.T for signal in piece.signals)
        v, a, raw = piece.velocity.T, piece.acceleration.T, piece.raw[2].T
        at = int(stamps[0]) + np.rint(t * 1e9).astype(np.int64)
        found.append(Segment(0, piece.start, at, t, q, v, a, tau, raw, everything, piece.filled))
    return found
