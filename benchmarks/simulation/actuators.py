# SPDX-License-Identifier: Apache-2.0
"""What motors and elastic joints cost: a step of driven and of plain simulation, dynamics with motors and without.

    python -m benchmarks.simulation.actuators

A UR5 of example-robot-data with rotors at its joints. Blocks alternate, so that whatever else the machine does slows
all alike; the quickest block of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.actuators import DrivenRobot
from rbd_dynamics.simulation import DrivenSimulation, Simulation, SimulationOptions

STIFFNESS, ARMATURE, GEAR = 1e4, 0.5, 100.0  # N m/rad, kg m^2
BLOCKS, CALLS = 60, 50


def robot_with_rotors(name: str = "ur5") -> rbd.Model:
    """An example robot with a rotor at each joint."""
    model = rbd.load(name)
    bodies = []
    for body in model.bodies:
        drive = rbd.Drive(gear_ratio=GEAR)
        bodies.append(replace(body, joint=replace(body.joint, armature=ARMATURE, drive=drive)))
    return replace(model, bodies=tuple(bodies))


def quickest(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of a call of each."""
    found = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    for _ in range(BLOCKS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (time.perf_counter() - start) / CALLS)
    return found


def dynamics(model: rbd.Model) -> dict[str, float]:
    """Inverse and forward dynamics of the rigid robot, with elastic joints, and with rotors' gyroscopic terms too."""
    stiff = dict.fromkeys(model.joint_names, STIFFNESS)
    elastic, full = DrivenRobot(model, stiffness=stiff), DrivenRobot(model, stiffness=stiff, gyroscopics=True)
    rigid = rbd.Robot(model)
    q, v, a, jerk, snap = 0.3 * np.random.default_rng(0).normal(size=(5, model.nv))
    motion = elastic.inverse_dynamics(q, v, a, jerk, snap)
    state = (q, v, motion.theta, motion.velocity, motion.tau)
    return quickest(
        {
            "inverse dynamics, rigid": lambda: rigid.inverse_dynamics(q, v, a),
            "inverse dynamics, elastic": lambda: elastic.inverse_dynamics(q, v, a, jerk, snap),
            "forward dynamics, rigid": lambda: rigid.forward_dynamics(q, v, a),
            "forward dynamics, elastic": lambda: elastic.forward_dynamics(*state),
            "forward dynamics, elastic with gyroscopics": lambda: full.forward_dynamics(*state),
        }
    )


def steps(model: rbd.Model) -> dict[str, float]:
    """Of the robot that is held against gravity, so that none of them drifts away."""
    robot = DrivenRobot(model, stiffness=dict.fromkeys(model.joint_names, STIFFNESS))
    rigid, options = DrivenRobot(model), SimulationOptions(start_braked=False, friction=False, effort_limits=False)
    runs: dict[str, DrivenSimulation | Simulation] = {
        "step, rigid (semi-implicit)": Simulation(model, options=options),
        "step, rigid (rk4)": Simulation(model, options=replace(options, integrator="rk4")),
        "step, rigid (midpoint)": DrivenSimulation(rigid),
        "step, elastic (midpoint)": DrivenSimulation(robot),
    }
    for simulation in runs.values():
        holding = robot.links.gravity(simulation.q)
        if isinstance(simulation, Simulation):
            simulation.command(holding, np.arange(model.nv))
        else:
            simulation.command(holding)
    return quickest({name: simulation.advance for name, simulation in runs.items()})


def main() -> None:
    model = robot_with_rotors()
    print("| UR5 | time |\n|---|---|")
    for name, seconds in {**dynamics(model), **steps(model)}.items():
        print(f"| {name} | {seconds * 1e6:.1f} µs |")


if __name__ == "__main__":
    main()
