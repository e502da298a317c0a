# SPDX-License-Identifier: Apache-2.0
"""Processors that kernels can be compiled for, or written for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.extras import needed


class Target(NamedTuple):
    """What LLVM calls it; abi: of the calls, where a triple leaves it open. single: single precision only.

    Without a triple LLVM compiles nothing: the target has sources.
    """

    text: str
    triple: str
    cpu: str = ""
    features: str = ""
    abi: str = ""
    relocation: str = "pic"
    single: bool = False


TARGETS = {
    "aarch64": Target("ARM of 64 bits, as in Jetson and Raspberry Pi", "aarch64-unknown-linux-gnu", "generic"),
    "x86-64": Target("any PC", "x86_64-unknown-linux-gnu", "x86-64"),
    "x86-64-v2": Target("a PC from about 2009 on: SSE4.2", "x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": Target("a PC from about 2015 on: AVX2 and FMA", "x86_64-unknown-linux-gnu", "x86-64-v3"),
    "x86-64-v4": Target("a PC with AVX-512", "x86_64-unknown-linux-gnu", "x86-64-v4"),
    "riscv64": Target(
        "RISC-V of 64 bits with floating point", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d"
    ),
    "thumbv7em": Target(
        "Cortex-M7 with its floating-point unit, calls of the hard-float ABI, single precision",
        "thumbv7em-unknown-none-eabihf", "cortex-m7", "-fp64", relocation="static", single=True,
    ),
    "wasm32": Target("WebAssembly, for browsers and Node.js", "wasm32-unknown-unknown", relocation="static"),
    "cuda": Target("GPUs of NVIDIA, as sources in CUDA C++", ""),
}  # fmt: skip


def check_targets(names: Iterable[str], *, single: bool) -> list[str]:
    """The names, each once. Raises ValueError for one that there is not, ImportError where LLVM is not installed."""
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in TARGETS:
            raise ValueError(unknown("target", name, list(TARGETS)))
        if TARGETS[name].single and not single:
            raise ValueError(f"target {name!r} computes in single precision: add --single, single=True")
    if any(TARGETS[name].triple for name in chosen):
        from rbd_dynamics.compiler.native import loops_problem

        try:
            problem = loops_problem()
        except ModuleNotFoundError:
            raise ModuleNotFoundError(needed("llvmlite"), name="llvmlite") from None
        if problem is not None:
            raise ValueError(
                f"target {next(name for name in chosen if TARGETS[name].triple)!r} cannot be compiled: {problem}"
            )
    return chosen
