# SPDX-License-Identifier: Apache-2.0
"""The edges of URDF: one file for each, what is made of it, and what is said of it."""

from __future__ import annotations

import importlib.util
import os
import re
import time
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from helpers.paths import ROOT

from rbd_dynamics.common.markup.mended import Mended, Unreadable
from rbd_dynamics.common.markup.vocabulary import markdown
from rbd_dynamics.formats import check, load, model_to_urdf
from rbd_dynamics.model import Model, ModelError, ModelWarning, load_urdf, model_from_dict, model_to_dict
from rbd_dynamics.model.urdf_reading.vocabulary import URDF

FILES = Path(__file__).with_name("urdf_files")
XSD = "{http://www.w3.org/2001/XMLSchema}"


def specified(schema: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and attribute, empty for an element, of all that urdfdom's schema has."""
    root = ET.parse(schema).getroot()
    types = {each.get("name", ""): each for each in root.iter(f"{XSD}complexType") if each.get("name")}
    (robot,) = (each for each in root.iter(f"{XSD}element") if each.get("name") == "robot")
    waiting = [(("robot",), robot)]
    while waiting:
        path, kind = waiting.pop()
        yield path, ""
        row = URDF.row(path)
        if row is None or row.use not in ("used", "converted"):
            continue
        for each in kind.iter(f"{XSD}attribute"):
            yield path, each.get("name", "")
        for each in kind.iter(f"{XSD}element"):
            name = each.get("name", "")
            if each is not kind and name:
                waiting.append(((*path, name), types.get(each.get("type", "").rpartition(":")[2], each)))


def test_the_table_has_all_that_urdfdoms_schema_has():
    """The schema is in urdfdom's sources, not in its Debian packages; trimesh has it, too."""
    trimesh = importlib.util.find_spec("trimesh")
    given = os.environ.get("URDF_SCHEMA") or (
        Path(trimesh.origin).parent / "resources" / "schema" / "urdf.xsd" if trimesh and trimesh.origin else ""
    )
    if not given or not Path(given).is_file():
        pytest.skip("no schema of URDF is installed (trimesh), and URDF_SCHEMA names none")
    said = list(specified(Path(given)))
    assert len(said) > 80
    assert not [f"{'/'.join(path)} {name}" for path, name in said if URDF.row(path, name) is None]


class Case(NamedTuple):
    """said: patterns, one for each error and warning, in order. numbers: of the joint, next to what they have to be."""

    said: tuple[str, ...]
    numbers: Callable[[Model], tuple[object, object]] | None = None
    refused: bool = False
    warned: bool = True  # what is said is worth a ModelWarning, too


def limits(model: Model) -> tuple[float, float, float]:
    found = model.joints[0].limits
    return found.acceleration, found.deceleration, found.jerk


def inertia_of(model: Model) -> tuple[float, ...]:
    return model.bodies[0].inertia.parameters


def elbow(model: Model) -> float:
    return model.joint("elbow").armature


INF = np.inf
CASES = {
    # about y by 2 atan(0.6 / 0.8), about z by the same: cos 0.28, sin 0.96
    "quaternion": Case((), lambda m: (m.bodies[0].placement.rotation, (0.28, 0, 0.96, 0, 1, 0, -0.96, 0, 0.28))),
    "quaternion_of_1_0": Case(
        (r"line 8, .*'quat_xyzw' of <origin> is in URDF from version 1.1 on, it is left out .*version=\"1.1\"",),
        lambda m: (m.bodies[0].placement.factors, ()),
    ),
    "quaternion_and_rpy": Case((r"joint 'elbow': <origin> has rpy and quat_xyzw",), refused=True),
    "quaternion_not_unit": Case(
        (r"joint 'elbow': .*quat_xyzw='0 0 1 1' has norm 1.41421, here it is divided by that",),
        lambda m: (m.bodies[0].placement.rotation, (0, -1, 0, 1, 0, 0, 0, 0, 1)),
    ),
    "accelerations": Case((), lambda m: ((*limits(m), *m.acceleration_limit), (10.0, 8.0, 200.0, 8.0))),
    "acceleration_alone": Case((), lambda m: ((*limits(m), *m.acceleration_limit), (10.0, 10.0, INF, 10.0))),
    "acceleration_of_drake": Case((), lambda m: (limits(m), (10.0, 10.0, INF))),
    "accelerations_of_1_1": Case(
        (r"line 12, .*'acceleration' of <limit> is in URDF from version 1.2 on", r"line 12, .*'jerk' of <limit> is in"),
        lambda m: (limits(m), (INF, INF, INF)),
    ),
    "acceleration_negative": Case((r"joint 'elbow': <limit> acceleration='-10' is negative",), refused=True),
    "version_2": Case((r"robot: has the version '2.0' of URDF, .*known: 1.0, 1.1, 1.2",), refused=True),
    "motor_inertia": Case((), lambda m: (elbow(m), 0.25)),
    "motor_inertia_of_1_0_style": Case((), lambda m: (elbow(m), 0.04)),
    "misspelt_attributes": Case(
        (
            r"joint 'elbow': has no upper in <limit>, which counts as 0",
            r"line 8, .*'ryp' of <origin> is unknown to URDF, it is left out \(did you mean 'rpy'\?\)",
            r"line 12, .*'uper' of <limit> .*did you mean 'upper'",
            r"line 13, .*'dampening' of <dynamics> .*did you mean 'damping'",
            r"line 23, .*'multiplyer' of <mimic> .*did you mean 'multiplier'",
        ),
        lambda m: (m.bodies[1].joint.mimic.multiplier, 1.0),
    ),
    "misspelt_elements": Case(
        (r"line 5, .*<inertail> is unknown .*did you mean 'inertial'", r"line 8, .*<Origin> .*did you mean 'origin'"),
        lambda m: (m.bodies[0].placement.p, (0, 0, 0)),
    ),
    "one_namespace": Case((r"'ryp' of <origin> is unknown",), lambda m: (m.bodies[0].placement.p, (0, 0, 0.5))),
    "continuous_with_a_range": Case(
        (r"joint 'elbow': is continuous and has lower='-1' and upper='1': its position is not limited",),
        lambda m: ((*m.lower, *m.upper, *m.velocity_limit), (-INF, INF, 2.0)),
    ),
    "continuous_with_zeros": Case((), lambda m: (m.upper, (INF,))),
    "no_range": Case(
        (r"joint 'elbow': has no lower and no upper in <limit>, which count as 0: it cannot move",),
        lambda m: ((*m.lower, *m.upper), (0.0, 0.0)),
        warned=False,
    ),
    "no_upper": Case((r"joint 'elbow': has no upper in <limit>, which counts as 0",), warned=False),
    "no_range_in_1_2": Case((r"joint 'elbow': has no lower and no upper in <limit> \(URDF 1.2 needs",), refused=True),
    "zeros_as_range": Case((r"joint 'elbow': cannot move: both its limits are 0",), warned=False),
    "negative_moment": Case((r"link 'upper': has the negative moment of inertia ixx=-0.1",), refused=True),
    "gross_inertia": Case((r"link 'upper': has an inertia that no rigid body has.*--given-inertias",), refused=True),
    "stray_xacro": Case(
        (r"stray_xacro.urdf: has elements of xacro, which are left out", r"line 13, .*<xacro:hand> .*run xacro on it"),
        lambda m: (m.nv, 1),
    ),
    "space_before_declaration": Case((r"has white space before <\?xml: it is read as ROS",), lambda m: (m.nv, 1)),
    "undeclared_prefixes": Case((r"has prefixes without xmlns: sensor, drake",), lambda m: (elbow(m), 0.25)),
    "dashes_in_a_comment": Case((r"has a comment with -- in it",), lambda m: (m.nv, 1)),
    "document_type": Case((r"has a document type",), lambda m: (m.nv, 1)),
    "dashes_at_the_end_of_a_comment": Case((r"has a comment with -- in it",), lambda m: (m.nv, 1)),
    "bare_ampersand": Case((r"has a bare &: it is read as ROS",), lambda m: (m.nv, 1)),
    "two_rotors": Case(
        (r"joint 'elbow': <dynamics> gives 0.2 as its armature and a transmission 2.5, which is left out",),
        lambda m: (elbow(m), 0.2),
    ),
    "latin_1_pairs": Case((r"bytes that are not UTF-8, taken for Latin-1",), lambda m: (m.joint_names, ["Größe"])),
    "gbk": Case((r"has bytes that are not UTF-8, taken for GB 18030",), lambda m: (m.joint_names, ["肘关节"])),
    "latin_1": Case((r"has bytes that are not UTF-8, taken for Latin-1",), lambda m: (m.joint_names, ["drehgelenk_ä"])),
}


def test_a_quaternion_of_zeros_is_no_rotation():
    text = (FILES / "quaternion_not_unit.urdf").read_text().replace('"0 0 1 1"', '"0 0 0 0"')
    with pytest.raises(ModelError, match="joint 'elbow': .*has norm 0: that is no rotation"):
        load(text)


@pytest.mark.parametrize("name", CASES)
def test_an_edge_of_the_format(name):
    case, file = CASES[name], FILES / f"{name}.urdf"
    if name == "stray_xacro":
        pytest.importorskip("xacro")
    said = [finding for finding in check(file) if finding.severity != "note"]
    told = sorted(str(finding) for finding in said)
    for pattern in case.said:
        assert any(re.search(pattern, text) for text in told), (pattern, told)
    assert len(said) == len(case.said), told
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if case.refused:
            with pytest.raises(ModelError):
                load(file)
            return
        model = load(file)
    assert len(caught) == (1 if case.said and case.warned else 0)
    if case.numbers is not None:
        found, wanted = case.numbers(model)
        if isinstance(wanted, list):
            assert found == wanted
        else:
            np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(wanted, dtype=float), atol=1e-15)
    if name != "stray_xacro":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert load_urdf(file) == model


