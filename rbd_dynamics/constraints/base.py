# SPDX-License-Identifier: Apache-2.0
"""What every constraint kind offers: h(q), A(q) and Adot v, exactly (theory.md section 7).

To add a kind, write one file with a frozen dataclass that has a name for files, `kind`, and `row_names`. Between
two frames, derive from `PairConstraint` and write either or both of

- `position`: h as a function of the relative pose T_ab, over generic scalars;
- `velocity`: rows that are linear in the relative twist, for what has no h (rolling). They come last.

A and Adot v follow from them by jets. Otherwise derive from `Constraint` and write `rows`, `holonomic` if not every
row is the rate of an h, and `renamed` if fields name frames or joints. `one_sided` says that the first row only pushes.

Fields that are numbers belong into `numbers` of a pair, `parameters` of others: kernels read them at run time, so that
another value needs no other kernel. What else a kind depends on needs no mention: sets whose rows are traced to the
same operations share their kernels, others do not.

Files are read by the fields' annotations: float, bool, str, tuples of float or of str, `Transform` (a placement) and
`Surface`, or any other family of kinds (`forms.value_of`); all else, and what else has to be checked, is for a
`__post_init__`, which calls the one it inherits. Fields without a default, or `required(default)`, files have to give.
Importing the file makes the kind known; a surface is added in the same way (`surfaces.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

from rbd_dynamics.algorithms.constrained_dynamics import Rows, squares
from rbd_dynamics.algorithms.relative_motion import Kinematics, moving_pose
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.compiler.trace import Graph
from rbd_dynamics.constraints.forms import value_of
from rbd_dynamics.constraints.placements import checked_placement
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.model.open_kinds import OpenKind, ValueOf
from rbd_dynamics.spatial.jets import rate_of, second_rate_of
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.se3 import IDENTITY, Transform, Vec6, wrench_to_parent

#: the frame that is fixed to the world at its origin
WORLD_FRAME = "world"

UNITS: tuple[Vec6, ...] = tuple(tuple(float(i == k) for i in range(6)) for k in range(6))


@dataclass(frozen=True)
class Constraint(OpenKind, ABC):
    """A named group of rows."""

    LABEL: ClassVar[str] = "kind"
    FAMILY: ClassVar[str] = "constraint"
    value_of: ClassVar[ValueOf] = staticmethod(value_of)
    #: the kind's name in files; a kind without one is of Python alone
    kind: ClassVar[str]
    #: whether its first row can only push, positive multipliers, and the robot may leave it
    one_sided: ClassVar[bool] = False

    name: str

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

    def renamed(self, rename: Callable[[str], str]) -> Constraint:
        """The constraint with `rename` applied to each frame and joint it names, as for a robot's prefix."""
        return self

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

    Placements are given as `Transform`, as position (3,), as homogeneous matrix (4, 4) or as dictionary of xyz and
    rpy or quaternion; `placement()` makes one of these. Raises ValueError for what is none, as a matrix that does
    not rotate.
    """

    frame: str
    reference: str = WORLD_FRAME
    _: KW_ONLY
    placement: Transform = IDENTITY
    reference_placement: Transform = IDENTITY

    def __post_init__(self) -> None:
        for key in ("frame", "reference"):
            if not isinstance(getattr(self, key), str):
                raise ValueError(f"constraint {excerpt(self.name)}: {key} {excerpt(getattr(self, key))} is not a name")
        for key in ("placement", "reference_placement"):
            checked = checked_placement(getattr(self, key), f"constraint {excerpt(self.name)}: {key}")
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
    def holonomic(self) -> tuple[bool, ...]:
        """The rows of `position` are the rate of an h(q), those of `velocity` are not."""
        graph = Graph()  # traced, not evaluated: no pose is special there
        pose = Transform.of(tuple(graph.inputs("R", 9)), (*graph.inputs("p", 3),))  # type: ignore[arg-type]
        count = len(self.position(pose, graph.inputs("numbers", len(self.numbers))))
        return (True,) * count + (False,) * (len(self.row_names) - count)

    @property
    def parameters(self) -> tuple[float, ...]:
        placed = [t for t in (self.placement, self.reference_placement) if t != IDENTITY]
        return (*(x for t in placed for x in (*t.rotation, *t.p)), *self.numbers)

    def renamed(self, rename: Callable[[str], str]) -> PairConstraint:
        return replace(self, frame=rename(self.frame), reference=rename(self.reference))

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
        terms = motion.terms * squares(map_)
        return Rows([*h, *[0.0] * (len(map_) - len(h))], matrix, bias, terms)

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
