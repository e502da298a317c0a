# SPDX-License-Identifier: Apache-2.0
"""From a recording on disk to residuals, and to a report: messages per second on one core, dynamics' share, memory.

    python -m benchmarks.recordings.replay [--messages 1000000] [--formats FORMAT ...] [--folder DIR] [--json FILE]

Joint states of a 7-joint arm at 1 kHz, with positions, velocities and efforts. Each measurement is a new process on one
core, after the recording was thrown out of the cache of the operating system; two workers are compared with one where
it is cached, so that they do not wait for the same disk. "everything" has friction, a load, inertias, external torques,
energy and the report; the recording is read once for all of it. Needs rosbags and example-robot-data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.results import processor
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.joint_states.layout import layout_of

ARM = [f"panda_joint{k}" for k in range(1, 8)]
RATE = 1000  # Hz
START = 1_700_000_000 * 10**9  # ns
FORMATS = ("sqlite3", "mcap", "ros1")
WANTED = {"per_second": 400_000, "everything": 200_000, "dynamics": 0.05, "two_workers": 1.7}
BLOCK = 20_000  # messages made at a time


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recordings.replay", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--messages", type=int, default=1_000_000, help="in a recording; it takes 350 bytes of disk each"
    )
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--folder", type=Path, help="where to write recordings, which are deleted afterwards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--everything", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.measure:
        how = measure_everything if arguments.everything else measure
        print(json.dumps(how(arguments.measure, arguments.core)))
        return
    print(f"{processor()}; {arguments.messages} messages; one core\n")
    print(
        "| format | messages per second | dynamics | memory | two workers | everything, messages per second | memory |"
    )
    print("|---|---|---|---|---|---|---|")
    results = {}
    for kind in arguments.formats:
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="replay_") as folder:
            found = results[kind] = measure_format(kind, Path(folder), arguments.messages)
        print(
            f"| {kind} | {found['per_second']:,.0f}{missed(found, 'per_second')} "
            f"| {100 * found['dynamics']:.1f} %{missed(found, 'dynamics')} | {found['memory'] / 1e6:.0f} MB "
            f"| {found['two_workers']:.2f} x{missed(found, 'two_workers')} "
            f"| {found['everything']:,.0f}{missed(found, 'everything')} | {found['everything_memory'] / 1e6:.0f} MB |",
            flush=True,
        )
    print(f"\nWanted: {WANTED['per_second']:,} messages per second, with everything {WANTED['everything']:,},")
    print(f"of the time at most {WANTED['dynamics']:.0%} dynamics,")
    print(f"two workers {WANTED['two_workers']} times as fast as one; (!) marks what is not.")
    if arguments.json:
        arguments.json.write_text(json.dumps({"processor": processor(), "results": results}, indent=1))


def missed(found: dict[str, float], what: str) -> str:
    bad = found[what] > WANTED[what] if what == "dynamics" else found[what] < WANTED[what]
    return " (!)" if bad else ""


def measure_format(kind: str, folder: Path, messages: int) -> dict[str, Any]:
    """One process from the disk; then one, and two at once on a recording each, from the cache."""
    cores = sorted(os.sched_getaffinity(0))[-2:]
    path = write(kind, folder / "recording", messages)
    forget(path)
    start([path], cores[-1:])  # compiles the kernels
    forget(path)
    (alone,) = start([path], cores[-1:])
    other = path.with_name("copy" + path.suffix)
    subprocess.run(["cp", "-r", path, other], check=True)
    (cached,) = start([path], cores[-1:])
    together = start([path, other], cores)
    slower = max(found["seconds"] for found in together)
    (whole,) = start([path], cores[-1:], "--everything")
    return {
        **alone,
        "per_second": alone["messages"] / alone["seconds"],
        "two_workers": 2 * cached["seconds"] / slower,
        "everything": whole["messages"] / whole["seconds"],
        "everything_memory": whole["memory"],
    }


def start(paths: list[Path], cores: list[int], *more: str) -> list[dict[str, Any]]:
    """Measure in processes of their own, at the same time."""
    command = [sys.executable, "-m", "benchmarks.recordings.replay", *more, "--measure"]
    running = [
        subprocess.Popen([*command, str(path), "--core", str(core)], stdout=subprocess.PIPE, text=True)
        for path, core in zip(paths, cores)
    ]
    outputs = [process.communicate()[0] for process in running]
    return [json.loads(output) for output in outputs]


def arm() -> rbd.Robot:
    return rbd.Robot(rbd.load_urdf(robots()["panda"], joints=ARM))


def measure(path: str, core: int | None) -> dict[str, Any]:
    """Seconds in all and in the dynamics, and the largest resident memory in bytes."""
    from rbd_dynamics import replay

    if core is not None:
        os.sched_setaffinity(0, {core})
    robot = arm()
    robot.compile("inverse_dynamics", "gravity", "coriolis")
    begin, dynamics = time.perf_counter(), 0.0
    settings = replay.Settings()
    found = replay.segments(replay.Recording(path), robot.model, settings=settings)
    comparison = replay.Comparison(found.velocity_names, settings.terms)
    for segment in found:
        entered = time.perf_counter()
        prediction = replay.predict(robot, segment, terms=settings.terms)
        dynamics += time.perf_counter() - entered
        comparison.add(segment, prediction)
    results = comparison.results()
    seconds = time.perf_counter() - begin
    return {
        "messages": found.log.messages,
        "samples": found.log.samples,
        "seconds": seconds,
        "dynamics": dynamics / seconds,
        "memory": largest_memory(),
        "worst_nrmse": max(result.nrmse for result in results),
    }


def measure_everything(path: str, core: int | None) -> dict[str, Any]:
    """Seconds and memory of all that can be asked, with the report."""
    from rbd_dynamics.replay.fleet import Job, run_job
    from rbd_dynamics.replay.questions import Questions

    if core is not None:
        os.sched_setaffinity(0, {core})
    urdf, fingers = robots()["panda"].read_text(), {"panda_finger_joint1": 0.0}
    questions = Questions(payload="panda_hand", inertias=True)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(
            Path(path), Path(folder), urdf=urdf, locked=fingers, questions=questions, formats=("html", "png", "urdf")
        )
        found = run_job(job).summary["recording"]
    return {"messages": found["messages"], "seconds": time.perf_counter() - begin, "memory": largest_memory()}


def largest_memory() -> int:
    """Bytes that this program had resident at most; Linux only. (What getrusage says includes the parent process.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


# --- recordings -------------------------------------------------------------------------------------------------------


def write(kind: str, path: Path, messages: int) -> Path:
    """A recording of the arm on a smooth motion, whose efforts are the model's with noise."""
    from rosbags.typesys import Stores, get_typestore

    ros1 = kind == "ros1"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_JAZZY)
    if ros1:
        from rosbags.rosbag1 import Writer as Writer1

        path = path.with_suffix(".bag")
        writer: Any = Writer1(path)
    else:
        from rosbags.rosbag2 import StoragePlugin, Writer

        writer = Writer(path, version=9, storage_plugin=StoragePlugin[kind.upper()])
    with writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for stamps, data in serialised(store, ros1, messages):
            size = len(data) // len(stamps)
            for k, stamp in enumerate(stamps.tolist()):
                writer.write(connection, stamp, data[k * size : (k + 1) * size])
    return path


