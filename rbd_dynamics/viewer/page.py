# SPDX-License-Identifier: Apache-2.0
"""The page: one file of HTML that needs no network."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.example_robots import shares
from rbd_dynamics.common.pages.page import folded, json_text, template
from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.formats import load
from rbd_dynamics.formats.load import urdf_text
from rbd_dynamics.formats.shapes import shapes_of
from rbd_dynamics.formats.source import Source, read_source
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.shown import in_a_line
from rbd_dynamics.robot import Robot
from rbd_dynamics.scene import MeshFinder, Scene, page_script, scene_of, scene_scripts
from rbd_dynamics.scene.scene import NOT_FOUND, matrix_rows
from rbd_dynamics.viewer.masses import ellipsoids_of, masses_of, sliders_of
from rbd_dynamics.viewer.motion import motion_of

LOOPS = "Sliders do not close the robot's loops, and torques are those of the robot with its loops open."
Array = NDArray[np.float64]
HEIGHT = 640  # pixels of the page in a notebook


@dataclass(frozen=True, repr=False)
class RobotPage:
    """A robot as a page; a notebook shows it where it is the value of a cell.

    Attributes:
        html: all of it.
        scene: what is drawn, and what could not be: `stand_ins`, `left_out`, `still`.
    """

    html: str
    scene: Scene

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. Raises OSError that names the file."""
        write_whole(Path(path), self.html)

    def open(self) -> Path:
        """Show it in a browser; returns the file that it was written to, which stays.

        Raises RuntimeError, which names that file, where there is no browser.
        """
        path = Path(tempfile.mkdtemp(prefix="rbd_dynamics-show-"), "robot.html")
        self.save(path)
        if not webbrowser.open(path.as_uri()):
            raise RuntimeError(f"no browser could be started; the page is {path}")
        return path

    def __repr__(self) -> str:
        name, size = self.scene.content["name"], len(self.html) / 1e6
        return f"<RobotPage of {name!r}, {size:.1f} MB: open() shows it in a browser, save(path) writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="robot" '
            f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )


def show(
    robot: Any,
    *,
    q: ArrayLike | None = None,
    motion: str | os.PathLike[str] | Sequence[ArrayLike] | None = None,
    torques: ArrayLike | None = None,
    description: Any = None,
    meshes: Sequence[str | os.PathLike[str]] = (),
    simulate: bool = False,
) -> RobotPage:
    """The robot in 3-D, with a slider for each joint, and the torques that hold it against gravity.

    Its links can be dragged: joints follow as far as they can.

    Parameters:
        robot: a Model, a Robot with the loads that it carries, or whatever `load` takes: a path, a text, the name of
            an example.
        q: (nq,), where it stands at first; by default where the model starts, with its loops closed.
        motion: times (n,), s, with positions (n, nq), or the path of a JointTrajectory as YAML: it is played.
        torques: (n, nv), of these times; by default those of inverse dynamics, without friction.
        description: of a Model or Robot the URDF, SDF or MJCF, for its shapes: a path or a text. By default the file
            that the model was read from; without one bodies are capsules.
        meshes: folders with the packages that the description names, beside those of ROS and the examples.
        simulate: it moves by its dynamics, which the page computes itself (WebAssembly): links are pulled, a free robot
            falls on a floor, motors hold the joints or are off. Bodies touch the floor, not one another.

    Raises ModelError, ValueError for numbers that do not fit or where the package trimesh is missing, OSError.
    """
    model, described, near = _read(robot, description)
    posture, loops = _closed(model) if q is None else (model.configuration(q), LOOPS)
    if posture.shape != (model.nq,):
        raise ValueError(f"q has shape {posture.shape}, expected {(model.nq,)}")
    if motion is None and torques is not None:
        raise ValueError("torques are of a motion: give motion=(t, q), too")
    if motion is not None and simulate:
        raise ValueError("a motion is played or the robot simulated, not both")
    scripts = page_script() + scene_scripts() + _own("gravity.js", "mechanics.js", "hand.js")
    played = None if motion is None else motion_of(model, posture, motion, torques)
    if played is not None:
        posture = played.q[0]
    finder = MeshFinder(folders=meshes, near=near, packages=shares())
    findings = Findings()
    shapes = None if described is None else shapes_of(described, findings, model.name)
    scene = scene_of(model, shapes, find=finder.find, q=posture.tolist(), colours=True)
    scene = replace(scene, left_out=(*scene.left_out, *map(str, findings)))
    physics = None
    if simulate:
        from rbd_dynamics.viewer.physics import kernels_of, physics_of  # with the compiler and the export

        touching = scene_of(model, shapes, find=finder.find, prefer="collision", q=posture.tolist())
        physics = physics_of(model, posture, touching.content)
        physics["code"], kernels = kernels_of(model)
        scene.content["floor"] = physics["floor"]
        scripts += _own("physics.js", "simulated.js") + kernels
    bodies = scene.content["bodies"]
    moved = {body["joint"] for body in bodies if body["twist"] is not None}
    still = [k for k, body in enumerate(bodies) if body["twist"] is None]
    stand = {joint.name: float(posture[joint.q_index]) for joint in model.joints if joint.kind.nq == joint.kind.nv == 1}
    movable = {name: x for name, x in stand.items() if name in moved and name not in scene.still}
    page, style = template(__package__, "page.html")
    html = page.substitute(
        title=escape(model.name),
        style=style + _own("page.css"),
        about=escape(in_a_line(model)),
        note=_note(model, scene, loops),
        compiled=" 'wasm-unsafe-eval'" if simulate else "",
        scripts=scripts,
        robot=json_text(scene.content),
        masses=json_text(masses_of(model)),
        joints=json_text(sliders_of(model, movable)),
        posture=json_text(stand),
        marks=json_text({"inertia": ellipsoids_of(model), "frames": _frames(model)}),
        motion=json_text(None if played is None else played.to_page(model, still)),
        physics=json_text(physics),
        script=_own("page.js"),
    )
    return RobotPage(html, scene)


