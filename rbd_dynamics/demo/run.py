# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics demo` from the beginning to the end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.common.example_robots import PACKAGE, robots
from rbd_dynamics.common.extras import remedy
from rbd_dynamics.common.process.one_interrupt import one_interrupt
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.motion import ARM, SHORT_VIA_POINTS, VIA_POINTS, Motion, fastest, shares_of_limits
from rbd_dynamics.demo.processes import NodeDied, Processes, isolated_environment, missing_for_demo

if TYPE_CHECKING:
    from rbd_dynamics.demo.client import Client
    from rbd_dynamics.demo.planner import Check, Plan
    from rbd_dynamics.demo.pressing import Pressing
    from rbd_dynamics.demo.recording import Recording
    from rbd_dynamics.demo.tracking import Run

T = TypeVar("T")
ROS_REMEDY = "run `make setup` in the checkout, or source a ROS 2 installation"
NEEDED = (
    ("rclpy", ROS_REMEDY),
    ("rbd_dynamics_interfaces.srv", "run `make setup`, or build the workspace with colcon and source it"),
    ("sensor_msgs.msg", ROS_REMEDY),
    ("trajectory_msgs.msg", ROS_REMEDY),
    ("matplotlib", remedy("matplotlib")),
    ("rosbags.rosbag2", remedy("rosbags")),
)
SETTLE = 0.5  # s after a motion
SETTLES = (1.5, 6.0, 24.0)  # s before it, in each attempt: a controller must have read the motion by then
LEAST_ANSWERED = 0.8  # of the joint states, by an effort: less is another experiment
FILE_WIDTH = 120  # columns, where the output is no terminal


def run(folder: Path, short: bool = False) -> int:
    """The exit code: 0, 1 where something did not work, 2 where something is missing."""
    missing = missing_for_demo(NEEDED)
    if panda.DESCRIPTION not in robots():
        missing.append(f"the Panda's URDF ({PACKAGE}): pip install 'rbd_dynamics[robots]'")
    if missing:
        print("rbd_dynamics demo: missing\n  " + "\n  ".join(missing), file=sys.stderr)
        return 2
    from rbd_dynamics.demo.client import DemoError

    logs = folder / "log"
    logs.mkdir(parents=True, exist_ok=True)
    isolated_environment(logs)
    try:
        with one_interrupt():
            return Demo(folder, short).run()
    except (DemoError, NodeDied, ValueError) as error:
        print(f"rbd_dynamics demo: {error}\nlogs are in {logs}", file=sys.stderr)
        return 1


