# SPDX-License-Identifier: Apache-2.0
"""What `simulator` works with: a simulation of one model, which may be off on purpose, and its sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts import ContactFinder
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.nodes.interface.parameters import per_name
from rbd_dynamics.nodes.interface.simulator import SimulatorParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.nodes.managed.payload import Load, attach
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction
from rbd_dynamics.simulation.scene import Scene, load_scene
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.simulation.wrench_sensor import ShapeWrenchSensor, WrenchSensor

Array = NDArray[np.float64]
Sensor = tuple[WrenchSensor | ShapeWrenchSensor, Callable[[], Array]]


@dataclass
class SimulatorEngine:
    """Everything about one robot model."""

    model: Model
    simulation: Simulation
    prefix: Prefix
    joints: list[str]  # as messages name them
    dofs: NDArray[np.intp]
    q_index: NDArray[np.intp]
    sensors: list[Sensor]  # each with what its multipliers are now
    loads: list[tuple[str, Load]]  # that the parameters attach

    @property
    def robots(self) -> list[Robot]:
        return [robot for robot, _ in self.simulation.robots]


def build_engine(model: Model, params: SimulatorParameters, progress: Progress) -> SimulatorEngine:
    """An engine with all kernels compiled. Raises ValueError or KeyError for parameters that do not fit the model."""
    prefix = Prefix(params.tf_prefix, model)
    movable = [joint.name for joint in model.joints if joint.kind.nv == 1]
    names = [prefix.inside(name) for name in params.joints] or movable
    for name in (*names, *map(prefix.inside, params.initial_joints)):
        if name not in movable:
            raise ValueError(f"there is no joint {name!r} of one degree of freedom; there are {', '.join(movable)}")
    model = perturb_inertias(model, params.inertia_error, seed=params.inertia_seed)
    model = with_joint_friction(
        model,
        damping=_for_each("joint_damping", names, params.joint_damping),
        friction=_for_each("joint_friction", names, params.joint_friction),
    )
    start = model.start_position()
    for name, position in zip(params.initial_joints, params.initial_positions):
        start[model.joint(prefix.inside(name)).q_index] = position
    scene = load_scene(params.scene_file, model) if params.scene_file else Scene()
    simulation = Simulation(
        model, q=start, options=_options(params), constraints=scene.constraints, contacts=scene.contacts
    )
    loads: list[tuple[str, Load]] = []
    if params.payload_frame:
        x, y, z = params.payload_com
        loads.append((prefix.inside(params.payload_frame), (params.payload_mass, (x, y, z), None)))
    for robot, kernels in simulation.robots:
        robot.compile(*kernels, progress=progress, batches=False)
        for frame, load in loads:
            attach(robot, frame, load)
    simulation.compile_constraints()
    simulation.attempt()
    joints = [model.joint(name) for name in names]
    return SimulatorEngine(
        model,
        simulation,
        prefix,
        [prefix.outside(name) for name in names],
        np.array([joint.v_index for joint in joints], dtype=np.intp),
        np.array([joint.q_index for joint in joints], dtype=np.intp),
        _sensors(simulation, scene, prefix.inside(params.wrench_frame)) if params.wrench_frame else [],
        loads,
    )


def _options(params: SimulatorParameters) -> SimulationOptions:
    return SimulationOptions(
        step=params.step,
        integrator=params.integrator,
        friction=params.friction,
        effort_limits=params.effort_limits,
        position_limits=params.position_limits,
        command_timeout=params.command_timeout,
        start_braked=params.start_braked,
        stabilization=params.stabilization,
    )


def _sensors(simulation: Simulation, scene: Scene, frame: str) -> list[Sensor]:
    """Sensors of what the scene's constraints exert at a frame, its contacts, and its shapes."""
    robot, _ = simulation.robots[0]
    tip_of(robot.model, frame, "parameter 'wrench_frame':")  # what is fixed feels nothing
    sensors: list[Sensor] = []
    if scene.constraints is not None:
        sensors.append((WrenchSensor(robot, scene.constraints, frame), lambda: simulation.multipliers))
    if simulation.contact_rows is not None:
        flat_forces = simulation.contact_forces.reshape(-1)
        sensors.append((WrenchSensor(robot, simulation.contact_rows, frame), lambda: flat_forces))
    if isinstance(scene.contacts, ContactFinder):
        sensors.append((ShapeWrenchSensor(simulation, frame), lambda: simulation.contact_forces))
    return sensors


def _for_each(what: str, names: Sequence[str], given: tuple[float, ...]) -> dict[str, float]:
    """{joint: value} of a parameter with none, one, or one value for each joint."""
    if len(given) == 1:
        given = given * len(names)
    return per_name(f"parameter {what!r}", names, given) if given else {}
