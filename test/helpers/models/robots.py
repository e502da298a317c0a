# SPDX-License-Identifier: Apache-2.0
"""Robots for tests: real ones with their twin in Pinocchio, and random trees.

Tests that need real robots take their names from `ROBOTS` and call `needs_pinocchio` (a mark that
skips them, with the reason, where Pinocchio or example-robot-data is not installed).
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.wide import table
from rbd_dynamics.compiler.backends import Backend
from rbd_dynamics.model import Model, ModelWarning, load_urdf
from rbd_dynamics.model.joints import (
    Continuous,
    Floating,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
)
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Mimic
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_quaternion

Array = NDArray[np.float64]
Base = Literal["fixed", "floating"]

# --- real robots ---------------------------------------------------------------------------------


def _find_robots() -> dict[str, Path]:
    """{short name: file}, the file's stem, with its package where two files share it."""
    spec = importlib.util.find_spec("pinocchio")
    if spec is None or spec.origin is None:
        return {}
    prefix = next((p for p in Path(spec.origin).parents if p.name == "cmeel.prefix"), None)
    folder = prefix / "share" / "example-robot-data" / "robots" if prefix else None
    if folder is None or not folder.is_dir():
        return {}
    files = sorted(folder.glob("**/*.urdf"))
    count = Counter(file.stem for file in files)
    return {
        file.stem if count[file.stem] == 1 else f"{file.relative_to(folder).parts[0]}/{file.stem}": file
        for file in files
    }


FILES = _find_robots()
#: a file without a single link, which no library loads
EMPTY_FILE = "ur3"
#: names of all robots of example-robot-data, for pytest.mark.parametrize
ROBOTS = [name for name in FILES if name != EMPTY_FILE]
#: a dozen that together have every trait: mimics, several kinds of joints, deep and branched, small and large
SAMPLE = [
    name
    for name in (
        "ur5_robot",
        "panda",
        "kinova",
        "double_pendulum_continuous",
        "baxter",
        "solo12",
        "pr2",
        "romeo_small",
        "icub_reduced",
        "talos_full_v2",
        "tiago_pro",
        "hextilt_flying_arm_5",
    )
    if name in FILES
]


def sampled(cases: Iterable[Any], sample: Container[str] = SAMPLE) -> list[Any]:
    """Cases for pytest.mark.parametrize, each a robot's name or begins with one: those outside of a sample are wide."""
    cases = list(cases)
    return table(cases, lambda case: (case[0] if isinstance(case, tuple) else case) in sample) if cases else []


#: their mass matrix is singular: fingers without mass
SINGULAR = {"romeo", "romeo_laas_small"}

needs_pinocchio = pytest.mark.skipif(not FILES, reason="needs Pinocchio (pin) and example-robot-data")


def robot_file(name: str) -> Path:
    """The URDF of a robot; skips the test where it is not installed."""
    if name not in FILES:
        pytest.skip(f"needs {name} of example-robot-data (with Pinocchio)")
    return FILES[name]


