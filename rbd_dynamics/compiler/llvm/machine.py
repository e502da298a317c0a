# SPDX-License-Identifier: Apache-2.0
"""What needs LLVM: object files out of its IR, and the loading of object files.

LLVM is loaded by the first call, for it is larger than all else in a process that only runs kernels.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from rbd_dynamics.common.process.process_lock import QuietLock
from rbd_dynamics.compiler.kernel_entry import emit_kernel_entry
from rbd_dynamics.compiler.llvm.code import Machine
from rbd_dynamics.compiler.llvm.ir import emit_llvm
from rbd_dynamics.compiler.precision import DOUBLE
from rbd_dynamics.compiler.program import Program

#: of LLVM: the first whose pointers have no types. LLVM 15 knows both kinds, but llvmlite 0.44 asks it for types
OPAQUE = 16
#: LLVM's contexts are not for several threads at once, and llvmlite has a lock of its own, which a fork must find free
llvm_lock = QuietLock()


@functools.cache
def _target() -> tuple[Any, int, str]:
    """The machine to compile for, the doubles in its vector register, and a text that names both."""
    with llvm_lock:
        return _new_target()


def _new_target() -> tuple[Any, int, str]:
    import llvmlite.binding as llvm

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


def compile_object(program: Program, *, batch: bool) -> bytes:
    """An object file of a program: `one`, `repeat` and the entry `call` for Python, or `many` and `several`."""
    import llvmlite.binding as llvm

    _, doubles, _ = _target()
    opaque, precision = llvm.llvm_version_info[0] >= OPAQUE, program.signature.precision
    width = doubles * DOUBLE.bits // precision.bits
    code = emit_llvm(program, Machine(width, "ptr" if opaque else f"{precision.scalar}*", precision), batch=batch)
    return _emitted(code + "\n" + emit_kernel_entry(program.signature, opaque, batch=batch), passes=False)


def compile_text(text: str) -> bytes:
    """The object file of IR that is to go through LLVM's passes: with names on the stack, loops, functions to inline.

    Its pointers are opaque, see `loops_problem`.
    """
    return _emitted(text, passes=True)


class Processor(NamedTuple):
    """One to compile for that need not be this one, in LLVM's words; abi: of calls, where the triple leaves it open."""

    triple: str
    cpu: str = ""
    features: str = ""
    abi: str = ""
    relocation: str = "pic"


def compile_for(text: str, processor: Processor) -> bytes:
    """The object file of IR, through LLVM's passes, for any processor that llvmlite knows; see `loops_problem`."""
    import llvmlite.binding as llvm

    with llvm_lock:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple(processor.triple).create_target_machine(
            cpu=processor.cpu,
            features=processor.features,
            opt=2,
            reloc=processor.relocation,
            codemodel="default",
            abiname=processor.abi,
        )
        module = llvm.parse_assembly(text)
        module.triple = processor.triple
        module.data_layout = str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


def loops_problem() -> str | None:
    """Why `compile_text` cannot be used here, or None."""
    import llvmlite.binding as llvm

    if llvm.llvm_version_info[0] < OPAQUE or not hasattr(llvm, "create_pass_builder"):
        return f"llvmlite with LLVM {llvm.llvm_version_info[0]} is too old for loops: 0.45 is the first that is not"
    return None


def _emitted(text: str, *, passes: bool) -> bytes:
    import llvmlite.binding as llvm

    machine = _target()[0]
    with llvm_lock:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        if passes:
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
            builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


class MachineImage:
    """An object file in memory, by LLVM."""

    def __init__(self, object_file: bytes) -> None:
        import llvmlite.binding as llvm

        with llvm_lock:
            machine = _new_machine()
            module = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Address of a function or a variable."""
        with llvm_lock:
            return int(self._engine.get_function_address(name) or self._engine.get_global_value_address(name))


def _new_machine() -> Any:
    """An execution engine takes its target machine over, so each needs one of its own."""
    import llvmlite.binding as llvm

    machine = _target()[0]
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        opt=1, reloc="pic", codemodel="small", jit=True
    )
