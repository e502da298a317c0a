# SPDX-License-Identifier: Apache-2.0
"""The judge of the faults' campaign where answers are cut in ways that a single effort does not tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

BEGIN, PERIOD = 10**18, 4_000_000  # ns
SPEEDS = (0.374, 0.484, 0.409, 0.466, 0.414, 0.329, 0.254)  # rad/s, of which the robot uses up to 0.95


def _oracle():
    from campaigns.faults.robot import oracle

    return oracle("panda", None)


def _cartesian(speeds=SPEEDS):
    """(controller with these limits of velocity, judge, violations)."""
    from campaigns.faults.judging.braking import REACTION
    from campaigns.faults.judging.cartesian_judge import CartesianJudge
    from campaigns.faults.judging.tool_law import LARGEST_FORCE, LARGEST_MOMENT
    from campaigns.faults.robot import FINGERS, TOOL, Motion, description
    from campaigns.faults.sender import RING
    from rbd_dynamics import Robot, load_urdf
    from rbd_dynamics.control.cartesian.controller import CartesianController
    from rbd_dynamics.control.cartesian.gains import CartesianGains

    robot = Robot(load_urdf(description("panda"), locked={FINGERS[0]: 0.0}))
    gains = CartesianGains(
        largest_force=LARGEST_FORCE, largest_moment=LARGEST_MOMENT, reaction_time=REACTION, largest_energy=50.0
    )
    seen = []
    judge = CartesianJudge(Motion(BEGIN, 0.02), np.zeros(RING + 2, np.int64), seen.append)
    return CartesianController(robot, TOOL, gains=gains, velocity_limits=speeds), judge, seen


def _sent(judge, k, stamp):
    """The k-th state."""
    ring = judge._ring
    ring[k % (len(ring) - 2)], ring[-2] = stamp, k + 1


def test_limits_of_velocity_stay_in_force_after_answers_that_nobody_saw():
    """Seen: 291 efforts called wrong. A node that was too late with some answers had learnt from their states, by which
    the next effort was within the room that these limits leave; the judge took the limits of before for those in force.
    """
    from campaigns.faults.judging.braking import LONGEST

    controller, judge, seen = _cartesian()
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(600)).tolist()
    held, _ = judge.motion.state(stamps[0])
    wanted = _oracle().tool(held).translation.copy()
    theta = controller.chart(held)
    judge.event(1e-9 * stamps[0], "settings", {"joint_velocity_limits": (2.0,)})
    judge.event(1e-9 * stamps[2], "settings", {"joint_velocity_limits": SPEEDS})
    alone, fresh = 0, 0
    for k, stamp in enumerate(stamps):
        _sent(judge, k, stamp)
        q, v = judge.motion.state(stamp)
        tau = controller.step(q, v, theta, posture=held, dt=1e-9 * PERIOD if k else 0.0).tau.copy()
        if k % 100 > 70:  # too late: no answer is published, for longer than a history lasts
            alone += 1
            continue
        if k % 100 == 0 and k:
            settings = judge.now.settings
            here = settings.robot(_oracle(), q, v, stamp)
            law, _ = settings.torque(_oracle(), q, v, judge.now.desired, stamp)
            fresh += bool(np.abs(here.braked(law, judge._histories[0].at(stamp, v)) - tau).max() > 1e-3)
        judge.effort(stamp, tau, stamp + 10**6)
    assert 30 * PERIOD > LONGEST * 1e9
    assert fresh > 0  # a node that had seen nothing meanwhile would have answered otherwise
    assert (judge.counts.wrong, judge.counts.exact) == (0, len(stamps) - alone), seen[:1]
    assert judge.now.settings.joint_velocity_limits == SPEEDS
    np.testing.assert_allclose(judge.now.desired.p, wanted, atol=1e-9)
    judge._unsettled = 0.0
    judge.effort(stamp + PERIOD, tau + 1e-6, stamp + PERIOD + 10**6)
    assert judge.counts.wrong == 1


@pytest.mark.parametrize("too_late", [(78, 79), (72, 75, 79)])
def test_a_hold_that_is_begun_anew_with_states_that_are_too_old_is_known(too_late):
    """Seen: 25 and 15 efforts called wrong. A node that was kept waiting read the last states too late to answer them,
    began a hold with each, and learnt from them what brakes it. Where it has not read the last ones in a row, how much
    it is braked is not known at once."""
    controller, judge, seen = _cartesian()
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(320)).tolist()
    judge.event(1e-9 * BEGIN, "settings", {"joint_velocity_limits": SPEEDS})
    held, read, answered = None, stamps[0], 0
    for k, stamp in enumerate(stamps):
        _sent(judge, k, stamp)
        if 70 <= k % 100 < 80 and k % 100 not in too_late:  # never read
            continue
        q, v = judge.motion.state(stamp)
        if held is None or 70 <= k % 100 <= 80:
            held = q
        dt, read = 1e-9 * (stamp - read), stamp
        tau = controller.step(q, v, controller.chart(held), posture=held, dt=dt).tau.copy()
        if not 70 <= k % 100 < 80:
            judge.effort(stamp, tau, stamp + 10**6)
            answered += 1
    in_a_row = too_late[-1] - too_late[0] < len(too_late)
    assert judge.counts.wrong == 0, seen[:1]
    assert judge.counts.exact == answered if in_a_row else judge.counts.exact > 0.5 * answered
    judge._unsettled = 0.0
    judge.effort(stamp + PERIOD, tau + 1e-6, stamp + PERIOD + 10**6)
    assert judge.counts.wrong == 1


@pytest.mark.parametrize("sent", [True, False])
def test_a_trajectory_may_begin_at_a_set_point_that_no_effort_has_told(sent):
    """Seen: without gains and gravity a robot that stands gets no effort, wherever it is wanted."""
    from campaigns.faults.judging.desired import Points, Quintics, SetPoint, Wanted
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    seen, ring = [], np.zeros(RING + 2, np.int64)
    judge = Judge(Motion(BEGIN, 0.02), ring, seen.append)
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(150)).tolist()
    ring[: len(stamps)], ring[-2] = stamps, len(stamps)
    model, none = oracle("panda", None), np.zeros(7)
    middle, _ = judge.motion.state(stamps[0])
    points = [SetPoint(Wanted(middle + off, none, none)) for off in (0.01, -0.02)]
    values = {"kp": (0.0,), "kd": (0.0,), "terms": ("inertia", "coriolis"), "evaluate_at": "desired"}
    judge.event(1e-9 * stamps[0], "settings", values)
    for k, stamp in enumerate(stamps[:60]):
        if k in (20, 30) and (sent or k == 20):
            judge.event(1e-9 * stamp, "desired", points[k // 30])
        judge.effort(stamp, none, stamp + 10**6)
    way = Points(np.array([10**9]), middle[None] + 0.03, none[None], none[None], 0)
    judge.event(1e-9 * stamps[60], "points", way)
    begun = stamps[62] + 1_234_567
    path = Quintics(way, begun, begun, points[1].wanted)
    for stamp in stamps[63:]:
        q, v = judge.motion.state(stamp)
        judge.effort(stamp, judge.now.settings.torque(model, q, v, path, stamp)[0], stamp + 10**6)
        if judge.counts.wrong:  # each takes long to be looked into
            break
    assert judge.counts.wrong == (0 if sent else 1), seen[:1]


@pytest.mark.parametrize("begins", ["anew", "cleaned"])
def test_a_node_that_has_begun_anew_may_hold_a_set_point_before_an_effort_of_it_is_seen(begins):
    """Seen: it took the set-point, stood still for two seconds on a busy machine, and answered then."""
    from campaigns.faults.judging.desired import Hold, SetPoint, Wanted
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    seen, ring = [], np.zeros(RING + 2, np.int64)
    judge = Judge(Motion(BEGIN, 0.02), ring, seen.append)
    first, later = BEGIN + 10**9, BEGIN + 5 * 10**9
    ring[:2], ring[-2] = (first, later), 2
    model, none, start = oracle("panda", None), np.zeros(7), judge.now.settings
    q, v = judge.motion.state(first)
    judge.effort(first, start.torque(model, q, v, Hold(q), first)[0], first + 10**6)
    judge.event(1e-9 * first + 0.1, "settings", {"terms": ("inertia", "coriolis")})
    judge.event(1e-9 * first + 0.2, begins, None)
    wanted = judge.motion.state(first)[0] + 0.0123
    judge.event(1e-9 * later - 2.0, "desired", SetPoint(Wanted(wanted, none + 0.01, none)))
    q, v = judge.motion.state(later)
    held = start.torque(model, q, v, Hold(wanted), later)[0]
    judge.effort(later, held, later + 10**6)
    assert (judge.counts.wrong, judge.counts.exact) == (0, 2), seen[:1]
    judge.effort(later + 4000, held + 1e-6, later + 10**6)
    assert judge.counts.wrong == 1


@pytest.mark.parametrize("together", [True, False])
def test_a_hold_of_hybrid_controller_changes_all_efforts_in_proportion(together):
    """Seen: efforts called wrong in a flood of states, some us apart, as efforts may change by .04 N m from one to the
    next; a change of each joint for itself is none of this node."""
    from campaigns.faults.judging.hybrid_judge import HybridJudge
    from campaigns.faults.judging.judge import FULL_TIME
    from campaigns.faults.robot import LIMITS, Motion, oracle

    ring = np.zeros(102, np.int64)
    judge = HybridJudge(Motion(BEGIN, 0.02), ring, lambda violation: None)
    first = BEGIN + 20 * 10**9
    ring[0], ring[-2] = first, 1

    def hold(stamp, at):
        q, v = judge.motion.state(stamp)
        return oracle("panda", None).torque(q, v, 400.0 * (at - q) - 40.0 * v)

    at, _ = judge.motion.state(first)
    before = hold(first, at)
    judge.effort(first, before, first + 10**6)
    for k in range(1, 6):
        stamp = first + k * 50_000
        change, most = hold(stamp, at + 0.01) - before, LIMITS / FULL_TIME * 50e-6
        assert (np.abs(change) > most).sum() > 1
        share = (most / np.abs(change)).min()
        before = before + (share * change if together else np.clip(change, -most, most))
        if k == 1:
            judge._unsettled = np.inf
            judge.event(1e-9 * stamp, "unsettled", None)
            judge.now = judge.now.__class__(settings=judge.now.settings, desired=type(judge.now.desired)(at + 0.01))
        judge.effort(stamp, before, stamp + 10**6)
    assert judge.counts.wrong == (0 if together else 5)


def test_a_hold_whose_first_answer_nobody_saw_may_have_softer_gains():
    """Seen: 56 efforts called wrong. The first effort of a new engine was lost; it had been cut by its rate, so that
    gains were softer from the first one on that was seen."""
    controller, judge, seen = _cartesian([2.0] * 7)  # nothing is braked
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(200)).tolist()
    judge.event(1e-9 * BEGIN, "settings", {"joint_velocity_limits": (2.0,)})
    judge.event(1e-9 * stamps[60], "robot", "panda")  # which another engine is built for
    held, _ = judge.motion.state(stamps[0])
    share = 1.0
    for k, stamp in enumerate(stamps):
        _sent(judge, k, stamp)
        q, v = judge.motion.state(stamp)
        if k == 100:
            held, share = q, 0.62
            controller.reset()
        elif k > 100:
            share += PERIOD * 1e-9 / 0.2 * (1.0 - share)
        controller.soften(share)
        tau = controller.step(q, v, controller.chart(held), posture=held, dt=1e-9 * PERIOD if k else 0.0).tau.copy()
        if k != 100:
            judge.effort(stamp, tau, stamp + 10**6)
        if judge.counts.wrong:
            break
    assert (judge.counts.wrong, judge.counts.exact) == (0, len(stamps) - 1), seen[:1]


def test_a_new_engine_may_begin_while_joints_are_in_haste():
    """Seen: 3 efforts called wrong. All had been answered; another robot's hold began with an effort that was cut by
    its rate, and what braked a joint a little later was learnt from then on."""
    from campaigns.faults.judging.judge import USUAL_RATE
    from campaigns.faults.robot import LIMITS
    from rbd_dynamics.control.safety.effort_rates import usual_effort_rates

    controller, judge, seen = _cartesian()
    stamps = (BEGIN + 10**9 + PERIOD * np.arange(300)).tolist()
    judge.event(1e-9 * BEGIN, "settings", {"joint_velocity_limits": SPEEDS})
    held, _ = judge.motion.state(stamps[0])
    last, begins, cut = None, 0, 0
    for k, stamp in enumerate(stamps):
        _sent(judge, k, stamp)
        q, v = judge.motion.state(stamp)
        if k > 100 and not begins and controller.in_haste:
            begins, held = k, q
            controller.reset()
            judge.event(1e-9 * stamps[k - 25], "robot", "panda")
        tau = controller.step(
            q, v, controller.chart(held), posture=held, dt=1e-9 * PERIOD if k not in (0, begins) else 0.0
        ).tau.copy()
        if begins and last is not None:
            rates = np.full(7, USUAL_RATE) if controller.in_haste else usual_effort_rates(LIMITS)
            share = min(1.0, float((1e-9 * PERIOD * rates / np.abs(tau - last)).min()))
            cut, tau = cut + (share < 1.0), last + share * (tau - last)
        last = tau
        judge.effort(stamp, tau, stamp + 10**6)
        if judge.counts.wrong:
            break
    assert cut and (judge.counts.wrong, judge.counts.exact) == (0, len(stamps)), seen[:1]


@pytest.mark.parametrize("told", ["before", "meanwhile"])
def test_a_node_that_has_begun_anew_may_carry_what_it_was_told_before_its_first_effort(told):
    """Seen: for 37 s its efforts were passed by bounds alone, and then 178 called wrong."""
    from campaigns.faults.judging.desired import Hold
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    seen, ring = [], np.zeros(RING + 2, np.int64)
    judge = Judge(Motion(BEGIN, 0.02), ring, seen.append)
    first, later = BEGIN + 10**9, BEGIN + 5 * 10**9
    ring[:2], ring[-2] = (first, later), 2
    start, load = judge.now.settings, (0.5, (0.01, 0.0, 0.1), (0.002, 0.0, 0.0, 0.002, 0.0, 0.002))
    changed = {"terms": ("inertia", "coriolis"), "kp": (70.0,)}
    judge.event(1e-9 * first - 0.1, "settings", changed)
    q, v = judge.motion.state(first)
    own = replace(start, **changed).torque(oracle("panda", None), q, v, Hold(q), first)[0]
    judge.effort(first, own, first + 10**6)
    judge.event(1e-9 * first + 1.0, "anew", None)
    judge.event(1e-9 * first + (2.0 if told == "meanwhile" else 0.5), "payload", load)
    q, v = judge.motion.state(later)
    carried = oracle("panda", load if told == "meanwhile" else None)
    judge.effort(later, start.torque(carried, q, v, Hold(q), later)[0], later + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (2, 0) and judge.now.settings == start, seen[-1:]
