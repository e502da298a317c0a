# SPDX-License-Identifier: Apache-2.0
"""Messages from and to dictionaries, lists, numbers and texts, as YAML and JSON have them."""

from __future__ import annotations

import array
import importlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbd_dynamics.common.excerpt import close_names

_SEQUENCE = re.compile(r"sequence<(?P<of>.+?)(?:, (?P<most>\d+))?>|(?P<of_array>[^\[\]]+)\[(?P<count>\d+)\]")
_TEXT = re.compile(r"w?string(<\d+>)?")
_WHOLE = re.compile(r"u?int\d+|octet|char|byte")


def message_class(kind: str) -> Any:
    """The class of a message or service by its name, "sensor_msgs/msg/JointState". ValueError: it is not installed."""
    package, _, name = kind.rpartition("/")
    try:
        return getattr(importlib.import_module(package.replace("/", ".")), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"messages of type {kind} are not known here: is its package sourced?") from error


def field_names(kind: Any) -> list[str]:
    """Names of a message's fields, and of those within them, each once."""
    found: dict[str, None] = {}
    for name, of in kind.get_fields_and_field_types().items():
        found[name] = None
        several = _SEQUENCE.fullmatch(of)
        inner = (several["of"] or several["of_array"]) if several else of
        if "/" in inner:
            package, _, message = inner.rpartition("/")
            found |= dict.fromkeys(field_names(message_class(f"{package}/msg/{message}")))
    return list(found)


def plain(message: Any) -> Any:
    """What a message holds, as dictionaries, lists, numbers and texts."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: plain(getattr(message, name)) for name in message.get_fields_and_field_types()}
    if isinstance(message, (np.ndarray, array.array)):
        return message.tolist()
    if isinstance(message, (list, tuple)):
        return [plain(each) for each in message]
    if isinstance(message, bytes):
        return list(message) if len(message) != 1 else message[0]
    return message


def filled(kind: Any, values: Any, now: Any = None) -> Any:
    """A message of that class with these values; what is not given keeps its default.

    Parameters:
        values: a mapping of fields, nested as the message is. A header may be `auto`, a stamp `now`.
        now: the stamp for these two, builtin_interfaces/Time.

    Raises ValueError that names the field: one that there is not, or a value of another kind.
    """
    return _filled(kind, {} if values is None else values, "", now)


def _filled(kind: Any, values: Any, where: str, now: Any) -> Any:
    message, fields = kind(), kind.get_fields_and_field_types()
    if now is not None and isinstance(values, str) and values in ("auto", "now"):
        if set(fields) == {"sec", "nanosec"}:
            return now
        if set(fields) == {"stamp", "frame_id"}:
            message.stamp = now
            return message
    if not isinstance(values, Mapping):
        raise ValueError(f"{where or 'the message'}: expected {{{', '.join(fields)}}}, not {values!r}")
    for name, value in values.items():
        path = f"{where}.{name}" if where else str(name)
        if name not in fields:
            near, known = close_names(name, list(fields), 1), ", ".join(fields) or "none"
            meant = f"; did you mean {near[0]}?" if near else f"; the fields are {known}"
            raise ValueError(f"{path}: there is no such field{meant}")
        setattr(message, name, _value(fields[name], value, path, now))
    return message


def _value(kind: str, value: Any, where: str, now: Any) -> Any:
    """A value for a field of that type, as rclpy names it. Raises ValueError."""
    if match := _SEQUENCE.fullmatch(kind):
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{where}: expected a list, not {value!r}")
        count, most = match["count"], match["most"]
        if (count and len(value) != int(count)) or (most and len(value) > int(most)):
            raise ValueError(f"{where}: {len(value)} values for {count or f'at most {most}'}")
        of = match["of"] or match["of_array"]
        return [_value(of, each, f"{where}[{k}]", now) for k, each in enumerate(value)]
    if "/" in kind:
        package, _, name = kind.rpartition("/")
        return _filled(message_class(f"{package}/msg/{name}"), value, where, now)
    if kind == "boolean":
        good = isinstance(value, bool)
    elif kind in ("double", "float"):
        value = number(value)
        good = isinstance(value, float)
    elif _WHOLE.fullmatch(kind):
        good = isinstance(value, int) and not isinstance(value, bool)
        if good and kind in ("octet", "byte"):
            good = 0 <= value < 256
            value = bytes([value]) if good else value
    else:
        good = _TEXT.fullmatch(kind) is not None and isinstance(value, str)
    if not good:
        raise ValueError(f"{where}: {value!r} is no {kind}")
    return value


def number(value: Any) -> Any:
    """The float that a value stands for, 1e-3 too, which YAML 1.1 takes for a text; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return value
    try:
        return float(value)
    except (ValueError, OverflowError):
        return value