def test_every_file_has_a_case():
    more = {"negative_about_the_axis"}
    assert {file.stem for file in FILES.iterdir()} == set(CASES) | more


def test_a_quaternion_turns_as_in_pinocchio():
    pin = pytest.importorskip("pinocchio")
    file = FILES / "quaternion.urdf"
    theirs, ours = pin.buildModelFromUrdf(str(file)), load(file)
    data, q, v, a = theirs.createData(), np.array([0.7]), np.array([0.3]), np.array([-0.4])
    from rbd_dynamics import Robot

    np.testing.assert_allclose(Robot(ours).inverse_dynamics(q, v, a), pin.rnea(theirs, data, q, v, a), rtol=1e-13)


#: what urdfdom 6 makes of each: the version, or what it holds against it
NOT_KNOWN, NO_NUMBERS = "which is not known", "which is not two numbers and a dot"
SAID_VERSIONS = {
    **dict.fromkeys(("1.0", "1.00", "1.-0"), "1.0"),
    **dict.fromkeys(("1.1", "1.01", "01.1", "1.001", "+1.1", " 1.1", "1. 1", "1.1."), "1.1"),
    **dict.fromkeys(("1.2", "1.02"), "1.2"),
    **dict.fromkeys(("1.3", "1.10", "2.0", "0.9", "1.99999999999999999999"), NOT_KNOWN),
    **dict.fromkeys(
        ("1", "1.", ".1", "1..1", "1.1.0", "1.1 ", "", "-1.0", "1.-1", "1.0~pre", "1,1", "v1.1"), NO_NUMBERS
    ),
    **dict.fromkeys(("0x1.1", "\xa01.1", "1.\u0661", "1_0.0"), NO_NUMBERS),
}


