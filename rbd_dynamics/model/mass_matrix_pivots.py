# SPDX-License-Identifier: Apache-2.0
"""The inertia that each degree of freedom feels, in time linear in the number of bodies.

A body and all that it carries has the kinetic energy y^T H y / 2, where y is the body's twist and the
velocities of the coordinates inside that also move joints outside (leaders of mimic joints): they wait. A
coordinate whose joints are all inside is eliminated, y_d = -H_dd^-1 H_d y: the articulated-body step of
theory.md section 2, whose H_dd is a pivot of the mass matrix. No mass matrix is made.

Several configurations are gone through at once: the leading axis of every array here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform, Vec6

Array = NDArray[np.float64]

#: pivots of the mass matrix below this count as zero; those of real robots are above 1e-4
SINGULAR = 1e-9
_TWIST = slice(0, 6)
#: of several forms that are treated alike: H; what its rounding errors are parts of; H with nothing eliminated
_H, _TERMS, _WHOLE = range(3)


class Pivots(NamedTuple):
    """Inertia that each degree of freedom (..., nv) feels, relative to the size of the terms that it is a sum of.

    own: M_ii, all else held still. left: with the degrees of freedom that its joints carry free, the
    pivots of the factorisation of M; one of them is zero when M is singular.
    """

    own: Array
    left: Array
    too_large: str | None = None  # a joint where the numbers are not finite


def pivots(model: Model, q: Array) -> Pivots:
    """Pivots of the mass matrix at the configurations q (..., nq)."""
    lead, nv = q.shape[:-1], model.nv
    samples = int(np.prod(lead))
    try:
        motions = _motions(model, q.reshape(samples, q.shape[-1]))
    except _TooLarge as error:
        return Pivots(np.zeros((*lead, nv)), np.zeros((*lead, nv)), str(error))
    with np.errstate(all="ignore"):  # what is not finite is looked for at the end
        return _pivots(model, motions, samples, lead)


def _pivots(model: Model, motions: _Motions, samples: int, lead: tuple[int, ...]) -> Pivots:
    nv = model.nv
    inertias = inertia_matrices([body.inertia for body in model.bodies])
    left = np.zeros((samples, nv))
    wholes = np.empty((len(model.bodies), 2, samples, 6, 6))  # what each body carries, seen from it and its parent
    forms: dict[int, _Form] = {}  # of the bodies whose children are done, at most
    for index in range(len(model.bodies) - 1, -1, -1):
        form = forms.pop(index, None) or _Form(samples)
        form.add_inertia(inertias[index])
        wholes[index, 0] = form.whole
        coordinates = motions.of_body[index]
        for k in coordinates:
            if motions.joints[motions.dof[k]] > 1:
                form.let_move(motions.dof[k], motions.columns[k], motions.armature[k])
        for k in reversed(coordinates):
            dof = motions.dof[k]
            if motions.joints[dof] == 1:
                left[:, dof] = form.eliminate(motions.columns[k], motions.armature[k])
            elif form.joints[dof] == motions.joints[dof]:
                left[:, dof] = form.eliminate_waiting(dof)
        form.move(motions.transports[index])
        wholes[index, 1] = form.whole
        parent = model.bodies[index].parent
        if parent in forms:
            forms[parent].join(form)
            for dof in form.joints:
                if forms[parent].joints[dof] == motions.joints[dof]:
                    left[:, dof] = forms[parent].eliminate_waiting(dof)
        elif parent != WORLD or form.joints:
            forms[parent] = form
    own, size = _felt(motions, wholes[:, 0], nv)
    sound = [bool(np.isfinite(each).all()) for each in wholes] if not np.isfinite(wholes).all() else []
    worst = None
    if sound or not np.isfinite(size + left).all():
        finite = np.all(np.isfinite(size + left), axis=0).tolist()
        for index, body in enumerate(model.bodies):
            if not all(sound[index : index + 1]) or not all(finite[motions.dof[k]] for k in motions.of_body[index]):
                worst = body.joint.name  # the last one: those that carry it have its numbers, too
    size[size == 0.0] = 1.0
    return Pivots((own / size).reshape(*lead, nv), left.reshape(*lead, nv), worst)


def _felt(motions: _Motions, wholes: Array, nv: int) -> tuple[Array, Array]:
    """M_ii, and what it is a difference of: of bodies with their mass this far away, in any direction."""
    own, size = np.zeros((2, wholes.shape[1], nv))
    columns, wholes = motions.columns, wholes[motions.body]  # (coordinates, samples, 6), (..., 6, 6)
    armature = motions.armature[:, None]
    turning, moving = (np.sqrt((columns[..., part] ** 2).sum(axis=-1)) for part in (slice(3), slice(3, 6)))
    second = np.abs(np.trace(wholes[..., :3, :3], axis1=-2, axis2=-1))
    first = np.sqrt((wholes[..., :3, 3:] ** 2).sum(axis=(-2, -1)))
    terms = second * turning * turning + 2.0 * first * turning * moving + np.abs(wholes[..., 3, 3]) * moving * moving
    felt = ((wholes @ columns[..., None])[..., 0] * columns).sum(axis=-1)
    for found, each in ((own, felt), (size, terms)):
        np.add.at(found.T, motions.dof, each + armature)
    return own, size


def inertia_matrices(inertias: Sequence[RigidInertia]) -> Array:
    """(n, 6, 6), at the frames in which the inertias are given."""
    parameters = np.array([inertia.parameters for inertia in inertias], dtype=float).reshape(-1, 10)
    mass, moment, rotational = parameters[:, 0], parameters[:, 1:4], parameters[:, 4:]
    matrices = np.zeros((len(parameters), 6, 6))
    matrices[:, :3, :3] = rotational[:, _SYMMETRIC].reshape(-1, 3, 3)
    matrices[:, :3, 3:] = skews(moment)
    matrices[:, 3:, :3] = matrices[:, :3, 3:].swapaxes(1, 2)
    matrices[:, _LINEAR, _LINEAR] = mass[:, None]
    return matrices


def skews(vectors: Array) -> Array:
    """(..., 3) -> (..., 3, 3): the matrices of the cross products with them."""
    found = np.zeros((*vectors.shape, 3))
    x, y, z = np.moveaxis(vectors, -1, 0)
    found[..., 0, 1], found[..., 0, 2], found[..., 1, 2] = -z, y, -x
    found[..., 1, 0], found[..., 2, 0], found[..., 2, 1] = z, -y, x
    return found


_SYMMETRIC = [0, 1, 2, 1, 3, 4, 2, 4, 5]
_LINEAR = [3, 4, 5]


class _TooLarge(Exception):
    """A joint whose position cannot be computed with."""


class _Motions(NamedTuple):
    """How joints move their bodies. A coordinate of several joints (leader and followers) is there for each."""

    transports: Array  # (bodies, samples, 6, 6): X, a body's twist of its parent's
    columns: Array  # (coordinates, samples, 6): the body's twist of its parent at unit velocity
    dof: list[int]  # of each coordinate
    body: list[int]
    armature: Array
    of_body: list[range]  # the coordinates of each body
    joints: Counter[int]  # how many of them each degree of freedom moves


def _motions(model: Model, q: Array) -> _Motions:
    moved: list[Transform] = []
    columns: list[list[Vec6]] = []
    ratios: list[float] = []
    dof: list[int] = []
    of_body: list[range] = []
    armature: list[float] = []
    positions = q.T.tolist()
    samples = range(len(q))
    for body in model.bodies:
        joint, kind = body.joint, body.joint.kind
        nq, nv = kind.nq, kind.nv
        ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        rows = positions[joint.q_index : joint.q_index + nq]
        own = []
        try:
            for k in samples:
                position = [ratio * row[k] + offset for row in rows]
                moved.append(kind.transform(position))
                own.append(kind.columns(position))
        except (ArithmeticError, ValueError):  # as of the sine of an infinite angle
            raise _TooLarge(joint.name) from None
        columns += [[each[k] for each in own] for k in range(nv)]
        ratios += [ratio] * nv
        of_body.append(range(len(dof), len(dof) + nv))
        dof += range(joint.v_index, joint.v_index + nv)
        armature += [ratio * ratio * joint.armature] * nv
    fixed_turns, fixed = _poses([body.placement for body in model.bodies], 1)
    turns, shifts = _poses(moved, len(q))
    places = fixed + (fixed_turns @ shifts[..., None])[..., 0]
    back = (fixed_turns @ turns).swapaxes(-1, -2)
    transports = np.zeros((*back.shape[:2], 6, 6))
    transports[..., :3, :3] = transports[..., 3:, 3:] = back
    transports[..., 3:, :3] = -back @ skews(places)
    numbered = [index for index, own_coordinates in enumerate(of_body) for _ in own_coordinates]
    stacked = np.array(columns, dtype=float).reshape(-1, len(q), 6) * np.array(ratios).reshape(-1, 1, 1)
    return _Motions(transports, stacked, dof, numbered, np.array(armature), of_body, Counter(dof))


def _poses(poses: Sequence[Transform], samples: int) -> tuple[Array, Array]:
    """Rotations (n, samples, 3, 3) and positions (n, samples, 3)."""
    turns = np.array([pose.rotation for pose in poses], dtype=float).reshape(-1, samples, 3, 3)
    return turns, np.array([pose.p for pose in poses], dtype=float).reshape(-1, samples, 3)


class _Form:
    """H of a body and all that it carries, over its twist and the coordinates that wait; each has a place in it.

    With H goes G >= H, of which the rounding errors in H are small parts: it is treated as H is, and gets the
    terms of every difference. And H with nothing eliminated, the inertia of all as one body.
    """

    def __init__(self, samples: int) -> None:
        self._all = np.zeros((samples, 3, 6, 6))
        self._places: dict[int, int] = {}
        self._free: list[int] = []
        self.joints: Counter[int] = Counter()  # how many of each coordinate that waits are inside

    @property
    def whole(self) -> Array:
        """(samples, 6, 6): the inertia of the body and all that it carries."""
        return self._all[:, _WHOLE, _TWIST, _TWIST]

    def add_inertia(self, inertia: Array) -> None:
        self._all[:, :, _TWIST, _TWIST] += inertia

    def let_move(self, dof: int, column: Array, armature: float) -> None:
        """The body moves against what carries it, with the twist `column` at unit velocity of a coordinate."""
        at = self._place(dof)
        self.joints[dof] += 1
        forms, along = self._all, column[:, None, :, None]
        forms[..., at] += (forms[..., _TWIST] @ along)[..., 0]
        forms[:, :, at, :] += (along.swapaxes(2, 3) @ forms[:, :, _TWIST, :])[:, :, 0]
        forms[:, :, at, at] += armature

    def eliminate(self, column: Array, armature: float) -> Array:
        """The pivots of a coordinate that moves the body by a twist, relative to their terms: (samples,)."""
        forms, direction = self._all[:, :_WHOLE], column[:, None, :, None]
        coupled = (forms[..., _TWIST] @ direction)[..., 0]  # (samples, 2, size)
        pivot = (coupled[..., None, _TWIST] @ direction)[..., 0, 0] + armature
        return self._take_out(coupled, pivot)

    def eliminate_waiting(self, dof: int) -> Array:
        """The pivots of a coordinate all of whose joints are inside, relative to their terms; then it is gone."""
        at = self._places.pop(dof)
        found = self._take_out(self._all[:, :_WHOLE, :, at].copy(), self._all[:, :_WHOLE, at, at].copy())
        self._all[:, :, at, :] = self._all[..., at] = 0.0
        self._free.append(at)
        del self.joints[dof]
        if not self._places:
            self._all, self._free = self._all[:, :, _TWIST, _TWIST].copy(), []
        return found

    def _take_out(self, coupled: Array, pivots: Array) -> Array:
        """Eliminate what is coupled (samples, 2, size) to the rest, where its pivots (samples, 2) are not zero."""
        pivot, size = pivots[:, _H], np.abs(pivots[:, _TERMS])
        relative: Array = pivot / size
        gain = coupled[:, _H] / pivot[:, None]
        forms = self._all
        seen: Any = 1.0
        if not all(each > SINGULAR for each in relative.tolist()):  # nearly never
            relative = np.where(size > 0.0, relative, pivot)
            sound = relative > SINGULAR
            gain[~sound] = coupled[~sound] = 0.0
            seen = sound[:, None, None]
        H, G = forms[:, _H], forms[:, _TERMS]
        if coupled.shape[-1] > 6:
            places = np.flatnonzero(coupled.any(axis=(0, 1)))
            coupled, gain, block = coupled[..., places], gain[:, places], _block(places)
            inner, terms = H[block], G[block]
            _eliminate(inner, terms, coupled, gain, size, seen)
            H[block], G[block] = inner, terms
        else:
            _eliminate(H, G, coupled, gain, size, seen)
        return relative

    def move(self, transport: Array) -> None:
        """Express the form by the twist of what carries the body: X^T H X."""
        forms, across = self._all, transport[:, None]
        if forms.shape[-1] == 6:
            self._all = across.swapaxes(2, 3) @ forms @ across
            return
        forms[:, :, _TWIST] = across.swapaxes(2, 3) @ forms[:, :, _TWIST]
        forms[..., _TWIST] = forms[..., _TWIST] @ across

    def join(self, other: _Form) -> None:
        """Another body on the same one."""
        self.joints.update(other.joints)
        if not self._places and not other._places:
            self._all = self._all + other._all
            return
        places = [*range(6), *(self._place(dof) for dof in other._places)]
        theirs = [*range(6), *other._places.values()]
        self._all[_block(places, 2)] += other._all[_block(theirs, 2)]

    def _place(self, dof: int) -> int:
        if dof not in self._places:
            if not self._free:
                size = self._all.shape[-1]
                larger = np.zeros((*self._all.shape[:2], 2 * size, 2 * size))
                larger[:, :, :size, :size] = self._all
                self._all = larger
                self._free = list(range(2 * size - 1, size - 1, -1))
            self._places[dof] = self._free.pop()
        return self._places[dof]


def _eliminate(H: Array, G: Array, coupled: Array, gain: Array, size: Array, seen: Any) -> None:
    """H - u g^T for H, and for G what that is a difference of; written into them. coupled: u, and as G has it."""
    coupled[:, _TERMS] -= (0.5 * size)[:, None] * gain
    taken = coupled[..., None] * gain[:, None, None, :]
    mixed = taken[:, _TERMS]
    G += H * seen
    G -= mixed
    G -= mixed.swapaxes(1, 2)
    H -= taken[:, _H]


def _block(places: Any, leading: int = 1) -> tuple[Any, ...]:
    """Index of the rows and columns of these places, after so many axes."""
    at = np.asarray(places)
    return (*(slice(None),) * leading, at[:, None], at)
