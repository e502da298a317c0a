# SPDX-License-Identifier: Apache-2.0
"""Writes a robot's kernels in C, as a folder that builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rbd_dynamics.compiler.precision import DOUBLE, SINGLE
from rbd_dynamics.export.cpp_header import cpp_header
from rbd_dynamics.export.cuda_files import cuda_files, cuda_read_me
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.folder import check_free, write_folder
from rbd_dynamics.export.header import header
from rbd_dynamics.export.laws import FEEDFORWARD
from rbd_dynamics.export.names import prefix_of
from rbd_dynamics.export.package_files import cmake_lists, package_xml, read_me
from rbd_dynamics.export.selection import USUAL, selected
from rbd_dynamics.export.self_test import self_test
from rbd_dynamics.export.source import source
from rbd_dynamics.export.targets import TARGETS, check_targets
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

Progress = Callable[[str], None]


def export_c(
    model: Model,
    output: str | Path,
    *,
    kernels: Iterable[str] | None = None,
    name: str | None = None,
    friction: bool = False,
    single: bool = False,
    targets: Iterable[str] = (),
    progress: Progress | None = None,
) -> list[str]:
    """Write kernels of a robot as a package in C99, with a header for C++ and a self-test; returns the files' names.

    Parameters:
        output: a folder that is not there yet, or empty.
        kernels: of `KERNELS`, those of a frame as "pose:tool0", with "_f_ext" at the end for external wrenches.
            Default: inverse and forward dynamics, mass matrix, bias, gravity and the feedforward law, this last where
            all joints have one degree of freedom.
        name: what names in C begin with; default: the robot's.
        friction: add the joints' friction to the equation of motion, as in `Robot`.
        single: single precision.
        targets: of `TARGETS`: also object files for these processors, which needs llvmlite, or sources in CUDA C++.
        progress: called with a line before each step that takes long.

    Raises ValueError for an unknown kernel, name or target, KeyError for an unknown frame, OSError for a folder that
    is not empty or cannot be written, ImportError where targets lack their compiler. Then nothing is written.
    """
    output = Path(output)
    if not model.nv:
        raise ValueError(f"robot {model.name!r} has no joint that is free: nothing to export")
    check_free(output)
    chosen_targets = check_targets(targets, single=single)
    robot = Robot(model, friction=friction, backend="reference")
    chosen = _usual(model) if kernels is None else list(kernels)
    if not chosen:
        raise ValueError("no kernel is chosen: nothing to export")
    prefix = prefix_of(name, model.name)
    tell = progress or (lambda line: None)
    tell("tracing")
    exported = Exported(robot, prefix, selected(robot, chosen), SINGLE if single else DOUBLE)
    files: dict[str, str | bytes] = {
        f"include/{prefix}.h": header(exported),
        f"include/{prefix}.hpp": cpp_header(exported),
        f"src/{prefix}.c": source(exported),
        f"test/{prefix}_self_test.c": self_test(exported),
        "CMakeLists.txt": cmake_lists(exported),
        "package.xml": package_xml(exported),
    }
    compiled = [target for target in chosen_targets if TARGETS[target].triple]
    for target in compiled:
        from rbd_dynamics.export.object_files import object_files  # needs llvmlite

        tell(f"compiling for {target}")
        files |= object_files(exported, target)
    page = read_me(exported, [(target, TARGETS[target].text) for target in compiled])
    if "cuda" in chosen_targets:
        files |= cuda_files(exported)
        page += cuda_read_me(exported)
    files["README.md"] = page
    write_folder(output, files)
    return list(files)


def _usual(model: Model) -> list[str]:
    plain = all(joint.kind.nv == joint.kind.nq == 1 for joint in model.joints)
    return [name for name in USUAL if plain or name != FEEDFORWARD]
