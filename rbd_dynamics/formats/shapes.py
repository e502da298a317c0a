# SPDX-License-Identifier: Apache-2.0
"""The shapes of links in a description of any format."""

from __future__ import annotations

from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.elements import local_tag, parse_xml
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.shapes import Shapes, shapes_of_links


def shapes_of(description: str | Source, findings: Findings, model: str | None = None) -> Shapes:
    """The shapes of each link's visual and collision elements, {link: {element: shapes}}; links without any are not in.

    description: of a URDF the text, of an SDF or MJCF what `read_source` gives; all else has no shapes. A shape with
    something wrong about it is left out and an error, one that has no counterpart a warning: no robot is refused for
    its looks. model: name of the robot, which tells which one it is of an SDF with several.
    """
    source = Source(description, "robot description") if isinstance(description, str) else description
    reading = Findings()
    root = parse_xml(source.content, source.where, reading) if source.is_xml else None
    if root is None:
        findings += reading.errors
        return {}
    if local_tag(root) == "sdf":
        from rbd_dynamics.formats.sdf.looks import sdf_shapes  # what other files need is imported with them

        return sdf_shapes(source, root, findings, model)
    if local_tag(root) == "mujoco":
        from rbd_dynamics.formats.mjcf_shapes import mjcf_shapes

        return mjcf_shapes(source, findings)
    return shapes_of_links(root, findings)
