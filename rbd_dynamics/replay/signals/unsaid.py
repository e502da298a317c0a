# SPDX-License-Identifier: Apache-2.0
"""What a table leaves unsaid and only the robot can tell: which joint a number is, and whether angles are degrees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import listed
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.tables.interpretation import Interpretation

Array = NDArray[np.float64]

NUMBERED = re.compile(r"(.*?)(\d+)")
SLACK = 0.1  # rad, by which a position may be beyond a limit
TURN = 2.0 * np.pi  # rad: an angle that is wrapped, or counted from another zero or the other way, is beyond by less
OFTEN, SELDOM = 0.01, 1e-3  # of the samples
FREE = 2.0 * np.pi  # rad: a joint without limits is expected to turn so far to both sides


def numbered_joints(meaning: Interpretation | None, model: Model, log: Log) -> dict[str, str]:
    """{recorded name: joint} where all names of a table are one word with the numbers from 0 or 1 on; else {}.

    meaning: of a table; None: the recording is none. The numbers are the robot's joints in order, where it has as many;
    or the first ones, where these are a chain that carries all others, as an arm does a gripper. The log is told.
    """
    there = () if meaning is None else meaning.columns.joints
    if set(there) & set(model.joint_names):
        return {}
    matches = [NUMBERED.fullmatch(name) for name in there]
    numbers = sorted(int(match[2]) for match in matches if match is not None)
    words = {match[1] for match in matches if match is not None}
    count = len(there)
    if not count or len(numbers) < count or len(words) > 1 or numbers not in ([*range(count)], [*range(1, count + 1)]):
        return {}
    bodies = [k for k, body in enumerate(model.bodies) if body.joint.mimic is None]
    joints = [model.bodies[k].joint for k in bodies]
    usable = all(joint.kind.nq == joint.kind.nv == 1 for joint in joints[:count])
    if count > len(joints) or not usable or (count < len(joints) and not _chain(model, bodies, count)):
        return {}
    in_order = sorted(there, key=lambda name: int(re.findall(r"\d+$", name)[0]))
    found = {name: joint.name for name, joint in zip(in_order, joints)}
    rest = "" if count == len(joints) else "first "
    log.guess(
        f"columns are numbered, and are taken for the robot's {rest}joints in their order: "
        f"{listed([f'{name} is {joint}' for name, joint in found.items()])} (--joint-map overrides this)"
    )
    return found


def _chain(model: Model, bodies: Sequence[int], count: int) -> bool:
    """Whether the first `count` moving bodies follow each other, and all others hang on the last of them."""
    ancestors: list[set[int]] = []
    for body in model.bodies:
        ancestors.append({body.parent, *(ancestors[body.parent] if body.parent >= 0 else ())})
    first, rest = bodies[:count], bodies[count:]
    follow = all(before in ancestors[after] for before, after in zip(first, first[1:]))
    return follow and all(first[-1] in ancestors[k] for k in rest)


def angle_unit(
    meaning: Interpretation | None, positions: Array, limits: Array, turning: Sequence[bool], log: Log
) -> Literal["degrees"] | None:
    """Degrees, where a table does not say the unit of its angles and these would be no positions of the robot else.

    As `in_degrees`; the log is told.
    """
    if meaning is None or meaning.angles_said:
        return None
    why = in_degrees(positions, limits, turning)
    if why:
        log.guess(f"angles have no unit, and are taken for degrees: {why} (--angles overrides this)")
    return "degrees" if why else None


def in_degrees(positions: Array, limits: Array, turning: Sequence[bool]) -> str:
    """Why positions (N, joints) are degrees, in words; "" where they need not be.

    limits: (joints, 2), lowest and highest, rad; not finite where there is none. turning: joints that are angles.
    """
    worst, why = 0.0, ""
    for k in np.flatnonzero(turning):
        q = positions[np.isfinite(positions[:, k]), k]
        if not len(q):
            continue
        low, high = limits[k] if np.isfinite(limits[k]).all() else (-FREE, FREE)
        beyond = float(((q < low - TURN) | (q > high + TURN)).mean())
        small = np.deg2rad(q)
        if float(((small < low - SLACK) | (small > high + SLACK)).mean()) > SELDOM:
            return ""
        if beyond > worst:
            worst, why = beyond, f"there are {np.abs(q).max():.4g} where the robot has a range of {high - low:.3g} rad"
    return why if worst > OFTEN else ""
