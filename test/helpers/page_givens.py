# SPDX-License-Identifier: Apache-2.0
"""What the pages take for granted where they show commands: files, and the robot behind a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import rbd_dynamics as rbd
from helpers import pages
from helpers.models.arms import ARM
from helpers.models.robots import robot_file
from helpers.paths import ROOT
from helpers.recorded import every_form
from helpers.recorded.bags import write_ros2
from helpers.recorded.recordings import URDF as TWO_JOINTS
from helpers.recorded.tool_poses import of_tool
from helpers.terminal import Terminal

#: a simulated arm above the page's table, in real time as a robot, behind an effort controller
CELL = (
    "simulator --urdf panda.urdf --ros-args --params-file cell.yaml -p lockstep:=false -p publish_clock:=false"
    " -r '~/commands:={}' -r '~/wrench:=/wrench'"
)
Act = Callable[[Terminal], Any]


class Given(NamedTuple):
    """Of a page."""

    files: Callable[[Path], Any]
    before: Mapping[str, Act] = {}  # {what fits a command: what happens before it}
    expected: Mapping[str, str] = {}  # {what fits a command: what fits its answer}
    wide: bool = False
    needs_controller_manager: bool = False


def yaml_of(page: str, key: str) -> str:
    """The block of a page that has this key."""
    (text,) = [text for name, text in pages.fenced("yaml") if name == page and key in text]
    return text


def robots(**files: str) -> Callable[[Path], None]:
    """Descriptions of robots of example-robot-data, or the arm of the tests, by the names of their files."""

    def write(folder: Path) -> None:
        for name, robot in files.items():
            (folder / f"{name}.urdf").write_text(ARM if robot == "arm" else robot_file(robot).read_text())

    return write


def recordings(folder: Path) -> None:
    every_form.write_all(folder)


def pressing(folder: Path) -> None:
    for name, key in {"press": "hybrid_controller:", "cell": "simulator:", "table": "contacts:"}.items():
        (folder / f"{name}.yaml").write_text(yaml_of("hybrid_control.md", key))
    (folder / "tool.yaml").write_text(yaml_of("cartesian.md", "cartesian_controller:"))
    robots(panda="panda")(folder)


def monitored(folder: Path) -> None:
    robots(arm="arm")(folder)
    (folder / "monitor.yaml").write_text((ROOT / "config" / "monitor.yaml").read_text())


def tests_of_a_user(folder: Path) -> None:
    robots(robot="arm")(folder)
    test = "import rbd_dynamics as rbd\n\ndef test_mass():\n    assert rbd.load_urdf('robot.urdf').mass > 3.0\n"
    (folder / "test_mine.py").write_text(test)


def poses(terminal: Terminal) -> None:
    """Of a tool on the Panda's sensor."""
    robot = rbd.Robot(rbd.load_urdf(robot_file("panda"), locked={"panda_finger_joint1": 0.0}))
    turns = [(0, 0, 0), (1.2, 0, 0), (0, 1.2, 0), (-1.0, 0.5, 0.3)]
    content = of_tool(robot, "panda_hand_tcp", [(0, x, 0, -1.5, y, 1.5, z) for x, y, z in turns])
    (file,) = write_ros2(terminal.folder / "poses", content, "MCAP").glob("*.mcap")
    file.rename(terminal.folder / "poses.mcap")


def cell(commands: str) -> Act:
    """The simulated arm begins there, in place of what the page has started."""

    def act(terminal: Terminal) -> None:
        terminal.end()
        terminal.start(CELL.format(commands))

    return act


def receiving(node: str) -> Act:
    """The node has joint states and answers them."""
    return lambda terminal: terminal.run(f"rbd_dynamics echo /{node}/effort --count 1")


def pressed(terminal: Terminal) -> None:
    """The cell as docs/hybrid_control.md starts it."""
    terminal.end()
    for command in pages.COMMANDS:
        if command.page == "hybrid_control.md" and "--params-file" in command.words:
            terminal.do(command)
    receiving("hybrid_controller")(terminal)


def released(terminal: Terminal) -> None:
    """Held, at rest, and seen so by the sensor for a while."""
    terminal.run("rbd_dynamics call /hybrid_controller/engage '{data: false}'")
    terminal.run("rbd_dynamics echo /simulator/wrench --count 2000")


def franka(terminal: Terminal) -> None:
    """A Panda whose joints are called as those of the page's parameter file, behind an effort controller."""
    terminal.end()
    (terminal.folder / "my_robot.urdf").write_text(robot_file("panda").read_text().replace("panda_", "fr3_"))
    (terminal.folder / "my_robot.yaml").write_text(yaml_of("first_torques.md", "feedforward:"))
    terminal.start(
        "simulator --urdf my_robot.urdf --ros-args -p 'locked_joints:=[fr3_finger_joint1]'"
        " -p 'initial_joints:=[fr3_joint4]' -p 'initial_positions:=[-1.5]' -p 'gravity:=[0.0, 0.0, 0.0]'"
        " -r '~/commands:=/effort_controller/commands'"
    )


