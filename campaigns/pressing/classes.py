# SPDX-License-Identifier: Apache-2.0
"""Classes of runs. Each draws its own from a generator that follows from seed, class and number."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from campaigns.pressing.cases import AFTER, BEGIN, Case, Event, X, Y, common
from campaigns.pressing.hostile import angles, bounce, desired, wrong
from campaigns.pressing.surfaces import SEAM

LIGHT = 0.2  # share of the runs with an arm without rotors
Draw = Callable[[Case, np.random.Generator], Case]


def approach(case: Case, rng: np.random.Generator) -> Case:
    """1 mm/s to 0.2 m/s on soft and hard."""
    speed = float(np.exp(rng.uniform(math.log(1e-3), math.log(0.2))))
    height = float(min(0.08, max(0.003, 0.4 * speed)))
    params = {"approach_speed": speed}
    shape = str(rng.choice(["plane", "plane", "sphere", "pipe"]))
    case = replace(case, approach=speed, height=height, params=params, shape=shape, friction=0.0)
    case = replace(case, stiffness=float(10.0 ** rng.uniform(3.0, 6.0)), variant=f"{1e3 * speed:.3g} mm/s")
    return replace(case, seconds=1.0)


def force(case: Case, rng: np.random.Generator) -> Case:
    """Steps and sines of the wanted force."""
    begin, events = BEGIN, []
    if rng.random() < 0.5:
        variant, values = "steps", rng.uniform(3.0, case.force, 4)
        events = [Event(begin + 0.8 * k, "set", {"desired_force": (float(x),)}) for k, x in enumerate(values)]
    else:
        rate = float(rng.uniform(0.2, 2.0))
        variant = f"sine of {rate:.2g} Hz"
        for k in range(160):
            wanted = case.force * (0.6 + 0.4 * math.sin(2 * math.pi * rate * 0.02 * k))
            events.append(Event(begin + 0.02 * k, "set", {"desired_force": (wanted,)}))
    params = {"force_rate": float(rng.choice([20.0, 100.0, 500.0]))}
    return replace(case, variant=variant, events=tuple(events), params=params, seconds=begin + 4.0)


def slide(case: Case, rng: np.random.Generator) -> Case:
    """Along plane, sphere and pipe, with tilt and friction."""
    shape = str(rng.choice(["plane", "plane", "sphere", "pipe"]))
    speed, way = float(rng.uniform(0.01, 0.1)), float(rng.uniform(0.03, 0.08))
    angle = float(rng.uniform(0.0, 6.28))
    tilt = float(rng.uniform(0.0, 0.35)) if shape == "plane" else 0.0
    params: dict[str, Any] = {"estimate_normal": bool(rng.random() < 0.5)}
    case = replace(case, shape=shape, tilt=tilt, tilted_about=float(rng.uniform(0, 6.28)), slide=speed, params=params)
    case = replace(case, friction=float(rng.uniform(0.0, 1.0)), variant=f"{shape}, tilt {math.degrees(tilt):.2g}")
    events = (
        Event(BEGIN, "move", ({X: way * math.cos(angle), Y: way * math.sin(angle)}, speed)),
        Event(BEGIN + way / speed + 1.0, "move", ({X: -way * math.cos(angle), Y: -way * math.sin(angle)}, speed)),
    )
    return replace(case, events=events, seconds=events[-1].time + way / speed + AFTER)


def placement(case: Case, rng: np.random.Generator) -> Case:
    """Parameters, loads and descriptions that change while it presses."""
    case = replace(case, force=min(case.force, 20.0))
    kind = str(rng.choice(
        ["task_position", "task_position", "task_position normal", "task_orientation", "tool_position",
         "gains", "payload", "description"]
    ))  # fmt: skip
    at, size = BEGIN, float(rng.choice([0.01, 0.02, 0.05, 0.1, 0.2]))
    heading = float(rng.uniform(0.0, 6.28))
    value: Any
    if kind == "task_position":
        what, value = "place", ("task_position", (size * math.cos(heading), size * math.sin(heading), 0.0))
        kind += f" {1e3 * size:.0f} mm"
    elif kind == "task_position normal":
        size = float(rng.choice([0.005, 0.01, 0.02, 0.05])) * float(rng.choice([-1.0, 1.0]))
        what, value = "place", ("task_position", (0.0, 0.0, size))
        kind += f" {1e3 * size:.0f} mm"
    elif kind == "task_orientation":
        size = float(rng.uniform(0.05, 0.45))
        what, value = "place", ("task_orientation", (0.0, 0.0, size))
        kind += f" yaw {size:.2g}"
    elif kind == "tool_position":
        d = rng.standard_normal(3)
        d *= 0.03 / np.linalg.norm(d)
        what, value = "place", ("tool_position", tuple(float(x) for x in d))
    elif kind == "gains":
        what, value = "set", {"kp": (float(rng.uniform(200.0, 1500.0)),), "kd": (float(rng.uniform(40.0, 75.0)),)}
        value["ki"] = float(rng.uniform(1.0, 8.0))
    elif kind == "payload":
        what, value = "carry", float(rng.uniform(0.1, 0.5))
    else:
        what, value = "describe", float(rng.uniform(0.1, 0.5))
    events = [Event(at, what, value)]
    if kind == "description" and rng.random() < 0.5:
        events.append(Event(at + 1.0, "engage", True))
    return replace(case, variant=kind, events=tuple(events), seconds=at + 2.5)


def stretch(case: Case, rng: np.random.Generator) -> Case:
    """Sliding outwards until the arm is stretched, and towards a joint's limit."""
    speed = float(rng.uniform(0.05, 0.2))
    case = replace(case, params={"reach": 3.5, "approach_distance": 0.2}, friction=min(case.friction, 0.3))
    if rng.random() < 0.6:
        way = float(rng.uniform(0.5, 0.9))
        events = [Event(BEGIN, "outwards", (way, speed))]
        variant, seconds = "stretched arm", way / speed
    else:
        way, speed = float(rng.choice([-3.0, 3.0])), float(rng.uniform(0.3, 0.8))
        events = [Event(BEGIN, "move", ({2: way}, speed))]
        variant, seconds = "joint limit", abs(way) / speed
    return replace(
        case, variant=variant, slide=speed if variant == "stretched arm" else 0.0, events=tuple(events),
        seconds=BEGIN + seconds + AFTER,
    )  # fmt: skip


