# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics compile`: a robot's kernels into the cache, ahead of time."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError
from rbd_dynamics.common.process.early_signals import leave_command

if TYPE_CHECKING:
    from rbd_dynamics.robot import Robot

#: what `Robot`'s methods and the nodes use most
USUAL = (
    "inverse_dynamics", "inverse_dynamics_f_ext", "forward_dynamics", "forward_dynamics_f_ext", "hybrid_dynamics",
    "hybrid_dynamics_f_ext", "mass_matrix", "bias", "gravity", "coriolis", "springs", "friction", "kinetic_energy",
    "potential_energy", "center_of_mass",
)  # fmt: skip
OF_A_FRAME = ("pose", "jacobian", "jacobian_dot")


def run_compile(options: argparse.Namespace) -> int:
    from rbd_dynamics.common.console import output_console, plain_table, progress_bar
    from rbd_dynamics.compiler import cache
    from rbd_dynamics.robot import Robot

    model = load_and_warn(options)
    if not cache.keeps():
        raise UsageError(f"kernels are not kept on this machine: {cache.ENVIRONMENT_VARIABLE} chooses a folder")
    robot = Robot(model, friction=options.friction)
    kernels = _wanted(options, robot)
    made: dict[str, float] = {}
    try:
        with progress_bar() as bar:
            task = bar.add_task("", total=float(len(kernels)))
            for name in kernels:
                bar.update(task, description=name)
                made[name] = _compiled(robot, name)
                bar.advance(task)
    except KeyboardInterrupt:
        leave_command()  # at once: no clean-up under the compiler's feet; what was compiled is kept
    folder = str(cache.folder())
    if options.json:
        entries = [{"name": name, "compiled": seconds > 0.0, "seconds": seconds} for name, seconds in made.items()]
        print(
            json.dumps({"robot": model.name, "backend": robot.backend, "cache": folder, "kernels": entries}, indent=2)
        )
        return 0
    console = output_console()
    table = plain_table("kernel", "s")
    for name, seconds in made.items():
        table.add_row(name, f"{seconds:.2f}" if seconds else "was there")
    console.print(table)
    new = [seconds for seconds in made.values() if seconds]
    console.print(f"{len(new)} of {len(made)} kernels compiled in {sum(new):.1f} s; cache: {folder}", markup=False)
    return 0


def _wanted(options: argparse.Namespace, robot: Robot) -> list[str]:
    """Names of kernels, each once. Raises KeyError for a frame that is none, ValueError for a kernel."""
    from rbd_dynamics.common.by_name import unknown
    from rbd_dynamics.kernels import CATALOG

    whole = [name for name, entry in CATALOG.items() if entry.of != "frame"]
    found = list(USUAL if options.kernels is None else options.kernels)
    if found == ["all"]:
        found = [*whole, *(f"{name}_f_ext" for name in whole if CATALOG[name].wrenches)]
    for name in found:
        base, _, frame = name.partition(":")
        plain = base.removesuffix("_f_ext")
        if base not in CATALOG and not (plain in CATALOG and CATALOG[plain].wrenches):
            raise ValueError(unknown("kernel", name, list(CATALOG)))
        if CATALOG[base if base in CATALOG else plain].of == "frame" and not frame:
            raise ValueError(f"kernel {name!r} is of a frame: {name}:FRAME")
        if frame:
            robot.model.frame(frame)
    for frame in options.frame:
        robot.model.frame(frame)
        found += [f"{name}:{frame}" for name in OF_A_FRAME]
    return list(dict.fromkeys(found))


def _compiled(robot: Robot, name: str) -> float:
    """Seconds; 0.0 where the cache had it."""
    from rbd_dynamics.compiler.cached_only import NotCached, cached_only

    try:
        with cached_only():
            robot.compile(name)
        return 0.0
    except NotCached:
        start = time.perf_counter()
        _in_a_thread(lambda: robot.compile(name, progress=lambda *_: None))
        return time.perf_counter() - start


def _in_a_thread(work: Callable[[], None]) -> None:
    """So that Ctrl-C ends the process at once: it would wait for the compiler, which cannot be interrupted."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if raised:
        raise raised[0]