@pytest.mark.parametrize("said", SAID_VERSIONS)
def test_a_version_is_read_as_urdfdom_reads_it(said):
    """A quaternion counts from 1.1 on, a prismatic joint needs both ends of its range from 1.2 on."""
    turned = '<origin quat_xyzw="0 0 0.8 0.6"/><limit lower="-1" effort="1" velocity="1"/>'
    text = (
        f'<robot name="r" version="{said}"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" '
        f'ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="j" type="prismatic">'
        f'<parent link="a"/><child link="b"/>{turned}</joint></robot>'
    )
    expected = SAID_VERSIONS[said]
    refused = {"1.2": "has no upper in <limit>"}.get(expected, expected if expected.startswith("which") else "")
    if refused:
        with pytest.raises(ModelError, match=refused):
            load(text)
    else:
        warnings.simplefilter("ignore")
        assert bool(load(text).bodies[0].placement.factors) == (expected == "1.1")
    told = [finding.message for finding in check(text) if "is read as" in finding.message]
    assert len(told) == (said not in ("1.0", "1.1", "1.2") and not expected.startswith("which"))
    try:
        import pinocchio as pin
    except ImportError:
        return
    try:
        turns = pin.buildModelFromXML(text).jointPlacements[1].rotation[1, 0] != 0.0
    except ValueError:
        turns = None
    assert turns == (None if refused else expected == "1.1")


