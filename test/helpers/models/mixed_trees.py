# SPDX-License-Identifier: Apache-2.0
"""Random trees with the joint kinds that no URDF has, built by `ModelBuilder`, and their twins in Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.models.robots import ALL_KINDS, Twin, random_inertia, random_kind, random_transform, random_unit, tree_twin
from rbd_dynamics import Model, ModelBuilder
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.joints import Helical, JointKind, ProductOfExponentials, Screw, Universal

#: those whose S depends on q
CHAINS = ("universal", "product_of_exponentials")
SCREWS = ("helical", "screw")
MORE_KINDS = (*SCREWS, *CHAINS)


def any_kind(rng: np.random.Generator, name: str) -> JointKind:
    """A random joint of that kind, also one that a URDF does not have."""
    if name == "helical":
        return Helical(random_axis(rng), float(rng.normal(scale=0.3)))
    if name == "screw":
        return Screw(random_screw(rng))
    if name == "universal":
        return Universal(random_axis(rng), random_axis(rng))
    if name == "product_of_exponentials":
        return ProductOfExponentials(tuple(random_screw(rng) for _ in range(rng.integers(1, 5))))
    return random_kind(rng, name)


def random_axis(rng: np.random.Generator) -> tuple[float, float, float]:
    x, y, z = map(float, random_unit(rng, 3))
    return x, y, z


def random_screw(rng: np.random.Generator) -> tuple[float, ...]:
    """A unit twist: a rotation, a translation, or both."""
    w = random_axis(rng)
    kind = rng.integers(3)
    if kind == 0:
        return (0.0, 0.0, 0.0, *w)
    if kind == 1:  # no pitch: through some point
        return (*w, *map(float, np.cross(rng.normal(scale=0.4, size=3), w)))
    return (*w, *map(float, rng.normal(scale=0.4, size=3)))


def mixed_tree(
    rng: np.random.Generator | int, n: int = 5, kinds: Sequence[str] = (*MORE_KINDS, *ALL_KINDS), **options: Any
) -> Model:
    """A tree of n links with joints of these kinds; every other one has a kind whose S depends on q."""
    rng = np.random.default_rng(rng)
    builder = ModelBuilder(f"mixed{n}", gravity=rng.normal(scale=6.0, size=3))
    for k in range(n):
        parent = None if k == 0 else f"link{rng.integers(max(0, k - 2), k)}"
        names = CHAINS if k % 2 and set(CHAINS) <= set(kinds) else kinds
        load = inertial_of(random_inertia(rng))
        builder.add_body(
            f"link{k}",
            parent,
            any_kind(rng, names[int(rng.integers(len(names)))]),
            joint_name=f"joint{k}",
            placement=random_transform(rng),
            mass=load.mass,
            com=load.com,
            inertia=load.rotational,
            damping=float(rng.uniform(0, 1)),
            friction=float(rng.uniform(0, 1)),
            armature=float(rng.uniform(0.02, 0.1)),
            **options,
        )
        builder.add_frame(f"tool{k}", f"link{k}", placement=random_transform(rng))
    return builder.build()


def pinocchio_twin(model: Model) -> Twin:
    """Its twin in Pinocchio, in which every chain is made of single joints with massless links between."""
    return tree_twin(expanded(model).model)
