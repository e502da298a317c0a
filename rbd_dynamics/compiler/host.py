# SPDX-License-Identifier: Apache-2.0
"""This machine and its LLVM, described without loading LLVM: what LLVM says of the machine depends on nothing else."""

from __future__ import annotations

import importlib.util
import os
import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
#: of the first processor, on AMD64 and on ARM; the rest are clocks, counts and mitigations
_FIELDS = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
}  # fmt: skip


def description(code: str) -> str:
    """Description of the machine and LLVM's library, with the digest of the code that asks it; "" where unknown."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.origin:
        return ""
    library = Path(spec.origin).parent / "binding" / "libllvmlite.so"
    try:
        status = os.stat(library)
        first = CPUINFO.read_text(errors="replace").split("\n\n")[0]
    except OSError:
        return ""
    fields = [line for line in first.splitlines() if line.partition(":")[0].strip() in _FIELDS]
    if not fields:
        return ""
    return "\0".join((code, platform.machine(), str(library), f"{status.st_size} {status.st_mtime_ns}", *fields))
