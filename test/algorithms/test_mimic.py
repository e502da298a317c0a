# SPDX-License-Identifier: Apache-2.0
"""Mimic joints: the robot without the coupling, seen through the coupling's matrix."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS, assert_close, hybrid_by_partition
from helpers.models.robots import random_inertia, random_state
from helpers.wide import table

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.model.physical_inertia import about_com

#: name: joints as (name, parent link, child link, type, leader, multiplier, offset)
TREES = {
    "mimic below its leader": [
        ("a", "base", "l1", "revolute", None, 1, 0),
        ("b", "l1", "l2", "revolute", "a", -1.5, 0.3),
        ("c", "l2", "l3", "prismatic", None, 1, 0),
    ],
    "leader below its mimic": [
        ("b", "base", "l1", "revolute", "a", 2.0, -0.2),
        ("c", "l1", "l2", "prismatic", None, 1, 0),
        ("a", "l2", "l3", "revolute", None, 1, 0),
        ("d", "l3", "l4", "revolute", None, 1, 0),
    ],
    "siblings": [
        ("a", "base", "l1", "revolute", None, 1, 0),
        ("left", "l1", "l2", "prismatic", None, 1, 0),
        ("right", "l1", "l3", "prismatic", "left", -1.0, 0.1),
    ],
    "siblings on the world": [
        ("left", "base", "l1", "revolute", None, 1, 0),
        ("right", "base", "l2", "revolute", "left", 0.7, 0.1),
        ("far", "l2", "l3", "continuous", None, 1, 0),
    ],
    "cousins, one of them the leader": [
        ("a", "base", "l1", "revolute", None, 1, 0),
        ("b", "l1", "l2", "revolute", None, 1, 0),
        ("c", "l2", "l3", "revolute", None, 1, 0),
        ("d", "l1", "l4", "revolute", None, 1, 0),
        ("e", "l4", "l5", "revolute", "c", 1.3, 0),
        ("f", "l5", "l6", "prismatic", None, 1, 0),
    ],
    "a chain of mimics": [
        ("a", "base", "l1", "revolute", None, 1, 0),
        ("b", "l1", "l2", "revolute", "a", 0.5, 0.1),
        ("c", "l2", "l3", "revolute", "b", -2.0, 0.2),
        ("d", "l3", "l4", "prismatic", "c", 0.3, 0.0),
    ],
    "two groups that interleave": [
        ("a", "base", "l1", "revolute", None, 1, 0),
        ("b", "l1", "l2", "revolute", None, 1, 0),
        ("c", "l2", "l3", "revolute", "a", -0.6, 0),
        ("d", "l3", "l4", "revolute", "b", 0.8, 0),
        ("e", "l2", "l5", "revolute", "a", 1.1, 0),
        ("f", "l5", "l6", "prismatic", "b", 0.2, 0),
        ("g", "l6", "l7", "revolute", None, 1, 0),
    ],
    "one leader, five fingers": [
        ("palm", "base", "l0", "revolute", None, 1, 0),
        ("thumb", "l0", "l1", "revolute", None, 1, 0),
        *((f"finger{k}", "l0", f"l{k}", "revolute", "thumb", 0.5 + k, 0.1 * k) for k in range(2, 6)),
    ],
}

NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def urdf(tree, coupled: bool) -> str:
    rng = np.random.default_rng(len(tree))
    parts = ['<robot name="r">']
    for link in ["base", *(joint[2] for joint in tree)]:
        body = random_inertia(rng)
        com, inertia = np.array(body.moment) / body.mass, about_com(body)
        entries = " ".join(f'{name}="{value!r}"' for name, value in zip(NAMES, map(float, inertia)))
        xyz = " ".join(map(str, com.tolist()))
        parts.append(
            f'<link name="{link}"><inertial><origin xyz="{xyz}"/><mass value="{body.mass}"/>'
            f"<inertia {entries}/></inertial></link>"
        )
    for name, parent, child, kind, leader, multiplier, offset in tree:
        numbers = " ".join(map(str, rng.normal(size=3).tolist())), " ".join(map(str, rng.normal(size=3).tolist()))
        axis = rng.normal(size=3)
        axis = " ".join(map(str, (axis / np.linalg.norm(axis)).tolist()))
        mimic = f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>' if leader and coupled else ""
        armature = rng.uniform(0, 0.2)
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{numbers[0]}" rpy="{numbers[1]}"/><axis xyz="{axis}"/>'
            f'<limit lower="-3" upper="3" effort="9" velocity="9"/><dynamics armature="{armature}"/>{mimic}</joint>'
        )
    return "".join([*parts, "</robot>"])


@pytest.fixture(params=TREES)
def tree(request):
    return TREES[request.param]


@pytest.fixture(params=["fixed", "floating"])
def base(request):
    return request.param


def coupling(tree, model, free):
    """P and q0 with v_free = P v, q_free = q0 + P q over the joints (but a floating base's configuration)."""
    shift = 1 if model.base == "floating" else 0
    P, q0 = np.zeros((free.nv, model.nv)), np.zeros(free.nq)
    if shift:
        P[:6, :6] = np.eye(6)
    rules = {name: (leader, multiplier, offset) for name, *_, leader, multiplier, offset in tree}
    for joint in free.joints[shift:]:
        name, ratio, constant = joint.name, 1.0, 0.0
        while rules[name][0]:
            leader, multiplier, offset = rules[name]
            constant, ratio, name = constant + ratio * offset, ratio * multiplier, leader
        P[joint.v_index, model.joint(name).v_index] = ratio
        q0[joint.q_index] = constant
    return P, q0


def check(backend, tree, base, samples):
    model, free = load_urdf(urdf(tree, True), base=base), load_urdf(urdf(tree, False), base=base)
    robot, uncoupled = Robot(model, backend=backend), Robot(free, backend="reference")
    P, q0 = coupling(tree, model, free)
    rng = np.random.default_rng(3)
    for _ in range(samples):
        q, v, a = random_state(model, rng)
        tau = rng.normal(size=model.nv)
        if base == "floating":
            q_free = np.concatenate([q[:7], q0[7:] + P[6:, 6:] @ q[7:]])
        else:
            q_free = q0 + P @ q
        M = P.T @ uncoupled.mass_matrix(q_free) @ P
        bias = P.T @ uncoupled.bias(q_free, P @ v)
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + bias)
        assert_close(robot.mass_matrix(q), M)
        assert_close(robot.bias(q, v), bias)
        assert_close(robot.forward_dynamics(q, v, tau), np.linalg.solve(M, tau - bias), 1e-10)
        for share in (0.0, 0.5, 0.5, 1.0):
            prescribed = rng.random(model.nv) < share
            found = robot.hybrid_dynamics(q, v, a, tau, prescribed)
            expected = hybrid_by_partition(M, bias, a, tau, prescribed)
            assert_close(found[0], expected[0], 1e-10)
            assert_close(found[1], expected[1], 1e-10)
        for frame in (tree[-1][2], tree[-1][0], tree[len(tree) // 2][2]):
            assert_close(robot.pose(q, frame), uncoupled.pose(q_free, frame))
            assert_close(robot.jacobian(q, frame), uncoupled.jacobian(q_free, frame) @ P)
            rate = uncoupled.jacobian_dot(q_free, P @ v, frame) @ P
            assert_close(robot.jacobian_dot(q, v, frame), rate, 1e-10, least=1e-3)
        assert_close(robot.kinetic_energy(q, v), uncoupled.kinetic_energy(q_free, P @ v))
        assert_close(robot.potential_energy(q), uncoupled.potential_energy(q_free))


def test_a_coupled_robot_is_the_free_one_seen_through_the_coupling(tree, base):
    check("reference", tree, base, samples=4)


@pytest.mark.parametrize("name", table(TREES, ["leader below its mimic", "siblings on the world"]))
@pytest.mark.parametrize("base", table(["fixed", "floating"], ["floating"]))
def test_so_is_what_is_traced_of_it(name, base):
    check("python", TREES[name], base, samples=4)


@pytest.mark.parametrize(
    "name", table(["leader below its mimic", "two groups that interleave"], ["leader below its mimic"])
)
def test_machine_code_of_coupled_robots(name):
    check("llvm", TREES[name], "fixed", samples=4)


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_wrenches_and_masks_of_coupled_robots_in_batches(tree, backend):
    model = load_urdf(urdf(tree, True))
    robot = Robot(model, backend=backend)
    rng = np.random.default_rng(1)
    q, v, a = (np.stack(x) for x in zip(*(random_state(model, rng) for _ in range(5))))
    tau, wrench = rng.normal(size=(5, model.nv)), rng.normal(size=(5, 6))
    masks = rng.random((5, model.nv)) < 0.5
    frame = tree[-1][2]
    found = robot.hybrid_dynamics(q, v, a, tau, masks, f_ext={frame: wrench})
    for k in range(5):
        bias = robot.bias(q[k], v[k]) - robot.jacobian(q[k], frame).T @ wrench[k]
        expected = hybrid_by_partition(robot.mass_matrix(q[k]), bias, a[k], tau[k], masks[k])
        assert_close(found[0][k], expected[0], 1e-10)
        assert_close(found[1][k], expected[1], 1e-10)


def test_a_mimic_of_zero_is_a_locked_joint_with_no_share():
    joints = [("a", "base", "l1", "revolute", None, 1, 0), ("b", "l1", "l2", "revolute", "a", 0.0, 0.4)]
    coupled = Robot(load_urdf(urdf(joints, True)), backend="reference")
    locked = Robot(load_urdf(urdf(joints, False), locked={"b": 0.4}), backend="reference")
    q, v, a = random_state(coupled.model, np.random.default_rng(0))
    assert_close(coupled.inverse_dynamics(q, v, a), locked.inverse_dynamics(q, v, a))
    assert_close(coupled.forward_dynamics(q, v, a), locked.forward_dynamics(q, v, a))
