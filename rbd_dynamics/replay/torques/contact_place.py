# SPDX-License-Identifier: Apache-2.0
"""Places of a contact: the bodies on which one force could show in all of some joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rbd_dynamics.model.model import Joint, Model


@dataclass(frozen=True)
class ContactPlace:
    """Names of bodies. nearest: those closest to the base that may be touched, mostly one; beyond: what they carry.

    Both are empty where no body is moved by all of the joints: then one force does not explain it.
    """

    nearest: tuple[str, ...]
    beyond: tuple[str, ...]


def contact_place(model: Model, joints: Iterable[str]) -> ContactPlace:
    """A force on a body shows only in joints that move it, though not in all of them: those whose axis it meets, or
    along which it does not pull, feel nothing. So what shows in `joints` (names, of degrees of freedom too, as
    "ball[1]") touched a body that all of them move, the last one's or any beyond it.

    That is as far as torques of joints alone tell for sure, and only if what they show is no error of the model.
    """
    names = {name.partition("[")[0] if name not in model.joint_names else name for name in joints}
    moved = [_moved_by(model, model.joint(name)) for name in sorted(names)]
    among = set.intersection(*moved) if moved else set()
    nearest = {index for index in among if model.bodies[index].parent not in among}
    return ContactPlace(
        tuple(model.bodies[index].name for index in sorted(nearest)),
        tuple(model.bodies[index].name for index in sorted(among - nearest)),
    )


def _moved_by(model: Model, joint: Joint) -> set[int]:
    """Bodies that the joint moves, or one that mimics it, with all that they carry."""
    moved: set[int] = set()
    for index, body in enumerate(model.bodies):  # a parent comes before its children
        if body.joint.v_index == joint.v_index or body.parent in moved:
            moved.add(index)
    return moved
