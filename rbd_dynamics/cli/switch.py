# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics switch`, which needs ROS 2 and controller_manager_msgs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rbd_dynamics.cli.command import add_command
from rbd_dynamics.cli.ros import needs_ros
from rbd_dynamics.cli.usage_error import UsageError

EXAMPLES = """\
Examples:
  rbd_dynamics switch --on effort_controller
  rbd_dynamics switch --on effort_controller --off arm_controller
  rbd_dynamics switch --on arm_controller --off effort_controller
"""


def add_switch(commands: Any) -> None:
    parser = add_command(
        commands,
        "switch",
        text="activate a controller of ros2_control once torques arrive there (needs ROS 2)",
        description="Activate and deactivate controllers in one cycle of the controller manager. A controller that "
        "forwards commands is activated once some arrive, so that the robot is never without torques. Exit code 1 "
        "where the manager refuses, with its reason.",
        examples=EXAMPLES,
    )
    parser.add_argument("--on", metavar="NAME", nargs="+", default=[], help="controllers to be activated")
    parser.add_argument("--off", metavar="NAME", nargs="+", default=[], help="controllers to be deactivated")
    parser.add_argument("--manager", metavar="NODE", default="/controller_manager", help="default: /controller_manager")
    parser.add_argument(
        "--patience", metavar="S", type=float, default=60.0,
        help="to wait for the manager, the controllers and torques; default: 60",
    )  # fmt: skip
    parser.set_defaults(run=run_switch)


def run_switch(options: argparse.Namespace) -> int:
    if not options.on and not options.off:
        raise UsageError("switch: give the controllers, as --on NAME and --off NAME")
    with needs_ros("switch"):
        from rbd_dynamics.nodes.tools.switch import NotSwitched, switch
    from rbd_dynamics.common.console import working

    manager = options.manager if options.manager.startswith("/") else f"/{options.manager}"
    with needs_ros("switch"), working("switching controllers") as say:
        try:
            said = switch(options.on, options.off, manager=manager, patience=options.patience, say=say)
        except NotSwitched as error:
            print(f"rbd_dynamics: {manager}: {error}", file=sys.stderr)
            return 1
    on, off = (f"{what}: {', '.join(names)}" for what, names in (("on", options.on), ("off", options.off)))
    print(f"{'; '.join(each for each in (on, off) if not each.endswith(': '))} ({said})")
    return 0