@cache
def load_robot(name: str, base: Base = "fixed") -> Model:
    """A real robot by its short name, as `ROBOTS` lists them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(robot_file(name), base=base)


@cache
def shared_robot(model: Model) -> Robot:
    """One for all tests of a process that need a robot of this model as it is: none of them may give it a load.

    To look up what a kernel computes, as each new robot does, takes a twentieth of a second.
    """
    return Robot(model)


@cache
def load_twin(name: str, base: Base = "fixed") -> Twin:
    """The same with its twin in Pinocchio."""
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    return Twin(load_robot(name, base), pin.buildModelFromUrdf(str(robot_file(name)), *root))


# --- Pinocchio -----------------------------------------------------------------------------------


class State(NamedTuple):
    """q (nq), v and a (nv) in our order."""

    q: Array
    v: Array
    a: Array


class Twin:
    """One of our models and the same robot in Pinocchio, matched by joint names.

    Pinocchio orders joints its own way, has (cos, sin) for continuous joints, the linear part first
    in free-flyer velocities, and keeps mimic joints as free ones. So v_pin = P v, and for what
    both compute: tau = P^T tau_pin, M = P^T M_pin P, J = J_pin P.
    """

    def __init__(self, model: Model, pinocchio_model: Any) -> None:
        self.model = model
        self.pinocchio = pinocchio_model
        self.pinocchio.gravity.linear = np.array(model.gravity)
        self.data = pinocchio_model.createData()
        self.P = np.zeros((pinocchio_model.nv, model.nv))
        for body in model.bodies:
            joint = body.joint
            theirs = pinocchio_model.joints[pinocchio_model.getJointId(joint.name)]
            assert theirs.nv == joint.kind.nv, joint.name
            block = np.eye(joint.kind.nv) * (joint.mimic.multiplier if joint.mimic else 1.0)
            if isinstance(joint.kind, Floating):
                block = np.roll(block, 3, axis=0)
            rows = slice(theirs.idx_v, theirs.idx_v + theirs.nv)
            self.P[rows, joint.v_index : joint.v_index + joint.kind.nv] = block

    def q(self, q: Array) -> Array:
        """Our configuration (nq) as Pinocchio's."""
        found = np.zeros(self.pinocchio.nq)
        for body in self.model.bodies:
            joint, kind = body.joint, body.joint.kind
            theirs = self.pinocchio.joints[self.pinocchio.getJointId(joint.name)]
            own = q[joint.q_index : joint.q_index + kind.nq]
            if joint.mimic is not None:
                own = joint.mimic.multiplier * own + joint.mimic.offset
            if theirs.nq > kind.nq:  # an angle last, theirs as (cos, sin)
                own = np.concatenate([own[:-1], [math.cos(own[-1]), math.sin(own[-1])]])
            found[theirs.idx_q : theirs.idx_q + theirs.nq] = own
        return found

    def q_back(self, q_pinocchio: Array) -> Array:
        """Pinocchio's configuration as ours (nq)."""
        found = np.zeros(self.model.nq)
        for joint in self.model.joints:
            theirs = self.pinocchio.joints[self.pinocchio.getJointId(joint.name)]
            own = q_pinocchio[theirs.idx_q : theirs.idx_q + theirs.nq]
            if theirs.nq > joint.kind.nq:
                own = np.concatenate([own[:-2], [math.atan2(own[-1], own[-2])]])
            found[joint.q_index : joint.q_index + joint.kind.nq] = own
        return found

    def v(self, v: Array) -> Array:
        """Our velocity or acceleration (nv) as Pinocchio's."""
        return np.asarray(self.P @ v)

    def tau(self, tau_pinocchio: Array) -> Array:
        """Pinocchio's generalised force as ours (nv)."""
        return np.asarray(self.P.T @ tau_pinocchio)

    def matrix(self, matrix_pinocchio: Array) -> Array:
        """Pinocchio's matrix over velocities, such as M, as ours (nv, nv)."""
        return np.asarray(self.P.T @ matrix_pinocchio @ self.P)

    def wrenches(self, f_ext: dict[str, Array]) -> Any:
        """Our {frame: wrench (m, f)} as Pinocchio's list of a force on each joint."""
        import pinocchio as pin

        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.pinocchio.njoints)])
        for name, wrench in f_ext.items():
            frame = self.pinocchio.frames[self.frame_id(name)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[3:], wrench[:3]))
        return forces

    def random_state(self, rng: np.random.Generator) -> State:
        return random_state(self.model, rng)

    def inverse_dynamics(self, q: Array, v: Array, a: Array, f_ext: dict[str, Array] | None = None) -> Array:
        """Torque (nv). Rotor inertia as the Pinocchio model has it: none when it comes from a URDF."""
        import pinocchio as pin

        extra = [] if f_ext is None else [self.wrenches(f_ext)]
        return self.tau(pin.rnea(self.pinocchio, self.data, self.q(q), self.v(v), self.v(a), *extra))

    def mass_matrix(self, q: Array) -> Array:
        """M (nv, nv)."""
        import pinocchio as pin

        upper = np.triu(pin.crba(self.pinocchio, self.data, self.q(q)))
        return self.matrix(upper + np.triu(upper, 1).T)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Acceleration (nv): by the articulated-body algorithm without mimic joints, else by M."""
        import pinocchio as pin

        if self.P.shape[0] == self.P.shape[1]:
            a = pin.aba(self.pinocchio, self.data, self.q(q), self.v(v), self.P @ tau)
            return self.tau(a)  # P is orthogonal here
        bias = self.inverse_dynamics(q, v, np.zeros(self.model.nv))
        return np.asarray(np.linalg.solve(self.mass_matrix(q), tau - bias))

    def frame_id(self, name: str) -> int:
        """Pinocchio's frame of that name: the link's where a joint has the same name, as `Model.frame` does."""
        import pinocchio as pin

        link = self.pinocchio.existFrame(name, pin.FrameType.BODY)
        return int(self.pinocchio.getFrameId(name, *([pin.FrameType.BODY] if link else [])))

    def pose(self, q: Array, frame: str) -> Array:
        """Pose of a frame (4, 4)."""
        import pinocchio as pin

        pin.framesForwardKinematics(self.pinocchio, self.data, self.q(q))
        return np.array(self.data.oMf[self.frame_id(frame)].homogeneous)

    def jacobian(self, q: Array, frame: str) -> Array:
        """Body Jacobian (6, nv), angular part first."""
        import pinocchio as pin

        index = self.frame_id(frame)
        theirs = pin.computeFrameJacobian(self.pinocchio, self.data, self.q(q), index, pin.LOCAL)
        return np.asarray(np.roll(theirs, 3, axis=0) @ self.P)


def random_state(model: Model, rng: np.random.Generator) -> State:
    """A configuration within the limits, normally distributed velocities and accelerations."""
    return State(model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


# --- random trees --------------------------------------------------------------------------------

ALL_KINDS = ("revolute", "continuous", "prismatic", "planar", "spherical", "floating")


def quick_backend(model: Model) -> Backend:
    """For a few calls: traced where that is quick, else the plain algorithm, which is what is traced."""
    return "python" if model.nv <= 9 else "reference"


def random_tree(
    rng: np.random.Generator | int,
    n: int = 6,
    kinds: Sequence[str] = ALL_KINDS,
    base: Base = "fixed",
    mimic: float = 0.0,
    branching: float = 0.4,
) -> Model:
    """A robot of n bodies (and a floating base) with joints of random kinds along oblique axes.

    Inertias are of real mass distributions. `mimic`: probability that a joint with one degree of
    freedom follows an earlier one. `branching`: probability that a body does not hang on the one
    before it. Frames: "link3" and "joint3" of each body, "tool3" somewhere on it.
    """
    rng = np.random.default_rng(rng)
    bodies: list[Body] = []
    frames: list[Frame] = []
    nq = nv = 0
    for k in range(-1 if base == "floating" else 0, n):
        kind = Floating() if k < 0 else random_kind(rng, kinds[int(rng.integers(len(kinds)))])
        leaders = [body.joint for body in bodies if body.joint.kind.nv == 1 and body.joint.mimic is None]
        name, parent = (f"joint{k}", len(bodies) - 1) if k >= 0 else ("root_joint", WORLD)
        if rng.random() < branching and bodies:
            parent = int(rng.integers(0 if base == "floating" else WORLD, len(bodies)))
        if kind.nv == 1 and leaders and rng.random() < mimic:
            leader = leaders[rng.integers(len(leaders))]
            follows = Mimic(leader.name, multiplier=float(rng.uniform(-2, 2)), offset=float(rng.uniform(-1, 1)))
            joint = Joint(name, kind, leader.q_index, leader.v_index, mimic=follows)
        else:
            joint = Joint(
                name,
                kind,
                nq,
                nv,
                damping=float(rng.uniform(0, 1)),
                friction=float(rng.uniform(0, 1)),
                armature=0.0 if k < 0 else float(rng.uniform(0, 0.1)),
            )
            nq, nv = nq + kind.nq, nv + kind.nv
        placement = IDENTITY if k < 0 else random_transform(rng)
        link = f"link{k}" if k >= 0 else "base_link"
        frames.append(Frame(link, len(bodies)))
        frames.append(Frame(name, len(bodies), element="joint"))
        frames.append(Frame(f"tool{k}" if k >= 0 else "base_tool", len(bodies), placement=random_transform(rng)))
        bodies.append(Body(link, parent, placement, joint, random_inertia(rng)))
    gravity = tuple(float(g) for g in rng.normal(scale=6.0, size=3))
    return Model(f"tree{n}", tuple(bodies), frames=tuple(frames), gravity=gravity, base=base)  # type: ignore[arg-type]


def random_kind(rng: np.random.Generator, name: str) -> JointKind:
    """A joint of that kind; every third time along a coordinate axis, else along an oblique one."""
    without_axis = {"spherical": Spherical, "floating": Floating}
    if name in without_axis:
        return without_axis[name]()
    axis = random_unit(rng, 3) if rng.random() < 2 / 3 else np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    with_axis = {"revolute": Revolute, "continuous": Continuous, "prismatic": Prismatic, "planar": Planar}
    return with_axis[name](tuple(map(float, axis)))  # type: ignore[arg-type]


def random_unit(rng: np.random.Generator, n: int) -> Array:
    vector = rng.normal(size=n)
    return np.asarray(vector / np.linalg.norm(vector))


def random_transform(rng: np.random.Generator) -> Transform:
    x, y, z, w = map(float, random_unit(rng, 4))
    a, b, c = map(float, rng.uniform(-0.5, 0.5, 3))
    return Transform((rotation_from_quaternion((x, y, z, w)),), (a, b, c))


def random_inertia(rng: np.random.Generator) -> RigidInertia:
    """Of a body made of eight point masses."""
    total = RigidInertia()
    for _ in range(8):
        x, y, z = map(float, rng.normal(scale=0.2, size=3))
        total = total + RigidInertia.from_com(float(rng.uniform(0.1, 0.5)), (x, y, z), (0.0,) * 6)
    return total


def tree_twin(model: Model) -> Twin:
    """A model's twin in Pinocchio, built from the model itself; rotor inertia included."""
    import pinocchio as pin

    theirs = pin.Model()
    armature = np.zeros(0)
    ids: dict[int, int] = {WORLD: 0}  # their joint that moves each of our bodies
    ours_in_theirs = {WORLD: pin.SE3.Identity()}  # our body frame seen in their joint frame
    for k in _depth_first(model):  # Pinocchio relies on this order, our models need not have it
        body = model.bodies[k]
        joint, turn = _pinocchio_joint(body.joint.kind)
        placement = ours_in_theirs[body.parent] * se3(body.placement) * turn
        ids[k] = theirs.addJoint(ids[body.parent], joint, placement, body.joint.name)
        ours_in_theirs[k] = turn.inverse()
        armature = np.concatenate([armature, np.full(body.joint.kind.nv, body.joint.armature)])
        inertia = body.inertia
        if inertia.mass == 0.0:
            continue
        com = np.array(inertia.moment) / inertia.mass
        xx, xy, xz, yy, yz, zz = inertia.rotational
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_com = about_origin - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        theirs.appendBodyToJoint(ids[k], pin.Inertia(inertia.mass, com, about_com), turn.inverse())
    theirs.armature = armature
    for frame in model.frames:
        placement = ours_in_theirs[frame.body] * se3(frame.placement)
        theirs.addFrame(pin.Frame(frame.name, ids[frame.body], placement, pin.FrameType.OP_FRAME), False)
    return Twin(model, theirs)


