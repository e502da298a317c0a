# SPDX-License-Identifier: Apache-2.0
"""Machine code from LLVM IR, and calls into it that cost next to nothing.

llvmlite (the compiler under Numba) turns IR into an object file, which is kept on disk and loaded
at the next start without compiling anything. A single call goes through a small generated
function that Python calls like one of its own built-ins: it looks at the arguments (exactly
NumPy arrays of the kernel's precision, contiguous, of the right shape), runs the kernel, and refuses anything
else by returning None, so that the caller can sort out odd input off the fast path.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rbd_dynamics.compiler.llvm.machine import MachineImage, compile_object, compile_text, loops_problem, target_name
from rbd_dynamics.compiler.precision import DOUBLE, Precision
from rbd_dynamics.compiler.program import Argument, Signature

_METH_O, _METH_FASTCALL = 0x08, 0x80


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class LoadedCode:
    """An object file in memory. Keeps the machine code alive as long as it can be called."""

    def __init__(self, object_file: bytes) -> None:
        self._image = MachineImage(object_file)

    def _put(self, addresses: dict[str, int | None]) -> None:
        """Give the code addresses that differ from process to process."""
        for name, address in addresses.items():
            ctypes.c_int64.from_address(self._image.address(name)).value = address or 0

    def _built_in(self, name: str, flags: int) -> Callable[..., Any]:
        """A function of the code as Python's own."""
        method = _MethodDef(b"kernel", self._image.address(name), flags, None)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p)(
            ("PyCFunction_NewEx", ctypes.pythonapi)
        )
        # the built-in keeps its `self`, and so the code and its own definition, alive
        owner = (self._image, method)
        call: Callable[..., Any] = make(method, owner, None)
        return call


class LoadedLoops(LoadedCode):
    """Functions with loops that were loaded; `entry` is that of `loops_ir`."""

    def __init__(self, object_file: bytes) -> None:
        super().__init__(object_file)
        self._put({"py_true": id(True), "py_false": id(False), "incref": _address("Py_IncRef")})
        self.entry = self._built_in("entry", _METH_O)
        #: the same of the plan's address, while other Python threads run
        self.plain = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._image.address("plain"))
        vars(self.plain)["keeps"] = self._image


def _address(name: str) -> int | None:
    """Address of a function of Python's own."""
    return ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value


def _address_of(function: Any) -> int:
    """Address of a function of ctypes."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


@functools.cache
def _tanh(precision: Precision) -> int | None:
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    return ctypes.cast(libm.tanh if precision is DOUBLE else libm.tanhf, ctypes.c_void_p).value


class _KernelCode(LoadedCode):
    """One of the two object files of a kernel."""

    def __init__(self, object_file: bytes, entry: str, precision: Precision) -> None:
        super().__init__(object_file)
        self._put({
            "array_type": id(np.ndarray),
            "real_descr": id(precision.dtype),
            "bool_descr": id(np.dtype(np.bool_)),
            "none": id(None),
            "incref": _address("Py_IncRef"),
            "save_thread": _address("PyEval_SaveThread"),
            "restore_thread": _address("PyEval_RestoreThread"),
            "tanh_pointer": _tanh(precision),
        })  # fmt: skip
        self.entry = self._built_in(entry, _METH_FASTCALL)

    def function(self, name: str, result: Any, numbers: int) -> Callable[..., int]:
        """A function of so many integers, which releases the interpreter's lock. Nobody needs to keep this."""
        call = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * numbers)(self._image.address(name))
        vars(call)["keeps"] = self._image
        return call


class BoundKernel:
    """`NativeKernel.many`, or the function for one sample, of certain arrays.

    function: that. places: of each array, inputs before outputs, its address, and how far apart samples are.
    """

    def __init__(self, function: Callable[..., int], places: list[int]) -> None:
        self.function, self.places = function, places

    def __call__(self, samples: int) -> int:
        return int(self.function(samples, *self.places))


