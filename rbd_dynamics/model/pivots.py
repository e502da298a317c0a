# SPDX-License-Identifier: Apache-2.0
"""The inertia that each degree of freedom feels, in time linear in the number of bodies.

A body and all that it carries has the kinetic energy y^T H y / 2, where y is the body's twist and the
velocities of the coordinates inside that also move joints outside (leaders of mimic joints): they wait. A
coordinate whose joints are all inside is eliminated, y_d = -H_dd^-1 H_d y: the articulated-body step of
theory.md section 2, whose H_dd is a pivot of the mass matrix. No mass matrix is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Body, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import skew

Array = NDArray[np.float64]

#: pivots of the mass matrix below this count as zero; those of real robots are above 1e-4
SINGULAR = 1e-9
_TWIST = slice(0, 6)


class Pivots(NamedTuple):
    """Inertia that each degree of freedom (nv) feels, relative to the size of the terms that it is a sum of.

    own: M_ii, all else held still. left: with the degrees of freedom that its joints carry free, the
    pivots of the factorisation of M; one of them is zero when M is singular.
    """

    own: Array
    left: Array
    too_large: str | None = None  # a joint where the numbers are not finite


def pivots(model: Model, q: Array) -> Pivots:
    """Pivots of the mass matrix at the configuration q (nq,)."""
    own, own_size, left = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)
    moved = Counter(dof for body in model.bodies for dof in _dofs(body))  # how many joints
    forms: dict[int, _Form] = {}  # of the bodies whose children are done, at most
    composite: dict[int, Array] = {}  # (6, 6), of a body with all that it carries
    for index, body in reversed(list(enumerate(model.bodies))):
        joint = body.joint
        try:
            transport, columns = _motion(body, q)
        except (ArithmeticError, ValueError):  # as of the sine of an infinite angle
            return Pivots(own, left, joint.name)
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        armature = ratio * ratio * joint.armature
        inertia = inertia_matrix(body.inertia)
        form = forms.pop(index, None) or _Form()
        form.add_inertia(inertia)
        whole = composite.pop(index, 0.0) + inertia
        for column, dof in zip(ratio * columns, _dofs(body)):
            own[dof] += column @ whole @ column + armature
            own_size[dof] += _size(whole, column) + armature
            form.let_move(dof, column, armature)
        for dof in reversed(_dofs(body)):
            if form.joints[dof] == moved[dof]:
                left[dof] = form.eliminate(dof)
        form.move(transport)
        whole = transport.T @ whole @ transport
        dofs = slice(joint.v_index, joint.v_index + len(columns))
        if not (form.is_finite and np.isfinite(whole).all() and np.isfinite(own_size[dofs] + left[dofs]).all()):
            return Pivots(own, left, joint.name)
        parent = body.parent
        if parent != WORLD:
            composite[parent] = composite[parent] + whole if parent in composite else whole
        if parent in forms:
            forms[parent].join(form)
            for dof in form.joints:
                if forms[parent].joints[dof] == moved[dof]:
                    left[dof] = forms[parent].eliminate(dof)
        elif parent != WORLD or form.joints:
            forms[parent] = form
    own_size[own_size == 0.0] = 1.0
    return Pivots(own / own_size, left)


def inertia_matrix(inertia: RigidInertia) -> Array:
    """(6, 6), at the frame in which the inertia is given."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    moment = np.reshape(np.array(skew(inertia.moment), dtype=float), (3, 3))
    matrix = np.empty((6, 6))
    matrix[:3, :3] = (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
    matrix[:3, 3:], matrix[3:, :3] = moment, moment.T
    matrix[3:, 3:] = inertia.mass * np.eye(3)
    return matrix


def _dofs(body: Body) -> range:
    return range(body.joint.v_index, body.joint.v_index + body.joint.kind.nv)


def _motion(body: Body, q: Array) -> tuple[Array, Array]:
    """X (6, 6), the body's twist of its parent's, and the columns of its joint as rows (nv, 6)."""
    joint = body.joint
    ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
    position = [ratio * float(x) + offset for x in q[joint.q_index : joint.q_index + joint.kind.nq]]
    pose: Transform = body.placement @ joint.kind.transform(position)
    turn = np.array(pose.rotation, dtype=float).reshape(3, 3).T
    transport = np.zeros((6, 6))
    transport[:3, :3] = transport[3:, 3:] = turn
    transport[3:, :3] = -turn @ np.reshape(np.array(skew(pose.p), dtype=float), (3, 3))
    return transport, np.array(joint.kind.columns(position), dtype=float).reshape(-1, 6)


def _size(inertia: Array, twist: Array) -> float:
    """What twist^T inertia twist is a difference of: of a body with its mass this far away, in any direction."""
    turning, moving = float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))
    second, mass = abs(float(np.trace(inertia[:3, :3]))), abs(float(inertia[3, 3]))
    first = float(np.linalg.norm(inertia[:3, 3:]))
    return second * turning * turning + 2.0 * first * turning * moving + mass * moving * moving


