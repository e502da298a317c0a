# SPDX-License-Identifier: Apache-2.0
"""Bodies that touch planes and each other: a block on a slope, balls in a row, a rod."""

from __future__ import annotations

import math

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.constraints import Sphere, placement
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute

G = 9.81
POINT = 1e-6  # m, radius of what is a point
EDGE = 0.1  # m, of the block


def block(mass=2.0):
    builder = rbd.ModelBuilder("block")
    builder.add_body("block", None, Floating(), mass=mass, inertia=mass * EDGE**2 / 6.0 * np.eye(3))
    return builder.build()


def slope(model, angle, *, cone="elliptic", **options):
    """A contact at each of the block's lower corners, on a plane that falls along x."""
    corners = [(x, y) for x in (0.5, -0.5) for y in (0.5, -0.5)]
    surface = placement((0.0, 0.0, 0.0), (0.0, angle, 0.0))
    contacts = [
        Contact(
            f"corner {k}", "block", radius=POINT, surface_placement=surface,
            placement=placement((EDGE * x, EDGE * y, POINT - 0.5 * EDGE)), **options,
        )
        for k, (x, y) in enumerate(corners)
    ]  # fmt: skip
    return ContactSet(model, contacts, cone=cone)


def on_slope(angle):
    """The block's position there."""
    half = 0.5 * angle
    height = 0.5 * EDGE
    return np.array([height * math.sin(angle), 0.0, height * math.cos(angle), 0.0, math.sin(half), 0.0, math.cos(half)])


def balls_in_a_row(count, radius, **options):
    """Balls on a line without gravity along it, each touching the next; q = their displacements."""
    builder = rbd.ModelBuilder("cradle")
    for k in range(count):
        start = placement((2.0 * radius * k, 0.0, 0.0))
        builder.add_body(f"ball {k}", None, Prismatic((1.0, 0.0, 0.0)), placement=start, mass=0.3)
    model = builder.build()
    contacts = [
        Contact(
            f"{k} and {k + 1}", f"ball {k}", reference=f"ball {k + 1}", surface=Sphere(radius), radius=radius, **options
        )
        for k in range(count - 1)
    ]
    return model, contacts


def rod(half_length, mass):
    """In a vertical plane; q = (x, z) of its centre, angle from the horizontal. Its lower end can touch the floor."""
    builder = rbd.ModelBuilder("rod")
    builder.add_body("x", None, Prismatic((1.0, 0.0, 0.0)))
    builder.add_body("z", "x", Prismatic((0.0, 0.0, 1.0)))
    inertia = np.diag([1e-9, 1.0, 1.0]) * mass * half_length**2 / 3.0
    builder.add_body("rod", "z", Revolute((0.0, -1.0, 0.0)), mass=mass, inertia=inertia)
    return builder.build()


def rod_on_floor(model, half_length, friction, **options):
    end = placement((-half_length, 0.0, 0.0))
    contact = Contact("end", "rod", radius=POINT, placement=end, friction_coefficient=friction, **options)
    return ContactSet(model, [contact])