def motion(terminal: Terminal) -> None:
    terminal.run("rbd_dynamics excite my_robot.urdf -o motion.yaml")


def followed(terminal: Terminal) -> None:
    """The robot in simulation, as docs/first_torques.md starts it."""
    terminal.end()
    (terminal.folder / "my_robot.urdf").write_text((terminal.folder / "robot.urdf").read_text())
    for command in pages.COMMANDS:
        if command.page == "first_torques.md" and command.text.startswith(("rbd_dynamics gains", "simulator", "feedf")):
            terminal.do(command)


def moved(terminal: Terminal) -> None:
    """While it is recorded."""
    motion(terminal)
    terminal.run("rbd_dynamics play motion.yaml --topic /feedforward/joint_trajectory")
    terminal.end()


def managed(terminal: Terminal) -> None:
    """An arm behind a controller manager, held by a joint_trajectory_controller, and its description."""
    terminal.end()
    (terminal.folder / "robot.urdf").write_text(ARM)
    own_time = "    state_timeout: 0.0  # stamps are of the robot's own time, which a busy machine keeps behind\n"
    for name, more in {"feedforward": own_time, "trajectory_proxy": "", "hybrid": own_time}.items():
        text = (ROOT / f"examples/ros2_control/{name}.yaml").read_text()
        (terminal.folder / f"{name}.yaml").write_text(text + more)
    stand_ins = ROOT / "test" / "stand_ins"
    terminal.go_on(f"exec python {stand_ins}/robot_description.py robot.urdf", {"robot_state_publisher"})
    terminal.go_on(
        f"exec python {stand_ins}/controller_manager.py robot.urdf --ros-args -p 'joints:=[shoulder, elbow, slide]'"
        " -p active:=arm_controller",
        {"controller_manager"},
    )


GIVEN = {
    "README.md": Given(
        lambda folder: (recordings(folder), robots(robot="ur5_robot")(folder)),
        {"^rbd_dynamics play": followed}, {"^rbd_dynamics play": "at its end"}, wide=True,
    ),
    "cartesian.md": Given(
        pressing,
        {
            "cartesian_controller.launch": cell("/effort_controller/commands"),
            "ros2 run .*hybrid": cell("/effort_controller/commands"),
            "hand_over": receiving("hybrid_controller"),
        },
        {"hand_over": "success: true"}, wide=True,
    ),
    "excitation.md": Given(
        robots(robot="ur5_robot"), {"^rbd_dynamics play": followed}, {"^rbd_dynamics play": "at its end"}, wide=True
    ),
    "export.md": Given(
        robots(robot="ur5_robot"), expected={"cmake": "100% tests passed", r"^g\+\+": "right"}, wide=True
    ),
    "first_torques.md": Given(
        robots(my_robot="arm"), {"my_robot.yaml": franka}, {"^rbd_dynamics play": "at its end"}, wide=True
    ),
    "hybrid_control.md": Given(
        pressing,
        {
            "hybrid_controller.launch": cell("/hybrid_controller/commands"),
            "tare": receiving("hybrid_controller"),
            "^simulator": Terminal.end,
            "echo /hybrid_controller/task_state": lambda terminal: terminal.until(
                "rbd_dynamics echo /hybrid_controller/task_state --count 1", r"forces: \[(10\.0|9\.9)"
            ),
            "calibrate_sensor": released,
            "sensor-tool": poses,
        },
        wide=True,
    ),
    "identification.md": Given(recordings),
    "library.md": Given(robots(robot="ur5_robot"), wide=True),
    "model_format.md": Given(robots(robot="ur5_robot")),
    "monitor.md": Given(monitored),
    "nodes.md": Given(
        lambda folder: (pressing(folder), robots(robot="arm")(folder)),
        {"engage": pressed, "set /feedforward": followed, "@motion.yaml": motion}, wide=True,
    ),
    "replay.md": Given(recordings, {"^rbd_dynamics record": followed, "replay run --urdf": moved}, wide=True),
    "ros2_control.md": Given(
        lambda folder: None,
        {
            "feedforward.launch": managed,
            "rbd_dynamics switch": receiving("feedforward"),
            "hybrid_controller.launch": managed,
        },
        {"switch": "effort_controller"},
        wide=True,
        needs_controller_manager=True,
    ),
    "stability.md": Given(tests_of_a_user, expected={"pytest": "1 passed"}),
    "trajectories.md": Given(
        lambda folder: (folder / "robot.urdf").write_text(TWO_JOINTS), expected={"call": "success: true"}
    ),
    "tuning.md": Given(robots(my_robot="panda")),
}  # fmt: skip
