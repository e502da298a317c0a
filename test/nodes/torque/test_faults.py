# SPDX-License-Identifier: Apache-2.0
"""A minute of faults of every kind against the torque nodes: no effort is wrong, not finite, above limits or stale."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros
from helpers.paths import ROOT

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

SECONDS, RATE = 40, 250
PATIENCE = 600.0  # s, on a busy machine
BEGIN = 10**18


def _judge(seen):
    from campaigns.faults.judge import Judge
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
    from campaigns.faults.desired import Points, Quintics
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


def test_judge_reads_what_the_kernel_says_of_a_thread():
    from campaigns.faults.waits import Waits

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
    from campaigns.faults.desired import Hold
    from campaigns.faults.robot import oracle
    from campaigns.faults.situation import Settings

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
    from campaigns.faults.hybrid_judge import HybridJudge
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
    from campaigns.faults.hybrid_judge import HybridJudge
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


def test_judge_knows_that_a_guard_that_waited_answers_what_is_not_stale():
    """It moves so much that what is safe at one state is not at the others."""
    from campaigns.faults.judge import Judge
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


def _watched(*lives):
    """The memory of a node whose lives are (private MB, LLVM loaded[, settled]) every 10 s."""
    from campaigns.faults.memory import Memory, Sample

    memory = Memory()
    memory.lives = [[Sample(10.0 * k, *sample) for k, sample in enumerate(life)] for life in lives]
    return memory


FLAT = [(60.0 + 0.1 * (k % 3), False) for k in range(30)]
LEAKING = [(60.0 + 0.15 * k, False) for k in range(60)]
FILLED_ONCE = [(60.0 + 20.0 * (k > 20), False) for k in range(30)]
COMPILING = [(60.0 + 40.0 * (k > 20), k > 20) for k in range(30)]
FULL_QUEUES = [(60.0 + 40.0 * (k > 20 and k % 2), False, k % 2 == 0) for k in range(60)]
SELDOM_SETTLED = [(60.0, False, k % 10 == 0) for k in range(60)]


@pytest.mark.parametrize(
    ("lives", "flat"),
    [
        ([FLAT, FLAT], None),
        ([FLAT, FLAT, LEAKING[:17]], None),  # too short
        ([FLAT] * 3, True),
        ([LEAKING] * 3, False),
        ([FLAT, FILLED_ONCE, FLAT], True),
        ([FILLED_ONCE] * 3, False),
        ([COMPILING] * 3, True),
        ([FULL_QUEUES] * 3, True),
        ([SELDOM_SETTLED] * 3, None),
    ],
)
def test_memory_that_grows_is_told_from_what_fills_once(lives, flat):
    memory = _watched(*lives)
    assert memory.flat is flat
    if all(life is LEAKING for life in lives):
        assert memory.slope() == pytest.approx(54.0)


def test_memory_is_measured_of_a_process():
    from campaigns.faults.memory import Memory

    memory = Memory()
    memory.begin()
    memory.measure(os.getpid())
    kept = np.ones(10_000_000)
    memory.measure(os.getpid())
    memory.measure(-1)  # it has ended
    (first, second), *_ = memory.lives
    assert second.private - first.private == pytest.approx(kept.nbytes / 2**20, abs=10.0)


class Slow:
    """A client whose node answers late: the first `late` calls count for nobody, but are done.

    in_part: of the first request the last parameter is refused.
    """

    def __init__(self, late, in_part):
        self.late, self.in_part, self.values = late, in_part, {}

    def call(self, service, request, patience=0.0):
        assert service == "set_parameters"
        taken = [True] * (len(request.parameters) - self.in_part) + [False] * self.in_part
        self.values |= {each.name: each.value for each, good in zip(request.parameters, taken) if good}
        self.late, self.in_part = self.late - 1, False
        if self.late >= 0:
            return None
        return SimpleNamespace(results=[SimpleNamespace(successful=good) for good in taken])


@pytest.mark.parametrize(("late", "in_part"), [(0, False), (1, False), (3, False), (0, True), (1, True)])
def test_parameters_that_were_taken_or_answered_too_late_are_set_back(late, in_part):
    pytest.importorskip("rcl_interfaces")
    from rclpy.parameter import parameter_value_to_python

    from campaigns.faults import hostile
    from campaigns.faults.campaign import start_parameters
    from campaigns.faults.faults import Faults

    start = start_parameters("cartesian_controller")
    assert any(len(values) > 1 for values in hostile.PARAMETERS)
    for k in range(len(hostile.PARAMETERS)):
        client, told = Slow(late, in_part), []
        rng = SimpleNamespace(choice=lambda values, k=k: values[k])
        faults = Faults(
            "cartesian_controller",
            client,
            None,
            None,
            None,
            None,
            rng,
            lambda *event, told=told: told.append(event),
            parameters=start,
        )
        faults.absurd_parameters()
        for name, value in client.values.items():
            if name in start and not (late == 0 and name == "robot_description"):
                kept = parameter_value_to_python(value)
                assert (list(kept) if isinstance(start[name], list) else kept) == start[name]
                assert client.late < 0


def _cartesian(count=3000):
    """A judge of cartesian_controller, the stamps that were sent, and the torque of a tool that is held."""
    from campaigns.faults.cartesian_judge import CartesianJudge, Held, ToolSettings
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


@pytest.mark.parametrize(
    ("speeds", "energy"), [((), 50.0), ((0.2, 0.4, 0.25, 0.4, 0.3, 0.3, 0.2), 50.0), ((0.3,), 0.02), ((2.0,), 0.04)]
)
def test_cartesian_judge_has_the_law_of_the_library(speeds, energy):
    """With a wrench that is cut off, with joints that are braked for each of the reasons, and after gaps."""
    from campaigns.faults.braking import LONGEST, REACTION, History
    from campaigns.faults.cartesian_judge import LARGEST_FORCE, LARGEST_MOMENT, Held, ToolSettings
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
    controller = CartesianController(robot, TOOL, gains=gains, velocity_limits=speeds)
    settings = ToolSettings(**chosen, joint_velocity_limits=speeds, largest_energy=energy)
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
    from campaigns.faults.cartesian_judge import ToolSettings, Wish
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
    from campaigns.faults.cartesian_judge import Wish

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
    from campaigns.faults.braking import REACTION, History
    from campaigns.faults.cartesian_judge import (
        LARGEST_ACCELERATIONS,
        LARGEST_FORCE,
        LARGEST_MOMENT,
        LARGEST_SPEEDS,
        ToolSettings,
    )  # fmt: skip
    from campaigns.faults.robot import FINGERS, TOOL, description, oracle
    from rbd_dynamics import Robot, load_urdf
    from rbd_dynamics.control.cartesian.controller import CartesianController
    from rbd_dynamics.control.cartesian.gains import CartesianGains

    judge, *_ = _cartesian()
    robot = Robot(load_urdf(description("panda"), locked={FINGERS[0]: 0.0}))
    rng, model, shares, braked = np.random.default_rng(5), oracle("panda", None), [], 0
    for k in range(300):
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
    assert np.max(shares, axis=0)[:4].min() > 0.5 and braked > 60


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


def test_cartesian_judge_follows_wishes_and_bounds_what_is_on_its_way():
    from campaigns.faults.cartesian_judge import ARRIVES, Wish

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
    from campaigns.faults.cartesian_judge import ARRIVES, Wish

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
    from campaigns.faults.cartesian_judge import ARRIVES, Wish

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
    from campaigns.faults.cartesian_judge import ARRIVES, Wish

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


@pytest.mark.parametrize("seed", range(4))
def test_wishes_that_must_be_refused_can_be_sent(seed):
    pytest.importorskip("trajectory_msgs")
    import random

    from rclpy.serialization import serialize_message

    from campaigns.faults import hostile_tool

    rng = random.Random(seed)
    seen = set()
    for _ in range(300):
        topic, kind, message = hostile_tool.wish(rng)
        seen.add((topic, kind))
        assert len(serialize_message(message)) > 4
    assert {topic for topic, _ in seen} == set(hostile_tool.MADE) and len(seen) > 25


class TestCampaign:
    pytestmark = [*needs_ros, pytest.mark.wide]

    def test_no_effort_is_wrong(self, tmp_path):
        report = tmp_path / "report.json"
        options = ["--seconds", str(SECONDS), "--rate", str(RATE), "--seed", "7", "--report", str(report)]
        environment = {key: value for key, value in os.environ.items() if key != "ROS_DOMAIN_ID"}
        command = [sys.executable, "-X", "faulthandler", "-m", "campaigns.faults", *options]
        log = tmp_path / "log"
        with log.open("wb") as file:
            campaign = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
            )
        try:
            campaign.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            campaign.send_signal(signal.SIGABRT)  # its log says then where each thread stands
            campaign.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(campaign.pid, signal.SIGKILL)  # its nodes too, if it did not end
        assert campaign.returncode >= 0 and report.exists(), log.read_text()[-6000:]
        found = json.loads(report.read_text())
        shown = json.dumps({"problems": found["problems"], "violations": found["violations"][:3]}, indent=1)[:6000]
        assert not found["problems"], shown
        for counts in found["nodes"].values():
            assert counts["published"] > 100, shown
            assert counts["exact"] > 0, shown
            assert (counts["wrong"], counts["non_finite"], counts["above_limits"]) == (0, 0, 0), shown
            assert counts["stale"] == 0, shown


def test_a_long_campaign_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """In pieces with seeds of their own, whose counts are added up; not with a report of other options."""
    from campaigns.faults import pieces

    ran, report = [], tmp_path / "report.json"

    def run(options, seconds, seed):
        ran.append((seconds, seed))
        if len(ran) == 3:
            raise KeyboardInterrupt
        counts = {"published": 10, "wrong": int(seed == 7001), "memory": 1.5, "faults": {"silence": 2}}
        return {"good": seed != 7001, "seconds": seconds, "nodes": {"feedforward": counts}}

    monkeypatch.setattr(pieces, "_piece", run)
    with pytest.raises(KeyboardInterrupt):
        pieces.pieces(["--guard"], 0.5, 7, report)
    found = pieces.pieces(["--guard"], 0.5, 7, report)
    assert ran == [(600.0, 7000), (600.0, 7001), (600.0, 7002), (600.0, 7002)]
    assert not found["good"] and found["seconds"] == 1800.0
    assert found["all"] == {"feedforward": {"published": 30, "wrong": 1, "fault silence": 6}}
    with pytest.raises(ValueError, match="of another campaign .seed."):
        pieces.pieces(["--guard"], 0.5, 8, report)
