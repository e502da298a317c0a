# SPDX-License-Identifier: Apache-2.0
"""The table of SDFormat against its published schema, where that is installed; the documentation against the table."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from rbd_dynamics.common.markup.vocabulary import markdown
from rbd_dynamics.formats.sdf_vocabulary import SDF

#: the folders of Debian's package sdformat-sdf and of Gazebo's, each with a folder for each version
FOLDERS = [Path("/usr/share").glob("sdformat*"), Path("/usr/share/gz").glob("sdformat*")]
Path_ = tuple[str, ...]
DEEPEST = 9
NEWEST = "1.12"


def schemas() -> dict[str, Path]:
    """{version: folder}, of SDFORMAT_SCHEMAS where that is set."""
    given = os.environ.get("SDFORMAT_SCHEMAS")
    folders = [Path(given)] if given else [folder for found in FOLDERS for folder in found]
    versions = [path.parent for folder in folders for path in folder.glob("1.*/joint.sdf")]
    return {path.name: path for path in sorted(versions, key=lambda path: number(path.name)) if path.name != "1.0"}


def number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def specified(folder: Path, element: ET.Element, above: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Path and attribute, empty for an element, of all that a schema has, but for what is in elements left out."""
    name = element.get("name", "").replace("gazebo", "sdf")  # the root's name, up to 1.3
    path = (*above, name)
    yield path, ""
    row = SDF.row(path)
    if row is None or row.use not in ("used", "converted") or len(path) > DEEPEST:
        return
    for part in element:
        if part.tag == "attribute":
            yield path, part.get("name", "")
        elif part.tag == "include" or part.get("ref"):
            file = part.get("filename") or f"{part.get('ref')}.sdf"
            yield from specified(folder, ET.parse(folder / file).getroot(), path)
        elif part.tag == "element" and part.get("name"):
            yield from specified(folder, part, path)


def test_the_table_has_all_that_is_specified():
    """With the versions that have it; in a version's schema, `since` counts as far back as schemas are there."""
    found = schemas()
    if not found:
        pytest.skip("no schema of SDFormat is installed (sdformat-sdf), and SDFORMAT_SCHEMAS names none")
    versions = defaultdict(set)
    for version, folder in found.items():
        root = next(path for path in (folder / "root.sdf", folder / "gazebo.sdf") if path.is_file())
        for path, attribute in specified(folder, ET.parse(root).getroot()):
            row = SDF.row(path, attribute)
            assert row is not None, f"{version}: {'/'.join(path)} {attribute}"
            versions[row].add(version)
    oldest, newest = list(found)[0], list(found)[-1]
    for row, has in versions.items():
        first, last = (by(has, key=number) for by in (min, max))
        assert row.since in ({"", oldest} if first == oldest else {first}), row
        if row.until or newest == NEWEST:  # 1.7 to 1.9 lacked joints of a world
            assert row.until in ({"", newest} if last == newest else {last}), row
    ours = {row for row in SDF.rows if "drake:" not in row.element and number(row.since or "1.2") <= number(newest)}
    assert ours <= set(versions), "rows that no version has"


def test_the_documentation_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "model_format.md").read_text()
    assert markdown(SDF) in page, "write it anew: print(markdown(SDF))"
