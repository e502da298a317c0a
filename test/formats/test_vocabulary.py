# SPDX-License-Identifier: Apache-2.0
"""What a file has and its reader does not use is said once, with lines, and with what was meant."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from rbd_dynamics.common.markup.unused import remarks
from rbd_dynamics.common.markup.vocabulary import Row, Vocabulary, markdown
from rbd_dynamics.model.elements import report
from rbd_dynamics.model.errors import Findings

TABLE = Vocabulary(
    "Format",
    [
        Row("root"),
        Row("root|part/part", since="1.1"),
        Row("part", "name"),
        Row("part/mass"),
        Row("root/mass", use="left out", note="of the whole"),
        Row("part/weight", use="converted"),
        Row("part/spring", use="left out", neutral=("0", "none")),
        Row("part/picture", use="aside"),
        Row("part/axis", until="1.6"),
        Row("part/own:gear", use="left out"),
    ],
    prefixes={"own": "owner.org"},
)
TEXT = """<root xmlns:o="http://owner.org" xmlns:x="http://elsewhere.org">
<part nme="a">
  <picture><anything/></picture> <picture/>
  <maß/> <mas/>
  <part name="b"><mas/> <spring>0.0</spring><spring> None </spring> <weight/></part>
  <spring>2</spring> <axis/> <o:gear/> <x:gear/> <o:wheel/>
</part>
<mass/> <weight/>
</root>
"""


def test_what_is_not_used_is_said_once():
    found = Findings()
    report(remarks(ET.fromstring(TEXT), TABLE, content="\n\n" + TEXT, version="1.7"), found)
    assert [(finding.severity, str(finding)) for finding in found] == [
        ("warning", "line 4, root/part: 'nme' of <part> is unknown to Format, it is left out (did you mean 'name'?)"),
        (
            "note",
            "line 5, root/part/picture (the first of 2): <picture> has no bearing on the dynamics, it is left out",
        ),
        (
            "warning",
            "line 6, root/part/maß: <maß> is unknown to Format in <part>, it is left out",
        ),
        (
            "warning",
            "line 6, root/part/mas: <mas> is unknown to Format in <part>, it is left out (did you mean 'mass'?)",
        ),
        (
            "warning",
            "line 7, root/part/part[b]/mas: <mas> is unknown to Format in <part>, it is left out "
            "(did you mean 'mass'?)",
        ),
        ("warning", "line 8, root/part/spring: <spring> is left out"),
        ("warning", "line 8, root/part/axis: <axis> is not in Format after 1.6, it is left out"),
        ("warning", "line 8, root/part/own:gear: <own:gear> is left out"),
        ("note", "line 8, root/part/other:gear: <other:gear> has no bearing on the dynamics, it is left out"),
        ("warning", "line 8, root/part/own:wheel: <own:wheel> is unknown to Format in <part>, it is left out"),
        ("warning", "line 10, root/mass: <mass> is left out (of the whole)"),
        (
            "warning",
            "line 10, root/weight: <weight> is unknown to Format in <root>, it is left out (it belongs in <part>)",
        ),
    ]


def test_without_the_text_places_are_paths():
    root = ET.fromstring(
        '<root><part name="a"><spring>1</spring></part><part name="b"><spring>1</spring></part></root>'
    )
    (remark,) = remarks(root, TABLE)
    assert remark.where == "root/part[a]/spring, root/part[b]/spring"
    (remark,) = remarks(root, TABLE, content=ET.tostring(root))
    assert remark.where == "lines 1, 1 (the first: root/part[a]/spring)"


def test_a_table_has_one_row_for_each():
    with pytest.raises(ValueError, match="Format: part/mass  has two rows"):
        remarks(ET.Element("root"), Vocabulary("Format", [Row("part|root/mass"), Row("part/mass")]))
    assert "| `axis` in `part` |  |  to 1.6 | used |  |" in markdown(TABLE)
