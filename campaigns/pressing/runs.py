# SPDX-License-Identifier: Apache-2.0
"""Runs a case: the node's code against the plant, a millisecond at a time; what was there is kept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from campaigns.pressing.arms import heavier, model_of
from campaigns.pressing.bench import Bench
from campaigns.pressing.cases import ENGAGED, SETTLED, Case, Event
from campaigns.pressing.plant import PERIOD
from campaigns.pressing.scene import Scene, scene_of

Array = NDArray[np.float64]

START = 1_000_000_000  # ns
MS = 1_000_000  # ns
HOLDS = 1200  # periods, after what pressed has faded, in which it shows whether the hold holds
KNOWN = 0.8  # share of the rotors' inertia that the controller knows of


class Controlled(Protocol):
    """What answers states: the node's code, or a law to compare it with."""

    refused: list[str]
    ended: bool  # for good
    left_alone: int  # periods for which a run goes on after that

    def answer(self, stamp: int, q: Array | None, v: Array, wrench: Array | None) -> Array | None: ...

    @property
    def mode(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def motion_problem(self) -> str: ...


class Stop(NamedTuple):
    """When (index of a period) it went to hold, from which mode, and what it said."""

    at: int
    mode: str
    reason: str


class Record(NamedTuple):
    """A row for each period: forces (N, surfaces), the largest within it; pose of the ball; joints; the command."""

    case: Case
    scene: Scene
    forces: Array
    position: Array
    rotation: Array
    q: Array
    v: Array
    tau: Array
    modes: list[str]
    stops: list[Stop]
    refused: list[str]
    begun: int  # the period in which the force had come; -1: it has not
    motion_problem: str  # why the last motion ended before its time
    drifts: bool  # whether it has said that the sensor drifts
    wanted: Array  # N, in each period; nan where it does not press, or is not known to


def run(case: Case, law: Any = None) -> Record:
    """law: builds what answers, of a scene and a case; by default the node's code."""
    scene = scene_of(case)
    plant = scene.plant
    bench = Bench(model_of(case.arm, known_rotors(case)), scene.params) if law is None else law(scene, case)
    events = sorted(case.events, key=lambda e: e.time)
    forces, position, rotation, q_all, v_all, tau_all, modes = [], [], [], [], [], [], []
    forces_wanted: list[float] = []
    stops: list[Stop] = []
    command, frozen, settled, begun, left = plant.tau.copy(), None, 0, -1, bench.left_alone
    drifts = False
    for k in range(round((case.patience + case.seconds) / PERIOD)):
        time = -1.0 if begun < 0 else (k - begun) * PERIOD
        if begun < 0 and k * PERIOD > case.patience or time > case.seconds:
            break
        before = bench.mode
        if k == round(ENGAGED / PERIOD):
            bench.engage(True)
        while begun >= 0 and events and events[0].time <= time + 1e-9:
            happen(bench, scene, case, events.pop(0))
        q, v, wrench = plant.read()
        if time >= case.frozen:
            frozen = wrench if frozen is None else frozen
            wrench = frozen
        seen = None if _within(time, case.no_states) else q
        found = bench.answer(START + k * MS, seen, v, None if _within(time, case.no_wrenches) else wrench)
        if found is not None:
            command = found
        after = bench.mode
        if before != "hold" and after == "hold":
            stops.append(Stop(k, before, bench.reason))
        plant.command(command)
        for rows, row in zip(
            (forces, position, rotation, q_all, v_all, tau_all, modes),
            (plant.peaks, plant.position, plant.rotation, *plant.state, command, after),
        ):
            rows.append(row)
        forces_wanted.append(float(getattr(bench, "wanted_force", math.nan)))
        left -= bench.ended
        if stops and not events and after == "hold" and k - stops[-1].at > HOLDS + case.fading / PERIOD:
            break
        if not left or not np.isfinite(v_all[-1]).all():
            break
        wanted = min(case.force, getattr(bench, "most_force", case.force))
        settled = settled + 1 if plant.peaks[0] >= 0.9 * wanted - 1.0 else 0
        drifts = drifts or after == "press" and bool(getattr(bench, "drifts", False))
        if begun < 0 and settled >= SETTLED / PERIOD:
            begun, plant.since = k + 1, plant.time
    if hasattr(bench, "close"):  # it is a process
        bench.close()
    arrays = (np.array(x) for x in (forces, position, rotation, q_all, v_all, tau_all))
    return Record(
        case, scene, *arrays, modes, stops, bench.refused, begun, bench.motion_problem, drifts, np.array(forces_wanted)
    )


def known_rotors(case: Case) -> float:
    """What the controller takes the rotors for: somewhat less than they are."""
    return KNOWN * case.imperfect.rotors


def _within(time: float, spans: tuple[tuple[float, float], ...]) -> bool:
    return any(begin <= time < end for begin, end in spans)


def happen(bench: Any, scene: Scene, case: Case, event: Event) -> None:
    """One event."""
    value = event.value
    if event.what == "engage":
        bench.engage(value)
    elif event.what == "set":
        bench.set(**value)
    elif event.what == "place":  # in the axes of the surface, or of the tool
        name, change = value
        now = np.array(getattr(bench.params, name))
        if name == "task_position":
            change = scene.axes @ np.array(change)
        bench.set(**{name: tuple(float(x) for x in now + np.array(change))})
    elif event.what == "carry":
        bench.carry(value)
    elif event.what == "describe":
        bench.describe(heavier(case.arm, value, known_rotors(case)))
    elif event.what == "load":
        scene.plant.load(value)
    elif event.what == "move":
        bench.move(*value)
    elif event.what == "outwards":
        way, speed = value
        outward = scene.plant.position * [1.0, 1.0, 0.0] @ scene.axes[:, :2]
        outward *= way / max(float(np.linalg.norm(outward)), 1e-6)
        bench.move({3: float(outward[0]), 4: float(outward[1])}, speed)
    elif event.what == "press":  # by a wrench, with so much along the normal
        along = scene.plant.rotation.T @ scene.axes[:, 2]
        point = np.array(scene.params.tool_position)
        with np.errstate(invalid="ignore"):  # infinite forces are wanted of some
            bench.wish(np.concatenate([np.cross(point, value * along), value * along]))
    elif event.what == "reactivate":
        bench.reactivate()
    else:
        raise ValueError(f"unknown event {event.what!r}")
