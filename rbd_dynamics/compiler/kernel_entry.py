# SPDX-License-Identifier: Apache-2.0
"""How Python calls a kernel: like one of its own built-ins, which looks at its arguments itself."""

from __future__ import annotations

import math

from rbd_dynamics.compiler.program import Argument, Signature

# offsets in PyObject and PyArrayObject (64 bit; the same in all NumPy versions)
_TYPE, _DATA, _NDIM, _SHAPE, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
FEW = 64  # samples, up to which Python's lock is kept: to give it away and take it back would cost more


def emit_kernel_entry(signature: Signature, opaque: bool, *, batch: bool) -> str:
    """IR of `call(self, args, nargs)` for one sample, or `several(self, args, nargs)` for some: CPython's vector calls.

    Both refuse what does not fit by returning None, else they return the last output. `several` wants a leading axis
    of the outputs, which at least one input has; and that no output is where another array is. Unless there are few
    samples, other Python threads run meanwhile.
    """
    names = ("array_type", "real_descr", "bool_descr", "none", "incref", "save_thread", "restore_thread")
    entry = _Entry(signature, opaque, leading=batch).emit()
    return "\n".join([*(f"@{name} = global i64 0" for name in names), entry, ""])


class _Entry:
    """One of the two functions. leading: the one for several samples."""

    def __init__(self, signature: Signature, opaque: bool, leading: bool) -> None:
        self._signature, self._opaque, self._leading = signature, opaque, leading
        self._lines: list[str] = []
        self._counter = self._labels = 0
        self._real = signature.precision

    def emit(self) -> str:
        signature, pointer = self._signature, "ptr" if self._opaque else "i8*"
        arguments = [*signature.inputs, *signature.outputs]
        array_type = self._global("array_type")
        descr = {False: self._global("real_descr"), True: self._global("bool_descr")}
        self._require(self._let(f"icmp eq i64 %nargs, {len(arguments)}"))
        base = self._let(f"ptrtoint {pointer} %args to i64")
        arrays = []
        for k, argument in enumerate(arguments):
            array = self._load("i64", base, 8 * k)
            self._require(self._let(f"icmp eq i64 {self._load('i64', array, _TYPE)}, {array_type}"))
            flags = _C_CONTIGUOUS | _ALIGNED | (_WRITEABLE if k >= len(signature.inputs) else 0)
            present = self._let(f"and i32 {self._load('i32', array, _FLAGS)}, {flags}")
            right = self._let(f"icmp eq i64 {self._load('i64', array, _DESCR)}, {descr[argument.boolean]}")
            self._require(self._let(f"and i1 {right}, {self._let(f'icmp eq i32 {present}, {flags}')}"))
            arrays.append(array)
        if self._leading:
            status = self._without_lock(self._several(arrays))
        else:
            status = self._let(f"call i32 @one({', '.join(self._single(arrays))})")
        self._require(self._let(f"icmp eq i32 {status}, 0"))
        self._lines += ["  br label %accept", "accept:", "  br label %leave", "refuse:"]
        none = self._global("none")
        self._lines += ["  br label %leave", "leave:"]
        result = self._let(f"phi i64 [ {arrays[-1]}, %accept ], [ {none}, %refuse ]")
        target = "ptr" if self._opaque else "void (i8*)*"
        incref = self._let(f"inttoptr i64 {self._global('incref')} to {target}")
        handle = self._let(f"inttoptr i64 {result} to {pointer}")
        self._lines.append(f"  call void {incref}({pointer} {handle})")
        name = "several" if self._leading else "call"
        return "\n".join([
            f"define {pointer} @{name}({pointer} %self, {pointer} %args, i64 %nargs) {{",
            *self._lines,
            f"  ret {pointer} {handle}",
            "}",
        ])  # fmt: skip

    def _without_lock(self, given: list[str]) -> str:
        """The status of `@many`, which has Python's lock only for few samples."""
        few = self._let(f"icmp sle {given[0]}, {FEW}")
        many = f"call i32 @many({', '.join(given)})"
        handle, at = ("ptr", ("ptr", "ptr")) if self._opaque else ("i8*", ("i8* ()*", "void (i8*)*"))
        save, restore = (
            self._let(f"inttoptr i64 {self._global(name)} to {kind}")
            for name, kind in zip(("save_thread", "restore_thread"), at)
        )
        self._lines += [f"  br i1 {few}, label %few, label %long", "few:"]
        short = self._let(many)
        self._lines += ["  br label %computed", "long:"]
        thread = self._let(f"call {handle} {save}()")
        long = self._let(many)
        self._lines += [f"  call void {restore}({handle} {thread})", "  br label %computed", "computed:"]
        return self._let(f"phi i32 [ {short}, %few ], [ {long}, %long ]")

    def _single(self, arrays: list[str]) -> list[str]:
        """What `@one` takes."""
        given = []
        for array, argument in zip(arrays, [*self._signature.inputs, *self._signature.outputs]):
            self._require(self._let(f"icmp eq i32 {self._load('i32', array, _NDIM)}, {len(argument.shape)}"))
            shape = self._load("i64", array, _SHAPE) if argument.shape else ""
            self._require_extents(shape, argument.shape)
            given.append(self._data(array, argument))
        return given

    def _several(self, arrays: list[str]) -> list[str]:
        """What `@many` takes. The number of samples is that of the last output."""
        inputs = len(self._signature.inputs)
        self._require(
            self._let(
                f"icmp eq i32 {self._load('i32', arrays[-1], _NDIM)}, {len(self._signature.outputs[-1].shape) + 1}"
            )
        )
        samples = self._load("i64", self._load("i64", arrays[-1], _SHAPE))
        self._require(self._let(f"icmp sgt i64 {samples}, 0"))
        given, ranges, led = [f"i64 {samples}"], [], "false"
        for k, (array, argument) in enumerate(zip(arrays, [*self._signature.inputs, *self._signature.outputs])):
            axes, size = len(argument.shape), math.prod(argument.shape)
            width = size * (1 if argument.boolean else self._real.bits // 8)
            found = self._load("i32", array, _NDIM)
            leads = self._let(f"icmp eq i32 {found}, {axes + 1}")
            bare = self._let(f"icmp eq i32 {found}, {axes}")
            if argument.shared:
                self._require(bare)
                if axes:
                    self._require_extents(self._load("i64", array, _SHAPE), argument.shape)
                given += [self._data(array, argument), "i64 0"]
                ranges.append(self._range(array, str(width)))
                continue
            if k < inputs:
                led = self._let(f"or i1 {led}, {leads}")
            # a single number has no shape to look at
            alone = k < inputs and axes > 0
            self._require(self._let(f"or i1 {leads}, {bare}") if alone else leads)
            shape = self._load("i64", array, _SHAPE)
            count = self._let(f"select i1 {leads}, i64 {self._load('i64', shape)}, i64 {samples}")
            self._require(self._let(f"icmp eq i64 {count}, {samples}"))
            self._require_extents(self._let(f"add i64 {shape}, {self._let(f'select i1 {leads}, i64 8, i64 0')}"),
                                  argument.shape)  # fmt: skip
            given += [self._data(array, argument), f"i64 {self._let(f'select i1 {leads}, i64 {size}, i64 0')}"]
            rows = self._let(f"select i1 {leads}, i64 {samples}, i64 1")
            ranges.append(self._range(array, self._let(f"mul i64 {rows}, {width}")))
        self._require(led)
        for k in range(inputs, len(ranges)):
            for other in ranges[:k]:
                self._require_apart(ranges[k], other)
        return given

    def _range(self, array: str, width: str) -> tuple[str, str]:
        """First address, and the one after the last."""
        start = self._load("i64", array, _DATA)
        return start, self._let(f"add i64 {start}, {width}")

    def _require_apart(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        before = self._let(f"icmp ule i64 {one[1]}, {other[0]}")
        after = self._let(f"icmp ule i64 {other[1]}, {one[0]}")
        self._require(self._let(f"or i1 {before}, {after}"))

    def _require_extents(self, shape: str, extents: tuple[int, ...]) -> None:
        for axis, extent in enumerate(extents):
            self._require(self._let(f"icmp eq i64 {self._load('i64', shape, 8 * axis)}, {extent}"))

    def _data(self, array: str, argument: Argument) -> str:
        """Pointer to the numbers of an array, with the type."""
        target = "ptr" if self._opaque else ("i8*" if argument.boolean else f"{self._real.scalar}*")
        start = self._load("i64", array, _DATA)
        return f"{target} {self._let(f'inttoptr i64 {start} to {target}')}"

    def _let(self, expression: str) -> str:
        self._counter += 1
        self._lines.append(f"  %c{self._counter} = {expression}")
        return f"%c{self._counter}"

    def _load(self, kind: str, address: str, offset: int = 0) -> str:
        """A value of that type at an integer address."""
        at = self._let(f"add i64 {address}, {offset}") if offset else address
        source = "ptr" if self._opaque else f"{kind}*"
        return self._let(f"load {kind}, {source} {self._let(f'inttoptr i64 {at} to {source}')}")

    def _global(self, name: str) -> str:
        return self._let(f"load i64, {'ptr' if self._opaque else 'i64*'} @{name}")

    def _require(self, condition: str) -> None:
        self._labels += 1
        self._lines += [f"  br i1 {condition}, label %go{self._labels}, label %refuse", f"go{self._labels}:"]
