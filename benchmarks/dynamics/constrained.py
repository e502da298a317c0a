# SPDX-License-Identifier: Apache-2.0
"""Constrained dynamics and a step of hybrid position/force control against Pinocchio and our own inverse dynamics.

    python -m benchmarks.dynamics.constrained [--quick] [--json FILE]

A Panda with its fingers locked, its hand held in three or six directions. Needs Pinocchio (`pin`) and
example-robot-data.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pinocchio as pin

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, JointCoupling, SurfaceConstraint
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.law import LAWS
from rbd_dynamics.spatial.arrays import pose_of

ARM = [f"panda_joint{k}" for k in range(1, 8)]
HAND = "panda_hand"
DIRECTIONS = {3: ("x", "y", "z"), 6: ("rx", "ry", "rz", "x", "y", "z")}
WANTED, WANTED_STEP = 1.0, 25.0
BATCH = 1024
DERIVATIVES = "forward dynamics' derivatives"


def main() -> int:
    arguments = parser("dynamics.constrained", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15
    robot = rbd.Robot(rbd.load_urdf(robots()["panda"], joints=ARM))
    heads = ("Panda, 7 joints", "rbd_dynamics, µs", "Pinocchio, µs", "ratio", "in a batch, µs")
    dynamics = Table("constrained", heads)
    for rows in DIRECTIONS:
        constrained(robot, rows, guard, rounds, dynamics)
    steps = Table("control", ("control step", "rbd_dynamics, µs", "inverse dynamics, µs", "ratio"))
    for law in LAWS:
        (step, inverse), trouble = guard.run(law, partial(control_step, robot, law, rounds))
        steps.add(law.replace("_", "-"), step, inverse, ratio(step, inverse, WANTED_STEP), trouble=trouble)
    return deliver(arguments, [dynamics, steps], "pin", settings=f"one core, batches of {BATCH}")


def constrained(robot: rbd.Robot, rows: int, guard: Guard, rounds: int, table: Table) -> None:
    """Adds rows for a hand that is held in so many directions."""
    model, rng = robot.model, np.random.default_rng(0)
    q, v, tau, a = model.random(rng), *rng.normal(size=(3, model.nv))
    held = FrameConstraint("hand", HAND, directions=DIRECTIONS[rows], reference_placement=pose_of(robot.pose(q, HAND)))
    of = ConstraintSet(model, [held])
    shapes = {"a": np.empty(7), "l": np.empty(rows), "rank": np.empty(()), "r": np.empty(rows)}
    out = tuple(shapes.values())
    hybrid_out = (np.empty(7), *out)
    inverse_out = (np.empty(7), np.empty(rows), np.empty(()), np.empty(7), np.empty(rows), np.empty(7))
    prescribed = np.arange(7) % 4 == 0
    actuated = np.arange(7) > 1
    derivatives_out = (*np.empty((3, 7, 7)), *np.empty((3, rows, 7)))
    theirs, their_derivatives = pinocchio_calls(q, v, tau, rows)
    calls: dict[str, Call] = {
        "Pinocchio": theirs,
        "Pinocchio's derivatives": their_derivatives,
        "forward dynamics": partial(robot.constrained_forward_dynamics, q, v, tau, of, out=out),
        "hybrid dynamics": partial(robot.constrained_hybrid_dynamics, q, v, a, tau, prescribed, of, out=hybrid_out),
        "inverse dynamics": partial(
            robot.constrained_inverse_dynamics, q, v, a, of, actuated=actuated, out=inverse_out
        ),
        DERIVATIVES: partial(robot.constrained_forward_dynamics_derivatives, q, v, tau, of, out=derivatives_out),
    }
    many = np.tile(q, (BATCH, 1)), np.tile(v, (BATCH, 1)), np.tile(tau, (BATCH, 1))
    in_batches: dict[str, Call] = {
        "forward dynamics": partial(robot.constrained_forward_dynamics, *many, of),
        DERIVATIVES: partial(robot.constrained_forward_dynamics_derivatives, *many, of),
    }
    (times, of_batches), trouble = guard.run(
        f"{rows} rows", lambda: (seconds_per_call(calls, rounds), seconds_per_call(in_batches, rounds))
    )
    peers = {"forward dynamics": times.pop("Pinocchio"), DERIVATIVES: times.pop("Pinocchio's derivatives")}
    for name, found in times.items():
        own, more = Figure.of(found, 1e6), []
        if name in peers:
            peer = Figure.of(peers[name], 1e6)
            more = [peer, ratio(own, peer, WANTED), Figure.of(of_batches[name], 1e6 / BATCH)]
        table.add(f"{rows} rows, {name}", own, *more, trouble=trouble)


def pinocchio_calls(q: np.ndarray, v: np.ndarray, tau: np.ndarray, rows: int) -> tuple[Call, Call]:
    """constraintDynamics of the same robot, whose fingers are locked there, too; and with its derivatives."""
    full = pin.buildModelFromUrdf(str(robots()["panda"]))
    fingers = [full.getJointId(name) for name in full.names[1:] if name not in ARM]
    model = pin.buildReducedModel(full, fingers, pin.neutral(full))
    frame = model.frames[model.getFrameId(HAND)]
    kind = pin.ContactType.CONTACT_3D if rows == 3 else pin.ContactType.CONTACT_6D
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(pin.RigidConstraintModel(kind, model, frame.parentJoint, frame.placement, pin.LOCAL))
    datas.extend([one.createData() for one in models])
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    accurate = pin.ProximalSettings(1e-12, 0.0, 1)
    dynamics = partial(pin.constraintDynamics, model, data, q, v, tau, models, datas, accurate)

    def derivatives() -> None:
        dynamics()
        pin.computeConstraintDynamicsDerivatives(model, data, models, datas, accurate)

    return dynamics, derivatives


def control_step(robot: rbd.Robot, law: str, rounds: int) -> tuple[Figure, Figure]:
    """A full step of hybrid position/force control, state in, torque out; and inverse dynamics."""
    model = robot.model
    q, v = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785]), np.zeros(7)
    placed = pose_of(robot.pose(q, HAND))
    table = ConstraintSet(model, [SurfaceConstraint("table", HAND, reference_placement=placed)])
    moved = FrameConstraint("tool", HAND, directions=("rx", "ry", "rz", "x", "y"), reference_placement=placed)
    task = ConstraintSet(model, [moved, JointCoupling("elbow", {ARM[0]: 1.0})])
    controller = HybridController(robot, table, task, law=law)  # type: ignore[arg-type]
    theta, rate, force = np.zeros(6), np.zeros(6), np.array([10.0])
    tau, a = np.empty(7), np.zeros(7)
    seconds = seconds_per_call(
        {
            "step": partial(
                controller.step,
                q,
                v,
                theta,
                rate=rate,
                acceleration=rate,
                force=force,
                measured=force,
                dt=1e-3,
                posture=q,
            ),
            "inverse": partial(robot.inverse_dynamics, q, v, a, out=tau),
        },
        rounds,
    )
    return Figure.of(seconds["step"], 1e6), Figure.of(seconds["inverse"], 1e6)


if __name__ == "__main__":
    raise SystemExit(main())
