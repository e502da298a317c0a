# SPDX-License-Identifier: Apache-2.0
"""What a function will compute, as a text: its values and those it closes over, and the code that it may run.

Two functions with the same description trace to the same program, as long as the code that runs is the same
(`participants` looks after that). Whatever cannot be described for certain raises `Indescribable`: then the
function is traced, and the program speaks for itself.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: their values are said by their text
_PLAIN = frozenset((bool, int, str, bytes, complex, type(None), type(Ellipsis), range, slice))


class Indescribable(Exception):
    """Something whose value cannot be told for certain."""


@dataclass
class Description:
    """Lines of values, and the classes and functions that were met."""

    lines: list[str] = field(default_factory=list)
    classes: dict[type[Any], None] = field(default_factory=dict)
    functions: dict[types.FunctionType, None] = field(default_factory=dict)
    _seen: dict[int, int] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # so that no address is used twice

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def add(self, value: Any) -> None:
        """Raises Indescribable."""
        kind = type(value)
        if kind is float:
            self.lines.append(value.hex())
        elif kind in _PLAIN:
            self.lines.append(f"{kind.__name__} {value!r}")
        elif (known := self._seen.setdefault(id(value), len(self._seen))) != len(self._kept):
            self.lines.append(f"as {known}")
        else:
            self._kept.append(value)
            self._add_object(value)

    def _add_object(self, value: Any) -> None:
        if isinstance(value, np.generic):
            self.lines.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise Indescribable(f"an array of {value.dtype}")
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            self.lines.append(f"array {value.dtype} {value.shape} {digest}")
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, types.MethodType):
            self._add("method", value.__func__, value.__self__)
        elif isinstance(value, functools.partial):
            self._add("partial", value.func, value.args, value.keywords)
        elif isinstance(value, types.BuiltinFunctionType | types.ModuleType):
            self.lines.append(f"{type(value).__name__} {getattr(value, '__module__', '')}.{value.__name__}")
        elif isinstance(value, enum.Enum):
            self._add(f"enum {value.name}", type(value))
        elif isinstance(value, Mapping) and isinstance(value, dict | types.MappingProxyType):
            self._add(f"{type(value).__qualname__} {len(value)}", *(x for item in value.items() for x in item))
        elif isinstance(value, tuple | list):
            self._add(f"{len(value)}", type(value), *value)
        elif isinstance(value, set | frozenset):
            self._add(f"{type(value).__name__} {sorted(map(repr, value))}", *sorted(value, key=repr))
        else:
            self._add_instance(value)

    def _add(self, what: str, *parts: Any) -> None:
        self.lines.append(f"{what}:")
        for part in parts:
            self.add(part)

    def _add_class(self, cls: type[Any]) -> None:
        self.lines.append(f"class {cls.__module__}.{cls.__qualname__}")
        if cls.__flags__ & 1 << 9 and not is_library(cls.__module__):  # made by a class statement
            self.classes.setdefault(cls)
            for base in cls.__bases__:
                self.add(base)

    def _add_function(self, function: types.FunctionType) -> None:
        """Its code is looked at by `participants`."""
        self.lines.append(f"function {function.__module__}.{function.__qualname__}")
        if not is_library(function.__module__):
            self.functions.setdefault(function)
            self.add_contents(function)

    def add_contents(self, function: types.FunctionType) -> None:
        """A function's defaults and what it closes over."""
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self.lines.append(f"cell {name}")
            try:
                content = cell.cell_contents
            except ValueError:
                self.lines.append("empty")
            else:
                self.add(content)

    def _add_instance(self, value: Any) -> None:
        """An object of a class written in Python, all of whose state is in its dictionary.

        A class names in `NOT_COMPUTED_WITH` what of it no algorithm reads.
        """
        cls = type(value)
        if cls.__module__ in ("typing", "types"):  # a type as annotations have it
            self.lines.append(f"type {value!r}")
            return
        for base in cls.__mro__:
            native = not base.__flags__ & 1 << 9
            if (native and base is not object) or "__slots__" in vars(base) and vars(base)["__slots__"]:
                raise Indescribable(f"a {cls.__module__}.{cls.__qualname__}")
        self.add(cls)
        if not hasattr(value, "__dict__"):
            raise Indescribable(f"a {cls.__module__}.{cls.__qualname__}")
        without = getattr(cls, "NOT_COMPUTED_WITH", ())
        state = {
            name: content
            for name, content in vars(value).items()
            if name not in without and not isinstance(_static(cls, name), functools.cached_property)
        }
        self._add(f"object {len(state)}", *(x for item in state.items() for x in item))


def describe(function: Callable[..., Any]) -> Description:
    """Description of a function and all that it closes over. Raises Indescribable."""
    found = Description([sys.version, np.__version__])
    found.add(function)
    return found


@functools.cache
def is_library(module: str | None) -> bool:
    """Whether a module is Python's or NumPy's: their versions stand for them."""
    root = (module or "").partition(".")[0]
    return root in sys.stdlib_module_names and root != "__main__" or root == "numpy"


def _static(cls: type[Any], name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
