# SPDX-License-Identifier: Apache-2.0
"""Writes a robot's controllers and its simulated hardware for ros2_control, as a package that colcon builds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from rbd_dynamics import __version__
from rbd_dynamics.compiler.precision import DOUBLE
from rbd_dynamics.export.cpp_header import cpp_header
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.folder import check_free, write_folder
from rbd_dynamics.export.header import header
from rbd_dynamics.export.laws import (
    CARTESIAN,
    CHART_MOTION,
    COORDINATES,
    DAMPING,
    FEEDFORWARD,
    HYBRID,
    MULTIPLIERS,
    PRESSED_ROWS,
    REACHABLE,
)
from rbd_dynamics.export.names import identifier, prefix_of
from rbd_dynamics.export.ros2_control.configuration import controllers_yaml, description
from rbd_dynamics.export.ros2_control.pressing import PRESSING_CONSTANTS, pressing_header
from rbd_dynamics.export.ros2_control.tool import TOOL_CONSTANTS, Tool
from rbd_dynamics.export.selection import OF_CONTROLLERS, selected
from rbd_dynamics.export.self_test import self_test
from rbd_dynamics.export.source import source
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.robot import Robot

TEMPLATES = Path(__file__).parent / "templates"
#: of all controllers, in the file of each
_COMMON_PARAMETERS = TEMPLATES / "parts/common_parameters.yaml"
#: what the templates use; with friction
_KERNELS = (
    FEEDFORWARD, "inverse_dynamics", "mass_matrix", "coriolis", "gravity", "friction", "kinetic_energy",
    COORDINATES, CHART_MOTION, DAMPING,
)  # fmt: skip
_KERNELS_OF_TIP = ("pose", "jacobian", CARTESIAN, REACHABLE, HYBRID, MULTIPLIERS, PRESSED_ROWS)


def export_ros2_control(
    model: Model,
    output: str | Path,
    *,
    name: str | None = None,
    tip: str | None = None,
    rate: int = 1000,
    progress: Callable[[str], None] | None = None,
) -> list[str]:
    """Write a package for ros2_control, in C++17 around the robot's kernels; returns the files' names.

    It has the chainable controllers `FeedforwardController`, `CartesianImpedanceController` and
    `HybridForceController`, the hardware `DynamicsSystem`, which is the robot by its own dynamics, a plugin for
    inverse_dynamics_solver, parameters with gains, a description, a launch file and tests (docs/export.md).

    Parameters:
        output: a folder that is not there yet, or empty.
        name: of the package; default: the folder's.
        tip: the frame that the tool is on, and that can touch the simulated floor, with a simulated sensor; default:
            the last link that moves.
        rate: of the controller manager, Hz, for which the gains are.
        progress: called with a line before each step that takes long.

    Raises ValueError for a name, a rate, a tip or joints that cannot be had so, KeyError for an unknown frame,
    ModelError for what a URDF cannot say, OSError for a folder that is not empty or cannot be written. Then nothing is
    written.
    """
    output = Path(output)
    if not model.nv:
        raise ValueError(f"robot {model.name!r} has no joint that is free: nothing to export")
    for joint in model.joints:
        if joint.kind.nv != 1 or joint.kind.nq != 1:
            raise ValueError(
                f"joint {joint.name!r} has {joint.kind.nv} degrees of freedom: ros2_control has joints of one"
            )
    if rate < 1:
        raise ValueError(f"rate is {rate}, expected at least 1 Hz")
    check_free(output)
    frame = tip_of(model, tip, "tip")
    prefix = prefix_of(name or identifier(output.absolute().name).lower(), model.name)
    tell = progress or (lambda line: None)
    tell("tracing")
    robot = Robot(model, friction=True, backend="reference")
    kernels = [*_KERNELS, *(f"{name}:{frame}" for name in _KERNELS_OF_TIP)]
    exported = Exported(robot, prefix, selected(robot, kernels, OF_CONTROLLERS), DOUBLE)
    tell("looking for gains")
    tool = Tool(Robot(model, backend="reference"), frame)
    controllers = controllers_yaml(model, prefix, rate, tool)
    words = {
        "robot_package": prefix,
        "ROBOT_PACKAGE": exported.capital,
        "THE_TIP": identifier(frame),
        "THE_VERSION": __version__,
        "THE_ORIGIN": escape(exported.origin),
        "THE_RATE": str(rate),
        "THE_COMMON_PARAMETERS": _COMMON_PARAMETERS.read_text(encoding="utf-8").rstrip(),
    }
    files: dict[str, str | bytes] = {
        _place(path.relative_to(TEMPLATES), prefix): _filled(path.read_text(encoding="utf-8"), words)
        for path in sorted(TEMPLATES.rglob("*"))
        if path.is_file() and path != _COMMON_PARAMETERS
    }
    files |= {
        f"include/{prefix}/{prefix}.h": header(exported),
        f"include/{prefix}/{prefix}.hpp": cpp_header(exported),
        f"include/{prefix}/{TOOL_CONSTANTS}": tool.header(exported),
        f"include/{prefix}/{PRESSING_CONSTANTS}": pressing_header(exported, frame),
        f"src/{prefix}.c": source(exported).replace(f'#include "{prefix}.h"', f'#include "{prefix}/{prefix}.h"'),
        f"test/{prefix}_self_test.c": self_test(exported),
        "config/controllers.yaml": controllers,
        f"description/{prefix}.urdf": description(model, prefix),
    }
    write_folder(output, files)
    return list(files)


def _place(path: Path, prefix: str) -> str:
    """The path of a template in the package. Headers go into a folder of its name: no two packages have one alike."""
    folders = {"include": ["include", prefix], "checks": ["test"]}  # a folder `test` here would be this library's
    parts = [*folders.get(path.parts[0], [path.parts[0]]), *path.parts[1:]]
    return "/".join(parts).replace("robot_package", prefix).removesuffix(".in")


def _filled(text: str, words: dict[str, str]) -> str:
    for word, own in words.items():
        text = text.replace(word, own)
    return text
