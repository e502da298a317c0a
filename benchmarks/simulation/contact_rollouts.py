# SPDX-License-Identifier: Apache-2.0
"""Rollouts in contact, many states side by side, against MuJoCo's of the same bodies, shapes and pairs, in one run.

    python -m benchmarks.simulation.contact_rollouts [--rounds 25]

What `contact_steps` measures one step at a time, here 32 states that differ a little, of 50 steps each, on one core.
Efforts are those that hold the robot in the first state. Processor time of the quickest of rounds that alternate, as
other work on the machine leaves that alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco import rollout
from rigs import quadruped as quadrupeds

from benchmarks.measuring.timing import stay_on_one_core
from benchmarks.simulation.contact_steps import STEP, with_shapes
from rbd_dynamics.simulation import BatchSimulation, Simulation, SimulationOptions

STATES, STEPS, SETTLING = 32, 50, 500
DIFFERENT = 1e-4  # rad/s and m/s


class Pair(NamedTuple):
    """One robot or pile, at rest in both."""

    name: str
    simulation: Simulation
    contacts: Any
    theirs: Any
    state: Any

    @staticmethod
    def at_rest(name: str, simulation: Simulation, contacts: Any, control: Callable[[], None], other: Any) -> Pair:
        """other: MuJoCo's step, and its control."""
        step, their_control = other
        for _ in range(SETTLING):
            control()
            simulation.advance(1)
            their_control()
            step()
        return Pair(name, simulation, contacts, *step.args)


def pairs() -> Iterator[Pair]:
    """What is measured."""
    model = quadrupeds.quadruped()
    feet, options = quadrupeds.feet(model), SimulationOptions(step=STEP, start_braked=False)
    simulation = Simulation(model, q=quadrupeds.standing(), options=options, contacts=feet)
    law = quadrupeds.POSTURE, quadrupeds.STIFFNESS, quadrupeds.DAMPING
    theirs = mujoco.MjModel.from_xml_string(quadrupeds.mjcf())
    state = mujoco.MjData(theirs)
    state.qpos[7:] = quadrupeds.POSTURE

    def control() -> None:
        state.qfrc_applied[6:] = law[1] * (law[0] - state.qpos[7:]) - law[2] * state.qvel[6:]

    other = partial(mujoco.mj_step, theirs, state), control
    yield Pair.at_rest("quadruped, contacts given", simulation, feet, quadrupeds.held(simulation, *law), other)
    for one in with_shapes():
        yield Pair.at_rest(one.name, one.simulation, one.shapes, one.control(), one.mujoco())


def measure(pair: Pair, rounds: int) -> tuple[float, float]:
    """Seconds of a step of one state, ours and theirs."""
    simulation, theirs, kind = pair.simulation, pair.theirs, mujoco.mjtState
    rng = np.random.default_rng(1)
    q = np.tile(simulation.q, (STATES, 1))
    v = simulation.v + DIFFERENT * rng.normal(size=(STATES, len(simulation.v)))
    batch = BatchSimulation(simulation.model, options=SimulationOptions(step=STEP), contacts=pair.contacts)
    out = batch.run(q, v, simulation.tau, STEPS)
    whole = kind.mjSTATE_FULLPHYSICS
    starts = np.zeros((STATES, mujoco.mj_stateSize(theirs, whole)))
    mujoco.mj_getState(theirs, pair.state, starts[0], whole)
    starts[:] = starts[0]
    speeds = slice(1 + theirs.nq, 1 + theirs.nq + theirs.nv)
    starts[:, speeds] += DIFFERENT * rng.normal(size=(STATES, theirs.nv))
    efforts, data = np.tile(pair.state.qfrc_applied, (STATES, STEPS, 1)), mujoco.MjData(theirs)
    spec = int(kind.mjSTATE_QFRC_APPLIED)
    states, sensors = rollout.rollout(theirs, data, starts, efforts, control_spec=spec, nstep=STEPS)

    def own_rollout() -> None:
        batch.run(q, v, simulation.tau, STEPS, out=out)

    def other_rollout() -> None:
        rollout.rollout(theirs, data, starts, efforts, control_spec=spec, nstep=STEPS, state=states, sensordata=sensors)

    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for call, found in zip((own_rollout, other_rollout), times):
            begin = time.process_time()
            call()
            found.append((time.process_time() - begin) / (STATES * STEPS))
    return min(times[0]), min(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    stay_on_one_core()
    print("| 1 kHz | contacts | a step of a state | mujoco.rollout | ratio |\n|---|---|---|---|---|")
    for pair in pairs():
        contacts = int((pair.simulation.contact_forces[:, 0] > 0.0).sum())
        own, other = measure(pair, rounds)
        print(f"| {pair.name} | {contacts} | {own * 1e6:.1f} µs | {other * 1e6:.1f} µs | {own / other:.2f} |")


if __name__ == "__main__":
    main()
