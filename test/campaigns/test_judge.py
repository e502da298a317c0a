# SPDX-License-Identifier: Apache-2.0
"""The judge of the faults' campaign notices each kind of wrong effort, and knows what may come when."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from helpers.paths import ROOT

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

PATIENCE = 600.0  # s, on a busy machine
BEGIN = 10**18


def _judge(seen):
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion

    ring = np.zeros(102, np.int64)
    return Judge(Motion(BEGIN, 0.02), ring, seen.append)


def _right(judge, stamp, hold_at, kp=50.0, kd=5.0):
    """By Pinocchio, of a robot that holds where it was at a stamp."""
    from campaigns.faults.robot import oracle

    q, v = judge.motion.state(stamp)
    tau = oracle("panda", None).torque(q, v, np.zeros(7))
    return tau + kp * (judge.motion.state(hold_at)[0] - q) - kd * v


@pytest.mark.parametrize(
    ("off", "late", "counted"),
    [
        (0.0, 0, "exact"),
        (1e-6, 0, "wrong"),
        (np.nan, 0, "non_finite"),
        (1e3, 0, "above_limits"),
        (0.0, 400_000_000, "stale"),
    ],
)
def test_judge_notices(off, late, counted):
    seen = []
    judge = _judge(seen)
    first, stamp = BEGIN + 10**9, BEGIN + 2 * 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    assert (judge.counts.exact, seen) == (1, [])
    judge.effort(stamp, _right(judge, stamp, first) + off, stamp + 10**6 + late)
    assert bool(seen) == (counted != "exact")
    assert getattr(judge.counts, counted) == (2 if counted == "exact" else 1)


@pytest.mark.parametrize("after_the_end", [-7_000_123, -1_000_077, -1, 0, 900_031, 4_000_345])
@pytest.mark.parametrize("seed", range(4))
def test_judge_finds_a_trajectory_that_took_over_where_another_ended(after_the_end, seed):
    """That one ends while it moves, and is a hold from then on."""
    from campaigns.faults.judging.desired import Points, Quintics
    from campaigns.faults.robot import oracle

    rng = np.random.default_rng(seed)
    seen = []
    judge = _judge(seen)

    def points(*seconds):
        times = np.array([round(t * 1e9) for t in seconds])
        q = judge.motion.state(BEGIN)[0] + rng.uniform(-0.03, 0.03, (len(times), 7))
        return Points(times, q, rng.uniform(-0.1, 0.1, q.shape), rng.uniform(-0.3, 0.3, q.shape), 0)

    def answer(stamp, wanted):
        judge._ring[judge._ring[-2] % 100] = stamp
        judge._ring[-2] += 1
        q, v = judge.motion.state(stamp)
        tau = judge.now.settings.torque(oracle("panda", None), q, v, wanted, stamp)[0]
        judge.effort(stamp, tau, stamp + 10**6)

    first = BEGIN + 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    one, other = points(0.4, 1.1), points(0.5, 1.4)
    path = Quintics(one, first, first, judge.now.desired.at(first))
    judge.event(1e-9 * first + 0.001, "points", one)
    for stamp in range(first + 2_000_000, path.ends[1] + after_the_end, 20_000_000):
        answer(stamp, path)
    assert judge.counts.exact == judge.counts.published and not seen
    at = path.ends[1] + after_the_end
    judge.event(1e-9 * at - 0.05, "points", other)
    new = Quintics(other, at, at, path.at(at))
    for stamp in range(at + 1_300_017, at + 10**9, 30_000_000):
        answer(stamp, new)
    assert judge.counts.exact == judge.counts.published and not seen


def test_judge_follows_what_came_in_a_long_silence():
    """Hundreds of changes, one after the other; those that come after an effort do not count for it."""
    from campaigns.faults.robot import oracle

    seen = []
    judge = _judge(seen)
    first, stamp = BEGIN + 10**9, BEGIN + 50 * 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    load = None
    for k in range(100):
        when = 1e-9 * first + 0.3 * k
        load = (1.0 + 0.01 * k, (0.01, 0.0, 0.1), (0.002, 0.0, 0.0, 0.002, 0.0, 0.002))
        judge.event(when, "settings", {"kp": (20.0 + k,)} if k % 2 else {"kd": (2.0 + 0.01 * k,)})
        judge.event(when, "payload", load)
        judge.event(when, "robot", f"masses {k % 30}")
    judge.event(1e-9 * stamp - 1.5, "settings", {"kp": (7.0,)})
    judge.event(1e-9 * stamp - 1.4, "refused", ("settings", {"kp": (7.0,)}))
    judge.event(1e-9 * stamp - 1.0, "unsettled", None)
    judge.event(1e-9 * stamp + 0.1, "settings", {"kp": (1.0,)})
    q, v = judge.motion.state(stamp)
    right = oracle("masses 9", load).torque(q, v, np.zeros(7)) - 2.98 * v  # held where it is
    judge.effort(stamp, right, stamp + 10**6)
    assert not seen and judge.counts.exact == 2
    assert (judge.now.robot, judge.now.payload, judge.now.settings.kd) == ("masses 9", load, (2.98,))
    later = stamp + 2 * 10**8
    q, v = judge.motion.state(later)
    feedback = 119.0 * (judge.motion.state(stamp)[0] - q) - 2.98 * v
    judge.effort(later, oracle("masses 9", load).torque(q, v, np.zeros(7)) + feedback, later + 10**6)
    assert not seen and judge.now.settings.kp == (119.0,)


def test_judge_knows_how_long_threads_waited_for_a_processor(tmp_path):
    threads = {"7": "python", "8": "python", "9": "dds.shm"}

    def waited(**seconds):
        for number, name in threads.items():
            folder = tmp_path / "7" / "task" / number
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "comm").write_text(name + "\n")
            (folder / "schedstat").write_text(f"5 {1_000_000_000 + int(seconds.get('of' + number, 0) * 1e9)} 1\n")

    seen = []
    judge = _judge(seen)
    first, stamp = BEGIN + 10**9, BEGIN + 2 * 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    for seconds, counted in (  # of 400 ms, 120 may be
        ({"of7": 0.29}, "kept_waiting"),
        ({"of7": 0.15, "of8": 0.14}, "kept_from_lock"),
        ({"of7": 0.15, "of9": 0.3}, "stale"),
    ):
        judge.waits.follow(7, tmp_path)
        waited()
        judge.waits.sample(1e-9 * stamp - 0.004)
        waited(**seconds)
        judge.waits.sample(1e-9 * stamp + 0.41)
        judge.effort(stamp, _right(judge, stamp, first), stamp + 400_000_000)
        assert getattr(judge.counts, counted) == 1, seconds
    assert len(seen) == 1


def test_what_a_judge_was_told_can_be_judged_again(tmp_path):
    from campaigns.faults.recording import Recording
    from campaigns.faults.robot import Motion
    from campaigns.faults.watching import DELAY, SETTLED, Arrived, Verdicts, judge_again

    motions, seen = {"feedforward": Motion(BEGIN, 0.02)}, []
    verdicts = Verdicts(motions, lambda kind, violation: seen.append(violation))
    stamps = [BEGIN + 10**9 + 2 * 10**6 * k for k in range(100)]
    with Recording(tmp_path / "whole.gz", motions) as recording:
        for k in range(100 + int((SETTLED + DELAY) * 500)):
            at = stamps[0] + 2 * 10**6 * k
            now, efforts, commands = [], [], []
            if k < 100:
                judge = verdicts.watches["feedforward"].judge
                tau = _right(judge, at, stamps[0]) + (1e-6 if k == 70 else 0.0)
                now, commands = [at], [(at + 10**5, tau.tobytes())]
                efforts = [(at + 2 * 10**5, at, tau.tobytes())] if k != 50 else []
            events = [("feedforward", 1e-9 * at, "settings", {"kp": (60.0,)})] if k == 30 else []
            arrived = Arrived(1e-9 * at, efforts, commands, [], [], now, 1000 * k, None, None)
            look = at, events, {"feedforward": arrived}
            recording.write(pickle.dumps(look))
            verdicts.look(look)
    live = verdicts.report()
    counts = live["feedforward"]
    assert (counts["published"], counts["exact"], counts["wrong"], counts["unanswered"]) == (99, 98, 1, 1)
    assert counts["commands"] == 100
    assert [each["stamp"] for each in seen] == [stamps[70]]

    again = []
    assert judge_again(tmp_path / "whole.gz", lambda kind, violation: again.append(violation)) == live
    assert [each["stamp"] for each in again] == [stamps[70]]
    whole = (tmp_path / "whole.gz").read_bytes()
    (tmp_path / "part.gz").write_bytes(whole[: len(whole) // 2])  # of a campaign that was ended by force
    assert 0 < judge_again(tmp_path / "part.gz", print)["feedforward"]["published"] <= 99

    def judged(file):
        command = [sys.executable, "-m", "campaigns.faults", "--judge", str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    code, said, errors = judged(tmp_path / "whole.gz")
    assert (code, json.loads(said)) == (1, live)
    assert json.loads(errors)["stamp"] == stamps[70]
    (tmp_path / "no.gz").write_text("nothing")
    for name in ("no.gz", "missing.gz"):
        code, said, errors = judged(tmp_path / name)
        assert (code, said) == (2, "")
        assert name in errors.splitlines()[-1]
        assert "Traceback" not in errors


@pytest.mark.parametrize("late", [False, True])
def test_a_command_that_is_lost_here_is_the_node_s_where_its_effort_says_the_same(late):
    """However late that effort comes; what nothing says is wrong, also at the end."""
    from campaigns.faults.robot import Motion
    from campaigns.faults.watching import Arrived, Watch

    seen, second, state = [], 10**9, BEGIN + 10**9
    watch = Watch("feedforward", Motion(BEGIN, 0.02), seen.append)
    known, lost, unknown = (
        _right(watch.judge, state, BEGIN) + np.array([x, 0.0, 30.0, 0.0, 0.0, 0.0, 0.0]) for x in range(3)
    )
    watch.judge.effort = lambda *_: None  # what is right of them is asked elsewhere
    at = state + 10**6
    for k in range(400):
        efforts, commands, guarded = [], [], []
        if k == 0:
            commands = [(at, known.tobytes())]
            guarded = [(at + 10**6, known.tobytes()), (at + 10**7, lost.tobytes()), (at + 2 * 10**7, unknown.tobytes())]
        if k == (300 if late else 1):
            efforts = [(at + 9 * 10**6, state, lost.tobytes())]
        now = at + k * second // 100
        watch.look(Arrived(1e-9 * now, efforts, commands, guarded, [], [], 0, None, None), now)
    assert not seen
    counts = watch.report()
    assert (counts["guarded"], counts["wrong"], counts["stale"]) == (2, 1, 0)
    assert [each["effort"] for each in seen] == [unknown.tolist()]


def test_judge_reads_what_the_kernel_says_of_a_thread():
    from campaigns.faults.judging.waits import Waits

    waits = Waits()
    waits.follow(os.getpid())
    waits.sample(1.0)
    waits.sample(2.0)
    assert 0.0 <= waits.between(1.0, 2.0) < 60.0
    assert waits.between(1.0, 3.0) == 0.0  # not known yet
    waits.follow(-1)
    waits.sample(1.0)
    assert waits.between(1.0, 1.0) == 0.0


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
@pytest.mark.parametrize("at", ["measured", "desired"])
@pytest.mark.parametrize("terms", [("inertia", "coriolis", "gravity"), ("inertia", "coriolis"), ("gravity",), ()])
def test_judge_finds_where_a_hold_began(law, at, terms):
    from campaigns.faults.judging.desired import Hold
    from campaigns.faults.judging.situation import Settings
    from campaigns.faults.robot import oracle

    seen = []
    judge = _judge(seen)
    settings = {"law": law, "evaluate_at": at, "terms": terms}
    stamps = BEGIN + 10**9 + np.arange(100) * 2 * 10**6
    ring = np.frombuffer(judge._ring, np.int64)
    ring[:100], ring[100] = stamps, 100
    judge.event(1e-9 * BEGIN, "settings", settings)
    for stamp in stamps[40:45]:
        q, v = judge.motion.state(stamp)
        held = Hold(judge.motion.state(stamps[30])[0])
        tau = Settings(**settings).torque(oracle("panda", None), q, v, held, stamp)[0]
        judge.effort(stamp, tau, stamp + 10**6)
    assert (judge.counts.exact, seen) == (5, [])


def test_judge_wants_states_refused_and_follows_changes():
    seen = []
    judge = _judge(seen)
    first = BEGIN + 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    judge.effort(first + 7, _right(judge, first + 7, first), first + 10**6)  # the stamp says: to be refused
    assert judge.counts.wrong == 1
    stamp = first + 10**8
    judge.effort(stamp, _right(judge, stamp, first, kp=60.0), stamp + 10**6)
    assert judge.counts.wrong == 2  # nobody has changed kp
    judge.event(1e-9 * stamp, "settings", {"kp": (60.0,)})
    stamp += 10**7
    judge.effort(stamp, _right(judge, stamp, first, kp=60.0), stamp + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (2, 2)
    stamp += 10**7
    judge.effort(stamp, _right(judge, stamp, first), stamp + 10**6)  # and back
    assert judge.counts.wrong == 3


def test_judge_knows_that_efforts_change_no_faster_than_they_may():
    """A tenth of a second from nothing to the limit; what is slower than that without need is wrong."""
    from campaigns.faults.robot import LIMITS

    seen = []
    judge = _judge(seen)
    first, step = BEGIN + 10**9, 2 * 10**6
    before = _right(judge, first, first)
    judge.effort(first, before, first + 10**6)
    judge.event(1e-9 * first, "settings", {"kp": (5000.0,)})
    stamp = first + 50 * step
    reach = np.minimum(10.0 * LIMITS, 1000.0) * 1e-9 * step
    judge.effort(stamp - step, _right(judge, stamp - step, first), stamp)
    wanted = np.clip(_right(judge, stamp, first, kp=5000.0), -LIMITS, LIMITS)
    before = _right(judge, stamp - step, first)
    assert (np.abs(wanted - before) > reach).any()
    judge.effort(stamp, before + 0.5 * np.clip(wanted - before, -reach, reach), stamp + 10**6)
    assert judge.counts.wrong == 1
    judge.effort(stamp - step, before, stamp)
    together = (reach / np.abs(wanted - before)).min() * (wanted - before)  # no joint has its effort before another
    judge.effort(stamp, before + together, stamp + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (4, 1)


def test_judge_knows_that_gains_are_softer_while_efforts_cannot_follow():
    """Damping by a share, stiffness by its square; it comes back in a known time, and falls only after a cut."""
    from campaigns.faults.robot import LIMITS

    seen = []
    judge = _judge(seen)
    first, step = BEGIN + 10**9, 2 * 10**6

    def softer(stamp, share):
        return _right(judge, stamp, first, kp=5000.0 * share**2, kd=5.0 * share)

    judge.effort(first, _right(judge, first, first), first + 10**6)
    judge.event(1e-9 * first, "settings", {"kp": (5000.0,)})
    last, stamp = _right(judge, first, first), first + 50 * step
    judge.effort(stamp - step, last := _right(judge, stamp - step, first), stamp)
    change = np.clip(softer(stamp, 1.0), -LIMITS, LIMITS) - last
    reach = np.minimum(10.0 * LIMITS, 1000.0) * 1e-9 * step
    judge.effort(stamp, last + (reach / np.abs(change)).min() * change, stamp + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (3, 0)
    share, state = 0.02, stamp + step
    judge._before = None  # one of its efforts was lost
    judge.effort(state, softer(state, share), state + 10**6)
    share, state = share + 0.01 * (1.0 - share), state + step
    judge._before = None
    judge.effort(state, softer(state, share), state + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (5, 0)
    state += step
    for other in (share, 0.5):  # it comes back, and not so fast
        judge._before = None
        judge.softer.cut = False
        judge.effort(state, softer(state, other), state + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (5, 2)


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
@pytest.mark.parametrize("at", ["measured", "desired"])
def test_judge_finds_where_a_hold_began_while_gains_are_softer(law, at):
    """They became so with states in between whose answers nobody saw."""
    from campaigns.faults.judging.desired import Hold
    from campaigns.faults.judging.situation import Settings
    from campaigns.faults.robot import oracle

    seen = []
    judge = _judge(seen)
    settings = {"law": law, "evaluate_at": at, "kp": (300.0,), "kd": (20.0,)}
    stamps = BEGIN + 10**9 + np.arange(100) * 2 * 10**6
    ring = np.frombuffer(judge._ring, np.int64)
    ring[:100], ring[100] = stamps, 100
    judge.event(1e-9 * BEGIN, "settings", settings)

    def held(stamp, began, share):
        q, v = judge.motion.state(stamp)
        wanted = Settings(**settings, share=share)
        return wanted.torque(oracle("panda", None), q, v, Hold(judge.motion.state(began)[0]), stamp)[0]

    judge.effort(stamps[40], held(stamps[40], stamps[30], 1.0), stamps[40] + 10**6)
    for k, share in ((80, 0.6), (81, 0.6 + 0.4 * 0.01)):
        judge.effort(stamps[k], held(stamps[k], stamps[70], share), stamps[k] + 10**6)
    assert (judge.counts.exact, seen) == (3, [])


def test_judge_takes_a_state_of_the_future_once_its_time_is_near():
    seen = []
    judge = _judge(seen)
    first = BEGIN + 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    early = first + 10**9 + 5  # the stamp says: it was sent long before
    judge.effort(early, _right(judge, early, first), early - 101_000_000)
    assert [each["what"] for each in seen] == ["answers a state of the future"]
    judge.effort(early, _right(judge, early, first), early - 99_000_000)
    assert (judge.counts.exact, judge.counts.wrong) == (2, 1)
    judge.effort(early, 1e-6 + _right(judge, early, first), early - 99_000_000)
    assert judge.counts.wrong == 2


def test_judge_knows_that_a_robot_comes_when_it_is_built_and_is_held_then():
    """Of hybrid_controller, also long after it was sent; of no other robot, and not where none was sent."""
    from campaigns.faults.judging.hybrid_judge import HybridJudge
    from campaigns.faults.robot import LIMITS, Motion, oracle
    from campaigns.faults.sender import RING

    seen, stamps = [], BEGIN + 10**9 + 2 * 10**6 * np.arange(6000)
    ring = np.zeros(RING + 2, dtype=np.int64)
    ring[: len(stamps)], ring[-2] = stamps, len(stamps)
    judge = HybridJudge(Motion(BEGIN, 0.02), ring, seen.append)

    def right(stamp, since, robot):
        q, v = judge.motion.state(stamp)
        a = 400.0 * (judge.motion.state(since)[0] - q) - 40.0 * v
        model = oracle(robot, None)
        return np.clip(model.torque(q, v, a), -LIMITS, LIMITS)

    first, later, last = (int(stamps[k]) for k in (2000, 5000, 5999))
    judge._engaged_at = first - 10 * 10**9
    judge.effort(first, right(first, first, "panda"), first + 10**6)
    judge.event(1e-9 * first, "robot", "masses 7")
    judge._unsettled = 0.0
    judge.effort(later, right(later, later, "masses -3"), later + 10**6)
    assert judge.counts.wrong == 1
    judge._answered.append(later)  # no gap
    judge._unsettled = 0.0
    judge.effort(later, right(later, later - 4 * 10**6, "masses 7"), later + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (2, 1)
    judge._answered.append(last)
    judge._unsettled = 0.0
    judge.effort(last, right(last, last - 4 * 10**6, "masses 7"), last + 10**6)  # another hold, and no cause
    assert judge.counts.wrong == 2


def test_judge_knows_that_the_integral_of_a_task_grows_while_the_robot_does_not_follow():
    """Seen: 1,481 efforts of a campaign called wrong, 18 s after it was engaged."""
    from campaigns.faults.judging.hybrid_judge import HybridJudge
    from campaigns.faults.robot import Motion, oracle
    from campaigns.faults.sender import RING

    stamps = range(BEGIN + 10**9, BEGIN + 21 * 10**9, 2 * 10**7)
    judge = HybridJudge(Motion(BEGIN, 0.001), np.zeros(RING + 2, dtype=np.int64), lambda violation: None)
    model = oracle("panda", None)
    begin = model.tool(judge.motion.state(stamps[0])[0]).translation.copy()
    far = np.zeros(3)  # m s, as it is away from where it was engaged

    def effort(stamp, factor=1.0):
        q, _ = judge.motion.state(stamp)
        J = model.jacobian(q)
        inertia = np.linalg.inv(J @ np.linalg.solve(model.mass_matrix(q), J.T))
        added = J.T @ inertia @ np.concatenate([np.zeros(3), -factor * 100.0 * 8.0 * far])
        return model.gravity(q) + added + 59.0 * np.sign(added)

    for stamp in stamps:
        judge.task_state(stamp)
        far += 0.02 * (model.tool(judge.motion.state(stamp)[0]).translation - begin)
        assert judge.explained(stamp, effort(stamp), 1e-9 * stamp + 1e-3)
    largest = np.abs(effort(stamp) - model.gravity(judge.motion.state(stamp)[0])).max()
    assert judge.counts.bounds == len(stamps) and largest > 62.0
    assert not judge.explained(stamp, effort(stamp, 5.0), 1e-9 * stamp + 1e-3)


def test_judge_knows_that_the_guard_holds_the_robot_where_it_is():
    from campaigns.faults.robot import oracle

    seen = []
    judge = _judge(seen)
    first = BEGIN + 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    for later in range(10**8, 2 * 10**9, 10**8):  # the node hangs, the robot moves on
        q, v = judge.motion.state(first + later)
        model = oracle("panda", None)
        judge.guarded(model.gravity(q) - 8.0 * model.mass_matrix(q) @ v, first + later + 10**6, None, False)
    assert (judge.counts.guarded_safe, seen) == (19, [])
    judge.guarded(model.gravity(q) + 8.0 * model.mass_matrix(q) @ v + 3.0, first + later + 10**6, None, False)
    assert judge.counts.wrong == 1


def test_judge_knows_that_the_guard_may_refuse_the_description_by_which_the_node_starts_anew():
    """It keeps the one before, and its load, for as long as others come that it refuses."""
    from campaigns.faults.robot import oracle

    seen = []
    judge = _judge(seen)
    first, load = BEGIN + 10**9, (0.5, (0.01, 0.0, 0.1), (0.002, 0.0, 0.0, 0.002, 0.0, 0.002))
    judge.effort(first, _right(judge, first, first), first + 10**6)
    judge.event(1e-9 * first, "robot", "masses 21")
    judge.event(1e-9 * first, "payload", load)
    judge.event(1e-9 * first + 1, "anew", None)
    stamp = first + 2 * 10**9
    judge.effort(stamp, _right(judge, stamp, stamp), stamp + 10**6)
    for k, other in enumerate(("panda", "masses 1", "masses 2", "other 3", "offset 1", "panda")):
        judge.event(1e-9 * stamp + 60 * k, "robot", other)
    for later in range(10, 400, 10):
        judge.effort(stamp + later * 10**9, _right(judge, stamp + later * 10**9, stamp), stamp + later * 10**9 + 10**6)
    assert not seen
    stamp += 400 * 10**9
    held = oracle("masses 21", load).gravity(judge.motion.state(stamp)[0])
    judge.guarded(held, stamp + 10**6, None, False)
    assert (judge.counts.guarded_safe, judge.counts.wrong) == (1, 0)
    judge.guarded(held + 3.0, stamp + 10**6, None, False)
    assert judge.counts.wrong == 1


def test_judge_knows_that_a_guard_that_waited_answers_what_is_not_stale():
    """It moves so much that what is safe at one state is not at the others."""
    from campaigns.faults.judging.judge import Judge
    from campaigns.faults.robot import Motion, oracle

    seen = []
    judge = Judge(Motion(BEGIN, 0.3), np.zeros(102, np.int64), seen.append)
    first = BEGIN + 10**9
    stamps = first + 4 * 10**6 * np.arange(1, 101)
    judge._ring[:101] = [*stamps, len(stamps)]
    model, late = oracle("panda", None), int(stamps[-1]) + 10**6

    def held(stamp, damping=10.0):
        q, v = judge.motion.state(stamp)
        return model.gravity(q) - damping * model.mass_matrix(q) @ v

    for stamp in stamps[-24:]:
        judge.guarded(held(int(stamp)), late, None, False)
    assert (judge.counts.guarded_safe, seen) == (24, [])
    judge.guarded(held(int(stamps[0])) + 3.0, late, None, False)
    judge.guarded(held(late, -40.0), late, None, False)
    assert judge.counts.wrong == 2


def test_judge_knows_that_a_hold_may_make_up_for_a_load_within_a_tenth_of_the_limits():
    """Of hybrid_controller, while `hold_load` is on and until it has faded; then a hold is exact again."""
    from campaigns.faults.judging.hybrid_judge import LETS_GO, HybridJudge
    from campaigns.faults.robot import LIMITS, Motion, oracle
    from campaigns.faults.sender import RING

    seen, ring = [], np.zeros(RING + 2, dtype=np.int64)
    judge = HybridJudge(Motion(BEGIN, 0.001), ring, seen.append)
    model, first = oracle("panda", None), BEGIN + 10**9
    stamps = first + 4 * 10**6 * np.arange(8000)
    ring[: len(stamps)], ring[-2] = stamps, len(stamps)
    held = judge.motion.state(first)[0]

    def effort(k, load):
        q, v = judge.motion.state(int(stamps[k]))
        tau = model.torque(q, v, 400.0 * (held - q) - 40.0 * v) + load * LIMITS * [1, -1, 1, -1, 1, -1, 1]
        judge.effort(int(stamps[k]), tau, int(stamps[k]) + 10**6)
        return judge.counts.exact, judge.counts.bounds, judge.counts.wrong

    time = 1e-9 * first
    assert effort(0, 0.0) == (1, 0, 0) and effort(1, 0.05) == (1, 0, 1)
    judge.event(time, "holds load", True)
    assert effort(2, 0.05) == (1, 1, 1) and effort(1000, -0.09) == (1, 2, 1) and effort(1001, 0.2) == (1, 2, 2)
    judge.event(time + 5.0, "holds load", False)
    assert effort(1300, 0.05) == (1, 3, 2)
    late = round((5.0 + LETS_GO) / 4e-3) + 10
    assert effort(late, 0.05) == (1, 3, 3) and effort(late + 1, 0.0) == (2, 3, 3)
