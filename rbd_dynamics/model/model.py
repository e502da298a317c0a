# SPDX-License-Identifier: Apache-2.0
"""The immutable robot model that every algorithm reads.

A model is a tree of moving bodies in which a parent comes before its children. Links that fixed
joints connect are one body; what is fixed to the world is no body, its inertia is kept in
`fixed_inertia` so that no mass is lost.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.by_name import ByName
from rbd_dynamics.common.deprecated import successor
from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.real_numbers import all_finite, real_array, transposed_hint
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.joints.base import vector_of
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.passive_forces import Coulomb, Damping, PassiveForce
from rbd_dynamics.model.shown import as_html, in_a_line
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

Array = NDArray[np.float64]

WORLD = -1
#: gravity in the world frame, m/s^2, of a robot of which nobody says another
EARTH = (0.0, 0.0, -9.81)

#: how far from 1 the norm of a quaternion may be before it is an error; within it, it is normalised
QUATERNION_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; infinite where none is given. Units: m or rad, per s, per s^2, per s^3, N or N m."""

    _: KW_ONLY
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf
    jerk: float = math.inf

    @property
    def rate(self) -> float:
        """How much the velocity may change, faster or slower: the smaller of acceleration and deceleration, per s^2."""
        return min(self.acceleration, self.deceleration)


@dataclass(frozen=True)
class Mimic:
    """q = multiplier * q_leader + offset."""

    leader: str
    _: KW_ONLY
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A movable joint. `q_index` and `v_index` are where its numbers start in q and v.

    A mimic joint has no number of its own: its indices are its leader's.
    """

    name: str
    kind: JointKind
    q_index: int
    v_index: int
    _: KW_ONLY
    limits: Limits = Limits()
    damping: float = 0.0  # viscous, N s/m or N m s/rad
    friction: float = 0.0  # Coulomb, N or N m
    armature: float = 0.0  # rotor inertia seen at the joint, kg or kg m^2
    mimic: Mimic | None = None
    passive: tuple[PassiveForce, ...] = ()  # what else it does by itself: springs
    drive: Drive | None = None  # gear and elasticity of what moves it; None: rigid, one to one

    @property
    def forces(self) -> tuple[PassiveForce, ...]:
        """All that it does by itself, damping and friction included."""
        viscous = (Damping(self.damping),) if self.damping else ()
        dry = (Coulomb(self.friction),) if self.friction else ()
        return (*viscous, *dry, *self.passive)


@dataclass(frozen=True)
class Body:
    """A moving body: the link that `joint` moves, with everything fixed to it."""

    name: str
    parent: int  # index of the parent body, WORLD for none
    placement: Transform  # joint frame in the parent body's frame
    joint: Joint
    inertia: RigidInertia  # at the body frame, which is the link's frame


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a body (or to the world)."""

    name: str
    body: int
    _: KW_ONLY
    placement: Transform = IDENTITY  # in the body's frame
    element: Literal["link", "joint"] = "link"


