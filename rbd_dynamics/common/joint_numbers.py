# SPDX-License-Identifier: Apache-2.0
"""One number for each joint by its name, as users and files give offsets and scales of efforts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.safe_yaml import SMALL, read_file

Array = NDArray[np.float64]

OFFSETS = ("effort_offsets", "offsets")  # under which a file has them, if not at its top


def by_joint(what: str, value: float | Mapping[str, float], joints: Sequence[str], default: float) -> Array:
    """One number for all, or that of each joint that is named, else the default. Raises ValueError."""
    if not isinstance(value, Mapping):
        return np.full(len(joints), float(value))
    for name in value:
        if name not in joints:
            raise ValueError(f"{what}: {unknown('joint', name, list(joints))}")
    return np.array([float(value.get(name, default)) for name in joints])


def check_scale(what: str, value: Any) -> None:
    """Raises ValueError where it is no scale, nor {joint: scale}: finite and not zero; negative turns the sign."""
    for name, number in entries(what, value):
        if not is_finite(number) or number == 0.0:
            raise ValueError(f"{what}{name} must be a finite number other than zero, got {excerpt(number)}")


def check_offsets(what: str, value: Any, unit: str = "N m or N") -> None:
    """Raises ValueError where it is not {joint: number}. unit: for the reason."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be {{joint: {unit}}}, got {excerpt(value)}")
    for name, number in entries(what, value):
        if not is_finite(number):
            raise ValueError(f"{what}{name} must be a finite number, got {excerpt(number)}")


def numbers_by_joint(path: str | os.PathLike[str], keys: Sequence[str]) -> dict[str, Any]:
    """{joint: number} of a YAML file, at its top or under one of `keys`. Raises ValueError that names the file."""
    where = f"file {shortened(os.fsdecode(path), 200)}"
    content = read_file(path, where, SMALL)
    if isinstance(content, dict):
        content = next((content[key] for key in keys if key in content), content)
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{where}: expected {{joint: number}}, at its top or under {' or '.join(keys)}")
    return {str(name): number for name, number in content.items()}


def entries(what: str, value: Any) -> list[tuple[str, Any]]:
    """Pairs of words that name the joint in a message, and its number. Raises ValueError where a name is no text."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{what}: {excerpt(name)} is not the name of a joint")
        return [(f" of joint {excerpt(name)}", number) for name, number in value.items()]
    return [("", value)]


def is_finite(value: Any) -> bool:
    """Whether a value out of a file is a number, and neither infinite nor NaN."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False
