# SPDX-License-Identifier: Apache-2.0
"""Slips of XML that many robot files have, because the parser of Gazebo and of ROS (tinyxml2) overlooks them."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DECLARATION = re.compile(r"<\?xml\s.*?\?>", re.DOTALL)
_ROOT = re.compile(r"<[A-Za-z_][\w.-]*(?=[\s/>])")
_PREFIX = re.compile(r"(?:<|\s)([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*(?=[\s/>=])")


def repaired(text: str | bytes) -> str | None:
    """The text on the same lines, comments blank, no declaration, prefixes declared; None if it cannot be.

    A comment may have "--" in it, the declaration may come late, and prefixes may be declared nowhere; but xacro's says
    that something is to be done first.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None
    for slip in (_COMMENT, _DECLARATION):
        text = slip.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    root = _ROOT.search(text)
    if root is None:
        return None
    used = {prefix for prefix in _PREFIX.findall(text) if prefix not in ("xml", "xmlns")}
    missing = sorted(prefix for prefix in used if f"xmlns:{prefix}" not in text)
    if "xacro" in missing:
        return None
    declared = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in missing)
    return text[: root.end()] + declared + text[root.end() :]
