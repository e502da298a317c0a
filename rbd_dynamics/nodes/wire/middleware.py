# SPDX-License-Identifier: Apache-2.0
"""Messages and requests taken from the middleware as bytes, while other threads of this process go on.

rclpy takes a message or a request out of the middleware, and makes Python objects of it, while it holds the
interpreter's lock: 10 MB take 5 ms and more, in which no torque is computed. Here the C functions are called that
rclpy calls, by ctypes, which gives the lock back meanwhile. No message's C structure is known here: what was taken
is serialised by the middleware itself, and Python sees how large that is before it sees anything else of it.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: environment variable: set, the nodes use nothing but public rclpy
PLAIN = "RBD_DYNAMICS_PLAIN_RCLPY"
_RequestId = ctypes.c_uint64 * 16  # rmw_request_id_t, 24 bytes, which nothing here looks into
_OK, _TIMEOUT = 0, 2  # rcl_ret_t
_ATTEMPTS = 20  # to send a response: the middleware waits 0.1 s in each for a client that it does not know yet


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t"""

    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")]


class Serialised(ctypes.Structure):
    """rcutils_uint8_array_t, which is rcl_serialized_message_t: a message as the middleware sends it."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]  # fmt: skip

    def part(self, start: int, stop: int | None = None) -> bytes:
        """Some of the bytes, as far as there are any; the lock is not held while they are copied."""
        stop = self.length if stop is None else min(stop, self.length)
        size = max(0, stop - start)
        part = _make_bytes(None, size)  # not filled yet, and nobody else has it
        if size:
            ctypes.memmove(ctypes.cast(part, ctypes.c_void_p), self.data + start, size)
        return bytes(part)


_make_bytes = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


class Middleware:
    """Raises OSError or AttributeError where this is not possible with this ROS."""

    def __init__(self) -> None:
        if os.environ.get(PLAIN):
            raise OSError(f"{PLAIN} is set")
        rcl = self._rcl = ctypes.CDLL("librcl.so")  # and what it is made of: rmw and rcutils
        rcl.rcutils_get_default_allocator.restype = _Allocator
        self._take_message = _declared(rcl.rcl_take_serialized_message, 4)
        self._take_request = _declared(rcl.rcl_take_request, 3)
        self._send_response = _declared(rcl.rcl_send_response, 3)
        self._serialise = _declared(rcl.rmw_serialize, 3)
        self._deserialise = _declared(rcl.rmw_deserialize, 3)

    @contextmanager
    def message(self, handle: Any) -> Iterator[Serialised | None]:
        """The next one of the handle of a subscription; None: there is none."""
        with self._buffer() as buffer:
            with handle:
                code = self._take_message(handle.pointer, ctypes.byref(buffer), None, None)
            yield buffer if self._is_ok(code) else None

    @contextmanager
    def request(self, service: Any) -> Iterator[tuple[Any, Serialised] | None]:
        """The next one of a service, and whose it is, for `respond`; None: there is none."""
        identity = _RequestId()
        kind = service.srv_type.Request
        with self._structure(kind) as request, self._buffer() as buffer:
            with service.handle:
                code = self._take_request(service.handle.pointer, identity, request)
            taken = self._is_ok(code)
            if taken and not self._is_ok(
                self._serialise(request, _pointer(kind, "_TYPE_SUPPORT"), ctypes.byref(buffer))
            ):
                raise RuntimeError(f"a request of {service.srv_name} cannot be serialised")
            yield (identity, buffer) if taken else None

    def respond(self, service: Any, identity: Any, response: Any) -> None:
        """Send a serialised response: bytes, or a ctypes array of them."""
        kind = service.srv_type.Response
        data = _array(response) if isinstance(response, bytes) else response
        buffer = self._around(data)
        with self._structure(kind) as structure:
            if not self._is_ok(self._deserialise(ctypes.byref(buffer), _pointer(kind, "_TYPE_SUPPORT"), structure)):
                raise RuntimeError(f"a response of {service.srv_name} cannot be made")
            for _ in range(_ATTEMPTS):
                with service.handle:
                    code = self._send_response(service.handle.pointer, identity, structure)
                if self._is_ok(code) or code != _TIMEOUT:
                    return  # where it is not sent nobody waits for it any more

    def serialised(self, message: Any) -> bytes:
        """A message by way of the calls of this class, which shows whether they are as they should be: else OSError."""
        kind = type(message)
        data = _array(importlib.import_module("rclpy.serialization").serialize_message(message))
        with self._structure(kind) as structure, self._buffer() as buffer:
            support, there = _pointer(kind, "_TYPE_SUPPORT"), self._around(data)
            if not self._is_ok(self._deserialise(ctypes.byref(there), support, structure)) or not self._is_ok(
                self._serialise(structure, support, ctypes.byref(buffer))
            ):
                raise OSError(f"{kind.__name__} cannot be serialised by ctypes")
            return buffer.part(0)

    def _around(self, data: Any) -> Serialised:
        """The bytes of a ctypes array, which stays theirs."""
        return Serialised(ctypes.addressof(data), len(data), len(data), self._rcl.rcutils_get_default_allocator())

    @contextmanager
    def _buffer(self) -> Iterator[Serialised]:
        buffer = Serialised()
        allocator = self._rcl.rcutils_get_default_allocator()
        self._rcl.rcutils_uint8_array_init(ctypes.byref(buffer), ctypes.c_size_t(0), ctypes.byref(allocator))
        try:
            yield buffer
        finally:
            self._rcl.rcutils_uint8_array_fini(ctypes.byref(buffer))

    @staticmethod
    @contextmanager
    def _structure(kind: type) -> Iterator[Any]:
        """A message in C, empty at first."""
        make = ctypes.CFUNCTYPE(ctypes.c_void_p)(_pointer(kind, "_CREATE_ROS_MESSAGE"))
        destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_pointer(kind, "_DESTROY_ROS_MESSAGE"))
        structure = make()
        if not structure:
            raise MemoryError(kind.__name__)
        try:
            yield structure
        finally:
            destroy(structure)

    def _is_ok(self, code: int) -> bool:
        if code != _OK:
            self._rcl.rcutils_reset_error()
        return code == _OK


def _array(data: bytes) -> Any:
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


def _declared(function: Any, count: int) -> Any:
    """A C function of so many pointers."""
    function.argtypes = [ctypes.c_void_p] * count
    return function


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _pointer(kind: type, what: str) -> int:
    """What the Python class of a message says about the one in C."""
    capsule = getattr(kind, what)
    if capsule is None:
        importlib.import_module("rclpy.type_support").check_for_type_support(kind)
        capsule = getattr(kind, what)
    address: int = _capsule_pointer(capsule, None)
    return address
