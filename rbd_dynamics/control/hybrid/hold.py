# SPDX-License-Identifier: Apache-2.0
"""A robot is held where it was, before hybrid control begins and after it has ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.unknown_load import UnknownLoad, share_within
from rbd_dynamics.control.safety.softening import ALL, Softening
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
FADING = 0.1  # s, in which what leans on something beside the constraints lets go
DRAWN = 0.4  # of the velocity limits: as fast it is drawn back at most, to where it is held
GATHERED = 1.0  # of the time 1 / damping: it is drawn by no more than efforts can gather in so much of it


def inertia_of(robot: Robot, q: Array, A: Array) -> tuple[Array, Array]:
    """Effective inertia (m) of rows A (m, nv) at q, kg or kg m^2, each alone; and M^-1 A^T (nv, m)."""
    Minv_At = np.linalg.solve(robot.mass_matrix(q), A.T)
    mobility = np.asarray(np.einsum("ij,ji->i", A, Minv_At), dtype=float)
    return 1.0 / np.maximum(mobility, 1e-6), np.asarray(Minv_At)


class FreeMotion(NamedTuple):
    """What an arm does where it is held: push (m) and task acceleration (k) of its errors of the model; inertia (m) of
    the rows; jolt (nv, m): joint speeds for each 1 m/s that a blow takes from a row."""

    push: Array
    acceleration: Array
    inertia: Array
    jolt: Array


class HybridHold:
    """Holds a robot whose joints have one degree of freedom each.

    Attributes:
        at (nq): where it is held; None: where it is seen next.
        q, v: the state that was held last.
        softening: of its gains. shares: of them, that are in use.
        problem: why it was held anew the last time, by the tolerance; empty: it was not.
        beside (nv): efforts against what is felt beside the constraints, which fade away.
        load: what acts on it beside the model. commanded (nv): the last efforts; its own, unless others are put there.
    """

    def __init__(self, controller: HybridController) -> None:
        self.controller = controller
        model = controller.robot.model
        self.at: Array | None = None
        self.q, self.v = np.zeros(model.nq), np.zeros(model.nv)
        self._wanted = np.zeros(model.nv)
        self.softening, self.shares, self.problem = Softening(model.nv), ALL, ""
        self.beside, self._fading = np.zeros(model.nv), 0.0
        self.load, self.commanded, self._bias = UnknownLoad(model.nv), np.zeros(model.nv), np.zeros(model.nv)

    def torque(
        self, q: Array, v: Array, limits: HybridLimits, force: Array, elapsed: float, *, felt: Array | None = None
    ) -> Array:
        """Efforts (nv); the same array each time.

        force (m): what it still presses with, which fades away in place. elapsed: s since the last state. felt (nv):
        efforts on the joints by what the tool is felt to touch; None: the sensor is silent, or nobody asks.
        """
        self._stay(q, limits)
        self.q[:], self.v[:] = q, v
        robot, M = self.controller.robot, self.controller.robot.mass_matrix(q)
        self.softening.update(M @ v, limits.hold_damping, max(elapsed, 0.0))
        if elapsed > 0.0:
            self._look_for_load(M, felt, limits, elapsed)
        a = self._acceleration(q, v, limits)
        tau = robot.inverse_dynamics(q, v, a, out=self._wanted)
        self._bias[:] = tau - M @ a
        tau += self.load.efforts
        if force.any():
            change = limits.force_rate * max(elapsed, 0.0)
            force -= np.clip(force, -change, change)
            tau -= force @ robot.constraint_rows(q, v, self.controller.constraints).A
        if self._fading > 0.0:
            self._fading -= max(elapsed, 0.0) / FADING
            tau += max(self._fading, 0.0) * self.beside
        self.commanded[:] = self._within(tau, q)
        return tau

    def _look_for_load(self, M: Array, felt: Array | None, limits: HybridLimits, dt: float) -> None:
        """What the last command does not explain is made up for; not by gains that are softer than they should be."""
        load, controller = self.load, self.controller
        stiffness, damping = limits.hold_stiffness, limits.hold_damping
        if felt is None or not limits.hold_load or self.shares != ALL or self.softening.share < 1.0:
            load.forget(stiffness, damping, dt)
            return
        load.driven(self.commanded - self._bias, dt)
        load.update(
            M, self.v, felt, dt, stiffness=stiffness, damping=damping,
            most=controller.effort_limits, speeds=controller.velocity_limits,
        )  # fmt: skip

    def _within(self, tau: Array, q: Array) -> Array:
        """Efforts (nv) within their limits: all of them less by the same share about those that hold it still.

        Where each were cut alone, a wrist without what it needs against the shoulder's motion would be thrown.
        """
        most = self.controller.effort_limits
        if (np.abs(tau) > most).any():
            weight = self.controller.robot.gravity(q)
            change = tau - weight
            room = np.maximum(np.where(change > 0.0, most - weight, most + weight), 0.0)
            tau[:] = weight + share_within(room, change) * change
            np.clip(tau, -most, most, out=tau)  # of what weight alone has too much
        return tau

    def _stay(self, q: Array, limits: HybridLimits) -> None:
        """Hold it where it was, where it is near; else, and where nothing draws it there, where it is."""
        if self.at is None:
            self.load.reset()
            self._bias[:] = self.commanded
        if self.at is None or not limits.hold_stiffness:
            self.at = q.copy()
        elif limits.hold_tolerance:
            model = self.controller.robot.model
            away = np.abs(model.difference(q, self.at))
            if away.max(initial=0.0) > limits.hold_tolerance:
                k = int(away.argmax())
                self.problem = (
                    f"the robot was moved while it was held: joint {model.joint_names[k]!r} is {away[k]:.4g} from "
                    f"where it was held, more than hold_tolerance ({limits.hold_tolerance:g}); it is held where it is "
                    "now"
                )
                self.at = q.copy()
                self.load.reset()

    def fade(self, last: Array, felt: Array, limits: HybridLimits, force: Array) -> None:
        """What leans on something beside the constraints lets go by and by: at once, a stiff wall would throw it back.

        last (nv): the effort before holding began. felt (nv): by what is felt there; no more of it counts than last
        pushed against it, as sensors may be wrong. force (m): as for `torque`.
        """
        own = last - self.torque(self.q, self.v, limits, force, 0.0)
        self.beside[:] = np.clip(-felt, np.minimum(own, 0.0), np.maximum(own, 0.0))
        self._fading = 1.0

    def let_go(self) -> None:
        """Nothing is felt beside the constraints any more."""
        self._fading = 0.0

    def against_the_model(self, limits: HybridLimits, rows: NDArray[np.bool_]) -> FreeMotion:
        """What holding does against errors of the model, in the terms of approaching; and how the rows move.

        rows (m): those that can be left. Push and acceleration make the same acceleration of all rows as holding does
        now.
        """
        q, v, robot, controller = self.q, self.v, self.controller.robot, self.controller
        a = self._acceleration(q, v, limits) + np.linalg.solve(robot.mass_matrix(q), self.load.efforts)
        A = robot.constraint_rows(q, v, controller.constraints).A
        moved = robot.constraint_rows(q, v, controller.task).A
        inertia, Minv_At = inertia_of(robot, q, A)
        inertia = np.where(rows, inertia, 0.0)
        most = limits.approach_force
        push = np.clip(-inertia * (A @ a), -most, most)
        return FreeMotion(push, moved @ (a + Minv_At @ push), inertia, Minv_At * inertia)

    def _acceleration(self, q: Array, v: Array, limits: HybridLimits) -> Array:
        away = self.controller.robot.model.difference(q, q if self.at is None else self.at)
        stiffness, damping = self.shares.softer(self.softening.share)
        pull, damping = stiffness * limits.hold_stiffness * away, damping * limits.hold_damping
        if limits.hold_damping and pull.any():
            effort = self.controller.robot.mass_matrix(q) @ pull
            pull *= min(
                share_within(damping * DRAWN * self.controller.velocity_limits, pull),
                share_within(GATHERED / limits.hold_damping * self.softening.rates, effort),
            )
        return np.asarray(pull - damping * v)
