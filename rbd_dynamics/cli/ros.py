# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics play` and `demo`, which need ROS 2."""

from __future__ import annotations

import argparse

from rbd_dynamics.cli.usage_error import UsageError


def run_play(options: argparse.Namespace) -> int:
    try:
        from rbd_dynamics.nodes.play import play
    except ImportError as error:
        raise UsageError(
            f"play needs ROS 2 (no module named {error.name!r}): source a ROS installation first"
        ) from error
    from rbd_dynamics.replay.console import working

    with working(f"waiting for a subscriber of {options.topic}"):
        found = play(options.file, options.topic, patience=options.patience)
    joints = f"{len(found.times)} points of {len(found.joint_names)} joints"
    print(f"sent to {options.topic}: {joints}, {found.times[-1]:g} s")
    print("whether it is followed is said by the node's log and in /diagnostics")
    return 0


def run_demo(options: argparse.Namespace) -> int:
    from rbd_dynamics.demo.run import run

    return run(options.output, short=options.short)
