# SPDX-License-Identifier: Apache-2.0
"""A quadruped that stands on four feet, at 1 kHz: the time of our step and of MuJoCo's, in one run; steps with shapes.

    python -m benchmarks.simulation.contact_steps

Both have the same robot, spheres as feet on a plane and a PD law at the joints, whose time does not count. Blocks of
steps alternate, so that whatever else the machine does slows both; the quickest block counts, and the median is
shown. MuJoCo's step is called
from Python as ours is, once a step, with its defaults but for the elliptic cone; only its feet can collide. Where
contacts of shapes are found first, there is a second table, beside MuJoCo's step of the same bodies, shapes and pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

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
from rbd_dynamics.spatial.arrays import quaternion_from_rotation
from rbd_dynamics.spatial.se3 import Transform

BLOCKS, STEPS = 60, 50
SHAPE_BLOCKS, SHAPE_STEPS = 100, 20


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


class Standing(NamedTuple):
    """What has shapes and stands on a floor, held by a PD law at the joints but the base, if by any."""

    name: str
    simulation: Simulation
    shapes: CollisionSet
    posture: np.ndarray
    stiffness: float = 0.0
    damping: float = 0.0

    def control(self) -> Callable[[], None]:
        """Ours."""
        if not len(self.posture):
            return lambda: None
        return held(self.simulation, self.posture, self.stiffness, self.damping)

    def mujoco(self) -> tuple[Callable[[], object], Callable[[], None]]:
        """Step and control of the same in MuJoCo."""
        import mujoco

        model, q, pairs = self.simulation.model, self.simulation.start, set(self.shapes.pairs)
        spec = mujoco.MjSpec.from_string(rbd.model_to_mjcf(model, shapes=False))
        spec.option.timestep, spec.option.cone = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        known = ("plane", "sphere", "box", "capsule", "cylinder")
        kinds = {kind: getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}") for kind in known}
        for shape in self.shapes.shapes:
            body, pose = spec.worldbody, shape.placement
            if shape.frame != "world":
                frame = model.frame(shape.frame)
                body, pose = spec.body(model.bodies[frame.body].name), frame.placement @ shape.placement
            size = [0.5 * x for x in shape.size] if shape.kind == "box" else list(shape.size)
            if shape.kind in ("capsule", "cylinder"):
                size[1] *= 0.5
            x, y, z, w = quaternion_from_rotation(np.reshape(Transform.of(pose.rotation, pose.p).rotation, (3, 3)))
            geom = body.add_geom(name=shape.name, type=kinds[shape.kind], pos=list(pose.p), quat=[w, x, y, z])
            geom.size[: len(size)] = size
            geom.size[:] = [5.0, 5.0, 1.0] if shape.kind == "plane" else geom.size
            geom.friction[:], geom.mass = [FRICTION, 0.0, 0.0], 0.0
            geom.contype = geom.conaffinity = 0
        laws = dict(zip(self.shapes.pairs, self.shapes.laws))
        for one, other in pairs:
            pair = spec.add_pair(geomname1=other, geomname2=one, condim=3)
            pair.friction[:2] = laws[one, other].friction_coefficient
        theirs = spec.compile()
        data = mujoco.MjData(theirs)
        joints = [joint for joint in model.joints if joint.kind.nv == 1]
        for joint in model.joints:
            at = theirs.joint(joint.name).qposadr[0]
            if joint.kind.nq == 7:
                x, y, z, *quaternion = q[joint.q_index : joint.q_index + 7]
                data.qpos[at : at + 7] = [x, y, z, quaternion[3], *quaternion[:3]]
            else:
                data.qpos[at] = q[joint.q_index]
        places = [theirs.joint(joint.name).qposadr[0] for joint in joints]
        dofs = [theirs.joint(joint.name).dofadr[0] for joint in joints]

        def control() -> None:
            if joints:
                error = self.posture - data.qpos[places]
                data.qfrc_applied[dofs] = self.stiffness * error - self.damping * data.qvel[dofs]

        return partial(mujoco.mj_step, theirs, data), control


def with_shapes() -> Iterator[Standing]:
    """What is measured."""
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
    yield Standing("quadruped, four balls touch", simulation, found, POSTURE, STIFFNESS, DAMPING)
    builder, shapes, q = rbd.ModelBuilder("stack"), [floor], []
    for k in range(3):
        builder.add_body(f"box {k}", None, Floating(), mass=1.0, inertia=np.eye(3) / 150.0)
        shapes.append(CollisionShape(f"box {k}", f"box {k}", "box", size=(0.2, 0.2, 0.2)))
        q += [0.01 * k, -0.01 * k, 0.1 + 0.2 * k, 0.0, 0.0, np.sin(0.1 * k), np.cos(0.1 * k)]
    stack = builder.build()
    found = CollisionSet(stack, shapes)
    simulation = Simulation(stack, q=np.array(q), options=options, contacts=found)
    yield Standing("stack of three boxes", simulation, found, np.zeros(0))
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
    yield Standing("anymal, four feet touch", simulation, found, q[7:], 400.0, 10.0)


class Row(NamedTuple):
    """Quickest times in s: of a step, of MuJoCo's, and of finding the contacts."""

    name: str
    shapes: int
    pairs: int
    contacts: int
    step: float
    theirs: float
    finding: float


def measure_shapes() -> Iterator[Row]:
    """One of each. Blocks of steps alternate."""
    for one in with_shapes():
        step, control = partial(one.simulation.advance, 1), one.control()
        their_step, their_control = one.mujoco()
        timed(step, control)
        timed(their_step, their_control)
        blocks = [
            (timed(step, control, SHAPE_STEPS), timed(their_step, their_control, SHAPE_STEPS))
            for _ in range(SHAPE_BLOCKS)
        ]
        own, theirs = (min(times) / SHAPE_STEPS for times in zip(*blocks))
        find = partial(_find, one.shapes, one.simulation)
        finding = min(timed(find, lambda: None, SHAPE_STEPS) / SHAPE_STEPS for _ in range(SHAPE_BLOCKS))
        counts = len(one.shapes.shapes), len(one.shapes.pairs), len(one.simulation.contacts)
        yield Row(one.name, *counts, own, theirs, finding)


def _find(shapes: CollisionSet, simulation: Simulation) -> None:
    shapes.found(simulation.q, simulation.v, duration=STEP)


def main() -> None:
    found = measure()
    print("| quadruped, 4 contacts, 1 kHz | a step | median | times real time | stands at |\n|---|---|---|---|---|")
    for name, key, height in (("rbd_dynamics", "own", "height"), ("MuJoCo", "mujoco", "mujoco_height")):
        times = f"{found[key] * 1e6:.1f} µs | {found[f'{key}_median'] * 1e6:.1f} µs"
        print(f"| {name} | {times} | {STEP / found[key]:.0f} | {found[height] * 1e3:.2f} mm |")
    print(f"\nratio {found['own'] / found['mujoco']:.2f}")
    print("\n| on a floor, 1 kHz | shapes | pairs | contacts | a step | MuJoCo | ratio | finding contacts alone |")
    print("|---|---|---|---|---|---|---|---|")
    for row in measure_shapes():
        times = f"{row.step * 1e6:.1f} µs | {row.theirs * 1e6:.1f} µs | {row.step / row.theirs:.2f}"
        counts = f"{row.shapes} | {row.pairs} | {row.contacts}"
        print(f"| {row.name} | {counts} | {times} | {row.finding * 1e6:.0f} µs |")


if __name__ == "__main__":
    main()