@dataclass(frozen=True, repr=False)
class Model:
    """A robot. Immutable; every change makes a new model.

    Shapes: nq numbers describe the configuration, nv the velocity; they differ for joints with a
    quaternion. Frames are looked up by name: a link's first, else the joint's.
    """

    name: str
    bodies: tuple[Body, ...]
    _: KW_ONLY
    frames: tuple[Frame, ...] = ()
    gravity: tuple[float, float, float] = EARTH
    base: Literal["fixed", "floating"] = "fixed"
    fixed_inertia: RigidInertia = field(default_factory=RigidInertia)  # fixed to the world
    loops: tuple[Loop, ...] = ()  # joints that the tree leaves out; `constraints.loop_constraints` makes rows of them
    source: str | None = field(default=None, compare=False)  # the description's file, if it was one: it has the shapes

    NOT_COMPUTED_WITH: ClassVar = frozenset({"source"})  # a kernel is the same wherever the file lies

    def __repr__(self) -> str:
        return f"<Model {in_a_line(self)}>"

    def _repr_html_(self) -> str:
        return as_html("Model", self)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The independent joints (no mimics), in the order of q and v."""
        return tuple(body.joint for body in self.bodies if body.joint.mimic is None)

    @cached_property
    def nq(self) -> int:
        return sum(joint.kind.nq for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        return sum(joint.kind.nv for joint in self.joints)

    @cached_property
    def joint_names(self) -> list[str]:
        return [joint.name for joint in self.joints]

    @cached_property
    def body_names(self) -> list[str]:
        return [body.name for body in self.bodies]

    @cached_property
    def frame_names(self) -> list[str]:
        return [frame.name for frame in self.frames]

    @cached_property
    def mass(self) -> float:
        """Total mass in kg, with what is fixed to the world."""
        return float(self.fixed_inertia.mass + sum(body.inertia.mass for body in self.bodies))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Indices of each body's child bodies."""
        found: list[list[int]] = [[] for _ in self.bodies]
        for index, body in enumerate(self.bodies):
            if body.parent != WORLD:
                found[body.parent].append(index)
        return tuple(map(tuple, found))

    # --- limits -----------------------------------------------------------------------------------

    @property
    def lower(self) -> Array:
        """Lowest positions (nq,), rad or m; -inf where there is no limit, and for quaternions."""
        return self._position_limits("lower", -math.inf)

    @property
    def upper(self) -> Array:
        """Highest positions (nq,), rad or m; inf where there is no limit, and for quaternions."""
        return self._position_limits("upper", math.inf)

    @property
    def velocity_limit(self) -> Array:
        """Highest speeds (nv,), rad/s or m/s; inf where there is no limit."""
        return self._motion_limits("velocity")

    @property
    def effort_limit(self) -> Array:
        """Highest efforts (nv,), N m or N; inf where there is no limit."""
        return self._motion_limits("effort")

    @property
    def acceleration_limit(self) -> Array:
        """Highest magnitudes of acceleration (nv,), rad/s^2 or m/s^2: of speeding up and of slowing down the smaller.

        inf where there is no limit; only URDF 1.2 and YAML have them.
        """
        return self._motion_limits("rate")

    def _position_limits(self, key: str, none: float) -> Array:
        limits = np.full(self.nq, none)
        for joint in self.joints:
            own = limits[joint.q_index : joint.q_index + joint.kind.nq]
            own[:] = getattr(joint.limits, key)
            if joint.kind.quaternion is not None:
                own[joint.kind.quaternion] = none
        return limits

    def _motion_limits(self, key: str) -> Array:
        return np.concatenate(
            [np.zeros(0), *(np.full(joint.kind.nv, getattr(joint.limits, key)) for joint in self.joints)]
        )

    # --- by name ----------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> ByName[Frame]:
        """The frame of a name: `model.frame("tool0")`, or in brackets, where notebooks complete it.

        Raises KeyError that lists near matches.
        """
        found: dict[str, Frame] = {}
        for element in ("link", "joint"):
            for frame in self.frames:
                if frame.element == element:
                    found.setdefault(frame.name, frame)
        return ByName("frame", found)

    @cached_property
    def joint(self) -> ByName[Joint]:
        """The independent joint of a name, `model.joint("elbow")`, as `frame`."""
        found: dict[str, Joint] = {}
        for joint in self.joints:
            found.setdefault(joint.name, joint)  # of two of one name the first
        others = {frame.name: "it is fixed or locked" for frame in self.frames if frame.element == "joint"}
        for body in self.bodies:
            if body.joint.mimic is not None:
                others[body.joint.name] = f"it follows {excerpt(body.joint.mimic.leader)}"
        return ByName("joint", found, others=others)

    # --- configurations ---------------------------------------------------------------------------

    def neutral(self) -> Array:
        """Zero position of every joint, identity quaternions: (nq,)."""
        return np.concatenate([np.zeros(0), *(joint.kind.neutral() for joint in self.joints)])

    def start_position(self) -> Array:
        """The neutral configuration (nq,), moved into the limits where it is outside."""
        q = self.neutral()
        for joint in self.joints:
            if joint.kind.nq == 1 and not joint.limits.lower <= 0.0 <= joint.limits.upper:
                finite = [limit for limit in (joint.limits.lower, joint.limits.upper) if math.isfinite(limit)]
                q[joint.q_index] = sum(limit / len(finite) for limit in finite)
        return q

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random configuration (nq,): within the limits where they are finite, else within pi rad or 1 m.

        rng: a generator, or the seed of one.
        """
        if isinstance(rng, (int, np.integer)):
            if rng < 0:
                raise ValueError(f"rng: the seed {excerpt(rng)} is negative")
        elif rng is not None and not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng {excerpt(rng)} is neither a generator nor a seed")
        rng = np.random.default_rng(rng)
        parts = [joint.kind.random(rng, joint.limits.lower, joint.limits.upper) for joint in self.joints]
        return np.concatenate([np.zeros(0), *parts])

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Array:
        """q moved along the constant velocity dv for unit time: (..., nq), (..., nv) -> (..., nq).

        Leading axes broadcast; quaternions are normalised. Raises ValueError that names the argument, and the joint of
        a number that is not finite or of a quaternion far from unit length; ArithmeticError where the result is not
        finite.
        """
        q, dv = _together(self.configuration(q), self.velocity(dv, what="dv"), "q", "dv")
        with np.errstate(all="ignore"):
            parts = [joint.kind.integrate(self._q_of(joint, q), self._v_of(joint, dv)) for joint in self.joints]
        return self._finite("integrate", np.concatenate([q[..., :0], *parts], axis=-1), parts)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The shortest dv with which integrate(q0, dv) is the pose of q1: (..., nq), (..., nq) -> (..., nv).

        Raises as `integrate`.
        """
        q0, q1 = _together(self.configuration(q0, what="q0"), self.configuration(q1, what="q1"), "q0", "q1")
        with np.errstate(all="ignore"):
            parts = [joint.kind.difference(self._q_of(joint, q0), self._q_of(joint, q1)) for joint in self.joints]
        return self._finite("difference", np.concatenate([q0[..., :0], *parts], axis=-1), parts)

    def configuration(self, q: ArrayLike, *, what: str = "q") -> Array:
        """A checked configuration (..., nq) with quaternions of unit length.

        Raises ValueError that names `what`, and the joint of a number that is not finite or of a quaternion whose
        norm is further from 1 than `QUATERNION_TOLERANCE`.
        """
        checked = self._checked(q, what, self.nq, lambda joint: (joint.q_index, joint.kind.nq))
        parts = [(joint, joint.kind.quaternion) for joint in self.joints if joint.kind.quaternion is not None]
        if parts:
            checked = checked.copy()
        for joint, part in parts:
            own = checked[..., joint.q_index + part.start : joint.q_index + part.stop]
            with np.errstate(over="ignore"):
                norm = np.sqrt(np.sum(own * own, axis=-1, keepdims=True))
            off = ~(np.abs(norm - 1.0) <= QUATERNION_TOLERANCE)
            if off.any():
                raise ValueError(
                    f"{what}: the quaternion of joint {joint.name!r} has norm {norm[off][0]:.6g}, expected 1"
                )
            own /= norm
        return checked

    def velocity(self, v: ArrayLike, *, what: str = "v") -> Array:
        """Checked numbers (..., nv). Raises ValueError that names `what`, and the joint of one that is not finite."""
        return self._checked(v, what, self.nv, lambda joint: (joint.v_index, joint.kind.nv))

    def _finite(self, what: str, result: Array, parts: Sequence[Array]) -> Array:
        if not np.isfinite(result).all():
            name = next(joint.name for joint, part in zip(self.joints, parts) if not np.isfinite(part).all())
            raise ArithmeticError(f"{what}: the result of joint {name!r} is not finite: a number is too large")
        return result

    def _checked(self, value: ArrayLike, what: str, size: int, place: Callable[[Joint], tuple[int, int]]) -> Array:
        array = real_array(value, what)
        if array.ndim == 0 or array.shape[-1] != size:
            names = ", ".join(self.joint_names)
            text = shortened(f"{what} has shape {array.shape}, expected (..., {size}) for joints {names}")
            raise ValueError(text + transposed_hint(array.shape, size))
        if not all_finite(array):
            bad = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            for joint in self.joints:
                start, length = place(joint)
                if start <= bad[-1] < start + length:
                    raise ValueError(f"{what} of joint {joint.name!r} is {array[bad]}")
        return array

    def with_gravity(self, gravity: Sequence[float]) -> Model:
        """The same robot under another gravity (3,), m/s^2."""
        x, y, z = vector_of(gravity, 3, "gravity")
        return replace(self, gravity=(x, y, z))

    # --- former names of functions, for one release ------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Deprecated: `rbd_dynamics.model_to_dict(model)`."""
        return dict(successor("Model.to_dict", "model_to_dict")(self))

    def to_urdf(self) -> str:
        """Deprecated: `rbd_dynamics.model_to_urdf(model)`."""
        return str(successor("Model.to_urdf", "model_to_urdf")(self))

    def write_urdf(self, path: str | os.PathLike[str]) -> None:
        """Deprecated: `rbd_dynamics.write_urdf(model, path)`."""
        successor("Model.write_urdf", "write_urdf")(self, path)

    def show(self, **options: Any) -> Any:
        """Deprecated: `rbd_dynamics.show(model)`."""
        return successor("Model.show", "show")(self, **options)

    @staticmethod
    def _q_of(joint: Joint, q: Array) -> Array:
        return q[..., joint.q_index : joint.q_index + joint.kind.nq]

    @staticmethod
    def _v_of(joint: Joint, v: Array) -> Array:
        return v[..., joint.v_index : joint.v_index + joint.kind.nv]


def _together(a: Array, b: Array, first: str, second: str) -> tuple[Array, Array]:
    """Both with the same leading axes. Raises ValueError."""
    if a.shape[:-1] == b.shape[:-1]:
        return a, b
    try:
        lead = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        shapes = f"{first} has {a.shape[:-1]}, {second} has {b.shape[:-1]}"
        raise ValueError(f"numbers of samples differ: {shapes}") from None
    return np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(b, (*lead, b.shape[-1]))
