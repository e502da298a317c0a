# SPDX-License-Identifier: Apache-2.0
"""What kernels and their arguments are, for the comments of a header."""

from __future__ import annotations

import inspect

from rbd_dynamics.kernels.of_frames import IN_OTHER_REFERENCES
from rbd_dynamics.robot import Robot

_KERNELS = {
    "feedforward": "Torques of a desired motion, with a PD, within limits: (weighted terms of) M a_d + C v + N + "
    "springs + friction(v_d) + kp (q_d - q) + kd (v_d - v) + offsets.",
    "cartesian_control": "Torques of a compliant tool, within limits, and what they were found with: the impedance law "
    "of rbd_dynamics.control.CartesianController.",
    "reachable_motion": "One step of a joint motion along which the tool follows its target, as far as the arm can.",
    "hybrid_control": "Torques of a tool that presses on a plane and moves along it, within limits, and what they were "
    "found with: the geometric law of rbd_dynamics.control.HybridController.",
    "multiplier_sensor": "What a wrench on the tool presses with, and what it has besides.",
    "pressed_rows": "How far the tool is from the plane and from its task frame, and the rows of their rates.",
    "chart_coordinates": "Coordinates of a tool's placement in the chart at a base; the rotation vector is at most pi.",
    "tool_damping": "Damping with which all swings of a tool die out with one ratio, out of stiffness and mobility.",
    "chart_motion": "A tool's placement and motion out of their coordinates in a chart.",
    "factor_apply": "W x for M = W W^T, without forming W.",
    "factor_apply_transposed": "W^T x for M = W W^T, without forming W.",
    "factor_solve": "W^-1 x for M = W W^T, without forming W.",
    "factor_solve_transposed": "W^-T x for M = W W^T, without forming W.",
    "friction": "Damping and Coulomb friction of the joints (nv).",
    "springs": "What the springs of the joints hold (nv): part of the torque that holds the robot at rest.",
    "inertia_of_load": "A load at a frame as ten inertial parameters of the body that carries it.",
    "wrench_on_body": "A wrench on a frame as one on the body that it is fixed to.",
}

_PLACES = {
    "world": "the world's origin, in the world's axes",
    "aligned": "the frame's origin, in the world's axes",
}
_ARGUMENTS = {
    "q": "positions (rad, m); a floating joint is x, y, z, then a quaternion qx, qy, qz, qw",
    "v": "velocities (rad/s, m/s); a floating joint's is the body twist, angular part first",
    "a": "accelerations (rad/s^2, m/s^2)",
    "tau": "torques and forces of the joints (N m, N)",
    "x": "any vector of the velocities' size",
    "product": "the product",
    "prescribed": "1: the acceleration is given, 0: the torque",
    "inertia": "ten parameters of each body: m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz at its frame; see the table below",
    "fixed_inertia": "the same ten of what is fixed to the world; see the table below",
    "f_ext": "a wrench on each body, in its frame: moment, then force (N m, N)",
    "reactions": "wrenches that the joints transmit, moment first, on each body in its frame",
    "energy": "J",
    "point": "m, in the world",
    "wrench": "moment, then force",
    "twist": "angular velocity, then linear",
    "twist_rate": "of the twist, component by component",
    "momentum": "angular part about the centre of mass, then linear; world axes",
    "pose": "homogeneous matrix, row by row",
    "motion": "coefficients of the desired positions, row i for the power i of time, the constant first",
    "t": "time at which the motion is taken, s",
    "weights": "0 or 1 for inertia, Coriolis, gravity, springs, friction; 1: at the desired state; 1: computed torque",
    "gains": "kp of each joint, then kd of each",
    "offsets": "added to the torques",
    "limits": "of the torques' absolute values",
    "efforts": "within the limits",
    "wanted": "the same without limits",
    "regressor": "row by row",
    "energy_regressor": "a number for each inertial parameter",
    "mass": "kg",
    "com": "centre of mass in the frame, m",
    "rotational": "Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the centre of mass, in the frame's axes, kg m^2",
    "placement": "of the frame on its body: rotation, row by row, then position",
    "load": "ten inertial parameters",
    "v_before": "velocities `span` seconds before",
    "span": "s",
    "dt": "s since the step before",
    "base": "orientation at which the chart's rotation vector is zero, row by row",
    "theta": "rotation vector from the base (rad), then place (m)",
    "rate": "of theta",
    "acceleration": "of theta",
    "posture": "where joints are drawn to, as far as the tool leaves them free",
    "posture_rate": "how that moves",
    "tool": "placement in the frame: rotation, row by row, then place",
    "placed": "placement of the tool: rotation, row by row, then place",
    "before": "placement where the tool was to be",
    "target": "placement where the tool is to be after the step",
    "drift": "velocities of what the tool leaves free",
    "behind": "of the way to where the tool was to be, m",
    "stiffness": "6 x 6, angular part first, row by row, along its axes",
    "wanted_stiffness": "the same that is approached",
    "tank": "energy left, J",
    "damping": "along the axes of stiffness; negative: by the ratio",
    "carrier": "1, 0: axes of stiffness turn with the tool; 0, 1: with the wanted tool",
    "axes": "orientation of these axes, row by row",
    "margins": "from where on joints are kept from their limits",
    "limit_torques": "with which, at the limit",
    "speeds": "limits of velocity",
    "outside": "what accelerates joints beside the efforts, as far as it has been seen",
    "driven": "accelerations that the last efforts gave",
}

