# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics gains`: PD gains by joint, what they promise, and the parameter file of `feedforward`."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rbd_dynamics.cli.sources import load_and_warn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rbd_dynamics.control.pd_gains import JointGains
    from rbd_dynamics.control.safety.closed_loop import Timing
    from rbd_dynamics.model.model import Model

    Array = NDArray[np.float64]

USUAL = 10.0  # Hz: beyond, drives and links of most arms give way, which no gains here know of
FAR = 0.05  # rad or m
LITTLE = 0.02  # kg m^2 at a revolute joint: less than that of most geared motors' rotors


def run_gains(options: argparse.Namespace) -> int:
    from rbd_dynamics.control.safety.closed_loop import Timing

    period = 1.0 / options.rate
    # a command acts with the next cycle of what takes it
    timing = Timing(period, period + options.delay, 0.5 / (math.pi * options.lag) if options.lag else 0.0)
    if options.output is not None:
        from rbd_dynamics.common.whole_files import check_file, write_whole

        check_file(options.output)
    model = _with_armatures(load_and_warn(options), options.armature)
    law, found = _best(model, timing, options)
    if options.json:
        print(json.dumps({"law": law, **_plain(found)}, indent=2))
    else:
        _print(model, found, timing, law)
    if options.output is not None:
        write_whole(options.output, _parameters(model, found, timing, law, options))
        print(options.output, file=sys.stderr if options.json else sys.stdout)
    return 0


def _best(model: Model, timing: Timing, options: argparse.Namespace) -> tuple[str, JointGains]:
    """The law that was asked for, or whose slowest motion is faster, and its gains. ValueError: none is stable."""
    from rbd_dynamics.control.feedforward import LAWS
    from rbd_dynamics.control.pd_gains import gains_of_faster_law
    from rbd_dynamics.robot import Robot

    return gains_of_faster_law(
        Robot(model, backend="reference"),
        timing,
        most=USUAL,
        laws=[options.law] if options.law else LAWS,
        bandwidth=options.bandwidth,
        damping_ratio=options.damping_ratio,
    )


def _friction(model: Model, found: JointGains) -> Array:
    """How far the description's Coulomb friction moves each joint off (n), rad or m."""
    import numpy as np

    return np.array([model.joint(name).friction for name in found.joints]) / found.stiffness


def _with_armatures(model: Model, given: list[tuple[str, float]]) -> Model:
    """The model with these rotor inertias, of the joints named or of all. Raises UsageError, KeyError."""
    named = dict(given)
    everywhere = named.pop("", None)
    for name in named:
        model.joint(name)
    if not given:
        return model
    bodies = []
    for body in model.bodies:
        armature = named.get(body.joint.name, everywhere)
        if armature is not None:
            body = replace(body, joint=replace(body.joint, armature=armature))
        bodies.append(body)
    return replace(model, bodies=tuple(bodies))


def armature(text: str) -> tuple[str, float]:
    """NAME=VALUE, or VALUE for all joints, whose name is then empty."""
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is neither VALUE nor NAME=VALUE with a VALUE from 0 on")
    return name, number


def _plain(found: JointGains) -> dict[str, object]:
    rows = {name: getattr(found, name).tolist() for name in ("kp", "kd", "inertia", "stiffness")}
    return {"joints": list(found.joints), **rows, "bandwidth": found.bandwidth, "margin": found.margin}


def _print(model: Model, found: JointGains, timing: Timing, law: str) -> None:
    from rich.markup import escape

    from rbd_dynamics.common.console import output_console, print_table
    from rbd_dynamics.control.pd_gains import named
    from rbd_dynamics.model.joints import Prismatic

    console = output_console()
    console.print(f"[bold]{escape(model.name)}[/]: gains of law {law}; {named(timing)}", soft_wrap=True)
    rows, light = [], []
    for k, name in enumerate(found.joints):
        joint = model.joint(name)
        slides = isinstance(joint.kind, Prismatic)
        weight = f"{found.inertia[k]:.3g} {'kg' if slides else 'kg m²'}"
        off = f"{_length(1.0 / found.stiffness[k], slides=slides)} by 1 {'N' if slides else 'N m'}"
        rows.append((escape(name), weight, f"{found.kp[k]:.4g}", f"{found.kd[k]:.4g}", off))
        if not slides and not joint.armature and found.inertia[k] < LITTLE:
            light.append(f"{name} ({found.inertia[k]:.2g} kg m²)")
    print_table(console, ("joint", "inertia", "kp", "kd", "error"), rows)
    console.print(
        f"In every posture errors die out at {found.bandwidth:.2g} Hz or faster. kd could grow by {found.margin:.3g} "
        f"and kp by {found.margin**2:.3g} before one is unstable.",
        soft_wrap=True,
    )
    if found.bandwidth >= USUAL and found.margin > 2.0:
        console.print(
            f"Up to {found.bandwidth * found.margin / 2.0:.2g} Hz (--bandwidth) a margin of 2 is left, if drives "
            "and links are stiff enough.",
            soft_wrap=True,
        )
    moved = _friction(model, found)
    if moved.max() > FAR:
        worst = int(moved.argmax())
        console.print(
            f"The description's friction moves {escape(found.joints[worst])} off by "
            f"{_length(moved[worst], slides=isinstance(model.joint(found.joints[worst]).kind, Prismatic))}: `friction` "
            "among the terms takes that out, if the robot does not compensate it itself.",
            soft_wrap=True,
        )
    if light and law == "feedforward":
        console.print(
            f"The description has no rotor for {escape(', '.join(light))}: so light a joint bounds the gains of all. "
            "A geared motor weighs 0.01 to 1 kg m² at its joint: put armature into the description "
            "(docs/actuators.md), or try --armature.",
            soft_wrap=True,
        )


def _length(x: float, *, slides: bool) -> str:
    unit = "m" if slides else "rad"
    return f"{x:.3g} {unit}" if x >= 1.0 else f"{1e3 * x:.3g} m{unit}"


def _parameters(model: Model, found: JointGains, timing: Timing, law: str, options: argparse.Namespace) -> str:
    from rbd_dynamics.control.pd_gains import named
    from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION

    lines = [
        f"# PD gains of {model.name}, by `rbd_dynamics gains`: {named(timing)}.",
        f"# In every posture errors die out at {found.bandwidth:.2g} Hz or faster; "
        f"kd could grow by {found.margin:.3g} before one is unstable.",
    ]
    if options.armature:
        assumed = ", ".join(f"{name or 'all joints'} {value:g} kg m^2" for name, value in options.armature)
        lines.append(f"# Rotors were assumed ({assumed}): the node needs them in its description as well.")
    terms = TERMS if _friction(model, found).any() else WITHOUT_FRICTION
    return "\n".join([
        *lines,
        f"/**/{options.node}:",
        "  ros__parameters:",
        f"    joints: [{', '.join(found.joints)}]",
        f"    terms: [{', '.join(terms)}]  # leave out what the robot compensates itself",
        f"    law: {law}",
        f"    kp: {_row(found.kp)}",
        f"    kd: {_row(found.kd)}",
        f"    actuator_bandwidth: {float(f'{timing.bandwidth:.4g}')!r}",
        "",
    ])  # fmt: skip


def _row(values: Array) -> str:
    """Four digits of each, with a point: else YAML takes them for integers, or for text."""
    return f"[{', '.join(repr(float(f'{value:.4g}')) for value in values.tolist())}]"
