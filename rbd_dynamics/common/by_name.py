# SPDX-License-Identifier: Apache-2.0
"""Parts of a model by their names, in a form that notebooks can complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from rbd_dynamics.common.excerpt import close_names, excerpt, listed

T = TypeVar("T")


class ByName(Mapping[str, T], Generic[T]):
    """What has a name: `model.joint("elbow")` and `model.joint["elbow"]` are the same.

    IPython and Jupyter complete the names in the brackets. KeyError, with near names, for one that is none.
    others: {name of something that is not one of these: why}.
    """

    def __init__(self, what: str, found: Mapping[str, T], *, others: Mapping[str, str] | None = None) -> None:
        self._what = what
        self._found = dict(found)
        self._others = dict(others or {})

    def __call__(self, name: str) -> T:
        found = self._found.get(name) if isinstance(name, str) else None
        if found is None and isinstance(name, str) and name in self._others:
            raise KeyError(f"no {self._what} named {excerpt(name)} that moves by itself: {self._others[name]}")
        if found is None:
            raise KeyError(unknown(self._what, name, list(self._found)))
        return found

    def __getitem__(self, name: str) -> T:
        return self(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}s by name: {listed(list(self._found))}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._found)


def unknown(what: str, name: Any, known: Sequence[str]) -> str:
    """Message for an unknown name, as in: no joint named 'elbw'; did you mean 'elbow'?"""
    near = close_names(name, known)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {listed(known)}"
    return f"no {what} named {excerpt(name)}; {hint}"
