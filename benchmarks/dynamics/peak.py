# SPDX-License-Identifier: Apache-2.0
"""How much of what one core can do at best the kernels do.

    python -m benchmarks.dynamics.peak [--quick] [--robots UR5 Panda] [--json FILE]

The peak is measured: multiplications fused with additions, two operations each, of the widest vectors that pay, in
enough independent chains to keep all units busy, compiled by LLVM as the kernels are. A kernel's operations are those
of its traced program for one sample; a sine, a root or a quotient counts as one, although it takes many times as long
as a product. A call also checks its arguments, and computes a single sample, without vectors.
"""

from __future__ import annotations

import ctypes
import time
import warnings
from functools import partial

import numpy as np

from benchmarks.dynamics.contenders import ALGORITHMS, BATCH, SUBJECTS, Case
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Cell, Figure, Table, deliver, parser
from benchmarks.measuring.timing import seconds_per_call, stay_on_one_core
from rbd_dynamics.compiler.llvm.machine import MachineImage, compile_text
from rbd_dynamics.compiler.program import trace
from rbd_dynamics.kernels.specialise import specialise

WIDTHS = (2, 4, 8)  # doubles of a vector
CHAINS = 12  # two units with a latency of four or five cycles need ten; with two factors all are kept in 16 registers
TURNS = 100_000  # of the loop, about half a millisecond: short enough that one of several is undisturbed


def main() -> int:
    options = parser("dynamics.peak", __doc__)
    options.add_argument("--robots", nargs="+", metavar="NAME", help="only robots whose name contains one of these")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    names = arguments.robots or (["UR5"] if arguments.quick else [""])
    chosen = [subject for subject in SUBJECTS if any(name.lower() in subject.title.lower() for name in names)]
    stay_on_one_core()
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15

    peaks = Table("peak", ("doubles of a vector", "10⁹ operations a second"))
    best = 0.0
    for width in WIDTHS:
        rates, trouble = guard.run(f"vectors of {width}", partial(peak, width, rounds))
        figure = Figure.of(rates, 1e-9)
        best = max(best, figure.median)
        peaks.add(str(width), figure, trouble=trouble)

    heads = (
        "robot",
        "algorithm",
        "operations",
        "10⁹ a second, a call",
        "of the peak, %",
        "in a batch",
        "of the peak, %",
    )
    shares = Table("shares", heads, labels=2)
    for subject in chosen:
        case = Case(subject)
        case.robot.compile(*ALGORITHMS)
        calls = {name: case.call(name) for name in ALGORITHMS} | {f"{k} batch": case.batch(k) for k in ALGORITHMS}
        times, trouble = guard.run(subject.title, partial(seconds_per_call, calls, rounds, blocks=3))
        for name in ALGORITHMS:
            count = operations(case, name)
            cells: list[Cell] = []
            for key, samples in ((name, 1), (f"{name} batch", BATCH)):
                rate = Figure.of(1e-9 * count * samples / times[key])
                cells += rate, Figure(100.0 * rate.median / best)
            shares.add(subject.title, name.replace("_", " "), count, *cells, trouble=trouble)
    return deliver(arguments, [peaks, shares], settings=f"one core, batches of {BATCH}")


def operations(case: Case, name: str) -> int:
    """Of one sample."""
    signature, function = specialise(case.robot.model, name)
    return trace(function, signature).operations


def peak(width: int, rounds: int) -> np.ndarray:
    """(rounds,) operations a second, with vectors of so many doubles."""
    image = MachineImage(compile_text(loop(width)))
    run = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double, ctypes.c_double)(image.address("run"))
    run(TURNS, 0.5, 0.5)  # warms up
    found = []
    for _ in range(rounds):
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            run(TURNS, 0.5, 0.5)
            times.append(time.perf_counter() - begin)
        found.append(2.0 * width * CHAINS * TURNS / min(times))
    return np.array(found)


def loop(width: int) -> str:
    """LLVM's IR of `double run(int64_t turns, double a, double b)`: chains of x = a x + b, and the sum of them all."""
    kind = f"<{width} x double>"
    spread = [
        line
        for name in "ab"
        for line in (
            f"  %{name}0 = insertelement {kind} undef, double %{name}, i32 0",
            f"  %{name}s = shufflevector {kind} %{name}0, {kind} undef, <{width} x i32> zeroinitializer",
        )
    ]
    phis, steps, sums = [], [], []
    for k in range(CHAINS):
        start = ", ".join(f"double {float(k * width + j)}" for j in range(width))
        phis.append(f"  %x{k} = phi {kind} [ <{start}>, %begin ], [ %y{k}, %body ]")
        steps.append(f"  %y{k} = call {kind} @llvm.fma.v{width}f64({kind} %as, {kind} %x{k}, {kind} %bs)")
        sums.append(f"  %s{k} = fadd {kind} %y{k}, {f'%s{k - 1}' if k else 'zeroinitializer'}")
    return "\n".join([
        f"declare {kind} @llvm.fma.v{width}f64({kind}, {kind}, {kind})",
        f"declare double @llvm.vector.reduce.fadd.v{width}f64(double, {kind})",
        "define double @run(i64 %turns, double %a, double %b) {", "begin:", *spread, "  br label %body", "body:",
        "  %i = phi i64 [ 0, %begin ], [ %next, %body ]", *phis, *steps, "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %turns", "  br i1 %more, label %body, label %end", "end:", *sums,
        f"  %sum = call double @llvm.vector.reduce.fadd.v{width}f64(double 0.0, {kind} %s{CHAINS - 1})",
        "  ret double %sum", "}", "",
    ])  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
