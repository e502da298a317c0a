# SPDX-License-Identifier: Apache-2.0
"""What is tried, from chance. Each says what was wrong: speeds, steps, where the arm is, what the node said."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.closed_loop.loop import LOWER, UPPER, Loop, Seen
from campaigns.faults.robot import LIMITS, MIDDLE, SPEEDS, oracle

Array = NDArray[np.float64]
KP, KD = [40.0] * 4 + [3.0, 3.0, 1.0], [5.0] * 4 + [0.3, 0.3, 0.15]  # stable wherever the arm is
AT_REST = 0.02  # of the velocity limits
GENTLE = 0.15  # of the velocity limits: an arm that is taken over where it is
STEP = 0.1  # of the effort limits: what it may be taken over with beside what holds it
STAYS = 0.08  # rad
CLOSE = 0.02  # m, of the tool
BUILT = 60.0  # s of this machine's time, in which a description is built
OWN = 0.02  # of the effort limits, beside what holds the arm
LATER = 8.0  # s, than a target would be reached in a straight line


class Case(Protocol):
    """What is tried, with chance; what was wrong."""

    __name__: str

    def __call__(self, loop: Loop, rng: random.Random, /) -> list[str]: ...


def within(rng: random.Random, share: float = 0.5) -> Array:
    """Positions in the middle of what the joints can do."""
    middle, half = 0.5 * (LOWER + UPPER), 0.5 * (UPPER - LOWER)
    return middle + half * np.array([rng.uniform(-share, share) for _ in range(7)])


def way(begin: Array, end: Array, seconds: float) -> Callable[[float], Array]:
    """Smoothly from one place to another."""

    def at(t: float) -> Array:
        s = min(1.0, t / seconds)
        return begin + (3.0 * s * s - 2.0 * s**3) * (end - begin)

    return at


def elsewhere(loop: Loop, rng: random.Random, most: float) -> Array:
    """Up to so far (rad) from where the arm is, in some joints."""
    q = loop.arm.state[0]
    off = np.array([rng.uniform(-most, most) * rng.choice((0.0, 1.0, 1.0)) for _ in range(7)])
    return np.asarray(np.clip(q + off, LOWER + 0.2, UPPER - 0.2))


def gains(loop: Loop) -> list[str]:
    """Those that hold it, where it needs any; from none on, so that no others make these unstable meanwhile."""
    if loop.kind != "feedforward":
        return []
    each = ({"kp": [0.0]}, {"kd": KD}, {"kp": KP})
    return [f"refused: {loop.refusals[-1]}" for values in each if not loop.set(**values)]


def held_here(loop: Loop, begin: Array, seen: Seen, what: str) -> list[str]:
    """What is wrong of an arm that was to stay where it was."""
    problems = seen.problems
    if seen.fastest > GENTLE:
        problems.append(f"{what}: moved at {seen.fastest:.2f} of a velocity limit")
    if (moved := float(np.abs(loop.arm.state[0] - begin).max())) > STAYS:
        problems.append(f"{what}: went {moved:.3f} rad away")
    return problems


def comes_to_rest(seen: Seen, what: str) -> list[str]:
    last = max(seen.speeds[-50:], default=0.0)
    return [*seen.problems, *([f"{what}: still at {last:.3f} of a velocity limit"] if last > AT_REST else [])]


def tried(loop: Loop, case: Case, rng: random.Random) -> list[str]:
    """What is wrong of a case, with the arm somewhere, at rest, and the node holding it there."""
    loop.transition(4)
    loop.place(within(rng, 0.5))
    problems = gains(loop)
    loop.transition(3)
    loop.run(0.3)
    return problems + case(loop, rng)


# --- standing still, and taking over ---------------------------------------------------------------


def hand_guided(loop: Loop, rng: random.Random) -> list[str]:
    """Moved by hand, without gains where the law has any; then they come, one after the other."""
    if loop.kind == "feedforward":
        loop.set(kp=[0.0], kd=[0.0])
    begin, end = loop.arm.state[0], elsewhere(loop, rng, 0.8)
    problems = loop.run(1.5, way(begin, end, 1.2)).problems
    if loop.kind != "feedforward":
        return problems + comes_to_rest(loop.run(2.5), "let go by hand")
    here = loop.arm.state[0]
    loop.run(0.2, here)
    for values in ({"kd": KD}, {"kp": [0.1 * k for k in KP]}, {"kp": KP}):
        if not loop.set(**values):
            problems.append(f"refused: {loop.refusals[-1]}")
        problems += held_here(loop, here, loop.run(0.4), f"gains {values}")
    return problems


def drives_off_and_on(loop: Loop, rng: random.Random) -> list[str]:
    """Meanwhile the arm is carried elsewhere; efforts are measured, or not.

    Where none are, soft gains are as those of an arm that is led by hand: it goes back within the path's tolerance.
    """
    loop.run(0.8)  # efforts follow
    loop.said()
    loop.arm.drives = False
    measured = rng.random() < 0.7
    begin, end = loop.arm.state[0], elsewhere(loop, rng, 0.6)
    loop.run(0.3, with_efforts=measured)
    loop.run(1.5, carried=way(begin, end, 1.3), with_efforts=measured)
    loop.run(rng.choice((0.05, 0.5)), with_efforts=measured)
    loop.arm.drives, loop.arm.acts = True, loop.arm.gravity
    if not measured:
        return comes_to_rest(loop.run(2.5), "drives on")
    begin, problems = loop.arm.state[0], loop.run(0.004).problems
    if (beside := float((np.abs(loop.tau - loop.arm.gravity) / LIMITS).max())) > STEP:
        problems.append(f"drives on: {beside:.2f} of an effort limit beside what holds it")
    return problems + held_here(loop, begin, loop.run(1.0), "drives on")


def pushed(loop: Loop, rng: random.Random) -> list[str]:
    """By hand, beyond the path's tolerance or not, and let go, while it is held."""
    loop.run(0.3)
    begin = loop.arm.state[0]
    problems = loop.run(1.2, way(begin, elsewhere(loop, rng, rng.choice((0.1, 0.7))), 0.8)).problems
    return problems + comes_to_rest(loop.run(2.5), "pushed and let go")


