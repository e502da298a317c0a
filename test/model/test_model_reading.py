# SPDX-License-Identifier: Apache-2.0
"""Reading a URDF: numbers and documents that are none, size, and that real robots stay what they are."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import math
import re
import select
import socket
import sys
import time
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from helpers.models.robots import FILES, ROBOTS, needs_pinocchio, sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_parser_py import urdf

from rbd_dynamics.common.example_robots import PACKAGE
from rbd_dynamics.model import ModelError, ModelWarning, load_urdf, model_to_dict, preflight
from rbd_dynamics.model.description import read_description
from rbd_dynamics.model.errors import Findings

# --- small descriptions --------------------------------------------------------------------------

_NUMBER = st.floats(-2.0, 2.0).map(repr)
_POSITIVE = st.floats(0.5, 1.0).map(repr)
_ROTOR = ('armature="0.1"', 'rotor_inertia="1e-4" gear_ratio="50"', 'rotorInertia="0.2"', "")


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """A chain of one to three joints, each with all that is read of it, and a transmission."""

    def vector() -> str:
        return " ".join(draw(_NUMBER) for _ in range(3))

    def link(name: str) -> str:
        inertia = " ".join(f'{entry}="{1.0 if entry[1] == entry[2] else 0.0}"' for entry in urdf.Inertia.KEYS)
        inner = f'<origin xyz="{vector()}" rpy="{vector()}"/><mass value="{draw(_POSITIVE)}"/><inertia {inertia}/>'
        return f'<link name="{name}"><inertial>{inner}</inertial></link>'

    kinds = draw(st.lists(st.sampled_from(["revolute", "prismatic", "continuous", "planar"]), min_size=1, max_size=3))
    parts = [link("l0")]
    for k, kind in enumerate(kinds):
        follows = k > 0 and kind != "planar" and kinds[0] != "planar"
        parts += [
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>',
            f'<origin xyz="{vector()}" rpy="{vector()}"/><axis xyz="0 {draw(_POSITIVE)} 0"/>',
            f'<limit lower="-1" upper="{draw(_POSITIVE)}" effort="{draw(_POSITIVE)}" velocity="{draw(_POSITIVE)}"/>',
            f'<dynamics damping="{draw(_POSITIVE)}" friction="0" {draw(st.sampled_from(_ROTOR))}/>',
            f'<mimic joint="j0" multiplier="{draw(_NUMBER)}" offset="{draw(_NUMBER)}"/>' if follows else "",
            f"</joint>{link(f'l{k + 1}')}",
        ]
    motor = '<rotorInertia value="1e-4"/><mechanicalReduction value="50"/>'
    parts.append(f'<transmission name="t"><joint name="j0"/><actuator name="m">{motor}</actuator></transmission>')
    return f'<robot name="r">{"".join(parts)}</robot>'


def parts_of(root: ET.Element) -> list[tuple[ET.Element, ET.Element]]:
    """(link, joint or transmission; element inside it) for all that are read."""
    return [(top, part) for top in root for part in top.iter() if part is not top]


def numbers_of(root: ET.Element) -> list[tuple[ET.Element, ET.Element, str]]:
    """(link, joint or transmission; element inside it; attribute) for every attribute that holds numbers."""
    names = {"name", "type", "link", "joint"}
    return [(top, part, key) for top, part in parts_of(root) for key in part.keys() if key not in names]


BAD = ["nan", "-NaN", "inf", "1e999", "", " ", "abc", "1 2", "1_0", "0x1", "1,5", "\u0661", "${a}"]


@settings(max_examples=300, deadline=None)
@given(text=descriptions(), bad=st.sampled_from(BAD), data=st.data())
def test_an_attribute_that_holds_no_finite_number_is_refused_and_its_owner_named(text, bad, data):
    root = ET.fromstring(text)
    infinite = bad in ("inf", "1e999")  # a limit may be
    places = [place for place in numbers_of(root) if not (infinite and place[1].tag == "limit")]
    top, part, key = data.draw(st.sampled_from(places))
    part.set(key, bad)
    with pytest.raises(ModelError) as raised:
        load_urdf(ET.tostring(root, encoding="unicode"))
    (finding,) = raised.value.findings
    assert str(finding).startswith(f"{top.tag} {top.get('name')!r}: <{part.tag}> {key}={bad!r} ")


@settings(max_examples=100, deadline=None)
@given(text=descriptions(), data=st.data())
def test_a_number_that_must_be_there_and_is_not_is_never_made_up(text, data):
    needed = {"mass": ["value"], "inertia": list(urdf.Inertia.KEYS), "axis": ["xyz"]}
    root = ET.fromstring(text)
    top, part = data.draw(st.sampled_from([pair for pair in parts_of(root) if pair[1].tag in needed]))
    key = data.draw(st.sampled_from(needed[part.tag]))
    del part.attrib[key]
    with pytest.raises(ModelError, match=f"^{top.tag} '{top.get('name')}': <{part.tag}> has no '{key}'$"):
        load_urdf(ET.tostring(root, encoding="unicode"))


@settings(max_examples=100, deadline=None)
@given(text=descriptions(), data=st.data())
def test_a_link_or_joint_that_is_there_twice_is_refused(text, data):
    root = ET.fromstring(text)
    again = data.draw(st.sampled_from([top for top in root if top.tag != "transmission"]))
    root.append(again)
    with pytest.raises(ModelError, match=f"{again.tag} '{again.get('name')}': is defined 2 times"):
        load_urdf(ET.tostring(root, encoding="unicode"))


@settings(max_examples=100, deadline=None)
@given(text=descriptions(), data=st.data())
def test_of_an_element_that_is_there_twice_the_first_counts_and_preflight_says_so(text, data):
    root = ET.fromstring(text)
    pairs = [(top, part) for top, part in parts_of(root) if top.tag != "transmission"]
    top, part = data.draw(st.sampled_from(pairs))
    parent = next(element for element in top.iter() if part in list(element))
    parent.append(ET.Element(part.tag, dict.fromkeys(part.keys(), "no number")))
    twice = ET.tostring(root, encoding="unicode")
    assert load_urdf(twice) == load_urdf(text)
    told = [finding for finding in preflight(twice) if f"has 2 <{part.tag}> elements" in finding.message]
    assert [finding.element for finding in told] == [f"{top.tag} {top.get('name')!r}"]


def test_an_attribute_that_is_there_twice_is_refused():
    with pytest.raises(ModelError, match="duplicate attribute at line 1"):
        load_urdf('<robot><link name="a" name="b"/></robot>')


# --- document types and entities -----------------------------------------------------------------

ROBOT = '<robot name="r"><link name="{}"/></robot>'
LAUGHS = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(12))
DOCTYPES = {
    "billion laughs": f'<!DOCTYPE robot [<!ENTITY l0 "ha">{LAUGHS}]>' + ROBOT.format("&l12;"),
    "quadratic": f'<!DOCTYPE robot [<!ENTITY a "{"a" * 50_000}">]>' + ROBOT.format("&a;" * 50_000),
    "external entity": '<!DOCTYPE robot [<!ENTITY a SYSTEM "{file}">]><robot name="r"><link name="a"/>&a;</robot>',
    "external entity by network": '<!DOCTYPE robot [<!ENTITY a SYSTEM "{url}">]><robot name="r">&a;</robot>',
    "parameter entity": '<!DOCTYPE robot [<!ENTITY % a SYSTEM "{url}"> %a;]>' + ROBOT.format("a"),
    "entity in itself": '<!DOCTYPE robot [<!ENTITY a "&a;">]>' + ROBOT.format("&a;"),
    "default of an attribute": '<!DOCTYPE robot [<!ATTLIST link name CDATA "a">]><robot name="r"><link/></robot>',
}
HARMLESS = {
    "external document type": '<!DOCTYPE robot SYSTEM "{url}">' + ROBOT.format("a"),
    "nothing but the name": "<!DOCTYPE robot>" + ROBOT.format("a"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", DOCTYPES)
def test_a_document_type_is_refused_soon_and_nothing_is_fetched(name, encoding, tmp_path: Path):
    (tmp_path / "secret").write_text('<link name="secret"/>')
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.dtd"
        text = DOCTYPES[name].replace("{file}", (tmp_path / "secret").as_uri()).replace("{url}", url)
        file = tmp_path / "robot.urdf"
        file.write_bytes(text.encode(encoding))
        start = time.process_time()
        for source in (text, file):
            with pytest.raises(ModelError, match="<!DOCTYPE>"):
                load_urdf(source)
        assert time.process_time() - start < 20.0  # it takes 0.05 s; expanded, the first two have 2 TB and 2.5 GB
        assert not select.select([server], [], [], 0.0)[0], "somebody called"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", HARMLESS)
def test_a_document_type_that_declares_nothing_is_passed_over_and_not_fetched(name, encoding, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = HARMLESS[name].replace("{url}", f"http://127.0.0.1:{server.getsockname()[1]}/a.dtd")
        file = tmp_path / "robot.urdf"
        file.write_bytes(text.encode(encoding))
        for source in (text, file):
            with pytest.warns(ModelWarning, match="has a document type: it is read as ROS"):
                assert load_urdf(source).frame_names == ["a"]
        assert not select.select([server], [], [], 0.0)[0], "somebody called"


@pytest.mark.parametrize("encoding", ["cp037", "utf-16-le", "ISO-8859-1"])
def test_a_document_type_is_seen_in_any_encoding_that_a_file_declares(encoding):
    """In EBCDIC no byte of the word is as in ASCII."""
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = (head + DOCTYPES["default of an attribute"]).encode(encoding)
    if encoding == "cp037":
        text = head.encode() + DOCTYPES["default of an attribute"].encode(encoding)
    with pytest.raises(ModelError):
        load_urdf(text)


def test_a_comment_that_speaks_of_a_document_type_is_none():
    assert load_urdf("<!-- <!DOCTYPE robot> -->" + ROBOT.format("a")).frame_names == ["a"]


# --- size ----------------------------------------------------------------------------------------


def chain(length: int) -> str:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(length))
    joint = '<joint name="j{0}" type="fixed"><parent link="l{0}"/><child link="l{1}"/><origin xyz="0 0 1"/></joint>'
    return f'<robot name="r">{links}{"".join(joint.format(k, k + 1) for k in range(length - 1))}</robot>'


TraceFunction = Callable[[FrameType, str, object], object]


def steps(text: str) -> int:
    """How many instructions of Python reading takes: a measure of time that does not depend on the machine's load."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_description(text, Findings())
    finally:
        sys.settrace(before)
    return count


