# SPDX-License-Identifier: Apache-2.0
"""Every row of the formats' tables: what is used makes a difference, what is not makes none and is said.

A new row fails until a document in `row_files` has what it is of.
"""

from __future__ import annotations

import shutil
import sys
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.models.format_rows import FILES, FORMATS, Key, cases, document, documents, keys, places, without, written
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.common.markup.unused import remarks
from rbd_dynamics.formats.shapes import shapes_of
from rbd_dynamics.formats.source import read_source
from rbd_dynamics.model.errors import Findings

sys.path.append(str(Path(__file__).parents[2]))
judging = pytest.importorskip("campaigns.models.judge")
files = pytest.importorskip("campaigns.models.files")
working = pytest.importorskip("campaigns.models.worker")
FINE = ("agree", "not compared", "refused by all", "refused by peers alone")
HERE = Path(__file__).parent
#: further documents, which other tests look at: by format
EDGES = {"urdf": [HERE.parent / "model" / "urdf_files"], "sdf": [HERE / "sdf_files"], "mjcf": [HERE / "mjcf_files"]}
SUFFIXES = (".urdf", ".sdf", ".xml", ".inc")
#: of MJCF, what MuJoCo 4 does not take any more, and what it takes with a library of a plugin only
BEYOND = {
    "equality": ("distance", "flexvert", "flexstrain"),
    "compiler": ("convexhull", "exactmeshinertia", "passthrough"),
    "flag": ("ipc", "passive", "sensornoise"),
    "option": ("apirate", "collision", "mpr_iterations", "mpr_tolerance"),
    "worldbody|body|frame|replicate": ("composite",),
}


def is_beyond(key: Key) -> bool:
    names = BEYOND.get(key.row.element.split("/")[0], ())
    return (
        "plugin" in (key.tag, key.row.element.split("/")[0])
        or key.row.element == "actuator/plugin"
        or (key.row.element == "config" or (key.attribute or key.tag) in names)
    )


