# SPDX-License-Identifier: Apache-2.0
"""The judge of cartesian_controller: exact where the tool is held, by bounds while it is on its way."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

BEGIN = 10**18


def _cartesian(count=3000):
    """A judge of cartesian_controller, the stamps that were sent, and the torque of a tool that is held."""
    from campaigns.faults.judging.cartesian_judge import CartesianJudge
    from campaigns.faults.judging.tool_law import Held, ToolSettings
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    seen, stamps = [], BEGIN + 10**9 + 2 * 10**6 * np.arange(count)
    ring = np.zeros(RING + 2, dtype=np.int64)
    ring[:count], ring[-2] = stamps, count
    judge = CartesianJudge(Motion(BEGIN, 0.02), ring, seen.append)

    def held(at, *, posture=None, wrench=None, robot="panda"):
        q = judge.motion.state(at)[0]
        pose = oracle(robot, None).tool(q)
        posture = q if posture is None else posture
        return Held(pose.rotation.copy(), pose.translation.copy(), posture, np.zeros(6) if wrench is None else wrench)

    def answer(stamp, held, robot="panda", **settings):
        q, v = judge.motion.state(stamp)
        tau = ToolSettings(**settings).torque(oracle(robot, None), q, v, held, stamp)[0]
        judge.effort(stamp, tau, stamp + 10**6)

    return judge, seen, stamps.tolist(), held, answer


def test_cartesian_judge_brakes_as_far_ahead_as_the_node():
    from campaigns.faults.campaign import parameters
    from campaigns.faults.judging.braking import REACTION
    from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters

    known = {field.name for field in fields(CartesianControllerParameters)}
    given = {name: value for name, value in parameters("cartesian_controller").items() if name in known}
    assert CartesianControllerParameters(**given).gains.reaction_time == REACTION


@pytest.mark.parametrize(
    ("speeds", "energy"), [((), 50.0), ((0.2, 0.4, 0.25, 0.4, 0.3, 0.3, 0.2), 50.0), ((0.3,), 0.02), ((2.0,), 0.04)]
)
def test_cartesian_judge_has_the_law_of_the_library(speeds, energy):
    """With a wrench that is cut off, with joints that are braked for each of the reasons, and after gaps."""
    from campaigns.faults.judging.braking import LONGEST, REACTION, History
    from campaigns.faults.judging.tool_law import LARGEST_FORCE, LARGEST_MOMENT, Held, ToolSettings
    from campaigns.faults.robot import FINGERS, TOOL, description, oracle
    from rbd_dynamics import Robot, load_urdf
    from rbd_dynamics.control.cartesian.controller import CartesianController
    from rbd_dynamics.control.cartesian.gains import CartesianGains

    robot = Robot(load_urdf(description("panda"), locked={FINGERS[0]: 0.0}))
    chosen = {"stiffness": (300.0, 500.0, 700.0), "rotational_stiffness": (20.0,), "damping_ratio": 0.7}
    gains = CartesianGains(
        **chosen, largest_force=LARGEST_FORCE, largest_moment=LARGEST_MOMENT, reaction_time=REACTION,
        largest_energy=energy,
    )  # fmt: skip
    efforts = (45.0,) * 4 + (7.0,) * 3
    controller = CartesianController(robot, TOOL, gains=gains, velocity_limits=speeds, effort_limits=efforts)
    settings = ToolSettings(
        **chosen, joint_velocity_limits=speeds, largest_energy=energy, effort_limits=efforts,
    )  # fmt: skip
    rng, model, history = np.random.default_rng(3), oracle("panda", None), History()
    judge, *_ = _cartesian()
    stamp, braked, cut = BEGIN + 10**9, 0, 0
    for k in range(120):
        gap = int(rng.choice([2, 4, 4, 4, 11, 70] if k else [0]) * 10**6)
        stamp += gap
        q, v = judge.motion.state(stamp)
        if k % 6 == 0:
            wanted, posture = q + 0.05 * rng.standard_normal((2, 7))
            wrench = rng.choice([1.0, 3.0, 100.0]) * rng.standard_normal(6)
            pose = model.tool(wanted)
            held = Held(pose.rotation.copy(), pose.translation.copy(), posture, wrench)
        if 1e-9 * gap > LONGEST:
            controller.forget_motion()
        found = controller.step(
            q, v, controller.chart(wanted), wrench=wrench, posture=posture, dt=min(1e-9 * gap, LONGEST)
        )
        law, scale = settings.torque(model, q, v, held, stamp)
        here, known = settings.robot(model, q, v, stamp), history.at(stamp, v)
        whole = here.braked(law, known)
        np.testing.assert_allclose(whole, found.wanted, rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(here.shortened(whole), found.tau, rtol=0, atol=1e-11 * scale)
        history.take(stamp, v, here.accelerations(here.shortened(whole)))
        braked, cut = braked + bool(np.abs(whole - law).max() > 1e-3), cut + bool((found.tau != found.wanted).any())
    assert cut > 2 and (braked > 30 or not speeds)


def test_cartesian_judge_finds_where_a_tool_is_held_and_notices_what_is_not():
    judge, seen, stamps, held, answer = _cartesian()
    first = held(stamps[90])
    for stamp in stamps[100:105]:
        answer(stamp, first)
    assert (judge.counts.exact, seen) == (5, [])
    judge._unsettled = 0.0
    answer(stamps[105], held(stamps[91]))  # another hold, and no cause
    answer(stamps[106], first, damping_ratio=1.000001)
    answer(stamps[107], first, robot="masses 1")
    assert judge.counts.wrong == 3
    judge.event(1e-9 * stamps[108], "settings", {"damping_ratio": 0.5})
    judge.event(1e-9 * stamps[108], "robot", "masses 1")
    answer(stamps[110], held(stamps[109], robot="masses 1"), robot="masses 1", damping_ratio=0.5)
    assert (judge.counts.exact, judge.counts.wrong, judge.now.robot) == (6, 3, "masses 1")


def test_cartesian_judge_finds_a_hold_whose_first_effort_was_cut_off():
    """By the limits of two joints, so that it does not tell where it pulls."""
    from campaigns.faults.judging.tool_law import ToolSettings, Wish
    from campaigns.faults.robot import oracle

    judge, seen, stamps, held, _ = _cartesian()
    for began, robot, wrench in (
        (700, "panda", np.zeros(6)),
        (2100, "panda", np.array([0.3, 0.1, -0.2, 2.0, -4.0, 1.0])),
    ):
        judge._unsettled = np.inf
        hold, stamp = held(stamps[began], wrench=wrench), stamps[began + 60]
        if wrench.any():
            wish = Wish(wrench=wrench)
            judge.event(1e-9 * stamps[began], "desired", wish)
            judge._arrives = 0.0
        q, v = judge.motion.state(stamp)
        whole = np.abs(ToolSettings().torque(oracle(robot, None), q, v, hold, stamp)[0])
        limits = tuple(np.where(whole >= np.sort(whole)[-2], 0.9 * whole, 87.0))
        judge.event(1e-9 * stamp - 0.001, "settings", {"effort_limits": limits})
        for at in (stamp, stamp + 2 * 10**6):
            q, v = judge.motion.state(at)
            settings, model = ToolSettings(effort_limits=limits), oracle(robot, None)
            law, _ = settings.torque(model, q, v, hold, at)
            judge.effort(at, settings.robot(model, q, v, at).shortened(law), at + 10**6)
        assert seen == []
        np.testing.assert_allclose(judge.now.desired.p, hold.p, rtol=0, atol=1e-12)


def test_cartesian_judge_sees_that_efforts_are_cut_by_the_rates_of_limits_that_may_have_come():
    """Gains are softer then, also with a hold that begins much later."""
    judge, seen, stamps, held, answer = _cartesian()
    answer(stamps[100], held(stamps[90]))
    judge.event(1e-9 * stamps[100], "settings", {"effort_limits": (60.0,) * 4 + (10.0,) * 3})
    judge.event(1e-9 * stamps[100], "moves", 0.0)
    tau = judge._before[1] + np.append(np.zeros(6), 10.0 / 0.1 * 0.002)
    judge.effort(stamps[101], tau, stamps[101] + 10**6)
    assert (seen, judge.counts.bounds) == ([], 1)
    assert judge.softer.may_be_softer(stamps[101])


def test_cartesian_judge_knows_that_gains_are_softer_while_joints_are_braked():
    """Seen: an energy limit that came as joints were nearly too fast; what brakes them is no gain and stays."""
    from campaigns.faults.judging.judge import on_the_way_to
    from campaigns.faults.judging.tool_law import ToolSettings
    from campaigns.faults.robot import oracle

    judge, seen, stamps, held, answer = _cartesian()
    hold, model = held(stamps[50]), oracle("panda", None)
    answer(stamps[100], hold)
    judge._unsettled = 0.0
    judge.event(1e-9 * stamps[100], "settings", {"largest_energy": 0.01})
    for stamp, share in ((stamps[101], 1.0), (stamps[102], 0.4)):
        settings, (q, v) = ToolSettings(largest_energy=0.01, share=share), judge.motion.state(stamp)
        robot, known = settings.robot(model, q, v, stamp), judge._histories[0].at(stamp, v)
        law = settings.torque(model, q, v, hold, stamp)[0]
        braked = robot.braked(law, known)
        assert np.abs(braked - law).max() > 1.0
        reach = judge._reach(stamp, settings, haste=robot.in_haste(known))
        judge.effort(stamp, on_the_way_to(robot.shortened(braked), reach), stamp + 10**6)
    assert (seen, judge.counts.exact) == ([], 3)
    assert judge.softer.now(stamps[102]) == pytest.approx(0.4, abs=1e-6)


def test_cartesian_judge_knows_that_dampers_follow_springs_a_state_later():
    judge, seen, stamps, held, answer = _cartesian()
    first = held(stamps[90])
    answer(stamps[100], first)
    judge._unsettled = 0.0
    judge.event(1e-9 * stamps[100], "settings", {"stiffness": (700.0,)})
    before = (30.0,) * 3 + (500.0,) * 3
    answer(stamps[101], first, stiffness=(700.0,), damped_for=before)
    answer(stamps[102], first, stiffness=(700.0,))
    assert (judge.counts.exact, seen, judge.now.settings.damped_for) == (3, [], ())
    answer(stamps[103], first, stiffness=(700.0,), damped_for=before)
    assert judge.counts.wrong == 1


def test_cartesian_judge_bounds_the_way_of_a_controller_that_leaves_out_gravity():
    """And finds a hold that began on the way, whatever it looked for a moment before."""
    from campaigns.faults.judging.tool_law import Wish

    judge, seen, stamps, held, answer = _cartesian()
    bare, robot = {"terms": ("inertia", "coriolis")}, "masses 100"
    judge.event(1e-9 * stamps[99], "settings", bare)
    judge.event(1e-9 * stamps[99], "robot", robot)
    first, elsewhere = held(stamps[90], robot=robot), held(stamps[50], robot=robot)
    answer(stamps[100], first, robot, **bare)
    judge.event(1e-9 * stamps[101], "moves", 0.0)
    between = first.after(Wish(pose=(first.R, 0.5 * (first.p + elsewhere.p))))
    answer(stamps[102], between, robot, **bare)
    answer(stamps[103], held(stamps[102], robot=robot), robot, **bare)
    assert (judge.counts.exact, judge.counts.bounds, seen) == (1, 2, [])


def test_cartesian_judge_bounds_all_that_the_law_gives_on_the_way():
    """Braked or not; and, without braking, no more than twice as much of the joints that bear the arm."""
    from campaigns.faults.judging.braking import REACTION, History
    from campaigns.faults.judging.tool_law import (
        LARGEST_ACCELERATIONS,
        LARGEST_FORCE,
        LARGEST_MOMENT,
        LARGEST_SPEEDS,
        ToolSettings,
    )
    from campaigns.faults.robot import FINGERS, TOOL, description, oracle
    from rbd_dynamics import Robot, load_urdf
    from rbd_dynamics.control.cartesian.controller import CartesianController
    from rbd_dynamics.control.cartesian.gains import CartesianGains

    judge, *_ = _cartesian()
    robot = Robot(load_urdf(description("panda"), locked={FINGERS[0]: 0.0}))
    rng, model, shares, braked = np.random.default_rng(5), oracle("panda", None), [], 0
    for k in range(120):
        chosen = {"stiffness": (rng.uniform(200, 800),), "rotational_stiffness": (rng.uniform(5, 40),),
                  "damping_ratio": rng.uniform(0.3, 1.5), "posture_kp": rng.uniform(0, 40),
                  "posture_kd": rng.uniform(1, 15)}  # fmt: skip
        tight = k % 3 == 0
        settings = ToolSettings(
            **chosen, joint_velocity_limits=(rng.uniform(0.15, 0.4),) if tight else (),
            largest_energy=rng.uniform(0.01, 0.05) if k % 6 == 0 else 50.0,
        )  # fmt: skip
        gains = CartesianGains(
            **chosen, largest_force=LARGEST_FORCE, largest_moment=LARGEST_MOMENT, reaction_time=REACTION,
            largest_energy=settings.largest_energy,
        )  # fmt: skip
        controller = CartesianController(robot, TOOL, gains=gains, velocity_limits=settings.joint_velocity_limits)
        stamp = BEGIN + int(rng.integers(1, 10**10))
        q, v = judge.motion.state(stamp)
        # the wanted motion as fast as it may be, half of the time so that all its forces are along one direction
        way, off = rng.choice([-1.0, 1.0], 6), rng.standard_normal(6) * rng.choice([0.01, 1.0])
        off = np.abs(off) * way if rng.random() < 0.5 else off
        within = np.repeat([np.sqrt(1 / 3)], 6)  # limits are of the norm of each part
        found = controller.step(
            q, v, controller.chart(q) + off, rate=way * within * LARGEST_SPEEDS,
            acceleration=way * within * LARGEST_ACCELERATIONS, posture=q + rng.uniform(-0.05, 0.05, 7),
        )  # fmt: skip
        here, known = settings.robot(model, q, v, stamp), History().at(stamp, v)
        least, most = settings.on_the_way(model, q, v, stamp)
        assert here.may_be(found.tau, least, most, known, np.zeros(7))
        if here.is_free(found.tau, known):
            assert (least < found.wanted).all() and (found.wanted < most).all()
            shares.append(np.abs(found.wanted - 0.5 * (least + most)) / (0.5 * (most - least)))
        else:
            braked += 1
    assert np.max(shares, axis=0)[:4].min() > 0.5 and braked > 24


def test_cartesian_judge_follows_wishes_and_bounds_what_is_on_its_way():
    from campaigns.faults.judging.cartesian_judge import ARRIVES
    from campaigns.faults.judging.tool_law import Wish

    judge, seen, stamps, held, answer = _cartesian()
    first, elsewhere = held(stamps[90]), held(stamps[50])
    between = first.after(Wish(pose=(first.R, 0.5 * (first.p + elsewhere.p))))
    answer(stamps[100], first)
    judge._unsettled = 0.0
    pose, wrench = Wish(pose=(elsewhere.R, elsewhere.p)), Wish(wrench=np.array([0.1, 0.0, 0.2, 3.0, 0.0, -5.0]))
    for wish in (pose, wrench):
        judge.event(1e-9 * stamps[110], "desired", wish)
    answer(stamps[115], between)
    assert (judge.counts.bounds, judge.counts.exact) == (1, 1)
    answer(stamps[120], first.after(pose))
    answer(stamps[121], first.after(pose).after(wrench))
    assert (judge.counts.exact, seen) == (3, [])
    q, v = judge.motion.state(stamps[122])
    judge.effort(stamps[122], np.array([80.0] * 4 + [0.0] * 3), stamps[122] + 10**6)
    assert judge.counts.wrong == 1
    end = stamps[110] + round((ARRIVES + 1.0) * 1e9)
    judge._answered.append(end - 10**6)  # no gap
    answer(end, first.after(pose).after(wrench))
    answer(end + 2 * 10**6, between)  # it has arrived long ago
    assert (judge.counts.exact, judge.counts.wrong) == (4, 2)


@pytest.mark.parametrize("silent", [True, False])
def test_a_node_that_gets_no_processor_carries_wishes_out_later(silent):
    """Its silences do not count; one that answers all the time has carried them out, or never will."""
    from campaigns.faults.judging.cartesian_judge import ARRIVES
    from campaigns.faults.judging.tool_law import Wish

    judge, seen, stamps, held, answer = _cartesian()
    first, elsewhere = held(stamps[90]), held(stamps[50])
    between = first.after(Wish(pose=(first.R, 0.5 * (first.p + elsewhere.p))))
    answer(stamps[100], first)
    judge.event(1e-9 * stamps[110], "desired", Wish(pose=(elsewhere.R, elsewhere.p)))
    for tenth in range(1, round(10.0 * ARRIVES) + 20):
        at = stamps[100] + tenth * 10**8
        if not silent:
            judge._answered.append(at - 10**6)
        answer(at, first)
    assert not seen
    answer(at + 2 * 10**6, between)
    assert judge.counts.wrong == (0 if silent else 1)


def test_a_way_lasts_as_long_when_its_wish_has_waited():
    """For a description that was built, say; but a wish leads to one way only."""
    from campaigns.faults.judging.cartesian_judge import ARRIVES
    from campaigns.faults.judging.tool_law import Wish

    judge, seen, stamps, held, answer = _cartesian()
    first, elsewhere = held(stamps[90]), held(stamps[50])
    between = first.after(Wish(pose=(first.R, 0.5 * (first.p + elsewhere.p))))
    further = first.after(Wish(pose=(first.R, 0.3 * first.p + 0.7 * elsewhere.p)))

    def after(seconds):
        at = stamps[100] + round(seconds * 1e9)
        judge._answered.append(at - 10**6)
        return at

    answer(stamps[100], first)
    judge.event(1e-9 * stamps[100], "desired", Wish(pose=(elsewhere.R, elsewhere.p)))
    late = ARRIVES - 0.1
    answer(after(0.5 * late), first)
    for seconds, held_then in ((0.0, between), (0.5, further), (ARRIVES - 0.5, between), (ARRIVES, first)):
        answer(after(late + seconds), held_then)
    assert not seen and judge.counts.bounds == 3
    for seconds in (ARRIVES + 0.1, ARRIVES + 0.2):
        answer(after(late + seconds), between)
    assert judge.counts.wrong == 2


def test_a_way_that_waits_lasts_as_long_whatever_is_wished_meanwhile():
    from campaigns.faults.judging.cartesian_judge import ARRIVES
    from campaigns.faults.judging.tool_law import Wish

    judge, seen, stamps, held, answer = _cartesian()
    first, elsewhere = held(stamps[90]), held(stamps[50])
    between = first.after(Wish(pose=(first.R, 0.5 * (first.p + elsewhere.p))))

    def after(seconds):
        at = stamps[100] + round(seconds * 1e9)
        judge._answered.append(at - 10**6)
        return at

    answer(stamps[100], first)
    judge.event(1e-9 * stamps[100], "moves", 2.0)
    judge.event(1e-9 * stamps[100], "desired", Wish(pose=(elsewhere.R, elsewhere.p)))
    judge.event(1e-9 * stamps[100] + 3.0, "desired", Wish(posture=elsewhere.posture))
    for seconds, held_then in ((3.1, between), (3.3, first), (4.0, between), (4.0 + ARRIVES + 1.9, between)):
        answer(after(seconds), held_then)
    assert not seen and judge.counts.bounds == 3
    answer(after(4.0 + ARRIVES + 2.1), between)
    assert judge.counts.wrong == 1


def test_judge_tells_settings_apart_that_the_first_effort_of_a_hold_does_not():
    """With q where it is held any stiffness of the posture fits, also one of a change that never came."""
    judge, seen, stamps, held, answer = _cartesian()
    answer(stamps[100], held(stamps[90]))
    judge.event(1e-9 * stamps[101], "settings", {"posture_kp": 16.0})  # never comes
    judge.event(1e-9 * stamps[101], "settings", {"damping_ratio": 0.9})
    judge.event(1e-9 * stamps[101], "unsettled", None)
    for stamp in stamps[103:120]:
        answer(stamp, held(stamps[103]), damping_ratio=0.9)
    assert (judge.counts.exact, seen, judge.now.settings.posture_kp) == (18, [], 25.0)


def test_judge_knows_that_settings_come_in_order():
    """Several may come between two efforts; what was wanted before of the same parameter will not come any more."""
    judge, seen, stamps, held, answer = _cartesian()
    first = held(stamps[90])
    answer(stamps[100], first)
    judge._unsettled = 0.0
    for change in ({"posture_kp": 7.0}, {"damping_ratio": 0.9}, {"posture_kp": 8.0}, {"posture_kd": 3.0}):
        judge.event(1e-9 * stamps[101], "settings", change)
    answer(stamps[103], first, damping_ratio=0.9, posture_kp=8.0)
    assert [change.value for change in judge._changes] == [{"posture_kd": 3.0}]
    answer(stamps[104], first, damping_ratio=0.9, posture_kp=7.0)  # too late
    assert (judge.counts.exact, judge.counts.wrong) == (2, 1)


def test_judge_forgets_what_a_node_that_starts_anew_does_not_know():
    judge, seen, stamps, held, answer = _cartesian()
    answer(stamps[100], held(stamps[90]))
    judge.event(1e-9 * stamps[101], "settings", {"posture_kp": 16.0})
    judge.event(1e-9 * stamps[101], "payload", (1.0, (0.0, 0.0, 0.1), (0.0,) * 6))
    judge.event(1e-9 * stamps[102], "robot", "masses 5")
    judge.event(1e-9 * stamps[110], "anew", None)
    judge.event(1e-9 * stamps[120], "settings", {"posture_kd": 3.0})
    answer(stamps[150], held(stamps[150]))
    assert [change.part for change in judge._changes] == ["robot", "anew", "settings"]
    answer(stamps[151], held(stamps[150]), posture_kd=3.0)
    assert [change.part for change in judge._changes] == ["robot", "anew"] and not seen


def test_judge_knows_that_parameters_and_loads_outlive_a_clean_up():
    """A limit is not told by the first hold after it, but by the rate at which efforts change later."""
    judge, seen, stamps, held, answer = _cartesian()
    answer(stamps[100], held(stamps[90]))
    judge.event(1e-9 * stamps[101], "settings", {"effort_limits": (50.0,) * 4 + (10.0,) * 3})
    judge.event(1e-9 * stamps[101], "payload", (1.0, (0.0, 0.0, 0.1), (0.0,) * 6))
    judge.event(1e-9 * stamps[110], "cleaned", None)
    answer(stamps[150], held(stamps[150]))
    assert [change.part for change in judge._changes] == ["settings", "payload", "robot"] and not seen


@pytest.mark.parametrize(
    "given",
    [{"joint_velocity_limits": (0.2,)}, {"effort_limits": (45.0,) * 4 + (10.0,) * 3}],
    ids=["braked", "shortened"],
)
def test_cartesian_judge_waits_for_the_rest_of_a_posture(given):
    """The arm that follows a wish comes to rest in a posture that only its efforts tell, and by and by."""
    from campaigns.faults.judging.braking import History
    from campaigns.faults.judging.cartesian_judge import ARRIVES
    from campaigns.faults.judging.situation import Situation
    from campaigns.faults.judging.tool_holds import posture_of
    from campaigns.faults.judging.tool_law import ToolSettings, Wish
    from campaigns.faults.robot import oracle

    judge, seen, stamps, held, _ = _cartesian(7000)
    model, history = oracle("panda", None), History()
    settings = ToolSettings(**given)
    judge.event(1e-9 * stamps[0], "settings", given)
    first = held(stamps[0])
    q, v = judge.motion.state(stamps[0])
    wanted = replace(first, p=first.p + [0.0, 0.01, 0.02])
    away = settings.torque(model, q, v, wanted, stamps[0])[0] + 0.3  # tells another posture
    rest = posture_of(Situation(settings=settings, desired=wanted), stamps[0], q, v, away)
    braked = 0
    for stamp in stamps[::4]:
        q, v = judge.motion.state(stamp)
        passed = 1e-9 * (stamp - stamps[0])
        if stamp == stamps[500]:
            judge.event(1e-9 * stamp, "desired", Wish(pose=(wanted.R, wanted.p)))
        creeps = rest + 1e-3 * np.exp(-2.0 * passed) * (rest - first.posture)
        now = first if stamp < stamps[500] else replace(wanted, posture=creeps)
        law, _ = settings.torque(model, q, v, now, stamp)
        here, known = settings.robot(model, q, v, stamp), history.at(stamp, v)
        tau = here.shortened(here.braked(law, known))
        history.take(stamp, v, here.accelerations(tau))
        braked += bool(np.abs(tau - law).max() > 1e-3)
        before = judge.counts.exact
        judge.effort(stamp, tau, stamp + 10**6)
        assert judge.counts.wrong == 0, (passed, seen[:1])
        if passed > 1.0 + ARRIVES + 1.0:
            assert judge.counts.exact > before, passed
    assert braked > 100