class Demo:
    """The steps in their order; each says what it does."""

    def __init__(self, folder: Path, short: bool) -> None:
        self._folder = folder
        self._short = short
        self._console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
        self._started = time.monotonic()
        self._description = panda.description()
        self._robot = Robot(load_urdf(self._description, locked=panda.LOCKED))

    def run(self) -> int:
        self._say_what_happens()
        motion = self._plan_motion()
        with Processes(self._folder / "log") as processes:
            from rbd_dynamics.demo.client import Client

            self._start(processes)
            with Client(processes) as client:
                client.publish_description(self._description)
                plan, checks = self._ask_planner(client, motion)
                runs = self._play(client, motion)
                self._write_bag(client)
            codes = processes.stop()
        pressing = self._press(codes)
        passed = self._report(runs, checks, codes)
        self._draw(runs, plan)
        self._write_summary(motion, runs, checks, pressing)
        self._say(f"\n[dim]{time.monotonic() - self._started:.0f} s; results in {self._folder}/[/]")
        self._say(f"[dim]and what the recording says: rbd_dynamics replay {self._folder / 'bag'} --output result[/]")
        return 0 if passed else 1

    # --- steps ------------------------------------------------------------------------------------

    def _say_what_happens(self) -> None:
        self._say("[bold]Franka Panda: a fast motion with PD alone, with gravity, with full feedforward[/]")
        self._say(
            "The simulated robot is not the one that the controller believes in: masses, centres of mass and inertias "
            f"are off by up to {panda.INERTIA_ERROR:.0%}, and the joints have the friction of a real Panda "
            f"({min(panda.JOINT_FRICTION):.2f} to {max(panda.JOINT_FRICTION):.2f} N m), of which the controller knows "
            "nothing. The gains are those of Franka's joint impedance example, the same in all runs. "
            f"Simulator and controller run in lockstep, {panda.FASTER:g} times as fast as a robot where the machine "
            "can: a busy one takes longer and shows the same.\n"
        )

    def _plan_motion(self) -> Motion:
        with self._step("motion through via points, as fast as the limits allow") as note:
            motion = fastest(self._robot, SHORT_VIA_POINTS if self._short else VIA_POINTS)
            shares = shares_of_limits(self._robot, motion)
            largest = ", ".join(f"{name} {share.max():.0%}" for name, share in shares.items())
            note(f"{motion.duration:.1f} s; of the limits: {largest}")
        return motion

    def _start(self, processes: Processes) -> None:
        with self._step("three nodes: simulator, feedforward, dynamics server") as note:
            commands = {"~/commands": "/simulator/commands"}
            processes.start("simulator", panda.simulator_parameters(), {})
            processes.start("feedforward", panda.feedforward_parameters(), commands)
            processes.start("dynamics_server", panda.server_parameters(), {})
            note(f"ROS_DOMAIN_ID {os.environ['ROS_DOMAIN_ID']}, this machine only")

    def _ask_planner(self, client: Client, motion: Motion) -> tuple[Plan, list[Check]]:
        from rbd_dynamics.demo.planner import SAMPLES, Planner

        with self._step("robot_description to all; kernels compile, or come from the cache"):
            client.wait_for_joint_states()
            planner = Planner(client, motion, self._robot)
            planner.wait()
            client.wait_for_active("feedforward")
        with self._step("planner: dynamics services") as note:
            plan = planner.run()
            note(f"{len(planner.checks)} comparisons over {SAMPLES} samples of the motion")
        return plan, planner.checks

    def _play(self, client: Client, motion: Motion) -> list[Run]:
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        client.record("/joint_states", JointState)
        client.record("/feedforward/effort", JointState)
        client.record("/feedforward/joint_trajectory", JointTrajectory)
        plays = (partial(self._play_once, client, motion, name, terms) for name, terms in panda.RUNS)
        return [self._patiently(play, client.recording) for play in plays]

    def _patiently(self, attempt: Callable[[float], T], recording: Recording) -> T:
        """A busy machine may plan a motion, or record it, too late: then once more, with more time before it.

        What was recorded of an attempt that failed is discarded.
        """
        for settle in SETTLES:
            mark = recording.mark()
            try:
                return attempt(settle)
            except ValueError as error:
                problem = error
                recording.discard(mark)
                self._say(f"[dim]once more: {problem}[/]")
        raise problem

    def _play_once(self, client: Client, motion: Motion, name: str, terms: tuple[str, ...], settle: float) -> Run:
        """Play once, from the start position, with the brakes on, to the end of the motion."""
        from rbd_dynamics.demo.client import PATIENCE
        from rbd_dynamics.demo.recording import JointSeries
        from rbd_dynamics.demo.tracking import run_of

        with self._step(name, spin=False) as note:
            client.deactivate("feedforward")
            client.set_parameters("feedforward", terms=list(terms))
            time.sleep(0.1)  # what is still under way must not release the brakes
            client.reset_simulator()
            client.activate("feedforward")
            active = client.now()
            # a trajectory is refused as long as there are no states to start from; efforts of before may still come
            client.wait_simulated(
                lambda: client.recording.stamp("/feedforward/effort") > active, "efforts of feedforward", PATIENCE
            )
            mark = client.recording.mark()
            start = client.now() + round(settle * 1e9)
            end = start + round(motion.duration * 1e9)
            client.play(motion, start)
            self._wait_with_bar(client, name, start, motion.duration + SETTLE)
            client.wait_simulated(
                lambda: client.recording.stamp("/feedforward/effort") >= end, "the last efforts", PATIENCE
            )
            states = JointSeries.of(client.recording.since(mark, "/joint_states"), ARM)
            efforts = JointSeries.of(client.recording.since(mark, "/feedforward/effort"), ARM)
            result = run_of(name, motion, start, states, efforts)
            rms = 1e3 * float(np.sqrt(np.mean(result.error**2)))
            note(f"error {rms:.1f} mrad RMS, {1e3 * result.largest.max():.1f} mrad at most")
        return result

    def _wait_with_bar(self, client: Client, name: str, start: int, seconds: float) -> None:
        """Until states of so many simulated seconds after `start` (ns) are recorded."""
        from rbd_dynamics.demo.client import PATIENCE

        columns = (TextColumn("  {task.description}"), BarColumn(), TextColumn("{task.completed:.0f} s"))
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bar:
            task = bar.add_task(name, total=seconds)
            client.wait_simulated(
                lambda: self._show_time(bar, task, client.recording.stamp("/joint_states") - start) >= seconds,
                f"the end of {name}",
                PATIENCE + seconds,
            )

    @staticmethod
    def _show_time(bar: Progress, task: TaskID, elapsed: int) -> float:
        bar.update(task, completed=1e-9 * elapsed)
        return 1e-9 * elapsed

    def _press(self, codes: dict[str, int]) -> Pressing:
        """The second part: on a table, with nodes of its own, whose exit codes are added."""
        from rbd_dynamics.demo import pressing
        from rbd_dynamics.demo.client import Client
        from rbd_dynamics.demo.plots import plot_pressing

        logs = self._folder / "log" / "pressing"
        logs.mkdir(parents=True, exist_ok=True)
        with Processes(logs) as processes:
            with self._step("two nodes: simulator with a table, hybrid_controller"):
                pressing.start(processes, self._robot, logs)
            with Client(processes) as client:
                client.publish_description(self._description)
                with self._step(f"press with {pressing.FORCE:g} N, draw a circle") as note:
                    pressing.press(client)
                    result = self._patiently(partial(pressing.draw_circle, client), client.recording)
                    note(str(result))
                self._write_bag(client, "pressing_bag")
            for name, code in processes.stop().items():
                codes[f"{name} (pressing)"] = code
        plot_pressing(*result, pressing.FORCE, self._folder / "pressing.png")
        return result

    def _write_bag(self, client: Client, name: str = "bag") -> None:
        from rbd_dynamics.demo.recording import write_bag

        with self._step("rosbag2 of all runs") as note:
            write_bag(client.recording, self._folder / name, os.environ.get("ROS_DISTRO", "jazzy"))
            note(f"{sum(map(len, client.recording.messages.values()))} messages in {self._folder / name}")

    # --- results ----------------------------------------------------------------------------------

    def _report(self, runs: list[Run], checks: list[Check], codes: dict[str, int]) -> bool:
        self._say("")
        self._console.print(_check_table(checks))
        self._console.print(_tracking_table(runs))
        problems = [f"service answers do not fit together: {check.what}" for check in checks if not check.passed]
        _, gravity, full = runs
        ratio = float(np.sqrt(np.mean(gravity.error**2) / np.mean(full.error**2)))
        if ratio <= 1.0:
            problems.append("tracking with feedforward is not better than with PD and gravity")
        for run in runs:
            if run.answered < LEAST_ANSWERED:
                problems.append(f"{run.name}: only {run.answered:.0%} of the joint states were answered by an effort")
        problems += [f"node {name} did not end cleanly (exit code {code})" for name, code in codes.items() if code]
        for problem in problems:
            self._say(f"[bold red]failed[/]  {problem}")
        if not problems:
            self._say(f"[bold green]Feedforward: {ratio:.1f} times less error than PD with gravity.[/]")
        return not problems

    def _draw(self, runs: list[Run], plan: Plan) -> None:
        from rbd_dynamics.demo.plots import plot_torques, plot_tracking, plot_tracking_by_joint

        limits = np.array([joint.limits.effort for joint in self._robot.model.joints])
        plot_tracking(runs, self._robot, self._folder / "tracking_error.png")
        plot_tracking_by_joint(runs, self._folder / "tracking_error_by_joint.png")
        plot_torques(runs[-1], plan.times, plan.efforts, limits, self._folder / "torques.png")

    def _write_summary(self, motion: Motion, runs: list[Run], checks: list[Check], pressing: Pressing) -> None:
        from rbd_dynamics.demo.tracking import summary

        content = {
            "motion_s": round(motion.duration, 3),
            "inertia_error": panda.INERTIA_ERROR,
            "joint_friction": panda.JOINT_FRICTION,
            "kp": panda.KP,
            "kd": panda.KD,
            "runs": summary(runs),
            "pressing": pressing.summary(),
            "services": [{"what": c.what, "value": c.value, "limit": c.limit, "passed": c.passed} for c in checks],
        }
        (self._folder / "summary.json").write_text(json.dumps(content, indent=2) + "\n")

    # --- on the screen ----------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)

    @contextlib.contextmanager
    def _step(self, what: str, spin: bool = True) -> Iterator[Any]:
        """A line that moves while it runs, where there is a terminal, and one that stays when it is done."""
        notes: list[str] = []
        start = time.monotonic()
        with self._console.status(what) if spin else contextlib.nullcontext():
            yield notes.append
        seconds = f"[dim]{time.monotonic() - start:5.1f} s[/]"
        self._say(f"[green]✓[/] {seconds}  {what}" + (f": [bold]{notes[-1]}[/]" if notes else ""))


