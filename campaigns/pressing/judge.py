# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run, by what the plant knows alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from campaigns.pressing.arms import model_of
from campaigns.pressing.cases import Case
from campaigns.pressing.plant import PERIOD
from campaigns.pressing.reasons import drift_is_true, judged
from campaigns.pressing.runs import Record
from campaigns.pressing.scene import Scene
from rbd_dynamics.control.hybrid.gains import TASK_GAINS

Array = NDArray[np.float64]

FORCE_FACTOR = 1.2  # of largest_force
TOOL_SPEED = 0.25  # m/s: what is usual beside people; no class wants the tool faster
REACTION = 0.012  # s, from a reading to the torque that answers it: states, control and actuators of 30 Hz
SPRING = TASK_GAINS["geometric"][0]  # 1/s^2, of the task where nothing else is given
LOST = 5e-3  # m, that a tool may move when its contact is lost
HELD = 5e-3  # m, that a tool may move after a stop, besides what it cannot help
STOPPING = 0.1  # s, of the speed at the stop
STILL = 0.03  # rad/s, at the end
DRAWN = 0.4  # of the velocity limits: no faster is an arm drawn to where it is held
SETTLES = 700  # periods, after which a held arm stands still
UNSAID = 500  # periods of lost contact after which something must have been said
RESTS, STEADY = 300, 1000  # periods at the end: what is pressed is averaged over these, wanted steadily over those
AT_REST = 0.5, 0.05  # N, and share of what is wanted, that it may be off by
STUCK = 0.2  # likewise, of joints that friction holds
JOINT = 2e-3  # rad beyond a limit: how far the plant's stops give


class Found(NamedTuple):
    """value: the worst; most: what is allowed; of the run."""

    value: float
    most: float

    @property
    def bad(self) -> bool:
        return not self.value <= self.most


@dataclass
class Verdict:
    """bounds: {name: what was found}. reasons: what was said, and whether it is true (None: not judged)."""

    bounds: dict[str, Found] = field(default_factory=dict)
    reasons: list[tuple[str, bool | None]] = field(default_factory=list)
    pressed: bool = True
    stopped: bool = False
    refused: list[str] = field(default_factory=list)
    motion_ended: bool = False

    @property
    def good(self) -> bool:
        return not any(each.bad for each in self.bounds.values()) and all(true is not False for _, true in self.reasons)


#: unit and factor of each bound, for tables
UNITS = {
    "force": ("N", 1.0), "wall force": ("N", 1.0), "joint speed": ("of limit", 1.0), "torque": ("of limit", 1.0),
    "joint position": ("mrad beyond", 1e3), "tool speed": ("m/s", 1.0), "lost contact": ("mm", 1e3),
    "fall": ("mm/s", 1e3), "held": ("mm", 1e3), "still": ("rad/s", 1.0), "unsaid": ("s", 1.0),
    "force at rest": ("N off", 1.0),
}  # fmt: skip


def verdict(record: Record) -> Verdict:
    case, scene = record.case, record.scene
    model = model_of(case.arm)
    found = Verdict(
        stopped=bool(record.stops),
        refused=record.refused,
        pressed=record.begun >= 0,
        motion_ended=bool(record.motion_problem),
    )
    bounds = found.bounds
    blow, wall_blow = impacts(case, scene)
    most = FORCE_FACTOR * case.largest
    bounds["force"] = Found(float(record.forces[:, 0].max()), most + blow)
    if case.wall is not None:
        bounds["wall force"] = Found(float(record.forces[:, 1].max()), most + wall_blow)
    freed, tool_freed = let_go_by_friction(record)
    if case.wall is not None:  # what the blow makes of its speed
        freed = np.maximum(freed, case.slide * scene.joints_thrown)
    unhelped = float((freed / model.velocity_limit).max())
    bounds["joint speed"] = Found(float((np.abs(record.v) / model.velocity_limit).max()), max(1.0, unhelped))
    bounds["torque"] = Found(float((np.abs(record.tau) / model.effort_limit).max()), 1.0 + 1e-9)
    beyond = np.maximum(record.q - model.upper, model.lower - record.q).max()
    bounds["joint position"] = Found(max(0.0, float(beyond)), JOINT)
    speed = np.linalg.norm(np.diff(record.position, axis=0), axis=1) / PERIOD
    bounds["tool speed"] = Found(
        float(speed.max()), max(TOOL_SPEED, let_loose(record, tool_freed), thrown(case, scene))
    )
    bounds["lost contact"], bounds["fall"], bounds["unsaid"] = _lost(record)
    bounds["force at rest"] = _at_rest(record)
    held, still = _held(record, speed)
    bounds["held"], bounds["still"] = held, still
    found.reasons = [judged(record, stop) for stop in record.stops]
    if record.drifts or case.imperfect.drift and record.begun >= 0 and not record.stops:
        found.reasons.append(("sensor drifts", record.drifts and drift_is_true(record)))
    if not record.stops:
        found.reasons += [("(went on)", not any(each.bad for each in bounds.values()))]
    return found


