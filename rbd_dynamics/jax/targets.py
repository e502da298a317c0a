# SPDX-License-Identifier: Apache-2.0
"""Kernels as targets of XLA's foreign function interface, each registered once by a name that says what it is."""

from __future__ import annotations

import ctypes
import functools
import math
import urllib.parse
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from rbd_dynamics.common.process.process_lock import ProcessLock
from rbd_dynamics.compiler import cache
from rbd_dynamics.compiler.backends import FunctionKernel
from rbd_dynamics.compiler.llvm.machine import MachineImage, compile_text, loops_problem, target_name
from rbd_dynamics.compiler.native import NativeKernel
from rbd_dynamics.compiler.program import Signature
from rbd_dynamics.compiler.sources import compiler_digest
from rbd_dynamics.gradients.operation import Operation
from rbd_dynamics.gradients.robot_operations import RobotOperations
from rbd_dynamics.jax.call_frame import emit_handler, minor_version

Shape = tuple[int, ...]
#: how names of targets begin, before what they compute, precision and digest
PREFIX = "rbd_dynamics"
_lock = ProcessLock()
_known: dict[str, Any] = {}  # what targets need, for ever: XLA keeps their addresses


@functools.cache
def minor() -> int:
    """The minor version of the interface, checked. Raises RuntimeError where targets cannot be made."""
    problem = loops_problem()
    if problem is not None:
        raise RuntimeError(f"functions of JAX need machine code: {problem}")
    return minor_version(jax.ffi.include_dir())


def target(operation: Operation, dtype: Any, leads: Sequence[Shape], *, batches: bool) -> str:
    """The name of the target for arrays with these leading axes, registered where it was not yet.

    batches: there may be more than one sample.
    """
    kernel = operation.kernel(dtype, leads, batches=batches)
    signature = kernel.signature
    shared = "".join("01"[own.shared] for own in signature.inputs)
    words = [urllib.parse.quote(operation.name, safe=""), signature.precision.suffix, shared, digest(operation)]
    name = "/".join([PREFIX, *words])
    with _lock:
        image = _known.get(name)
        if image is None:
            image = _known[name] = _registered(name, operation, kernel, signature)
        if batches and not image.batches:
            assert isinstance(kernel, NativeKernel)
            image.put("many", kernel.many_address)
            image.batches = True
    return name


def register(name: str, operations: RobotOperations) -> None:
    """Register the target of this name, as `target` has made it once. Raises ValueError for that of another robot."""
    try:
        _, quoted, precision, shared, program = name.split("/")
        operation = operations[urllib.parse.unquote(quoted)]
    except (ValueError, KeyError) as error:
        raise ValueError(f"{name}: these functions have no such kernel: {error}") from error
    if digest(operation) != program:
        raise ValueError(
            f"{name}: made for another robot, other constraints or friction, or by another version of rbd_dynamics"
        )
    leads: list[Shape] = [() if one == "1" else (2,) for one in shared]
    target(operation, f"f{int(precision[1:]) // 8}", leads, batches=True)


def digest(operation: Operation) -> str:
    """Which program of which robot; of derivatives that of the function itself, whose they are."""
    return operation.root.program.digest[:16]


class _Image:
    """Machine code that XLA calls, and what it stands on."""

    def __init__(self, object_file: bytes, kernel: NativeKernel, rescue: Any) -> None:
        self._image = MachineImage(object_file)
        self._keeps = kernel, rescue
        self.batches = False
        self.put("one", kernel.one_address)
        self.put("rescue", ctypes.cast(rescue, ctypes.c_void_p).value or 0)

    def put(self, name: str, address: int) -> None:
        ctypes.c_int64.from_address(self._image.address(name)).value = address

    @property
    def handler(self) -> int:
        return self._image.address("handler")


def _registered(name: str, operation: Operation, kernel: Any, signature: Signature) -> _Image:
    assert isinstance(kernel, NativeKernel)
    text = emit_handler(signature, minor())
    key = f"{target_name()} {compiler_digest()} {text}"
    code = cache.load("jax.handler.o", key)
    if code is None:
        code = compile_text(text)
        cache.store("jax.handler.o", key, code)
    image = _Image(code, kernel, _rescue(operation, signature))
    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(image.handler)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(pointer), platform="cpu")
    return image


def _rescue(operation: Operation, signature: Signature) -> Any:
    """A function of C: the plain algorithm for one sample, from an array of pointers; 0 where it could be computed."""
    plain = FunctionKernel(operation.function, signature)
    arguments = [*signature.inputs, *signature.outputs]

    def array(address: int, width: int, dtype: Any, shape: Shape) -> np.ndarray:
        memory: Any = (ctypes.c_char * (width * math.prod(shape))).from_address(address)
        return np.frombuffer(memory, dtype).reshape(1, *shape)

    def rescue(pointers: int) -> int:
        try:
            places = (ctypes.c_void_p * len(arguments)).from_address(pointers)
            arrays = []
            for place, own in zip(places, arguments):
                dtype = np.dtype(np.bool_) if own.boolean else signature.precision.dtype
                found = array(place or 0, dtype.itemsize, dtype, own.shape)
                arrays.append(found[0] if own.shared else found)
            count = len(signature.inputs)
            return plain.many(1, arrays[:count], arrays[count:])
        except Exception:  # called by XLA, which knows none
            return 1

    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(rescue)
