# SPDX-License-Identifier: Apache-2.0
"""Every command of every page is run as it is printed, in the page's order, or a test that has it is named here.

What a page takes for granted is in GIVEN: its files, and the robot that it talks to. Files that the page shows are
taken from it. Its nodes are those that its commands start, in a terminal each; where there is no `ros2`, a stand-in
runs the launch files.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers import pages
from helpers.nodes.managed_arm import needs_controller_manager
from helpers.nodes.ros_nodes import needs_ros
from helpers.page_givens import GIVEN
from helpers.paths import ROOT
from helpers.terminal import Terminal, starts
from helpers.wide import wide

#: commands that are not run here: (page, what fits the command's text) -> the test that has it, or what it needs
NOT_HERE = {
    ("README.md", "make demo"): "demo/test_demo.py::test_demo_as_it_is_started_by_make",
    ("README.md", "make test"): "itself",
    ("README.md", r"^(cd|ln|\. |colcon|rosdep|pip) ?"): (
        "packaging/test_installing.py::test_one_link_in_src_shows_both_packages_to_colcon_and_rosdep"
    ),
    ("benchmarks.md", r"benchmarks\.|make coverage|campaigns\."): "half an hour and more",
    ("hybrid_control.md", r"campaigns\."): "closed_loop/test_pressing_campaign.py",
    ("export.md", "examples/cortex_m7"): "the emulators' compilers",
    ("export.md", "nvcc"): "export/test_export_cuda.py",
    ("replay.md", "s3://"): "storage elsewhere: replay/test_fleet_elsewhere.py",
    ("first_torques.md", "rbd_dynamics switch"): "nodes/commanding/test_node_controllers.py",
    ("model_format.md", "ur.urdf.xacro"): "formats/test_xacro_arguments.py",
    ("ros2_control.md", "controller_manager spawner"): "controllers that the stand-in has loaded",
    ("security.md", ""): "`ros2 security`",
}


def case(page: str) -> Any:
    commands = [command for command in pages.COMMANDS if command.page == page and not left_out(command)]
    marks = needs_ros if any(starts(command.words) for command in commands) else []
    marks = needs_controller_manager if GIVEN[page].needs_controller_manager else marks
    return pytest.param(page, commands, id=page, marks=[*marks, *([wide] if GIVEN[page].wide else [])])


def left_out(command: pages.Command) -> bool:
    return any(page == command.page and re.search(fits, command.text) for page, fits in NOT_HERE)


@pytest.mark.parametrize(("page", "commands"), map(case, GIVEN))
def test_commands_of_a_page_do_what_they_should(page, commands, tmp_path):
    given = GIVEN[page]
    given.files(tmp_path)
    with Terminal(tmp_path) as terminal:
        for command in commands:
            for fits, act in given.before.items():
                if re.search(fits, command.text):
                    act(terminal)
            said = terminal.do(command)
            for fits, answer in given.expected.items():
                if re.search(fits, command.text):
                    assert re.search(answer, said), f"$ {command.text}\n{said}"


def test_each_command_is_run_or_left_out_for_a_reason():
    assert {command.page for command in pages.COMMANDS if not left_out(command)} <= set(GIVEN)
    for page, fits in NOT_HERE:
        assert any(command.page == page and re.search(fits, command.text) for command in pages.COMMANDS), fits
    for reason in NOT_HERE.values():
        for file in re.findall(r"[\w/]+\.py", reason):
            assert (ROOT / "test" / file).is_file(), file
