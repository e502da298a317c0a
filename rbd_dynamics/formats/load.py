# SPDX-License-Identifier: Apache-2.0
"""A model of whatever describes a robot."""

from __future__ import annotations

import os
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal

from numpy.typing import ArrayLike

from rbd_dynamics.common.collector import without_collector
from rbd_dynamics.common.excerpt import LONGEST, shortened
from rbd_dynamics.formats.packages import Packages, folders_of
from rbd_dynamics.formats.sdf_vocabulary import ROOTS as SDF_ROOTS
from rbd_dynamics.formats.source import Source, read_source
from rbd_dynamics.formats.xacro_files import expanded, is_stray, is_to_expand
from rbd_dynamics.model.description import Description, description_of
from rbd_dynamics.model.dictionary import load_yaml
from rbd_dynamics.model.elements import local_tag, parse_text, parse_xml
from rbd_dynamics.model.errors import Finding, Findings, Inertias, ModelError, ModelWarning
from rbd_dynamics.model.model import EARTH, Model
from rbd_dynamics.model.preflight import preflight
from rbd_dynamics.model.urdf import check_description, checked_model

Base = Literal["fixed", "floating"]


def load(
    source: str | bytes | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    base: Base | None = None,
    gravity: Sequence[float] | None = None,
    joints: Sequence[str] | None = None,
    locked: Mapping[str, ArrayLike] | None = None,
    strict: bool = False,
    inertias: Inertias = "checked",
    packages: Packages | None = None,
    arguments: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Model:
    """Make a model of a URDF, xacro, SDF, MJCF or of our own YAML (docs/model_format.md).

    The format is told by the content. A xacro needs the package `xacro`, and its expressions and includes are run
    as the file says: expand only files that you trust. MJCF needs `mujoco`, which compiles it.

    Parameters:
        source: a path, the text itself (with "<" first, or of several lines), bytes, an open file, or the name of a
            robot of example-robot-data.
        base: "fixed" or "floating". By default what the file says: a URDF is fixed; the links of an SDF that no joint
            holds to the world float; an MJCF says it itself, and so does YAML: for these two `base` is an error.
        gravity: in the world frame, m/s^2. By default what the file says, else (0, 0, -9.81).
        joints, locked, strict, inertias: as for `load_urdf`; YAML has the first two in it.
        packages: where `package://`, `model://` and `$(find ...)` look before ROS' and Gazebo's places: {name:
            folder}, or a folder (or several) with packages in it.
        arguments: of a xacro's `<xacro:arg>`, by name.
        model: of an SDF with several models, the name of the one. By default the only one with joints.

    Raises ModelError, which names the file, and the element or joint that is wrong.
    """
    with without_collector():
        return _loaded(
            read_source(source), Findings(strict, inertias), base, gravity, joints=joints, locked=locked,
            packages=packages, arguments=arguments, model=model,
        )  # fmt: skip


def check(
    source: Any,
    *,
    strict: bool = False,
    inertias: Inertias = "checked",
    packages: Packages | None = None,
    arguments: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> list[Finding]:
    """Findings as of `model.preflight`, for whatever `load` takes, and all that its reader does not use.

    Parameters as for `load`. Raises ModelError where there is no such robot.
    """
    read = read_source(source)
    root = parse_xml(read.content, read.where, Findings()) if read.is_xml else None
    if read.is_xml and (root is None or (local_tag(root) == "robot" and not is_to_expand(read, root))):
        return preflight(read.text if read.path is None else str(read.path), strict=strict, inertias=inertias)
    findings = Findings(inertias=inertias)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loaded = _loaded(read, findings, packages=packages, arguments=arguments, model=model)
            told = preflight(loaded, inertias=inertias)
            findings += [finding for finding in told if finding not in findings]
        except ModelError as error:
            wrong = Finding("error", read.where, str(error).removeprefix(read.where).lstrip(": "))
            findings += [finding for finding in error.findings or (wrong,) if finding not in findings]
    for each in caught:
        own = each.message.findings if isinstance(each.message, ModelWarning) else ()
        told = list(own) or [Finding("warning", read.where, str(each.message))]
        findings += [finding for finding in told if finding not in findings]
    return findings.in_order(strict)


def urdf_text(
    source: Any, *, packages: Packages | None = None, arguments: Mapping[str, Any] | None = None
) -> str | None:
    """The text of a URDF, of a xacro that which it expands to; None for all other formats, and for what is no XML.

    Parameters as for `load`. Raises ModelError; a ModelWarning names an argument that the xacro never asks for.
    """
    return _text_of(source, ("robot",), packages, arguments)


def node_text(
    source: Any, *, packages: Packages | None = None, arguments: Mapping[str, Any] | None = None
) -> str | None:
    """What nodes read of a robot: as `urdf_text`, and the text of an SDF. Raises ModelError."""
    return _text_of(source, ("robot", *SDF_ROOTS), packages, arguments)


def _text_of(
    source: Any, roots: Collection[str], packages: Packages | None, arguments: Mapping[str, Any] | None
) -> str | None:
    """The text, where it has one of these root elements."""
    read = read_source(source)
    found = parse_text(read.content, read.where, Findings()) if read.is_xml else None
    if found is None or local_tag(found.root) not in roots:
        return None
    if is_to_expand(read, found.root):
        findings = Findings()
        text = _expanded(read, found.root, folders_of(packages), arguments or {}, findings)[0].text
        if arguments:  # else what is wrong is said where the text is read
            findings.warn_of_defects()
        return text
    return read.text if isinstance(found.content, bytes) else found.content


def needs_xacro(source: Any) -> bool:
    """Whether a source, as of `load`, is a xacro that is not expanded yet."""
    read = read_source(source)
    found = parse_text(read.content, read.where, Findings()) if read.is_xml else None
    return found is not None and is_to_expand(read, found.root) and not is_stray(read)


def _parsed(read: Source, findings: Findings) -> tuple[Source, ET.Element]:
    """A source of XML, its text as a strict parser takes it, and its root element. Raises ModelError."""
    found = parse_text(read.content, read.where, findings)
    findings.raise_errors()
    assert found is not None
    return replace(read, content=found.content), found.root


def _expanded(
    read: Source, root: ET.Element, folders: Mapping[str, Path], arguments: Mapping[str, Any], findings: Findings
) -> tuple[Source, ET.Element]:
    """What xacro makes of it; a URDF with elements of xacro that it does not take is left as it is."""
    try:
        return _parsed(expanded(read, folders, arguments, findings), findings)
    except ModelError as error:
        if arguments or not is_stray(read):
            raise
        reason = str(error).removeprefix(read.where).lstrip(": ")
        findings.defect(read.where, f"has elements of xacro, which are left out: {reason}")
        return read, root


def _loaded(
    read: Source,
    findings: Findings,
    base: Base | None = None,
    gravity: Sequence[float] | None = None,
    *,
    joints: Sequence[str] | None = None,
    locked: Mapping[str, ArrayLike] | None = None,
    packages: Packages | None = None,
    arguments: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Model:
    folders = folders_of(packages)
    options: dict[str, Any] = {"joints": joints, "locked": locked}
    if not read.is_xml:
        _check_single(read, model)
        return _of_yaml(read, {"base": base, "arguments": arguments, **options}, gravity, findings)
    read, root = _parsed(read, findings)
    if is_to_expand(read, root):
        read, root = _expanded(read, root, folders, arguments or {}, findings)
    elif arguments:
        raise ModelError(f"{read.where} is no xacro: there are no arguments to give")
    kind = "sdf" if local_tag(root) in SDF_ROOTS else local_tag(root)
    if kind != "sdf":
        _check_single(read, model)
    if kind == "mujoco":
        from rbd_dynamics.formats.mjcf import read_mjcf  # what other files need is imported with them

        if base is not None:
            raise ModelError(f"{read.where} is MJCF, which says itself what floats: `base` is not for it")
        mjcf = read_mjcf(read, findings)
        options["locked"] = {**mjcf.locked, **(locked or {})}
        built = _built(mjcf.description, findings, "fixed", mjcf.gravity if gravity is None else gravity, **options)
        return replace(built, base="floating" if mjcf.floats else "fixed", source=_path_of(read))
    if kind == "sdf":
        from rbd_dynamics.formats.sdf.reader import read_sdf

        sdf = read_sdf(read, root, folders, base, findings, model)
        built = _built(sdf.description, findings, "fixed", sdf.gravity if gravity is None else gravity, **options)
        return replace(built, base="floating" if sdf.floats else "fixed", source=_path_of(read))
    if kind != "robot":
        raise ModelError(
            f"{read.where} has <{shortened(kind, LONGEST)}> as its root element, expected <robot>, <sdf> or <mujoco>"
        )
    description = description_of(root, findings, content=read.content)
    built = _built(description, findings, base or "fixed", EARTH if gravity is None else gravity, **options)
    # with other arguments a xacro would be expanded to other shapes
    return built if read.path is None or arguments else replace(built, source=_path_of(read))


def _path_of(read: Source) -> str | None:
    return None if read.path is None else os.path.abspath(read.path)


def _check_single(read: Source, model: str | None) -> None:
    if model is not None:
        raise ModelError(f"{read.where} is one robot: `model` is for SDF, which may have several")


def _built(description: Description, findings: Findings, base: str, gravity: Sequence[float], **options: Any) -> Model:
    check_description(description, findings)
    return checked_model(description, findings, base, gravity, **options, stacklevel=6)


def _of_yaml(read: Source, options: Mapping[str, Any], gravity: Sequence[float] | None, findings: Findings) -> Model:
    given = [name for name, value in options.items() if value]
    if given:
        raise ModelError(f"{read.where} is not XML, so it is a model in YAML, which has that in it: no {given[0]!r}")
    source = read.text + "\n" if read.path is None else read.path
    model = load_yaml(source, strict=findings.strict, inertias=findings.inertias)
    return model if gravity is None else model.with_gravity(gravity)
