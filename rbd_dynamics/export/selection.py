# SPDX-License-Identifier: Apache-2.0
"""Which kernels are exported, each as the program of one robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.compiler.program import Argument, Function, Program, Signature, trace
from rbd_dynamics.export.laws import FEEDFORWARD, LAWS
from rbd_dynamics.export.names import identifier
from rbd_dynamics.kernels.catalog import CATALOG, STEPS
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform, wrench_to_parent

#: steps and directional derivatives are parts of this package's own loops
KERNELS = (*(name for name in CATALOG if name not in STEPS and not name.endswith("_along")), FEEDFORWARD)
#: with what this package's own controllers are made of, in double precision
OF_CONTROLLERS = tuple(dict.fromkeys((*KERNELS, *LAWS)))
#: without a choice: what a controller needs
USUAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity", FEEDFORWARD)
#: what the headers' own functions are made of
HELPERS = ("inertia_of_load", "wrench_on_body")


class Selected(NamedTuple):
    """A kernel that is exported; identifier: what it is called in C, after the robot's prefix."""

    name: str
    identifier: str
    signature: Signature
    function: Function
    program: Program


def selected(robot: Robot, names: Sequence[str], known: Sequence[str] = KERNELS) -> list[Selected]:
    """The kernels of these names, and what the header needs beside them. Raises ValueError, KeyError for a frame."""
    found: list[Selected] = []
    for name in dict.fromkeys(names):
        signature, function = _law(robot, name, known)
        found.append(Selected(name, identifier(name), signature, function, trace(function, signature)))
    by_identifier: dict[str, str] = {}
    for each in found:
        other = by_identifier.setdefault(each.identifier, each.name)
        if other != each.name:
            raise ValueError(f"kernels {other!r} and {each.name!r} would both be called {each.identifier} in C")
    helpers: list[tuple[str, Signature, Function]] = [("inertia_of_load", *_LOAD)]
    if any(argument.name == "f_ext" for each in found for argument in each.signature.inputs):
        helpers.append(("wrench_on_body", *_WRENCH))
    return [*found, *(Selected(name, name, made, function, trace(function, made)) for name, made, function in helpers)]


def _law(robot: Robot, name: str, known: Sequence[str]) -> tuple[Signature, Function]:
    base, _, frame = name.partition(":")
    plain = base if base in CATALOG or base in LAWS else base.removesuffix("_f_ext")
    if plain not in known or (plain != base and (plain in LAWS or not CATALOG[plain].wrenches)):
        raise ValueError(unknown("kernel", name, known))
    of = LAWS[plain].of if plain in LAWS else CATALOG[plain].of
    if of == "frame":
        if not frame:
            raise ValueError(f"kernel {name!r} is of a frame: {name}:FRAME")
        robot.model.frame(frame)
    elif frame:
        raise ValueError(f"kernel {base!r} is not of a frame: {base} without :{frame}")
    return LAWS[plain].kernel(robot, frame) if plain in LAWS else specialise(robot.model, name, friction=robot.friction)


def _inertia_of_load(mass: Sequence[float], com: Sequence[float], rotational: Sequence[float], place: Sequence[float]):  # type: ignore[no-untyped-def]
    load = RigidInertia.from_com(mass[0], tuple(com), tuple(rotational))  # type: ignore[arg-type]
    return [load.to_parent(_transform(place)).parameters]


def _wrench_on_body(wrench: Sequence[float], place: Sequence[float]):  # type: ignore[no-untyped-def]
    return [wrench_to_parent(_transform(place), tuple(wrench))]


def _transform(numbers: Sequence[float]) -> Transform:
    return Transform((tuple(numbers[:9]),), tuple(numbers[9:]))  # type: ignore[arg-type]


_PLACEMENT = Argument("placement", (12,), shared=True)
_LOAD = (
    Signature(
        (Argument("mass", (1,)), Argument("com", (3,)), Argument("rotational", (6,)), _PLACEMENT),
        (Argument("load", (10,)),),
    ),
    _inertia_of_load,
)
_WRENCH = (Signature((Argument("wrench", (6,)), _PLACEMENT), (Argument("on_body", (6,)),)), _wrench_on_body)
