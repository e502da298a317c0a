# SPDX-License-Identifier: Apache-2.0
"""What arguments choose: the description, settings and questions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common import example_robots
from rbd_dynamics.replay.questions import QUESTIONS, Questions

if TYPE_CHECKING:
    from rbd_dynamics.model.errors import Inertias
    from rbd_dynamics.replay.settings import Settings
    from rbd_dynamics.robot import Robot
    from rbd_dynamics.scene import MeshFinder

Source = Callable[[str, argparse.Namespace], "str | Path"]


def description_of(options: argparse.Namespace, source: Source) -> tuple[str | None, str]:
    """Text of the robot's description, and where it is from."""
    from rbd_dynamics.formats.source import read_file

    if options.urdf is None:
        return None, "the recording"
    found = source(options.urdf, options)
    if isinstance(found, Path):
        return read_file(found).text, str(found)
    return found, "standard input" if options.urdf == "-" else options.urdf


def inertias_of(options: argparse.Namespace) -> Inertias:
    return "as_given" if options.given_inertias else "checked"


def meshes_of(options: argparse.Namespace, where: str) -> MeshFinder:
    """Finder of meshes: in the folders of --meshes, around the description's file, in packages of ROS and examples."""
    from rbd_dynamics.scene import MeshFinder

    for folder in options.meshes:
        if not folder.is_dir():
            raise ValueError(f"--meshes: there is no folder {folder}")
    near = Path(where) if Path(where).is_file() else None
    return MeshFinder(
        folders=[folder.resolve() for folder in options.meshes], near=near, packages=example_robots.shares()
    )


def robot_of_one(options: argparse.Namespace, source: Source, recording: Path) -> Robot:
    """The robot of --urdf, else of the description in a recording."""
    from rbd_dynamics.replay.fleet.job import robot_of
    from rbd_dynamics.replay.reading import Recording

    urdf, _ = description_of(options, source)
    opened = Recording(recording)
    text = urdf if urdf is not None else opened.robot_description(robot=options.robot)
    if text is None:
        raise ValueError(f"{recording} has no robot_description in it{opened.damage}: give a URDF with --urdf")
    locked, gravity = tuple(sorted(dict(options.lock).items())), options.gravity and tuple(options.gravity)
    return robot_of(text, locked, gravity, inertias_of(options))[0]


def settings_of(options: argparse.Namespace) -> Settings:
    from rbd_dynamics.common.joint_numbers import OFFSETS, numbers_by_joint
    from rbd_dynamics.replay.settings import Settings, json_of

    given: dict[str, Any] = {}
    if options.settings is not None:
        try:
            given = json_of(options.settings.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options.settings}: {error}") from error
        given = given.get("settings", given)
        if not isinstance(given, dict):
            raise ValueError(f"{options.settings}: settings must be a dictionary")
    for name in ("topic", "robot", "start", "end", "terms", "cutoff", "rate", "edge", "velocity", "clock", "angles"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.joint_map:
        given["joint_map"] = _joint_map(options.joint_map)
    if options.columns:
        given["columns"] = {**given.get("columns", {}), **_columns(options.columns)}
    if options.position:
        given["positions"] = {**given.get("positions", {}), **dict(options.position)}
    if options.effort_scale:
        given["effort_scale"] = _by_joint("--effort-scale", options.effort_scale, ("effort_scale", "drive_gains"))
    if options.joint_offset:
        offsets = _by_joint("--joint-offset", options.joint_offset, ("joint_offsets",))
        if not isinstance(offsets, dict):
            raise ValueError("--joint-offset: NAME=RAD or a file: each joint has a zero of its own")
        given["joint_offsets"] = {**given.get("joint_offsets", {}), **offsets}
    if options.position_scale:
        given["position_scale"] = {**given.get("position_scale", {}), **dict(options.position_scale)}
    if options.offsets is not None:
        given["effort_offsets"] = numbers_by_joint(options.offsets, OFFSETS)
    for signal, name, value in options.delay:
        delays = given.setdefault("delay", {})
        known = delays.get(signal)
        delays[signal] = {**(known if isinstance(known, dict) else {}), name: value} if name else value
    return Settings.from_dict(given)


def _joint_map(given: Sequence[tuple[str, str] | Path]) -> dict[str, str]:
    """{name in the recording: joint}; of a name the last one counts."""
    from rbd_dynamics.replay.signals.joint_names import read_joint_map

    named: dict[str, str] = {}
    for part in given:
        named.update(read_joint_map(part) if isinstance(part, Path) else [part])
    return named


def _columns(given: Sequence[tuple[str, str] | Path]) -> dict[str, Any]:
    """{field: columns, or {joint: column}}; of a field or a joint the last one counts."""
    from rbd_dynamics.common.safe_yaml import SMALL, read_file
    from rbd_dynamics.replay.reading.tables.given import checked_columns

    found: dict[str, Any] = {}
    for part in given:
        if isinstance(part, Path):
            try:
                found.update(checked_columns(read_file(part, str(part), SMALL)))
            except ValueError as error:
                raise ValueError(error if str(part) in str(error) else f"{part}: {error}") from None
            continue
        key, columns = part
        joint, _, word = key.rpartition(".")
        (field,) = checked_columns({word: columns})
        if joint:
            known = found.get(field)
            found[field] = {**(known if isinstance(known, dict) else {}), joint: columns}
        else:
            found[field] = columns
    return found


def _by_joint(option: str, given: Sequence[tuple[str, float | Path]], keys: Sequence[str]) -> float | dict[str, Any]:
    """One for all, or {joint: number}; of a joint the last one counts. keys: under which files have them."""
    from rbd_dynamics.common.joint_numbers import numbers_by_joint

    named: dict[str, Any] = {}
    for name, value in given:
        if isinstance(value, Path):
            named.update(numbers_by_joint(value, keys))
        elif name:
            named[name] = value
        elif len(given) > 1:
            raise ValueError(f"{option}: either one for all joints, or NAME=NUMBER or a file for each that counts")
        else:
            return value
    return named


def questions_of(options: argparse.Namespace) -> Questions:
    return Questions(**{name: value for question in QUESTIONS for name, value in question.chosen(options).items()})