def impacts(case: Case, scene: Scene) -> tuple[float, float]:
    """N that cannot be helped: v sqrt(k m), along the normal and at the wall."""
    speed = _meeting(case)
    return speed * math.sqrt(case.stiffness * scene.mass), case.slide * math.sqrt(case.wall_stiffness * scene.wall_mass)


def thrown(case: Case, scene: Scene) -> float:
    """m/s that cannot be helped of a tool that meets a surface, or a wall."""
    return max(_meeting(case) * scene.thrown, case.slide * scene.wall_thrown if case.wall is not None else 0.0)


def _meeting(case: Case) -> float:
    """m/s, of tool and surface, also where it is slid into one that leans."""
    swing = 2.0 * math.pi * case.swing[0] * case.swing[1]
    return case.approach + case.slide * math.sin(case.tilt) + swing + abs(case.surface_speed)


def let_go_by_friction(record: Record) -> tuple[Array, float]:
    """Joint speeds (joints), and the tool's (m/s), that cannot be helped where a contact's force falls.

    The friction that it made is gone before any effort answers.
    """
    case, scene = record.case, record.scene
    joints, tool = np.zeros(record.v.shape[1]), 0.0
    for forces, freed in zip(record.forces.T, (scene.freed, scene.wall_freed)):
        impulse = case.friction * _fallen(forces) * REACTION
        joints, tool = joints + impulse * freed.joints, tool + impulse * freed.tool
    return joints, tool


def _fallen(forces: Array) -> float:
    """N, by which a force falls at most within the time that an answer takes."""
    periods = round(REACTION / PERIOD)
    before = np.lib.stride_tricks.sliding_window_view(forces, min(periods + 1, len(forces)))
    return float((before.max(axis=1) - before[:, -1]).max())


def let_loose(record: Record, freed: float) -> float:
    """m/s that cannot be helped: what friction held back (freed), and at an edge what was pressed in springs back."""
    case, scene = record.case, record.scene
    force = float(record.forces[:, 0].max())
    if case.edge is None:  # by the law's spring it springs on where friction lets go of it
        spring = scene.mass * math.sqrt(max(scene.params.kp, default=SPRING))
        return case.slide + freed + case.friction * force / spring
    freed = max(freed, case.friction * force * REACTION / scene.wall_mass)
    return case.slide + math.hypot(freed, force / math.sqrt(case.stiffness * scene.wall_mass))


def _lost(record: Record) -> tuple[Found, Found, Found]:
    """The farthest that a tool went along the normal without contact; how fast towards the surface; s without a word.

    Counted from when contact is lost to when it comes again, and half a second beyond the stop.
    """
    normal = record.scene.axes[:, 2]
    if record.case.shape != "plane":
        return Found(0.0, LOST), Found(0.0, math.inf), Found(0.0, UNSAID * PERIOD)
    height, touches = record.position @ normal, record.forces[:, 0] > 0.0
    pressing = np.array([mode == "press" for mode in record.modes])
    farthest = fastest = 0.0
    unsaid = k = 0
    while k < len(touches):
        if touches[k] or not pressing[k]:
            k += 1
            continue
        end = k
        while end < len(touches) and not touches[end] and (pressing[end] or pressing[max(0, end - 500) : end].any()):
            end += 1
        if end - k > 1:
            farthest = max(farthest, float(np.abs(height[k:end] - height[k]).max()))
            fastest = max(fastest, float(-np.diff(height[k:end]).min() / PERIOD))
        unsaid = max(unsaid, int(pressing[k:end].sum()))
        k = end + 1
    return Found(farthest, LOST), Found(fastest, math.inf), Found(unsaid * PERIOD, UNSAID * PERIOD)