def wall(case: Case, rng: np.random.Generator) -> Case:
    """Sliding into a side wall."""
    speed, way = float(rng.uniform(0.01, 0.05)), float(rng.uniform(0.015, 0.03))
    case = replace(
        case,
        wall=way,
        wall_stiffness=float(10.0 ** rng.uniform(4.0, 6.0)),
        slide=speed,
        variant=f"{1e3 * speed:.2g} mm/s",
    )
    events = (Event(BEGIN, "move", ({X: way + 0.04}, speed)),)
    return replace(case, events=events, seconds=BEGIN + (way + 0.04) / speed + AFTER)


def edge(case: Case, rng: np.random.Generator) -> Case:
    """Sliding over the edge at which the surface ends."""
    force = float(rng.choice([10.0, 30.0, 48.0])) if case.arm != "kinova" else 10.0
    speed, way = float(rng.uniform(0.01, 0.06)), float(rng.uniform(0.01, 0.02))
    case = replace(
        case, force=force, edge=way, slide=speed, variant=f"{force:g} N", largest=50.0 if force < 40 else 70.0
    )
    events = (Event(BEGIN, "move", ({X: way + 0.03}, speed)),)
    return replace(case, events=events, seconds=BEGIN + (way + 0.03) / speed + AFTER)


def material(case: Case, rng: np.random.Generator) -> Case:
    """Contacts above 1e6 N/m, from soft to hard and back, and a surface that is told to lean while it is pressed."""
    kind = str(rng.choice(["rigid", "soft to hard", "hard to soft", "leaning"]))
    speed, way = float(rng.uniform(0.01, 0.05)), float(rng.uniform(0.03, 0.06))
    if kind in ("soft to hard", "hard to soft"):
        way += SEAM
    events = (
        Event(BEGIN, "move", ({X: way}, speed)), Event(BEGIN + way / speed + 1.0, "move", ({X: -way}, speed))
    )  # fmt: skip
    seconds = events[-1].time + way / speed + AFTER
    if kind == "rigid":
        stiffness, speed = float(10.0 ** rng.uniform(6.0, 7.0)), float(rng.uniform(0.001, 0.005))
        case = replace(case, stiffness=stiffness, approach=speed, variant=f"{kind}, {1e3 * speed:.2g} mm/s")
        return replace(case, events=events, seconds=seconds)
    if kind == "leaning":
        size, about = float(rng.uniform(0.02, 0.3)), float(rng.uniform(0.0, 6.28))
        lean = (size * math.cos(about), size * math.sin(about), 0.0)
        event = Event(BEGIN, "place", ("task_orientation", lean))
        return replace(case, variant=f"{kind} by {size:.2g} rad", events=(event,), seconds=BEGIN + 2.5)
    soft, hard = float(10.0 ** rng.uniform(3.0, 4.0)), float(10.0 ** rng.uniform(5.0, 6.0))
    first, then = (soft, hard) if kind == "soft to hard" else (hard, soft)
    # so hard that it does not sink in farther than 8 mm: what is harder is a hill then
    case = replace(case, stiffness=first, beyond=(0.3 * way, then), force=min(case.force, max(5.0, 8e-3 * soft)))
    return replace(case, variant=f"{kind}, {1e3 * speed:.2g} mm/s", slide=speed, events=events, seconds=seconds)


CLASSES: dict[str, Draw] = {
    "approach": approach, "force": force, "slide": slide, "placement": placement, "stretch": stretch, "wall": wall,
    "edge": edge, "angles": angles, "desired": desired, "bounce": bounce, "wrong": wrong,
    "material": material,
}  # fmt: skip
LETTERS = {"a": "approach", "b": "force", "c": "slide", "d": "placement", "e": "stretch", "f": "angles", "g": "desired",
           "h": "wall", "i": "edge", "j": "bounce", "k": "wrong", "l": "material"}  # fmt: skip


def case_of(name: str, seed: int, number: int) -> Case:
    """The same whenever it is asked for."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    case = CLASSES[name](Case(name, seed, number, **common(name, seed, number, rng)), rng)
    if rng.random() > LIGHT:
        return case
    light = replace(case.imperfect, rotors=0.0)  # as the description has the arm: a wrist weighs nothing
    return replace(case, variant=f"{case.variant}, light", imperfect=light)
