# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are taken for what, and why: by what somebody says of them, else by their names."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.joint_states.layout import FIELDS
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.column_names import ORDER, Signal, signal_of, split_unit, times_among
from rbd_dynamics.replay.reading.tables.given import Given, Taken, taken
from rbd_dynamics.replay.reading.tables.vocabulary import TIME, UNITS, factor_of


@dataclass(frozen=True)
class Columns:
    """Places of columns.

    Attributes:
        times: of the time, or of its seconds and nanoseconds; () where samples come at a known rate.
        unit: of the time in s; None: not said.
        joints: their names, in the order of the table.
        fields: {field: (places, factors)}, one for each joint, of those of position, velocity and effort that are
            there; place -1 for a joint without.
        units: {field: unit as it was said, or ""}, of those fields.
        why: {field or "time": by what it is taken for that}.
        remarks: what a reader should know of these choices.
    """

    times: tuple[int, ...]
    unit: float | None
    joints: tuple[str, ...]
    fields: dict[str, tuple[tuple[int, ...], tuple[float, ...]]]
    units: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def used(self) -> list[int]:
        """Places, in increasing order."""
        places = {place for found, _ in self.fields.values() for place in found if place >= 0}
        return sorted(places | set(self.times))

    def scaled(self, factors: Mapping[str, float]) -> Columns:
        """The same with fields whose unit was found: multiplied by these as well."""
        fields = {
            name: (places, tuple(factor * factors.get(name, 1.0) for factor in before))
            for name, (places, before) in self.fields.items()
        }
        return replace(self, fields=fields)


def columns_of(names: Sequence[str], path: object, given: Given | None = None, rate: float | None = None) -> Columns:
    """Raises RecordingError where there is no time and no rate, no position, or more than one column for a thing.

    Parameters:
        given: what was said of columns (`given.py`), of all fields or of some.
        rate: of the rows, Hz, where there is no time.
    """
    given = given or {}
    times, unit, why = _times(names, path, given, rate)
    found, remarks = _fields(names, set(times), path, given)
    if not found.get("position"):
        raise RecordingError(
            f"{path} has no position of any joint, as elbow.position, q_elbow or q1; its columns: {listed(names)}; "
            "--columns q=NAME{} says which they are"
        )
    there = {one.joint for one in found["position"]}
    inside = sorted((one.place, one.joint) for ones in found.values() for one in ones if one.joint in there)
    joints = tuple(dict.fromkeys(joint for _, joint in inside))  # in the order of the table
    fields, units = {}, {}
    for name in FIELDS:
        of = {one.joint: one for one in found.get(name, ()) if one.joint in joints}
        if of:
            places = tuple(of[joint].place if joint in of else -1 for joint in joints)
            factors = tuple(_factor(name, of[joint], names, path) if joint in of else 1.0 for joint in joints)
            fields[name] = places, factors
            said = {one.unit for one in of.values()}
            units[name] = said.pop() if len(said) == 1 else ""
            why[name] = "--columns" if name in given else "its name"
    return Columns(times, unit, joints, fields, units, why, remarks)


def _times(
    names: Sequence[str], path: object, given: Given, rate: float | None
) -> tuple[tuple[int, ...], float | None, dict[str, str]]:
    if TIME in given:
        chosen = taken(TIME, given[TIME], names, path)
        places, unit, why = tuple(one.place for one in chosen[:1]), chosen[0].unit, "--columns"
    else:
        places, unit = times_among(names)
        why = "its name"
    if not places and rate is None:
        raise RecordingError(
            f"{path} has no column of times, as t, time, stamp or time_ms; its columns: {listed(names)}; --columns "
            "t=NAME says which it is, --rate HZ that there is one row each 1/HZ s"
        )
    if not places:
        return (), 1.0, {TIME: f"rows at {rate:g} Hz, as --rate says"}
    return places, _unit_factor(TIME, unit, names[places[0]], path) if unit else None, {TIME: why}


def _fields(
    names: Sequence[str], times: set[int], path: object, given: Given
) -> tuple[dict[str, list[Taken]], tuple[str, ...]]:
    """Columns of each field, and remarks on those that were left."""
    known: dict[int, tuple[Signal, str]] = {}
    for place, name in enumerate(names):
        if place in times:
            continue
        bare, unit = split_unit(name)
        signal = signal_of(bare)
        if signal is None and unit:  # position(elbow)
            signal, unit = signal_of(f"{bare}_{unit}"), ""
        if signal is not None:
            known[place] = signal, unit
    found: dict[str, list[Taken]] = {}
    remarks: list[str] = []
    given_fields: list[str] = []
    for field_name in FIELDS:
        if field_name in given:
            found[field_name] = taken(field_name, given[field_name], names, path)
            given_fields.append(field_name)
            continue
        own = {place: pair for place, pair in known.items() if pair[0].field == field_name}
        if joints := {_last(one.joint) for one in found.get("position", ())}:
            own = {place: pair for place, pair in own.items() if _last(pair[0].joint) in joints}
        found[field_name], said = _best(field_name, own, names, path)
        remarks += said
    found = _without_paths(found)
    positions = [one.joint for one in found.get("position", ())]
    for field_name in given_fields:
        found[field_name] = _paired(field_name, found[field_name], positions, path)
    return found, tuple(remarks)


