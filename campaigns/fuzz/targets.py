# SPDX-License-Identifier: Apache-2.0
"""What is fuzzed: each target makes a case out of chance, and runs it.

A case is bytes, a text, or what JSON can hold. `run` returns quietly or raises what the target's documentation names
(`allowed`), anything else is a finding; so is an Unsound, which `run` raises itself.
"""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from campaigns.fuzz import seeds
from campaigns.fuzz.mutations import mutated_bytes, mutated_object, mutated_text, mutated_xml

Case = bytes | str | Any
LONGEST_MESSAGE = 2500  # characters of an exception


class Unsound(Exception):
    """A case that was taken, with a result that is wrong."""


@dataclass(frozen=True)
class Target:
    """share: of all cases. seconds: that a case may take. kind: how its cases are kept in files."""

    name: str
    make: Callable[[random.Random], Case]
    run: Callable[[Any], None]
    allowed: tuple[type[BaseException], ...]
    share: float
    kind: str  # "bytes", "text" or "json"
    seconds: float = 5.0


# --- robots -----------------------------------------------------------------------------------------------------------


def _sound(model: Any, findings: Callable[[], list[Any]]) -> None:
    """The dynamics of a model that was taken are finite, or preflight has something to say."""
    from rbd_dynamics.robot import Robot

    if model.nv > 40 or not model.nv:
        return
    rng = np.random.default_rng(0)
    try:
        with np.errstate(all="ignore"):
            robot = Robot(model, backend="reference")
            tau = robot.inverse_dynamics(
                model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
            )
        finite = bool(np.isfinite(tau).all())
    except ArithmeticError:
        finite = False
    if not finite and not [finding for finding in findings() if finding.severity != "note"]:
        raise Unsound("dynamics are not finite, and preflight has nothing to say")


def _run_urdf(text: str) -> None:
    from rbd_dynamics.model.preflight import preflight
    from rbd_dynamics.model.urdf import load_urdf

    if not text.lstrip().startswith("<"):
        return  # would be a path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[Any] = preflight(text)
        model = load_urdf(text)
    _sound(model, lambda: found)


def _run_other_format(text: str) -> None:
    """SDF and MJCF, with their loops as constraints."""
    from rbd_dynamics.constraints import loop_constraints
    from rbd_dynamics.formats import load
    from rbd_dynamics.model.preflight import preflight

    if not text.lstrip().startswith("<"):
        return  # would be a path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load(text)
        loop_constraints(model)
        _sound(model, lambda: preflight(model))


def _run_markup(data: bytes) -> None:
    """What only tinyxml2 reads, as a tree: nothing grows, and what was mended is read in the same way again."""
    from rbd_dynamics.common.markup.xml_text import HasDoctype, parsed

    try:
        found = parsed(data)
    except (HasDoctype, ET.ParseError, ValueError, LookupError):
        return
    again = parsed(found.content)
    if again.oddities or [each.tag for each in again.root.iter()] != [each.tag for each in found.root.iter()]:
        raise Unsound("what was mended is not what a strict parser reads")
    texts = [text for each in found.root.iter() for text in (each.text, each.tail, *each.attrib.values()) if text]
    if sum(map(len, texts)) > len(data):
        raise Unsound("there is more in it than in the text that it was read from")


def _run_xml(data: bytes) -> None:
    """What only tinyxml2 reads, as a robot."""
    from rbd_dynamics.formats import check, load

    if not data.lstrip().startswith(b"<"):
        return
    _run_markup(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found_wrong = [finding for finding in check(data) if finding.severity == "error"]
        try:
            load(data)
        except ValueError:
            if not found_wrong:
                raise Unsound("it is refused, and the check has nothing to say") from None


def _run_model(data: Any) -> None:
    from rbd_dynamics.model.dictionary import model_from_dict
    from rbd_dynamics.model.preflight import preflight

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_from_dict(data)
        _sound(model, lambda: preflight(model))


def _run_model_text(text: str) -> None:
    from rbd_dynamics.model.dictionary import load_yaml

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load_yaml(text + "\n")


@cache
def _arm() -> Any:
    from rbd_dynamics.model.urdf import load_urdf

    return load_urdf(seeds.ARM)


def _run_scene(data: Any) -> None:
    from rbd_dynamics.simulation.scene import load_scene

    load_scene(data if isinstance(data, dict) else {"constraints": data}, _arm())


def _run_scene_text(text: str) -> None:
    from rbd_dynamics.constraints.dictionary import load_constraints
    from rbd_dynamics.simulation.scene import load_scene

    problems = []
    for load in (load_scene, load_constraints):
        try:
            load(text + "\n", _arm())
        except (ValueError, KeyError) as error:
            problems.append(error)
    if problems:
        raise problems[-1]


# --- messages ---------------------------------------------------------------------------------------------------------


@cache
def _states() -> list[bytes]:
    return seeds.joint_state_bytes()


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a, float).view(np.int64), np.asarray(b, float).view(np.int64)))


