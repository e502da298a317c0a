# SPDX-License-Identifier: Apache-2.0
"""What an export has for CUDA: functions for one sample, kernels for batches, their header and self-test."""

from __future__ import annotations

from rbd_dynamics.export.c_code import output_name
from rbd_dynamics.export.cuda_code import KERNELS, CudaFunction, functions_text
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.header import comment
from rbd_dynamics.export.selection import Selected
from rbd_dynamics.export.texts import kernel_text


def cuda_files(robot: Exported) -> dict[str, str | bytes]:
    """{path: content}."""
    prefix = robot.prefix
    functions = [CudaFunction(k.program, k.identifier, robot.real, robot.precision) for k in robot.kernels]
    return {
        f"cuda/{prefix}.cuh": _functions(robot, functions),
        f"cuda/{prefix}_cuda.h": _header(robot, functions),
        f"cuda/{prefix}.cu": _kernels(robot, functions),
        f"cuda/{prefix}_self_test.cu": _self_test(robot, functions),
    }


def cuda_read_me(robot: Exported) -> str:
    """How the files are compiled."""
    prefix = robot.prefix
    return f"""
For CUDA, in `cuda/`: `{prefix}.cuh` has `{prefix}_device::NAME`, functions for one sample, which kernels of your
own call; `{prefix}.cu` and `{prefix}_cuda.h` have `{prefix}_cuda_NAME`, which start a kernel for a batch, one sample a
thread. Arrays are rows, one sample after the other, as NumPy has them. With the self-test, for compute capability
9.0, and for a processor without CUDA:

```
nvcc -O3 -arch=sm_90 -Iinclude cuda/{prefix}.cu cuda/{prefix}_self_test.cu -o self_test && ./self_test
g++ -O1 -Iinclude -x c++ cuda/{prefix}.cu cuda/{prefix}_self_test.cu -o self_test && ./self_test
```

Never with `-use_fast_math`.
"""


def _functions(robot: Exported, functions: list[CudaFunction]) -> str:
    prefix, guard = robot.prefix, f"{robot.capital}_CUH"
    text = functions_text(functions, f"{prefix}_device", robot.real, robot.precision)
    undefined = "\n".join(f"#undef {name}" for name in ("ON_BOTH", "SEPARATE", "FABS", "SQRT", "TANH", "SIN", "COS"))
    return f"""\
/* {robot.origin}
   Functions for one sample, for kernels of CUDA and, compiled as C++ without CUDA, for the processor. Arguments and
   status are those of {prefix}.h, where each function is described. */
#ifndef {guard}
#define {guard}

#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

typedef {robot.precision.scalar} {robot.real};

{text}
{undefined}

#endif /* {guard} */
"""


def _header(robot: Exported, functions: list[CudaFunction]) -> str:
    guard = f"{robot.capital}_CUDA_H"
    declared = "\n".join(
        f"{comment([f'{kernel.name}: {kernel_text(kernel.name)}', *_sizes(kernel)])}\n{_launcher(robot, function)};\n"
        for kernel, function in zip(robot.kernels, functions)
    )
    return f"""\
/* {robot.origin}

   Each function starts a kernel for `count` samples on a stream of CUDA (a cudaStream_t; 0: the default one) and
   returns CUDA's error, 0 where there is none; it does not wait. Pointers are to memory of the device. Samples are
   rows, one behind the other, as NumPy has them. An input's stride is how many numbers its next sample is away: as
   many as a sample has, or 0 where all samples have the same. A sample that cannot be computed is NaN in all
   results; status (count), which may be 0, says why, as in {robot.prefix}.h. Each sample is one thread's, derivatives
   too. Compiled without CUDA, pointers are to the processor's memory, and the call computes. */
#ifndef {guard}
#define {guard}

#include "{robot.prefix}.h"

#ifdef __cplusplus
extern "C" {{
#endif

struct CUstream_st;

{declared}
#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""


def _sizes(kernel: Selected) -> list[str]:
    inputs = [own.name for own in kernel.signature.inputs]
    given = ", ".join(f"{own.name} {own.size}" for own in kernel.signature.inputs)
    found = ", ".join(f"{output_name(own, inputs)} {own.size}" for own in kernel.signature.outputs)
    return [f"  numbers of a sample: {given}; out: {found}"]


def _launcher(robot: Exported, function: CudaFunction) -> str:
    parameters = ", ".join([*function.batch_parameters(), "struct CUstream_st *stream"])
    return f"int {robot.prefix}_cuda_{function.name}({parameters})"


def _kernels(robot: Exported, functions: list[CudaFunction]) -> str:
    prefix = robot.prefix
    parts = []
    for function in functions:
        name = f"{prefix}_{function.name}_kernel"
        given = ", ".join(function.batch_arguments())
        parts.append(function.batch(name, f"{prefix}_device"))
        parts.append(f'extern "C" {_launcher(robot, function)}\n{{\n    LAUNCH({name}, count, stream, {given});\n}}\n')
    suffix = "" if robot.precision.bits == 64 else "f"
    return f"""\
