# SPDX-License-Identifier: Apache-2.0
"""What a joint computes, as a short text: kinds and forces of one's own are code that the cache cannot see."""

from __future__ import annotations

import hashlib

from rbd_dynamics.compiler.trace import Graph
from rbd_dynamics.model.model import Joint
from rbd_dynamics.model.passive_forces import Elastic, Friction
from rbd_dynamics.spatial.scalar import Scalar


def fingerprint(joint: Joint) -> str:
    """Equal for joints whose pose, S, Sdot, rates and forces are traced to the same operations."""
    kind, graph = joint.kind, Graph()
    q, v = graph.inputs("q", kind.nq), graph.inputs("v", kind.nv)
    pose = kind.transform(q)
    values: list[Scalar] = [*pose.rotation, *pose.p]
    for twist in (*kind.columns(q), *kind.columns_rate(q, v)):
        values += twist
    first, second = kind.rates(q, v)
    values += [*first, *second]
    along = graph.inputs("one", 2)
    for force in joint.forces:
        values += [force.energy(along[0])] if isinstance(force, Elastic) else []
        values += [force.resistance(along[1])] if isinstance(force, Friction) else []
    keeps = [isinstance(force, Elastic) for force in joint.forces]
    shape = (len(pose.factors), kind.nq, kind.nv, kind.quaternion, keeps)
    content = repr((graph.nodes, list(map(graph.index, values)), shape))
    return hashlib.sha256(content.encode()).hexdigest()[:32]