def _run_layout(data: bytes) -> None:
    """What `layout_of` finds is what rosbags' deserialiser finds."""
    from rbd_dynamics.joint_states.layout import FIELDS, layout_of

    for encoding in ("cdr", "ros1"):
        try:
            layout = layout_of(data, encoding)  # type: ignore[arg-type]
        except ValueError:
            continue
        block = np.frombuffer(data, np.uint8).reshape(1, -1)
        if not layout.holds(block)[0]:
            raise Unsound(f"{encoding}: a layout does not hold for its own message")
        layout.stamps(block)
        for field in FIELDS:
            layout.numbers(block, field)


def _run_raw(data: bytes) -> None:
    """The fast way of reading is the slow one, whatever was read before."""
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    from rbd_dynamics.nodes.managed.messages import nanoseconds

    reader = _raw_reader()
    outcome: Any
    try:
        message = deserialize_message(data, JointState)
        outcome = (
            nanoseconds(message.header.stamp),
            list(message.name),
            message.position,
            message.velocity,
            message.effort,
        )
    except Exception as error:
        outcome = type(error)
    for _ in range(2):  # learns, then knows
        try:
            stamp, names, q, v, effort = reader.read(data)
        except Exception as error:
            if outcome is not type(error):
                raise
            continue
        if isinstance(outcome, type):
            raise Unsound(f"is read, where deserialising raises {outcome.__name__}")
        if (
            (stamp, list(names)) != outcome[:2]
            or not _same(q, outcome[2])
            or not _same(v, outcome[3])
            or not _same(effort, outcome[4])
        ):
            raise Unsound(f"read as {stamp, names, q, v, effort}, deserialised as {outcome}")


@cache
def _raw_reader() -> Any:
    from rbd_dynamics.nodes.wire.raw_joint_state import RawJointStates

    return RawJointStates()


def _run_reader(data: Any) -> None:
    """Joint states whose fields are anything: what is taken is finite."""
    from rbd_dynamics.joint_states.reader import JointStateReader

    if not isinstance(data, list):
        return
    reader = JointStateReader(seeds.JOINTS, seeds.JOINTS[:2])
    for entry in data[:50]:
        names, position, velocity, stamp = entry
        taken = reader.read(list(names), np.array(position, float), np.array(velocity, float), int(stamp))
        if taken and not (np.isfinite(reader.q).all() and np.isfinite(reader.v).all()):
            raise Unsound(f"a state that is not finite was taken: {reader.q}, {reader.v}")


def _reader_case(rng: random.Random) -> Any:
    def numbers(count: int) -> list[float]:
        odd = (0.1, 0.2, math.nan, math.inf, 1e308, -1e308)
        return [rng.choice(odd) if rng.random() < 0.2 else rng.random() for _ in range(count)]

    entries = []
    for k in range(rng.randrange(1, 6)):
        names = list(seeds.JOINTS)
        rng.shuffle(names)
        names = names[: rng.choice((1, 2, 3, 3, 3))] + rng.choice(([], [], ["other"], [names[0]]))
        size = len(names) if rng.random() < 0.8 else rng.randrange(5)
        entries.append(
            [names, numbers(size), numbers(rng.choice((size, size, 0, 1))), rng.choice((k * 10**7, 0, -(10**9), 2**62))]
        )
    return entries


def _run_trajectory(data: Any) -> None:
    """A trajectory that is taken moves finitely."""
    from rbd_dynamics.control.motion.desired_motion import DesiredMotion
    from rbd_dynamics.control.motion.trajectory import Point, Waypoints

    names = data["names"]
    points = [
        Point(
            float(p["time"]),
            *(np.array(p[key], float).reshape(-1) for key in ("positions", "velocities", "accelerations")),
        )
        for p in data["points"]
    ]
    motion = DesiredMotion(("a", "b", "c"))
    rest = np.zeros(3)
    motion.update(10**9, rest, rest)
    waypoints = Waypoints.of(names, points)
    with np.errstate(all="ignore"):
        motion.follow(waypoints, 10**9, 10**9, rest, rest)
        for k in range(30):
            motion.update(10**9 + k * 10**8, rest, rest)
            if not np.isfinite(motion.state()).all():
                raise Unsound(f"the motion is not finite: {motion.state().tolist()}")


