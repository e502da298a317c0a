# SPDX-License-Identifier: Apache-2.0
"""Torque nodes in lockstep with a Panda in MuJoCo, by DDS: some cases of each class of the faults' campaign."""

from __future__ import annotations

import random

import pytest
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
pytestmark = [*needs_ros, pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")]

CASES_OF = {
    "feedforward": (
        ("hand_guided", 1), ("drives_off_and_on", 0), ("activated_in_motion", 1), ("weak_limits", 1),
        ("many_times_the_gains", 1),
    ),
    "cartesian_controller": (("drives_off_and_on", 0), ("targets", 7)),
    "hybrid_controller": (("hand_guided", 1), ("drives_off_and_on", 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES_OF)
def test_no_joint_is_too_fast_and_no_effort_steps(ros, kind):
    from campaigns.faults.closed_loop import cases
    from campaigns.faults.closed_loop.arm import Arm
    from campaigns.faults.closed_loop.loop import Loop

    arm = Arm()
    arm.stand(cases.BEGIN)
    with Loop(ros, kind, arm) as loop:
        loop.run(0.1)
        for name, seed in CASES_OF[kind]:
            assert cases.tried(loop, getattr(cases, name), random.Random(seed)) == [], (name, loop.node.log[-3000:])
