# SPDX-License-Identifier: Apache-2.0
"""Files that an SDF includes: where they are, and the model in them with what the include says of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.formats.packages import resolved
from rbd_dynamics.formats.sdf.values import Values
from rbd_dynamics.formats.sdf.versions import brought_up, plain
from rbd_dynamics.formats.sdf_vocabulary import ROOTS
from rbd_dynamics.formats.source import Source, read_file
from rbd_dynamics.model.elements import local_tag, parse_xml
from rbd_dynamics.model.errors import Finding, Findings, ModelError


class NoModelError(ModelError):
    """A file that has something else to include in a world."""


@dataclass(frozen=True)
class Included:
    """The model of a file; findings: of the file, if it is another one.

    robot: of a URDF, whose model has its name and what the include says.
    """

    source: Source
    model: ET.Element
    findings: Sequence[Finding] = ()
    robot: ET.Element | None = None


def included(source: Source, include: Values, packages: Mapping[str, Path]) -> Included:
    """What an <include> in a file stands for. Raises ModelError."""
    findings = Findings(include.findings.strict)
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
        found = Included(inner, ET.Element("model", {"name": root.get("name", "")}), findings, root)
    elif local_tag(root) in ROOTS:
        brought_up(inner, plain(root), findings, inner.where)
        models = [element for element in root if local_tag(element) == "model"]
        if not models and any(local_tag(element) in ("light", "actor") for element in root):
            raise NoModelError(f"{inner.where} has a light or an actor, no model")
        if len(models) != 1:
            names = listed([model.get("name", "") for model in models])
            raise ModelError(f"{inner.where} has {len(models)} models, expected one" + (f": {names}" if names else ""))
        found = Included(inner, models[0], findings)
    else:
        raise ModelError(f"{inner.where} has <{local_tag(root)}> as its root element, expected <sdf> or <robot>")
    _override(found, Values(include.element, where, findings))
    return found


def _override(found: Included, include: Values) -> None:
    """What the include says counts: it is written into the model."""
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