class NativeKernel:
    """A kernel that was loaded; the code for batches when it is first needed, by `batch`, which gives it."""

    def __init__(self, single: bytes, batch: Callable[[], bytes], signature: Signature) -> None:
        self.signature = signature
        self._batch = batch
        code = _KernelCode(single, "call", signature.precision)
        arguments = len(signature.inputs) + len(signature.outputs)
        self._repeat = code.function("repeat", ctypes.c_int64, 1 + arguments)
        self._one = code.function("one", ctypes.c_int32, arguments)
        #: call(in..., out...) -> the last output, or None if it refuses
        self.call = code.entry

    def complete(self) -> None:
        """Make the code for batches, unless it is there."""
        _ = self._batches

    def load_batches(self, object_file: bytes) -> None:
        """The code for batches, where it was made together with the other."""
        self._batches = self._loaded(object_file)

    @functools.cached_property
    def _batches(self) -> tuple[Callable[..., int], Callable[..., Any]]:
        return self._loaded(self._batch())

    def _loaded(self, object_file: bytes) -> tuple[Callable[..., int], Callable[..., Any]]:
        code = _KernelCode(object_file, "several", self.signature.precision)
        arguments = len(self.signature.inputs) + len(self.signature.outputs)
        return code.function("many", ctypes.c_int32, 1 + 2 * arguments), code.entry

    @functools.cached_property
    def several(self) -> Callable[..., Any]:
        """`call` for several samples, with a leading axis; of many, other Python threads run meanwhile."""
        return self._batches[1]

    @property
    def one_address(self) -> int:
        """Address of one(in..., out...), pointers: one sample; status flags. It is there as long as this kernel is."""
        return _address_of(self._one)

    @property
    def many_address(self) -> int:
        """Address of many(samples, pointer and stride in elements of each, inputs before outputs); likewise."""
        return _address_of(self._batches[0])

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """Run on `samples` >= 1 rows of (samples, ...) arrays; returns the status flags, of one sample just 1.

        The elements of one sample must be contiguous; samples may be any distance apart, also none
        (a broadcast array). Other Python threads run meanwhile, but for one sample.
        """
        if samples == 1:
            arguments = [*self.signature.inputs, *self.signature.outputs]
            rows = [array if one.shared else array[0] for one, array in zip(arguments, (*inputs, *outputs))]
            if all(row.flags.c_contiguous and row.flags.aligned for row in rows):
                return int(self.call(*rows) is None)
        return self.bound(inputs, outputs)(samples)

    def bound(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> BoundKernel:
        """`many` as a function of the number of samples, for the same arrays, which have to be kept alive."""
        return BoundKernel(self._batches[0], self._places(inputs, outputs))

    def bound_single(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> BoundKernel:
        """The same of the function for one sample, the first in arrays of samples: for loops in machine code."""
        return BoundKernel(self._one, self._places(inputs, outputs))

    def _places(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> list[int]:
        places: list[int] = []
        for array, address in zip((*inputs, *outputs), self._addresses(inputs, outputs)):
            places += [address, array.strides[0] // array.itemsize if array.ndim else 0]
        return places

    def repeated(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Callable[[int], int]:
        """A function of n >= 1 that runs one sample n times, or until it is refused; returns how often it was not.

        For outputs that are inputs as well. The arrays, contiguous and of the right types and shapes, have to be kept
        alive. Other Python threads run meanwhile.
        """
        addresses = self._addresses(inputs, outputs)
        return lambda n: int(self._repeat(n, *addresses))

    def _addresses(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> list[int]:
        assert (len(inputs), len(outputs)) == (len(self.signature.inputs), len(self.signature.outputs))
        return [array.ctypes.data for array in (*inputs, *outputs)]


__all__ = ["Argument", "LoadedLoops", "NativeKernel", "compile_object", "compile_text", "loops_problem", "target_name"]
