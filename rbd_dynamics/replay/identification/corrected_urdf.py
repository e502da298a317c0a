# SPDX-License-Identifier: Apache-2.0
"""The text of a URDF with other inertias and friction; everything else stays as it is, comments and all.

A body of the model is one link or several that fixed (or locked) joints connect. The inertia of a body of several links
is known as a whole only: all of it goes to the body's own link, the one its joint moves, and the <inertial> of the
others is taken out, so that nothing counts twice. Loaded with the same arguments of `load_urdf`, the text gives the
same model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.model.urdf_reading.parser import INERTIA_ENTRIES

# a tag, or something in which there are no tags
_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\])?[^>]*>"""
    r"""|<(?P<end>/?)(?P<tag>[^\s/>!?]+)(?P<attributes>(?:"[^"]*"|'[^']*'|[^"'>])*?)(?P<empty>/?)>""",
    re.DOTALL,
)
_ATTRIBUTE = r"""(^|\s){}\s*=\s*("[^"]*"|'[^']*')"""
_ENCODING = re.compile(rb"""^(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=["']([\w.-]+)["']""")


@dataclass
class Element:
    """An element of the text: from `start` to `stop`, its content up to `close`; `empty` as in <link/>."""

    tag: str
    attributes: str
    start: int
    content: int
    close: int = -1
    stop: int = -1
    empty: bool = False
    depth: int = 0

    def attribute(self, key: str) -> str | None:
        found = re.search(_ATTRIBUTE.format(key), self.attributes)
        return None if found is None else found.group(2)[1:-1]


#: the text for an element, given the old one, or None, and what stands before each line of it; "" for none
Make = Callable[[Element | None, str], str]


def corrected_urdf(
    source: str | os.PathLike[str],
    model: Model,
    *,
    inertias: bool = True,
    friction: bool = True,
    drives: Collection[str] = (),
) -> str:
    """The text of `source` with the inertias of the model's bodies, and damping and friction of its joints.

    Parameters:
        source: path of a URDF, or its text, from which a model with the same links and joints can be loaded.
        inertias, friction: which of them to write. drives: joints of which to write rotor inertia and spring, too.

    Raises ValueError that names the link that the text does not have.
    """
    text = _text(source)
    elements = list(_elements(text))
    root_depth = min(element.depth for element in elements) if elements else 0
    top = [element for element in elements if element.depth == root_depth + 1]
    links = {element.attribute("name"): element for element in top if element.tag == "link"}
    joints = {element.attribute("name"): element for element in top if element.tag == "joint"}
    edits: list[tuple[int, int, str]] = []

    def edit(parent: Element, tag: str, make: Make) -> None:
        inside = [e for e in elements if e.depth == parent.depth + 1 and parent.start < e.start < parent.stop]
        old = next((element for element in inside if element.tag == tag), None)
        if old is not None:
            blank = text[len(text[: old.start].rstrip()) : old.start]
            new = make(old, blank if "\n" in blank else "")
            edits.append((old.start if new else old.start - len(blank), old.stop, new))
        elif new := make(None, ""):
            if parent.empty:
                head = text[parent.start : parent.stop].rstrip("/> \t\r\n")
                edits.append((parent.start, parent.stop, f"{head}>{new}</{parent.tag}>"))
            else:
                edits.append((parent.content, parent.content, new))

    for frame in model.frames if inertias else ():
        if frame.element == "link" and frame.body != WORLD:
            if frame.name not in links:
                raise ValueError(f"the URDF has no link {frame.name!r}: the model was made of another one")
            body = model.bodies[frame.body]
            edit(links[frame.name], "inertial", _inertial(body) if frame.name == body.name else _nothing)
    for body in model.bodies if friction else ():
        if body.joint.name in joints:  # a floating base is in no URDF
            edit(joints[body.joint.name], "dynamics", _dynamics(body.joint, drive=body.joint.name in drives))
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def lumped_links(model: Model) -> dict[str, list[str]]:
    """Other links of each body of several links, whose inertia is in that of the body's own link."""
    found: dict[str, list[str]] = {}
    for frame in model.frames:
        if frame.element == "link" and frame.body >= 0 and frame.name != model.bodies[frame.body].name:
            found.setdefault(model.bodies[frame.body].name, []).append(frame.name)
    return found


def _nothing(old: Element | None, indent: str) -> str:
    return ""


def _inertial(body: Body) -> Make:
    inertial = inertial_of(body.inertia)
    xyz = " ".join(repr(float(x)) for x in inertial.com)
    entries = " ".join(f'{name}="{float(x)!r}"' for name, x in zip(INERTIA_ENTRIES, inertial.rotational))
    parts = (f'<origin xyz="{xyz}" rpy="0 0 0"/>', f'<mass value="{float(inertial.mass)!r}"/>', f"<inertia {entries}/>")

    def make(old: Element | None, indent: str) -> str:
        if old is None and not any(body.inertia.parameters):
            return ""
        return f"<inertial>{''.join(f'{indent}  {part}' for part in parts)}{indent}</inertial>"

    return make


def _dynamics(joint: Joint, *, drive: bool) -> Make:
    wanted = {"damping": float(joint.damping), "friction": float(joint.friction)}
    if drive:
        wanted["armature"] = float(joint.armature)
        for spring in (force for force in joint.passive if isinstance(force, Spring)):
            wanted |= {"spring_stiffness": spring.stiffness, "spring_reference": spring.rest}

    def make(old: Element | None, indent: str) -> str:
        if old is None:
            attributes = "".join(f' {key}="{value!r}"' for key, value in wanted.items())
            return f"<dynamics{attributes}/>" if any(wanted.values()) else ""
        attributes = old.attributes
        for key, value in wanted.items():
            given = old.attribute(key)
            if given is None:
                attributes += f' {key}="{value!r}"' if value else ""
            elif float(given) != value:
                attributes = re.sub(_ATTRIBUTE.format(key), f'\\g<1>{key}="{value!r}"', attributes)
        if attributes != old.attributes and not any(f"{key}=" in attributes for key in ("damping", "friction")):
            attributes += ' damping="0.0"'  # urdfdom refuses the element without either of them
        return f"<dynamics{attributes}/>"

    return make


def _elements(text: str) -> Iterator[Element]:
    """All elements, parents after their children; prefixes of namespaces are left out of tags."""
    waiting: list[Element] = []
    for token in _TOKEN.finditer(text):
        tag = token["tag"]
        if tag is None:
            continue
        if token["end"]:
            if not waiting:
                raise ValueError("the URDF is not well-formed XML")
            element = waiting.pop()
            element.close, element.stop = token.start(), token.end()
            yield element
            continue
        found = Element(tag.rpartition(":")[2], token["attributes"], token.start(), token.end(), depth=len(waiting))
        if token["empty"]:
            found.close = found.stop = token.end()
            found.empty = True
            yield found
        else:
            waiting.append(found)


def _text(source: str | os.PathLike[str]) -> str:
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return source
    data = Path(source).read_bytes()
    encoding = _ENCODING.match(data)
    return data.decode(encoding.group(1).decode() if encoding else "utf-8-sig")
