# SPDX-License-Identifier: Apache-2.0
"""The header: sizes, names, limits and masses of the robot, and what its kernels are called with."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.export.c_code import CFunction, output_name
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.names import distinct, literal
from rbd_dynamics.export.selection import Selected
from rbd_dynamics.export.texts import argument_text, kernel_text

STATUS = (
    ("OK", 0, "all is well"),
    ("BAD_INPUT", 1, "an input is not finite, or there is no such frame"),
    ("BAD_RESULT", 2, "the result is not finite: the mass matrix is singular, or a number is too large"),
    ("OUT_OF_RANGE", 4, "a quaternion is far from unit length; in object files also: an angle is too large"),
)


def header(robot: Exported) -> str:
    guard = f"{robot.capital}_H"
    parts = [
        f"/* {robot.origin}\n\n{_INTRODUCTION} */",
        f"#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"typedef {robot.precision.scalar} {robot.real};\n",
        _sizes(robot),
        _joints(robot),
        _masses(robot),
        "/* --- kernels ------------------------------------------------------------------------------- */\n",
        *(_declaration(kernel, function) for kernel, function in zip(robot.kernels, robot.functions)),
        _helpers(robot),
        "#ifdef __cplusplus\n}\n#endif\n",
        f"#endif /* {guard} */",
    ]
    return "\n".join(parts) + "\n"


_INTRODUCTION = """\
   Units are those of the SI. Matrices are row by row. Kernels allocate nothing, keep nothing and call nothing but
   math.h, so they may run in an interrupt and in several threads. Each returns a status, 0 where all is well; else
   it has written nothing. What goes in and what comes out must not overlap."""


def comment(lines: Iterable[str]) -> str:
    """A C comment of these lines, wrapped."""
    text = [part for line in lines for part in textwrap.wrap(line, 112, subsequent_indent="    ") or [""]]
    return "/* " + "\n   ".join(line.replace("*/", "* /") for line in text) + " */"


def _sizes(robot: Exported) -> str:
    model, capital = robot.model, robot.capital
    sizes = [
        ("NQ", model.nq, "numbers of a configuration"),
        ("NV", model.nv, "degrees of freedom"),
        ("JOINTS", len(model.joints), "joints that are free"),
        ("BODIES", len(model.bodies), "bodies that move"),
        ("FRAMES", len(robot.frames), "links and joints by name"),
    ]
    lines = [f"#define {capital}_{name} {value} /* {text} */" for name, value, text in sizes]
    lines += ["", "/* status */", *(f"#define {capital}_{name} {value} /* {text} */" for name, value, text in STATUS)]
    names = distinct(frame.name for frame in robot.frames)
    lines += ["", "/* frames */", *(f"#define {capital}_FRAME_{name} {k}" for k, name in enumerate(names))]
    return "\n".join(lines) + "\n"


def _joints(robot: Exported) -> str:
    model, prefix, capital = robot.model, robot.prefix, robot.capital
    places = [("q_index", "q"), ("v_index", "v")]
    limits = [("lower", "rad, m"), ("upper", "rad, m"), ("velocity", "rad/s, m/s"), ("effort", "N m, N")]
    count = f"{capital}_JOINTS"
    lines = [
        "/* joints in the order of q and v */",
        f"static const char *const {prefix}_joint_names[{count}] = {{{_texts(j.name for j in model.joints)}}};",
    ]
    for attribute, vector in places:
        row = ", ".join(str(getattr(joint, attribute)) for joint in model.joints)
        lines.append(f"static const int {prefix}_{attribute}[{count}] = {{{row}}}; /* first place in {vector} */")
    for attribute, unit in limits:
        row = robot.row(getattr(joint.limits, attribute) for joint in model.joints)
        lines.append(f"static const {robot.real} {prefix}_{attribute}_limits[{count}] = {row}; /* {unit} */")
    names = f"{prefix}_frame_names[{capital}_FRAMES]"
    lines += ["", f"static const char *const {names} = {{{_texts(f.name for f in robot.frames)}}};"]
    return "\n".join(lines) + "\n"


def _texts(names: Iterable[str]) -> str:
    return ", ".join(map(literal, names))


def _masses(robot: Exported) -> str:
    model, real, prefix, capital = robot.model, robot.real, robot.prefix, robot.capital
    bodies = [body.inertia.parameters for body in model.bodies]
    lines = [
        "/* What the bodies weigh without a load: m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each at its frame. It is the",
        f"   input `inertia` of kernels; with a load, hand them a copy that {prefix}_attach has changed. */",
        f"static const {real} {prefix}_inertia[10 * {capital}_BODIES] = {{",
        *(f"    {robot.row(body)[1:-1]}," for body in bodies),
        "};",
    ]
    if robot.needs_fixed_inertia:
        row = robot.row(model.fixed_inertia.parameters)
        lines.append("/* the same of what is fixed to the world */")
        lines.append(f"static const {real} {prefix}_fixed_inertia[10] = {row};")
    lines += [
        "/* bodies that frames are fixed to, -1 for the world, and where: rotation, row by row, then position */",
        f"static const int {prefix}_frame_body[{capital}_FRAMES] = {{{', '.join(str(f.body) for f in robot.frames)}}};",
        f"static const {real} {prefix}_frame_placement[{capital}_FRAMES][12] = {{",
        *(f"    {robot.row((*f.placement.rotation, *f.placement.p))}," for f in robot.frames),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _declaration(kernel: Selected, function: CFunction) -> str:
    inputs = [argument.name for argument in kernel.signature.inputs]
    lines = [f"{kernel.name}: {kernel_text(kernel.name)}"]
    lines += [_explained(kernel, argument, argument.name) for argument in kernel.signature.inputs]
    lines += [
        _explained(kernel, argument, output_name(argument, inputs), "out: ") for argument in kernel.signature.outputs
    ]
    numbers = function.pieces.size
    work = f", about {-(-numbers * function.precision.bits // 8192)} KiB on the stack" if numbers else ""
    lines.append(f"{kernel.program.operations} operations{work}.")
    return f"{comment(lines)}\n{function.declaration};\n"


def _explained(kernel: Selected, argument: Argument, name: str, what: str = "") -> str:
    shape = " x ".join(map(str, argument.shape)) or "1"
    text = argument_text(argument.name, kernel.name)
    return f"  {what}{name} ({shape})" + (f": {text}" if text else "")


def _helpers(robot: Exported) -> str:
    prefix, capital, real = robot.prefix, robot.capital, robot.real
    text = f"""\