def test_a_gross_inertia_counts_as_given_where_that_is_asked_for():
    pin = pytest.importorskip("pinocchio")
    from rbd_dynamics import Robot

    file = FILES / "gross_inertia.urdf"
    with pytest.warns(ModelWarning, match="^link 'upper': has an inertia that no rigid body has, which counts as giv"):
        model = load(file, inertias="as_given", strict=True)
    theirs = pin.buildModelFromUrdf(str(file))
    q, zero = np.array([0.2]), np.zeros(1)
    expected = pin.aba(theirs, theirs.createData(), q, zero, np.array([1.5]))
    np.testing.assert_allclose(Robot(model).forward_dynamics(q, zero, [1.5]), expected, rtol=1e-13)
    assert [finding.severity for finding in check(file, inertias="as_given")] == ["warning", "warning"]
    with pytest.warns(ModelWarning, match="link 'upper'"):
        load(FILES / "negative_moment.urdf", inertias="as_given")
    inertia = re.search("<inertial>.*?</inertial>", file.read_text(), re.DOTALL)
    assert inertia is not None
    links = "".join(f'<link name="{name}">{inertia[0]}</link>' for name in "ab")
    joint = '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/><limit lower="0" upper="1"/></joint>'
    with pytest.warns(ModelWarning, match="^link 'a', link 'b': have inertias that no rigid body has, which count as"):
        load(f'<robot name="two">{links}{joint}</robot>', base="floating", inertias="as_given")
    with pytest.raises(ModelError, match="mass matrix is not positive definite"):
        load(FILES / "negative_about_the_axis.urdf", inertias="as_given")
    with pytest.raises(ModelError, match="inertias 'any' is neither 'checked' nor 'as_given'"):
        load(file, inertias="any")


def test_a_joints_own_limits_of_acceleration_are_the_default_of_motions():
    from rbd_dynamics import Robot
    from rbd_dynamics.control.motion.joint_limits import JointMotionLimits
    from rbd_dynamics.trajectories.limits import Limits

    robot = Robot(load(FILES / "accelerations.urdf"))
    assert Limits.of(robot, ["elbow"]).acceleration == [8.0]
    assert Limits.of(robot, ["elbow"], acceleration=3.0).acceleration == [3.0]
    motion = JointMotionLimits(robot, ["elbow"], ["elbow"])
    assert motion.at(np.zeros(1), 0).acceleration == [8.0]  # 5 N m give twice 20 rad/s^2
    motion.tune(acceleration=0.0)
    assert motion.at(np.zeros(1), 0).acceleration == [np.inf]


def test_limits_of_acceleration_are_written_and_stored():
    model = load(FILES / "accelerations.urdf")
    assert load(model_to_urdf(model)).joints == model.joints
    assert model_from_dict(model_to_dict(model)) == model
    alone = load(FILES / "acceleration_alone.urdf")
    assert load(model_to_urdf(alone)).joints == alone.joints
    assert 'version="1.2"' not in model_to_urdf(load(FILES / "no_range.urdf"))


def test_the_page_shows_the_vocabulary_of_the_reader():
    page = (ROOT / "docs" / "model_format.md").read_text(encoding="utf-8")
    assert markdown(URDF) in page, "write it anew: print(markdown(URDF))"


