# SPDX-License-Identifier: Apache-2.0
"""Gains of joints from what the joints weigh, and what they promise.

A robot under tau = -K dq - D v, with D = d W, K = s D and a diagonal W of weights, has the modes
e'' + d mu (e' + s e) = 0, one for each eigenvalue mu of M^-1 W (proportional damping, Caughey 1960). Light modes (large
mu) meet the limit of delay and sampling first: it bounds d. Heavy ones (small mu) swing most: their damping ratio
sqrt(d mu / s) / 2 bounds s. So the closer together the eigenvalues are over all postures, the stiffer the robot can be.
As weights serve what a joint weighs with the others held, which suits arms with heavy rotors, and what it weighs at
least with the others free, which suits light wrists, or a geometric mean of the two: whichever makes K largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import LAWS
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

POSTURES = 500  # at random within the limits
MARGIN = 2.0  # of the damping to the largest stable one, where no bandwidth is asked for
DAMPING_RATIO = 0.7  # of the slowest mode
MODES = 12  # eigenvalues that are looked at, from the largest to the smallest
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # exponents of the weights with the others free
LEAST, MOST = 1e-3, 1e6  # 1/s, between which the largest damping is sought
BISECTIONS = 20


class JointGains(NamedTuple):
    """Gains for the feedforward controller, and what they promise over the robot's workspace.

    Attributes:
        joints: names of the joints (n), in the order of the model.
        kp, kd: gains (n), N m/rad and N m s/rad (N/m and N s/m of prismatic joints); 1/s^2 and 1/s of the law
            "computed_torque".
        inertia: what each joint weighs with the others held (n), kg m^2 or kg: the median over the postures.
        stiffness: N m/rad or N/m (n). A torque that the model lacks, such as friction, moves a joint off by that
            torque divided by it.
        bandwidth: Hz, of the slowest motion of all joints together, in any posture.
        margin: by how much kd, and by its square kp, could grow before a posture is unstable.
    """

    joints: tuple[str, ...]
    kp: Array
    kd: Array
    inertia: Array
    stiffness: Array
    bandwidth: float
    margin: float


def joint_gains(
    robot: Robot,
    timing: Timing,
    *,
    bandwidth: float | None = None,
    damping_ratio: float = DAMPING_RATIO,
    computed_torque: bool = False,
    postures: int = POSTURES,
    seed: int = 0,
) -> JointGains:
    """Gains by joint that are stable, sampled and late, in postures at random within the joints' limits.

    Parameters:
        robot: fixed to the world; rotors count where the model has them.
        timing: period of control, delay from a state to its torque, and the actuators' lag.
        bandwidth: Hz, of the slowest motion; default: what leaves a margin of 2.
        damping_ratio: of the slowest motion; faster ones are damped more.
        computed_torque: gains for that law, the same for all joints: the mass matrix multiplies them.
        postures: how many. seed: of the postures.

    Raises ValueError for joints of several degrees of freedom, and for a bandwidth that is not stable.
    """
    model = robot.model
    chosen = [model.joint(name) for name in model.joint_names]
    if not chosen:
        raise ValueError(f"robot {model.name!r} has no joints that could be controlled")
    for joint in chosen:
        if joint.kind.nv != 1:
            raise ValueError(
                f"joint {joint.name!r} has {joint.kind.nv} degrees of freedom: gains are for joints of one"
            )
    rng = np.random.default_rng(seed)
    M = robot.mass_matrix(np.array([model.random(rng) for _ in range(postures)]))
    inertia = np.median(np.diagonal(M, axis1=1, axis2=2), axis=0)
    if computed_torque:
        loops = [_Loop(np.ones(model.nv), np.ones(1), damping_ratio, timing)]
    else:
        free = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2).max(axis=0)
        loops = [_Loop.of(M, inertia ** (1.0 - blend) * free**blend, damping_ratio, timing) for blend in BLENDS]
    loop = max(loops, key=lambda each: float(np.log(each.stiffness(each.largest)).sum()))
    d = loop.largest / MARGIN if bandwidth is None else loop.damping(2.0 * math.pi * bandwidth)
    if d > loop.largest:
        limit = loop.frequency(loop.largest) / (2.0 * math.pi)
        raise ValueError(
            f"a bandwidth of {bandwidth:g} Hz is unstable with {named(timing)}: the limit is {limit:.3g} Hz, and half "
            "of it leaves a margin"
        )
    kp = loop.stiffness(d)
    return JointGains(
        joints=tuple(joint.name for joint in chosen),
        kp=kp,
        kd=d * loop.weights,
        inertia=inertia,
        stiffness=inertia * kp if computed_torque else kp,
        bandwidth=loop.frequency(d) / (2.0 * math.pi),
        margin=loop.largest / d,
    )


def gains_of_faster_law(
    robot: Robot,
    timing: Timing,
    *,
    most: float,
    laws: Sequence[str] = LAWS,
    bandwidth: float | None = None,
    damping_ratio: float = DAMPING_RATIO,
) -> tuple[str, JointGains]:
    """The one of the laws whose slowest motion is faster, and its gains.

    A law that multiplies by the mass matrix is for arms with light joints; with heavy rotors both are as fast.

    Parameters:
        most: Hz, of the slowest motion, where no bandwidth is asked for.

    Raises ValueError where none is stable, and as `joint_gains` does.
    """
    found: list[tuple[str, JointGains]] = []
    problems: list[ValueError] = []
    for law in laws:
        computed_torque = law == "computed_torque"
        asked = partial(joint_gains, robot, timing, damping_ratio=damping_ratio, computed_torque=computed_torque)
        try:
            gains = asked(bandwidth=bandwidth)
            if bandwidth is None and gains.bandwidth > most:
                gains = asked(bandwidth=most)
        except ValueError as problem:
            problems.append(problem)
        else:
            found.append((law, gains))
    if not found:
        raise problems[-1]
    return max(found, key=lambda one: round(one[1].bandwidth, 6))


def named(timing: Timing) -> str:
    """Those numbers in words."""
    lag = f"actuators of {timing.bandwidth:.3g} Hz" if timing.bandwidth else "actuators without lag"
    return f"control at {1.0 / timing.period:.4g} Hz, {1e3 * timing.delay:.3g} ms from a state to its torque, and {lag}"


class _Loop:
    """Feedback of given weights: all else follows from its damping d, 1/s."""

    def __init__(self, weights: Array, mu: Array, damping_ratio: float, timing: Timing) -> None:
        self.weights, self._timing = weights, timing
        self._slowest = float(mu.min())
        self._share = self._slowest / (4.0 * damping_ratio**2)  # s = share d
        self._ratio = damping_ratio
        self._modes = np.geomspace(mu.max(), mu.min(), MODES) if len(mu) > 1 else mu
        self.largest = _largest(self._is_stable)

    @classmethod
    def of(cls, M: Array, weights: Array, damping_ratio: float, timing: Timing) -> _Loop:
        """The loop of a robot with these mass matrices (N, n, n), of N postures."""
        mu = np.array([scipy.linalg.eigh(np.diag(weights), each, eigvals_only=True) for each in M])
        return cls(weights, mu.ravel(), damping_ratio, timing)

    def stiffness(self, d: float) -> Array:
        return self._share * d * d * self.weights

    def frequency(self, d: float) -> float:
        """How fast the slowest mode is, rad/s."""
        return self._slowest * d / (2.0 * self._ratio)

    def damping(self, frequency: float) -> float:
        """Which d gives the slowest mode that frequency, rad/s."""
        return 2.0 * self._ratio * frequency / self._slowest

    def _is_stable(self, d: float) -> bool:
        one = np.eye(1)
        D = [d * mu * one for mu in self._modes.tolist()]
        return all(growth_rate(one, self._share * d * each, each, self._timing) < 0.0 for each in D)


def _largest(is_stable: Callable[[float], bool]) -> float:
    """The largest damping that is stable, 1/s. Slow feedback always is."""
    low, high = LEAST, MOST
    for _ in range(BISECTIONS):
        d = math.sqrt(low * high)
        low, high = (d, high) if is_stable(d) else (low, d)
    return low
