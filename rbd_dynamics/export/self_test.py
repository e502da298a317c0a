# SPDX-License-Identifier: Apache-2.0
"""The self-test: each kernel at a few states against the algorithm itself, in Python, on plain floats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.backends import FunctionKernel
from rbd_dynamics.compiler.precision import DOUBLE
from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.laws import LAWS, Samples
from rbd_dynamics.export.names import literal
from rbd_dynamics.export.selection import Selected

Array = NDArray[np.float64]

SAMPLES = 3
#: largest difference, relative to the largest number of an output
TOLERANCE, TOLERANCE_SINGLE = 1e-12, 1e-4
_LOAD_MASS = 1.5


def self_test(robot: Exported) -> str:
    prefix, capital, real = robot.prefix, robot.capital, robot.real
    rng = np.random.default_rng(20240229)
    tests = [_test(robot, kernel, rng) for kernel in robot.kernels]
    tolerance = TOLERANCE if robot.precision is DOUBLE else TOLERANCE_SINGLE
    return f"""\
/* {robot.origin}
   Self-test: kernels against results that were computed in Python, on plain numbers of double precision.
   {prefix}_self_test returns how many kernels are wrong; `tell` may be 0, else it is told the largest difference of
   each, relative to the largest number of an output. With {capital}_NO_MAIN defined there is no main. */
#include "{prefix}.h"

#define SAMPLES {SAMPLES}
#define TOLERANCE {tolerance:g}

typedef void (*{prefix}_tell)(const char *kernel, int status, double difference, int right);
int {prefix}_self_test({prefix}_tell tell);

static double difference(int n, const {real} *found, const {real} *expected)
{{
    double largest = 0, size = 1e-30;
    for (int i = 0; i < n; ++i) {{
        const double off = fabs((double)found[i] - (double)expected[i]), own = fabs((double)expected[i]);
        largest = off > largest || off != off ? off : largest;
        size = own > size ? own : size;
    }}
    return largest / (size > 1 ? size : 1);
}}

static int judged({prefix}_tell tell, const char *kernel, int status, double worst)
{{
    const int right = status == 0 && worst <= TOLERANCE;
    if (tell) tell(kernel, status, worst, right);
    return right ? 0 : 1;
}}

{chr(10).join(tests)}
int {prefix}_self_test({prefix}_tell tell)
{{
    int wrong = 0;
{chr(10).join(f"    wrong += test_{kernel.identifier}(tell);" for kernel in robot.kernels)}
    return wrong;
}}

#ifndef {capital}_NO_MAIN
#include <stdio.h>

static void show(const char *kernel, int status, double difference, int right)
{{
    printf("%s: status %d, difference %.2g: %s\\n", kernel, status, difference, right ? "right" : "WRONG");
}}

int main(void)
{{
    return {prefix}_self_test(show) ? 1 : 0;
}}
#endif
"""


def _test(robot: Exported, kernel: Selected, rng: np.random.Generator) -> str:
    signature, real = kernel.signature, robot.real
    own = _of_law(robot, kernel, rng)
    inputs = [_random(robot, argument, rng, own) for argument in signature.inputs]
    outputs = [np.empty((SAMPLES, *argument.shape)) for argument in signature.outputs]
    plain = FunctionKernel(kernel.function, signature)
    for sample in range(SAMPLES):
        rows = [array[sample : sample + 1] for array in inputs]
        plain.many(1, rows, [array[sample : sample + 1] for array in outputs])
    lines = [f"static int test_{kernel.identifier}({robot.prefix}_tell tell)", "{"]
    given, found = [], []
    for number, (argument, array) in enumerate(zip(signature.inputs, inputs)):
        kind = "unsigned char" if argument.boolean else real
        lines += _table(robot, f"in{number}", kind, argument, array)
        given.append(f"in{number}[k]")
    for number, (argument, array) in enumerate(zip(signature.outputs, outputs)):
        lines += _table(robot, f"expected{number}", real, argument, array)
        lines.append(f"    {real} out{number}[{max(1, argument.size)}];")
        found.append((number, argument.size))
    call = ", ".join([*given, *(f"out{number}" for number, _ in found)])
    lines += [
        "    double worst = 0;",
        "    int status = 0;",
        "    for (int k = 0; k < SAMPLES; ++k) {",
        f"        status |= {robot.prefix}_{kernel.identifier}({call});",
        "        if (status != 0) break;",
        *(
            line
            for number, size in found
            for line in (
                f"        const double off{number} = difference({size}, out{number}, expected{number}[k]);",
                f"        worst = off{number} > worst || off{number} != off{number} ? off{number} : worst;",
            )
        ),
        "    }",
        f"    return judged(tell, {literal(kernel.name)}, status, worst);",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _table(robot: Exported, name: str, kind: str, argument: Argument, array: Array) -> Sequence[str]:
    rows = array.reshape(SAMPLES, -1)
    texts = [f"{{{', '.join(str(int(v)) for v in row)}}}" if argument.boolean else robot.row(row) for row in rows]
    size = max(1, argument.size)
    return [f"    static const {kind} {name}[SAMPLES][{size}] = {{", *(f"        {text}," for text in texts), "    };"]


def _of_law(robot: Exported, kernel: Selected, rng: np.random.Generator) -> Sequence[Samples]:
    """What a law's own samples have, by the names of inputs; of other kernels nothing."""
    base, _, frame = kernel.name.partition(":")
    law = LAWS.get(base)
    return [law.samples(robot.robot, frame, rng) if law else {} for _ in range(SAMPLES)]


def _random(robot: Exported, argument: Argument, rng: np.random.Generator, own: Sequence[Samples]) -> Array:
    """Samples of an input (SAMPLES, ...), rounded to the precision of the kernels."""
    samples = [
        given[argument.name].reshape(argument.shape) if argument.name in given else _sample(robot, argument, rng, k)
        for k, given in enumerate(own)
    ]
    array = np.array(samples, dtype=float).reshape(SAMPLES, *argument.shape)
    return array if robot.precision is DOUBLE else array.astype(np.float32).astype(float)


def _sample(robot: Exported, argument: Argument, rng: np.random.Generator, number: int) -> Array:
    """Plausible numbers; the last sample is of a robot with a load."""
    model, name = robot.model, argument.name
    if name == "q":
        return np.asarray(model.random(rng))
    if name == "inertia":
        frame = model.frame_names[-1]
        loaded = robot.robot.carrying(frame, _LOAD_MASS, com=(0.01, -0.02, 0.05), inertia=(2e-3, 0, 0, 3e-3, 0, 2e-3))
        return (robot.robot if number < SAMPLES - 1 else loaded).inertial_parameters
    if name == "fixed_inertia":
        return np.array(model.fixed_inertia.parameters, dtype=float)
    if argument.boolean:
        return rng.integers(0, 2, argument.shape).astype(float)
    if name == "placement":
        frame_of = model.frame(model.frame_names[number % len(model.frame_names)])
        return np.array([*frame_of.placement.rotation, *frame_of.placement.p], dtype=float)
    if name == "weights":
        return np.array([1, 1, 1, 1, 1, number % 2, number == SAMPLES - 1], dtype=float)
    if name in ("t", "mass", "limits"):
        return rng.uniform(0.1, 1.0, argument.shape) * (50.0 if name == "limits" else 1.0)
    return rng.normal(size=argument.shape)
