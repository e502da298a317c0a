# SPDX-License-Identifier: Apache-2.0
"""Flat arrays of named joints, sample after sample, as the services carry them, to and from robot order."""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Joint, Model
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.nodes.managed.messages import flat

Array = NDArray[np.float64]


class Layout:
    """Which numbers of a request belong to which of the robot's, for one list of joint names.

    Parameters:
        held: where the joints stand that are not named, (nq,) by the names of those that are, as the model has them.
            None: all have to be named.

    Raises ValueError for a name that is unknown, missing or repeated.
    """

    def __init__(
        self,
        model: Model,
        joint_names: Sequence[str],
        prefix: Prefix,
        held: Callable[[Sequence[str]], Array] | None = None,
    ) -> None:
        robot_names = [prefix.outside(name) for name in model.joint_names]
        self.names = list(joint_names) or robot_names
        counts, known = Counter(self.names), dict.fromkeys(robot_names)
        for name, count in counts.items():
            if name not in known:
                raise ValueError(
                    f"joint_names: the robot has no movable joint {name!r}; it has {', '.join(robot_names)}"
                )
            if count > 1:
                raise ValueError(f"joint_names: joint {name!r} is named twice")
        for name in robot_names:
            if name not in counts and held is None:
                raise ValueError(f"joint_names: joint {name!r} is missing")
        by_name = {prefix.outside(joint.name): joint for joint in model.joints}
        joints = [by_name[name] for name in self.names]
        self.q_columns = _columns(joints, lambda joint: (joint.q_index, joint.kind.nq))
        self.v_columns = _columns(joints, lambda joint: (joint.v_index, joint.kind.nv))
        self.nq, self.nv = len(self.q_columns), len(self.v_columns)
        named = len(joints) == len(model.joints)  # all of them: nothing is held, whatever kinds of joints there are
        self._held = model.neutral() if held is None or named else held([joint.name for joint in joints])
        self._still = np.zeros(model.nv)
        self.freedoms = [joint.kind.nv for joint in joints]

    def positions(self, flat: Sequence[float] | Array) -> Array:
        """(N, nq) in robot order; N follows from the length."""
        values = np.asarray(flat, dtype=float)
        if values.size == 0 or values.size % max(self.nq, 1):
            raise ValueError(
                f"positions has {values.size} numbers: expected {self.nq} for each sample ({', '.join(self.names)})"
            )
        q = np.tile(self._held, (values.size // self.nq, 1))
        q[:, self.q_columns] = values.reshape(-1, self.nq)
        return q

    def per_freedom(self, what: str, flat: Sequence[float], samples: int) -> Array:
        """(N, nv) in robot order of velocities, accelerations or efforts; empty: zero."""
        values = np.asarray(flat, dtype=float)
        if values.size == 0:
            return np.tile(self._still, (samples, 1))
        if values.size != samples * self.nv:
            raise ValueError(
                f"{what} has {values.size} numbers: expected {samples * self.nv}, "
                f"{self.nv} for each of {samples} samples as in positions"
            )
        result = np.tile(self._still, (samples, 1))
        result[:, self.v_columns] = values.reshape(samples, self.nv)
        return result

    def flags(self, what: str, flags: Sequence[bool]) -> NDArray[np.bool_]:
        """(nv,) in robot order of one flag for each joint, or for each degree of freedom."""
        given = np.asarray(flags, dtype=bool)
        if given.size == 0:
            return np.zeros(len(self._still), dtype=bool)
        if given.size == len(self.names):
            given = np.repeat(given, self.freedoms)
        if given.size != self.nv:
            raise ValueError(f"{what} has {given.size} flags: expected {len(self.names)}, one for each joint")
        result = np.zeros(len(self._still), dtype=bool)
        result[self.v_columns] = given
        return result

    def flat(self, per_freedom: Array) -> array.array[float]:
        """Velocities, accelerations or efforts (N, nv) in the order of the request."""
        return flat(per_freedom[..., self.v_columns])

    def flat_matrices(self, matrices: Array) -> array.array[float]:
        """Matrices (N, nv, nv), rows and columns in the order of the request."""
        return flat(matrices[:, self.v_columns[:, None], self.v_columns[None, :]])


class MovingRequest:
    """The state and the wrenches of a request.

    q (N, nq), v (N, nv); f_ext: wrenches by frame, as `Robot` takes them.
    """

    def __init__(self, model: Model, prefix: Prefix, request: Any) -> None:
        self.layout, self.prefix = Layout(model, request.joint_names, prefix), prefix
        self.q = self.layout.positions(request.positions)
        self.v = self.per_freedom("velocities", request.velocities)
        self.f_ext = wrenches(getattr(request, "external_wrenches", ()), len(self.q), prefix, model) or {}

    def per_freedom(self, what: str, numbers: Sequence[float]) -> Array:
        """(N, nv) of a field."""
        return self.layout.per_freedom(what, numbers, len(self.q))


def wrenches(messages: Sequence[WrenchStamped], samples: int, prefix: Prefix, model: Model) -> dict[str, Array] | None:
    """External wrenches by frame, (6,) or (N, 6), torque first, of messages; one that could do nothing is refused."""
    fixed = {frame.name for frame in model.frames if frame.body == WORLD} if messages else set()
    found: dict[str, list[list[float]]] = {}
    for index, message in enumerate(messages):
        frame = prefix.inside(message.header.frame_id)
        if not frame:
            raise ValueError(f"external_wrenches: entry {index} names no frame in header.frame_id")
        torque, force = message.wrench.torque, message.wrench.force
        numbers = [torque.x, torque.y, torque.z, force.x, force.y, force.z]
        if not np.isfinite(numbers).all():
            raise ValueError(f"external_wrenches: the wrench at {frame!r} is not finite (entry {index})")
        if frame in fixed and any(numbers):
            raise ValueError(f"external_wrenches: a wrench at {frame!r} does nothing: it is fixed to the world")
        found.setdefault(frame, []).append(numbers)
    for frame, rows in found.items():
        if len(rows) not in (1, samples):
            raise ValueError(
                f"external_wrenches: {len(rows)} entries for frame {frame!r}: expected one, or one for each "
                f"of {samples} samples"
            )
    return {frame: np.array(rows[0] if len(rows) == 1 else rows) for frame, rows in found.items()} or None


def _columns(joints: Sequence[Joint], span: Callable[[Joint], tuple[int, int]]) -> NDArray[np.intp]:
    starts = [span(joint) for joint in joints]
    numbers = [np.arange(start, start + count, dtype=np.intp) for start, count in starts]
    return np.concatenate([np.zeros(0, dtype=np.intp), *numbers])
