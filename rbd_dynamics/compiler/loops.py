# SPDX-License-Identifier: Apache-2.0
"""Machine code for iterations: functions with loops and branches, written in a small part of Python.

Kernels are straight lines of a known length; a solver that iterates over however many contacts there are is not. Such a
function is written once, over plain numbers, and is either run by Python as it stands or translated by
`emit_loops` (`loops_ir`):

- arguments are annotated `int`, `float`, `Array`, an array of float64 that is indexed by one whole number, `Table`, the
  same of int64, or `Kernel`, a kernel's function, or that of other loops; what is called from outside takes no `float`;
- assignments, `if`, `while`, `for ... in range(...)`, `break`, `return`; + - * /, comparisons, `and`, `or`, `not`;
- calls of `sqrt`, `abs`, `min` and `max` of two, of `run_kernel`, `run_single` and `run_bound`, and of other such
  functions that are given with it.

A name is of one type throughout. Functions return an int.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import logging
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler import backends, cache
from rbd_dynamics.compiler.cached_only import about_to_compile
from rbd_dynamics.compiler.loops_ir import emit_loops
from rbd_dynamics.compiler.sources import compiler_digest

if TYPE_CHECKING:
    from rbd_dynamics.compiler.native import LoadedLoops

Array = NDArray[np.float64]
Table = NDArray[np.int64]
Kernel = Callable[..., int]  # `BoundKernel.function`, or `Bound.function`
Argument = int | Array | Table | Kernel
_log = logging.getLogger("rbd_dynamics")


def run_kernel(kernel: Kernel, samples: int, places: Table, number: int) -> int:
    """The kernel's status. places: of each of its `number` arrays, a constant, as `NativeKernel.bound` has them."""
    return int(kernel(samples, *places[: 2 * number].tolist()))


def run_single(kernel: Kernel, places: Table, number: int) -> int:
    """The same of the kernel for one sample; places as `NativeKernel.bound_single` has them."""
    return int(kernel(*places[: 2 * number : 2].tolist()))


def run_bound(function: Kernel, plan: Table) -> int:
    """The result of other loops, `function` and `plan` of a `Bound`."""
    return int(function(plan.ctypes.data))


class Loops:
    """Functions with loops, the last of which is called; machine code where that can be had.

    Parameters:
        functions: in order of use: each may call those before it, by name, so that one may stand in for another.
        machine_code: compile, where llvmlite is new enough; else Python runs them.
    """

    def __init__(self, *functions: Callable[..., int], machine_code: bool) -> None:
        self._function = functions[-1]
        self._linked = linked(functions)
        parameters = inspect.signature(self._function).parameters.values()
        #: where the argument of a name stands
        self.positions = {each.name: k for k, each in enumerate(parameters)}
        self._types = [np.int64 if each.annotation in ("Table", Table) else np.float64 for each in parameters]
        self._code: LoadedLoops | None = None
        if machine_code:
            self._code = _load(functions)

    @property
    def compiled(self) -> bool:
        """Machine code runs, not Python."""
        return self._code is not None

    def bind(self, *arguments: Argument) -> Bound:
        """The call with these arguments; what arrays hold is read, and written, at each call.

        Raises TypeError for an array that is not contiguous float64, or int64 where a table is expected.
        """
        for position, value in enumerate(arguments):
            self.check(position, value)
        return Bound(self._linked, self._code, arguments)

    def bind_named(self, **arguments: Argument) -> Bound:
        """The same by the arguments' names."""
        return self.bind(*(arguments[name] for name in self.positions))

    def check(self, position: int, value: Argument) -> None:
        """Raise TypeError as `bind`, for the argument there."""
        wanted = self._types[position]
        if isinstance(value, np.ndarray) and not (value.dtype == wanted and value.flags.c_contiguous):
            raise TypeError(f"{self._function.__name__}: an array is not contiguous {wanted.__name__}")


