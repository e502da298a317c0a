# SPDX-License-Identifier: Apache-2.0
"""Kernels of one robot: traced, compiled or loaded from the cache, behind one interface."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import logging
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from rbd_dynamics.common.extras import remedy
from rbd_dynamics.common.process.process_lock import ProcessLock
from rbd_dynamics.compiler import cache, notice
from rbd_dynamics.compiler.cached_only import about_to_compile
from rbd_dynamics.compiler.notes import LARGE, note_of
from rbd_dynamics.compiler.program import Argument, Function, Program, Signature, trace
from rbd_dynamics.compiler.python_source import emit_python, load_python
from rbd_dynamics.compiler.sources import compiler_digest
from rbd_dynamics.spatial.row_sweeps import finished

Backend = Literal["llvm", "python", "reference"]

#: held while code is made or read: several threads would make the same
compiler_lock = ProcessLock()
_log = logging.getLogger("rbd_dynamics")


class Kernel(Protocol):
    """A function of arrays; see `Robot` for what their shapes mean."""

    signature: Signature

    def call(self, *arrays: Any) -> Any:
        """The fast path for one sample: call(in..., out...) -> last output, or None: use `many`."""
        ...

    def several(self, *arrays: Any) -> Any:
        """The fast path for several samples: several(in..., out...) -> last output, or None: use `many`."""
        ...

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """Fill (samples, ...) outputs from (samples, ...) inputs; non-zero: the outputs do not count."""
        ...

    def complete(self) -> None:
        """Make what `several` and `many` need, unless it is there."""
        ...


def _in_double(row: np.ndarray, argument: Argument) -> np.ndarray:
    return row if argument.boolean else np.asarray(row, dtype=np.float64)


class FunctionKernel:
    """Runs a function of scalars, the algorithm itself or emitted source: one sample as floats, more as arrays.

    In double precision, also where the arrays are of another.
    """

    def __init__(self, function: Function, signature: Signature) -> None:
        self.signature = signature
        self._function = function

    def call(self, *arrays: Any) -> None:
        """There is no fast path."""

    several = call

    def complete(self) -> None:
        """There is nothing to make."""

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        rows = [
            array.reshape(samples if not argument.shared else 1, -1)
            for argument, array in zip(self.signature.inputs, inputs)
        ]
        with np.errstate(all="ignore"):
            if samples == 1:
                results = finished(self._function(*(row[0].tolist() for row in rows)))
            else:
                results = finished(
                    self._function(
                        *(
                            row[0].tolist() if argument.shared else list(_in_double(row, argument).T)
                            for argument, row in zip(self.signature.inputs, rows)
                        )
                    )
                )
            finite = True
            for argument, array, values in zip(self.signature.outputs, outputs, results):
                flat = array.reshape(samples, -1)
                for k in range(argument.size):
                    flat[:, k] = values[k]
                finite = finite and bool(np.isfinite(flat).all())
        checks = results[len(self.signature.outputs)] if len(results) > len(outputs) else ()
        inside = all(bool(np.all(np.abs(check) <= 1.0)) for check in checks)
        own = (a for argument, a in zip(self.signature.inputs, inputs) if not argument.shared)
        return 0 if finite and inside and all(np.isfinite(array).all() for array in own) else 1


def best_backend() -> Backend:
    """The compiled one where its compiler is installed and this interpreter is as it expects."""
    problem = why_no_machine_code()
    if problem is not None:
        _log.warning("no machine code, using the slower Python backend: %s", problem)
    return "llvm" if problem is None else "python"


def build(backend: Backend, name: str, signature: Signature, function: Function, *, batches: bool = True) -> Kernel:
    """The kernel of a function. `name` is for people; what the function computes decides which kernel it is.

    batches: also make the code for batches, which else is made when it is first needed.
    """
    if backend == "reference":
        return FunctionKernel(function, signature)
    if backend == "python":
        source = _Making("python", name, signature, function, rows=False).made(".py", _source)
        return FunctionKernel(load_python(source.decode()), signature)
    problem = why_no_machine_code()
    if problem is not None:
        raise RuntimeError(f"backend {backend!r} is not available: {problem}")
    return _machine_code(name, signature, function, batches)


def _source(program: Program) -> bytes:
    return emit_python(program).encode()


def _machine_code(name: str, signature: Signature, function: Function, batches: bool) -> Kernel:
    from rbd_dynamics.compiler import native

    def batch() -> bytes:
        return making.made(".many.o", lambda program: native.compile_object(program, batch=True))

    def later() -> bytes:
        with compiler_lock:
            return batch()

    with compiler_lock:
        making = _Making(native.target_name(), name, signature, function, rows=True)
        single = making.made(".o", lambda program: native.compile_object(program, batch=False))
        kernel = native.NativeKernel(single, later, signature)
        if batches:
            kernel.load_batches(batch())
        making.forget_program()
        return kernel


class _Making:
    """The code of a function, from the cache or made now. target: for what, in words."""

    def __init__(self, target: str, name: str, signature: Signature, function: Function, *, rows: bool) -> None:
        self._name, self._stem, self._made_by = name, name.partition(":")[0], f"{target} {compiler_digest()}"
        self._trace = functools.partial(trace, function, signature, rows=rows)
        self._program: Program | None = None
        note = note_of(self._stem, signature, function, rows=rows)
        known = note and note.program()
        self._digest = known or self._traced().digest
        if note and not known and len(self._traced().nodes) >= LARGE:
            note.keep(self._digest)

    def made(self, suffix: str, make: Callable[[Program], bytes]) -> bytes:
        code = cache.load(self._stem + suffix, f"{self._made_by} {self._digest}")
        if code is None:
            about_to_compile(self._name)
            program = self._traced()
            if suffix != ".py":
                notice.compiling(self._name, program.operations)
            code = make(program)
            cache.store(self._stem + suffix, f"{self._made_by} {program.digest}", code)
        return code

    def _traced(self) -> Program:
        if self._program is None:
            self._program = self._trace()
        return self._program

    def forget_program(self) -> None:
        """It takes much memory, and is seldom needed again."""
        self._program = None


def why_no_machine_code() -> str | None:
    """Why machine code cannot be used here, or None."""
    try:
        if importlib.util.find_spec("llvmlite") is None:
            raise ModuleNotFoundError(remedy("llvmlite"))
        from rbd_dynamics.compiler import native

        native.target_name()  # loads it
    except ImportError as error:
        return f"llvmlite is not installed ({error})"
    except OSError as error:
        return f"llvmlite cannot be loaded ({error})"
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it needs CPython with its global interpreter lock"
    probe = np.zeros((2, 3))
    expected = {8: id(np.ndarray), 16: probe.ctypes.data, 56: id(probe.dtype)}
    if sys.maxsize < 2**32 or any(
        ctypes.c_int64.from_address(id(probe) + offset).value != value for offset, value in expected.items()
    ):
        return "NumPy arrays have an unknown layout here"
    return None
