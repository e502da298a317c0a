# SPDX-License-Identifier: Apache-2.0
"""A quadruped that stands on four feet, at 1 kHz: the time of our step and of MuJoCo's, in one run; steps with shapes.

    python -m benchmarks.simulation.contact_steps

Both have the same robot, spheres as feet on a plane and a PD law at the joints, whose time does not count. Blocks of
steps alternate, so that whatever else the machine does slows both; the quickest block counts, and the median is
shown. MuJoCo's step is called
from Python as ours is, once a step, with its defaults but for the elliptic cone; only its feet can collide. Where
contacts of shapes are found first, there is a second table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rigs.quadruped import (
    DAMPING,
    FEET,
    FRICTION,
    LINK,
    POSTURE,
    RADIUS,
    STEP,
    STIFFNESS,
    feet,
    held,
    mjcf,
    quadruped,
    standing,
)  # fmt: skip

import rbd_dynamics as rbd
from rbd_dynamics.collisions import CollisionSet, CollisionShape, collision_shapes
from rbd_dynamics.constraints import placement
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.simulation import Simulation, SimulationOptions

BLOCKS, STEPS = 60, 50
SHAPE_BLOCKS, SHAPE_STEPS = 60, 10


def timed(step: Callable[[], object], control: Callable[[], None], steps: int = STEPS) -> float:
    """Seconds that a block of steps takes, without the control."""
    total = 0.0
    for _ in range(steps):
        control()
        start = time.perf_counter()
        step()
        total += time.perf_counter() - start
    return total


def measure() -> dict[str, float]:
    """Quickest and median time of a step in s, ours and MuJoCo's; and the heights at which both stand in the end."""
    import mujoco

    model = quadruped()
    options = SimulationOptions(step=STEP, start_braked=False)
    simulation = Simulation(model, q=standing(), options=options, contacts=feet(model))
    control = held(simulation, POSTURE, STIFFNESS, DAMPING)

    other = mujoco.MjModel.from_xml_string(mjcf())
    data = mujoco.MjData(other)
    data.qpos[7:] = POSTURE

    def other_control() -> None:
        data.qfrc_applied[6:] = STIFFNESS * (POSTURE - data.qpos[7:]) - DAMPING * data.qvel[6:]

    def step() -> None:
        simulation.advance(1)

    def other_step() -> None:
        mujoco.mj_step(other, data)

    timed(step, control)
    timed(other_step, other_control)
    blocks = [(timed(step, control), timed(other_step, other_control)) for _ in range(BLOCKS)]
    found = {"height": float(simulation.q[2]), "mujoco_height": float(data.qpos[2])}
    for name, times in zip(("own", "mujoco"), zip(*blocks)):
        found[name], found[f"{name}_median"] = min(times) / STEPS, float(np.median(times)) / STEPS
    return found


def with_shapes() -> Iterator[tuple[str, Simulation, CollisionSet, Callable[[], None]]]:
    """What has shapes and stands on a floor: (name, simulation, shapes, its control)."""
    from rbd_dynamics.common.example_robots import robots

    floor = CollisionShape("floor", "world", "plane")
    options = SimulationOptions(step=STEP, start_braked=False)
    model = quadruped()
    shapes = [floor, CollisionShape("trunk", "trunk", "box", size=(0.4, 0.2, 0.1))]
    for name in FEET:
        end, middle = (placement((0.0, 0.0, -LINK * part)) for part in (1.0, 0.5))
        shapes += [
            CollisionShape(name, f"{name}_calf", "sphere", size=(RADIUS,), placement=end),
            CollisionShape(f"{name} calf", f"{name}_calf", "capsule", size=(0.01, 0.15), placement=middle),
        ]
    found = CollisionSet(model, shapes, friction_coefficient=FRICTION)
    simulation = Simulation(model, q=standing(), options=options, contacts=found)
    yield "quadruped, four balls touch", simulation, found, held(simulation, POSTURE, STIFFNESS, DAMPING)
    builder, shapes, q = rbd.ModelBuilder("stack"), [floor], []
    for k in range(3):
        builder.add_body(f"box {k}", None, Floating(), mass=1.0, inertia=np.eye(3) / 150.0)
        shapes.append(CollisionShape(f"box {k}", f"box {k}", "box", size=(0.2, 0.2, 0.2)))
        q += [0.01 * k, -0.01 * k, 0.1 + 0.2 * k, 0.0, 0.0, np.sin(0.1 * k), np.cos(0.1 * k)]
    stack = builder.build()
    found = CollisionSet(stack, shapes)
    yield "stack of three boxes", Simulation(stack, q=np.array(q), options=options, contacts=found), found, lambda: None
    if "anymal" not in robots():
        return
    model = rbd.load("anymal", base="floating")
    shapes = [floor, *collision_shapes(model, robots()["anymal"].read_text())]
    found = CollisionSet(model, shapes, friction_coefficient=FRICTION)
    q = model.neutral()
    for leg, side in (("LF", 1.0), ("RF", 1.0), ("LH", -1.0), ("RH", -1.0)):
        for joint, angle in (("HFE", 0.7), ("KFE", -1.2)):
            q[model.joint(f"{leg}_{joint}").q_index] = side * angle
    q[2] = 1.0
    q[2] -= min(touch.gap for touch in found.contacts(q, margin=1.0) if touch.law.reference == "world")
    simulation = Simulation(model, q=q, options=options, contacts=found)
    yield "anymal, four feet touch", simulation, found, held(simulation, q[7:], 400.0, 10.0)


def measure_shapes() -> Iterator[tuple[str, int, int, int, float, float]]:
    """(name, shapes, pairs, contacts, quickest step in s, time in it for finding the contacts in s)."""
    for name, simulation, found, control in with_shapes():
        step, find = partial(simulation.advance, 1), partial(_find, found, simulation)
        steps = [timed(step, control, SHAPE_STEPS) / SHAPE_STEPS for _ in range(SHAPE_BLOCKS)][1:]
        finding = [timed(find, lambda: None, SHAPE_STEPS) / SHAPE_STEPS for _ in range(SHAPE_BLOCKS)]
        yield name, len(found.shapes), len(found.pairs), len(simulation.contacts), min(steps), min(finding)


def _find(shapes: CollisionSet, simulation: Simulation) -> None:
    shapes.found(simulation.q, simulation.v, duration=STEP)


def main() -> None:
    found = measure()
    print("| quadruped, 4 contacts, 1 kHz | a step | median | times real time | stands at |\n|---|---|---|---|---|")
    for name, key, height in (("rbd_dynamics", "own", "height"), ("MuJoCo", "mujoco", "mujoco_height")):
        times = f"{found[key] * 1e6:.1f} µs | {found[f'{key}_median'] * 1e6:.1f} µs"
        print(f"| {name} | {times} | {STEP / found[key]:.0f} | {found[height] * 1e3:.2f} mm |")
    print(f"\nratio {found['own'] / found['mujoco']:.2f}")
    print("\n| on a floor, 1 kHz | shapes | pairs | contacts | a step | of which finding contacts |")
    print("|---|---|---|---|---|---|")
    for name, shapes, pairs, contacts, step, finding in measure_shapes():
        print(f"| {name} | {shapes} | {pairs} | {contacts} | {step * 1e3:.2f} ms | {finding * 1e3:.2f} ms |")


if __name__ == "__main__":
    main()
