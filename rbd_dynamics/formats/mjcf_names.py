# SPDX-License-Identifier: Apache-2.0
"""Names for what an MJCF need not name: bodies, joints, the links between joints of one body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def name_of(m: Any, kind: str, k: int) -> str:
    """Name of element `k` of a kind (body, jnt, site, actuator, eq, mesh) of a compiled model; empty: it has none.

    MuJoCo keeps the bytes of the file, which need not be UTF-8.
    """
    begin = int(getattr(m, f"name_{kind}adr")[k])
    raw = bytes(m.names)[begin:].split(b"\0", 1)[0]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


class Names:
    """Names of the bodies, joints and sites of a compiled model `m`; links have different ones, and joints."""

    def __init__(self, m: Any) -> None:
        self._m = m
        self.model = bytes(m.names).split(b"\0", 1)[0].decode(errors="replace")
        given = [name_of(m, "body", k) for k in range(1, m.nbody)]
        self._links = set(given) | {"world"}
        self._bodies = ["world", *(name or self._new(f"body_{k + 1}") for k, name in enumerate(given))]
        given = [name_of(m, "jnt", k) for k in range(m.njnt)]
        taken = set(given)
        self._joints: list[str] = []
        for k, name in enumerate(given):
            if not name:
                name = f"{self._bodies[m.jnt_bodyid[k]]}_joint"
                while name in taken:
                    name += "_"
                taken.add(name)
            self._joints.append(name)
        self._sites = [self._new(name) if (name := name_of(m, "site", k)) else "" for k in range(m.nsite)]

    def body(self, k: int) -> str:
        return self._bodies[k]

    def joint(self, k: int) -> str:
        return self._joints[k]

    def site(self, k: int) -> str:
        """Empty for one without a name."""
        return self._sites[k]

    def between(self, link: str, joint: str) -> str:
        """Name of the link that this joint of several moves."""
        return self._new(f"{link}/{joint}")

    def sites(self) -> Iterator[tuple[str, int, Any, Any]]:
        """Name, body, position and quaternion of each site with a name."""
        for k, name in enumerate(self._sites):
            if name:
                yield name, int(self._m.site_bodyid[k]), self._m.site_pos[k], self._m.site_quat[k]

    def _new(self, name: str) -> str:
        while name in self._links:
            name += "_"
        self._links.add(name)
        return name
