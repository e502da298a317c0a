# SPDX-License-Identifier: Apache-2.0
"""The judge of the faults' campaign follows joints without stiffness: they are wanted wherever they are led."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

BEGIN, PERIOD = 10**18, 5_000_000  # ns
ASKED, PLANNED = 60, 67  # states after which a trajectory is asked for, and planned
LEAD = 50_123_456  # ns, from then until it takes over, where it has a start of its own
ENDS, STIFF = 360, 380  # states after which it is over, and gains come


@pytest.mark.parametrize("kd", [0.0, 2.0])
@pytest.mark.parametrize("evaluate_at", ["measured", "desired"])
@pytest.mark.parametrize("has_start", [False, True])
def test_a_trajectory_begins_where_a_joint_without_stiffness_was_when_it_was_asked_for(kd, evaluate_at, has_start):
    """And not where that is once it takes over, a while later; held without stiffness it is wanted where it is."""
    from campaigns.faults.judging.desired import Points
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import FINGERS, JOINTS, Motion, description
    from campaigns.faults.sender import RING
    from rbd_dynamics import Robot, load_urdf
    from rbd_dynamics.control.feedforward import Feedforward
    from rbd_dynamics.control.motion.desired_motion import DesiredMotion
    from rbd_dynamics.control.motion.trajectory import Point, Waypoints

    robot = Robot(load_urdf(description("panda"), locked={FINGERS[0]: 0.0}))
    law, motion = Feedforward(robot, kd=[kd], evaluate_at=evaluate_at), DesiredMotion(JOINTS)
    motion.slack = np.ones(7, dtype=bool)
    seen, ring, rng = [], np.zeros(RING + 2, np.int64), np.random.default_rng(5)
    judge = Judge(Motion(BEGIN, 0.02), ring, seen.append)

    def settings(stamp, **values):
        judge.event(1e-9 * stamp, "settings", values)

    settings(BEGIN, kp=(0.0,), kd=(kd,), evaluate_at=evaluate_at)
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(450) + rng.integers(0, 10**6, 450)).tolist()
    start = stamps[ASKED] + 20_000_000 if has_start else 0
    times = np.array([600_000_000, 1_400_000_000])
    q, v, a = rng.uniform(-0.03, 0.03, (2, 7)) + judge.motion.state(BEGIN)[0], np.zeros((2, 7)), np.zeros((2, 7))
    v[0] = 0.02
    points = Points(times, q, v, a, start)
    off = 0.0
    for k, stamp in enumerate(stamps):
        ring[k % RING], ring[-2] = stamp, k + 1
        if k == STIFF:
            settings(stamp, kp=(30.0,))
            motion.slack = np.zeros(7, dtype=bool)
            law.tune(law.terms, kp=[30.0], kd=[kd], evaluate_at=evaluate_at)
        if k == len(stamps) - 1:
            off = 1e-6
        measured = judge.motion.state(stamp)
        motion.update(stamp, *measured)
        judge.effort(stamp, law.compute(*measured, motion.motion, motion.since) + off, stamp + 10**6)
        if k == ASKED:
            judge.event(1e-9 * stamp, "points", points)
            takes_over = stamp + LEAD
            request, number = motion.request(takes_over, *measured, 1e-9 * (takes_over - start) if has_start else 0.0)
            plan = request.plan(Waypoints.of(JOINTS, [Point(1e-9 * t, *row) for t, *row in zip(times, q, v, a)]))
        if k == PLANNED:
            takes_over = takes_over if has_start else stamp + 1
            assert motion.follow_from(takes_over, plan, start or takes_over, number, measured[0])
        assert motion.mode == ("trajectory" if k == ASKED + 20 else "hold") or ASKED < k < ENDS and k != ASKED + 20
        assert (judge.counts.exact, bool(seen)) == (k + 1 - bool(off), bool(off)), (k, seen)


def test_a_hold_that_begins_anew_does_not_tell_its_stiffness_and_the_one_in_use_counts():
    """Where the robot is held where it is, the first effort is that of no stiffness, too, as it was before."""
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    seen, ring = [], np.zeros(RING + 2, np.int64)
    judge = Judge(Motion(BEGIN, 0.02), ring, seen.append)
    judge.event(1e-9 * BEGIN, "settings", {"kp": (0.0,), "kd": (0.0,)})
    stamp, held, kp = BEGIN + 10**9, 0, 0.0
    for k in range(1200):
        gap = k in (200, 700)  # silence, after which it is held where it is
        stamp += 60_000_000 if gap else PERIOD
        ring[k % RING], ring[-2] = stamp, k + 1
        if k == 100:
            judge.event(1e-9 * stamp, "settings", {"kp": (50.0,)})
            kp = 50.0  # held where it was last
        held = stamp if gap or not kp else held
        q, v = judge.motion.state(stamp)
        feedback = kp * (judge.motion.state(held)[0] - q)
        judge.effort(stamp, oracle("panda", None).torque(q, v, np.zeros(7)) + feedback, stamp + 10**6)
        assert not seen, (k, seen[0]["what"])
    assert judge.counts.exact == 1200 and judge.now.settings.kp == (50.0,)
