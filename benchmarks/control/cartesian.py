# SPDX-License-Identifier: Apache-2.0
"""A Panda under Cartesian impedance and operational-space control beside a plain J^T impedance, in MuJoCo.

    python -m benchmarks.control.cartesian

Free motion, a stiff and a soft wall, a peg in a hole 1 mm wider, and pushes at the tool and at the elbow. All have the
same stiffness, 1 kHz, and joint states as they are; the operational-space law has the stiffness per effective inertia.
"plain" is tau = J^T (K e - D V) + N with D = 2 sqrt(K), as the usual examples have it, and a posture in a kinematic
null space. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rigs.cartesian import GAINS, STIFFNESS, Run, below, circle
from rigs.cartesian_plant import FRAME, Around, Surroundings

Array = NDArray[np.float64]
CONTENDERS = ("impedance", "operational_space", "plain")
DEEP = 0.02  # m that a wall keeps the tool from where it is wanted
PUSH = 20.0  # N


class Figure(NamedTuple):
    """A row of the table: what, unit, the value of each contender."""

    what: str
    values: tuple[float, ...]
    digits: int = 2


def free(wrong: float = 0.0) -> Iterator[Figure]:
    """A circle of 0.1 m in 2 s, up to 0.6 m/s."""
    runs = [circle(Run(name, Surroundings(), wrong=wrong)) for name in CONTENDERS]
    with_error = f", inertias off by up to {100 * wrong:.0f} %" if wrong else ""
    yield Figure(f"circle{with_error}: largest error [mm]", tuple(1e3 * float(run.off.max()) for run in runs))
    if not wrong:
        yield Figure("the same: rotation [mrad]", tuple(1e3 * max(run.turned) for run in runs))


def wall(kind: Around) -> Iterator[Figure]:
    """Into it with 0.1 m/s, 20 mm deeper than it lets the tool."""
    runs = []
    for name in CONTENDERS:
        run = Run(name, Surroundings(kind, below(0.03)))
        run.go(0.0, 0.0, -0.03 - DEEP, 2.5)
        runs.append(run)
    pressed = [np.array(run.forces)[:, 2] for run in runs]
    yield Figure(f"{kind}: largest force [N]", tuple(float(f.max()) for f in pressed), 1)
    yield Figure(f"{kind}: at rest [N]", tuple(float(f[-300:].mean()) for f in pressed), 2)
    yield Figure(f"{kind}: times that contact was lost", tuple(bounces(f) for f in pressed), 0)


def bounces(force: Array) -> float:
    """How often contact was lost after the first touch."""
    touched = force > 0.0
    return float(np.sum(touched[:-1] & ~touched[1:]))


def hole(off: float = 4e-4, tilt: float = 0.02) -> Iterator[Figure]:
    """The peg goes 25 mm into the hole; where it is wanted is off to the side, and tilted."""
    runs = []
    soft = replace(GAINS, stiffness=(STIFFNESS / 2, STIFFNESS / 2, STIFFNESS))
    for name in CONTENDERS:
        run = Run(name, Surroundings("hole", below(0.01)), law_gains=soft)
        run.go(off, -off, -0.005, 0.8, tilt=tilt).go(off, -off, -0.035, 2.0, tilt=tilt)
        runs.append(run)
    yield Figure(
        "peg: depth reached of 25 [mm]", tuple(1e3 * float(r.begin[2, 3] - 0.01 - r.tips[-1][2]) for r in runs), 1
    )
    side = tuple(float(np.linalg.norm(np.array(run.forces)[:, :2], axis=1).max()) for run in runs)
    yield Figure("peg: largest force to the side [N]", side, 1)


def pushed(link: str, direction: tuple[float, float, float]) -> Iterator[Figure]:
    """With 20 N for a second, then left alone."""
    runs = []
    for name in CONTENDERS:
        run = Run(name, Surroundings()).run(0.2)
        run.plant.push(link, PUSH * np.array(direction))
        run.run(1.0)
        run.plant.push(link, np.zeros(3))
        runs.append(run.run(1.5))
    where = "tool" if link == FRAME else "elbow"
    yield Figure(f"pushed at the {where}: the tool gives [mm]", tuple(1e3 * float(r.off[1199]) for r in runs), 1)
    back = tuple(1e3 * float(r.off[1199 + 150 :].max()) for r in runs)
    yield Figure(f"pushed at the {where}: 0.15 s after, off by [mm]", back, 2)
    settled = tuple(settling(r.off[1200:]) for r in runs)
    yield Figure(f"pushed at the {where}: back within 1 mm after [s]", settled, 2)


def settling(off: Array) -> float:
    """When the last millimetre was reached for good, s."""
    away = np.flatnonzero(off > 1e-3)
    return 0.0 if not away.size else 1e-3 * float(away[-1] + 1)


SCENES: dict[str, Callable[[], Iterator[Figure]]] = {
    "free": free,
    "wrong": lambda: free(0.1),
    "stiff": lambda: wall("stiff wall"),
    "soft": lambda: wall("soft wall"),
    "hole": hole,
    "tool": lambda: pushed(FRAME, (0.0, 1.0, 0.0)),
    "elbow": lambda: pushed("panda_link4", (0.0, 1.0, 0.0)),
}


def main() -> None:
    print(f"| | {' | '.join(CONTENDERS)} |\n|---|{'---|' * len(CONTENDERS)}")
    for scene in SCENES.values():
        for figure in scene():
            print(
                f"| {figure.what} | {' | '.join(f'{value:.{figure.digits}f}' for value in figure.values)} |", flush=True
            )


if __name__ == "__main__":
    main()
