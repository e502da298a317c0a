# SPDX-License-Identifier: Apache-2.0
"""An MJCF compiled by MuJoCo, and what its files have that is not read."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbd_dynamics.common.excerpt import shortened
from rbd_dynamics.common.extras import needed
from rbd_dynamics.common.markup.unused import remarks
from rbd_dynamics.formats.mjcf_vocabulary import MJCF
from rbd_dynamics.formats.source import Source, read_file
from rbd_dynamics.model.elements import parse_text, report
from rbd_dynamics.model.errors import Findings, ModelError

#: what `replicate` and the like may ask for
MOST_COPIES = 10_000
_COPYING = ("replicate", "composite", "flexcomp")


def compiled(source: Source, findings: Findings) -> Any:
    """MuJoCo's model of a file or text. Raises ModelError for what MuJoCo refuses."""
    found = parse_text(source.content, source.where, findings)
    findings.raise_errors()
    assert found is not None
    root = found.root
    files = _Files(source)
    copies = files.copies(root)
    if copies > MOST_COPIES:
        raise ModelError(f"{source.where}: <replicate> and the like ask for {copies} copies, more than {MOST_COPIES}")
    if importlib.util.find_spec("mujoco") is None:
        raise ModelError(f"{source.where}: {needed('mujoco')}")
    import mujoco

    try:
        with _warnings_told(mujoco, source.where, findings):
            if source.path is not None:
                m = mujoco.MjModel.from_xml_path(str(source.path))
            else:
                m = mujoco.MjModel.from_xml_string(source.text)
    except (ValueError, RuntimeError, TypeError, mujoco.FatalError) as error:
        raise ModelError(f"{source.where}: MuJoCo: {shortened(' '.join(str(error).split()), 1000)}") from None
    report(remarks(root, MJCF, content=found.content), findings)
    for where, content, its_root in files.included:
        report(remarks(its_root, MJCF, content=content), findings, where)
    return m


@dataclass
class _Files:
    """What a file includes: each file once, with its text, and its root by the name of the element that includes it."""

    source: Source
    included: list[tuple[str, str | bytes, ET.Element]] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def copies(self, root: ET.Element, folder: Path | None = None) -> int:
        """How many copies of something the elements in `root` ask for, those in each other multiplied."""
        folder = self.source.folder if folder is None else folder
        asked: dict[ET.Element, int] = {}  # in an element
        parents = {child: element for element in root.iter() for child in element}
        for element in reversed(list(root.iter())):  # children before their parents
            copies = asked.pop(element, 0)
            if element.tag in _COPYING:
                copies = _count(element) * max(1, copies)
            elif element.tag == "include" or (element.tag == "model" and element in parents):
                tag = parents[element].tag if element.tag == "include" and element in parents else "mujoco"
                copies += self._of_file(element.get("file", ""), folder, tag)
            parent = parents.get(element)
            if parent is None:
                return copies
            asked[parent] = asked.get(parent, 0) + copies
        return 0

    def _of_file(self, name: str, folder: Path, tag: str) -> int:
        """A file that is not there, or is no XML, is for MuJoCo to refuse."""
        try:
            path = next((path for path in (self.source.folder / name, folder / name) if name and path.is_file()), None)
        except OSError:  # a name that no file can have
            path = None
        if path is None or path.resolve() in self._seen:
            return 0
        self._seen.add(path.resolve())
        source = read_file(path)
        found = parse_text(source.content, source.where, Findings())
        if found is None:
            return 0
        placed = ET.Element(tag, found.root.attrib)
        placed.extend(found.root)
        self.included.append((source.where, found.content, placed))
        return self.copies(placed, path.parent)


def _count(element: ET.Element) -> int:
    count = 1
    for word in element.get("count", "1").split():
        count *= max(1, int(word)) if word.lstrip("+").isdecimal() and len(word) < 10 else 1
    return count


@contextmanager
def _warnings_told(mujoco: Any, where: str, findings: Findings) -> Iterator[None]:
    """MuJoCo's warnings go to the findings, not into a file MUJOCO_LOG.TXT in the working folder."""
    if not hasattr(mujoco, "get_mju_user_warning"):
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: findings.warning(where, f"MuJoCo: {' '.join(text.split())}"))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