def _paired(field_name: str, ones: list[Taken], positions: Sequence[str], path: object) -> list[Taken]:
    """Columns that were said, of joints that have a position; those that were only counted are these in order."""
    if {one.joint for one in ones} & set(positions) or not positions:
        return ones
    if len(ones) == len(positions) and all(one.joint == str(k) for k, one in enumerate(ones, 1)):
        return [one._replace(joint=joint) for one, joint in zip(ones, positions)]
    raise RecordingError(
        f"{path}: --columns: the {field_name} is of {listed([one.joint for one in ones])}, the position of "
        f"{listed(positions)}"
    )


def _best(
    field_name: str, own: Mapping[int, tuple[Signal, str]], names: Sequence[str], path: object
) -> tuple[list[Taken], list[str]]:
    """The kind of columns of a field that was measured best; currents only without torques."""
    kinds = [kind for kind in ORDER if any(signal.kind == kind for signal, _ in own.values())]
    if not kinds:
        return [], []
    chosen: dict[str, int] = {}
    for place, (signal, _) in own.items():
        if signal.kind != kinds[0]:
            continue
        if signal.joint in chosen:
            raise RecordingError(
                f"{path}: columns {excerpt(names[chosen[signal.joint]])} and {excerpt(names[place])} are both the "
                f"{field_name} of {excerpt(signal.joint)}: --columns says which it is"
            )
        chosen[signal.joint] = place
    taken_ones = [Taken(place, joint, own[place][1]) for joint, place in chosen.items()]
    example, said = names[taken_ones[0].place], []
    if kinds[0] == "current":
        said.append(f"efforts are currents ({example} ...), not torques: --effort-scale says how many N m an ampere is")
    if kinds[0] == "stand-in":
        said.append(f"efforts are the controller's commands ({example} ...): there are no measured ones")
    others = [names[place] for place, (signal, _) in own.items() if signal.kind in kinds[1:]]
    if others:
        said.append(f"{field_name}s are taken from {example} ..., not from {others[0]} ...; --columns may name another")
    return taken_ones, said


def _without_paths(found: dict[str, list[Taken]]) -> dict[str, list[Taken]]:
    """Joints without what all have in common before a / or a dot; of each field by itself where else none match."""
    all_joints = [one.joint for ones in found.values() for one in ones]
    cut = _common_path(all_joints)
    whole = {name: [one._replace(joint=one.joint[cut:]) for one in ones] for name, ones in found.items()}
    joints = {name: {one.joint for one in ones} for name, ones in whole.items() if ones}
    if len(joints) > 1 and not set.intersection(*joints.values()):
        whole = {
            name: [one._replace(joint=one.joint[_common_path([other.joint for other in ones]) :]) for one in ones]
            for name, ones in found.items()
        }
    return whole


def _last(joint: str) -> str:
    return re.split(r"[/.:]", joint)[-1]


def _common_path(joints: Sequence[str]) -> int:
    """Letters that all have before a / or a dot: of /joint_states/shoulder and /joint_states/elbow /joint_states/."""
    unique = sorted(set(joints))
    if not unique:
        return 0
    common = os.path.commonprefix(unique) if len(unique) > 1 else unique[0]
    return max(common.rfind("/"), common.rfind("."), common.rfind(":")) + 1


def _factor(field_name: str, one: Taken, names: Sequence[str], path: object) -> float:
    return _unit_factor(field_name, one.unit, names[one.place], path) if one.unit else 1.0


def _unit_factor(field_name: str, unit: str, name: str, path: object) -> float:
    factor = factor_of(field_name, unit)
    if factor is None:
        raise RecordingError(
            f"{path}: column {excerpt(name)}: unknown unit {excerpt(unit)} as {field_name}; known: "
            f"{', '.join(UNITS[field_name])}"
        )
    return factor


def unused(names: Sequence[str], columns: Columns) -> list[str]:
    """Columns that are not read, each family of numbered ones once."""
    left = [name for k, name in enumerate(names) if k not in columns.used]
    families: dict[str, list[str]] = defaultdict(list)
    for name in left:
        families[name.rstrip("0123456789[]()")].append(name)
    return [names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}" for names in families.values()]
