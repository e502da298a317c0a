# SPDX-License-Identifier: Apache-2.0
"""Small robots put together joint by joint, for claims about particular ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from helpers.models.robots import State, random_inertia, random_state, random_transform, random_tree
from rbd_dynamics.model import Model
from rbd_dynamics.model.joints import (
    Floating,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    ProductOfExponentials,
    Revolute,
    Spherical,
    Universal,
)
from rbd_dynamics.model.model import Body, Frame, Joint
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform

_HALF = 0.7071067811865476
#: one of every kind of joint
EVERY_KIND: list[JointKind] = [
    Spherical(),
    Universal((1.0, 0.2, 0.0), (0.0, 0.6, 0.8)),
    Helical((0.0, 0.6, 0.8), 0.13),
    Planar((0.6, 0.0, 0.8)),
    Prismatic((0.6, 0.8, 0.0)),
    ProductOfExponentials(
        ((1.0, 0.0, 0.0, 0.0, 0.3, 0.0), (0.0, 1.0, 0.0, 0.1, 0.0, -0.2), (0.0, _HALF, _HALF, 0.2, 0.0, 0.0))
    ),
    Floating(),
    Revolute((0.0, 0.0, 1.0)),
]


def robot_of(
    kinds: Sequence[JointKind],
    parents: Sequence[int] | None = None,
    seed: int = 0,
    massless: Collection[int] = (),
    placements: Sequence[Transform] | None = None,
    inertias: Sequence[RigidInertia] | None = None,
    gravity: tuple[float, float, float] = (0.3, -0.2, -9.81),
) -> Model:
    """Bodies "link0", "link1"... with joints of those kinds, a chain unless parents are given.

    Placements and inertias are random where they are not given; links in `massless` have none.
    """
    rng = np.random.default_rng(seed)
    parents = range(-1, len(kinds) - 1) if parents is None else parents
    bodies, q_index, v_index = [], 0, 0
    for k, (kind, parent) in enumerate(zip(kinds, parents)):
        joint = Joint(f"joint{k}", kind, q_index, v_index)
        q_index, v_index = q_index + kind.nq, v_index + kind.nv
        placement = random_transform(rng) if placements is None else placements[k]
        inertia = random_inertia(rng) if inertias is None else inertias[k]
        bodies.append(Body(f"link{k}", parent, placement, joint, RigidInertia() if k in massless else inertia))
    frames = [Frame(body.name, k) for k, body in enumerate(bodies)] + [Frame("world", -1)]
    frames.append(Frame("tool", len(bodies) - 1, placement=random_transform(rng)))
    base = "floating" if isinstance(kinds[0], Floating) else "fixed"
    return Model("built", tuple(bodies), frames=tuple(frames), gravity=gravity, base=base)  # type: ignore[arg-type]


def all_kinds() -> list[Model]:
    """Robots with every kind of joint, on a fixed and on a floating base, branched."""
    parents = [-1, 0, 1, 0, 3, 2, -1, 6]
    return [robot_of(EVERY_KIND, parents), robot_of([Floating(), *EVERY_KIND], [-1] + [p + 1 for p in parents])]


def some_trees(count: int = 12, mimic: float = 0.4) -> list[Model]:
    """Random trees of mixed kinds, fixed and floating, every third with mimic joints, and robots of every kind."""
    return [
        random_tree(seed, 1 + seed % 7, base="floating" if seed % 2 else "fixed", mimic=mimic * (seed % 3 == 0))
        for seed in range(count)
    ] + all_kinds()


def moderate_state(model: Model, rng: np.random.Generator) -> State:
    """A random state, with angles that stay where sums of them are exact: some files have limits of 1e16 rad."""
    q, v, a = random_state(model, rng)
    return State(np.where(np.abs(q) > 100.0, np.remainder(q, 2 * np.pi), q), v, a)


def name_of(model: Model) -> str:
    """For pytest's ids."""
    return f"{model.name}-{model.base}-{len(model.bodies)}-{model.nv}"
