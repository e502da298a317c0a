# SPDX-License-Identifier: Apache-2.0
"""Inertia of a box: by its formula, by integration over its volume, and seen from a corner.

Source 001 (chapter 4): about its centre a box of mass m with edges l, w, h along x, y, z has
I = m / 12 diag(w^2 + h^2, l^2 + h^2, w^2 + l^2). The picture shows the box with its inertia
ellipsoid (the surface e^T I e = constant), at the centre and at a corner: there the longest axis
of the ellipsoid, about which the box turns most easily, leans towards the centre.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save

from rbd_dynamics import spatial

Array = NDArray[np.float64]

MASS = 6.0  # kg
EDGES = (0.6, 0.4, 0.2)  # m


def by_formula(mass: float, edges: tuple[float, float, float]) -> Array:
    """(6, 6) at the centre, by the closed form of source 001."""
    l, w, h = edges
    return spatial.inertia_matrix(mass, np.zeros(3), mass / 12 * np.diag([w * w + h * h, l * l + h * h, w * w + l * l]))


def by_integration(mass: float, edges: tuple[float, float, float]) -> Array:
    """(6, 6) at the centre: the integral of [r]^T [r], [r] and 1 over the mass (000 equation 20).

    Gauss points, two along each edge, are exact for the squares that are integrated.
    """
    points = np.array(list(itertools.product(*([-e / 2 / np.sqrt(3), e / 2 / np.sqrt(3)] for e in edges))))
    return np.asarray(spatial.inertia_matrix(np.full(8, mass / 8), points, np.zeros((3, 3))).sum(axis=0))


def at_corner(mass: float, edges: tuple[float, float, float]) -> Array:
    """(6, 6) at the corner (-l, -w, -h) / 2, axes parallel to the edges: I_b = Ad*_{T_ab} I_a Ad_{T_ab}."""
    centre_seen_from_corner = spatial.pose(np.eye(3), 0.5 * np.array(edges))
    return spatial.transform_inertia(centre_seen_from_corner, by_formula(mass, edges))


def corner_formula(mass: float, edges: tuple[float, float, float]) -> Array:
    """Rotational inertia (3, 3) about a corner, known: diagonal m (a^2 + b^2) / 3, off-diagonal -m a b / 4."""
    e = np.array(edges)
    inertia = -mass / 4 * np.outer(e, e)
    inertia[np.diag_indices(3)] = mass / 3 * (e @ e - e * e)
    return inertia


def main() -> None:
    path = output_path("box_inertia", __doc__)
    centre, corner = by_formula(MASS, EDGES), at_corner(MASS, EDGES)
    print("about the centre, rotational part [kg m^2]:\n", centre[:3, :3])
    print("formula less integral, largest entry:", np.abs(centre - by_integration(MASS, EDGES)).max())
    print("about a corner, rotational part [kg m^2]:\n", corner[:3, :3])
    print("corner less its formula, largest entry:", np.abs(corner[:3, :3] - corner_formula(MASS, EDGES)).max())

    figure = new_figure(10, 4.8)
    places = (("at the centre", centre, np.zeros(3)), ("at a corner", corner, -0.5 * np.array(EDGES)))
    for k, (title, inertia, place) in enumerate(places):
        axes = figure.add_subplot(1, 2, k + 1, projection="3d")
        _draw(axes, inertia[:3, :3], place)
        axes.set_title(f"inertia ellipsoid {title}")
    save(figure, path)


def _draw(axes: Any, inertia: Array, place: Array) -> None:
    half = 0.5 * np.array(EDGES)
    corners = np.array(list(itertools.product(*([-a, a] for a in half))))
    for a, b in itertools.combinations(corners, 2):
        if np.count_nonzero(a - b) == 1:
            axes.plot(*np.stack([a, b]).T, color="0.3", lw=1)
    moments, directions = np.linalg.eigh(inertia)
    radii = 0.3 * np.sqrt(moments[0] / moments)
    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, np.pi, 20))
    ball = np.stack([np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)])
    surface = np.einsum("ij,jkl->ikl", directions * radii, ball) + place[:, None, None]
    axes.plot_surface(*surface, color="tab:blue", alpha=0.35, linewidth=0)
    for radius, direction in zip(radii, directions.T):
        axes.plot(*np.stack([place - radius * direction, place + radius * direction]).T, color="tab:red", lw=1.2)
    axes.set_box_aspect((1, 1, 1), zoom=0.85)
    ticks = (-0.4, 0.0, 0.4)
    axes.set(xlim=(-0.5, 0.4), ylim=(-0.45, 0.45), zlim=(-0.45, 0.45), xticks=ticks, yticks=ticks, zticks=ticks)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")


if __name__ == "__main__":
    main()
