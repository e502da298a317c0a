# SPDX-License-Identifier: Apache-2.0
"""Families of kinds that anyone may add to: a dataclass in one file is known, readable and writable.

A family is a direct subclass of `OpenKind` (joint kinds, passive forces, constraints, surfaces). A kind of it is a
dataclass with a name of its own, a text in the class variable that the family calls `LABEL`; importing its file makes
it known. That is done when a file names a kind that is not, for those that installed packages have as entry points of
the group `ENTRY_POINTS`. In files a kind is a dictionary: {"type": its name, and its fields}. What a field accepts is
decided by the family's `value_of`, then by the kind's `__post_init__`; what it writes, by the types that `plain` knows.
A field that has no default, or one that is `required`, has to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np

from rbd_dynamics.common.excerpt import close_names, excerpt, listed
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.spatial.quaternions import quaternion_from_rotation
from rbd_dynamics.spatial.se3 import Transform

ENTRY_POINTS = "rbd_dynamics.kinds"
Kind = TypeVar("Kind", bound="OpenKind")
T = TypeVar("T")
#: (annotation of a field, what a file has, how messages begin) -> the field's value
ValueOf = Callable[[Any, Any, str], Any]


def as_it_is(annotation: Any, value: Any, where: str) -> Any:
    """Fields get what the file has, and `__post_init__` makes of it what they need."""
    return value


@cache
def import_installed_kinds() -> None:
    """Once. Raises ModelError for an entry point that cannot be loaded, each time until it can."""
    from importlib.metadata import entry_points  # slow to import

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever the package does
            told = f"{type(error).__name__}: {excerpt(str(error))}"
            raise ModelError(f"entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded: {told}") from error


class OpenKind:
    """Base of a family. `LABEL`: the class variable with a kind's name; `FAMILY`: what a kind is, for messages."""

    LABEL: ClassVar[str] = "name"
    FAMILY: ClassVar[str] = "kind"
    #: whether files also get the fields that are as by default
    WRITES_ALL: ClassVar[bool] = False
    #: {name: class} of all kinds of the family
    known: ClassVar[dict[str, type[Any]]]
    #: makes a field's value of what a file has
    value_of: ClassVar[ValueOf] = staticmethod(as_it_is)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if OpenKind in cls.__bases__:
            cls.known = {}
        elif cls.LABEL in cls.__dict__:
            name = cls.__dict__[cls.LABEL]
            if not isinstance(name, str):
                raise TypeError(f"{cls.__qualname__}: `{cls.LABEL}` is {name!r}, expected a text")
            if "type" in cls.__dict__.get("__annotations__", {}):
                raise TypeError(
                    f"{cls.__qualname__}: a field cannot be called `type`, which is the {cls.FAMILY}'s name"
                )
            other = cls.known.get(name, cls)
            if not _same(other, cls):
                raise TypeError(f"{cls.__qualname__}: {other.__qualname__} is already the {cls.FAMILY} {name!r}")
            cls.known[name] = cls

    def to_dict(self, *, where: str = "") -> dict[str, Any]:
        """{"type": name, and the fields that are required or not as by default}; `from_dict` is its inverse.

        Raises ModelError that begins with `where` for what no file can hold, as a function.
        """
        name = getattr(type(self), self.LABEL, None)
        if not _same(self.known.get(str(name)), type(self)):
            said = f"{type(self).__name__} is a {self.FAMILY} without a name of its own, which no file can hold"
            raise ModelError(_joined(where, said))
        data: dict[str, Any] = {"type": name}
        for own in own_fields(type(self)):
            value = getattr(self, own.name)
            if self.WRITES_ALL or is_required(own) or value != _default(own):
                data[own.name] = plain(value, _joined(where, own.name))
        return data

    @classmethod
    def from_dict(cls: type[Kind], data: Any, *, where: str = "") -> Kind:
        """The kind that a dictionary (or its name alone) describes; of a class within a family, only kinds of it.

        Raises ModelError that begins with `where`, for an unknown type, and for fields that it does not have or take.
        """
        known = cls._kinds()
        rest = dict(data) if isinstance(data, Mapping) else {"type": data}
        if "type" not in rest:
            raise ModelError(_joined(where, f"`type` is missing; known: {', '.join(known)}"))
        name = rest.pop("type")
        if isinstance(name, str) and name not in known:
            import_installed_kinds()
            known = cls._kinds()
        kind = known.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ModelError(_joined(where, cls.unknown_type(name, list(known))))
        found: Kind = built(kind, rest, where, kind.value_of, kind.unknown_field)
        return found

    @classmethod
    def _kinds(cls) -> dict[str, Any]:
        return {name: kind for name, kind in cls.known.items() if issubclass(kind, cls)}

    @classmethod
    def unknown_type(cls, name: Any, known: Sequence[str]) -> str:
        """What is said of a type that there is not."""
        return f"unknown type {excerpt(name)}{near(name, known)}"

    @classmethod
    def unknown_field(cls, key: Any, known: Sequence[str]) -> str:
        """What is said of a field that the kind does not have."""
        return f"type {getattr(cls, cls.LABEL)}: {unknown_key(key, known)}"