def _trajectory_case(rng: random.Random) -> Any:
    for _ in range(20):
        case = mutated_object(rng, seeds.TRAJECTORY)
        try:  # of the form that a message has
            assert isinstance(case, dict) and all(isinstance(name, str) for name in case["names"])
            for point in case["points"]:
                assert all(isinstance(point[key], list) for key in ("positions", "velocities", "accelerations"))
                numbers = [
                    point["time"],
                    *(x for key in ("positions", "velocities", "accelerations") for x in point[key]),
                ]
                np.array(numbers, dtype=float)
                assert all(isinstance(x, (int, float)) for x in numbers)
            return case
        except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
            continue
    return seeds.TRAJECTORY


def _run_parameters(data: Any) -> None:
    from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
    from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters

    if not isinstance(data, dict):
        return
    for kind in (FeedforwardParameters, HybridControllerParameters):
        kind.of(data)


# --- recordings -------------------------------------------------------------------------------------------------------


@cache
def _bags() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return seeds.bags(Path(folder))


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz_", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def _bag_case(ending: str) -> Callable[[random.Random], bytes]:
    def make(rng: random.Random) -> bytes:
        chosen = sorted(name for name in _bags() if name.endswith(ending))
        name = rng.choice(chosen)
        return mutated_bytes(rng, _bags()[name], [_bags()[other] for other in chosen])

    return make


