# SPDX-License-Identifier: Apache-2.0
"""urdf_parser_py reads the links, joints and transmissions, each from a copy that holds nothing it trips over.

Handed a whole file, it gives the file up for things that dynamics never needs (a texture without a file, a transmission
of a form of its own) and passes over some that matter. So each element is written anew for it:

- With known tags and attributes only, each element once. For others it calls one function for the whole process, which
  prints; other users may rely on that function, so it is neither replaced nor ever called from here.
- With checked numbers. It takes "nan", "1e999" and "1_0" for numbers, and stops at the first that is none; here each is
  reported with its link or joint and written as nan, and reading goes on.
- With defaults written out. It insists on the effort and velocity of a limit, and leaves None elsewhere.
- As text. Its elements are those of xml.etree in the package of PyPI and of lxml in that of ROS 2; `from_xml_string` is
  in both. The text holds no document type, so there is nothing that lxml could expand or fetch.
- One at a time. Of a whole robot it takes the children out of the front of a list, in quadratic time.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from urdf_parser_py import urdf

from rbd_dynamics.model.elements import Number, Reader, child_of
from rbd_dynamics.model.errors import Findings

INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

#: in an attribute between double quotes; xml.sax.saxutils, which has such a table, imports a browser's worth of modules
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)

#: The attributes that are read of each element inside a link or joint.
_NUMBERS: dict[str, dict[str, Number]] = {
    "origin": {"xyz": Number(3, "0 0 0"), "rpy": Number(3, "0 0 0")},
    "mass": {"value": Number()},
    "inertia": {entry: Number() for entry in INERTIA_ENTRIES},
    "axis": {"xyz": Number(3)},
    "limit": {
        "lower": Number(default="0", infinite=True),
        "upper": Number(default="0", infinite=True),
        "velocity": Number(default="inf", infinite=True),
        "effort": Number(default="inf", infinite=True),
    },
    "dynamics": {"damping": Number(default="0"), "friction": Number(default="0")},
    "mimic": {"multiplier": Number(default="1"), "offset": Number(default="0")},
}


def parse_link(element: ET.Element, name: str, findings: Findings) -> Any:
    """The urdf_parser_py.urdf.Link of a <link>: its name and inertial."""
    where = f"link {name!r}"
    inner = ""
    inertial = child_of(element, "inertial", where, findings)
    if inertial is not None:
        parts = {tag: _part(inertial, tag, where, findings) for tag in ("mass", "inertia", "origin")}
        if not parts["mass"]:
            findings.error(where, "its <inertial> has no <mass>")
            parts["mass"] = _written("mass", {"value": "0"})
        if not parts["inertia"]:
            findings.error(where, "its <inertial> has no <inertia>", "give zeros for a point mass")
            parts["inertia"] = _written("inertia", dict.fromkeys(INERTIA_ENTRIES, "0"))
        inner = _written("inertial", {}, *parts.values())
    return _parsed(urdf.Link, _written("link", {"name": name}, inner), where, findings)


def parse_joint(element: ET.Element, name: str, fixed: bool, ends: Mapping[str, str], findings: Findings) -> Any:
    """The urdf_parser_py.urdf.Joint of a <joint>: all that moves it, or only the origin of a fixed one.

    Its type is left to the caller: urdf_parser_py knows neither spherical nor ball joints.
    """
    where = f"joint {name!r}"
    tags = ("origin",) if fixed else ("origin", "dynamics", "axis", "limit")
    parts = [_part(element, tag, where, findings) for tag in tags]
    mimic = None if fixed else child_of(element, "mimic", where, findings)
    if mimic is not None:
        leader = Reader(mimic, where, findings).name("joint")
        parts.append(_copy(mimic, "mimic", where, findings, {"joint": leader}))
    parts += [_written(tag, {"link": link}) for tag, link in ends.items()]
    return _parsed(urdf.Joint, _written("joint", {"name": name, "type": "unknown"}, *parts), where, findings)


def parse_transmission(joint: str, reduction: str, where: str, findings: Findings) -> Any:
    """The urdf_parser_py.urdf.Transmission between one actuator and one joint.

    Written from its parts, because files give them in many forms and urdf_parser_py takes one.
    """
    inner = (
        _written("type", {}),
        _written("joint", {"name": joint}, _written("hardwareInterface", {})),  # it insists on one
        _written("actuator", {"name": ""}, _written("mechanicalReduction", {}, reduction)),
    )
    return _parsed(urdf.Transmission, _written("transmission", {"name": ""}, *inner), where, findings)


def _part(parent: ET.Element, tag: str, where: str, findings: Findings) -> str:
    """A copy of the child of that tag, empty if there is none."""
    element = child_of(parent, tag, where, findings)
    return "" if element is None else _copy(element, tag, where, findings, {})


def _copy(element: ET.Element, tag: str, where: str, findings: Findings, names: Mapping[str, str]) -> str:
    reader = Reader(element, where, findings)
    return _written(tag, {**names, **{key: reader.words(key, number) for key, number in _NUMBERS[tag].items()}})


def _written(tag: str, attributes: Mapping[str, str], *inner: str) -> str:
    pairs = "".join(f' {key}="{text.translate(_ESCAPES)}"' for key, text in attributes.items())
    return f"<{tag}{pairs}>{''.join(inner)}</{tag}>"


def _parsed(kind: Any, text: str, where: str, findings: Findings) -> Any:
    """What urdf_parser_py makes of it, or None with a finding: a version to come may ask for more."""
    try:
        return kind.from_xml_string(text)
    except Exception as error:  # it raises whatever its types raise
        findings.error(where, f"is refused by urdf_parser_py: {' '.join(str(error).split())}")
        return None
