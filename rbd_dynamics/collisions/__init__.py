# SPDX-License-Identifier: Apache-2.0
"""Contact between bodies that have shapes: found at each configuration, and handed to the dynamics in contact.

- `CollisionShape`, or `collision_shapes` of a URDF's <collision> elements: spheres, capsules, boxes, cylinders, hulls
  of meshes, planes;
- `CollisionSet`: which of them may touch, with which friction; its `contacts` at a configuration;
- `read_collisions`: of plain data, as scenes in YAML have it.

Wherever `Robot` and `Simulation` take contacts they take a `CollisionSet` too. Machine code
(`loops`) finds most of them, the package `coal` the rest; how contacts move is theory.md section 10.
"""

from rbd_dynamics.collisions.collision_set import CollisionSet
from rbd_dynamics.collisions.dictionary import read_collisions
from rbd_dynamics.collisions.narrow_phase import Touch
from rbd_dynamics.collisions.shapes import CollisionShape
from rbd_dynamics.collisions.urdf_shapes import collision_shapes

__all__ = ["CollisionSet", "CollisionShape", "Touch", "collision_shapes", "read_collisions"]
