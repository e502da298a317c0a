# SPDX-License-Identifier: Apache-2.0
"""Mass matrix and bias of a model file by Pinocchio, MuJoCo and Drake, in the coordinates of our model."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd

Array = NDArray[np.float64]
Dynamics = Callable[[Array, Array], tuple[Array, Array]]


class Refused(Exception):
    """The peer does not take the file."""


class NotCompared(Exception):
    """It takes the file, and has it in a form that is not ours."""


class Reading(NamedTuple):
    """A peer's model.

    beside: of our model and whether our reader said that it leaves something out: our model as the peer has it, and
        the peer's mass matrix and bias at q, v.

    tolerance: largest entry of a difference, of the largest entry of the matrix, or of the vector if that is larger.
    """

    beside: Callable[[rbd.Model, bool], tuple[rbd.Model, Dynamics]]
    tolerance: float = 1e-9


def mujoco_of_mjcf(path: Path) -> Reading:
    import mujoco
    from helpers.checks.mujoco_twin import MujocoTwin

    try:
        m = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError, TypeError, mujoco.FatalError) as error:
        raise Refused(f"MuJoCo: {error}") from None

    def beside(model: rbd.Model, said: bool) -> tuple[rbd.Model, Dynamics]:
        twin = MujocoTwin(model, m, whole=not said)
        return _changed(model, friction=0.0), lambda q, v: twin.friction_and_bias(q, v)[:2]

    # a centre of mass that is some nm away from the frame of a body that floats alone is not, for MuJoCo
    rounds = np.any((m.body_simple > 0) & (m.body_ipos.any(axis=1)))
    return Reading(beside, tolerance=1e-8 if rounds else 1e-9)


def mujoco_of_urdf(path: Path) -> Reading:
    """Without what has meshes; the masses of a URDF do not come from them."""
    import mujoco

    try:
        root = ET.fromstring(path.read_bytes())
        for link in root.iter("link"):
            for shape in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(shape)
        for own in root.findall("mujoco"):
            root.remove(own)
        own = ET.SubElement(root, "mujoco")
        ET.SubElement(own, "compiler", fusestatic="false", discardvisual="true", strippath="false")
        m = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    except (ET.ParseError, ValueError, RuntimeError, TypeError, mujoco.FatalError) as error:
        raise Refused(f"MuJoCo: {error}") from None

    def beside(model: rbd.Model, said: bool) -> tuple[rbd.Model, Dynamics]:
        d = mujoco.MjData(m)
        moved = _single_coordinates(model, {m.joint(k).name for k in range(m.njnt)})
        m.dof_armature[:] = 0.0

        def dynamics(q: Array, v: Array) -> tuple[Array, Array]:
            G = np.zeros((m.nv, model.nv))
            for name, (index, ratio, offset, dof) in moved.items():
                d.qpos[m.joint(name).qposadr[0]] = ratio * q[index] + offset
                G[m.joint(name).dofadr[0], dof] = ratio
            d.qvel[:] = G @ v
            mujoco.mj_forward(m, d)
            M = np.zeros((m.nv, m.nv))
            for column, unit in zip(M, np.eye(m.nv)):
                mujoco.mj_mulM(m, d, column, unit)
            return G.T @ M @ G, G.T @ d.qfrc_bias

        return _changed(model, friction=0.0, damping=0.0, armature=0.0, passive=(), drive=None), dynamics

    return Reading(beside)


def pinocchio_of_urdf(path: Path) -> Reading:
    import pinocchio as pin

    try:
        text = path.read_text(encoding="utf-8-sig")
        theirs = pin.buildModelFromXML(re.sub(r"^\s*<\?xml.*?\?>", "", text))
    except (OSError, ValueError, RuntimeError) as error:
        raise Refused(f"Pinocchio: {error}") from None

    def beside(model: rbd.Model, said: bool) -> tuple[rbd.Model, Dynamics]:
        names = list(theirs.names)[1:]
        if any(theirs.joints[theirs.getJointId(name)].nv != 1 for name in names):
            raise NotCompared("a joint with several coordinates")
        moved = _single_coordinates(model, set(names))
        data = theirs.createData()
        theirs.armature = np.zeros(theirs.nv)
        theirs.gravity.linear = np.array(model.gravity)

        def dynamics(q: Array, v: Array) -> tuple[Array, Array]:
            at, G = pin.neutral(theirs), np.zeros((theirs.nv, model.nv))
            for name, (index, ratio, offset, dof) in moved.items():
                joint = theirs.joints[theirs.getJointId(name)]
                value = ratio * q[index] + offset
                at[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
                G[joint.idx_v, dof] = ratio
            M = np.array(pin.crba(theirs, data, at))
            M = np.triu(M) + np.triu(M, 1).T
            return G.T @ M @ G, G.T @ np.array(pin.nonLinearEffects(theirs, data, at, G @ v))

        return _changed(model, friction=0.0, damping=0.0, armature=0.0, passive=(), drive=None), dynamics

    return Reading(beside)


def drake_of_sdf(path: Path) -> Reading:
    """What is tied by couplers and constraints, and reflected inertias, are left aside there and here."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import JointIndex

    try:
        plant = MultibodyPlant(1e-3)
        parser = Parser(plant)
        parser.SetAutoRenaming(True)
        parser.package_map().PopulateFromFolder(str(path.parent))
        parser.AddModels(str(path))
        plant.Finalize()
    except (RuntimeError, ValueError) as error:
        raise Refused(f"Drake: {error}") from None

    def beside(model: rbd.Model, said: bool) -> tuple[rbd.Model, Dynamics]:
        context = plant.CreateDefaultContext()
        joints = [plant.get_joint(JointIndex(k)) for k in plant.GetJointIndices()]
        by_name = {joint.name(): joint for joint in joints}  # without the names of nested models
        moved = _single_coordinates(
            model,
            {name for name, joint in by_name.items() if joint.num_velocities()},
            lambda name: name.split("::")[-1],
        )
        if any(joint.num_velocities() > 1 for joint in joints):
            raise NotCompared("a joint with several coordinates")
        plant.mutable_gravity_field().set_gravity_vector(np.array(model.gravity))

        def dynamics(q: Array, v: Array) -> tuple[Array, Array]:
            G, at = np.zeros((plant.num_velocities(), model.nv)), np.zeros(plant.num_positions())
            for name, (index, ratio, offset, dof) in moved.items():
                at[by_name[name].position_start()] = ratio * q[index] + offset
                G[by_name[name].velocity_start(), dof] = ratio
            plant.SetPositions(context, at)
            plant.SetVelocities(context, G @ v)
            M = plant.CalcMassMatrixViaInverseDynamics(context)
            bias = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
            return G.T @ M @ G, G.T @ bias

        return _changed(model, friction=0.0, damping=0.0, armature=0.0, passive=(), drive=None), dynamics

    return Reading(beside)


