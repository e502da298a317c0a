# SPDX-License-Identifier: Apache-2.0
"""A simulation from a state on for a given time, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.simulation import Simulation

Array = NDArray[np.float64]
MOST_STEPS = 1e9  # hours of computing


class Sample(NamedTuple):
    """One moment of a rollout."""

    time: float  # s since its begin
    q: Array
    v: Array
    a: Array
    tau: Array
    multipliers: Array  # of the constraints, (0,) without
    energy: float  # kinetic and potential, J
    violation: float  # largest of a constraint, m or rad


def rollout(
    simulation: Simulation,
    efforts: Callable[[float], Array],
    duration: float,
    period: float,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Sample]:
    """Samples every `period` seconds, the first at once, of a simulation whose brakes are off.

    efforts: of the time since the begin, (nv), held during a step. The simulation's state moves on. stop: asked
    before each step; true ends it with a sample of where it is. Raises ValueError for times that make no sense or
    want more than `MOST_STEPS`, SimulationDiverged where it does.
    """
    step = simulation.options.step
    check_times(step, duration, period)
    robot, every = Robot(simulation.model), max(1, round(period / step))
    dofs = np.arange(simulation.model.nv)
    steps = round(duration / step)
    yield _sample(simulation, robot, 0.0)
    for k in range(steps):
        if stop():
            if k % every:
                yield _sample(simulation, robot, k * step)
            return
        simulation.command(efforts(k * step), dofs)
        simulation.advance(1)
        if (k + 1) % every == 0:
            yield _sample(simulation, robot, (k + 1) * step)


def check_times(step: float, duration: float, period: float) -> int:
    """How many samples there will be. Raises ValueError for times that make no sense or that would never end."""
    if not (np.isfinite(duration) and duration > 0.0):
        raise ValueError(f"duration {duration} must be positive")
    if not step * (1 - 1e-9) <= period <= duration * (1 + 1e-9):
        raise ValueError(f"sample_period {period} must be between the step {step} and the duration {duration}")
    if duration / step > MOST_STEPS:
        raise ValueError(
            f"duration {duration:g} takes {duration / step:.3g} steps of {step:g} s: more than {MOST_STEPS:g}"
        )
    return 1 + round(duration / step) // max(1, round(period / step))


def _sample(simulation: Simulation, robot: Robot, time: float) -> Sample:
    q, v = simulation.q.copy(), simulation.v.copy()
    of = simulation.constraints
    violation = 0.0
    if of is not None:
        violation = float(np.abs(robot.constraint_rows(q, v, of).h).max())
    energy = float(robot.kinetic_energy(q, v) + robot.potential_energy(q))
    multipliers = simulation.multipliers.copy()
    return Sample(time, q, v, simulation.a.copy(), simulation.tau.copy(), multipliers, energy, violation)
