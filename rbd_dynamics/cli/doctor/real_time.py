# SPDX-License-Identifier: Apache-2.0
"""Settings of this machine that real time depends on. What each would bring is advice, none of it a fault."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator
from pathlib import Path

from rbd_dynamics.cli.doctor.findings import Looked
from rbd_dynamics.common.process.processors import usable

SYSTEM = Path("/")
LIMITS_FILE = "/etc/security/limits.d/realtime.conf"


def look_at_real_time(root: Path = SYSTEM) -> Iterator[Looked]:
    """root: where /sys and /proc are."""
    yield Looked("processors", f"{os.cpu_count()}, {usable()} for this process; {platform.machine()}")
    if platform.system() != "Linux":
        yield Looked("kernel", platform.platform(), state="note", advice="real time is for Linux")
        return
    yield _kernel(root)
    yield _governor(root)
    yield _isolated(root)
    yield _priority()
    yield _memory()
    yield _throttling(root)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""


def _kernel(root: Path) -> Looked:
    version = _read(root / "proc/version")
    real = _read(root / "sys/kernel/realtime") == "1" or "PREEMPT_RT" in version
    release = version.split()[2] if len(version.split()) > 2 else platform.release()
    return Looked(
        "kernel",
        f"{release}, {'PREEMPT_RT' if real else 'without PREEMPT_RT'}",
        state="fine" if real else "note",
        advice="" if real else "PREEMPT_RT bounds the rare delays of milliseconds, under load from other programs",
    )


def _governor(root: Path) -> Looked:
    folder = root / "sys/devices/system/cpu"
    found = sorted({_read(path) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""})
    if not found:
        return Looked("frequency governor", "not told: a virtual machine, or a fixed frequency")
    fast = found == ["performance"]
    return Looked(
        "frequency governor",
        ", ".join(found),
        state="fine" if fast else "note",
        advice="" if fast else "performance: no slow first calls after a pause. cpupower frequency-set -g performance",
    )


def _isolated(root: Path) -> Looked:
    found = _read(root / "sys/devices/system/cpu/isolated")
    return Looked(
        "isolated cores",
        found or "none",
        state="fine" if found else "note",
        advice=f"start the control loop there: taskset -c {found.split(',')[0].split('-')[0]} ..."
        if found
        else "a core of its own keeps other programs away from the control loop: isolcpus= at the kernel's start",
    )


def _priority() -> Looked:
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    may = soft == resource.RLIM_INFINITY or soft > 0 or os.geteuid() == 0
    told = "unlimited" if soft == resource.RLIM_INFINITY else f"up to {soft}"
    if os.geteuid() == 0 and soft == 0:
        told = "as root"
    return Looked(
        "real-time priority",
        told if may else "not allowed (rtprio 0)",
        state="fine" if may else "note",
        advice="chrt -f 80 COMMAND lets the control loop go before all that has no such priority"
        if may
        else f"it would go before all other programs: '@realtime - rtprio 98' in {LIMITS_FILE}, then chrt -f 80",
    )


def _memory() -> Looked:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    unlimited = soft == resource.RLIM_INFINITY
    enough = unlimited or soft >= 2**29
    return Looked(
        "locked memory",
        "unlimited" if unlimited else f"up to {soft / 2**20:.0f} MB",
        state="fine" if enough else "note",
        advice=""
        if enough
        else f"locked pages are never fetched from disk in the loop: '@realtime - memlock unlimited' in {LIMITS_FILE}",
    )


def _throttling(root: Path) -> Looked:
    runtime = _read(root / "proc/sys/kernel/sched_rt_runtime_us")
    period = _read(root / "proc/sys/kernel/sched_rt_period_us")
    if not (runtime.lstrip("-").isdecimal() and period.isdecimal()):
        return Looked("real-time share", "not told")
    free = int(runtime) < 0
    told = "all of a core" if free else f"{int(runtime) / int(period):.0%} of a core"
    return Looked(
        "real-time share",
        told,
        advice=""
        if free
        else "a loop with real-time priority that computes for longer is stopped for the rest of a "
        "second; one that sleeps between its cycles never meets this",
    )
