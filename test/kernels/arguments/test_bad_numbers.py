# SPDX-License-Identifier: Apache-2.0
"""What is refused, and with which words."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS
from helpers.models.robots import states

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots

pytestmark = pytest.mark.skipif(not robots(), reason="example-robot-data is not installed")


# --- numbers that are none ----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_anywhere_is_refused_by_name(robot, bad):
    names = robot.model.joint_names
    q, v, a, tau = states(robot.model, 7)
    mask = np.arange(6) % 2 == 0
    calls = {
        "inverse_dynamics": lambda x: robot.inverse_dynamics(x["q"], x["v"], x["a"]),
        "forward_dynamics": lambda x: robot.forward_dynamics(x["q"], x["v"], x["tau"]),
        "hybrid_dynamics": lambda x: robot.hybrid_dynamics(x["q"], x["v"], x["a"], x["tau"], mask),
        "mass_matrix": lambda x: robot.mass_matrix(x["q"]),
        "gravity": lambda x: robot.gravity(x["q"]),  # does not depend on the first joint
        "bias": lambda x: robot.bias(x["q"], x["v"]),
        "pose:upper_arm_link": lambda x: robot.pose(x["q"], "upper_arm_link"),  # nor this on the last four
    }
    arguments = {
        "inverse_dynamics": "q v a", "forward_dynamics": "q v tau", "hybrid_dynamics": "q v a tau",
        "mass_matrix": "q", "gravity": "q", "bias": "q v", "pose:upper_arm_link": "q",
    }  # fmt: skip
    for name, call in calls.items():
        for argument in arguments[name].split():
            for joint in range(6):
                single = {"q": q[0].copy(), "v": v[0].copy(), "a": a[0].copy(), "tau": tau[0].copy()}
                single[argument][joint] = bad
                with pytest.raises(ValueError, match=f"{name}: {argument} of joint '{names[joint]}' is {bad}$"):
                    call(single)
                batch = {"q": q.copy(), "v": v.copy(), "a": a.copy(), "tau": tau.copy()}
                sample = (3 * joint + len(argument)) % 7
                batch[argument][sample, joint] = bad
                with pytest.raises(
                    ValueError, match=f"{name}: {argument} of joint '{names[joint]}' is {bad} in sample {sample}$"
                ):
                    call(batch)


def test_every_sample_of_a_batch_is_looked_at(robot):
    q, v, a, _ = states(robot.model, 37)
    for sample in range(37):
        worse = v.copy()
        worse[sample, sample % 6] = np.nan
        with pytest.raises(ValueError, match=f"sample {sample}$"):
            robot.inverse_dynamics(q, worse, a)


def test_a_bad_wrench_is_refused_by_name(robot):
    q, v, a, tau = states(robot.model, 3)
    wrench = np.zeros(6)
    wrench[4] = np.nan
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": wrench})
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.forward_dynamics(q, v, tau, f_ext={"wrist_1_link": np.zeros(6), "tool0": wrench})
    with pytest.raises(ValueError, match="f_ext.*tool0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": ["a"] * 6})
    with pytest.raises(ValueError, match="tool0.*shape"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool0": np.zeros(5)})
    with pytest.raises(KeyError, match="tool_0"):
        robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool_0": np.zeros(6)})


def test_numbers_too_large_are_an_arithmetic_error(robot):
    q, v, a, _ = states(robot.model, 3)
    with pytest.raises(ArithmeticError, match="not finite"):
        robot.inverse_dynamics(q[0], np.full(6, 1e200), a[0])
    v[1] = 1e200
    with pytest.raises(ArithmeticError, match="sample 1"):
        robot.inverse_dynamics(q, v, a)


def test_unneeded_numbers_must_be_finite_but_do_not_matter(robot):
    (q,), (v,), (a,), (tau,) = states(robot.model, 1)
    mask = np.arange(6) % 2 == 0
    expected = robot.hybrid_dynamics(q, v, a, tau, mask)
    got = robot.hybrid_dynamics(q, v, np.where(mask, a, 1e9), np.where(mask, -1e9, tau), mask)
    np.testing.assert_array_equal(got, expected)


def test_angles_of_any_size_are_right(robot):
    q, v, a, _ = states(robot.model, 6)
    turns = 2 * np.pi * np.array([0, 1, 1e5, 1e6, 1e7, 1e9])
    far = q + turns[:, None]
    near = np.arctan2(np.sin(far), np.cos(far))  # the same angles, reduced
    expected = robot.inverse_dynamics(near, v, a)
    np.testing.assert_allclose(robot.inverse_dynamics(far, v, a), expected, rtol=1e-12, atol=1e-12)
    for k in range(6):
        np.testing.assert_allclose(robot.inverse_dynamics(far[k], v[k], a[k]), expected[k], rtol=1e-12, atol=1e-12)


# --- quaternions --------------------------------------------------------------------------------------


def test_quaternions_are_normalised(walker):
    q, v, a, _ = states(walker.model, 3)
    expected = walker.inverse_dynamics(q, v, a)
    for scale in (1 + 1e-3, 1 - 1e-3, 1 + 1e-7, -1.0):
        scaled = q.copy()
        scaled[:, 3:7] *= scale
        np.testing.assert_allclose(walker.inverse_dynamics(scaled, v, a), expected, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(walker.inverse_dynamics(scaled[0], v[0], a[0]), expected[0], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.95, 1.05, 2.0, 1e100])
def test_a_quaternion_far_from_unit_length_is_refused_by_name(walker, scale):
    q, v, a, tau = states(walker.model, 6)
    q[4, 3:7] *= scale
    for call in (
        lambda k: walker.inverse_dynamics(q[k], v[k], a[k]),
        lambda k: walker.forward_dynamics(q[k], v[k], tau[k]),
        lambda k: walker.mass_matrix(q[k]),
        lambda k: walker.gravity(q[k]),
        lambda k: walker.pose(q[k], "base_link"),
        lambda k: walker.potential_energy(q[k]),
    ):
        with pytest.raises(ValueError, match="quaternion of joint 'root_joint' has norm"):
            call(4)
        with pytest.raises(ValueError, match="quaternion of joint 'root_joint' has norm.*sample 4"):
            call(slice(None))


# --- names --------------------------------------------------------------------------------------------


def test_unknown_names_are_refused(model):
    robot = rbd.Robot(model, backend="reference")
    with pytest.raises(KeyError, match="inverse_dynamic"):
        robot.compile("inverse_dynamic")
    with pytest.raises(KeyError, match="pose:FRAME"):
        robot.compile("pose")
    with pytest.raises(KeyError, match="tool0"):
        robot.pose(np.zeros(6), "tool_0")
    with pytest.raises(ValueError, match="fortran"):
        rbd.Robot(model, backend="fortran")


def test_progress_is_reported_before_each_kernel(model):
    robot = rbd.Robot(model, backend="llvm")
    seen = []
    robot.compile("gravity", "pose:tool0", progress=lambda *args: seen.append(args))
    assert seen == [("gravity", 1, 2), ("pose:tool0", 2, 2)]


# --- a robot that cannot move -------------------------------------------------------------------------
STATUE = """<robot name="statue"><link name="base"><inertial><mass value="2"/>
<origin xyz="0 0 1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_robot_without_joints_has_empty_results(backend):
    robot = rbd.Robot(rbd.load_urdf(STATUE), backend=backend)
    nothing = np.empty(0)
    assert robot.inverse_dynamics(nothing, nothing, nothing).shape == (0,)
    assert robot.forward_dynamics(np.empty((5, 0)), nothing, nothing).shape == (5, 0)
    assert robot.mass_matrix(nothing).shape == (0, 0)
    assert robot.mass_matrix(np.empty((3, 0))).shape == (3, 0, 0)
    assert robot.potential_energy(nothing) == pytest.approx(2 * 9.81)
    np.testing.assert_allclose(robot.center_of_mass(nothing), [0, 0, 1])
    np.testing.assert_allclose(robot.pose(nothing, "base"), np.eye(4))
    assert robot.jacobian(nothing, "base").shape == (6, 0)
