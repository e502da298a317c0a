# SPDX-License-Identifier: Apache-2.0
"""One recording of many: what is to be done with it, and whether it has been done."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rbd_dynamics import __version__
from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.model import load_urdf, load_yaml
from rbd_dynamics.model.errors import Inertias
from rbd_dynamics.replay.analysis import analyse
from rbd_dynamics.replay.fleet.places import fetched, is_elsewhere, name_of, send, state_of, text_at
from rbd_dynamics.replay.one_thread import one_thread
from rbd_dynamics.replay.questions import Questions
from rbd_dynamics.replay.reading import RecordingError
from rbd_dynamics.replay.results.outputs import Outputs
from rbd_dynamics.replay.results.summary import summary_of
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.segmentation import Progress
from rbd_dynamics.replay.torques.comparison import Comparison
from rbd_dynamics.robot import Robot
from rbd_dynamics.scene import MeshFinder

DONE = "state.json"  # written last


@dataclass(frozen=True)
class Job:
    """One recording, analysed into a folder of its own. Can be sent to another process.

    Parameters:
        recording: path of it, or its address elsewhere, as s3://bucket/run.mcap.
        output: folder for the results, or its address; None: nothing is written.
        name: of the recording among others, for people; "": that of its file.
        urdf: text of the robot's description, URDF or YAML; None: the one in the recording.
        source: where that came from, for the report. meshes: where its meshes are.
        robot: whose recording it is, in a fleet.
        locked: {joint: position} that do not move.
        gravity: in the world frame, m/s^2; None: the description's. inertias: as for `load_urdf`.
        formats: of `results.formats.FORMATS`.
        scripts: folder of the report's scripts, seen from the output; "": they stand in the report.
    """

    recording: Path | str
    output: Path | str | None
    _: KW_ONLY
    name: str = ""
    urdf: str | None = None
    source: str = "the recording"
    meshes: MeshFinder = field(default_factory=MeshFinder)
    robot: str = ""
    locked: Mapping[str, float] = field(default_factory=dict)
    gravity: tuple[float, float, float] | None = None
    inertias: Inertias = "checked"
    settings: Settings = field(default_factory=Settings)
    questions: Questions = field(default_factory=Questions)
    formats: tuple[str, ...] = ()
    scripts: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or name_of(str(self.recording)))

    @property
    def key(self) -> str:
        """Changes with all that the results depend on."""
        parts = {
            "version": __version__,
            "recording": self._files(),
            "urdf": self.urdf,
            "meshes": self.meshes.places,
            "locked": dict(self.locked),
            "gravity": self.gravity,
            "inertias": self.inertias,
            "settings": self.settings.to_dict(),
            "questions": asdict(self.questions),
            "formats": sorted(self.formats),
            "scripts": self.scripts,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _files(self) -> list[Any]:
        """What changes when the recording does."""
        if isinstance(self.recording, str) and is_elsewhere(self.recording):
            return state_of(self.recording)
        files = self.settings.opened(self.recording).files
        return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]


@dataclass(frozen=True)
class Result:
    """What a job came to: a summary and what merges, or an error."""

    job: Job
    _: KW_ONLY
    summary: dict[str, Any] = field(default_factory=dict)
    comparison: dict[str, Any] | None = None
    error: str = ""
    resumed: bool = False

    @property
    def robot(self) -> str:
        """Whose recording it is: as the job says, else by the name in the description."""
        return str(self.summary.get("robot", {}).get("id") or self.job.robot)

    @property
    def start(self) -> float:
        """Start of the recording, s since 1970."""
        return float(self.summary.get("recording", {}).get("start") or 0.0)


@one_thread
def run_job(job: Job, *, progress: Progress | None = None) -> Result:
    """Do it, unless its output is there already. Raises what `Recording`, `load_urdf` and `analyse` raise."""
    key = job.key if job.output is not None else ""
    if is_elsewhere(job.recording) or is_elsewhere(job.output):
        return finished(job, key) or _done_elsewhere(job, key, progress)
    with _alone_in(job.output):
        return finished(job, key) or _done(job, key, progress)


def attempt(job: Job) -> Result:
    """The same, but whatever is wrong is the result's `error`: one of a thousand must not stop the others."""
    try:
        return run_job(job)
    except Exception as error:
        return Result(job, error=one_line(error))


def attempt_elsewhere(job: Job) -> Result:
    """The same on another machine; what the network may have lost is raised, to be tried again."""
    try:
        return run_job(job)
    except OSError as error:
        if is_elsewhere(job.recording) or is_elsewhere(job.output) or isinstance(error, ConnectionError):
            raise
        return Result(job, error=one_line(error))
    except Exception as error:
        return Result(job, error=one_line(error))