def _check_table(checks: list[Check]) -> Table:
    table = Table(title="Dynamics services, answers compared", title_justify="left", box=None, title_style="bold")
    for name in ("", "comparison", "off by", "allowed"):
        table.add_column(name, justify="right" if name in ("off by", "allowed") else "left")
    for check in checks:
        mark = "[green]✓[/]" if check.passed else "[bold red]✗[/]"
        table.add_row(mark, check.what, f"{check.value:.1e}", f"{check.limit:.0e}")
    return table


def _tracking_table(runs: list[Run]) -> Table:
    table = Table(
        title="\nTracking error, mrad: root mean square (largest)", title_justify="left", box=None, title_style="bold"
    )
    table.add_column("joint")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_column("gravity : feedforward", justify="right")
    for k, name in enumerate(ARM):
        cells = [f"{1e3 * run.rms[k]:7.2f} ({1e3 * run.largest[k]:6.2f})" for run in runs]
        table.add_row(name, *cells, f"{runs[1].rms[k] / runs[2].rms[k]:.1f}")
    total = [float(np.sqrt(np.mean(run.error**2))) for run in runs]
    cells = [f"{1e3 * rms:7.2f} ({1e3 * run.largest.max():6.2f})" for rms, run in zip(total, runs)]
    table.add_row("[bold]all", *(f"[bold]{cell}" for cell in cells), f"[bold]{total[1] / total[2]:.1f}")
    return table
