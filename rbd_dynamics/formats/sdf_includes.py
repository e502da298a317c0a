# SPDX-License-Identifier: Apache-2.0
"""Files that an SDF includes: where they are, and the model in them with what the include says of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.formats.packages import resolved
from rbd_dynamics.formats.sdf_values import Values
from rbd_dynamics.formats.sdf_versions import brought_up
from rbd_dynamics.formats.source import Source, read_file
from rbd_dynamics.model.elements import local_tag, parse_xml
from rbd_dynamics.model.errors import Findings, ModelError


@dataclass(frozen=True)
class Included:
    """The model of a file: a <model>, or the <robot> of a URDF."""

    source: Source
    model: ET.Element

    @property
    def is_urdf(self) -> bool:
        return local_tag(self.model) == "robot"


def included(
    source: Source, include: Values, packages: Mapping[str, Path], findings: Findings, known: set[Path]
) -> Included:
    """What an <include> in a file stands for. Raises ModelError.

    known: files of which it has been said already what is not used; this one is added.
    """
    uri = include.text("uri")
    where = f"<include> of {excerpt(uri)}"
    if not uri:
        raise ModelError(f"{source.where}: an <include> has no <uri>")
    path = _file_of(resolved(uri, source.folder, packages, f"{source.where}: <include>"), where)
    inner = read_file(path)
    root = parse_xml(inner.content, inner.where, findings)
    findings.raise_errors()
    assert root is not None
    if local_tag(root) == "robot":
        found = Included(inner, root)
    elif local_tag(root) == "sdf":
        brought_up(inner, root, Findings() if path in known else findings, inner.where)
        known.add(path)
        models = [element for element in root if local_tag(element) == "model"]
        if len(models) != 1:
            names = listed([model.get("name", "") for model in models])
            raise ModelError(f"{inner.where} has {len(models)} models, expected one" + (f": {names}" if names else ""))
        found = Included(inner, models[0])
    else:
        raise ModelError(f"{inner.where} has <{local_tag(root)}> as its root element, expected <sdf> or <robot>")
    _override(found, Values(include.element, where, findings))
    return found


def _override(found: Included, include: Values) -> None:
    """What the include says counts: it is written into the model, or beside what a URDF has."""
    model = found.model
    for tag in ("name", "pose", "static"):
        for said in include.children(tag):
            if tag == "name":
                model.set("name", (said.text or "").strip())
            else:
                for old in [element for element in model if local_tag(element) == tag]:
                    model.remove(old)
                model.append(said)
    placed = include.text("placement_frame")
    if placed:
        model.set("placement_frame", placed)


def _file_of(path: Path, where: str) -> Path:
    """The file that a path stands for: itself, or that of a model's folder."""
    if not path.is_dir():
        return path
    if (path / "model.sdf").is_file():
        return path / "model.sdf"
    config = path / "model.config"
    if not config.is_file():
        raise ModelError(f"{where}: {excerpt(str(path))} has neither model.sdf nor model.config")
    findings = Findings()
    root = parse_xml(read_file(config).content, f"file {config}", findings)
    findings.raise_errors()
    assert root is not None
    names = [(element.text or "").strip() for element in root if local_tag(element) == "sdf"]
    if not names or ".." in Path(names[-1]).parts:
        raise ModelError(f"{where}: {excerpt(str(config))} names no <sdf> file")
    return path / names[-1]
