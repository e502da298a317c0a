# SPDX-License-Identifier: Apache-2.0
"""A program as a function of CUDA C++ for one sample, and as a kernel for batches, one sample a thread.

The same text is C++ for the processor where no compiler of CUDA reads it: a kernel then is a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.compiler.precision import Precision
from rbd_dynamics.export.c_code import (
    GUARD,
    SEPARATE,
    CFunction,
    macros,
    output_name,
    sines_and_cosines,
    sum_function,
)

THREADS = 128  # of a block


class CudaFunction(CFunction):
    """The text of one kernel for the device and for the host."""

    linkage, part, restrict = "ON_BOTH inline ", "ON_BOTH SEPARATE ", "__restrict"

    def batch_parameters(self) -> list[str]:
        """Parameters of a kernel for batches: rows of arrays, from sample to sample."""
        given = [
            text
            for own in self.program.signature.inputs
            for text in (f"const {self.type_of(own)} *{own.name}", f"long long {own.name}_stride")
        ]
        return ["long long count", *given, *self._results(), "unsigned char *status"]

    def batch_arguments(self) -> list[str]:
        """Names of the same."""
        return [parameter.rpartition(" ")[2].lstrip("*") for parameter in self.batch_parameters()]

    def batch(self, name: str, namespace: str) -> str:
        """The kernel for batches. What cannot be computed is NaN, and only that sample; its status says why."""
        signature = self.program.signature
        rows = [f"{own.name} + sample * {own.name}_stride" for own in signature.inputs]
        outputs = [(output_name(own, self._inputs), own.size) for own in signature.outputs]
        rows += [f"{own} + sample * {size}" for own, size in outputs]
        return "\n".join([
            f"KERNEL {name}({', '.join(self.batch_parameters())})",
            "{",
            "    EACH_SAMPLE(sample, count) {",
            f"        const int found = {namespace}::{self.name}({', '.join(rows)});",
            "        if (found != 0) {",
            *(f"            for (int i = 0; i < {size}; ++i) {own}[sample * {size} + i] = SQRT(({self.real})-1);"
              for own, size in outputs),
            "        }",
            "        if (status) status[sample] = (unsigned char)found;",
            "    }",
            "}",
            "",
        ])  # fmt: skip

    def _results(self) -> list[str]:
        return [f"{self.real} *{output_name(own, self._inputs)}" for own in self.program.signature.outputs]


def functions_text(functions: Sequence[CudaFunction], namespace: str, real: str, precision: Precision) -> str:
    """All functions for one sample, in a namespace, with what they share."""
    parts = [
        GUARD,
        _MACROS,
        macros(precision),
        f"\nnamespace {namespace}\n{{\n",
        sines_and_cosines(real, precision, "ON_BOTH inline "),
        sum_function(real, "ON_BOTH inline "),
        *(function.text() for function in functions),
        f"}} /* namespace {namespace} */\n",
    ]
    return "\n".join(parts)


_MACROS = f"""\
#if defined(__CUDACC__)
#define ON_BOTH __host__ __device__ static
#define SEPARATE __noinline__
#else
#define ON_BOTH static
{SEPARATE}
#endif"""

#: what kernels for batches are made of
KERNELS = f"""\
#define THREADS {THREADS}
#if defined(__CUDACC__)
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)
#define EACH_SAMPLE(k, count) \\
    for (long long k = (long long)blockIdx.x * THREADS + threadIdx.x; k < (count); k += (long long)gridDim.x * THREADS)
#else
#define KERNEL extern "C" void
#define EACH_SAMPLE(k, count) for (long long k = 0; k < (count); ++k)
#endif
"""
