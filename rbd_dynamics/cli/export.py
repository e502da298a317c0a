# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics export`: a robot's kernels as a package in C, or with controllers around them for ros2_control."""

from __future__ import annotations

import argparse
import json
import sys

from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError

#: of the kernels in C alone, and of the package for ros2_control alone, with what they are without being given
_OF_KERNELS: dict[str, object] = {"kernels": None, "target": [], "single": False, "friction": False}
_OF_ROS2_CONTROL: dict[str, object] = {"tip": None, "rate": None}


def run_export(options: argparse.Namespace) -> int:
    from rbd_dynamics.export import export_c, export_ros2_control

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            print(line, file=sys.stderr)

    for name, without in (_OF_KERNELS if options.ros2_control else _OF_ROS2_CONTROL).items():
        if getattr(options, name) != without:
            verb = "does not go" if options.ros2_control else "goes"
            raise UsageError(f"--{name} {verb} with --ros2-control")
    model = load_and_warn(options)
    if options.ros2_control:
        files = export_ros2_control(
            model,
            options.output,
            name=options.name,
            tip=options.tip,
            rate=1000 if options.rate is None else options.rate,
            progress=tell,
        )
    else:
        files = export_c(
            model,
            options.output,
            kernels=options.kernels,
            name=options.name,
            friction=options.friction,
            single=options.single,
            targets=options.target,
            progress=tell,
        )
    if options.json:
        print(json.dumps({"folder": str(options.output), "files": files}, indent=2))
        return 0
    for name in files:
        print(options.output / name)
    return 0