def activated_in_motion(loop: Loop, rng: random.Random) -> list[str]:
    loop.run(0.1)
    loop.transition(4)
    speeds = SPEEDS * np.array([rng.uniform(-0.4, 0.4) for _ in range(7)])
    loop.place(within(rng, 0.4))
    loop.arm.move(speeds)
    if not loop.transition(3):
        return ["it is not active again"]
    return comes_to_rest(loop.run(2.5), "activated in motion")


# --- what changes --------------------------------------------------------------------------------


def weak_limits(loop: Loop, rng: random.Random) -> list[str]:
    """Limits that may not hold the arm: refused, or it stays."""
    loop.run(0.2)
    begin, held = loop.arm.state[0], np.abs(loop.arm.gravity)
    most = [float(x) for x in np.minimum(rng.uniform(0.3, 2.0) * np.maximum(held, 0.5), LIMITS)]
    taken = loop.set(effort_limits=most)
    problems = held_here(loop, begin, loop.run(0.8), f"effort limits {'taken' if taken else 'refused'}")
    if taken and (held > most).any():
        problems.append("limits were taken with which it cannot be held")
    loop.set(effort_limits=LIMITS.tolist())
    return problems


def many_times_the_gains(loop: Loop, rng: random.Random) -> list[str]:
    """Refused, or the arm stands, also after a knock."""
    loop.run(0.2)
    begin, times = loop.arm.state[0], rng.choice((3.0, 10.0, 100.0))
    if loop.kind == "feedforward":
        taken = loop.set(kp=[times * k for k in KP], kd=[rng.choice((1.0, times)) * k for k in KD])
    elif loop.kind == "hybrid_controller":
        taken = loop.set(hold_stiffness=times * 400.0, hold_damping=rng.choice((1.0, times)) * 40.0)
    else:
        taken = loop.set(stiffness=[times * 300.0], rotational_stiffness=[times * 5.0])
    loop.arm.move(np.array([rng.uniform(-0.02, 0.02) for _ in range(7)]))
    problems = held_here(loop, begin, loop.run(1.0), f"{times:g} times the gains, {'taken' if taken else 'refused'}")
    if loop.kind == "feedforward":
        loop.set(kp=KP, kd=KD)
    elif loop.kind == "hybrid_controller":
        loop.set(hold_stiffness=400.0, hold_damping=40.0)
    else:
        loop.set(stiffness=[500.0], rotational_stiffness=[10.0])
    return problems


