# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics play` and `demo`, which need ROS 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rbd_dynamics.cli.usage_error import UsageError


@contextmanager
def needs_ros(command: str) -> Iterator[None]:
    """Around what is imported. Raises UsageError."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("rbd_dynamics."):
            raise
        raise UsageError(
            f"{command} needs ROS 2 (no module named {error.name!r}): source a ROS installation first"
        ) from error


def run_play(options: argparse.Namespace) -> int:
    with needs_ros("play"):
        from rbd_dynamics.nodes.tools.play import NotFollowed, play
    from rbd_dynamics.common.console import working

    with working(f"reading {options.file}") as say:
        try:
            played = play(options.file, options.topic, patience=options.patience, wait=not options.no_wait, say=say)
        except NotFollowed as error:
            print(f"rbd_dynamics: {options.topic}: {error}", file=sys.stderr)
            return 1
    found = played.waypoints
    joints = f"{len(found.times)} points of {len(found.joint_names)} joints"
    print(f"sent to {options.topic}: {joints}, {found.times[-1]:g} s")
    print(played.end or "whether it is followed is said by the node's log and in /diagnostics")
    return 0


def run_demo(options: argparse.Namespace) -> int:
    from rbd_dynamics.demo.run import run

    return run(options.output, short=options.short)