class _Form:
    """H of a body and all that it carries, over its twist and the coordinates that wait; each has a place in it.

    With H goes G >= H, of which the rounding errors in H are small parts: it is treated as H is, and gets the
    terms of every difference.
    """

    def __init__(self) -> None:
        self._both = np.zeros((2, 8, 8))  # H and G
        self._places: dict[int, int] = {}
        self._free = [7, 6]
        self.joints: Counter[int] = Counter()  # how many of each coordinate that waits are inside

    @property
    def is_finite(self) -> bool:
        """What concerns the twist; the rest is looked at when it is eliminated."""
        return bool(np.isfinite(self._both[:, _TWIST]).all())

    def add_inertia(self, inertia: Array) -> None:
        self._both[:, _TWIST, _TWIST] += inertia

    def let_move(self, dof: int, column: Array, armature: float) -> None:
        """The body moves against what carries it, with the twist `column` at unit velocity of a coordinate."""
        at = self._place(dof)
        self.joints[dof] += 1
        both = self._both
        both[:, :, at] += both[:, :, _TWIST] @ column
        both[:, at, :] += column @ both[:, _TWIST, :]
        both[:, at, at] += armature

    def eliminate(self, dof: int) -> float:
        """The pivot of a coordinate all of whose joints are inside, relative to its terms; then it is gone."""
        at, both = self._places.pop(dof), self._both
        pivot, size = both[:, at, at].tolist()
        relative = float(pivot / abs(size)) if size else pivot
        if relative > SINGULAR:
            coupled = np.flatnonzero(both[:, at].any(axis=0))
            block = _block(coupled)
            before = both[block]
            H, G = before
            column, terms = both[0, coupled, at], both[1, coupled, at]
            gain = column / pivot
            mixed = np.outer(terms - 0.5 * size * gain, gain)
            both[block] = H - np.outer(column, gain), G - mixed - mixed.T + H
        both[:, at, :] = both[:, :, at] = 0.0
        self._free.append(at)
        del self.joints[dof]
        return relative

    def move(self, transport: Array) -> None:
        """Express the form by the twist of what carries the body: X^T H X."""
        self._both[:, _TWIST] = transport.T @ self._both[:, _TWIST]
        self._both[:, :, _TWIST] = self._both[:, :, _TWIST] @ transport

    def join(self, other: _Form) -> None:
        """Another body on the same one."""
        self.joints.update(other.joints)
        places = [*range(6), *(self._place(dof) for dof in other._places)]
        theirs = [*range(6), *other._places.values()]
        self._both[_block(places)] += other._both[_block(theirs)]

    def _place(self, dof: int) -> int:
        if dof not in self._places:
            if not self._free:
                size = self._both.shape[1]
                larger = np.zeros((2, 2 * size, 2 * size))
                larger[:, :size, :size] = self._both
                self._both = larger
                self._free = list(range(2 * size - 1, size - 1, -1))
            self._places[dof] = self._free.pop()
        return self._places[dof]


def _block(places: Sequence[int] | NDArray[np.intp]) -> tuple[Any, ...]:
    """Index of the rows and columns of these places, in both matrices."""
    here = np.asarray(places, dtype=np.intp)
    return slice(None), here[:, None], here[None, :]
