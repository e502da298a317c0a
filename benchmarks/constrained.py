# SPDX-License-Identifier: Apache-2.0
"""Constrained dynamics and a step of hybrid position/force control against Pinocchio and our own inverse dynamics.

    python -m benchmarks.constrained [--quick]

A Panda with its fingers locked, its hand held in three or six directions. Needs Pinocchio (`pin`) and
example-robot-data.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
import pinocchio as pin

import rbd_dynamics as rbd
from benchmarks.__main__ import pinocchio_version, processor, ratio, us
from benchmarks.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, JointCoupling, SurfaceConstraint
from rbd_dynamics.control.hybrid_law import LAWS
from rbd_dynamics.control.hybrid_position_force import HybridController
from rbd_dynamics.example_robots import robots
from rbd_dynamics.spatial.arrays import pose_of

ARM = [f"panda_joint{k}" for k in range(1, 8)]
HAND = "panda_hand"
DIRECTIONS = {3: ("x", "y", "z"), 6: ("rx", "ry", "rz", "x", "y", "z")}
WANTED, WANTED_STEP = 1.0, 25.0
BATCH = 1024
DERIVATIVES = "forward dynamics' derivatives"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constrained", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less precise")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    rounds = 3 if arguments.quick else 15
    print(f"{processor()}, Pinocchio {pinocchio_version()}; one core; times in us, batches of {BATCH} per sample\n")
    model = rbd.load_urdf(robots()["panda"], joints=ARM)
    robot = rbd.Robot(model)
    print("| Panda, 7 joints | Pinocchio | a call | ratio | wanted | in a batch |\n|---|---|---|---|---|---|")
    for rows in DIRECTIONS:
        for line in constrained(robot, rows, rounds):
            print(f"| {' | '.join(line)} |", flush=True)
    print("\n| control step | a call | inverse dynamics | ratio | wanted |\n|---|---|---|---|---|")
    for law in LAWS:
        print(f"| {' | '.join(control_step(robot, law, rounds))} |", flush=True)


def constrained(robot: rbd.Robot, rows: int, rounds: int) -> list[tuple[str, ...]]:
    """Lines of the table for a hand that is held in so many directions."""
    model, rng = robot.model, np.random.default_rng(0)
    q, v, tau, a = model.random(rng), *rng.normal(size=(3, model.nv))
    held = FrameConstraint("hand", HAND, directions=DIRECTIONS[rows], reference_placement=pose_of(robot.pose(q, HAND)))
    of = ConstraintSet(model, [held])
    shapes = {"a": np.empty(7), "l": np.empty(rows), "rank": np.empty(()), "r": np.empty(rows)}
    out = tuple(shapes.values())
    hybrid_out = (np.empty(7), *out)
    inverse_out = (np.empty(7), np.empty(rows), np.empty(()), np.empty(7), np.empty(rows))
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
    seconds = seconds_per_call(calls, rounds)
    many = np.tile(q, (BATCH, 1)), np.tile(v, (BATCH, 1)), np.tile(tau, (BATCH, 1))
    batches = seconds_per_call(
        {
            "forward dynamics": partial(robot.constrained_forward_dynamics, *many, of),
            DERIVATIVES: partial(robot.constrained_forward_dynamics_derivatives, *many, of),
        },
        rounds,
    )
    peers = {"forward dynamics": seconds.pop("Pinocchio"), DERIVATIVES: seconds.pop("Pinocchio's derivatives")}
    lines = []
    for name, ours in seconds.items():
        line = ("", us(ours), "", "", "")
        if name in peers:
            line = (us(peers[name]), us(ours), *ratio(ours / peers[name], WANTED), us(batches[name] / BATCH))
        lines.append((f"{rows} rows, {name}", *line))
    return lines


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


def control_step(robot: rbd.Robot, law: str, rounds: int) -> tuple[str, ...]:
    """A full step of hybrid position/force control: state in, torque out."""
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
    times = seconds["step"] / seconds["inverse"]
    return law.replace("_", "-"), us(seconds["step"]), us(seconds["inverse"]), *ratio(times, WANTED_STEP)


if __name__ == "__main__":
    main()
