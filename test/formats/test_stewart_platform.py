# SPDX-License-Identifier: Apache-2.0
"""A Stewart platform out of files: the same from SDF and from MJCF, and its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, loop_constraints

MASS, MOMENTS, GRAVITY = 12.0, (0.4, 0.5, 0.8), 9.81
RADIUS, INNER, HEIGHT = 0.6, 0.35, 0.7
ANGLES = np.deg2rad([10, 110, 130, 230, 250, 350])
TOPS = np.deg2rad([50, 70, 170, 190, 290, 310])
FEET = np.stack([RADIUS * np.cos(ANGLES), RADIUS * np.sin(ANGLES), np.zeros(6)], axis=1)
PINS = np.stack([INNER * np.cos(TOPS), INNER * np.sin(TOPS), np.zeros(6)], axis=1)


def frame_along(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z is that direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def quaternion(R: np.ndarray) -> list[float]:
    """(x, y, z, w)."""
    return Rotation.from_matrix(R).as_quat().tolist()


def legs() -> list[tuple[int, np.ndarray, np.ndarray, float]]:
    """Number, foot, orientation and length of each leg, with the platform level."""
    found = []
    for k in range(6):
        along = PINS[k] + [0.0, 0.0, HEIGHT] - FEET[k]
        found.append((k, FEET[k], frame_along(along), float(np.linalg.norm(along))))
    return found


def as_sdf(leg_mass: float) -> str:
    moment = f"<ixx>{0.01 * leg_mass}</ixx><iyy>{0.01 * leg_mass}</iyy><izz>{0.002 * leg_mass}</izz>"
    body = f"<inertial><mass>{leg_mass}</mass><inertia>{moment}</inertia></inertial>"
    x, y, z = MOMENTS
    text = f"""<sdf version="1.10"><model name="stewart"><link name="plate"><pose>0 0 {HEIGHT} 0 0 0</pose><inertial>
      <mass>{MASS}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{z}</izz></inertia></inertial></link>"""
    for k, foot, R, length in legs():
        numbers = " ".join(map(repr, [*foot.tolist(), *quaternion(R)]))
        pin = " ".join(map(repr, PINS[k].tolist()))
        text += f"""<link name="lower{k}"><pose rotation_format="quat_xyzw">{numbers}</pose>{body}</link>
          <link name="upper{k}"><pose relative_to="lower{k}">0 0 {length!r} 0 0 0</pose>{body}</link>
          <joint name="foot{k}" type="universal"><parent>world</parent><child>lower{k}</child>
            <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
          <joint name="leg{k}" type="prismatic"><parent>lower{k}</parent><child>upper{k}</child><axis/></joint>
          <joint name="pin{k}" type="ball"><pose relative_to="plate">{pin} 0 0 0</pose><parent>upper{k}</parent>
            <child>plate</child></joint>"""
    return text + "</model></sdf>"


def as_mjcf(leg_mass: float) -> str:
    moments = f"{0.01 * leg_mass} {0.01 * leg_mass} {0.002 * leg_mass}"
    body = f'<inertial pos="0 0 0" mass="{leg_mass}" diaginertia="{moments}"/>'
    x, y, z = MOMENTS
    text, rules = "", ""
    for k, foot, R, length in legs():
        i, j, m, w = quaternion(R)
        text += f"""<body name="lower{k}" pos="{" ".join(map(repr, foot.tolist()))}" quat="{w!r} {i!r} {j!r} {m!r}">
          <joint name="foot{k}_x" axis="1 0 0"/><joint name="foot{k}_y" axis="0 1 0"/>{body}
          <body name="upper{k}" pos="0 0 {length!r}"><joint name="leg{k}" type="slide"/>{body}</body></body>"""
        rules += f'<connect name="pin{k}" body1="upper{k}" body2="plate" anchor="0 0 0"/>'
    return f"""<mujoco><worldbody>{text}<body name="plate" pos="0 0 {HEIGHT}"><freejoint name="root_joint"/>
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="{x} {y} {z}"/></body></worldbody>
      <equality>{rules}</equality></mujoco>"""


def level(model: rbd.Model) -> np.ndarray:
    """The position that the files show."""
    q = model.neutral()
    for joint in model.joints:
        if joint.kind.name == "floating":
            q[joint.q_index : joint.q_index + 3] = [0.0, 0.0, HEIGHT]
    return q


def accelerations(model: rbd.Model, forces: np.ndarray) -> np.ndarray:
    """Of the plate (w, v) in its own axes, from rest, with forces along the legs."""
    held = ConstraintSet(model, loop_constraints(model))
    robot, q = rbd.Robot(model, backend="reference"), level(model)
    assert np.abs(robot.constraint_rows(q, np.zeros(model.nv), held)[0]).max() < 1e-14
    tau = np.zeros(model.nv)
    for k in range(6):
        tau[model.joint(f"leg{k}").v_index] = forces[k]
    motion = robot.constrained_forward_dynamics(q, np.zeros(model.nv), tau, held)
    np.testing.assert_allclose(motion.residual, 0.0, atol=1e-10)
    return robot.jacobian(q, "plate") @ motion.a


def by_newton_and_euler(forces: np.ndarray) -> np.ndarray:
    """The plate alone, with the legs' forces on its pins."""
    along = np.array([R[:, 2] for _, _, R, _ in legs()])
    pushes = forces[:, None] * along
    turn = np.cross(PINS, pushes).sum(axis=0) / np.array(MOMENTS)
    return np.concatenate([turn, pushes.sum(axis=0) / MASS - [0.0, 0.0, GRAVITY]])


FORCES = np.array([30.0, 10.0, 25.0, 40.0, -5.0, 20.0])


@pytest.mark.filterwarnings("ignore::rbd_dynamics.model.ModelWarning")
def test_with_massless_legs_it_is_a_plate_that_six_forces_push():
    """Not even the mass matrix is regular: the loops hold the legs."""
    model = rbd.load(as_sdf(0.0))
    assert (model.nv, len(model.loops)) == (21, 5)
    np.testing.assert_allclose(accelerations(model, FORCES), by_newton_and_euler(FORCES), rtol=1e-9, atol=1e-9)


def test_sdf_and_mjcf_describe_the_same_machine():
    pytest.importorskip("mujoco", reason="MJCF is compiled by mujoco")
    sdf, mjcf = rbd.load(as_sdf(0.9)), rbd.load(as_mjcf(0.9))
    assert (sdf.nv, len(sdf.loops)) == (21, 5)  # the plate hangs at the first leg, the other five close loops
    assert (mjcf.nv, len(mjcf.loops)) == (24, 6)  # the plate floats, all legs close loops
    np.testing.assert_allclose(accelerations(sdf, FORCES), accelerations(mjcf, FORCES), rtol=1e-9)
