# SPDX-License-Identifier: Apache-2.0
"""A quadruped that stands on four feet, for us and for MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.constraints import placement
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating, Revolute
from rbd_dynamics.simulation import Simulation

STEP = 1e-3
FEET = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
LINK, RADIUS, FRICTION = 0.21, 0.02, 0.7
POSTURE = np.tile([0.0, 0.8, -1.6], 4)
HEIGHT = 2.0 * LINK * np.cos(0.8) + RADIUS
STIFFNESS, DAMPING = 200.0, 4.0


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


def held(simulation: Simulation, posture: np.ndarray, stiffness: float, damping: float) -> Callable[[], None]:
    """A PD law at all joints but the base."""
    legs = np.arange(6, simulation.model.nv)

    def control() -> None:
        simulation.command(stiffness * (posture - simulation.q[7:]) - damping * simulation.v[6:], legs)

    return control
