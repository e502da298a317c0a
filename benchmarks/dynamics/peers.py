# SPDX-License-Identifier: Apache-2.0
"""Other libraries with the same algorithms, as far as they are installed: one call each, of the same robot.

Shapes are left out, and every joint is free: friction, damping, motors and limits are nobody's. A call gets a state
and gives the result, with whatever the library computes on the way; what can be allocated before is.
"""

from __future__ import annotations

import logging
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring.results import installed

Array = NDArray[np.float64]


class Peer(Protocol):
    """One robot in another library. A call's result is its own array, in the order of the library's joints."""

    nv: int

    def position(self, rng: np.random.Generator) -> Array:
        """Some position."""
        ...

    def calls(self, q: Array, v: Array, x: Array) -> dict[str, Callable[[], Array]]:
        """By algorithm. x: accelerations or torques."""
        ...


class Pinocchio:
    """Mimic joints are free."""

    def __init__(self, urdf: Path, floating: bool) -> None:
        import pinocchio as pin

        self._pin = pin
        root = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(urdf), *root)
        self._data = self.model.createData()
        self.nv = self.model.nv

    def position(self, rng: np.random.Generator) -> Array:
        return np.asarray(self._pin.integrate(self.model, self._pin.neutral(self.model), rng.normal(size=self.nv)))

    def calls(self, q: Array, v: Array, x: Array) -> dict[str, Callable[[], Array]]:
        pin, model, data = self._pin, self.model, self._data
        return {
            "inverse_dynamics": lambda: pin.rnea(model, data, q, v, x),
            "forward_dynamics": lambda: pin.aba(model, data, q, v, x),
            "mass_matrix": lambda: pin.crba(model, data, q),
        }


class Mujoco:
    """Its forward dynamics is a whole `mj_forward`, whose pipeline has nothing else to do here."""

    def __init__(self, urdf: Path, floating: bool) -> None:
        import mujoco
        from rigs.mujoco_plant import bare_description

        self._mujoco = mujoco
        spec = mujoco.MjSpec.from_string(bare_description(urdf))
        if floating:
            spec.worldbody.first_body().add_freejoint(name="root_joint")
        self.model = spec.compile()
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags = (
            flags.mjDSBL_CONSTRAINT | flags.mjDSBL_ACTUATION | flags.mjDSBL_SENSOR | flags.mjDSBL_CONTACT
        )
        self.model.dof_damping[:] = self.model.dof_frictionloss[:] = self.model.dof_armature[:] = 0.0
        self._data = mujoco.MjData(self.model)
        self.nv = self.model.nv

    def position(self, rng: np.random.Generator) -> Array:
        q = self.model.qpos0.copy()
        self._mujoco.mj_integratePos(self.model, q, rng.normal(size=self.nv), 1.0)
        return np.asarray(q)

    def calls(self, q: Array, v: Array, x: Array) -> dict[str, Callable[[], Array]]:
        mujoco, model, data = self._mujoco, self.model, self._data
        data.qpos[:], data.qvel[:], data.qacc[:], data.qfrc_applied[:] = q, v, x, x
        tau, matrix = np.empty(self.nv), np.empty((self.nv, self.nv))

        def inverse_dynamics() -> Array:
            data.qacc[:] = x
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, tau)
            return tau

        def forward_dynamics() -> Array:
            mujoco.mj_forward(model, data)
            return np.asarray(data.qacc)

        def mass_matrix() -> Array:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            mujoco.mj_fullM(model, data, matrix)
            return matrix

        return {
            "inverse_dynamics": inverse_dynamics,
            "forward_dynamics": forward_dynamics,
            "mass_matrix": mass_matrix,
        }


class Drake:
    """A continuous plant; each call sets the state, so that nothing is left over from the last one."""

    def __init__(self, urdf: Path, floating: bool) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces
        from rigs.mujoco_plant import bare_description

        logging.getLogger("drake").setLevel(logging.ERROR)  # what it leaves out of a file matters to none of these
        plant = MultibodyPlant(time_step=0.0)
        for instance in Parser(plant).AddModelsFromString(bare_description(urdf), "urdf"):
            for index in plant.GetJointIndices(instance):
                joint = plant.get_joint(index)
                joint.set_default_damping_vector(np.zeros(joint.num_velocities()))
        if not floating and (root := root_link(urdf)) != "world":  # a link of that name is the world
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(root))
        plant.Finalize()
        self.plant, self._context = plant, plant.CreateDefaultContext()
        self._forces = MultibodyForces(plant)
        self.nv = plant.num_velocities()

    def position(self, rng: np.random.Generator) -> Array:
        rates = self.plant.MapVelocityToQDot(self._context, rng.normal(size=self.nv))
        q = self.plant.GetPositions(self._context) + rates
        if len(q) > self.nv:  # a floating base, whose quaternion comes first
            q[:4] /= np.linalg.norm(q[:4])
        return np.asarray(q)

    def calls(self, q: Array, v: Array, x: Array) -> dict[str, Callable[[], Array]]:
        plant, context, forces = self.plant, self._context, self._forces
        state = np.concatenate([q, v])
        plant.get_applied_generalized_force_input_port().FixValue(context, x)
        acceleration = plant.get_generalized_acceleration_output_port()

        def inverse_dynamics() -> Array:
            plant.SetPositionsAndVelocities(context, state)
            plant.CalcForceElementsContribution(context, forces)
            return np.asarray(plant.CalcInverseDynamics(context, x, forces))

        def forward_dynamics() -> Array:
            plant.SetPositionsAndVelocities(context, state)
            return np.asarray(acceleration.Eval(context))

        def mass_matrix() -> Array:
            plant.SetPositionsAndVelocities(context, state)
            return np.asarray(plant.CalcMassMatrix(context))

        return {
            "inverse_dynamics": inverse_dynamics,
            "forward_dynamics": forward_dynamics,
            "mass_matrix": mass_matrix,
        }


def root_link(urdf: Path) -> str:
    """The link that is no joint's child."""
    root = ElementTree.parse(urdf).getroot()
    children = {child.get("link") for child in root.iterfind("joint/child")}
    return next(link.get("name", "") for link in root.iterfind("link") if link.get("name") not in children)


#: of a URDF, and whether its base is free
Make = Callable[[Path, bool], Peer]
#: name -> the package that brings it, and its class
PEERS: dict[str, tuple[str, Make]] = {
    "Pinocchio": ("pin", Pinocchio),
    "MuJoCo": ("mujoco", Mujoco),
    "Drake": ("drake", Drake),
}


def those_installed() -> dict[str, Make]:
    """By name."""
    return {name: make for name, (package, make) in PEERS.items() if installed(package)}
