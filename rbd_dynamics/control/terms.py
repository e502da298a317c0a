# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of chosen terms: many robots compensate gravity or friction themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.passive_forces import friction_torque
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

INERTIA, CORIOLIS, GRAVITY, SPRING, FRICTION = TERMS = ("inertia", "coriolis", "gravity", "spring", "friction")
#: what a description knows; friction it often does not, and control laws then chatter
WITHOUT_FRICTION = (INERTIA, CORIOLIS, GRAVITY, SPRING)


def checked_terms(terms: Iterable[str]) -> frozenset[str]:
    """The set of `terms`. Raises ValueError for one that there is not."""
    chosen = list(terms)
    for term in chosen:
        if term not in TERMS:
            raise ValueError(f"unknown term {excerpt(term)}; known: {', '.join(TERMS)}")
    return frozenset(chosen)


def inverse_dynamics_terms(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    terms: Iterable[str],
    *,
    f_ext: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Sum of the chosen terms of M a + C v + N + springs(q) + friction(v), less J^T f_ext: (..., nv).

    `robot` must be one without friction (`Robot(model)`), since friction is a term here.
    """
    chosen = checked_terms(terms)
    v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
    v_eff = v if CORIOLIS in chosen else np.zeros_like(v)
    a_eff = a if INERTIA in chosen else np.zeros_like(a)
    tau = robot.inverse_dynamics(q, v_eff, a_eff, f_ext=f_ext)
    if GRAVITY not in chosen:
        tau = tau - robot.gravity(q)
    if SPRING not in chosen:
        tau = tau - robot.spring_torque(q)
    if FRICTION in chosen:
        tau = tau + robot.friction_torque(v)
    return tau


def inverse_dynamics_by_term(
    robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike, terms: Iterable[str]
) -> tuple[Array, dict[str, Array]]:
    """The sum of the chosen terms, and M a, C v, N, springs(q) and friction(v) by the names of `TERMS`, chosen or not.

    Each (..., nv). `robot` must be one without friction (`Robot(model)`), since friction is a term here.
    """
    chosen = checked_terms(terms)
    coriolis, gravity, spring = robot.coriolis(q, v), robot.gravity(q), robot.spring_torque(q)
    rigid = robot.inverse_dynamics(q, v, a)
    inertia = rigid - coriolis
    inertia -= gravity
    inertia -= spring
    friction = _friction(robot, np.asarray(v, float))
    by_term = {INERTIA: inertia, CORIOLIS: coriolis, GRAVITY: gravity, SPRING: spring, FRICTION: friction}
    if chosen >= {INERTIA, CORIOLIS, GRAVITY, SPRING}:
        return rigid + by_term[FRICTION] if FRICTION in chosen else rigid, by_term
    tau = np.zeros_like(rigid)
    for name in TERMS:
        if name in chosen:
            tau += by_term[name]
    return tau, by_term


def _friction(robot: Robot, v: Array) -> Array:
    """`Robot.friction_torque`; for a batch the same algorithm on arrays, because NumPy vectorises tanh."""
    if v.ndim == 1:
        return robot.friction_torque(v)
    torque = np.empty_like(v)
    for dof, column in enumerate(friction_torque(robot.model, np.ascontiguousarray(v.T))):  # type: ignore[arg-type]
        torque[:, dof] = column
    return torque
