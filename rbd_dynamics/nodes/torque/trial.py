# SPDX-License-Identifier: Apache-2.0
"""Tries a change before it is taken: could the robot still hold itself, and is its feedback stable, where it is?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.safety.closed_loop import Instability, Timing, instability, share_at_ease
from rbd_dynamics.control.safety.softening import Shares
from rbd_dynamics.control.safety.swings import Swings
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import TorqueEngine
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.managed.payload import check_holding
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
SOFTER = 0.25  # of the damping, where the robot swings by its gains
LONGEST_GAP = 0.1  # s, between states of which swings are seen


class Feedback(NamedTuple):
    """Stiffness and damping of a law (joints, joints), for actuators of a bandwidth (Hz) and states of a delay (s).

    names: of the parameters that they come from.
    """

    stiffness: Array
    damping: Array
    bandwidth: float
    delay: float = 0.0
    names: tuple[str, str] = ("kp", "kd")


class Judged(Protocol):
    """What is asked of the node."""

    def holding(self, engine: Any, robot: Any) -> tuple[Array, Array]:
        """Efforts that hold the robot still where it is, and their limits."""

    def feedback(self, engine: Any, robot: Any) -> Feedback | None:
        """Stiffness and damping of the joints; None of a law that judges itself."""

    def soften(self, engine: Any, shares: Shares) -> None:
        """Use so much of stiffness and damping from now on."""

    def wanted_rates(self, engine: Any) -> Array | None:
        """Velocities of the joints that the motion wants; None: they are to stand."""


class Standing(NamedTuple):
    """How a robot stands before a change: what holds it, within which limits, and how its feedback is unstable."""

    efforts: Array
    limits: Array
    unstable: Instability | None


class Trial(Part):
    """Tries changes on the present state of the robot.

    Parameters:
        period: of the states, s; 0: not known yet. first_period: likewise, known earlier.

    Attributes:
        pending: the node has been activated, and has not yet been asked to command.
    """

    def __init__(
        self,
        node: ManagedNode[Any, Any],
        judged: Judged,
        period: Callable[[], float],
        first_period: Callable[[], float],
    ) -> None:
        self._node, self._judged, self._period, self._first_period = node, judged, period, first_period
        self._tried = self.pending = False
        self._looked, self._softened = True, ""
        self._swings: tuple[TorqueEngine, Swings] | None = None  # of an engine
        self._watched, self._none = 0, np.zeros(0)  # the state that was watched last, ns
        self._problem = ""  # of the gains in use
        self._unheld = ""  # why it has not begun

    def activated(self) -> None:
        self._tried, self._problem, self._unheld, self.pending = False, "", "", True
        self._looked, self._softened, self._swings = False, "", None

    def begin(self, engine: TorqueEngine) -> None:
        """Raise ValueError where the robot cannot be held where it is: before the first command."""
        names, (efforts, limits) = self._joints_of(engine), self._judged.holding(engine, engine.robot)
        try:
            check_holding(names, np.zeros(len(names)), efforts, limits)
        except ValueError as error:
            self._unheld = f"not begun: {error}"
            self._node.get_logger().error(self._unheld)
            raise
        self.pending, self._unheld = False, ""

    def look(self, engine: TorqueEngine) -> None:
        """Once, as soon as the rate of the states is known: gains that are unstable here are softer from now on."""
        if self._looked or not (period := self._first_period()):
            return
        self._looked = True
        feedback = self._judged.feedback(engine, engine.robot)
        if feedback is None or not self._node.params.soften_unstable_gains:
            return
        unstable = self._instability(engine, engine.robot, period)
        if unstable is None or not unstable.share:
            return
        M, timing = self._inertia(engine, engine.robot), self._timing(feedback, period)
        share = share_at_ease(M, feedback.stiffness, feedback.damping, timing, unstable.share)
        said = self._say(engine, unstable, period)
        self._judged.soften(engine, engine.shares.of_both(share))
        self._softened = f"{said}: it is held with {share:.2g} times of them until others are set"
        self._node.get_logger().error(self._softened)

    def watch(self, engine: TorqueEngine) -> None:
        """Every state: gains by which the robot swings are softer from now on, whatever was known of its drives."""
        if self._swings is None or self._swings[0] is not engine:
            velocities = [engine.model.joints[k].limits.velocity for k in self._commanded(engine)]
            self._swings, self._none = (engine, Swings(np.array(velocities))), np.zeros(len(velocities))
            self._watched = 0
        swings, stamp = self._swings[1], engine.reader.stamp
        dt, self._watched = 1e-9 * (stamp - self._watched), stamp
        if not 0.0 < dt < LONGEST_GAP:
            swings.forget()
            return
        wanted = self._judged.wanted_rates(engine)
        joint = swings.joint(engine.reader.v[engine.commanded], self._none if wanted is None else wanted, dt)
        if joint is not None:
            self._swing(engine, self._joints_of(engine)[joint], swings)

    def _swing(self, engine: TorqueEngine, joint: str, swings: Swings) -> None:
        feedback, frequency = self._judged.feedback(engine, engine.robot), swings.frequency
        swings.forget()
        if feedback is None or not (feedback.stiffness.any() or feedback.damping.any()):
            return
        stiffness, damping = feedback.names
        said = (
            f"joint {joint!r} swings at {frequency:.2g} Hz and does not come to rest: {stiffness} and {damping} "
            "do not suit drives, states and rotors as they are (see actuator_bandwidth)"
        )
        if self._node.params.soften_unstable_gains:
            self._judged.soften(engine, shares := engine.shares.softer(SOFTER))
            said += f"; in use are {shares.stiffness:.2g} and {shares.damping:.2g} times of them until others are set"
        if said != self._softened:
            self._node.get_logger().error(said)
        self._softened = said

    def gains_are_set(self) -> None:
        """Others are in force, as they are given."""
        self._softened, self._swings = "", None

    def standing(self, engine: TorqueEngine) -> Standing | None:
        """How the robot stands now; None where there is none yet."""
        if not engine.reader.stamp:
            return None
        efforts, limits = self._judged.holding(engine, engine.robot)
        return Standing(efforts.copy(), limits.copy(), self._instability(engine, engine.robot))

    def check(self, engine: TorqueEngine, before: Standing | None, robot: Robot | None = None) -> None:
        """Raise ValueError where it could hold itself before and cannot now, or where its feedback is unstable now.

        robot: the engine's with another load; default: the engine's.
        """
        if before is None:
            return
        robot = engine.robot if robot is None else robot
        names, now = self._joints_of(engine), self._judged.holding(engine, robot)
        check_holding(names, before.efforts, *now, limits_before=before.limits)
        unstable = self._instability(engine, robot)
        if unstable is not None and (before.unstable is None or unstable.rate > before.unstable.rate):
            raise ValueError(self._say(engine, unstable))
        self._tried = False

    def _instability(self, engine: TorqueEngine, robot: Robot, period: float = 0.0) -> Instability | None:
        feedback, period = self._judged.feedback(engine, robot), period or self._period()
        if feedback is None or not period:
            return None
        timing = self._timing(feedback, period)
        return instability(self._inertia(engine, robot), feedback.stiffness, feedback.damping, timing)

    @staticmethod
    def _timing(feedback: Feedback, period: float) -> Timing:
        """A command acts with the next cycle of what takes it."""
        return Timing(period, period + feedback.delay, feedback.bandwidth)

    @staticmethod
    def _inertia(engine: TorqueEngine, robot: Robot) -> Array:
        commanded = Trial._commanded(engine)
        return np.asarray(robot.mass_matrix(engine.reader.q)[np.ix_(commanded, commanded)])

    @staticmethod
    def _commanded(engine: TorqueEngine) -> NDArray[np.intp]:
        return np.asarray(np.arange(engine.model.nv)[engine.commanded], dtype=np.intp)

    @staticmethod
    def _joints_of(engine: TorqueEngine) -> list[str]:
        return [engine.reader.names[k] for k in Trial._commanded(engine)]

    def _say(self, engine: TorqueEngine, unstable: Instability, period: float = 0.0) -> str:
        joint = self._joints_of(engine)[unstable.joint]
        feedback = self._judged.feedback(engine, engine.robot)
        stiffness, damping = ("kp", "kd") if feedback is None else feedback.names
        too_small = f"{damping} is too small for {stiffness}"
        cure = f"{unstable.share:.2g} times of them would be stable" if unstable.share else too_small
        rate = 1.0 / (period or self._period())
        return (
            f"{stiffness} and {damping} are unstable at this posture, with states at {rate:.0f} Hz: "
            f"swings of joint {joint!r} grow by a factor of e in {1e3 / unstable.rate:.3g} ms; {cure}"
        )

    def report(self, status: Status) -> None:
        if self._unheld:
            status.error(self._unheld)
        engine = self._node.engine
        if engine is None or not self._node.active:
            return
        if not self._tried and self._period() and engine.reader.stamp:
            self._tried = True
            unstable = self._instability(engine, engine.robot)
            self._problem = "" if unstable is None else self._say(engine, unstable)
        if self._softened:
            status.error(self._softened)
        if self._problem:
            status.error(self._problem)
