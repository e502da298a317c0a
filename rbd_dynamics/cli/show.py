# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics show`: the robot as a page."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rbd_dynamics.cli.sources import file_or_text, load_and_warn
from rbd_dynamics.cli.usage_error import UsageError

if TYPE_CHECKING:
    from rbd_dynamics.model.model import Model


def run_show(options: argparse.Namespace) -> int:
    from rbd_dynamics.common.console import working
    from rbd_dynamics.common.whole_files import check_file
    from rbd_dynamics.viewer import show

    if options.output is not None:
        check_file(options.output)
    for folder in options.meshes:
        if not folder.is_dir():
            raise UsageError(f"--meshes: there is no folder {folder}")
    if options.urdf == "-":  # which can be read only once
        options.urdf = file_or_text("-", options)
    model = load_and_warn(options)
    with working("drawing the robot"):
        page = show(
            model,
            q=_posture(model, options.position) if options.position else None,
            motion=options.motion,
            description=file_or_text(options.urdf, options),
            meshes=[folder.resolve() for folder in options.meshes],
            simulate=options.simulate,
        )
    for reason in page.scene.left_out:
        print(f"rbd_dynamics: warning: not drawn: {reason}", file=sys.stderr)
    if options.output is not None:
        page.save(options.output)
        print(options.output)
        return 0
    try:
        print(page.open())
    except RuntimeError as error:
        raise UsageError(str(error)) from None
    return 0


def _posture(model: Model, positions: list[tuple[str, float]]) -> list[float]:
    """Raises KeyError for a joint that is none, UsageError for one with several numbers."""
    q = model.start_position()
    for name, position in positions:
        joint = model.joint(name)
        if joint.kind.nq != 1:
            raise UsageError(f"--position: joint {name!r} has {joint.kind.nq} numbers, not one")
        q[joint.q_index] = position
    return [float(x) for x in q]
