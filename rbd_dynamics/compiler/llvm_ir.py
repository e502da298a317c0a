# SPDX-License-Identifier: Apache-2.0
"""Emitter to LLVM IR: the traced program as machine-independent code for one sample and for a batch.

Three functions come out of one program, the last by itself, for it takes as long to compile as the others:

    i32 @one(double* in..., double* out...)
    i64 @repeat(i64 n, double* in..., double* out...)    n times, where outputs are inputs; how often it went well
    i32 @many(i64 n, {double*, i64 stride}... )    strides in elements from sample to sample

`@many` computes as many samples at a time as a vector register holds, so nothing is left to an
auto-vectoriser. It and `@one` return 0, or a sum of the flags of `llvm_function`; then the outputs are not to be used.
No fast-math flags but `contract` (fused multiply-add): a NaN comes out as a NaN.
"""

from __future__ import annotations

from rbd_dynamics.compiler.llvm_many import Many
from rbd_dynamics.compiler.llvm_one import One
from rbd_dynamics.compiler.program import Program


def emit_llvm(program: Program, width: int, opaque_pointers: bool = True, *, batch: bool) -> str:
    """IR of `@one` and `@repeat`, or of `@many`, for vectors of `width` doubles."""
    head = [
        "declare double @llvm.sqrt.f64(double)",
        f"declare <{width} x double> @llvm.sqrt.v{width}f64(<{width} x double>)",
        "declare double @llvm.fabs.f64(double)",
        f"declare <{width} x double> @llvm.fabs.v{width}f64(<{width} x double>)",
        "@tanh_pointer = global i64 0",
    ]
    pointer = "ptr" if opaque_pointers else "double*"
    made = Many if batch else One
    return "\n".join([*head, *made(program, width, pointer).emit()])
