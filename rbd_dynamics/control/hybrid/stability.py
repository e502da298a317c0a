# SPDX-License-Identifier: Apache-2.0
"""Which gains of hybrid position/force control are stable on real contacts, actuators and sensors.

Along the normal, for an effective mass m against a contact of stiffness k and damping d, with torques that come
through the actuators' lag G = 1 / (1 + s T_a), force readings that are T_f late and joint states that are T_v late, the
loop is (theory.md section 8), divided by m, with w^2 = k / m and d / m = 2 zeta w:

    s^2 + c G e^(-s T_v) s + (w^2 + 2 zeta w s) (1 + G e^(-s T_f) ki / s) = 0

c the normal damping, ki the gain of the force error's integral. Without lag and delay Routh's condition is
ki < (c + 2 zeta w)(1 + 2 zeta ki / w): ki < c is stable on every contact. With them what counts is the phase at w.
A motion without contact, task, posture or holding, is s^2 + G e^(-s T_v) (kd s + kp + kI / s) = 0.

Both are looked at as they are computed, sampled: the largest eigenvalue of the step from one period to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import Law

Array = NDArray[np.float64]

STIFFNESSES = (1e3, 1e6)  # N/m, of contacts
MASSES = (0.3, 30.0)  # kg, effective, of arms
FREQUENCIES = np.geomspace(math.sqrt(STIFFNESSES[0] / MASSES[1]), math.sqrt(STIFFNESSES[1] / MASSES[0]), 40)  # rad/s
SLACK = 1e-9  # of an eigenvalue's size
STIFFER = 10.0  # times the stiffness of holding may be added to it: what is to be soft stays so
SPARE = 1.5  # times the gains are stable: links may be so much lighter than a model has them
HALVINGS = 7  # of what is looked through for that


@dataclass(frozen=True)
class Plant:
    """What stands between a command and what is felt of it.

    actuator_bandwidth: Hz, of a lag of first order; 0: none. sensor_delay: s, of the wrench. state_delay: s, of joint
    states. period: s, of control. contact_damping: ratio of the damping of contact, tool and arm to the critical one.
    """

    _: KW_ONLY
    actuator_bandwidth: float = 30.0
    sensor_delay: float = 0.005
    state_delay: float = 0.001
    period: float = 1e-3
    contact_damping: float = 0.05


def contact_problem(gains: HybridGains, plant: Plant) -> str:
    """Why the gains of the force are not stable on a contact of 1e3 to 1e6 N/m; empty if they are on all of them."""
    c, ki = gains.normal_damping, gains.ki
    if ki and ki >= c:
        return (
            f"ki = {ki:g} is not below normal_damping = {c:g}: unstable on a contact that gives and has little damping"
        )
    for w in FREQUENCIES:
        if contact_radius(c, ki, float(w), plant) > 1.0 + SLACK:
            blamed = "normal_damping" if contact_radius(c, 0.0, float(w), plant) > 1.0 + SLACK else "ki"
            return (
                f"{blamed} = {getattr(gains, blamed):g} is unstable with {_named(plant)} on a contact of "
                f"{w * w:.2g} N/m for each kg: lower it"
            )
    return ""


def task_problem(gains: HybridGains, law: Law, plant: Plant, *, holonomic: Sequence[bool] = (True,)) -> str:
    """Why the gains of the task, or of the posture, are not stable; empty if they are.

    holonomic: which task rows have an h; kp counts for nothing in the others.
    """
    full = gains.of_law(law)
    pairs = np.broadcast(np.where(holonomic, np.asarray(full.kp), 0.0), np.atleast_1d(np.asarray(full.kd)))
    for kp, kd in {(float(kp), float(kd)) for kp, kd in pairs}:
        ki = gains.task_ki * kp
        loop = (kp, kd, ki) if law == "geometric" else (kp * kd + ki, kp + kd, kd * ki)
        if motion_radius(*loop, plant) > 1.0 + SLACK:
            which = "task_ki" if motion_radius(*loop[:2], 0.0, plant) <= 1.0 + SLACK else "kp"
            value = gains.task_ki if which == "task_ki" else kp
            return f"{which} = {value:g} with kd = {kd:g} is unstable with {_named(plant)}"
    if motion_radius(gains.posture_kp, gains.posture_kd, 0.0, plant) > 1.0 + SLACK:
        return (
            f"posture_kp = {gains.posture_kp:g} with posture_kd = {gains.posture_kd:g} is unstable with {_named(plant)}"
        )
    return ""


def hold_problem(stiffness: float, damping: float, plant: Plant) -> str:
    """Why the gains of holding are not stable; empty if they are."""
    if motion_radius(stiffness, damping, 0.0, plant) > 1.0 + SLACK:
        return f"hold_stiffness = {stiffness:g} with hold_damping = {damping:g} is unstable with {_named(plant)}"
    return ""


@lru_cache(maxsize=64)
def load_rate(stiffness: float, damping: float, plant: Plant) -> float:
    """1/s, with which holding of that stiffness (1/s^2) and damping (1/s) may look for a load that it does not know.

    What it finds adds so many times the damping to the stiffness, and itself to the damping (see `UnknownLoad`).
    `SPARE` times as much is stable as well: links may be lighter than the model has them. Zero where nothing more is.
    """
    most = STIFFER * stiffness / damping if damping else 0.0

    def stable(rate: float) -> bool:
        kp, kd = SPARE * (stiffness + rate * damping), SPARE * (damping + rate)
        return motion_radius(kp, kd, 0.0, plant) <= 1.0 + SLACK

    if not most or not stable(0.0):
        return 0.0
    if stable(most):
        return most
    least = 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if stable(middle) else (least, middle)
    return least


def contact_radius(damping: float, ki: float, frequency: float, plant: Plant) -> float:
    """Largest eigenvalue of a period of the loop along the normal, for w = `frequency` rad/s; below 1 is stable."""
    w, zeta = frequency, plant.contact_damping
    felt = np.array([-w * w, -2.0 * zeta * w])  # force per kg of (x, v)
    return _radius(felt, np.array([0.0, -damping]), (felt, ki), plant, plant.sensor_delay)


def motion_radius(kp: float, kd: float, ki: float, plant: Plant) -> float:
    """The same for a motion under kp, kd and the integral's gain ki (1/s^2, 1/s, 1/s^3)."""
    return _radius(np.zeros(2), np.array([-kp, -kd]), (np.array([-1.0, 0.0]), ki), plant, plant.state_delay)


