# SPDX-License-Identifier: Apache-2.0
"""A Panda presses on a table and on a sphere while its tool follows a circle, with MuJoCo as the plant.

    python -m benchmarks.control.pressing [--plot FILE] [--contacts]

The controller of `rbd_dynamics.control.hybrid.controller` runs at 1 kHz on measured joint states and
contact force. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rigs.pressing import CASES, FORCE, PERIOD, RADIUS, Press, press

from rbd_dynamics.common.pages.picture_style import COLORS, STYLE, new_figure

DASHED = (0, (4, 3))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control.pressing", description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw path and force there")
    parser.add_argument(
        "--contacts", action="store_true", help="instead: arms, laws, contacts, actuators and sensors, all with all"
    )
    parser.add_argument("--most", type=int, metavar="N", help="with --contacts: only N of the 192")
    parser.add_argument("--seed", type=int, default=0, help="with --contacts: of their order")
    arguments = parser.parse_args()
    if arguments.contacts:
        from rigs.pressing_cell import ARMS, grid

        stiffnesses, lags, delays = (1e3, 1e4, 1e5, 1e6), (0.0, 100.0, 30.0), (0.001, 0.005)
        grid(list(ARMS), stiffnesses, lags, delays, seed=arguments.seed, most=arguments.most)
        return
    print(f"{FORCE:g} N, a circle of {1e3 * RADIUS:g} mm radius in {PERIOD:g} s, control at 1 kHz\n")
    print("| case | force error, mean | largest | tracking error, largest |")
    print("|---|---|---|---|")
    runs = {}
    for title, case in CASES.items():
        runs[title] = run = press(case)
        mean, largest = run.force_error
        print(
            f"| {title} | {100 * mean:.2f} % | {100 * largest:.2f} % | {1e3 * run.tracking_error:.3f} mm |", flush=True
        )
    if arguments.plot:
        draw(runs, arguments.plot)


def draw(runs: dict[str, Press], path: Path) -> None:
    """Path and force of two runs: with everything wrong, and over it as it should be."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = new_figure(5.4)
        upper, lower = figure.subplots(2, 1, height_ratios=(1.5, 1.0))
        chosen = {"table, noise, friction 0.2, inertias 10 % wrong": COLORS[0], "table": COLORS[2]}
        for title, color in chosen.items():
            run = runs[title]
            upper.plot(*(1e3 * run.path.T), color=color, linewidth=1.6, label=title)
            lower.plot(run.times, run.force, color=color, linewidth=0.8 if run is runs["table"] else 0.6)
        run = runs["table"]
        upper.plot(*(1e3 * run.wanted.T), color="black", linewidth=0.9, linestyle=DASHED, label="wanted")
        lower.plot(run.times, run.commanded, color="black", linewidth=0.9, linestyle=DASHED)
        upper.set(xlabel="x, mm", ylabel="y, mm", title="path of the tool", aspect="equal")
        lower.set(xlabel="time, s", title="normal force on the table, N", ylim=(0, 1.3 * FORCE))
        figure.legend(loc="outside upper left", ncols=1)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
