# SPDX-License-Identifier: Apache-2.0
"""Serialised requests of the parameter services: what they hold is looked at before Python objects are made of it.

Source of the form: rcl_interfaces (Parameter, ParameterValue), the same in all distributions.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import Parameter, ParameterValue, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.serialization import deserialize_message, serialize_message

from rbd_dynamics.common.cdr import ORIGIN, CdrError, CdrReader
from rbd_dynamics.common.excerpt import excerpt

KINDS = (DescribeParameters, GetParameters, GetParameterTypes, ListParameters, SetParameters, SetParametersAtomically)
SETTING = (SetParameters, SetParametersAtomically)
MOST = 256  # parameters in a request: more than any of our nodes has
MOST_PREFIXES = 16  # of names that are to be listed: each is compared with all
MOST_VALUES = 2048  # in the lists of a request: more than those of any robot's joints have together
SHORT = 1024  # bytes: a longer text is a description


class Refused(ValueError):
    """A request that will not be looked at any further."""


def count_of(head: bytes) -> int:
    """How many parameters, names or prefixes a request has, by its first eight bytes. Raises Refused."""
    count = int.from_bytes(head[ORIGIN:], "little")
    if head[:2] != b"\0\1":
        raise Refused("the request cannot be read")
    return count


def check_count(kind: Any, count: int) -> None:
    """Raise Refused where there are too many for a request of that kind."""
    what, most = ("prefixes", MOST_PREFIXES) if kind is ListParameters else ("parameters", MOST)
    if count > most:
        raise Refused(f"the request has {count} {what}, which exceeds the limit of {most}")


def check_names(kind: Any, request: Any) -> None:
    """Raise Refused where a parameter is named twice in what is done in one go."""
    names = list(getattr(request, "names", ()))
    if kind is SetParametersAtomically:
        names = [parameter.name for parameter in request.parameters]
    if len(set(names)) < len(names):
        raise Refused("a parameter is named twice")


def read_setting(kind: Any, raw: bytes, largest: int) -> Any:
    """The request to set parameters. Raises Refused.

    largest: bytes, without the long texts. Step by step, between which other threads go on: rclpy makes Python objects
    of the whole at once.
    """
    try:
        reader = _Reader(raw)
        count = reader.count(1)
        check_count(kind, count)
        request = kind.Request(parameters=[reader.parameter() for _ in range(count)])
    except CdrError:
        raise Refused("the request cannot be read") from None
    short = len(raw) - reader.long
    if short > largest:
        raise Refused(f"the request has {short} bytes, more than parameter 'largest_message' ({largest})")
    return request


def refusals(count: int, reason: str) -> Any:
    """The serialised response of set_parameters that refuses so many. Not through Python objects: there may be many."""
    text = reason.encode()
    text += b" " * (-(len(text) + 1) % 4) + b"\0"
    one = b"\0\0\0\0" + len(text).to_bytes(4, "little") + text
    head = b"\0\1\0\0" + count.to_bytes(4, "little")
    response = (ctypes.c_char * (len(head) + count * len(one)))()
    begin, filled, whole = ctypes.addressof(response) + len(head), len(one), count * len(one)
    ctypes.memmove(begin - len(head), head, len(head))
    if count:
        ctypes.memmove(begin, one, len(one))
    while filled < whole:  # twice as many each time; the interpreter's lock is not held meanwhile
        more = min(filled, whole - filled)
        ctypes.memmove(begin + filled, begin, more)
        filled += more
    return response


def check_form(raw: Callable[[Any], bytes]) -> None:
    """Raise OSError where requests and responses are not of the form that is assumed here. raw: serialises."""
    value = ParameterValue(
        type=2, integer_value=3, double_value=4.0, string_value="x" * 3001, byte_array_value=[b"1"],
        bool_array_value=[True], integer_array_value=[5], double_array_value=[6.0, 7.0],
        string_array_value=["a", "bcd"],
    )  # fmt: skip
    request = SetParameters.Request(
        parameters=[Parameter(name="first", value=value), Parameter(name="xy", value=value)]
    )
    given = raw(request)
    answer = SetParameters.Response(results=[SetParametersResult(successful=False, reason="no.")] * 3)
    if (
        count_of(given[: ORIGIN + 4]) != 2
        or read_setting(SetParameters, given, len(given)) != request
        or deserialize_message(bytes(refusals(3, "no.")), SetParameters.Response) != answer
        or deserialize_message(raw(answer), SetParameters.Response) != answer
    ):
        raise OSError("parameters are serialised in another way here")


class _Reader(CdrReader):
    """Reads a serialised request. Raises Refused or CdrError.

    Attributes:
        long: bytes of long texts so far.
    """

    def __init__(self, raw: bytes) -> None:
        super().__init__(raw)
        self._values = 0  # in lists
        self.long = 0

    def parameter(self) -> Parameter:
        name = self._text()
        kind, truth = self._bytes(2, 1)
        (integer,), (double,), text = array("q", self._bytes(1, 8)), array("d", self._bytes(1, 8)), self.encoded()[:-1]
        self.long += len(text) if len(text) > SHORT else 0
        value = ParameterValue(type=kind, bool_value=bool(truth), integer_value=integer, double_value=double)
        value.string_value = text.decode(errors="replace")
        if numbers := self._bytes(self._few(name), 1):
            value.byte_array_value = [bytes([number]) for number in numbers]
        if numbers := self._bytes(self._few(name), 1):
            value.bool_array_value = [bool(number) for number in numbers]
        if numbers := self._bytes(self._few(name), 8):
            value.integer_array_value = array("q", numbers)
        if numbers := self._bytes(self._few(name), 8):
            value.double_array_value = array("d", numbers)
        if count := self._few(name):
            value.string_array_value = [self._text() for _ in range(count)]
        return Parameter(name=name, value=value)

    def _few(self, name: str) -> int:
        count = self.count(1)
        self._values += count
        if self._values > MOST_VALUES:
            raise Refused(
                f"parameter {excerpt(name)}: its lists bring the request to {self._values} values, "
                f"which exceeds the limit of {MOST_VALUES}"
            )
        return count

    def _text(self) -> str:
        return self.encoded()[:-1].decode(errors="replace")

    def _bytes(self, count: int, size: int) -> bytes:
        """Those of so many numbers of a size."""
        start = self.skip(count * size, size)
        return bytes(self.raw[start : self.place])


def serialised(message: Any) -> bytes:
    """A message as the middleware sends it."""
    raw: bytes = serialize_message(message)
    return raw