def _at_rest(record: Record) -> Found:
    """How far what is pressed at the end is from what is wanted, where a sensor that is right tells it."""
    case, imperfect = record.case, record.case.imperfect
    wanted = record.wanted[-STEADY:]
    turned = any(e.what == "place" and "orientation" in e.value[0] for e in case.events)
    moves = turned or case.tilt or case.shape != "plane" or any(case.swing) or case.surface_speed
    wrong = any(imperfect.bias) or any(imperfect.turned) or imperfect.drift or math.isfinite(case.frozen)
    if moves or wrong or len(wanted) < STEADY or not np.ptp(wanted) <= 0.1:
        return Found(0.0, math.inf)
    off = abs(float(record.forces[-RESTS:, 0].mean() - wanted.mean()))
    share = STUCK if imperfect.joint_friction else AT_REST[1]  # joints that stick let an integral hunt
    return Found(off, AT_REST[0] + share * float(wanted.mean()))


def _came(record: Record, begin: int, end: int) -> float:
    """m, by which a surface has come towards the tool that it touches: no hold keeps a tool where a surface goes."""
    surface = record.scene.plant.contacts[0].surface
    ways = [surface.motion(PERIOD * (k - record.begun))[0] for k in range(begin, end)]
    touched = np.array(ways)[record.forces[begin:end, 0] > 0.0]
    return max(0.0, float(touched.max(initial=-math.inf)) - ways[0]) if record.begun >= 0 else 0.0


def _sag(record: Record) -> tuple[float, bool]:
    """m, by which a mass that is not known pulls the tool down; whether the pull of holding is too weak against it.

    Light links are drawn back by little, so that they are not drawn fast; they sink until they are held anew.
    """
    case, params, plant = record.case, record.scene.params, record.scene.plant
    mass = case.imperfect.mass + sum(e.value for e in case.events if e.what in ("carry", "describe", "load"))
    J = plant.jacobian()
    acceleration = plant.solve(9.81 * (mass + 20.0 * case.imperfect.links) * J[2])
    sinks = np.abs(acceleration) > params.hold_damping * DRAWN * model_of(case.arm).velocity_limit
    away = np.where(sinks, 0.0, acceleration / params.hold_stiffness)
    sunk = params.hold_tolerance * np.linalg.norm(J[:, sinks], axis=0).sum()
    return float(np.linalg.norm(J @ away) + sunk), bool(sinks.any())


def _held(record: Record, speed: Array) -> tuple[Found, Found]:
    """How far the tool moves after a stop, and how fast the joints still are at the end of holding."""
    worst, still, case = Found(0.0, HELD), 0.0, record.case
    sag, sinks = _sag(record)
    for stop in record.stops:
        end = stop.at
        while end < len(record.modes) and record.modes[end] == "hold":
            end += 1
        if end - stop.at < 2:
            continue
        moved = np.linalg.norm(record.position[stop.at : end] - record.position[stop.at], axis=1).max()
        softest = min(case.stiffness, case.stiffness if case.beyond is None else case.beyond[1])
        pressed = record.forces[max(0, stop.at - 1), 0] / softest
        before = float(speed[max(0, stop.at - 3) : stop.at + 1].max(initial=0.0))
        came = _came(record, stop.at, end)
        found = Found(float(moved), HELD + STOPPING * min(before, TOOL_SPEED) + pressed + sag + came)
        if found.value - found.most > worst.value - worst.most:
            worst = found
        if end - stop.at > SETTLES and not came and not sinks:  # else a surface moves it, or a mass
            still = max(still, float(np.abs(record.v[end - 100 : end]).mean(axis=0).max()))
    return worst, Found(still, STILL)
