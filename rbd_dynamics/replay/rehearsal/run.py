# SPDX-License-Identifier: Apache-2.0
"""A trajectory played on a hidden robot by the library's feedforward, sample by sample, and recorded."""

from __future__ import annotations

from collections import deque
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import Feedforward
from rbd_dynamics.control.motion.trajectory import Trajectory
from rbd_dynamics.control.terms import FRICTION, WITHOUT_FRICTION
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.rehearsal.hidden_robot import HiddenRobot
from rbd_dynamics.replay.results.joint_state_bag import SECOND, JointStateBag
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation import Simulation, SimulationOptions

Array = NDArray[np.float64]
TICK = 2e-3  # s, between two commands; a step of the simulation
SETTLING = 1.0  # s, in which the robot stands before it moves
FIRST = 1_700_000_000 * SECOND  # ns: stamps begin here
TOPIC = "/joint_states"
RIPPLE = 0.05  # s: time constant of the torque that no model has
FIRMNESS = 2.0  # 1/rad, 1/m: effort limits for each unit of position error
STIFFNESS = 20.0  # rad/s: frequency of the position loop


@dataclass(frozen=True)
class Knowledge:
    """What a controller takes the robot for.

    Attributes:
        model: inertias, and friction. gains: N m or N for each unit of effort (nv,). offsets: N m or N (nv,).
    """

    model: Model
    _: KW_ONLY
    gains: Array
    offsets: Array


@dataclass(frozen=True)
class Run:
    """What happened, a row for each command: times (N,), s, from the trajectory's start; wanted and true positions
    (N, nv); reported positions, velocities and efforts (N, 3, nv)."""

    times: Array
    wanted: Array
    positions: Array
    reported: Array = field(repr=False)

    @property
    def error(self) -> Array:
        """Root mean square of wanted less true positions while the robot moves, by joint (nv,)."""
        moving = self.times >= 0.0
        return np.asarray(np.sqrt(np.mean((self.wanted - self.positions)[moving] ** 2, axis=0)))

    def record(self, path: Path, joints: list[str], rate: float) -> Path:
        """A bag of the joint states at so many Hz. Raises OSError, ValueError without the package that writes it."""
        every = max(1, round(1.0 / (rate * TICK)))
        bag = JointStateBag(path, joints)
        bag.add_topic(TOPIC)
        for k in range(0, len(self.times), every):
            bag.write(TOPIC, FIRST + round(k * TICK * SECOND), *self.reported[k].copy())
        bag.close()
        return path


def play(robot: HiddenRobot, trajectory: Trajectory, knowledge: Knowledge, feedback: Array) -> Run:
    """The whole trajectory, from its first point on, where the robot stands at first.

    feedback: kp and kd (2, nv), the same whatever is known. The controller sees what is reported.
    """
    truth, nv = robot.model, robot.model.nv
    control = Feedforward(
        Robot(knowledge.model),
        terms={*WITHOUT_FRICTION, FRICTION},
        evaluate_at="desired",
        kp=feedback[0],
        kd=feedback[1],
        effort_limits=np.full(nv, np.inf),
    )
    options = SimulationOptions(step=TICK, start_braked=True, position_limits=False)
    simulation = Simulation(truth, q=trajectory.first, options=options)
    rng = np.random.default_rng(robot.seed)
    duration = SETTLING + trajectory.end - trajectory.start
    count = round(duration / TICK)
    commands = deque([np.zeros(nv)] * (1 + round(robot.command_delay / TICK)))
    reports = deque([np.zeros(nv)] * (1 + round(robot.effort_delay / TICK)))
    times = np.arange(count, dtype=np.float64) * np.float64(TICK) - SETTLING
    wanted, positions, reported = np.zeros((count, nv)), np.zeros((count, nv)), np.zeros((count, 3, nv))
    dofs, since = np.arange(nv), np.zeros(1)
    ripple, kept = np.zeros(nv), np.exp(-TICK / RIPPLE)
    for k, time in enumerate(times.tolist()):
        motion, since[0] = trajectory.piece(trajectory.start + time)
        noise = robot.noise * rng.normal(size=(3, nv))
        positions[k], wanted[k] = simulation.q, trajectory.sample(trajectory.start + time)[0]
        q, v = simulation.q + noise[0], simulation.v + noise[1]
        command = (control.compute(q, v, motion, since) + knowledge.offsets) / knowledge.gains
        commands.append(command)
        commands.popleft()
        reports.append(command)
        reports.popleft()
        reported[k] = q, v, reports[0] + noise[2]
        ripple = kept * ripple + np.sqrt(1.0 - kept**2) * robot.ripple * rng.normal(size=nv)
        simulation.command(robot.gains * commands[0] + ripple, dofs)
        simulation.advance()
    return Run(np.asarray(times, dtype=np.float64), wanted, positions, reported)


def feedback_of(model: Model, positions: Array) -> Array:
    """kp and kd (2, nv) of a position loop that is critically damped, by the description's mean inertia at positions
    (N, nv): at least as firm as `STIFFNESS` and `FIRMNESS`, for light joints have friction, too."""
    inertia = np.diagonal(Robot(model).mass_matrix(positions), axis1=1, axis2=2).mean(axis=0)
    effort = np.array([joint.limits.effort for joint in model.joints if joint.mimic is None])
    kp = np.maximum(STIFFNESS**2 * inertia, FIRMNESS * effort)
    return np.array([kp, 2.0 * np.sqrt(kp * inertia)])