def _run_bag(suffix: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        path = _folder() / f"some{suffix}"
        path.write_bytes(data)
        _read_recording(path)

    return run


def _read_recording(path: Path) -> None:
    from rbd_dynamics.replay.log import Log
    from rbd_dynamics.replay.reading.recording import Recording
    from rbd_dynamics.replay.settings import Settings
    from rbd_dynamics.replay.signals.conventions import conventions_of

    recording = Recording(path)
    recording.robot_description()
    topic = recording.choose_topic(joints=seeds.JOINTS)
    for states in recording.joint_states(topic.name, seeds.JOINTS):
        conventions_of(states, seeds.JOINTS, Settings(), Log())


def _run_metadata(text: str) -> None:
    folder = _folder() / "bag"
    folder.mkdir(exist_ok=True)
    (folder / "none.mcap").write_bytes(_bags()["none.mcap"])
    (folder / "metadata.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    _read_recording(folder)


def _run_settings(data: Any) -> None:
    from rbd_dynamics.replay.settings import Settings

    Settings.from_json(json.dumps(data))


def _run_fleet(files: Any) -> None:
    """What a fleet's analysis of before has left: nothing is taken over but what was written."""
    from rbd_dynamics.replay.fleet.job import Job, finished

    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        return
    folder = _folder() / "job"
    folder.mkdir(exist_ok=True)
    for name in seeds.fleet():
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        if name in seeds.fleet():
            (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    found = finished(Job(folder / "run.mcap", folder), seeds.FLEET_KEY)
    if found is not None and (found.summary, found.comparison) != (seeds.FLEET_SUMMARY, seeds.FLEET_COMPARISON):
        raise Unsound("a result was taken over that was not written")


def _fleet_case(rng: random.Random) -> Any:
    files = dict(seeds.fleet())
    chosen = rng.choice(sorted(files))
    if rng.random() < 0.5:
        files[chosen] = mutated_text(rng, files[chosen], list(files.values()))
    else:
        files[chosen] = json.dumps(mutated_object(rng, json.loads(files[chosen])))
    return files


# --- kernels on disk --------------------------------------------------------------------------------------------------


@cache
def _entry() -> tuple[Any, int, Path, bytes]:
    from rbd_dynamics.compiler.cache_entry import Entry

    folder = _folder() / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    entry = Entry("some.o", "key")
    entry.write(descriptor, b"the data of a kernel " * 20)
    return entry, descriptor, folder / entry.file_name, (folder / entry.file_name).read_bytes()


def _run_entry(data: bytes) -> None:
    """Nothing is given out but what was written."""
    entry, descriptor, file, whole = _entry()
    file.write_bytes(data)
    file.chmod(0o600)
    found = entry.read(descriptor)
    if found is not None and data != whole:
        raise Unsound("a damaged entry was given out")
    if found is None and data == whole:
        raise Unsound("a whole entry was not given out")


# --- all of them ------------------------------------------------------------------------------------------------------


def _dump(data: Any) -> str:
    return str(yaml.safe_dump(data, sort_keys=False))


def _text_case(data: Any) -> Callable[[random.Random], str]:
    text = _dump(data)
    return lambda rng: mutated_text(rng, text, [text])


def _urdf_case(rng: random.Random) -> str:
    return mutated_xml(rng, rng.choice((seeds.ARM, seeds.ARM, seeds.FLOATER)), (seeds.ARM, seeds.FLOATER))


def _odd_case(rng: random.Random) -> bytes:
    return mutated_bytes(rng, rng.choice(seeds.ODD), seeds.ODD)


def _xml_case(text: str) -> Callable[[random.Random], str]:
    return lambda rng: mutated_xml(rng, text, (text,))


def _state_case(rng: random.Random) -> bytes:
    return mutated_bytes(rng, rng.choice(_states()), _states())


def _object_case(data: Any) -> Callable[[random.Random], Any]:
    return lambda rng: mutated_object(rng, data)


def _metadata_case(rng: random.Random) -> str:
    return mutated_text(rng, _bags()["metadata.yaml"].decode())


def _entry_case(rng: random.Random) -> bytes:
    return mutated_bytes(rng, _entry()[3], [_entry()[3]])


DATA = (ValueError, KeyError)
TARGETS = {
    target.name: target
    for target in (
        Target("urdf", _urdf_case, _run_urdf, (ValueError,), 0.10, "text"),
        Target("markup", _odd_case, _run_markup, (), 0.03, "bytes"),
        Target("xml", _odd_case, _run_xml, (ValueError,), 0.03, "bytes"),
        Target("sdf", _xml_case(seeds.SDF), _run_other_format, (ValueError,), 0.06, "text"),
        Target("mjcf", _xml_case(seeds.MJCF), _run_other_format, (ValueError,), 0.04, "text"),
        Target("model", _object_case(seeds.MODEL), _run_model, (ValueError,), 0.08, "json"),
        Target("model_yaml", _text_case(seeds.MODEL), _run_model_text, (ValueError,), 0.04, "text"),
        Target("scene", _object_case(seeds.SCENE), _run_scene, DATA, 0.10, "json"),
        Target("scene_yaml", _text_case(seeds.SCENE), _run_scene_text, DATA, 0.03, "text"),
        Target("layout", _state_case, _run_layout, (), 0.15, "bytes"),
        Target("raw", _state_case, _run_raw, (), 0.20, "bytes"),
        Target("reader", _reader_case, _run_reader, (), 0.06, "json"),
        Target("trajectory", _trajectory_case, _run_trajectory, (ValueError,), 0.05, "json"),
        Target("parameters", _object_case(seeds.PARAMETERS), _run_parameters, (ValueError,), 0.04, "json"),
        Target("mcap", _bag_case(".mcap"), _run_bag(".mcap"), (ValueError,), 0.02, "bytes"),
        Target("db3", _bag_case(".db3"), _run_bag(".db3"), (ValueError,), 0.015, "bytes"),
        Target("bag", _bag_case(".bag"), _run_bag(".bag"), (ValueError,), 0.02, "bytes"),
        Target("zstd", _bag_case(".zstd"), _run_bag(".mcap.zstd"), (ValueError,), 0.005, "bytes"),
        Target("metadata", _metadata_case, _run_metadata, (ValueError,), 0.01, "text"),
        Target("settings", _object_case(seeds.SETTINGS), _run_settings, (ValueError,), 0.02, "json"),
        Target("fleet", _fleet_case, _run_fleet, (), 0.02, "json"),
        Target("cache_entry", _entry_case, _run_entry, (), 0.06, "bytes"),
    )
}  # fmt: skip


def problem_of(target: Target, case: Case) -> str:
    """What is wrong with how a case is taken; empty: nothing. Lets MemoryError and the like through."""
    try:
        target.run(case)
    except target.allowed as error:
        if len(str(error)) > LONGEST_MESSAGE:
            return f"message of {len(str(error))} characters: {type(error).__name__} {place_of(error)}"
        if not str(error).strip("' \""):
            return f"no message: {type(error).__name__} {place_of(error)}"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return f"{type(error).__name__} {place_of(error)}: {str(error)[:200]}"
    return ""


def place_of(error: BaseException) -> str:
    """The innermost line of ours."""
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "rbd_dynamics" in name or not found:
            found = f"{Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
