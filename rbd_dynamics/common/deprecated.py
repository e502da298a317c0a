# SPDX-License-Identifier: Apache-2.0
"""Methods that have become functions of higher rooms: the old name works for one release, and says what to write."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def successor(old: str, new: str) -> Callable[..., Any]:
    """The function of the package `rbd_dynamics` by the name `new`, with a DeprecationWarning to the caller's caller.

    It is found by its name: whoever had the method does not import the room that has the function.
    """
    warnings.warn(f"{old} is now rbd_dynamics.{new}; the old name will be removed", DeprecationWarning, stacklevel=3)
    found: Callable[..., Any] = getattr(import_module("rbd_dynamics"), new)
    return found
