# SPDX-License-Identifier: Apache-2.0
"""A dict that nobody can change: part of values that are hashed, and are keys."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict, all of whose ways to change it raise TypeError; `dict(it)` is a copy that can be changed."""

    def _refuse(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError("it cannot be changed: make another one")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)
