# SPDX-License-Identifier: Apache-2.0
"""An iteration of differential dynamic programming with our derivatives and with Pinocchio's, in the same run.

    python -m benchmarks.dynamics.optimal_control [--quick]

The problem is that of examples/model_predictive_control.py: a Panda's hand follows a circle, 20 nodes ahead. Both
sides run the same solver; dynamics and derivatives, poses, Jacobians and gravity come from this package in batches, or
from Pinocchio's functions node by node. What they give is compared first. Needs Pinocchio (`pin`) and
example-robot-data.

Where Crocoddyl is installed as well, nodes of examples/reach_crocoddyl.py beside Crocoddyl's own models of the same
problem, in C++ and on one thread: all states and costs, and all derivatives, as a solver asks for them. (Its wheels are
made for one version of Pinocchio each: 3.2.1 for 4.0.)
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import seconds_per_call, stay_on_one_core
from rbd_dynamics.common.example_robots import robots

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))  # scripts, not a package
import model_predictive_control as example
from hand_task import HandTask
from ilqr import Solution, backward, forward, solve

Array = NDArray[np.float64]
JOINTS = [f"panda_joint{k}" for k in range(1, 8)]


class PinocchioRobot:
    """What `HandTask` asks of a `Robot`, by Pinocchio's functions; in batches a sample at a time."""

    def __init__(self, model: rbd.Model, file: Path) -> None:
        import pinocchio as pin

        whole = pin.buildModelFromUrdf(str(file))
        locked = [k for k, name in enumerate(whole.names) if k and name not in model.joint_names]
        self.pin, self.model = pin, model
        self.reduced = pin.buildReducedModel(whole, locked, pin.neutral(whole))
        self.data = self.reduced.createData()

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        return np.asarray(self.pin.aba(self.reduced, self.data, q, v, tau))

    def forward_dynamics_derivatives(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        found = tuple(np.empty((len(q), self.reduced.nv, self.reduced.nv)) for _ in range(3))
        for k in range(len(q)):
            self.pin.computeABADerivatives(self.reduced, self.data, q[k], v[k], tau[k])
            found[0][k], found[1][k], found[2][k] = self.data.ddq_dq, self.data.ddq_dv, self.data.Minv
        return found

    def inverse_dynamics_derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array]:
        """By q at rest, which is all that the task takes."""
        return (np.array([self.pin.computeGeneralizedGravityDerivatives(self.reduced, self.data, each) for each in q]),)

    def gravity(self, q: Array) -> Array:
        return np.array([self.pin.computeGeneralizedGravity(self.reduced, self.data, each) for each in q])

    def pose(self, q: Array, frame: str) -> Array:
        found, index = np.empty((len(q), 4, 4)), self.reduced.getFrameId(frame)
        for k, each in enumerate(q):
            self.pin.framesForwardKinematics(self.reduced, self.data, each)
            found[k] = self.data.oMf[index].homogeneous
        return found

    def jacobian(self, q: Array, frame: str) -> Array:
        """Rows as ours, angular first."""
        index = self.reduced.getFrameId(frame)
        order = [3, 4, 5, 0, 1, 2]
        return np.array([self.pin.computeFrameJacobian(self.reduced, self.data, each, index)[order] for each in q])


def task(robot: Any) -> HandTask:
    """The problem of the first instant."""
    goals = example.goal(example.AHEAD * np.arange(example.NODES + 1))
    return HandTask(robot, "panda_hand_tcp", goals, example.WEIGHTS, step=example.AHEAD, posture=example.POSTURE)


def both() -> tuple[HandTask, HandTask, Solution]:
    """The problem with our robot and with Pinocchio's, and where both are timed: the solution."""
    model = rbd.load("panda", joints=JOINTS)
    robot = rbd.Robot(model)
    ours, theirs = task(robot), task(PinocchioRobot(model, robots()["panda"]))
    rest = np.append(example.POSTURE, np.zeros(7))
    return ours, theirs, solve(ours, rest, np.tile(robot.gravity(example.POSTURE), (example.NODES, 1)))


def difference(ours: HandTask, theirs: HandTask, at: Solution) -> float:
    """Largest difference of linearised dynamics and cost, relative to the largest entry of each."""
    pairs = zip(
        (*ours.linearised(at.xs, at.us), *ours.quadratic(at.xs, at.us)),
        (*theirs.linearised(at.xs, at.us), *theirs.quadratic(at.xs, at.us)),
    )
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def iteration(problem: HandTask, at: Solution) -> None:
    """What the controller does in a period."""
    xs, us = forward(problem, at.xs[0], at.xs, at.us, at.policy, 1.0)
    backward(problem, xs, us)


def calls_of_robot(robot: Any, q: Array, v: Array, u: Array) -> None:
    """All that an iteration asks of the robot: a roll-out, derivatives and kinematics of all nodes."""
    for k in range(len(u)):
        robot.forward_dynamics(q[k], v[k], u[k])
    robot.forward_dynamics_derivatives(q, v, u)
    robot.inverse_dynamics_derivatives(q, v, v)
    robot.gravity(q)
    robot.pose(q, "panda_hand_tcp")
    robot.jacobian(q, "panda_hand_tcp")


