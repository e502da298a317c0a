# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot in time: integrators and what a real robot adds to its equation of motion.

- `Simulation` with `SimulationOptions`: efforts in, motion out, step by step; `rollout` all at once;
- `DrivenSimulation`: links and motors of a `DrivenRobot`, with springs of any stiffness between them;
- `Contact` with surfaces, and `load_scene` for contacts, shapes and constraints of a file;
- `WrenchSensor`, `ShapeWrenchSensor`: what a force-torque sensor reads;
- `perturb_inertias`, `with_joint_friction`: a robot that is not quite as its model says.
"""

from rbd_dynamics.contacts import Contact
from rbd_dynamics.simulation.driven_simulation import DrivenSimulation
from rbd_dynamics.simulation.integrators import SemiImplicitEuler
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction
from rbd_dynamics.simulation.rollout import Sample, rollout
from rbd_dynamics.simulation.rollouts import BatchSimulation, Rollouts
from rbd_dynamics.simulation.scene import Scene, load_scene
from rbd_dynamics.simulation.simulation import INTEGRATORS, Simulation, SimulationDiverged, SimulationOptions
from rbd_dynamics.simulation.smooth_methods import Adaptive, ExplicitEuler, RungeKutta4
from rbd_dynamics.simulation.wrench_sensor import ShapeWrenchSensor, WrenchSensor

__all__ = [
    "INTEGRATORS",
    "Adaptive",
    "BatchSimulation",
    "Contact",
    "DrivenSimulation",
    "ExplicitEuler",
    "Rollouts",
    "RungeKutta4",
    "Sample",
    "Scene",
    "SemiImplicitEuler",
    "ShapeWrenchSensor",
    "Simulation",
    "SimulationDiverged",
    "SimulationOptions",
    "WrenchSensor",
    "load_scene",
    "perturb_inertias",
    "rollout",
    "with_joint_friction",
]
