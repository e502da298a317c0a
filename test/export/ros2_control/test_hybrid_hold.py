# SPDX-License-Identifier: Apache-2.0
"""How the exported controller that presses holds an arm, beside the library's `HybridHold`: state by state."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from helpers.checks.exported import needs
from helpers.checks.exported_arms import configured, numbers, usual_rates

import rbd_dynamics as rbd
from rbd_dynamics.control import HybridController, HybridGains, HybridLimits, HybridTask, MultiplierSensor
from rbd_dynamics.control.hybrid.hold import HybridHold
from rbd_dynamics.control.hybrid.stability import Plant, load_rate
from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor
from rbd_dynamics.control.hybrid.unknown_load import EFFORT, STEPS
from rbd_dynamics.control.motion.desired_motion import DesiredMotion

pytestmark = needs("gcc", "g++")
LOAD = (1.3, (0.01, -0.02, 0.05), (4e-3, 1e-4, 0.0, 5e-3, 0.0, 3e-3))
PLACED = {
    "tool_position": (0.02, -0.01, 0.1),
    "tool_orientation": (math.pi, 0.0, 0.0),
    "task_position": (0.3, 0.1, 0.2),
}
ROWS = np.array([True])


class Moment(NamedTuple):
    """What an arm that is held goes through in one state."""

    dt: float = 1e-3
    push: float = 0.0  # N, at the tool, along z
    felt: float = 0.0  # share of it that is felt
    silent: bool = False
    anew: bool = False
    off: float = 0.0  # rad, by which it is moved at once
    fast: float = 0.0  # rad/s, by which all joints are thrown
    leans: float = 0.0  # N, that it pushed along x as holding began, where -1 times as much is felt
    lets_go: bool = False


def moments() -> list[Moment]:
    """A load that is not known, a push that is felt, one that is not, a silent sensor, slow states, a blow."""
    return [
        Moment(), *[Moment()] * 150, *[Moment(push=20.0, felt=1.0)] * 60, *[Moment(push=20.0, felt=-2.0)] * 30,
        *[Moment(push=-30.0)] * 60, *[Moment(silent=True)] * 30, Moment(anew=True), *[Moment()] * 60,
        *[Moment(dt=3e-3)] * 100, *[Moment(dt=1e-3)] * 60, Moment(off=0.1), *[Moment()] * 80, Moment(off=0.3),
        *[Moment()] * 60,
    ]  # fmt: skip


class Held:
    """An arm that the library holds, with a load that it does not know; the same is asked of the exported one."""

    def __init__(self, arm, *, limits=None, rates=math.inf, plant=None, slower=1.0, **given):
        plant = plant or Plant(actuator_bandwidth=0.0)
        self.limits = HybridLimits(**{"hold_load": True, **given})
        efforts = arm.efforts if limits is None else limits
        robot, self.true = rbd.Robot(arm.model), rbd.Robot(arm.model)
        self.true.set_payload(arm.frame, LOAD[0], com=LOAD[1], inertia=LOAD[2])
        speeds = slower * np.array([joint.limits.velocity for joint in arm.model.joints])
        sets = HybridTask(arm.frame, **PLACED).sets(arm.model)
        limited = {"effort_limits": efforts, "velocity_limits": speeds}
        self.hold = HybridHold(HybridController(robot, *sets, gains=HybridGains(), **limited))
        self.hold.load.plant = plant
        self.rates = np.broadcast_to(rates, arm.model.nv)
        self.hold.softening.rates = self.rates.copy()
        self.q, self.v, self.arm = arm.start.copy(), np.zeros(arm.model.nv), arm
        self.force, self.last = np.array([4.0]), robot.gravity(arm.start)
        wishes = {name: float(value) for name, value in vars(self.limits).items() if name.startswith("hold_")}
        wishes["joint_velocity_limits"] = list(speeds)
        timing = {"delay": plant.state_delay, "actuator_bandwidth": plant.actuator_bandwidth, "period": plant.period}
        self.lines = [*configured(arm, limits=efforts, rates=rates, **PLACED, **wishes, **timing), ("held_anew",)]
        self.expected = []

    def go(self, moment: Moment) -> None:
        """One state: efforts for it, and the motion by them."""
        hold, robot, arm = self.hold, self.hold.controller.robot, self.arm
        self.q[1] += moment.off
        self.v += moment.fast
        q, v = self.q.copy(), self.v.copy()
        pushed = moment.push * robot.jacobian(q, arm.frame, reference="aligned")[5]
        touched = None if moment.silent else moment.felt * pushed
        if moment.anew:
            hold.at = None
            hold.let_go()
            self.lines.append(("held_anew",))
        if moment.lets_go:
            hold.let_go()
            self.lines.append(("let_go",))
        hold.commanded[:] = self.last
        elapsed = moment.dt if self.expected else 0.0
        pressed, fades = float(self.force[0]), ()
        if moment.leans:
            aside = moment.leans * robot.jacobian(q, arm.frame, reference="aligned")[3]
            # of every other joint more was pushed than is felt, of the rest less
            fades = (self.last + np.where(np.arange(arm.model.nv) % 2, 2.0, 0.5) * aside, -aside)
            hold.q[:], hold.v[:] = q, v
            hold.fade(*fades, self.limits, self.force)
        tau = hold.torque(q, v, self.limits, self.force, elapsed, felt=touched).copy()
        free = hold.against_the_model(self.limits, ROWS)
        moved = bool(hold.problem)
        hold.problem = ""
        known = np.zeros(arm.model.nv) if touched is None else touched
        given = (q, v, self.last, known, float(not moment.silent), elapsed, self.force[0])
        self.lines.append(("fade", *given, pressed, *fades) if fades else ("hold", *given))
        share = hold.softening.share
        self.expected.append(
            (tau, hold.load.efforts.copy(), float(moved), free.push, free.inertia, free.acceleration, share)
        )
        change = self.rates * moment.dt
        self.last = self.last + np.clip(tau - self.last, -change, change)
        self.v += moment.dt * self.true.forward_dynamics(q, v, self.last + pushed)
        self.q += moment.dt * self.v

    def compare(self) -> float:
        """Asks the exported one. The largest difference."""
        answers, worst = [answer for answer in self.arm.talk(*self.lines) if len(answer) > 2 * self.arm.model.nv], 0.0
        for k, (answer, parts) in enumerate(zip(answers, self.expected, strict=True)):
            found = numbers(answer)
            for wanted in map(np.atleast_1d, parts):
                part, found = found[: wanted.size], found[wanted.size :]
                difference = np.abs(part - wanted).max() / max(1.0, np.abs(wanted).max())
                worst = max(worst, float(difference))
                assert difference <= 1e-12, f"state {k}: {part} for {wanted}"
            assert found.size == 0
        return worst


@pytest.mark.parametrize("bandwidth", [0.0, 30.0])
def test_what_holds_an_arm_with_a_load_that_is_not_known_is_the_library_s(arm, bandwidth):
    held = Held(arm, plant=Plant(actuator_bandwidth=bandwidth))
    for moment in moments():
        held.go(moment)
    loads = np.array([each[1] for each in held.expected])
    print(f"largest difference: {held.compare():.2g}")
    assert (np.abs(loads[100]) > 0.1).any(), "a load was found"
    assert sum(each[2] for each in held.expected) == 1.0, "it was moved too far once"
    most = EFFORT * arm.efforts
    assert (np.abs(loads) <= most * (1.0 + 1e-12)).all() and (np.abs(loads) > 0.5 * most).any()


def test_no_more_is_made_up_for_than_what_a_joint_may_be_thrown_by(arm):
    loads = []
    for slower in (1.0, 0.005):
        held = Held(arm, slower=slower)
        for _ in range(150):
            held.go(Moment())
        print(f"largest difference: {held.compare():.2g}")
        loads.append(np.abs(held.expected[-1][1]).max())
    assert loads[1] < 0.8 * loads[0]


def test_efforts_that_are_cut_are_cut_together_as_the_library_s_are(arm):
    """What makes up for a load and what draws it back are within the limits, by the same share about the weight."""
    limits = 1.05 * np.abs(rbd.Robot(arm.model).gravity(arm.start)) + 0.5
    held = Held(arm, limits=limits)
    for moment in moments():
        held.go(moment)
    print(f"largest difference: {held.compare():.2g}")
    cut = [np.isclose(np.abs(each[0]), limits).any() for each in held.expected]
    assert 20 < sum(cut) < len(cut)


def test_what_leans_on_something_lets_go_as_the_library_s_does(arm):
    """Within 0.1 s, no more of it than was pushed; at once where nothing is felt any more; not while states stand."""
    held = Held(arm, limits=0.3 * arm.efforts + np.abs(rbd.Robot(arm.model).gravity(arm.start)))
    begins = Moment(anew=True, leans=12.0)
    for moment in [
        *[Moment()] * 5, begins, *[Moment()] * 120, begins, *[Moment()] * 30, Moment(lets_go=True), *[Moment()] * 30,
        Moment(anew=True, leans=-500.0), *[Moment()] * 60, Moment(anew=True), *[Moment()] * 10,
    ]:  # fmt: skip
        held.go(moment)
    print(f"largest difference: {held.compare():.2g}")
    efforts = np.array([each[0] for each in held.expected])
    jumps = np.abs(np.diff(efforts, axis=0)).max(axis=1)
    assert jumps[4] > 0.5, "it leans"
    assert jumps[125 + 31] > 0.5 * 0.6 * jumps[4], "it lets go at once"


def test_a_fast_arm_is_held_by_gains_that_are_softer_as_the_library_s_are(arm):
    """Where efforts change no faster than their rates; no load is looked for meanwhile, and then it is again."""
    held = Held(arm, rates=usual_rates(arm), slower=0.3)
    thrown, off = [Moment(fast=0.8), *[Moment()] * 30], Moment(off=0.15)
    for moment in [*[Moment()] * 100, *thrown, off, *[Moment()] * 2000, off, *[Moment()] * 100]:
        held.go(moment)
    print(f"largest difference: {held.compare():.2g}")
    shares, loads = (np.array([each[k] for each in held.expected]) for k in (-1, 1))
    print(f"softest: {shares.min():.2g}")
    assert shares[:100].min() == 1.0 > 0.8 > shares[101:].min()
    assert shares[2000] == 1.0 and np.abs(loads[2000]).max() > 2.0 * np.abs(loads[250]).max()


@pytest.mark.parametrize("given", [{"hold_load": False}, {"hold_stiffness": 0.0}, {"hold_damping": 0.0}])
def test_no_load_is_looked_for_where_none_is_to_be_or_nothing_holds(arm, given):
    held = Held(arm, **given)
    for _ in range(60):
        held.go(Moment())
    held.compare()
    assert not any(each[1].any() for each in held.expected)


@pytest.mark.parametrize("bandwidth", [0.0, 10.0, 30.0])
def test_how_fast_a_load_is_looked_for_is_the_library_s_at_every_period(arm, bandwidth):
    rates = []
    for delay, gains in ((1e-3, (400.0, 40.0)), (5e-3, (400.0, 40.0)), (1e-3, (25.0, 10.0)), (0.0, (1600.0, 80.0))):
        given = {"hold_load": 1.0, "hold_stiffness": gains[0], "hold_damping": gains[1]}
        lines = configured(arm, delay=delay, actuator_bandwidth=bandwidth, **given)
        found = numbers(arm.talk(*lines, ("load_rates",))[-1])
        for k, rate in enumerate(found):
            plant = Plant(actuator_bandwidth=bandwidth, state_delay=delay, period=1e-3 * 2.0 ** (k / STEPS))
            assert rate == load_rate(*gains, plant)
        rates.extend(found)
        assert found[-1] == 0.0
    assert max(rates) > 0.0 and len(set(rates)) > 8
    off = numbers(arm.talk(*configured(arm, hold_load=0.0), ("load_rates",))[-1])
    assert not off.any()


@pytest.mark.parametrize(
    ("compensated", "slower"), [(False, 0.0), (True, 0.0), (False, 8.0)],
    ids=["all efforts", "the robot compensates its weight", "efforts that are late"],
)  # fmt: skip
def test_the_whole_law_holds_as_the_library_s_supervisor_does(arm, compensated, slower):
    """What the sensor reads counts as what the tool touches, along the normal and beside it; what was commanded in the
    end, as what has moved it."""
    rng, rates = np.random.default_rng(11), usual_rates(arm) / slower if slower else np.full(arm.model.nv, np.inf)
    held = Held(arm)
    controller, robot = held.hold.controller, held.hold.controller.robot
    supervisor = HybridSupervisor(controller, DesiredMotion(controller.task.row_names), held.limits)
    supervisor.hold.load.plant, supervisor.effort_rates = held.hold.load.plant, rates
    sensor = MultiplierSensor(robot, controller.constraints, arm.frame)
    wishes = {**PLACED, "hold_load": 1.0, "gravity_compensated": float(compensated), "delay": 1e-3}
    lines = [*configured(arm, rates=rates, **wishes), ("start", arm.start)]
    q, v, expected, loads, late = arm.start.copy(), np.zeros(arm.model.nv), [], [], 0
    for k in range(250):
        J = robot.jacobian(q, arm.frame, reference="aligned")
        local = np.kron(np.eye(2), robot.pose(q, arm.frame)[:3, :3].T)
        pushed = np.array([0.0, 0.0, 0.0, 4.0, -8.0, 15.0]) if 100 < k < 160 else np.zeros(6)
        wrench = local @ pushed + 1e-3 * rng.normal(size=6)
        measured = sensor.read(q, v, wrench, np.zeros(6))
        now = 1_000_000 * (k + 1)
        tau = supervisor.torque(now, q, v, measured, now, beside=sensor.beside).copy()
        weight = robot.gravity(q) if compensated else 0.0
        lines.append(("step", q, v, wrench, 1e-3))
        efforts = tau - weight
        if expected:
            change = efforts - expected[-1]
            share = float((1e-3 * rates / np.maximum(np.abs(change), 1e-12)).min(initial=1.0))
            efforts, late = expected[-1] + share * change, late + (share < 1.0)
        expected.append(efforts)
        loads.append(supervisor.hold.load.efforts.copy())
        supervisor.hold.commanded[:] = efforts + weight
        v = v + 1e-3 * held.true.forward_dynamics(q, v, efforts + weight + J.T @ pushed)
        q = q + 1e-3 * v
    nv = arm.model.nv
    *found, (allocations, counted) = map(numbers, arm.talk(*lines, ("found",))[-len(expected) - 1 :])
    worst = 0.0
    for k, (answer, wanted) in enumerate(zip(found, expected, strict=True)):
        difference = np.abs(answer[8 : 8 + nv] - wanted).max() / max(1.0, np.abs(wanted).max())
        worst = max(worst, float(difference))
        assert difference <= 1e-12, f"state {k}"
    print(f"largest difference: {worst:.2g}")
    assert np.abs(loads[99]).max() > 0.1 and (late > 10) == bool(slower)
    assert allocations == 0 < counted
