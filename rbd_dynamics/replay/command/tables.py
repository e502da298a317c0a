# SPDX-License-Identifier: Apache-2.0
"""What the terminal shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from rbd_dynamics.common.console import output_console, print_table
from rbd_dynamics.replay.questions import QUESTIONS

if TYPE_CHECKING:
    from rich.console import Console

    from rbd_dynamics.replay.fleet.job import Result

#: what was not fitted, by what: {label: in summary.json}
PROOF = {
    "the description as it was": "before", "the best fit": "base", "corrected.urdf": "exported",
    "corrected.urdf and offsets.yaml": "with_offsets",
}  # fmt: skip


class _Screen:
    """The terminal, for answers."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str, style: str = "") -> None:
        self._console.print(f"[{style}]{escape(text)}[/]" if style else escape(text))

    def tabulate(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        print_table(self._console, heads, rows)


def show(result: Result) -> None:
    from rbd_dynamics.common.pages.page import beginning, number
    from rbd_dynamics.replay.report.page import headline

    summary, console = result.summary, output_console()
    screen, recording = _Screen(console), summary["recording"]
    console.print(
        f"[bold]{escape(summary['robot']['name'])}[/], {escape(str(recording['recording']))}: "
        f"{number(recording['duration'])} s, {recording['messages']} messages on {escape(recording['topic'])}"
    )
    for text in summary["warnings"]:
        rest = "" if beginning(text) == text else " (all of it in report.html, of --output)"
        screen.say(f"! {beginning(text)}{rest}", "yellow")
    screen.say(headline(summary))
    _show_joints(summary, screen)
    for question in QUESTIONS:
        if summary[question.name] is not None:
            question.tell(summary[question.name], screen)
    output = result.job.output
    if output is not None:
        if (proof := summary["export"]["validation"]) is not None:
            held = [[label, *(number(value) for value in proof[key])] for label, key in PROOF.items()]
            screen.tabulate(("RMSE on what was not fitted", *proof["joints"]), held)
        if isinstance(output, str):
            screen.say(output, "dim")
            return
        for file in sorted(output.iterdir()):
            if not file.name.startswith("."):
                screen.say(str(file), "dim")


def _show_joints(summary: dict[str, Any], screen: _Screen) -> None:
    """The table of joints, with the columns of questions that have some."""
    from rbd_dynamics.common.pages.page import number

    figures = ("rmse", "nrmse", "correlation", "bias", "worst")
    heads = ["joint", "RMSE", "NRMSE", "correlation", "bias", "worst", ""]
    rows = [[joint["name"], *(number(joint[key]) for key in figures), joint["unit"]] for joint in summary["joints"]]
    for question in QUESTIONS:
        more, cells = question.columns(summary[question.name])
        heads += more
        for row in rows:
            row += cells.get(row[0], [""] * len(more))
    screen.tabulate(heads, rows)


def show_fleet(content: dict[str, Any], results: Sequence[Result], output: Path | str | None) -> None:
    from rbd_dynamics.common.pages.page import number

    console = output_console()
    rows = []
    for name, robot in content["robots"].items():
        worst = max(robot["joints"], key=lambda joint: joint["nrmse"] or 0.0, default=None)
        last = ["", "", ""] if worst is None else [worst["name"], number(worst["rmse"]), number(worst["nrmse"])]
        rows.append([name, str(robot["recordings"]), number(robot["hours"]), *last])
    print_table(console, ("robot", "recordings", "hours", "worst joint", "RMSE", "NRMSE"), rows)
    for text in content["attention"]:
        console.print(f"[yellow]! {escape(text)}[/]")
    failed = [result for result in results if result.error]
    resumed = sum(result.resumed for result in results)
    told = [f"{len(results) - len(failed)} of {len(results)} recordings"]
    told += [f"{resumed} of them done before"] if resumed else []
    told += [f"in {output}: fleet.html, fleet.json, fleet.csv"] if output is not None else []
    console.print(escape(", ".join(told)))