def serialised(store: Any, ros1: bool, messages: int) -> Iterator[tuple[np.ndarray, bytes]]:
    """Stamps (ns) and the bytes of as many messages, block by block."""
    robot, rng = arm(), np.random.default_rng(0)
    kinds, zero = store.types, np.zeros(len(ARM))
    sequence = (0,) if ros1 else ()
    header = kinds["std_msgs/msg/Header"](*sequence, kinds["builtin_interfaces/msg/Time"](0, 0), "")
    template = kinds["sensor_msgs/msg/JointState"](header, ARM, zero, zero, zero)
    serialise = store.serialize_ros1 if ros1 else store.serialize_cdr
    raw = bytes(serialise(template, template.__msgtype__))
    layout = layout_of(raw, "ros1" if ros1 else "cdr")
    frequency, phase = 1.0 + 0.3 * np.arange(len(ARM)), np.arange(len(ARM))
    for first in range(0, messages, BLOCK):
        count = min(BLOCK, messages - first)
        number = first + np.arange(count)
        stamps = START + number * (10**9 // RATE)
        angle = frequency * (number / RATE)[:, None] + phase
        q, v, a = 0.5 * np.sin(angle), 0.5 * frequency * np.cos(angle), -0.5 * frequency**2 * np.sin(angle)
        records = np.frombuffer(raw * count, np.uint8).copy().view(layout.record)
        records["sec"], records["nanosec"] = stamps // 10**9, stamps % 10**9
        records["position"] = q + 1e-5 * rng.normal(size=q.shape)
        records["velocity"] = v + 1e-3 * rng.normal(size=q.shape)
        records["effort"] = robot.inverse_dynamics(q, v, a) + 0.1 * rng.normal(size=q.shape)
        yield stamps, records.tobytes()


def forget(path: Path) -> None:
    """Have the operating system write a recording to disk and drop it from memory."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
