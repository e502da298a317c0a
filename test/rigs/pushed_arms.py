# SPDX-License-Identifier: Apache-2.0
"""Simulated arms with hard friction that are pushed now and then, at rest and in motion; many at once.

They go from point to point under computed torque with a model whose inertias are off by some per cent, and which knows
nothing of friction. Friction is set-valued: it holds a joint at rest up to breakaway, exactly (projected Gauss-Seidel
on impulses, as in Jean and Moreau), and falls to Coulomb's as the joint moves (Stribeck).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.demo.motion import ARM
from rbd_dynamics.demo.panda import DESCRIPTION, JOINT_FRICTION, ROTOR_INERTIA
from rbd_dynamics.simulation.perturbation import perturb_inertias

Array = NDArray[np.float64]

STEP = 5e-3  # s
SWEEPS = 4  # of Gauss-Seidel, which begins with the last step's impulses
STRIBECK_SPEED = 0.05  # rad/s
STIFFNESS, DAMPING = 20.0**2, 2 * 20.0  # of the computed torque, 1/s^2 and 1/s
MOVE, REST = 2.0, 2.0  # s: between points, and at them
SPARE = 1.5  # times a push is the effort limit of the joint that is pushed
RISE, PUSH = 0.05, 0.6  # s
PERIOD = MOVE + REST
REACH = 0.6  # rad: from point to point at most


@dataclass(frozen=True)
class Arm:
    """A robot and how it differs from its description.

    Attributes:
        rotors: inertia of the motors as felt at the joints, kg m^2; the description gets it too.
        friction: Coulomb's of each joint, N m; breakaway is `breakaway` times that; viscous, N m s/rad.
        error: share by which inertias are off.
        noise: of measured efforts, share of each joint's largest gravity torque.
    """

    name: str
    joints: tuple[str, ...]
    home: tuple[float, ...]
    rotors: tuple[float, ...]
    friction: tuple[float, ...]
    viscous: tuple[float, ...]
    breakaway: float = 1.25
    error: float = 0.05
    noise: float = 0.005


@dataclass(frozen=True)
class Push:
    """On one of the arms, from `start` to `end` (s): the largest torque in a joint and its sign; at rest or not."""

    start: float
    end: float
    joint: int
    size: float
    at_rest: bool


@dataclass(frozen=True)
class Run:
    """What was measured: times (N,), positions, velocities, efforts (N, nv); and who pushed."""

    t: Array
    q: Array
    v: Array
    tau: Array
    pushes: tuple[Push, ...]


UR = Arm(
    "ur5_robot",
    tuple(f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")),
    (0.3, -1.2, 1.3, -1.0, -1.2, 0.4),
    (2.0, 2.0, 2.0, 0.4, 0.4, 0.4),
    (12.0, 14.0, 9.0, 2.5, 2.5, 2.0),
    (8.0, 8.0, 6.0, 1.0, 1.0, 1.0),
)
PANDA = Arm(
    DESCRIPTION,
    ARM,
    (0.2, 0.0, -0.2, -1.6, 0.1, 1.7, 0.6),
    ROTOR_INERTIA,
    JOINT_FRICTION,
    (0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05),
)
ARMS = (UR, PANDA)


def description_of(arm: Arm) -> rbd.Model:
    """Its arm only, without friction. Raises KeyError where example-robot-data is not installed."""
    root = ET.parse(robots()[arm.name]).getroot()
    for name, inertia in zip(arm.joints, arm.rotors):
        joint = root.find(f"joint[@name='{name}']")
        assert joint is not None
        dynamics = joint.find("dynamics")
        dynamics = ET.SubElement(joint, "dynamics") if dynamics is None else dynamics
        dynamics.attrib.update(armature=str(inertia), friction="0", damping="0")
    return rbd.load_urdf(ET.tostring(root, encoding="unicode"), joints=list(arm.joints))


def simulate(
    arm: Arm, description: rbd.Model, runs: int, periods: int, seed: int, sizes: tuple[float, float] | None
) -> list[Run]:
    """`runs` recordings of `periods` periods each, with a push of `sizes` (N m, log-uniform) in most; None: in none."""
    rng = np.random.default_rng(seed)
    nominal = rbd.Robot(description)
    nv = description.nv
    other = rbd.Robot(perturb_inertias(description, arm.error, seed=seed))
    points = np.asarray(arm.home) + rng.uniform(-REACH, REACH, (runs, periods + 1, nv))
    pushes = [_pushes(rng, description, periods, sizes) for _ in range(runs)]
    coulomb, viscous = np.array(arm.friction), np.array(arm.viscous)
    steps = int(periods * PERIOD / STEP)
    q, v = points[:, 0].copy(), np.zeros((runs, nv))
    found, impulse = np.empty((3, steps, runs, nv)), np.zeros((runs, nv))
    for k in range(steps):
        t = k * STEP
        q_d, v_d, a_d = _wanted(points, t)
        a = a_d + STIFFNESS * (q_d - q) + DAMPING * (v_d - v)
        tau = nominal.inverse_dynamics(q, v, a)
        found[0, k], found[1, k], found[2, k] = q, v, tau
        outside = np.array([_torque(made, t, nv) for made in pushes])
        inverse = np.linalg.inv(other.mass_matrix(q))
        free = v + STEP * np.einsum("rij,rj->ri", inverse, tau + outside - other.bias(q, v) - viscous * v)
        bend = (arm.breakaway - 1.0) * np.exp(-((v / STRIBECK_SPEED) ** 2))
        v, impulse = _rubbed(free, impulse, inverse, np.asarray(STEP * coulomb * (1.0 + bend), dtype=float))
        q = q + STEP * v
    scale = np.abs(nominal.gravity(points.reshape(-1, nv))).max(axis=0)
    found[2] += arm.noise * np.maximum(scale, 0.1 * scale.max()) * rng.normal(size=found[2].shape)
    found[0] += 1e-5 * rng.normal(size=found[0].shape)
    found[1] += 1e-3 * rng.normal(size=found[1].shape)
    times = np.arange(steps, dtype=float) * STEP
    return [Run(times, found[0, :, r], found[1, :, r], found[2, :, r], pushes[r]) for r in range(runs)]


def _pushes(
    rng: np.random.Generator, model: rbd.Model, periods: int, sizes: tuple[float, float] | None
) -> tuple[Push, ...]:
    """One in each period but the first two, at rest or in motion, on a joint that can bear it."""
    limits = np.array([joint.limits.effort for joint in model.joints])
    found = []
    for period in range(2, periods if sizes is not None else 0):
        assert sizes is not None
        at_rest = bool(rng.integers(2))
        low, high = (MOVE + 0.6, PERIOD - PUSH - 0.3) if at_rest else (0.3, MOVE - PUSH - 0.2)
        start = period * PERIOD + rng.uniform(low, high)
        size = float(np.exp(rng.uniform(*np.log(sizes))))
        joint = int(rng.choice(np.flatnonzero(limits >= min(SPARE * size, limits.max()))))
        found.append(Push(start, start + PUSH, joint, size * rng.choice([-1.0, 1.0]), at_rest))
    return tuple(found)


def _torque(pushes: Sequence[Push], t: float, nv: int) -> Array:
    found = np.zeros(nv)
    for push in pushes:
        if push.start <= t <= push.end:
            found[push.joint] += push.size * min(1.0, (t - push.start) / RISE, (push.end - t) / RISE)
    return found


def _wanted(points: Array, t: float) -> tuple[Array, Array, Array]:
    """From point to point by polynomials of fifth order, then rest."""
    period = min(int(t / PERIOD), points.shape[1] - 2)
    s = min((t - period * PERIOD) / MOVE, 1.0)
    way = points[:, period + 1] - points[:, period]
    if s >= 1.0:
        return points[:, period + 1], np.zeros_like(way), np.zeros_like(way)
    place, speed = 10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4
    bend = 60 * s - 180 * s**2 + 120 * s**3
    return points[:, period] + place * way, speed / MOVE * way, bend / MOVE**2 * way


def _rubbed(free: Array, impulse: Array, inverse: Array, most: Array) -> tuple[Array, Array]:
    """Velocities (runs, nv) after friction impulses of at most `most`, which hold a joint where they can; and those."""
    impulse = np.clip(impulse, -most, most)
    v = free + np.einsum("rij,rj->ri", inverse, impulse)
    for _ in range(SWEEPS):
        for j in range(v.shape[1]):
            before = impulse[:, j].copy()
            impulse[:, j] = np.clip(before - v[:, j] / inverse[:, j, j], -most[:, j], most[:, j])
            v += inverse[:, :, j] * (impulse[:, j] - before)[:, None]
    return v, impulse
