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

from rbd_dynamics.compiler.llvm_ir import emit_llvm
from rbd_dynamics.compiler.process_lock import QuietLock
from rbd_dynamics.compiler.program import Argument, Program, Signature

# offsets in PyObject and PyArrayObject (64 bit; the same in all NumPy versions)
_TYPE, _DATA, _NDIM, _SHAPE, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_METH_FASTCALL = 0x80

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
    """The object file of a program: kernels `one`, `many` and the entry `call` for Python."""
    machine, width, _ = _target()
    opaque = llvm.llvm_version_info[0] >= 15
    text = emit_llvm(program, width, opaque) + "\n" + _emit_entry(program.signature, opaque)
    with _llvm_lock:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        return bytes(machine.emit_object(module))


class NativeKernel:
    """A loaded object file. Keeps the machine code alive as long as it can be called."""

    def __init__(self, object_file: bytes, signature: Signature) -> None:
        self.signature = signature
        with _llvm_lock:
            machine = _new_machine()
            module = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
            self._engine.finalize_object()
            self._link()
        arguments = [*signature.inputs, *signature.outputs]
        self._many = ctypes.CFUNCTYPE(ctypes.c_int32, *([ctypes.c_int64] * (1 + 2 * len(arguments))))(
            self._engine.get_function_address("many")
        )
        #: call(in..., out...) -> the last output, or None if it refuses
        self.call = self._entry_point(signature)

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """Run on `samples` >= 1 rows of (samples, ...) arrays; returns the status flags.

        The elements of one sample must be contiguous; samples may be any distance apart, also none
        (a broadcast array). Other Python threads run meanwhile.
        """
        arguments: list[int] = [samples]
        for array in (*inputs, *outputs):
            arguments += [array.ctypes.data, array.strides[0] // array.itemsize]
        return int(self._many(*arguments))

    def _link(self) -> None:
        """Give the code the addresses that differ from process to process."""
        api = ctypes.pythonapi
        libm = ctypes.CDLL(ctypes.util.find_library("m"))
        addresses = {
            "array_type": id(np.ndarray),
            "double_descr": id(np.dtype(np.float64)),
            "bool_descr": id(np.dtype(np.bool_)),
            "none": id(None),
            "incref": ctypes.cast(api.Py_IncRef, ctypes.c_void_p).value,
            "tanh_pointer": ctypes.cast(libm.tanh, ctypes.c_void_p).value,
        }
        for name, address in addresses.items():
            slot = ctypes.c_int64.from_address(self._engine.get_global_value_address(name))
            slot.value = address or 0

    def _entry_point(self, signature: Signature) -> Callable[..., Any]:
        method = _MethodDef(b"kernel", self._engine.get_function_address("call"), _METH_FASTCALL, None)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p)(
            ("PyCFunction_NewEx", ctypes.pythonapi)
        )
        # the built-in keeps its `self`, and so the code and its own definition, alive
        owner = (self._engine, method)
        call: Callable[..., Any] = make(method, owner, None)
        return call


def _new_machine() -> Any:
    """An execution engine takes its target machine over, so each needs one of its own."""
    machine = _target()[0]
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        opt=1, reloc="pic", codemodel="small", jit=True
    )


def _emit_entry(signature: Signature, opaque: bool) -> str:
    """IR of `call(self, args, nargs)` in CPython's vector call convention."""
    pointer = "ptr" if opaque else "i8*"

    lines: list[str] = []
    counter = 0

    def let(expression: str) -> str:
        nonlocal counter
        counter += 1
        lines.append(f"  %c{counter} = {expression}")
        return f"%c{counter}"

    def load(kind: str, address: str, offset: int = 0) -> str:
        """A value of that type at an integer address."""
        at = let(f"add i64 {address}, {offset}") if offset else address
        source = "ptr" if opaque else f"{kind}*"
        return let(f"load {kind}, {source} {let(f'inttoptr i64 {at} to {source}')}")

    def global_(name: str) -> str:
        return let(f"load i64, {'ptr' if opaque else 'i64*'} @{name}")

    arguments = [*signature.inputs, *signature.outputs]
    array_type = global_("array_type")
    descr = {False: global_("double_descr"), True: global_("bool_descr")}

    def require(condition: str, label: str) -> None:
        lines.append(f"  br i1 {condition}, label %{label}, label %refuse")
        lines.append(f"{label}:")

    require(let(f"icmp eq i64 %nargs, {len(arguments)}"), "counted")
    base = let("ptrtoint " + ("ptr" if opaque else "i8*") + " %args to i64")
    data, last = [], ""
    for k, argument in enumerate(arguments):
        last = load("i64", base, 8 * k)
        require(let(f"icmp eq i64 {load('i64', last, _TYPE)}, {array_type}"), f"is_array{k}")
        flags = _C_CONTIGUOUS | _ALIGNED | (_WRITEABLE if k >= len(signature.inputs) else 0)
        present = let(f"and i32 {load('i32', last, _FLAGS)}, {flags}")
        checks = [
            let(f"icmp eq i64 {load('i64', last, _DESCR)}, {descr[argument.boolean]}"),
            let(f"icmp eq i32 {present}, {flags}"),
            let(f"icmp eq i32 {load('i32', last, _NDIM)}, {len(argument.shape)}"),
        ]
        require(functools.reduce(lambda a, b: let(f"and i1 {a}, {b}"), checks), f"is_double{k}")
        shape = load("i64", last, _SHAPE) if argument.shape else ""
        for axis, extent in enumerate(argument.shape):
            require(let(f"icmp eq i64 {load('i64', shape, 8 * axis)}, {extent}"), f"fits{k}_{axis}")
        target = "ptr" if opaque else ("i8*" if argument.boolean else "double*")
        start = load("i64", last, _DATA)
        data.append(f"{target} {let(f'inttoptr i64 {start} to {target}')}")
    status = let(f"call i32 @one({', '.join(data)})")
    require(let(f"icmp eq i32 {status}, 0"), "accept")
    lines.append("  br label %leave")
    lines.append("refuse:")
    none = global_("none")
    lines.append("  br label %leave")
    lines.append("leave:")
    result = let(f"phi i64 [ {last}, %accept ], [ {none}, %refuse ]")
    target = "ptr" if opaque else "void (i8*)*"
    incref = let(f"inttoptr i64 {global_('incref')} to {target}")
    handle = let(f"inttoptr i64 {result} to {pointer}")
    lines.append(f"  call void {incref}({pointer} {handle})")
    names = ("array_type", "double_descr", "bool_descr", "none", "incref")
    return "\n".join([
        *(f"@{name} = global i64 0" for name in names),
        f"define {pointer} @call({pointer} %self, {pointer} %args, i64 %nargs) {{",
        *lines,
        f"  ret {pointer} {handle}",
        "}",
        "",
    ])  # fmt: skip


__all__ = ["Argument", "NativeKernel", "compile_object", "target_name"]
