# SPDX-License-Identifier: Apache-2.0
"""A quadruped that stands on four feet, at 1 kHz: the time of our step and of MuJoCo's, in one run.

    python -m benchmarks.contact_steps

Both have the same robot, spheres as feet on a plane and a PD law at the joints, whose time does not count. Blocks of
steps alternate, so that whatever else the machine does slows both; the quickest block counts, and the median is
shown. MuJoCo's step is called
from Python as ours is, once a step, with its defaults but for the elliptic cone; only its feet can collide.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.constraints import placement
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating, Revolute
from rbd_dynamics.simulation import Simulation, SimulationOptions

STEP = 1e-3
FEET = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
LINK, RADIUS, FRICTION = 0.21, 0.02, 0.7
POSTURE = np.tile([0.0, 0.8, -1.6], 4)
HEIGHT = 2.0 * LINK * np.cos(0.8) + RADIUS
STIFFNESS, DAMPING = 200.0, 4.0
BLOCKS, STEPS = 60, 50


def quadruped() -> rbd.Model:
    """Trunk of 9 kg, four legs of three joints."""
    builder = rbd.ModelBuilder("quadruped")
    builder.add_body("trunk", None, Floating(), mass=9.0, inertia=np.diag([0.07, 0.26, 0.28]))
    for name, (x, y) in FEET.items():
        hip, thigh = f"{name}_hip", f"{name}_thigh"
        at = placement((0.19 * x, 0.05 * y, 0.0))
        inertia = 5e-4 * np.eye(3)
        builder.add_body(hip, "trunk", Revolute((1.0, 0.0, 0.0)), placement=at, mass=0.6, inertia=inertia)
        builder.add_body(
            thigh, hip, Revolute((0.0, 1.0, 0.0)), placement=placement((0.0, 0.08 * y, 0.0)),
            mass=1.0, com=(0.0, 0.0, -0.03), inertia=np.diag([5e-3, 5e-3, 1e-3]),
        )  # fmt: skip
        builder.add_body(
            f"{name}_calf", thigh, Revolute((0.0, 1.0, 0.0)), placement=placement((0.0, 0.0, -LINK)),
            mass=0.2, com=(0.0, 0.0, -0.1), inertia=np.diag([2e-3, 2e-3, 1e-4]),
        )  # fmt: skip
    return builder.build()


def feet(model: rbd.Model, *, cone: str = "elliptic") -> ContactSet:
    """A ball at the end of each leg, on the floor."""
    end = placement((0.0, 0.0, -LINK))
    contacts = [
        Contact(name, f"{name}_calf", placement=end, radius=RADIUS, friction_coefficient=FRICTION) for name in FEET
    ]
    return ContactSet(model, contacts, cone=cone)


def standing() -> np.ndarray:
    return np.array([0.0, 0.0, HEIGHT, 0.0, 0.0, 0.0, 1.0, *POSTURE])


def mjcf() -> str:
    """The same robot for MuJoCo."""
    legs = ""
    for name, (x, y) in FEET.items():
        legs += f"""
<body name="{name}_hip" pos="{0.19 * x} {0.05 * y} 0"><joint axis="1 0 0"/>
 <inertial pos="0 0 0" mass="0.6" diaginertia="5e-4 5e-4 5e-4"/>
 <body pos="0 {0.08 * y} 0"><joint axis="0 1 0"/><inertial pos="0 0 -0.03" mass="1" diaginertia="5e-3 5e-3 1e-3"/>
  <body pos="0 0 {-LINK}"><joint axis="0 1 0"/><inertial pos="0 0 -0.1" mass="0.2" diaginertia="2e-3 2e-3 1e-4"/>
   <geom type="sphere" size="{RADIUS}" pos="0 0 {-LINK}" contype="1" conaffinity="2"/></body></body></body>"""
    return f"""<mujoco><option timestep="{STEP}" cone="elliptic" integrator="implicitfast"/>
<default><geom friction="{FRICTION} 0 0"/></default>
<worldbody><geom type="plane" size="5 5 1" contype="2" conaffinity="1"/>
<body name="trunk" pos="0 0 {HEIGHT}"><freejoint/><inertial pos="0 0 0" mass="9" diaginertia="0.07 0.26 0.28"/>{legs}
</body></worldbody></mujoco>"""


def timed(step: Callable[[], None], control: Callable[[], None]) -> float:
    """Seconds that a block of steps takes, without the control."""
    total = 0.0
    for _ in range(STEPS):
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
    legs = np.arange(6, 18)

    def control() -> None:
        simulation.command(STIFFNESS * (POSTURE - simulation.q[7:]) - DAMPING * simulation.v[6:], legs)

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


def main() -> None:
    found = measure()
    print("| quadruped, 4 contacts, 1 kHz | a step | median | times real time | stands at |\n|---|---|---|---|---|")
    for name, key, height in (("rbd_dynamics", "own", "height"), ("MuJoCo", "mujoco", "mujoco_height")):
        times = f"{found[key] * 1e6:.1f} µs | {found[f'{key}_median'] * 1e6:.1f} µs"
        print(f"| {name} | {times} | {STEP / found[key]:.0f} | {found[height] * 1e3:.2f} mm |")
    print(f"\nratio {found['own'] / found['mujoco']:.2f}")


if __name__ == "__main__":
    main()
