# SPDX-License-Identifier: Apache-2.0
"""Families of kinds that anyone may add to: a frozen dataclass in one file is known, readable and writable.

A family is a direct subclass of `OpenKind` (passive forces, constraints, surfaces). A kind of it is a dataclass with a
name of its own in the class variable that the family calls `LABEL`; importing its file makes it known. In files
a kind is a dictionary: {"type": its name, and its fields}. What a field accepts is decided by the kind's
`__post_init__`, which gets it as the file has it; what it writes, by the types that `plain` knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, ClassVar, TypeVar

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.excerpt import close_names, excerpt, listed

Kind = TypeVar("Kind", bound="OpenKind")


class OpenKind:
    """Base of a family. `LABEL`: the class variable with a kind's name; `FAMILY`: what a kind is, for messages."""

    LABEL: ClassVar[str] = "name"
    FAMILY: ClassVar[str] = "kind"
    #: {name: class} of all kinds of the family
    known: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if OpenKind in cls.__bases__:
            cls.known = {}
        elif isinstance(name := cls.__dict__.get(cls.LABEL), str):
            other = cls.known.get(name, cls)
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{cls.__qualname__}: {other.__qualname__} is already the {cls.FAMILY} {name!r}")
            cls.known[name] = cls

    def to_dict(self) -> dict[str, Any]:
        """{"type": name, and the fields that are not as by default}; `from_dict` is its inverse.

        Raises ModelError for what no file can hold, as a function.
        """
        name = getattr(type(self), self.LABEL, None)
        if self.known.get(str(name)) is not type(self):
            raise ModelError(f"{type(self).__name__} is not a {self.FAMILY} with a name, which files need")
        data: dict[str, Any] = {"type": name}
        for field in own_fields(type(self)):
            value = getattr(self, field.name)
            if default_of(field) is MISSING or value != default_of(field):
                data[field.name] = plain(value, f"{self.FAMILY} {name!r}: {field.name}")
        return data

    @classmethod
    def from_dict(cls: type[Kind], data: Any, **given: Any) -> Kind:
        """The kind that a dictionary (or its name alone) describes; `given` are further fields.

        Raises ModelError for an unknown type, and for fields that it does not have or take.
        """
        rest = dict(data) if isinstance(data, Mapping) else {"type": data}
        if "type" not in rest:
            raise ModelError(f"`type` is missing; known: {', '.join(cls.known)}")
        name = rest.pop("type")
        kind = cls.known.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ModelError(f"unknown type {excerpt(name)}{near(name, list(cls.known))}")
        check_keys(rest, [f.name for f in own_fields(kind) if f.name not in given], f"of type {name}")
        for field in own_fields(kind):
            if default_of(field) is MISSING and field.name not in rest and field.name not in given:
                raise ModelError(f"`{field.name}` is missing")
        found: Kind = kind(**given, **rest)
        return found


def own_fields(cls: type[Any]) -> Sequence[Field[Any]]:
    """The fields that files hold."""
    return [field for field in fields(cls) if field.init] if is_dataclass(cls) else []


def default_of(field: Field[Any]) -> Any:
    """MISSING where it has none."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def check_keys(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Raises ModelError for a key that is not known, with near ones."""
    for key in given:
        if key not in known:
            raise ModelError(f"{what}: unknown key {excerpt(key)}{near(key, list(known))}")


def near(name: Any, known: Sequence[str]) -> str:
    """As in: ; did you mean 'spring'?"""
    close = close_names(name, known, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else f"; known: {listed(known) or 'none'}"


def plain(value: Any, where: str) -> Any:
    """Texts, numbers, lists and dictionaries that say the same. Raises ModelError that starts with `where`."""
    if isinstance(value, OpenKind) or hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [plain(entry, where) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain(entry, where) for key, entry in value.items()}
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return value
    raise ModelError(f"{where} is {excerpt(value)}, which no file can hold")
