# SPDX-License-Identifier: Apache-2.0
"""Emitter to LLVM IR: the traced program as machine-independent code for one sample and for a batch.

Three functions come out of one program, the last by itself, for it takes as long to compile as the others:

    i32 @one(real* in..., real* out...)
    i64 @repeat(i64 n, real* in..., real* out...)    n times, where outputs are inputs; how often it went well
    i32 @many(i64 n, {real*, i64 stride}... )    strides in elements from sample to sample

where `real` is double or, in single precision, float.

`@many` computes as many samples at a time as a vector register holds, so nothing is left to an
auto-vectoriser. It and `@one` return 0, or a sum of the flags of `function`; then the outputs are not to be used.
No fast-math flags but `contract` (fused multiply-add): a NaN comes out as a NaN.
"""

from __future__ import annotations

from rbd_dynamics.compiler.llvm.code import Code, Machine
from rbd_dynamics.compiler.llvm.many import Many
from rbd_dynamics.compiler.llvm.one import One
from rbd_dynamics.compiler.program import Program


def emit_llvm(program: Program, machine: Machine, *, batch: bool) -> str:
    """IR of `@one` and `@repeat`, or of `@many`."""
    kinds = [Code(lanes, machine) for lanes in (1, machine.width)]
    head = [f"declare {one.type} @llvm.{name}.{one.suffix}({one.type})" for one in kinds for name in ("sqrt", "fabs")]
    some, mask = kinds[1], f"<{machine.width} x i1>"
    head += [
        f"declare {some.type} @llvm.masked.load.{some.masked}({some.vectors}, i32, {mask}, {some.type})",
        f"declare void @llvm.masked.store.{some.masked}({some.type}, {some.vectors}, i32, {mask})",
    ]
    made = Many if batch else One
    return "\n".join([*head, "@tanh_pointer = global i64 0", *made(program, machine).emit()])