def _radius(natural: Array, feedback: Array, integral: tuple[Array, float], plant: Plant, late: float) -> float:
    """Spectral radius of the step of (x, v, torque), the integral, and the readings on their way.

    natural: acceleration by (x, v) themselves. feedback: commanded acceleration by (x, v). integral: what it sums over
    (x, v), and its gain.
    """
    moved = _moved(tuple(natural), plant.actuator_bandwidth, plant.period)
    states, forces = (max(0, math.ceil(t / plant.period - 1e-9)) for t in (plant.state_delay, late))
    most = max(states, forces)
    n = 4 + 2 * most  # x, v, actuator, integral, then (x, v) of 1, 2, ... periods ago
    step = np.zeros((n, n))
    command = np.zeros(n)
    place = [slice(0, 2), *(slice(4 + 2 * k, 6 + 2 * k) for k in range(most))]
    command[place[states]] += feedback
    step[3, 3] = 1.0
    step[3, place[forces]] += plant.period * integral[0]
    command += integral[1] * step[3]
    step[:3, :3] = moved[:3, :3]
    step[:3] += np.outer(moved[:3, 3], command)
    for k in range(1, most + 1):
        step[place[k], place[k - 1]] = np.eye(2)
    return float(np.abs(np.linalg.eigvals(step)).max())


@lru_cache(maxsize=256)
def _moved(natural: tuple[float, float], bandwidth: float, period: float) -> Array:
    """exp of one period of (x, v, actuator) under a constant command, which is the fourth."""
    A = np.zeros((4, 4))
    A[0, 1], A[1, :2] = 1.0, natural
    if bandwidth:
        A[1, 2], A[2, 2], A[2, 3] = 1.0, -2.0 * math.pi * bandwidth, 2.0 * math.pi * bandwidth
    else:
        A[1, 3] = 1.0
    moved = _exponential(period * A)
    if not bandwidth:
        moved[2] = 0.0  # there is no such state
    return moved


def _exponential(A: Array) -> Array:
    """exp(A) by squaring its Taylor polynomial."""
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(A).sum(axis=1).max()), 1e-300))) + 4)
    small = A / 2.0**halvings
    total = term = np.eye(len(A))
    for k in range(1, 13):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return np.asarray(total)


def _named(plant: Plant) -> str:
    actuators = f"actuators of {plant.actuator_bandwidth:g} Hz" if plant.actuator_bandwidth else "these actuators"
    rate = f", with states at {1.0 / plant.period:.0f} Hz" if plant.period > Plant.period else ""
    return f"{actuators}, forces {1e3 * plant.sensor_delay:g} ms and states {1e3 * plant.state_delay:g} ms late{rate}"