@contextmanager
def _alone_in(folder: Path | str | None) -> Iterator[None]:
    """Nobody else writes there meanwhile, such as a worker of an earlier run that goes on: it is waited for."""
    if not isinstance(folder, Path):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError, ImportError):  # a file system without locks
            import fcntl

            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)
        with suppress(OSError):
            folder.rmdir()  # where nothing came of it


def one_line(error: BaseException) -> str:
    """The error in a line for people; errors that are nobody's fault but ours with their type."""
    text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    expected = isinstance(error, (ValueError, KeyError, ArithmeticError, OSError))
    return text if text and expected else f"{type(error).__name__}: {text}"


def finished(job: Job, key: str) -> Result | None:
    """What is in its output from before; None where that is not whole, or of something else."""
    if job.output is None:
        return None
    try:
        state, summary = json.loads(_text_in(job.output, DONE)), _text_in(job.output, "summary.json")
        if (state["key"], state["digest"]) != (key, digest_of(summary, state["comparison"])):
            return None
        return Result(job, summary=json.loads(summary), comparison=state["comparison"], resumed=True)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _text_in(folder: Path | str, name: str) -> str:
    return text_at(f"{folder}/{name}") if isinstance(folder, str) else (folder / name).read_text()


def digest_of(summary: str, comparison: Any) -> str:
    """Digest of both: what was damaged since it was written is done again."""
    return hashlib.sha256(f"{summary}{json.dumps(comparison)}".encode()).hexdigest()


def _done_elsewhere(job: Job, key: str, progress: Progress | None) -> Result:
    """The recording is fetched, and the results are sent, state.json last."""
    with ExitStack() as stack:
        path, output = job.recording, job.output
        if isinstance(path, str) and is_elsewhere(path):
            path = stack.enter_context(fetched(path))
        if isinstance(output, str):
            output = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rbd_dynamics_")))
        result = _done(replace(job, recording=path, output=output), key, progress)
        if isinstance(job.output, str) and isinstance(output, Path):
            send(output, job.output, DONE)
    return replace(result, job=job)


def _done(job: Job, key: str, progress: Progress | None) -> Result:
    assert not isinstance(job.output, str)
    recording = job.settings.opened(job.recording)
    topic = job.settings.topic
    of = {"near": topic[0] if isinstance(topic, tuple) else topic, "robot": job.settings.robot}
    text = job.urdf if job.urdf is not None else recording.robot_description(**of)
    if text is None:
        damage = recording.damage
        raise RecordingError(f"{job.recording} has no robot_description in it{damage}: give a URDF with --urdf")
    robot, oddities = robot_of(text, tuple(sorted(job.locked.items())), job.gravity, job.inertias)
    if job.output is not None:
        (job.output / DONE).unlink(missing_ok=True)
    with Outputs(
        job.output, job.formats, robot.model, text, meshes=job.meshes, scripts=job.scripts,
        wrench_frame=job.questions.wrench_frame,
    ) as outputs:  # fmt: skip
        found = analyse(
            recording,
            robot,
            settings=job.settings,
            questions=job.questions,
            sinks=outputs.sinks,
            series=outputs.points,
            progress=progress,
        )
        summary = summary_of(found, source=job.source, robot=job.robot)
        summary["warnings"] += oddities
        outputs.finish(found, summary)
    comparison = found.comparison.to_dict()
    if job.output is not None:
        digest = digest_of((job.output / "summary.json").read_text(), comparison)
        state = {"key": key, "digest": digest, "comparison": comparison}
        write_whole(job.output / DONE, json.dumps(state) + "\n")
    return Result(job, summary=summary, comparison=comparison)


@lru_cache(maxsize=8)
def robot_of(
    text: str,
    locked: tuple[tuple[str, float], ...],
    gravity: tuple[float, float, float] | None = None,
    inertias: Inertias = "checked",
) -> tuple[Robot, tuple[str, ...]]:
    """And what is odd about its description. A worker does many recordings of few robots."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if text.lstrip().startswith("<"):
            model = load_urdf(text, locked=dict(locked) or None, inertias=inertias)
        elif locked:
            raise ValueError(f"joint {locked[0][0]!r} cannot be locked: the robot is given as YAML, not as a URDF")
        else:
            model = load_yaml(text, inertias=inertias)
    robot = Robot(model if gravity is None else model.with_gravity(gravity))
    return robot, tuple(str(warning.message) for warning in caught)


def merged(results: list[Result]) -> Comparison | None:
    """All comparisons together; None where there are none, or where they are of different joints."""
    total: Comparison | None = None
    for result in results:
        if result.comparison is not None:
            one = Comparison.from_dict(result.comparison)
            if total is None:
                total = one
            elif (one.joints, one.terms) != (total.joints, total.terms):
                return None
            else:
                total.merge(one)
    return total
