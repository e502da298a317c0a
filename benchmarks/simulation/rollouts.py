# SPDX-License-Identifier: Apache-2.0
"""Steps of the simulator, one robot and many side by side, against MuJoCo's step and its rollouts, in one run.

    python -m benchmarks.simulation.rollouts [--quick] [--json FILE]

Without contact, under gravity alone, one core. Both have the same bodies, position limits and step of 1 ms, no friction
and no motors; MuJoCo has its Euler method and no equality, sensor or collision to look at.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import stay_on_one_core
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.simulation import BatchSimulation, Simulation, SimulationOptions

STEP = 1e-3  # s
ROBOTS = {"UR5": ("ur5_robot", "fixed"), "Panda": ("panda", "fixed"), "Talos": ("talos_reduced", "fixed"),
          "Talos, floating": ("talos_reduced", "floating")}  # fmt: skip
BLOCK = 2000  # steps of one call


@dataclass(frozen=True)
class Subject:
    """One robot in both."""

    model: rbd.Model
    mujoco: Any

    @classmethod
    def of(cls, name: str, base: Any) -> Subject:
        """Mimic joints count as joints of their own, in both."""
        import mujoco
        from rigs.mujoco_plant import bare_description

        text = bare_description(Path(robots()[name]))
        spec = mujoco.MjSpec.from_string(text)
        if base == "floating":
            spec.worldbody.first_body().add_freejoint(name="root_joint")
        other = spec.compile()
        other.opt.timestep = STEP
        other.dof_damping[:] = other.dof_frictionloss[:] = other.dof_armature[:] = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cls(rbd.load_urdf(text, base=base), other)


def compare(subject: Subject, samples: int, steps: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of a step in each round, of each of four, which take turns."""
    import mujoco
    from mujoco import rollout

    model, other = subject.model, subject.mujoco
    options = SimulationOptions(step=STEP, friction=False, start_braked=False)
    rng = np.random.default_rng(1)
    middle = model.start_position()
    q = np.array([model.integrate(middle, 0.02 * rng.normal(size=model.nv)) for _ in range(samples)])
    offset = model.nq - model.nv  # 1 on a floating base
    limited = np.arange(6 * offset, model.nv)
    q[:, limited + offset] = np.clip(q[:, limited + offset], model.lower[limited], model.upper[limited])
    v = 0.1 * rng.normal(size=(samples, model.nv))
    one, batch = Simulation(model, q=middle, options=options), BatchSimulation(model, options=options)
    for robot, kernels in one.robots:
        robot.compile(*kernels)
    data = mujoco.MjData(other)
    width = mujoco.mj_stateSize(other, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros((samples, width))
    state[:, 1 : 1 + other.nq] = theirs(model, other, q)
    state[:, 1 + other.nq : 1 + other.nq + other.nv] = v
    control = np.zeros((samples, steps, other.nu))

    def own_step() -> None:
        one.reset()
        one.braked = False
        one.advance(BLOCK)

    def other_step() -> None:
        mujoco.mj_resetData(other, data)
        data.qpos[:] = theirs(model, other, middle[None])[0]
        mujoco.mj_step(other, data, BLOCK)

    # both write to arrays that are there: new memory takes as long as it takes the operating system
    out = batch.run(q, v, np.zeros(model.nv), steps)
    states, sensors = rollout.rollout(other, data, state, control if other.nu else None, nstep=steps)

    def own_rollout() -> None:
        batch.run(q, v, np.zeros(model.nv), steps, out=out)

    def other_rollout() -> None:
        rollout.rollout(
            other, data, state, control if other.nu else None, nstep=steps, state=states, sensordata=sensors
        )

    calls = {"step": (own_step, BLOCK), "their step": (other_step, BLOCK),
             "rollout": (own_rollout, samples * steps), "their rollout": (other_rollout, samples * steps)}  # fmt: skip
    for call, _ in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (call, count) in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - begin) / count)
    return times


def theirs(model: rbd.Model, other: Any, q: np.ndarray) -> np.ndarray:
    """Our positions in MuJoCo's order, whose quaternions have the real part first."""
    found = np.zeros((len(q), other.nq))
    for joint in model.joints:
        name = joint.name if joint.kind.nq == 1 else "root_joint"
        at, own = int(other.joint(name).qposadr[0]), q[:, joint.q_index : joint.q_index + joint.kind.nq]
        if joint.kind.nq == 1:
            found[:, at] = own[:, 0]
        else:
            found[:, at : at + 7] = own[:, [0, 1, 2, 6, 3, 4, 5]]
    return found


def main() -> int:
    arguments = parser("simulation.rollouts", __doc__).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    stay_on_one_core()
    samples, steps, rounds = (64, 20, 3) if arguments.quick else (1024, 200, 9)
    heads = ("robot", "a step, µs", "MuJoCo, µs", "ratio", "a step of a rollout, µs", "MuJoCo, µs", "ratio")
    table = Table("simulator", heads)
    guard = Guard.of(quick=arguments.quick)
    for title in list(ROBOTS)[: 1 if arguments.quick else None]:
        times, trouble = guard.run(title, partial(compare, Subject.of(*ROBOTS[title]), samples, steps, rounds))
        one, their, many, their_many = (Figure.of(found, 1e6) for found in times.values())
        table.add(title, one, their, ratio(one, their), many, their_many, ratio(many, their_many), trouble=trouble)
    return deliver(arguments, [table], "mujoco", settings=f"one core, {samples} samples, {steps} steps")


if __name__ == "__main__":
    raise SystemExit(main())
