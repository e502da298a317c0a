# SPDX-License-Identifier: Apache-2.0
"""What a replay claims of a recording, and which of it is true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from campaigns.recordings.arms import ARMS, robot_of
from campaigns.recordings.case import Case
from campaigns.recordings.causes import CAUSES, Contact, Currents, Recorded
from campaigns.recordings.motion import swinging, torque
from campaigns.recordings.oracle import could_tell
from rbd_dynamics.replay import Questions, RecordingError, Settings, analyse
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.diagnosis import Finding
from rbd_dynamics.replay.diagnosis.words import MAIN, SPEAKS
from rbd_dynamics.replay.identification import Estimate

Array = NDArray[np.float64]

NEAR = 0.5  # s, of a push: a contact there is that one
FAR = 2.0  # intervals from what is true: a number is wrong then
MATTERS = 0.05  # of the torque: a smaller offset is no claim
REFUSALS = {"two robots publish": "two robots"}
REMARKS = {"wrap": "wraps", "degrees": "degrees"}


@dataclass(frozen=True)
class Claim:
    """kind: of the table. true: whether it is. covers: whether its interval has the truth; None where it has none."""

    kind: str
    true: bool
    covers: bool | None = None
    text: str = ""


@dataclass(frozen=True)
class Verdict:
    """claims, and {cause: found, whether an oracle could tell} of those that were injected."""

    claims: tuple[Claim, ...]
    injected: dict[str, tuple[bool, bool]]


def written(found: Recorded, names: list[str], path: Path, *, units: bool) -> Path:
    """A table. units: whether its columns say that they have those of the joint states of ROS, true or not."""
    columns: dict[str, Array] = {"stamp": found.t + 1.7e9}
    signals = (("position", "rad", found.q), ("velocity", "rad/s", found.v), ("effort", "Nm", found.effort))
    for signal, unit, values in signals:
        said = f" [{unit}]" if units else ""
        columns |= {f"{name}.{signal}{said}": values[:, k] for k, name in enumerate(names)}
    pq.write_table(pa.table(columns), path)
    return path


def judge(case: Case) -> Verdict:
    """Replay the recording of a case, and look at all that is said."""
    recorded, names = case.recorded(), list(case.real.joint_names)
    questions = Questions(payload=ARMS[case.arm].tool, inertias=True)
    with tempfile.TemporaryDirectory() as folder:
        path = written(recorded, names, Path(folder, "run.parquet"), units=bool(case.traits["units"]))
        try:
            found = analyse(path, robot_of(case.given), settings=Settings(), questions=questions)
        except RecordingError as error:
            kind = next((kind for part, kind in REFUSALS.items() if part in str(error)), "refused")
            claims = [Claim(kind, any(kind in cause.kinds for cause in case.causes), text=str(error))]
        else:
            claims = [*_signals(case, found), *_causes(case, found), *_numbers(case, found), *_contacts(case, found),
                      *_export(case, found)]  # fmt: skip
    told = {claim.kind for claim in claims if claim.true}
    injected = {
        cause.name: (bool(told.intersection(cause.kinds)), could_tell(case, cause))
        for cause in case.causes
        if not any(other.hides(cause) for other in case.causes)
    }
    return Verdict(tuple(claims), injected)


def _signals(case: Case, found: Analysis) -> Iterator[Claim]:
    assert found.diagnosis is not None
    for finding in found.diagnosis.signals:
        yield _finding(case, finding)
    for remark in (*found.log.guesses, *found.log.remarks):
        for part, kind in REMARKS.items():
            if part in remark:
                yield Claim(kind, any(kind in cause.kinds for cause in case.causes), text=remark)


def _finding(case: Case, finding: Finding) -> Claim:
    names = case.real.joint_names
    if finding.kind == "gravity" and "another unit" in finding.text:  # or without gravity: that is left open
        those = [cause for cause in case.causes if {"gravity", "effort scale"}.intersection(cause.kinds)]
        return Claim(those[0].kinds[0] if those else "gravity", bool(those), text=finding.text)
    for cause in case.causes:
        if finding.kind not in cause.kinds:
            continue
        those = {names[k] for k in cause.joints(case)}
        if not those.intersection(finding.joints) or len(finding.joints) > len(those) + 2:
            continue
        value = cause.value(case)
        if isinstance(cause, Currents):
            gains = dict(zip(names, cause.gains(case)))
            value = float(np.median([1.0 / gains[name] for name in finding.joints]))
        covers = None if finding.estimate is None or np.isnan(value) else finding.estimate.covers(value)
        wrong = covers is False and finding.estimate is not None and _far(finding.estimate, value, value)
        return Claim(finding.kind, not wrong, covers, finding.text)
    return Claim(finding.kind, False, text=finding.text)


def _causes(case: Case, found: Analysis) -> Iterator[Claim]:
    """What is said to be most of a joint's residual."""
    assert found.diagnosis is not None
    compared = {joint.name: joint for joint in found.comparison.results()}
    traits, names = case.traits, list(case.real.joint_names)
    bodies = bool(traits["bodies off"] or traits["centres"])
    for joint in found.diagnosis.joints:
        one = compared.get(joint.joint)
        if one is None or not joint.causes or not one.rmse > SPEAKS * one.measured_rms:
            continue
        if joint.causes[0].share < MAIN:
            continue
        own = {cause.name for cause in case.causes if names.index(joint.joint) in cause.joints(case)}
        true = {
            "friction": True, "rotor": not traits["rotors"], "load": bodies or "load" in own,
            "offset": "offset" in own, "contact": "contact" in own, "delay": "late efforts" in own,
            "sign": bool(own & {"sign", "turned axis"}), "scale": bool(own & {"currents", "thousandths"}),
        }[joint.main]  # fmt: skip
        yield Claim(f"mostly {joint.main}", true, text=joint.joint)


