# SPDX-License-Identifier: Apache-2.0
"""What is told of a file that is written: names and an order of joints that are not the model's, limits left out."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence

from rbd_dynamics.common.excerpt import LONGEST, shortened
from rbd_dynamics.formats.writing import SHOWN, LinkNames
from rbd_dynamics.model.errors import ModelWarning
from rbd_dynamics.model.model import Joint, Model

LIMITS = ("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk")
_FOLDER = os.path.dirname(__file__)


def tell_of_names(
    model: Model, order: Sequence[int], links: LinkNames, file: str, *, joints: Mapping[str, str], fixed: bool = False
) -> None:
    """Warn of what a file calls otherwise than the model does, and of joints in another order.

    order: of the bodies in the file. joints: {name: what becomes of it}, of those that move. fixed: whether the names
    of fixed joints are in the file.
    """
    for name, told in joints.items():
        tell(f"joint {_short(name)} {told}")
    if list(order) != sorted(order):
        names = [model.bodies[k].joint.name for k in order]
        tell(f"joints are written depth first, in another order than the model's: {_listed(names)}")
    called = {body.name: name for body, name in zip(model.bodies, links.links) if name != body.name}
    if called:
        tell(f"link{_s(called)} {_listed(called)}: what moves is written as {_listed(called.values())}")
    moving = {body.joint.name for body in model.bodies}
    held = [frame.name for frame in model.frames if frame.element == "joint" and frame.name not in moving]
    lost = [] if fixed else [name for name in held if name not in links.taken]
    if lost:
        tell(f"joint{_s(lost)} {_listed(lost)}: {'are' if lost[1:] else 'is'} fixed, and without a name in {file}")


def tell_of_limits(joints: Iterable[Joint], kinds: Sequence[str], what: str, file: str) -> None:
    """Warn of the joints that have one of these limits, of which a file says nothing. what: "acceleration limits"."""
    names = [joint.name for joint in joints if any(math.isfinite(getattr(joint.limits, kind)) for kind in kinds)]
    tell_of_joints(names, f"{what} are left out", file)


def tell_of_joints(names: Sequence[str], what: str, file: str) -> None:
    """Warn of what a file cannot say of these joints, if there are any."""
    if names:
        tell(f"joint{_s(names)} {_listed(names)}: {what}, which {file} cannot say")


def tell_of_frames(names: Sequence[str], what: str, file: str) -> None:
    """Warn of frames that are left out, if there are any. what: they are, as in "fixed to the world"."""
    if names:
        tell(f"frame{_s(names)} {_listed(names)}: left out, {what}, which {file} cannot say")


def tell(what: str) -> None:
    """One warning, at the line that called the writer."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    warnings.warn(what, ModelWarning, stacklevel=level)


def _s(names: Collection[str]) -> str:
    return "s" if len(names) > 1 else ""


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - SHOWN
    return ", ".join(map(_short, found[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def _short(name: str) -> str:
    return repr(shortened(name, LONGEST))
