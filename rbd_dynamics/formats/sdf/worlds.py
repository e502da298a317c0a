# SPDX-License-Identifier: Apache-2.0
"""Which model of an SDF is read, and what else of its world: the joints that tie it, and the models they tie it to."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rbd_dynamics.common.excerpt import close_names, excerpt, listed
from rbd_dynamics.formats.sdf.includes import Included, NoModelError
from rbd_dynamics.formats.sdf.values import Values
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.elements import Number, local_tag
from rbd_dynamics.model.errors import Findings, ModelError

_EARTH = "0 0 -9.81"
#: the specification's, of a world that says none
_OF_A_WORLD = "0 0 -9.8"


@dataclass
class Candidate:
    """A model that a file has, or includes; opened: None for an include that cannot be read, with the reason."""

    name: str
    element: ET.Element
    opened: Included | None
    reason: str = ""

    def has_joint(self) -> bool:
        """One that moves."""
        if self.opened is None:
            return False
        root = self.opened.model if self.opened.robot is None else self.opened.robot
        return any(local_tag(element) == "joint" and element.get("type", "fixed") != "fixed" for element in root.iter())


@dataclass
class Chosen:
    """The model to read, its world if it is in one, other models of it that joints tie it to, and what is not read."""

    model: Candidate
    world: ET.Element | None
    others: Mapping[str, Candidate] = field(default_factory=dict)
    joints: list[ET.Element] = field(default_factory=list)
    unread: set[ET.Element] = field(default_factory=set)


def chosen(
    source: Source, root: ET.Element, name: str | None, open_: Callable[[Values], Included], findings: Findings
) -> Chosen:
    """The model of that name; without one the only model, or the only one with a joint that moves.

    open_: reads what an <include> stands for. Raises ModelError, with the names that there are.
    """
    found: list[tuple[Candidate, ET.Element | None]] = []
    for element in root:
        if local_tag(element) == "model":
            found.append((Candidate(element.get("name", ""), element, Included(source, element)), None))
        elif local_tag(element) == "world":
            found += [(each, element) for each in _candidates(source, element, open_, findings)]
    names = [each.name for each, _ in found]
    if name is not None:
        fitting = [each for each in found if each[0].name == name]
        if not fitting:
            near = close_names(name, names)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {listed(names) or 'none'}"
            raise ModelError(f"{source.where} has no model {excerpt(name)}; {hint}")
    else:
        fitting = found if len(found) == 1 else [each for each in found if each[0].has_joint()]
    if len(fitting) != 1:
        moving = f", {len(fitting)} of them with joints" if fitting and name is None else ""
        names.sort(key=lambda other: other not in {each.name for each, _ in fitting})
        listing = f": {listed(names)} (`model` says which)" if found else ""
        raise ModelError(f"{source.where} has {len(found)} models{moving}, expected one{listing}")
    model, world = fitting[0]
    if model.opened is None:
        raise ModelError(model.reason)
    result = Chosen(model, world)
    if world is not None:
        _tie(result, {each.name: each for each, place in found if place is world})
    read = [model, *result.others.values()]
    unread = [each for each, _ in found if each not in read]
    result.unread = {each.element for each in unread}
    if unread:
        names = [each.name for each in unread]
        findings.note(source.where, f"has other models, which are not read: {', '.join(names)}")
    return result


def gravity_of(world: ET.Element | None, where: str, findings: Findings) -> tuple[float, float, float]:
    """m/s^2; world: None for that of a model without one."""
    default = Number(3, _EARTH if world is None else _OF_A_WORLD)
    x, y, z = Values(ET.Element("world") if world is None else world, where, findings).numbers("gravity", default)
    return x, y, z


def _candidates(
    source: Source, world: ET.Element, open_: Callable[[Values], Included], findings: Findings
) -> list[Candidate]:
    found = []
    for element in world:
        if local_tag(element) == "model":
            found.append(Candidate(element.get("name", ""), element, Included(source, element)))
        elif local_tag(element) == "include":
            values = Values(element, source.where, findings)
            uri = values.text("uri")
            try:
                opened = open_(values)
            except NoModelError:
                continue
            except ModelError as error:
                name = values.text("name") or PurePosixPath(uri).stem
                found.append(Candidate(name, element, None, str(error)))
            else:
                found.append(Candidate(opened.model.get("name", ""), element, opened))
    return found


def _tie(result: Chosen, models: Mapping[str, Candidate]) -> None:
    """Add the joints of the world that the model hangs on, over other models and frames, and those models."""
    assert result.world is not None
    frames = {e.get("name", ""): e.get("attached_to", "") for e in result.world if local_tag(e) == "frame"}
    waiting = [element for element in result.world if local_tag(element) == "joint"]
    ends = {joint: {_model_of(_text(joint, tag), frames) for tag in ("parent", "child")} for joint in waiting}
    tied = {result.model.name}
    others: dict[str, Candidate] = {}
    while True:
        held = [joint for joint in waiting if tied & ends[joint]]
        if not held:
            break
        waiting = [joint for joint in waiting if joint not in held]
        result.joints += held
        reached = {*models} & {model for joint in held for model in ends[joint]}
        for name in sorted(reached - tied):
            if models[name].opened is None:
                raise ModelError(models[name].reason)
            others[name] = models[name]
        tied |= reached
    order = {element: k for k, element in enumerate(result.world)}
    result.joints.sort(key=order.__getitem__)
    result.others = others


def _model_of(name: str, frames: Mapping[str, str]) -> str:
    """The model that a name in a world begins with, through the frames of the world."""
    for _ in frames:
        if name not in frames:
            break
        name = frames[name]
    return name.partition("::")[0]


def _text(element: ET.Element, tag: str) -> str:
    return next(((child.text or "").strip() for child in element if local_tag(child) == tag), "")
