# SPDX-License-Identifier: Apache-2.0
"""Order of each integration method, measured: the error after a second at steps that are halved.

Two systems that move smoothly: an arm of two links that swings, and a body that tumbles with two links on it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Revolute
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions

Array = NDArray[np.float64]

METHODS = ("explicit_euler", "semi_implicit_euler", "rk4")
STEPS = {"explicit_euler": 2.5e-4, "semi_implicit_euler": 2.5e-4, "rk4": 8e-3}  # s, the longest
SECONDS = 0.96


def system(free: bool) -> tuple[rbd.Model, Array, Array]:
    """A model and where it starts: q and v."""
    builder = rbd.ModelBuilder("arm", gravity=(0.0, 0.0, 0.0) if free else (0.0, 0.0, -9.81))
    part = {"mass": 2.0, "com": (0.1, -0.05, 0.2), "inertia": np.diag([0.02, 0.03, 0.04])}
    if free:
        builder.add_body("base", None, Floating(), **part)
    builder.add_body("upper", "base" if free else None, Revolute((0.0, 1.0, 0.0)), **part)
    builder.add_body("lower", "upper", Revolute((1.0, 0.0, 0.0)), placement=(0.0, 0.0, 0.4), **part)
    model = builder.build()
    q = np.append(model.neutral()[:-2], [0.3, -0.4])
    v = np.append([0.3, 2.0, -0.4, 0.5, 0.2, -0.1] if free else [], [1.0, -1.5])
    return model, q, v


def motion(free: bool, method: str, step: float, **options: float) -> tuple[Array, Array]:
    """Position and velocity after SECONDS."""
    model, q, v = system(free)
    chosen = SimulationOptions(step=step, integrator=method, start_braked=False, friction=False, **options)  # type: ignore[arg-type]
    simulation = Simulation(model, q=q, options=chosen)
    simulation.v = v.copy()
    simulation.advance(round(SECONDS / step))
    return simulation.q, simulation.v


@cache
def reference(free: bool) -> tuple[Array, Array]:
    """By the adaptive method."""
    return motion(free, "adaptive", 0.04, relative_tolerance=1e-12, absolute_tolerance=1e-12)


def errors(free: bool, method: str, count: int = 3) -> list[float]:
    """At the method's longest step, at half of it and so on: the largest of position (rad, m) and velocity."""
    model = system(free)[0]
    q, v = reference(free)
    found = []
    for k in range(count):
        reached, speed = motion(free, method, STEPS[method] / 2**k)
        found.append(max(np.abs(model.difference(q, reached)).max(), np.abs(speed - v).max()))
    return found


def order(found: list[float]) -> float:
    """Of the last two."""
    return float(np.log2(found[-2] / found[-1]))
