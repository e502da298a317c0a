# SPDX-License-Identifier: Apache-2.0
"""The kernels of a robot with its motors: names of what goes in and out, and the algorithm over both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms import elastic_joints
from rbd_dynamics.algorithms.elastic_joints import Drives
from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs, Vector
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.row_sweeps import flat


class Entry(NamedTuple):
    """An entry as in `kernels.catalog`, with the robot's drives."""

    inputs: str
    outputs: str
    function: Callable[[Drives, Inputs], Sequence[Vector]]


def arguments_of(model: Model, motors: int, names: str) -> tuple[Argument, ...]:
    """Arguments of these names; those of motors have a number for each elastic joint."""
    by_motor = ("theta", "theta_velocity", "theta_acceleration", "own", "spring")
    own = {name: Argument(name, (motors,)) for name in by_motor}
    own |= {name: Argument(name, (model.nv,)) for name in ("jerk", "snap", "on_links")}
    own["whole_M"] = Argument("whole_M", (model.nv + motors, model.nv + motors))
    return arguments(names, sizes_of(model), own)


def _inverse_dynamics(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return elastic_joints.motor_motion(x.model, x.inertias, drives, x.q, x.v, x.a, x.jerk, x.snap, x.theta, x.friction)


def _forward_dynamics(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return elastic_joints.elastic_forward_dynamics(
        x.model, x.inertias, drives, x.q, x.v, x.theta, x.theta_velocity, x.tau, x.friction
    )


def _drive_torques(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return elastic_joints.drive_torques(
        x.model, x.inertias, drives, x.q, x.v, x.a, x.theta_velocity, x.theta_acceleration, x.friction
    )


def _spring_torque(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return [elastic_joints.spring_torques(drives, x.q, x.v, x.theta, x.theta_velocity)]


def _mass_matrix(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return [flat(elastic_joints.drive_mass_matrix(x.model, x.inertias, drives, x.q))]


def _drive_energy(drives: Drives, x: Inputs) -> Sequence[Vector]:
    return [[elastic_joints.drive_energy(x.model, x.inertias, drives, x.q, x.v, x.theta, x.theta_velocity)]]


ALGORITHMS: dict[str, Entry] = {
    "inverse_dynamics": Entry(
        "q v a jerk snap theta inertia", "theta theta_velocity theta_acceleration tau", _inverse_dynamics
    ),
    "forward_dynamics": Entry("q v theta theta_velocity tau inertia", "a theta_acceleration", _forward_dynamics),
    "drive_torques": Entry("q v a theta_velocity theta_acceleration inertia", "on_links own", _drive_torques),
    "mass_matrix": Entry("q inertia", "whole_M", _mass_matrix),
    "spring_torque": Entry("q v theta theta_velocity", "spring", _spring_torque),
    "drive_energy": Entry("q v theta theta_velocity inertia", "energy", _drive_energy),
}
