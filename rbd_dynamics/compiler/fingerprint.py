# SPDX-License-Identifier: Apache-2.0
"""What a joint kind computes, as a short text: kinds of one's own are code that the cache cannot see."""

from __future__ import annotations

import hashlib

from rbd_dynamics.compiler.trace import Graph
from rbd_dynamics.model.joints import JointKind


def fingerprint(kind: JointKind) -> str:
    """The same for kinds whose pose, S, Sdot and rates are traced to the same operations, whatever their names."""
    graph = Graph()
    q, v = graph.inputs("q", kind.nq), graph.inputs("v", kind.nv)
    pose = kind.transform(q)
    twists = [*kind.columns(q), *kind.columns_rate(q, v)]
    first, second = kind.rates(q, v)
    values = [*pose.rotation, *pose.p, *(entry for twist in twists for entry in twist), *first, *second]
    content = repr((graph.nodes, list(map(graph.index, values)), len(pose.factors), kind.nq, kind.quaternion))
    return hashlib.sha256(content.encode()).hexdigest()[:32]
