# SPDX-License-Identifier: Apache-2.0
"""How Python calls a kernel: like one of its own built-ins, which looks at its arguments itself."""

from __future__ import annotations

import functools

from rbd_dynamics.compiler.program import Signature

# offsets in PyObject and PyArrayObject (64 bit; the same in all NumPy versions)
_TYPE, _DATA, _NDIM, _SHAPE, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400


def emit_kernel_entry(signature: Signature, opaque: bool) -> str:
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
