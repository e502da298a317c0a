# SPDX-License-Identifier: Apache-2.0
"""Values of fields out of what files have, by the fields' annotations; and checks of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints.placements import checked_placement
from rbd_dynamics.model.assembly import checked_number, checked_vector
from rbd_dynamics.model.open_kinds import OpenKind
from rbd_dynamics.spatial.se3 import Transform


def value_of(annotation: Any, value: Any, where: str) -> Any:
    """A number, flag, text, pose or surface, or a tuple of numbers or texts, as the annotation says.

    What is annotated otherwise stays as it is, for the kind's `__post_init__`. Raises ValueError that begins
    with `where`.
    """
    if isinstance(annotation, type) and issubclass(annotation, OpenKind):
        return value if isinstance(value, annotation) else annotation.from_dict(value, where=where)
    if get_origin(annotation) is tuple and set(get_args(annotation)) == {float}:  # of so many
        return checked_vector(_numbers(value, where), len(get_args(annotation)), where)
    return FORMS[annotation](value, where) if annotation in FORMS else value


def number(value: Any, where: str) -> float:
    """A finite number. Raises ValueError that begins with `where`."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{where}: {excerpt(value)} is not a number")
    return checked_number(value, where)


def check_positive(value: Any, what: str) -> None:
    """Raises ValueError that begins with `what` for what is no positive finite number."""
    if number(value, what) <= 0.0:
        raise ValueError(f"{what} {value} must be positive")


def _numbers(value: Any, where: str) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise ValueError(f"{where}: expected a list of numbers, got {excerpt(value)}")
    return tuple(number(entry, where) for entry in value)


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where}: expected true or false, got {excerpt(value)}")
    return value


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where}: expected a name, got {excerpt(value)}")
    return value


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{where}: expected a list of names, got {excerpt(value)}")
    return tuple(value)


def _placement(value: Any, where: str) -> Transform:
    """A file says what its numbers are: a position alone is written as xyz."""
    matrix = isinstance(value, (list, tuple)) and len(value) == 4
    if not matrix and not isinstance(value, (Mapping, Transform, np.ndarray)):
        raise ValueError(f"{where}: expected xyz and rpy or quaternion, got {excerpt(value)}")
    return checked_placement(value, where)


FORMS: dict[Any, Callable[[Any, str], Any]] = {
    float: number,
    bool: _flag,
    str: _name,
    Transform: _placement,
    tuple[float, ...]: _numbers,
    tuple[str, ...]: _names,
}
