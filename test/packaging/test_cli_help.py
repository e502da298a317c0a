# SPDX-License-Identifier: Apache-2.0
"""What commands and nodes say of themselves: examples that work, in a terminal of 80 columns."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from rbd_dynamics.cli.arguments import make_parser
from rbd_dynamics.cli.sources import xacro_arguments
from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.process.usage import help_text


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = make_parser()
    (sub,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return sub.choices


def examples_of(text: str) -> list[str]:
    """Lines after "Examples:" that call the command; comments and what stands after two spaces left out."""
    lines = re.sub(r" *\\\n *", " ", text.partition("Examples:")[2]).splitlines()
    called = [line.strip() for line in lines if line.strip().startswith(("rbd_dynamics", "ros2 run"))]
    return [re.split(r" {3,}| < ", line)[0] for line in called]


@pytest.mark.parametrize("name", commands())
def test_every_command_has_examples_that_it_understands(name):
    found = [line for line in examples_of(commands()[name].format_help()) if "--help" not in line]
    assert any(line.startswith(f"rbd_dynamics {name}") for line in found)
    for line in found:
        words = shlex.split(line)
        make_parser().parse_args(xacro_arguments(words[1:])[1])  # SystemExit where it does not


def test_the_examples_of_all_are_understood():
    found = [line for line in examples_of(make_parser().format_help()) if "COMMAND" not in line]
    assert len(found) >= 4
    for line in found:
        make_parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_fits_80_columns(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    parser = commands()[name] if name else make_parser()
    assert max(map(len, parser.format_help().splitlines())) <= 80


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda each: each.executable)
def test_every_node_has_examples_with_parameters_that_it_has(interface):
    text = help_text(interface)
    found = examples_of(text.replace("examples:", "Examples:"))
    assert found
    known = {parameter.name for parameter in interface.parameters}
    for line in found:
        words = shlex.split(line)
        assert words[:4] == ["ros2", "run", "rbd_dynamics", interface.executable]
        assert words[4] == "--ros-args"
        given = [after for before, after in zip(words, words[1:]) if before == "-p"]
        assert {word.partition(":=")[0] for word in given} <= known


@pytest.mark.parametrize("columns", [80, 66])
@pytest.mark.parametrize("interface", INTERFACES, ids=lambda each: each.executable)
def test_help_of_a_node_fits_the_terminal(interface, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = help_text(interface).splitlines()
    text = lines[: lines.index("examples:")] if interface.examples else lines
    assert max(map(len, text)) <= columns
    monkeypatch.setenv("COLUMNS", "1000")
    assert max(map(len, help_text(interface).splitlines())) <= 120, "longer lines are hard to read"


def test_a_bash_completes_after_the_line_that_help_shows(tmp_path):
    """A real one, told to complete as Readline tells it."""
    pytest.importorskip("argcomplete")
    bash, register = shutil.which("bash"), shutil.which("register-python-argcomplete")
    command = shutil.which("rbd_dynamics")
    if not (bash and register and command):
        pytest.skip("needs bash, and the commands on PATH")
    (line,) = re.findall(r"^ *(eval .*)$", make_parser().format_help(), re.M)
    assert line == 'eval "$(register-python-argcomplete rbd_dynamics)"'
    (tmp_path / "mine.urdf").write_text("<robot/>")
    script = f"""{line}
    answers() {{
        COMP_LINE="$1" COMP_POINT=${{#1}} COMP_TYPE=9
        read -ra COMP_WORDS <<< "$1"; COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        how=$(complete -p rbd_dynamics); how=${{how##*-F }}; COMPREPLY=()
        ${{how%% *}} rbd_dynamics "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"; echo "${{COMPREPLY[*]}}"
    }}
    answers "rbd_dynamics lay"; answers "rbd_dynamics layouts --name"; answers "rbd_dynamics info min"
    """
    done = subprocess.run([bash, "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert [line.split() for line in done.stdout.splitlines()] == [["layouts"], ["--namespace"], ["mine.urdf"]], done


def test_the_shell_can_complete_commands_and_robots(tmp_path):
    """As bash asks argcomplete: the answer comes on descriptor 8."""
    pytest.importorskip("argcomplete")
    (tmp_path / "robot of mine.urdf").write_text("<robot/>")

    def completions(line: str) -> set[str]:
        environment = {
            **os.environ, "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "answer"),
        }  # fmt: skip
        (tmp_path / "answer").write_text("")
        subprocess.run([sys.executable, "-m", "rbd_dynamics"], env=environment, cwd=tmp_path, timeout=120, check=True)
        return {word.strip() for word in (tmp_path / "answer").read_text().splitlines()}

    assert completions("rbd_dynamics do") == {"doctor"}
    assert "--strict" in completions("rbd_dynamics check --s")
    assert any(word.startswith("robot") for word in completions("rbd_dynamics info rob"))