def test_reading_takes_time_in_proportion_to_the_number_of_links():
    short, long = steps(chain(50)), steps(chain(200))
    assert short > 50 * 100
    assert long < 4.1 * short


def test_ten_thousand_links_are_no_trouble():
    model = load_urdf(chain(10_000))
    assert model.fixed_inertia.mass == 10_000.0
    assert len(model.frames) == 19_999


# --- real robots ---------------------------------------------------------------------------------

HASHES = Path(__file__).with_name("example_robots.sha256")
VERSION = "6.0.0"


def hash_of_model(name: str) -> str:
    """Of both models of a robot, bit by bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [model_to_dict(load_urdf(FILES[name], base=base)) for base in ("fixed", "floating")]
    return hashlib.sha256(json.dumps(both, sort_keys=True).encode()).hexdigest()


def hash_of_rotations(name: str) -> str:
    """Of the sines and cosines of all angles in a file, whose last bit depends on the C library."""
    texts = re.findall(r'rpy\s*=\s*"([^"]*)"', FILES[name].read_text())
    angles = [float(word) for text in texts for word in re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", text)]
    return hashlib.sha256(repr([(math.sin(angle), math.cos(angle)) for angle in angles]).encode()).hexdigest()


def recorded() -> dict[str, list[str]]:
    return {name: hashes for *hashes, name in map(str.split, HASHES.read_text().splitlines())}


@needs_pinocchio
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_real_robots_are_the_same_models_to_the_last_bit(name):
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        if importlib.metadata.version(PACKAGE) != VERSION:
            pytest.skip(f"recorded of {PACKAGE} {VERSION}")
    model, rotations = recorded()[name]
    if hash_of_rotations(name) != rotations:
        pytest.skip("recorded where sin and cos are rounded in another way")
    assert hash_of_model(name) == model


if __name__ == "__main__":  # record them anew
    HASHES.write_text("".join(f"{hash_of_model(name)} {hash_of_rotations(name)} {name}\n" for name in ROBOTS))


@needs_pinocchio
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_links_and_joints_are_what_urdf_parser_py_reads(name, capfd):
    passed_over = r"(?s)<transmission.*?</transmission>|<material[^>]*/>|<material.*?</material>"
    theirs = urdf.URDF.from_xml_string(re.sub(passed_over, "", FILES[name].read_text()))
    ours = read_description(FILES[name], Findings())
    assert [link.name for link in ours.links] == [link.name for link in theirs.links]
    for link, other in zip(ours.links, theirs.links):
        assert (link.inertial is None) == (other.inertial is None)
        if link.inertial is not None:
            assert link.inertial.mass == other.inertial.mass
            assert list(link.inertial.com) == list(other.inertial.origin.xyz if other.inertial.origin else (0, 0, 0))
    assert [joint.name for joint in ours.joints] == [joint.name for joint in theirs.joints]
    for joint, other in zip(ours.joints, theirs.joints):
        assert (joint.type, joint.parent, joint.child) == (other.type, other.parent, other.child)
        assert list(joint.origin.p) == list(other.origin.xyz if other.origin else (0, 0, 0))
        if joint.type != "fixed":
            damped = other.dynamics
            told = (damped.damping or 0.0, damped.friction or 0.0) if damped else (0.0, 0.0)
            assert (joint.damping, joint.friction) == told
            assert joint.limits.effort == (other.limit.effort if other.limit else math.inf)
            assert joint.mimic is None or joint.mimic.leader == other.mimic.joint
