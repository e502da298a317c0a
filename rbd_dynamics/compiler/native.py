# SPDX-License-Identifier: Apache-2.0
"""Machine code from LLVM IR, and calls into it that cost next to nothing.

llvmlite (the compiler under Numba) turns IR into an object file, which is kept on disk and loaded
at the next start without compiling anything. A single call goes through a small generated
function that Python calls like one of its own built-ins: it looks at the arguments (exactly
NumPy arrays of float64, contiguous, of the right shape), runs the kernel, and refuses anything
else by returning None, so that the caller can sort out odd input off the fast path.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from rbd_dynamics.compiler.kernel_entry import emit_kernel_entries
from rbd_dynamics.compiler.llvm_ir import emit_llvm
from rbd_dynamics.compiler.process_lock import QuietLock
from rbd_dynamics.compiler.program import Argument, Program, Signature

_METH_O, _METH_FASTCALL = 0x08, 0x80

#: LLVM's contexts are not for several threads at once, and llvmlite has a lock of its own, which a fork must find free
_llvm_lock = QuietLock()


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@functools.cache
def _target() -> tuple[Any, int, str]:
    """The machine to compile for, the doubles in its vector register, and a text that names both."""
    with _llvm_lock:
        return _new_target()


def _new_target() -> tuple[Any, int, str]:
    if hasattr(llvm, "initialize"):
        try:
            llvm.initialize()  # needed before llvmlite 0.45, an error after it
        except RuntimeError:
            pass
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    width = 8 if features.get("avx512f") else 4
    text = features.flatten()
    if width == 8:
        text += ",-prefer-256-bit"
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=text, opt=1, reloc="pic", codemodel="small", jit=True
    )
    version = ".".join(map(str, llvm.llvm_version_info))
    return machine, width, f"{machine.triple} {cpu} {text} LLVM {version}"


def target_name() -> str:
    """Names everything outside the program that decides about the machine code."""
    return _target()[2]


def compile_object(program: Program) -> bytes:
    """The object file of a program: `one`, `many` and `repeat`, and the entries `call` and `several` for Python."""
    _, width, _ = _target()
    opaque = llvm.llvm_version_info[0] >= 15
    return _emitted(
        emit_llvm(program, width, opaque) + "\n" + emit_kernel_entries(program.signature, opaque), passes=False
    )


def compile_text(text: str) -> bytes:
    """The object file of IR that is to go through LLVM's passes: with names on the stack, loops, functions to inline.

    Its pointers are opaque, so it needs LLVM 15.
    """
    return _emitted(text, passes=True)


def loops_problem() -> str | None:
    """Why `compile_text` cannot be used here, or None."""
    if llvm.llvm_version_info[0] < 15 or not hasattr(llvm, "create_pass_builder"):
        return f"llvmlite with LLVM {llvm.llvm_version_info[0]} is too old for loops"
    return None


def _emitted(text: str, *, passes: bool) -> bytes:
    machine = _target()[0]
    with _llvm_lock:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        if passes:
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
            builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


class LoadedCode:
    """An object file in memory. Keeps the machine code alive as long as it can be called."""

    def __init__(self, object_file: bytes) -> None:
        with _llvm_lock:
            machine = _new_machine()
            module = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
            self._engine.finalize_object()

    def _put(self, addresses: dict[str, int | None]) -> None:
        """Give the code addresses that differ from process to process."""
        for name, address in addresses.items():
            slot = ctypes.c_int64.from_address(self._engine.get_global_value_address(name))
            slot.value = address or 0

    def _built_in(self, name: str, flags: int) -> Callable[..., Any]:
        """A function of the code as Python's own."""
        method = _MethodDef(b"kernel", self._engine.get_function_address(name), flags, None)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p)(
            ("PyCFunction_NewEx", ctypes.pythonapi)
        )
        # the built-in keeps its `self`, and so the code and its own definition, alive
        owner = (self._engine, method)
        call: Callable[..., Any] = make(method, owner, None)
        return call


class LoadedLoops(LoadedCode):
    """Functions with loops that were loaded; `entry` is that of `loops_ir`."""

    def __init__(self, object_file: bytes) -> None:
        super().__init__(object_file)
        with _llvm_lock:
            self._put({"py_true": id(True), "py_false": id(False), "incref": _incref()})
        self.entry = self._built_in("entry", _METH_O)


def _incref() -> int | None:
    return ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value


class NativeKernel(LoadedCode):
    """A kernel that was loaded."""

    def __init__(self, object_file: bytes, signature: Signature) -> None:
        self.signature = signature
        super().__init__(object_file)
        with _llvm_lock:
            self._link()
        arguments = [*signature.inputs, *signature.outputs]
        numbers = [ctypes.c_int64] * (1 + 2 * len(arguments))
        self._many = ctypes.CFUNCTYPE(ctypes.c_int32, *numbers)(self._engine.get_function_address("many"))
        self._repeat = ctypes.CFUNCTYPE(ctypes.c_int64, *numbers[: 1 + len(arguments)])(
            self._engine.get_function_address("repeat")
        )
        #: call(in..., out...) -> the last output, or None if it refuses
        self.call = self._built_in("call", _METH_FASTCALL)
        #: the same for some samples, with a leading axis; other threads wait meanwhile
        self.several = self._built_in("several", _METH_FASTCALL)

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """Run on `samples` >= 1 rows of (samples, ...) arrays; returns the status flags.

        The elements of one sample must be contiguous; samples may be any distance apart, also none
        (a broadcast array). Other Python threads run meanwhile.
        """
        return self.bound(inputs, outputs)(samples)

    def bound(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Callable[[int], int]:
        """`many` as a function of the number of samples, for the same arrays, which have to be kept alive."""
        places: list[int] = []
        for array, address in zip((*inputs, *outputs), self._addresses(inputs, outputs)):
            places += [address, array.strides[0] // array.itemsize if array.ndim else 0]
        return lambda samples: int(self._many(samples, *places))

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

    def _link(self) -> None:
        libm = ctypes.CDLL(ctypes.util.find_library("m"))
        self._put({
            "array_type": id(np.ndarray),
            "double_descr": id(np.dtype(np.float64)),
            "bool_descr": id(np.dtype(np.bool_)),
            "none": id(None),
            "incref": _incref(),
            "tanh_pointer": ctypes.cast(libm.tanh, ctypes.c_void_p).value,
        })  # fmt: skip


def _new_machine() -> Any:
    """An execution engine takes its target machine over, so each needs one of its own."""
    machine = _target()[0]
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        opt=1, reloc="pic", codemodel="small", jit=True
    )


__all__ = ["Argument", "LoadedLoops", "NativeKernel", "compile_object", "compile_text", "loops_problem", "target_name"]