/* Attach a load to a frame: its mass is added to `inertia`, ten parameters of each body, at first a copy of
   {prefix}_inertia. com (3): its centre of mass in the frame, m; rotational (6): Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the
   centre of mass, in the frame's axes, kg m^2. A frame that is fixed to the world carries it without any effect. */
static inline int {prefix}_attach({real} *inertia, int frame, {real} mass, const {real} *com, const {real} *rotational)
{{
    {real} load[10];
    int status;
    if (frame < 0 || frame >= {capital}_FRAMES || !(mass >= 0)) return {capital}_BAD_INPUT;
    status = {prefix}_inertia_of_load(&mass, com, rotational, {prefix}_frame_placement[frame], load);
    if (status != {capital}_OK || {prefix}_frame_body[frame] < 0) return status;
    for (int i = 0; i < 10; ++i) inertia[10 * {prefix}_frame_body[frame] + i] += load[i];
    return {capital}_OK;
}}
"""
    if not robot.has_wrenches:
        return text
    return f"""{text}
/* Add a wrench on a frame (moment, force; in the frame) to `f_ext`, six numbers of each body, at first zero. */
static inline int {prefix}_add_wrench({real} *f_ext, int frame, const {real} *wrench)
{{
    {real} on_body[6];
    int status;
    if (frame < 0 || frame >= {capital}_FRAMES) return {capital}_BAD_INPUT;
    status = {prefix}_wrench_on_body(wrench, {prefix}_frame_placement[frame], on_body);
    if (status != {capital}_OK || {prefix}_frame_body[frame] < 0) return status;
    for (int i = 0; i < 6; ++i) f_ext[6 * {prefix}_frame_body[frame] + i] += on_body[i];
    return {capital}_OK;
}}
"""