ODDITIES = {
    "white space before <?xml": lambda text: '\n <?xml version="1.0"?>\n' + text,
    "a comment with --": lambda text: text.replace("</", "<!-- a -- b --></", 1),
    "a document type": lambda text: "<!DOCTYPE robot>\n" + text,
    "Latin-1": lambda text: text.replace("</", "<!-- \u00e9paule --></", 1),
    "a null character, where it ends, a document type": lambda text: "<!DOCTYPE r SYSTEM 'a>b'>" + text + "\0<r/>",
    "control characters": lambda text: text.replace("</", "<!-- \a --></", 1),
    "a < in an attribute": lambda text: text.replace("</", "<note text='a<b'/></", 1),
    "a bare &": lambda text: text.replace("</", "<note text='a&nbsp;b&#0;&#xFFFFF0;'/></", 1),
    "]]> outside of CDATA": lambda text: " ]]> <![CDATA[ <b> ]]></".join(text.rsplit("</", 1)),
    "no white space between attributes": lambda text: text.replace("</", "<note a='1'b='2'/></", 1),
    "names with colons that end no prefix": lambda text: text.replace("</", "<a::b/><:c d:='1'></:c></", 1),
    "an xmlns that is empty": lambda text: text.replace("</", "<a xmlns:b='' b:c='1'/></", 1),
    "an end tag with more than a name": lambda text: text.replace("</", "<note></note a='1'></", 1),
}
ROBOTS = {
    "urdf": (FILES / "accelerations.urdf").read_text().partition("?>")[2].strip(),
    "sdf": '<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>2</mass></inertial></link></model></sdf>',
    "mjcf": '<mujoco><worldbody><body name="a"><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>',
}


#: MuJoCo takes no element that it does not know
IN_EVERY_FORMAT = [oddity for oddity, odd in ODDITIES.items() if "<note" not in odd("</") and "<a" not in odd("</")]
IN_SOME = [(form, oddity) for form in ROBOTS for oddity in (IN_EVERY_FORMAT if form == "mjcf" else ODDITIES)]


@pytest.mark.parametrize(("form", "oddity"), IN_SOME)
def test_what_only_tinyxml2_reads_is_read_in_every_format(form, oddity):
    if form == "mjcf":
        pytest.importorskip("mujoco")
    text = ODDITIES[oddity](ROBOTS[form]).encode("latin-1")
    with pytest.warns(ModelWarning, match=f"has .*{re.escape(oddity)}"):
        assert load(text) == load(ROBOTS[form])
    with pytest.raises(ModelError, match=re.escape(oddity)):
        load(text, strict=True)


SPITEFUL = {
    "entity": '<!DOCTYPE a [<!ENTITY b "c">]> <!-- -- --><robot name="r"><link name="a"/>&b;</robot>',
    "attribute": '<!DOCTYPE a [<!ATTLIST link name CDATA "a">]> <robot name="r"><b:c/><link/></robot>',
    "comments without an end": "<!-- -- " * 1000,
    "prefixes in a row": "<" + "a:" * 1000 + "b/>",
    "prefixes without number": "<robot>" + "".join(f"<p{k}:a/>" for k in range(1000)) + "</robot>",
    "crossed": "<robot><a:b></robot>",
    "deep": "<robot>" * 100_000,
    "after a null": '<robot name="r"><link name="a">\0</link></robot>',
    "entity that is not declared": '<!DOCTYPE a [<!ENTITY b "c">]><robot name="r"><link name="&b;"/><a::b/></robot>',
}
#: of a megabyte each, in which a reader that looks at a place more than once would not come to an end
LONG = {
    "name": "<" + "a" * 2**20,
    "end tag": "<robot></" + "a" * 2**20,
    "attributes without values": "<robot" + " a" * 2**19,
    "white space": "<robot" + " " * 2**20,
    "quotes": "<robot a='" + '"' * 2**20,
    "tags with a quote": "<a b='" * 2**17,
    "comments": "<!--" * 2**18,
    "document types": "<!DOCTYPE '" * 2**16,
    "subset": "<!DOCTYPE [" + "] " * 2**19,
    "prologues": "<?xml ?>" * 2**17,
    "references": "<robot>" + "&#" * 2**19,
    "prefixes": "<robot>" + "<a:b c:d=''>" * 2**16,
}


@pytest.mark.parametrize("text", SPITEFUL.values(), ids=SPITEFUL.keys())
def test_the_second_reading_is_no_way_around_the_first(text):
    with pytest.raises(ModelError, match="not well-formed|document type|has <a_a.* as its root"):
        load_urdf(text)


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_the_second_reading_takes_a_time_that_is_linear_in_length(text):
    start = time.thread_time()
    with pytest.raises((Unreadable, ET.ParseError)):
        ET.fromstring(Mended(text).text)
    assert time.thread_time() - start < 10.0  # a second, and hours if it were square
