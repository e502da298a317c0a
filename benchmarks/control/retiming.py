# SPDX-License-Identifier: Apache-2.0
"""Retiming of a Panda's paths: time of a call and duration, beside toppra on Pinocchio and the method of MoveIt.

    python -m benchmarks.control.retiming [--paths 5] [--points 1000] [--rounds 5]

Times are of the processor, the least of some rounds in which all take turns. toppra and Pinocchio are optional. What is
called iterative is what MoveIt has for torque limits (IterativeTorqueLimitParameterization): retime with velocities and
accelerations alone, look for the first point at which a torque is too large, narrow that joint's acceleration by a
factor of 0.9, and begin again, 10 times; here also until no torque is too large. It runs on the same timing as ours.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.motion.trajectory import Waypoints
from rbd_dynamics.trajectories import Limits, Path, Report, Retimed, check, retime

Array = NDArray[np.float64]
JOINTS = [f"panda_joint{k}" for k in range(1, 8)]
ACCELERATION = [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]  # rad/s^2
RATE = 1000.0  # N m/s, as Franka Robotics limits it
EFFORTS = 0.7  # of those in the description: so that torques matter
DECREMENT, ITERATIONS, PATIENCE = 0.1, 10, 200
RATES = "and torque rates"
TERMS = ("inertia", "coriolis", "gravity", "spring")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control.retiming", description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=int, default=5, metavar="N")
    parser.add_argument("--points", type=int, default=1000, metavar="N", help="of each path, and of the motion")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    robot = Robot(load_urdf(robots()["panda"], joints=JOINTS))
    effort = EFFORTS * Limits.of(robot, JOINTS).effort
    limits = Limits.of(robot, JOINTS, acceleration=ACCELERATION, effort=effort)
    with_rates = Limits.of(robot, JOINTS, acceleration=ACCELERATION, effort=effort, effort_rate=RATE)
    print("path: method, ms of the processor, duration (s), most that is used of a limit between points")
    for seed in range(options.paths):
        path = some_path(robot, seed, options.points)
        times, found = in_turns(methods_on(robot, path, limits, with_rates, options.points), options.rounds)
        for name, result in found.items():
            used = most_used(robot, result, with_rates if name == RATES else limits)
            print(f"{seed}: {name}: {1e3 * times[name]:.1f}, {result.duration:.4f}, {used}", flush=True)


def methods_on(
    robot: Robot, path: Path, limits: Limits, with_rates: Limits, points: int
) -> dict[str, Callable[[], Any]]:
    """Each by its name, for one path."""
    methods: dict[str, Callable[[], Any]] = {
        "velocities, accelerations, torques": lambda: retime(robot, path, limits, terms=TERMS, points=points),
        RATES: lambda: retime(robot, path, with_rates, terms=TERMS, points=points),
    }
    peer = by_toppra(path, limits, points)
    if peer is not None:
        methods["toppra on Pinocchio"] = peer
    methods["iterative, 10 times"] = lambda: iterative(robot, path, limits, points, ITERATIONS)
    methods["iterative, as often as needed"] = lambda: iterative(robot, path, limits, points, PATIENCE)
    return methods


def some_path(robot: Robot, seed: int, points: int) -> Path:
    """Through five random corners, well within the joints' limits, given by many points."""
    limits = Limits.of(robot, JOINTS)
    spread = 0.16 * (limits.upper - limits.lower)
    corners = 0.5 * (limits.lower + limits.upper) + np.random.default_rng(seed).uniform(-1.0, 1.0, (5, 7)) * spread
    through = Path(corners, JOINTS)
    return Path(through.at(np.linspace(0.0, through.length, points)), JOINTS)


def in_turns(methods: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The least time of each, and what it found."""
    times = dict.fromkeys(methods, float("inf"))
    found = {name: method() for name, method in methods.items()}  # compiles what has to be
    for _ in range(rounds):
        for name, method in methods.items():
            start = time.process_time()
            method()
            times[name] = min(times[name], time.process_time() - start)
    return times, found


def by_toppra(path: Path, limits: Limits, points: int) -> Callable[[], Any] | None:
    """toppra's answer with the same limits, grid and path; None where it or Pinocchio is not installed."""
    try:
        import pinocchio as pin
        import toppra
        from toppra import algorithm, constraint
    except ImportError:
        return None
    toppra.setup_logging("ERROR")
    model = pin.buildModelFromUrdf(str(robots()["panda"]))
    locked = [model.getJointId(name) for name in model.names[1:] if name not in JOINTS]
    model = pin.buildReducedModel(model, locked, pin.neutral(model))
    data = model.createData()

    def torque(q: Array, v: Array, a: Array) -> Array:
        return np.array(pin.rnea(model, data, q, v, a))

    def run() -> Any:
        curve = toppra.SplineInterpolator(path.knots, path.points)
        scheme = constraint.DiscretizationType.Interpolation
        most = [np.stack([-each, each], axis=1) for each in (limits.velocity, limits.acceleration, limits.effort)]
        constraints = [
            constraint.JointVelocityConstraint(most[0]),
            constraint.JointAccelerationConstraint(most[1], discretization_scheme=scheme),
            constraint.JointTorqueConstraint(torque, most[2], np.zeros(len(JOINTS)), discretization_scheme=scheme),
        ]
        grid = np.linspace(0.0, path.length, points)
        return algorithm.TOPPRA(constraints, curve, gridpoints=grid, solver_wrapper="seidel").compute_trajectory()

    return run


def iterative(robot: Robot, path: Path, limits: Limits, points: int, most: int) -> Retimed:
    """Accelerations narrowed until torques are small enough, or so many times."""
    acceleration = limits.acceleration.copy()
    for _ in range(most):
        free = Limits.of(robot, JOINTS, velocity=limits.velocity, acceleration=acceleration, effort=0.0)
        found = retime(robot, path, free, terms=TERMS, points=points)
        beyond = np.argwhere(np.abs(found.efforts) > limits.effort)
        if not len(beyond):
            break
        k, joint = beyond[0]
        at = found.waypoints
        state = at.positions[k], at.velocities[k], at.accelerations[k].copy()
        state[2][joint] *= 1.0 + DECREMENT
        more = abs(robot.inverse_dynamics(*state)[joint])
        acceleration[joint] *= 1.0 + DECREMENT if more < abs(found.efforts[k, joint]) else 1.0 - DECREMENT
        acceleration[joint] *= 1.0 - DECREMENT
    return found


def most_used(robot: Robot, result: Any, limits: Limits) -> str:
    """The most of any limit, by the exact check; of toppra's motion at its own points, many between each two."""
    if isinstance(result, Retimed):
        return said(check(robot, result.waypoints, limits, terms=TERMS))
    times = np.linspace(0.0, result.duration, 20_000)
    q, v, a = (result(times, order) for order in range(3))
    return said(check(robot, Waypoints(tuple(JOINTS), times, q, v, a), limits, terms=TERMS))


def said(report: Report) -> str:
    worst = report.margins[0]
    return f"{worst.used:.4f} ({worst.quantity} of {worst.joint})"


if __name__ == "__main__":
    main()
