# SPDX-License-Identifier: Apache-2.0
"""Xacro, expanded by the package `xacro` in a process of its own.

Its `${...}` are Python expressions and it includes any file: in that process they cannot touch this one, and have
bounded time and memory. What they may read and write is not bounded: expand only files that you would run.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rbd_dynamics.common.collector import with_collector
from rbd_dynamics.common.excerpt import close_names, excerpt, shortened
from rbd_dynamics.common.extras import needed
from rbd_dynamics.formats.packages import GIVE_PACKAGES
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.elements import is_xacro, local_tag
from rbd_dynamics.model.errors import Findings, ModelError

SECONDS = 60
MEMORY = 4 * 2**30
_NO_PACKAGE = re.compile(r"package '([^']+)' not found")
_SCRIPT = Path(__file__).with_name("xacro_script.py")


def is_to_expand(source: Source, root: ET.Element) -> bool:
    """Whether a text with this root element is a xacro, and not what one was expanded to."""
    if local_tag(root) != "robot":
        return False
    if is_xacro(root) or (source.path is not None and source.path.suffix == ".xacro"):
        return True
    content = source.content.encode() if isinstance(source.content, str) else source.content
    if b"xmlns:xacro" not in content or (b"${" not in content and b"$(" not in content):
        return False
    texts = (text for element in root.iter() for text in (*element.attrib.values(), element.text or ""))
    return any("${" in text or "$(" in text for text in texts)  # not only in a comment


def is_stray(source: Source) -> bool:
    """Whether a file is called a URDF and has no expressions: what is of xacro in it may have been left over."""
    content = source.content.encode() if isinstance(source.content, str) else source.content
    return source.path is not None and source.path.suffix == ".urdf" and b"${" not in content and b"$(" not in content


def expanded(
    source: Source,
    packages: Mapping[str, Path],
    arguments: Mapping[str, Any],
    findings: Findings,
    *,
    optional: Collection[str] = (),
) -> Source:
    """The URDF of a xacro. Raises ModelError.

    arguments: of `<xacro:arg>`, by name; one that it never asks for and that is not `optional` is a defect.
    """
    result, known = _result(source, packages, arguments)
    for name in arguments:
        if name not in known and name not in optional:
            near = close_names(name, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has: {', '.join(known) or 'none'}"
            findings.defect(source.where, f"never asks for the argument {excerpt(name)}, which is left out", hint)
    return result


def _result(source: Source, packages: Mapping[str, Path], arguments: Mapping[str, Any]) -> tuple[Source, list[str]]:
    """The URDF, and the arguments that were asked for."""
    if importlib.util.find_spec("xacro") is None:
        raise ModelError(f"{source.where}: {needed('xacro')}")
    if source.path is not None:
        return _run(source, source.path.resolve(), packages, arguments)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:  # of a text: relative includes are not found
        path = Path(folder, "description.xacro")
        path.write_bytes(source.content if isinstance(source.content, bytes) else source.content.encode())
        return _run(source, path, packages, arguments)


def _run(
    source: Source, path: Path, packages: Mapping[str, Path], arguments: Mapping[str, Any]
) -> tuple[Source, list[str]]:
    import subprocess  # slow to import, and few files are xacro

    request = {
        "file": str(path),
        "arguments": {name: _text(value) for name, value in arguments.items()},
        "packages": {name: str(folder.resolve()) for name, folder in packages.items()},
        "seconds": SECONDS,
        "bytes": MEMORY,
    }
    command = [sys.executable, str(_SCRIPT)]
    try:
        with with_collector():
            done = subprocess.run(
                command, input=json.dumps(request), capture_output=True, encoding="utf-8", timeout=2 * SECONDS,
                check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ModelError(f"{source.where}: xacro took more than {2 * SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        killed = f"it was ended by signal {-done.returncode} (at most {SECONDS} s, {MEMORY >> 30} GiB)"
        reason = lines[-1] if done.returncode > 0 and lines else killed
        package = _NO_PACKAGE.search(reason)
        if package is not None:
            reason = f"there is no package {package[1]!r} ({GIVE_PACKAGES})"
        raise ModelError(f"{source.where}: xacro: {shortened(reason, 1000)}")
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # its expressions may write there
        raise ModelError(f"{source.where}: xacro: {excerpt(done.stdout[:200])} is on its standard output") from None
    return Source(answer["text"], source.where, source.path), answer["known"]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
