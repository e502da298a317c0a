# SPDX-License-Identifier: Apache-2.0
"""Methods that have become functions of higher rooms, and modules that have moved: the old name works until the
next major version, and says what to write."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def successor(old: str, new: str) -> Callable[..., Any]:
    """The function of the package `rbd_dynamics` by the name `new`, with a DeprecationWarning to the caller's caller.

    It is found by its name: whoever had the method does not import the room that has the function.
    """
    warnings.warn(
        f"{old} is now rbd_dynamics.{new}; the old name will be removed in 2.0", DeprecationWarning, stacklevel=3
    )
    found: Callable[..., Any] = getattr(import_module("rbd_dynamics"), new)
    return found


def moved(old: str, new: str) -> Callable[[str], Any]:
    """`__getattr__` of a module that is elsewhere now (PEP 562), with a DeprecationWarning where it is used."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warnings.warn(f"{old} is now {new}; the old name will be removed in 2.0", DeprecationWarning, stacklevel=2)
        return getattr(import_module(new), name)

    return get