def _depth_first(model: Model) -> list[int]:
    order: list[int] = []
    waiting = [k for k, body in enumerate(model.bodies) if body.parent == WORLD][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(model.children[order[-1]]))
    return order


def se3(pose: Transform) -> Any:
    """As Pinocchio's SE3."""
    import pinocchio as pin

    return pin.SE3(np.array(pose.rotation, dtype=float).reshape(3, 3), np.array(pose.p, dtype=float))


def _pinocchio_joint(kind: JointKind) -> tuple[Any, Any]:
    """Their joint, and the pose of their joint frame in ours."""
    import pinocchio as pin

    turn = pin.SE3.Identity()
    if isinstance(kind, Planar):
        turn = pin.SE3(np.array([*kind.directions, kind.axis]).T, np.zeros(3))
        return pin.JointModelPlanar(), turn
    if isinstance(kind, Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(kind.axis)), turn
    if isinstance(kind, Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(kind.axis)), turn
    if isinstance(kind, Helical):
        return pin.JointModelHelicalUnaligned(np.array(kind.axis), kind.pitch), turn
    if isinstance(kind, Screw):
        w, v = np.array(kind.twist[:3]), np.array(kind.twist[3:])
        if not w.any():
            return pin.JointModelPrismaticUnaligned(v), turn
        return pin.JointModelHelicalUnaligned(w, w @ v), pin.SE3(np.eye(3), np.cross(w, v))
    return (pin.JointModelSpherical() if isinstance(kind, Spherical) else pin.JointModelFreeFlyer()), turn


def states(model: Model, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q, v, a, tau of (count, ...)."""
    rng = np.random.default_rng(seed)
    q = np.stack([model.random(rng) for _ in range(count)]) if count else np.empty((0, model.nq))
    return (q, *(rng.uniform(-1, 1, (count, model.nv)) for _ in range(3)))