def crocoddyl_problems() -> tuple[Any, Any, Array, Array]:
    """The reach with nodes of this package and with Crocoddyl's own, and where both are timed: states and torques."""
    import crocoddyl
    import pinocchio as pin
    import reach_crocoddyl as reach

    robot, _, ours = reach.reach()
    model = PinocchioRobot(robot.model, robots()["panda"]).reduced
    state = crocoddyl.StateMultibody(model)

    def node(weights: Any, step: float) -> Any:
        costs = crocoddyl.CostModelSum(state, model.nv)
        hand = crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId(reach.FRAME), reach.GOAL, model.nv)
        costs.addCost("hand", crocoddyl.CostModelResidual(state, hand), weights.hand)
        posture = crocoddyl.ResidualModelState(state, np.append(reach.POSTURE, np.zeros(model.nv)), model.nv)
        scales = np.repeat([weights.posture, weights.speed], model.nv)
        activation = crocoddyl.ActivationModelWeightedQuad(scales)
        costs.addCost("state", crocoddyl.CostModelResidual(state, activation, posture), 1.0)
        if step:
            effort = crocoddyl.ResidualModelControlGrav(state, model.nv)
            costs.addCost("effort", crocoddyl.CostModelResidual(state, effort), weights.effort)
        actuation = crocoddyl.ActuationModelFull(state)
        dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        return crocoddyl.IntegratedActionModelEuler(dynamics, step)

    nodes = [node(reach.RUNNING, reach.STEP)] * reach.NODES
    theirs = crocoddyl.ShootingProblem(ours.x0, nodes, node(reach.LAST, 0.0))
    found = []
    for problem in (ours, theirs):
        solver = crocoddyl.SolverFDDP(problem)
        hold = pin.computeGeneralizedGravity(model, model.createData(), reach.POSTURE)
        solver.solve([problem.x0] * (reach.NODES + 1), [hold] * reach.NODES, 100)
        found.append((np.array(solver.xs), np.array(solver.us)))
    apart = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(*found))
    print(f"largest relative difference of both solutions: {apart:.1e}")
    return ours, theirs, *found[0]


def of_crocoddyl(guard: Guard, rounds: int) -> Table:
    """Nodes of ours and of its own."""
    ours, theirs, xs, us = crocoddyl_problems()
    states, torques = list(xs), list(us)
    table = Table("crocoddyl", ("50 nodes of a Panda", "rbd_dynamics, ms", "Crocoddyl, ms", "ratio"))
    parts: dict[str, Callable[[Any], object]] = {
        "states and costs": lambda problem: problem.calc(states, torques),
        "these and derivatives": lambda problem: (problem.calc(states, torques), problem.calcDiff(states, torques)),
    }
    for name, part in parts.items():
        calls = {who: partial(part, problem) for who, problem in (("ours", ours), ("theirs", theirs))}
        times, trouble = guard.run(name, partial(seconds_per_call, calls, rounds, block_time=2e-2))
        own, peer = Figure.of(times["ours"], 1e3), Figure.of(times["theirs"], 1e3)
        table.add(name, own, peer, ratio(own, peer), trouble=trouble)
    return table


def main() -> int:
    arguments = parser("dynamics.optimal_control", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    ours, theirs, at = both()
    print(f"largest relative difference of what both compute: {difference(ours, theirs, at):.1e}")
    q, v = at.xs[:-1, :7].copy(), at.xs[:-1, 7:].copy()
    parts: dict[str, Callable[[HandTask], object]] = {
        "derivatives of forward dynamics": lambda problem: problem.robot.forward_dynamics_derivatives(q, v, at.us),
        "all calls of the robot": lambda problem: calls_of_robot(problem.robot, q, v, at.us),
        "the iteration": lambda problem: iteration(problem, at),
    }
    table = Table("optimal_control", ("part", "rbd_dynamics, ms", "Pinocchio, ms", "ratio"))
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15
    for name, part in parts.items():
        calls = {who: partial(part, problem) for who, problem in (("ours", ours), ("theirs", theirs))}
        times, trouble = guard.run(name, partial(seconds_per_call, calls, rounds, block_time=2e-2))
        own, peer = Figure.of(times["ours"], 1e3), Figure.of(times["theirs"], 1e3)
        table.add(name, own, peer, ratio(own, peer), trouble=trouble)
    tables = [table]
    if importlib.util.find_spec("crocoddyl") is not None:
        try:
            tables.append(of_crocoddyl(guard, rounds))
        except MemoryError:  # it takes one version's structures for another's
            print("left out: Crocoddyl, which is made for another version of Pinocchio")
    return deliver(arguments, tables, "pin", settings=f"one core, {example.NODES} nodes of a Panda")


if __name__ == "__main__":
    raise SystemExit(main())