#: {format: {module: how its peer reads a file}}
PEERS: dict[str, dict[str, Callable[[Path], Reading]]] = {
    "MJCF": {"mujoco": mujoco_of_mjcf},
    "URDF": {"pinocchio": pinocchio_of_urdf, "mujoco": mujoco_of_urdf},
    "SDF": {"pydrake": drake_of_sdf},
}


def _changed(model: rbd.Model, **fields: Any) -> rbd.Model:
    """With other fields of all joints."""
    return replace(model, bodies=[replace(body, joint=replace(body.joint, **fields)) for body in model.bodies])


def _single_coordinates(
    model: rbd.Model, theirs: set[str], called: Callable[[str], str] = str
) -> dict[str, tuple[int, float, float, int]]:
    """Of each joint: index in q, ratio and offset of a mimic joint, index in v. called: what they call a joint."""
    found = {}
    for body in model.bodies:
        joint = body.joint
        if joint.kind.nv != 1:
            raise NotCompared("a joint with several coordinates")
        ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        if called(joint.name) in found:
            raise NotCompared(f"several joints are called {called(joint.name)!r}")
        found[called(joint.name)] = (joint.q_index, ratio, offset, joint.v_index)
    if found.keys() != theirs:
        raise NotCompared(f"other joints move: {', '.join(sorted(found.keys() ^ theirs)[:5])}")
    return found