def outcome(root: ET.Element, path: Path, folder: Path) -> tuple[object, ...]:
    """What becomes of a document: the model, its shapes and what is said of it, or the error."""
    file = folder / path.name
    ET.ElementTree(root).write(file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = rbd.load(file)
            drawn = str(shapes_of(read_source(file), Findings()))
        except (rbd.ModelError, ValueError) as error:
            return (str(error),)
    said = {str(each.message) for each in caught}
    return (replace(model, source=None), drawn, said)


@pytest.fixture
def folder(tmp_path):
    """With what documents include."""
    for part in FILES.glob("*/part.*"):
        shutil.copy(part, tmp_path)
    return tmp_path


def test_every_row_has_a_document():
    for kind in FORMATS:
        found = {key for key, *_ in cases(kind)} | {key for path in documents(kind) for key in places(path, kind)}
        for path in (file for edges in EDGES[kind] for file in edges.rglob("*.*") if file.suffix in SUFFIXES):
            found |= places(path, kind).keys()
        lacking = sorted(str(key) for key in keys(kind) - found if kind != "mjcf" or not is_beyond(key))
        assert not lacking, f"{kind}: a document in {FILES.name} has to have {lacking}"


#: what is used and changes neither the model nor what is said of it
UNSEEN = {
    "urdf": {
        "link/collision collision name",
        "link/visual visual name",
        "robot/gazebo gazebo reference",
        "robot/transmission transmission name",
        "transmission transmission type",
        "transmission/actuator actuator name",
        "transmission/type type ",
        "visual|collision/geometry geometry name",
    },
    "sdf": {"collision collision name", "geometry/empty empty "},
}


@pytest.mark.parametrize("kind", ["urdf", "sdf"])
def test_what_is_used_makes_a_difference(kind, folder):
    """MJCF is compiled by MuJoCo: it is compared as a whole."""
    wholes = {path: outcome(document(path), path, folder) for path in documents(kind)}
    assert all(len(whole) > 1 for whole in wholes.values()), wholes
    alike: dict[Key, bool] = {}
    for key, path, where in cases(kind):
        if key.row.use in ("used", "converted") and alike.get(key, True):
            alike[key] = all(outcome(without(path, [each]), path, folder) == wholes[path] for each in where)
    assert {str(key) for key, unseen in alike.items() if unseen} == UNSEEN[kind]


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_not_used_makes_none_and_is_said(kind, folder):
    needed(kind)
    wholes = {path: outcome(document(path), path, folder) for path in documents(kind)}
    assert all(len(whole) > 1 for whole in wholes.values()), wholes
    alone = set()
    for key, path, where in cases(kind):
        if key.row.use in ("used", "converted"):
            continue
        bare, root = without(path, where), document(path)
        fewer = said(root, kind) - said(bare, kind)
        assert sum(fewer.values()) == len(where) and {use for use, _ in fewer} == {key.row.use}, (str(key), fewer)
        after = outcome(bare, path, folder)
        if len(after) > 1:  # else something else needs it
            assert after[:2] == wholes[path][:2], f"{key} is {key.row.use}, and makes a difference"
            alone.add(key)
    if kind != "mjcf":
        assert {key for key, *_ in cases(kind) if key.row.use not in ("used", "converted")} == alone


@pytest.mark.parametrize("kind", FORMATS)
def test_documents_move_as_in_other_programs(kind):
    """Pinocchio, MuJoCo and Drake, those that are installed."""
    needed(kind)
    for path in documents(kind):
        verdict = judging.judge(path, {"urdf": "URDF", "sdf": "SDF", "mjcf": "MJCF"}[kind])
        assert verdict.kind in FINE, (path, verdict)


#: what our reader alone does not do without: names, ends and types, limits of URDF 1.2, what a part of a drive needs
NEEDED = {
    "urdf": {
        "actuator/rotor_inertia|rotorInertia|motorInertia|drake:rotor_inertia": ["value"],
        "dynamics": ["drive_stiffness", "rotor_axis"],
        "joint|drake:joint/limit": ["lower", "upper"],
        "loop/predecessor": ["", "link"],
        "loop/successor": ["", "link"],
        "robot/joint|drake:joint": ["", "name", "type"],
        "robot/loop": ["name", "type"],
        "transmission|actuator|joint/gear_ratio|mechanicalReduction|drake:gear_ratio": ["value"],
    },
    "sdf": {"world/model": [""]},
    "mjcf": {},
}


@pytest.mark.parametrize("kind", table(FORMATS, lambda kind: kind != "mjcf"))  # its documents have each row, together
def test_a_file_for_each_row_moves_as_in_other_programs(kind, tmp_path):
    needed(kind)
    rows = written(tmp_path, [kind])
    worker = working.Worker()
    verdicts = {file.path: worker.judge(file) for file in files.of_folder(tmp_path)}
    worker.end()
    alone = {path for path, each in verdicts.items() if each.kind == "refused by us alone"}
    wrong = {path: each for path, each in verdicts.items() if each.kind not in FINE and path not in alone}
    assert not wrong and rows.keys() <= verdicts.keys() and len(rows) > 150
    without_them = {(rows[path].row.element, rows[path].attribute) for path in alone}
    assert without_them <= {(element, name) for element, names in NEEDED[kind].items() for name in names}


def needed(kind: str) -> None:
    if kind == "mjcf":
        mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by mujoco")
        if int(mujoco.__version__.split(".")[0]) < 4:
            pytest.skip("the documents are of MuJoCo 4")


def said(root: ET.Element, kind: str) -> Counter[tuple[str, str]]:
    """How often what is said of a document."""
    found: Counter[tuple[str, str]] = Counter()
    for each in remarks(root, FORMATS[kind], version="" if kind == "mjcf" else root.get("version", "1.0")):
        found[each.use, each.name] += len(each.places)
    return found
