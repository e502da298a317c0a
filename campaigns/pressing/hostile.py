# SPDX-License-Identifier: Apache-2.0
"""Classes of runs in which something is wrong: what is wanted, what is measured, or what the controller knows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from campaigns.pressing.cases import AFTER, BEGIN, Case, Event, X, Y
from campaigns.pressing.plant import Imperfections

TURNING = 0.4  # rad/s, of the tool
LIGHT = ("kinova", (-1.451, 2.173, 5.123, 1.32, 4.706, -0.042))


def angles(case: Case, rng: np.random.Generator) -> Case:
    """The tool is turned about each axis, by what is usual and by what is absurd."""
    row = int(rng.integers(3))
    sign = float(rng.choice([-1.0, 1.0]))
    kind = str(rng.choice(["trajectory", "trajectory", "absurd trajectory", "tool_orientation", "task_orientation"]))
    angle = sign * float(rng.choice([4.0, 10.0]) if kind == "absurd trajectory" else rng.uniform(0.2, 1.0))
    params: dict[str, Any] = {"reach": float(rng.choice([0.5, 1.5, 20.0]))}
    change = [0.0, 0.0, 0.0]
    change[row] = angle
    if "trajectory" in kind:
        event = Event(BEGIN, "move", ({row: angle}, TURNING))
    else:
        event = Event(BEGIN, "place", (kind, tuple(change)))
    seconds = min(abs(angle) / TURNING, 8.0) if "trajectory" in kind else 1.0
    variant = f"{kind} r{'xyz'[row]} {angle:.2g}"
    return replace(case, variant=variant, events=(event,), params=params, seconds=BEGIN + seconds + AFTER)


def desired(case: Case, rng: np.random.Generator) -> Case:
    """Forces that are too large, negative, or no numbers, through each entry; a bound that sinks below the force."""
    size = float(rng.choice([1.1, 2.0, 20.0, -0.1, -1.0, math.nan, math.inf])) * case.largest
    kind = str(rng.choice(["parameter", "wrench", "wrench", "bound", "both", "wrong length"]))
    if kind == "parameter":
        event = Event(BEGIN, "set", {"desired_force": (size,)})
    elif kind == "wrench":
        event = Event(BEGIN, "press", size)
    elif kind == "bound":
        size = case.force * float(rng.uniform(0.2, 0.95))
        event = Event(BEGIN, "set", {"largest_force": size})
    elif kind == "both":  # the bound of this run stays
        event = Event(BEGIN, "set", {"desired_force": (size,), "force_rate": 1000.0})
    else:
        event = Event(BEGIN, "set", {"desired_force": (5.0, 5.0)})
    return replace(case, variant=f"{kind} {size:.3g} N", events=(event,), seconds=BEGIN + 3.0 + AFTER)


def bounce(case: Case, rng: np.random.Generator) -> Case:
    """Fast on what gives or not, slow on a light arm, and sensors that are noisy, drift, or read something else."""
    kind = str(rng.choice(["50 mm/s on 1e5", "200 mm/s on 1e4", "1 mm/s, light", "noise", "drift", "bias"]))
    case = replace(case, variant=kind, friction=0.0, seconds=1.5)
    if kind.startswith("50"):
        return replace(case, approach=0.05, height=0.02, stiffness=1e5)
    if kind.startswith("200"):
        return replace(case, approach=0.2, height=0.06, stiffness=1e4)
    if kind.startswith("1 mm"):
        light = replace(case, arm=LIGHT[0], q=LIGHT[1], force=min(case.force, 20.0))
        return replace(light, approach=0.001, height=0.002, largest=50.0)
    if kind == "noise":
        return replace(case, imperfect=Imperfections(force_noise=float(rng.uniform(0.5, 2.0))))
    if kind == "drift":
        return replace(case, imperfect=Imperfections(drift=float(rng.choice([-1.0, 1.0]))), seconds=5.0)
    bias = tuple(float(x) for x in rng.uniform(-8.0, 8.0, 3))
    return replace(case, imperfect=Imperfections(bias=bias))


def wrong(case: Case, rng: np.random.Generator) -> Case:
    """What the controller does not know, and what it is not told."""
    kinds = ("tool mass", "link masses", "joint friction", "no states", "no wrenches", "frozen sensor", "turned sensor",
             "moving surface", "preload", "reactivated", "disengaged")  # fmt: skip
    kind = kinds[int(rng.integers(len(kinds)))]
    case = replace(case, variant=kind, force=min(case.force, 25.0), seconds=BEGIN + 3.0)
    moving = (Event(BEGIN, "move", ({X: 0.03, Y: 0.03}, 0.03)),)
    span = (BEGIN + 0.5, BEGIN + 0.5 + float(rng.choice([0.02, 0.05, 0.1, 0.2])))
    if kind in ("tool mass", "link masses", "joint friction"):
        given = Imperfections(
            mass=0.5 if kind == "tool mass" else 0.0,
            links=0.1 if kind == "link masses" else 0.0,
            joint_friction=float(rng.uniform(0.01, 0.05)) if kind == "joint friction" else 0.0,
        )
        return replace(case, imperfect=given, events=moving, seconds=BEGIN + 1.5 + AFTER)
    if kind == "no states":
        return replace(case, variant=f"{kind} {1e3 * (span[1] - span[0]):.0f} ms", no_states=(span,), events=moving)
    if kind == "no wrenches":
        return replace(case, variant=f"{kind} {1e3 * (span[1] - span[0]):.0f} ms", no_wrenches=(span,), events=moving)
    if kind == "frozen sensor":
        step = Event(BEGIN + 0.7, "set", {"desired_force": (1.3 * case.force,)})
        return replace(case, frozen=BEGIN + 0.5, events=(*moving, step))
    if kind == "turned sensor":
        turn = [0.0, 0.0, 0.0]
        turn[int(rng.integers(3))] = float(rng.choice([math.pi / 2, math.pi]))
        return replace(case, imperfect=Imperfections(turned=(turn[0], turn[1], turn[2])))
    if kind == "moving surface":
        if rng.random() < 0.5:
            swing = (float(rng.uniform(0.002, 0.01)), float(rng.uniform(0.1, 1.0)))
            return replace(case, swing=swing, variant=f"{kind}, {1e3 * swing[0]:.2g} mm at {swing[1]:.2g} Hz")
        speed = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.002, 0.02))
        return replace(case, surface_speed=speed, variant=f"{kind}, {1e3 * speed:.2g} mm/s", seconds=BEGIN + 2.0)
    if kind == "preload":
        preload = float(rng.uniform(0.5, 0.8)) * case.force
        return replace(case, height=-preload / case.stiffness, params={"tare_on_engage": bool(rng.random() < 0.5)})
    what = Event(BEGIN, "reactivate", None) if kind == "reactivated" else Event(BEGIN, "engage", False)
    return replace(case, events=(what, Event(BEGIN + 1.0, "engage", True)), seconds=BEGIN + 4.0)