def _read(robot: Any, description: Any) -> tuple[Model, str | Source | None, Path | None]:
    """The model, the text of its URDF or the source of another description, and the file of that."""
    if isinstance(robot, Robot):
        robot = robot.loaded_model()
    if isinstance(robot, Model):
        source, model = description, robot
        if source is None and robot.source is not None and os.path.isfile(robot.source):
            source = Path(robot.source)
    elif description is not None:
        raise ValueError("a description is given for a Model or a Robot: a file is its own")
    else:
        source, model = robot, load(robot)
    if source is None:
        return model, None, None
    if hasattr(source, "read"):
        raise ValueError("give a path or a text: an open file cannot be read twice")
    text, read = urdf_text(source), read_source(source)
    return model, read if text is None else text, read.path


def _frames(model: Model) -> list[dict[str, Any]]:
    """Marks for `RobotView`: frames of links, their size in shares of the robot's."""
    links = [frame for frame in model.frames if frame.element == "link"]
    return [{"kind": "frame", "body": frame.body, "at": matrix_rows(frame.placement), "size": 0.12} for frame in links]


def _closed(model: Model) -> tuple[Array, str]:
    """The start position, with the loops closed if that is near, and what is to be known of them."""
    start = model.start_position()
    if not model.loops:
        return start, ""
    from rbd_dynamics.constraints import ConstraintSet, loop_constraints  # few robots have loops

    try:
        held = ConstraintSet(model, loop_constraints(model))
        return Robot(model, backend="reference").project_configuration(start, held, tolerance=1e-9), LOOPS
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return start, f"The robot's loops are drawn open: {error}."


def _note(model: Model, scene: Scene, loops: str) -> str:
    """What is to be known of the drawing."""
    parts = []
    if scene.stand_ins:
        parts.append(f"Drawn as capsules, since their shapes are not at hand: {', '.join(scene.stand_ins)}.")
    if scene.left_out:
        parts.append(f"Left out: {'; '.join(scene.left_out)}.")
        if any(NOT_FOUND in reason for reason in scene.left_out):
            parts.append("Folders with meshes are given by --meshes, or meshes=.")
    if scene.still:
        parts.append(f"Without a slider, since they move along no single screw: {', '.join(scene.still)}.")
    follow = [f"{body.joint.name} ({body.joint.mimic.leader})" for body in model.bodies if body.joint.mimic]
    if follow:
        parts.append(f"Follow another joint: {', '.join(follow)}.")
    if model.loops:
        parts.append(loops)
    return f"<p class='note'>{folded(' '.join(parts))}</p>" if parts else ""


def _own(*names: str) -> str:
    return "".join((files(__package__) / name).read_text(encoding="utf-8") for name in names)