/* {robot.origin} Kernels for batches. */
#include "{prefix}.cuh"
#include "{prefix}_cuda.h"

#define SQRT sqrt{suffix}
{KERNELS}
#if defined(__CUDACC__)
#define LAUNCH(kernel, count, stream, ...) \\
    if ((count) > 0) kernel<<<blocks_of(count), THREADS, 0, stream>>>(__VA_ARGS__); \\
    return (int)cudaGetLastError()

static unsigned int blocks_of(long long count)
{{
    const long long blocks = (count + THREADS - 1) / THREADS;
    return (unsigned int)(blocks < 1048576 ? blocks : 1048576);
}}
#else
#define LAUNCH(kernel, count, stream, ...) \\
    (void)(stream); \\
    kernel(__VA_ARGS__); \\
    return 0
#endif

{chr(10).join(parts)}"""


def _self_test(robot: Exported, functions: list[CudaFunction]) -> str:
    prefix, real = robot.prefix, robot.real
    parts = [_stand_in(robot, function) for function in functions]
    return f"""\
/* {robot.origin}
   Self-test on the device: that of the C functions, whose place kernels for batches take here. Each sample is computed
   {_COPIES} times, by as many threads, which have to agree; one sample in the midst is bad, and has to be NaN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "{prefix}_cuda.h"

#define COPIES {_COPIES}
#define BAD 517

/* Memory that both sides see. */
static void *memory(size_t size)
{{
    void *found = 0;
#if defined(__CUDACC__)
    const cudaError_t error = cudaMallocManaged(&found, size);
    if (error != cudaSuccess) {{
        printf("no device of CUDA: %s\\n", cudaGetErrorString(error));
        exit(2);
    }}
#else
    found = malloc(size);
    if (!found) exit(2);
#endif
    return found;
}}

static void release(void *block)
{{
#if defined(__CUDACC__)
    cudaFree(block);
#else
    free(block);
#endif
}}

template <class T>
static T *samples(const T *sample, int size)
{{
    T *found = (T *)memory(sizeof(T) * size * COPIES);
    for (int k = 0; k < COPIES; ++k) memcpy(found + k * size, sample, sizeof(T) * size);
    return found;
}}

/* Whether all that is good is like the first sample, which is copied, and the bad one is NaN. */
static int agree(const {real} *batch, int size, int bad, {real} *sample)
{{
    int right = 1;
    for (int k = 0; k < COPIES; ++k) {{
        const {real} *own = batch + k * size;
        if (k != bad) right &= memcmp(own, batch, sizeof({real}) * size) == 0;
        for (int i = 0; k == bad && i < size; ++i) right &= own[i] != own[i];
    }}
    memcpy(sample, batch, sizeof({real}) * size);
    return right;
}}

/* That of the first sample, or -1 where it is not that of all, or the bad sample's is not 1. */
static int status_of(int error, const unsigned char *status, int bad)
{{
#if defined(__CUDACC__)
    if (error == 0) error = (int)cudaDeviceSynchronize();
#endif
    for (int k = 0; k < COPIES; ++k) error |= status[k] != (k == bad ? 1 : status[0]) ? -1 : 0;
    return error != 0 ? -1 : status[0];
}}

{chr(10).join(parts)}
#include "../test/{prefix}_self_test.c"
"""


_COPIES = 1000


def _stand_in(robot: Exported, function: CudaFunction) -> str:
    """The function of the header in C, computed by the kernel for batches."""
    inputs, outputs = function.program.signature.inputs, function.program.signature.outputs
    names = [own.name for own in inputs]
    tested = [own for own in inputs if not (own.shared or own.boolean) and own.size]
    found = [(output_name(own, names), own.size) for own in outputs]
    given = [text for own in inputs for text in (f"batch_{own.name}", "0" if own.shared else str(own.size))]
    call = ", ".join(["COPIES", *given, *(f"batch_{name}" for name, _ in found), "batch_status", "0"])
    released = [*(f"batch_{own.name}" for own in inputs), *(f"batch_{name}" for name, _ in found), "batch_status"]
    c_function = function.declaration.removeprefix(function.linkage).replace("int ", f"int {robot.prefix}_", 1)
    lines = [
        f'extern "C" {c_function}',
        "{",
        f"    const int bad = {'BAD' if tested else '-1'};",
        "    int status, right = 1;",
        *(f"    {function.type_of(own)} *batch_{own.name} = samples({own.name}, {own.size});" for own in inputs),
        *(
            f"    {robot.real} *batch_{name} = ({robot.real} *)memory(sizeof({robot.real}) * {size} * COPIES);"
            for name, size in found
        ),
        "    unsigned char *batch_status = (unsigned char *)memory(COPIES);",
        *(f"    batch_{own.name}[BAD * {own.size}] = ({robot.real})NAN;" for own in tested[:1]),
        f"    status = status_of({robot.prefix}_cuda_{function.name}({call}), batch_status, bad);",
        *(f"    right &= agree(batch_{name}, {size}, bad, {name});" for name, size in found),
        *(f"    release({name});" for name in released),
        "    return right ? status : -1;",
        "}",
        "",
    ]
    return "\n".join(lines)