def required(default: Any) -> Any:
    """A dataclass' field with a default in Python that files nevertheless have to give, as a radius."""
    return field(default=default, metadata={"required": True})


def own_fields(cls: type[Any]) -> Sequence[Field[Any]]:
    """The fields that files hold."""
    return [own for own in fields(cls) if own.init] if is_dataclass(cls) else []


def is_required(own: Field[Any]) -> bool:
    """Whether files have to give it."""
    return own.metadata.get("required", False) or _default(own) is MISSING


def built(
    cls: Callable[..., T],
    values: Mapping[Any, Any],
    where: str,
    value_of: ValueOf = as_it_is,
    unknown: Callable[[Any, Sequence[str]], str] | None = None,
) -> T:
    """An object of a dataclass from a dictionary of its fields, as files have them.

    Raises ModelError that begins with `where`: for keys that it does not have (`unknown` says what), for fields that
    are missing, and for what `value_of` or the class itself refuses.
    """
    own = {each.name: each for each in own_fields(cls)}  # type: ignore[arg-type]
    check_keys(values, list(own), where, unknown or unknown_key)
    for each in own.values():
        if is_required(each) and each.name not in values:
            raise ModelError(_joined(where, f"`{each.name}` is missing"))
    types = _annotations(cls) if value_of is not as_it_is else {}
    found = {key: value_of(types.get(key), value, _joined(where, key)) for key, value in values.items()}
    try:
        return cls(**found)
    except ValueError as error:
        if str(error).startswith(where):  # it names the culprit by itself
            raise
        raise ModelError(_joined(where, str(error))) from None


def unknown_key(key: Any, known: Sequence[str]) -> str:
    """What is said of a key that means nothing."""
    return f"unknown key {excerpt(key)}{near(key, known)}"


def check_keys(
    given: Mapping[Any, Any],
    known: Sequence[str],
    where: str,
    unknown: Callable[[Any, Sequence[str]], str] = unknown_key,
) -> None:
    """Raises ModelError that begins with `where` for a key that is not known."""
    for key in given:
        if key not in known:
            raise ModelError(_joined(where, unknown(key, known)))


def near(name: Any, known: Sequence[str]) -> str:
    """Hint at a similar name, as in: ; did you mean 'spring'?"""
    close = close_names(name, known, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else f"; known: {listed(known) or 'none'}"


def plain(value: Any, where: str) -> Any:
    """Texts, numbers, lists and dictionaries that say the same; a pose as position and quaternion (x, y, z, w).

    Raises ModelError that begins with `where`.
    """
    if isinstance(value, OpenKind):
        return value.to_dict(where=where)
    if isinstance(value, Transform):
        quaternion = quaternion_from_rotation(value.rotation)
        return {"xyz": [float(x) for x in value.p], "quaternion": [float(x) for x in quaternion]}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(entry, where) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain(entry, where) for key, entry in value.items()}
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    raise ModelError(f"{where} is {excerpt(value)}, which no file can hold")


def _default(own: Field[Any]) -> Any:
    """MISSING where it has none."""
    return own.default if own.default_factory is MISSING else own.default_factory()


def _same(one: type[Any] | None, other: type[Any]) -> bool:
    """Whether it is one class, perhaps once more after its module was loaded again."""
    return one is not None and (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _joined(where: str, text: str) -> str:
    return f"{where}: {text}" if where else text


@cache
def _annotations(cls: Any) -> dict[str, Any]:
    """{field: its type}. Raises ModelError for names that its module does not have at run time."""
    try:
        return get_type_hints(cls)
    except NameError as error:
        raise ModelError(f"{cls.__qualname__}: the annotations of its fields cannot be read: {error}") from None