#: other words for what has the same name elsewhere
_TASK_ROWS = "rotation vector from the task frame (rad), then place in it (m), of the directions that are controlled"
_IN_KERNELS = {
    "hybrid_control": {
        "theta": f"wanted: {_TASK_ROWS}",
        "theta_found": f"measured: {_TASK_ROWS}",
        "force": "wanted along the normal, N; positive presses",
        "approach": "velocity along the normal that its damping aims at, m/s",
        "measured": "force along the normal by a sensor, N",
        "beside": "efforts of what pushes beside the normal, made up for where it would lift or turn the tool",
        "aside": "the same at this moment, by one reading: it tells with what joints are accelerated that are braked",
        "integral": "of the force error, N s",
        "task_integral": "of theta's error",
        "gains": "kp and kd of each row, ki, its limit, normal damping, posture's kp and kd, task_ki, its limit, "
        "reaction time, 1: has a posture, dt",
        "parameters": "two zeros; placements of the tool in its frame and of the task frame (rotation, row by row, "
        "then place), offset; the same placements, 1, 0, 0, 0",
        "h_found": "distance from the plane, m",
        "drift_found": "its rate, m/s",
        "force_found": "with what the integral adds, N",
        "rank_found": "of all rows; fewer than rows: singular",
        "braking_found": "how far joints are kept from their limits of velocity, 0 to 1",
    },
    "multiplier_sensor": {
        "wrench": "that acts on the frame: moment, then force",
        "free": "what the sensor reads where nothing is touched",
        "parameters": "two zeros; placements of the tool in its frame and of the task frame, offset",
        "multipliers": "force along the normal, N",
        "beside": "force besides (N), moment about the tool's point (N m), power on what is touched (W)",
        "efforts": "of what is felt besides on the joints",
    },
    "pressed_rows": {
        "parameters": "as of hybrid_control",
        "h": "distance from the plane, m, then theta",
        "A": "rows of their rates",
        "Adot_v": "their accelerations without joint accelerations",
    },
}


def kernel_text(name: str) -> str:
    """One sentence on a kernel."""
    base, _, frame = name.partition(":")
    plain = base.removesuffix("_f_ext")
    reference = next((end[1:] for end in IN_OTHER_REFERENCES if plain.endswith(end)), "")
    plain = plain.removesuffix(f"_{reference}")
    found = _KERNELS.get(plain)
    if found is None:
        found = (inspect.getdoc(getattr(Robot, plain, None)) or plain).partition("\n\n")[0]
        found = " ".join(found.partition(" KeyError")[0].partition(" Source:")[0].split())
    found += f" Expressed at {_PLACES[reference]}." if reference else ""
    return f"{found} Of the frame {' '.join(frame.split())}." if frame else found


def argument_text(name: str, kernel: str) -> str:
    """What an argument of a kernel is; nothing where its name says it: a matrix, a derivative."""
    own = _IN_KERNELS.get(kernel.partition(":")[0], {})
    return own.get(name) or _ARGUMENTS.get(name, "")
