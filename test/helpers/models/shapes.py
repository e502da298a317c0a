# SPDX-License-Identifier: Apache-2.0
"""Descriptions of any number of joints, in the shapes that are hard to read."""

from __future__ import annotations

import random

SHAPES = ("chain", "star", "tree", "fixed chain", "mimic chain")


def described(shape, count):
    """A URDF of `count` joints."""
    rng = random.Random(count)
    text = ['<robot name="r"><link name="l0"/>']
    for k in range(1, count + 1):
        parent = {"star": 0, "tree": rng.randrange(k)}.get(shape, k - 1)
        kind = "fixed" if shape == "fixed chain" else "revolute"
        mimic = f'<mimic joint="j{k - 1}" multiplier="0.999"/>' if shape == "mimic chain" and k > 1 else ""
        text.append(
            f'<link name="l{k}"><inertial><mass value="1"/><origin xyz="0.1 0.02 0.3"/>'
            '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
            f'<joint name="j{k}" type="{kind}"><parent link="l{parent}"/><child link="l{k}"/>{mimic}'
            f'<origin xyz="0 0.1 0.2" rpy="0.1 0 0.2"/><axis xyz="0 {k % 2} {1 - k % 2}"/>'
            '<limit lower="-2" upper="2" velocity="3" effort="50"/></joint>'
        )
    return "".join((*text, "</robot>"))