def _numbers(case: Case, found: Analysis) -> Iterator[Claim]:
    own = {cause.name: cause for cause in case.causes}
    assert found.payload is not None and found.friction is not None
    load = own["load"].value(case) if "load" in own else 0.0
    mass = found.payload.mass
    if mass.identifiable:
        if mass.lower > 0.0:
            yield Claim(
                "load", bool(load) and not _far(mass, load, load), mass.covers(load), f"{mass} for {load:.3g} kg"
            )
        else:
            yield Claim("no load", mass.covers(load), mass.covers(load), f"{mass} for {load:.3g} kg")
    rigid = np.abs(torque(case.real, case.motion)).mean(axis=0)
    compared = {joint.name: joint.measured_rms for joint in found.comparison.results()}
    for joint in found.friction.joints:
        k = case.real.joint_names.index(joint.joint)
        low = case.real.joints[k].friction
        high = low + case.traits["by load"] * rigid[k] * 1.5
        if joint.coulomb.identifiable:
            covers = joint.coulomb.upper >= low and joint.coulomb.lower <= high
            text = f"{joint.coulomb} for {low:.3g} to {high:.3g}, {joint.joint}"
            yield Claim("friction", not _far(joint.coulomb, low, high), covers, text)
        offset = joint.offset
        there = "offset" in own and own["offset"].joints(case) == (k,)
        value = own["offset"].value(case) if there else 0.0
        if (
            offset.identifiable
            and offset.lower * offset.upper > 0.0
            and abs(offset.value) > MATTERS * compared[joint.joint]
        ):
            yield Claim(
                "offset", there and not _far(offset, value, value), offset.covers(value), f"{offset} for {value:.3g}"
            )


def _far(found: Estimate, low: float, high: float) -> bool:
    """Whether a number is wrong: the truth, anything from low to high, is far outside of its interval."""
    reach = FAR * 0.5 * (found.upper - found.lower) + 0.02 * abs(found.value)
    return bool(found.value + reach < low or found.value - reach > high)


def _contacts(case: Case, found: Analysis) -> Iterator[Claim]:
    assert found.external_torque is not None
    pushes = next((cause.pushes(case) for cause in case.causes if isinstance(cause, Contact)), [])
    for event in found.external_torque.events:
        true = any(event.start < end + NEAR and event.end > begin - NEAR for begin, end in pushes)
        yield Claim("contact", true, text=f"{event.start:.3g} to {event.end:.3g} s: {event.peak}")


def _export(case: Case, found: Analysis) -> Iterator[Claim]:
    """A corrected description must be nearer to the arm on another motion."""
    assert found.inertias is not None
    if found.inertias.refused:
        return
    arm = case.real
    for cause in case.causes:
        arm = cause.changed(arm, case)
    motion = swinging(case.real, np.arange(2000) / 100.0, case.rng(11))
    true = torque(arm, motion)
    size = np.sqrt(np.square(true).mean(axis=0))
    before, after = (
        float(np.sqrt(np.mean(np.square(torque(model, motion) - true).mean(axis=0) / size**2)))
        for model in (case.given, found.inertias.model)
    )
    masses = np.array([body.inertia.mass for body in found.inertias.model.bodies])
    usual = np.array([body.inertia.mass for body in arm.bodies])
    yield Claim("export", after <= 1.05 * before, text=f"{before:.3g} to {after:.3g} of the torque")
    heavy = (masses > 3.0 * usual + 0.05 * usual.sum()).any()
    yield Claim("masses", not heavy, text=" ".join(f"{m:.3g}/{u:.3g}" for m, u in zip(masses, usual)))


KINDS = tuple(dict.fromkeys(kind for cause in CAUSES.values() for kind in cause.kinds))