def another_description(loop: Loop, rng: random.Random) -> list[str]:
    """Of another robot, or with other masses; agreed to or not. The arm stays."""
    loop.run(0.2)
    begin, name = loop.arm.state[0], rng.choice(("", "", "crane"))
    loop.said()
    loop.describe(f"masses {rng.choice((-60, -3, 3, 60))}", name=name)
    problems = held_here(loop, begin, loop.run(1.0), "another description")
    if name and not loop.complains(of=name):
        problems.append("another robot's description, and it does not say so")
    if rng.random() < 0.5:
        loop.trigger("accept_description")
        problems += held_here(loop, begin, loop.run(1.0), "agreed to") if not name else loop.run(0.5).problems
    return problems + its_own_again(loop)


def its_own_again(loop: Loop) -> list[str]:
    """Its description is agreed to again, once it has been read and built: by what is commanded to hold the arm."""
    end = time.monotonic() + BUILT
    while time.monotonic() < end:
        loop.describe("panda")
        loop.run(0.2)
        loop.trigger("accept_description")
        loop.run(0.6)
        if float((np.abs(loop.tau - loop.arm.gravity) / LIMITS).max()) < OWN:
            return []
    return ["its own description is not taken again"]


# --- out of reach and singular --------------------------------------------------------------------


def targets(loop: Loop, rng: random.Random) -> list[str]:
    """Some, in reach and beyond it, one before the other is reached."""
    speed = rng.choice((0.1, 0.3, 1.0))
    loop.set(velocity_limits=[2.0 * speed] * 3 + [speed] * 3)
    loop.said()
    problems: list[str] = []
    count = rng.randrange(1, 4)
    for k in range(count):
        pose = oracle("panda", None).tool(within(rng, 0.9)).copy()
        if rng.random() < 0.4:
            pose.translation = pose.translation * rng.uniform(1.2, 2.0)
        loop.want(pose)
        if k < count - 1:
            problems += loop.run(rng.uniform(0.2, 1.5)).problems
    place = oracle("panda", None).tool
    seconds, left, before = 0.0, np.inf, len(loop.node.log)
    seen = Seen()
    longest = LATER + np.linalg.norm(place(loop.arm.state[0]).translation - pose.translation) / speed
    while seconds < longest:
        seen = loop.run(1.0)
        problems, seconds = problems + seen.problems, seconds + 1.0
        left = float(np.linalg.norm(place(loop.arm.state[0]).translation - pose.translation))
        ends = left < CLOSE or "held where it is" in loop.node.log[before:]
        if (max(seen.speeds[-100:], default=0.0) < AT_REST and ends) or seen.unanswered:
            break
    said = loop.said()
    if left > CLOSE and not any(word in said for word in ("held where it is", "tolerance", "refused")):
        problems.append(f"{left:.3f} m from its target after {seconds:g} s, and it does not say why")
    return problems + comes_to_rest(seen, "at its target")


COMMON = (
    hand_guided, drives_off_and_on, pushed, activated_in_motion, weak_limits, many_times_the_gains,
    another_description,
)  # fmt: skip
CASES: dict[str, tuple[Case, ...]] = {
    "feedforward": COMMON,
    "cartesian_controller": (*COMMON, targets, targets, targets),
    "hybrid_controller": COMMON,
}
BEGIN = MIDDLE
