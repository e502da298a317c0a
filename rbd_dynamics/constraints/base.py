# SPDX-License-Identifier: Apache-2.0
"""What every constraint kind offers: h(q), A(q) and Adot v, exactly (theory.md section 7).

To add a kind between two frames, derive from `PairConstraint` and write either

- `position`: h as a function of the relative pose T_ab, over generic scalars; or
- `velocity`: rows that are linear in the relative twist, for what has no h (rolling);

and `row_names`. A and Adot v follow from it by jets. Fields that are numbers belong into
`parameters` (`numbers` of a pair): kernels read them at run time, so that another value needs no
other kernel. What else a kind depends on needs no mention: sets whose rows are traced to the same
operations share their kernels, others do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.algorithms.relative_motion import Kinematics, moving_pose
from rbd_dynamics.constraints.placements import checked_placement
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.spatial.jets import rate_of, second_rate_of
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.se3 import IDENTITY, Transform, Vec6, wrench_to_parent

#: the frame that is fixed to the world at its origin
WORLD_FRAME = "world"

UNITS: tuple[Vec6, ...] = tuple(tuple(float(i == k) for i in range(6)) for k in range(6))


class Constraint(ABC):
    """A named group of rows."""

    #: the kind's name in files
    kind: ClassVar[str]
    known: ClassVar[dict[str, type[Constraint]]] = {}
    name: str

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Constraint.known[cls.kind] = cls

    @property
    @abstractmethod
    def row_names(self) -> tuple[str, ...]:
        """What each row holds, as in ("rx", "z")."""

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Which rows are the rate of an h(q)."""
        return (True,) * len(self.row_names)

    @property
    def parameters(self) -> tuple[float, ...]:
        """Numbers that kernels read at run time."""
        return ()

    @abstractmethod
    def rows(self, kinematics: Kinematics, parameters: Iterator[Scalar]) -> Rows:
        """h, A and Adot v. Takes as many numbers from `parameters` as the constraint has.

        Raises KeyError for a frame or joint that the model does not have, ValueError for an unsuitable one.
        """


@dataclass(frozen=True)
class PairConstraint(Constraint):
    """A constraint between two frames of the robot, or a frame and the world.

    Parameters:
        name: of the constraint, for messages and results.
        frame: b, the frame that is constrained (a link or joint name).
        reference: a, the frame in which it is; by default the world.
        placement: of the constrained frame in `frame`, when it is not that frame itself.
        reference_placement: of the reference frame in `reference`: of a task frame in the world, say.

    Placements are given as `Transform`, as position (3,) or as homogeneous matrix (4, 4); `placement()` makes one
    of xyz and rpy. Raises ValueError for what is none, as a matrix that does not rotate.
    """

    name: str
    frame: str
    reference: str = WORLD_FRAME
    _: KW_ONLY
    placement: Transform = IDENTITY
    reference_placement: Transform = IDENTITY

    def __post_init__(self) -> None:
        for key in ("frame", "reference"):
            if not isinstance(getattr(self, key), str):
                raise ValueError(f"constraint {self.name!r}: {key} {getattr(self, key)!r} is not a name")
        for key in ("placement", "reference_placement"):
            checked = checked_placement(getattr(self, key), f"constraint {self.name!r}: {key}")
            object.__setattr__(self, key, checked)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        """h(T_ab), for the rows that have one; they come first."""
        return []

    def velocity(self, pose: Transform, twist: Vec6, parameters: Sequence[Scalar]) -> list[Scalar]:
        """What else is zero, linear in the twist of b relative to a (body twist of b)."""
        return []

    @property
    def numbers(self) -> tuple[float, ...]:
        """The kind's own parameters."""
        return ()

    @property
    def parameters(self) -> tuple[float, ...]:
        placed = [t for t in (self.placement, self.reference_placement) if t != IDENTITY]
        return (*(x for t in placed for x in (*t.rotation, *t.p)), *self.numbers)

    def frames(self, model: Model, parameters: Iterator[Scalar]) -> tuple[Frame, Frame]:
        """b and a, placed. Takes the placements from `parameters`."""
        placed = []
        for name, placement in ((self.frame, self.placement), (self.reference, self.reference_placement)):
            frame = Frame(WORLD_FRAME, WORLD) if name == WORLD_FRAME else model.frame(name)
            if placement != IDENTITY:
                numbers = [next(parameters) for _ in range(12)]
                placement = Transform.of(tuple(numbers[:9]), (numbers[9], numbers[10], numbers[11]))
            placed.append(Frame(frame.name, frame.body, placement=frame.placement @ placement))
        return placed[0], placed[1]

    def rows(self, kinematics: Kinematics, parameters: Iterator[Scalar]) -> Rows:
        motion = kinematics.relative(*self.frames(kinematics.model, parameters))
        numbers = [next(parameters) for _ in self.numbers]
        h = self.position(motion.pose, numbers)
        moving = moving_pose(motion.pose, motion.twist)
        curvatures = [second_rate_of(value, _level(moving)) for value in self.position(moving, numbers)]
        curvatures += [rate_of(value, _level(moving)) for value in self.velocity(moving, motion.twist, numbers)]
        map_ = self.twist_rows(motion.pose, numbers)
        bias = [dot(row, motion.bias) + curvature for row, curvature in zip(map_, curvatures)]
        matrix = [[dot(row, column) for column in motion.columns] for row in map_]
        return Rows([*h, *[0.0] * (len(map_) - len(h))], matrix, bias)

    def twist_rows(self, pose: Transform, numbers: Sequence[Scalar]) -> list[list[Scalar]]:
        """E (rows, 6): the rows' rate is E V with V the twist of b relative to a; the wrench on b is E^T lambda."""
        columns = []
        for unit in UNITS:
            moving = moving_pose(pose, unit)
            first = [rate_of(value, _level(moving)) for value in self.position(moving, numbers)]
            columns.append([*first, *self.velocity(pose, unit, numbers)])
        return [list(row) for row in zip(*columns)]

    def wrench_rows(
        self, kinematics: Kinematics, parameters: Iterator[Scalar], *, sensor: Frame | None = None
    ) -> list[Vec6]:
        """E with its rows as wrenches (m, f) on b, in b's axes, or as `sensor`, fixed to b's body, reads them."""
        b, a = self.frames(kinematics.model, parameters)
        rows = self.twist_rows(kinematics.relative(b, a).pose, [next(parameters) for _ in self.numbers])
        from_sensor = IDENTITY if sensor is None else sensor.placement.inverse() @ b.placement
        return [wrench_to_parent(from_sensor, tuple(row)) for row in rows]


def _level(pose: Transform) -> int:
    return int(pose.p[0].level)
