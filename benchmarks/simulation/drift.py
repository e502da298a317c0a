# SPDX-License-Identifier: Apache-2.0
"""How far simulations drift from their constraints and their energy, by method and stabilisation.

    python -m benchmarks.simulation.drift [--plot FILE] [--long [METHOD ...]]

Three systems without friction: a spherical pendulum as a constrained particle, a closed five-bar linkage, and a body
that tumbles freely (which has no constraint). All at the same step. --long: a pendulum on a hinge and the spherical
one over a million steps, by these methods, by default by all; hours of one processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.pages.picture_style import COLORS, GREY, STYLE, new_figure
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, Sphere, SurfaceConstraint
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged, SimulationOptions

Array = NDArray[np.float64]

STEP, SECONDS, ALPHA = 2e-3, 5.0, 20.0
ADAPTIVE_STEP = 0.02  # s: between the samples of the adaptive method, which chooses its own inside
METHODS = (
    ("explicit_euler", "none", 0.0),
    ("explicit_euler", "none", ALPHA),
    ("explicit_euler", "projection", 0.0),
    ("semi_implicit_euler", "none", 0.0),
    ("semi_implicit_euler", "projection", 0.0),
    ("rk4", "none", 0.0),
    ("rk4", "none", ALPHA),
    ("rk4", "projection", 0.0),
    ("adaptive", "none", 0.0),
)

WITHIN = 0.1  # s: of each such stretch the picture shows the largest value
COLOR_OF = dict(zip(("explicit_euler", "semi_implicit_euler", "rk4", "adaptive"), (*COLORS, GREY)))
LINE_OF = {"none": "-", "Baumgarte": (0, (5, 2)), "projection": (0, (1, 1.2))}


class System(NamedTuple):
    """A model, where it starts, and its constraints."""

    model: rbd.Model
    q: Array
    v: Array
    constraints: Callable[[float], ConstraintSet | None]  # of Baumgarte's rate


def particle() -> System:
    """On a sphere of 1 m."""
    builder = rbd.ModelBuilder("particle")
    for k, (name, parent) in enumerate((("x", None), ("y", "x"), ("z", "y"))):
        axis = tuple(float(i == k) for i in range(3))
        builder.add_body(name, parent, Prismatic(axis), **({"mass": 1.0} if name == "z" else {}))
    model = builder.build()
    on = SurfaceConstraint("sphere", "z", surface=Sphere(1.0))
    return System(
        model,
        np.array([1.0, 0, 0]),
        np.array([0, 2.0, 0]),
        lambda alpha: ConstraintSet(model, [on], stabilization=alpha),
    )


def five_bar() -> System:
    """Two arms of two links of 0.4 m that are joined at their tips."""
    builder = rbd.ModelBuilder("five_bar", gravity=(0.0, -9.81, 0.0))
    rod = {"mass": 0.6, "com": (0.2, 0, 0), "inertia": 0.008 * np.eye(3)}
    for k, x in enumerate((-0.15, 0.15)):
        builder.add_body(f"upper{k}", None, Revolute((0, 0, 1)), placement=(x, 0, 0), **rod)
        builder.add_body(f"lower{k}", f"upper{k}", Revolute((0, 0, 1)), placement=(0.4, 0, 0), **rod)
        builder.add_frame(f"tip{k}", f"lower{k}", placement=(0.4, 0, 0))
    model = builder.build()
    tips = FrameConstraint("tips", "tip1", "tip0", directions=("x", "y"))
    start = np.array([2.4, -1.6, np.pi - 2.4, 1.6])
    q = rbd.Robot(model).project_configuration(start, [tips])
    return System(model, q, np.zeros(4), lambda alpha: ConstraintSet(model, [tips], stabilization=alpha))


def tumbling() -> System:
    """A free body that turns about its middle axis, which is unstable."""
    builder = rbd.ModelBuilder("tumbling", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", None, Floating(), mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    model = builder.build()
    return System(model, model.neutral(), np.array([0.02, 5.0, 0.02, 0.3, 0.0, 0.1]), lambda alpha: None)


def hinged() -> System:
    """1 kg at 0.5 m, from where it is level."""
    builder = rbd.ModelBuilder("hinged")
    builder.add_body("bob", None, Revolute((0, 1, 0)), mass=1.0, com=(0.5, 0, 0), inertia=0.02 * np.eye(3))
    return System(builder.build(), np.zeros(1), np.zeros(1), lambda alpha: None)


LONG = {"pendulum": hinged, "spherical pendulum": particle}
LONG_STEP, LONG_STEPS, LONG_SAMPLES = 1e-3, 1_000_000, 1000  # s; steps; parts after which energy is read
SYSTEMS = {"spherical pendulum": particle, "five-bar linkage": five_bar, "tumbling body": tumbling}


def drift(system: System, method: str, stabilization: str, alpha: float) -> tuple[Array, Array]:
    """Largest violation of the constraint (m), and change of energy relative to its scale, at each sample."""
    robot = rbd.Robot(system.model)
    step = ADAPTIVE_STEP if method == "adaptive" else STEP
    constraints = system.constraints(alpha)
    options = SimulationOptions(
        step=step, integrator=method, stabilization=stabilization, start_braked=False, friction=False
    )  # type: ignore[arg-type]
    simulation = Simulation(system.model, q=system.q, options=options, constraints=constraints)
    simulation.v = system.v.copy()
    off, energies = [], []
    for _ in range(round(SECONDS / step)):
        try:
            simulation.advance(1)
        except SimulationDiverged:
            off.append(np.inf)
            energies.append(np.inf)
            break
        q, v = simulation.q, simulation.v
        h = robot.constraint_rows(q, v, constraints).h if constraints is not None else np.zeros(1)
        off.append(float(np.abs(h).max()))
        energies.append(float(robot.kinetic_energy(q, v) + robot.potential_energy(q)))
    before = float(robot.kinetic_energy(system.q, system.v) + robot.potential_energy(system.q))
    scale = 9.81 * system.model.mass if system.model.gravity != (0.0, 0.0, 0.0) else before
    return np.array(off), (np.array(energies) - before) / scale


def long_drift(system: System, method: str) -> tuple[int, float, float]:
    """Steps done, and after them the largest violation (m) and change of energy, relative to m g x 1 m, ever seen."""
    robot, constraints = rbd.Robot(system.model), system.constraints(0.0)
    options = SimulationOptions(step=LONG_STEP, integrator=method, start_braked=False, friction=False)  # type: ignore[arg-type]
    simulation = Simulation(system.model, q=system.q, options=options, constraints=constraints)
    simulation.v = system.v.copy()

    def energy() -> float:
        return float(robot.kinetic_energy(simulation.q, simulation.v) + robot.potential_energy(simulation.q))

    before, off, gained = energy(), 0.0, 0.0
    for _ in range(LONG_SAMPLES):
        try:
            simulation.advance(LONG_STEPS // LONG_SAMPLES)
        except SimulationDiverged:
            return simulation.steps, np.inf, np.inf
        if constraints is not None:
            rows = robot.constraint_rows(simulation.q, simulation.v, constraints)
            off = max(off, float(np.abs(rows.h).max()))
        gained = max(gained, abs(energy() - before) / (9.81 * system.model.mass))
    return simulation.steps, off, gained


def print_long(methods: list[str]) -> None:
    print("| method | " + " | ".join(LONG) + ": energy | violation |\n|---|---|---|---|")
    for method in methods:
        (_, _, alone), (steps, off, held) = (long_drift(make(), method) for make in LONG.values())
        print(f"| {method} | {alone:.1e} | {held:.1e} | {off:.1e} m |" + f" {steps} steps" * (steps < LONG_STEPS))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation.drift", description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the energies there")
    parser.add_argument("--long", nargs="*", metavar="METHOD", help="a million steps by these methods, by default all")
    arguments = parser.parse_args()
    if arguments.long is not None:
        print_long(arguments.long or list(COLOR_OF))
        return
    print(f"{SECONDS:g} s, step {1e3 * STEP:g} ms; Baumgarte's rate {ALPHA:g} 1/s; energy over m g 1 m, or its start\n")
    print("| method | stabilisation | " + " | ".join(f"{name}: violation | energy" for name in list(SYSTEMS)[:2])
          + " | tumbling body: energy |\n|" + "---|" * 7)  # fmt: skip
    curves: dict[str, tuple[Array, Array]] = {}
    for method, stabilization, alpha in METHODS:
        cells = []
        for name, make in SYSTEMS.items():
            if name == "tumbling body" and (stabilization != "none" or alpha):
                cells.append("")
                continue
            off, energy = drift(make(), method, stabilization, alpha)
            if name != "tumbling body":
                cells.append(f"{off.max():.1e} m")
            cells.append(f"{np.abs(energy).max():.1e}")
            if name == "spherical pendulum":
                curves[f"{method}, {'Baumgarte' if alpha else stabilization}"] = off, energy
        how = "Baumgarte" if alpha else stabilization
        print(f"| {method} | {how} | " + " | ".join(cells) + " |", flush=True)
    if arguments.plot:
        draw(curves, arguments.plot)


def draw(curves: dict[str, tuple[Array, Array]], path: Path) -> None:
    """Violation and energy of the spherical pendulum over time."""
    from matplotlib import rc_context
    from matplotlib.lines import Line2D

    with rc_context(STYLE):
        figure = new_figure(6.6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        for name, (off, energy) in curves.items():
            method, how = name.split(", ")
            for axes, values in ((upper, off), (lower, np.abs(energy))):
                t, most = largest_within(values)
                axes.semilogy(t, np.maximum(most, 1e-16), lw=1.5, color=COLOR_OF[method], ls=LINE_OF[how])
        upper.set(title="distance from the sphere, m")
        lower.set(title="change of energy / (m g 1 m)", xlabel="time, s", xlim=(0.0, SECONDS))
        keys = [Line2D([], [], color=color, lw=1.5, label=name) for name, color in COLOR_OF.items()]
        keys += [Line2D([], [], color="black", ls=line, lw=1.5, label=name) for name, line in LINE_OF.items()]
        legend = figure.legend(
            handles=keys, loc="outside upper left", ncols=2, alignment="left", title=f"Largest within each {WITHIN:g} s"
        )
        legend.get_title().set_fontweight("bold")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    print(f"picture: {path}")


def largest_within(values: Array) -> tuple[Array, Array]:
    """Times, s, and the largest value in each stretch of WITHIN: they go up and down between rounding and more."""
    count = round(SECONDS / WITHIN)
    parts = np.array_split(values[1:], count)
    return WITHIN * (np.arange(count) + 0.5), np.array([part.max() for part in parts])


if __name__ == "__main__":
    main()