def linked(functions: Sequence[Callable[..., int]]) -> Callable[..., int]:
    """The last function as Python runs it, with names in it and in those before it that mean these functions."""
    found: dict[str, Callable[..., int]] = {}
    for function in functions:
        assert isinstance(function, FunctionType)
        known = {**function.__globals__, **found}
        found[function.__name__] = FunctionType(function.__code__, known, function.__name__)
    return found[functions[-1].__name__]


class Bound:
    """A function with its arguments, which `run` keeps alive. `run()` is true where the result is not zero."""

    def __init__(self, function: Callable[..., int], code: LoadedLoops | None, arguments: tuple[Argument, ...]) -> None:
        #: what the machine code reads, whole numbers and addresses, and behind them its result
        self.plan = np.zeros(len(arguments) + 1, dtype=np.int64)
        self._flat = [value.reshape(-1) if isinstance(value, np.ndarray) else value for value in arguments]
        self._function, self._code = function, code
        self._arrays: dict[int, Array] = {}  # alive
        self.run: Callable[[], bool] = self._run_python
        if code is not None:
            self.plan[:-1] = list(map(_number, arguments))
            call = functools.partial(code.entry, self.plan)
            vars(call)["keeps"] = arguments  # alive, also where only `run` is kept
            self.run = call

    def set(self, position: int, value: int) -> None:
        """Another whole number, for the argument there."""
        self._flat[position] = self.plan[position] = value

    def place(self, position: int, array: Array) -> None:
        """Another array, of as much as is read there, for the argument there."""
        self._flat[position] = array.reshape(-1)
        self.plan[position] = array.ctypes.data
        self._arrays[position] = array

    def run_aside(self) -> int:
        """The result; other Python threads run meanwhile."""
        if self._code is None:
            self._run_python()
            return self.result
        return int(self._code.plain(self.plan.ctypes.data))

    @property
    def function(self) -> Kernel:
        """Called with the address of `plan`, while this object is alive. Raises RuntimeError without machine code."""
        if self._code is None:
            raise RuntimeError("no machine code")
        return self._code.plain

    @property
    def result(self) -> int:
        """Result of the last run."""
        return int(self.plan[-1])

    def _run_python(self) -> bool:
        self.plan[-1] = self._function(*self._flat)
        return bool(self.plan[-1])


def _number(argument: Argument) -> int:
    """What stands for it in a plan: itself, or its address."""
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data
    if callable(argument):
        return ctypes.cast(argument, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
    return argument


@functools.cache
def _warn(problem: str) -> None:
    """Once per process."""
    _log.warning("no machine code for loops, Python runs them: %s", problem)


def _load(functions: tuple[Callable[..., int], ...]) -> LoadedLoops | None:
    from rbd_dynamics.compiler import native

    name = functions[-1].__name__
    key = f"{native.target_name()} {compiler_digest()} {_digest(functions)}"
    with backends.compiler_lock:
        code = cache.load(f"{name}.o", key)
        if code is None:
            problem = native.loops_problem()
            if problem is not None:
                _warn(problem)
                return None
            about_to_compile(name)
            code = native.compile_text("\n".join(emit_loops(functions)))
            cache.store(f"{name}.o", key, code)
        return native.LoadedLoops(code)


def _digest(functions: Sequence[Callable[..., int]]) -> str:
    """A digest of all that decides about their machine code; to write that as IR would take longer than to load it."""
    parts = []
    for function in functions:
        assert isinstance(function, FunctionType)
        code, known = function.__code__, function.__globals__
        numbers = {name: known[name] for name in code.co_names if isinstance(known.get(name), (int, float))}
        types = {name: str(kind) for name, kind in function.__annotations__.items()}
        parts.append((code.co_name, code.co_code, code.co_consts, code.co_names, code.co_varnames, types, numbers))
    return hashlib.sha256(repr(parts).encode()).hexdigest()
