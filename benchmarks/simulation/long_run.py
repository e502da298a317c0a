# SPDX-License-Identifier: Apache-2.0
"""Momentum and energy over very many steps, by every method.

    python -m benchmarks.simulation.long_run [--steps 1000000] [--step 0.001] [--methods NAME ...]

A free body that tumbles about its middle axis, which is unstable; a free body with two links that swing; and a pendulum
of two links under gravity. Energy is relative to its kinetic part at the start; where it only oscillates, its largest
deviation in the last tenth of the steps is about that in the first. Momentum, linear and angular about the centre of
mass in the world's axes, is relative to its norm at the start.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from rigs import orders

import rbd_dynamics as rbd
from benchmarks.simulation.drift import System, tumbling
from rbd_dynamics.simulation.simulation import (
    INTEGRATORS,
    Integrator,
    Simulation,
    SimulationDiverged,
    SimulationOptions,
)


def links(free: bool) -> System:
    return System(*orders.system(free), lambda alpha: None)


SYSTEMS: dict[str, Callable[[], System]] = {
    "tumbling body": tumbling,
    "free body with two links": partial(links, True),
    "pendulum of two links": partial(links, False),
}
EVERY = 20  # steps between two looks


def run(system: System, step: float, count: int, method: Integrator) -> tuple[float, float, float]:
    """Largest deviation of the energy in the first and the last tenth, and of momentum; infinite once it diverged."""
    robot = rbd.Robot(system.model)
    options = SimulationOptions(step=step, integrator=method, start_braked=False, friction=False)
    simulation = Simulation(system.model, q=system.q, options=options)
    simulation.v = system.v.copy()
    kinetic, h = float(robot.kinetic_energy(system.q, system.v)), np.array(robot.momentum(system.q, system.v))
    before = kinetic + float(robot.potential_energy(system.q))
    energy, momentum = np.zeros((2, count // EVERY))
    for k in range(count // EVERY):
        try:
            simulation.advance(EVERY)
        except SimulationDiverged:
            energy[k:] = momentum[k:] = np.inf
            break
        q, v = simulation.q, simulation.v
        energy[k] = abs(robot.kinetic_energy(q, v) + robot.potential_energy(q) - before) / kinetic
        momentum[k] = np.abs(robot.momentum(q, v) - h).max() / np.linalg.norm(h)
    tenth = max(1, len(energy) // 10)
    return energy[:tenth].max(), energy[-tenth:].max(), momentum.max()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulation.long_run", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--step", type=float, default=1e-3, help="s")
    parser.add_argument("--methods", nargs="*", default=list(INTEGRATORS), choices=INTEGRATORS, metavar="NAME")
    arguments = parser.parse_args()
    print("| system | method | energy, first tenth | last tenth | momentum |\n|---|---|---|---|---|")
    for method in arguments.methods:
        for name, make in SYSTEMS.items():
            first, last, off = run(make(), arguments.step, arguments.steps, method)
            momentum = "" if "pendulum" in name else f"{off:.1e}"
            print(f"| {name} | {method} | {first:.1e} | {last:.1e} | {momentum} |", flush=True)


if __name__ == "__main__":
    main()
