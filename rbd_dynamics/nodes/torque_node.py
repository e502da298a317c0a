# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states by torques have in common: the way in, and the way out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rbd_dynamics.joint_states.plausibility import Plausibility
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.description import BuildError
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.effort_output import EffortOutput
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.hand_over import HandOver
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.messages import RECORDED, SECOND, staleness
from rbd_dynamics.nodes.moving_node import MovingNode
from rbd_dynamics.nodes.payload import Payloads, PayloadService, check_holding
from rbd_dynamics.nodes.safeguards import Safeguards
from rbd_dynamics.nodes.watched_node import QUEUE
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
P = TypeVar("P", bound=TorqueParameters)


class TorqueNode(MovingNode[P, T]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._payloads = Payloads()
        self._safeguards: Safeguards
        self._output: EffortOutput
        self.hand_over: HandOver | None = None  # of nodes that take over from each other

    # --- what a node says about itself ------------------------------------------------------------

    def tune(self, engine: T, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError, and then changes nothing."""
        raise NotImplementedError

    def commanded_joints(self, engine: T) -> slice | NDArray[np.intp]:
        """Where the commanded joints are in the robot's order."""
        raise NotImplementedError

    def effort_limits(self, engine: T) -> Array:
        """Of the commanded joints, in the order of the efforts."""
        raise NotImplementedError

    def respond(self, engine: T, reader: JointStateReader, now: int, efforts: Array) -> None:
        """Fill `efforts` for the state that was read.

        Raises ValueError or ArithmeticError where there is none to be given.
        """
        raise NotImplementedError

    def saturated(self, engine: T) -> NDArray[np.bool_]:
        """Which efforts were cut off at the last call of `respond`."""
        raise NotImplementedError

    def holding(self, engine: T, robot: Robot) -> tuple[Array, Array]:
        """Efforts that hold a robot still where this one is, and their limits, both as messages order them.

        robot: the engine's, or one with another load. Raises ArithmeticError where they are not finite.
        """
        raise NotImplementedError

    def continue_from(self, engine: T, reader: JointStateReader, last: Array, efforts: Array) -> Array:
        """Go on with another's last efforts; of them, what the law does not go on with itself (joints).

        efforts: what the law gives for the state that was read. Raises ValueError or ArithmeticError.
        """
        return last - efforts

    def answered(self, engine: T) -> None:
        """The command is out: what is published beside it, where anybody listens."""

    def stands_by(self, engine: T) -> None:
        """A state is not answered, because another node commands."""

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        super().open()
        self._efforts = self.publish_on(JointState, "~/effort", RECORDED)
        PayloadService(self, self._payloads, lambda engine: [engine.robot], self._try_load)
        if self.hand_over is not None:
            self.hand_over.open()

    def activated(self) -> None:
        super().activated()
        if self.engine is not None:
            self._safeguards.reset()
            if self.hand_over is not None:
                self.hand_over.begin(self._output.joints, self.starts_standing_by)

    @property
    def lets_another_command(self) -> bool:
        return self.hand_over is not None and self.hand_over.standing_by

    @property
    def starts_standing_by(self) -> bool:
        """On activation, by a parameter."""
        return False

    def parameters_changed(self, engine: T, new: P) -> None:
        safeguards = Safeguards(new, self._output.joints)
        safeguards.continues(self._safeguards)
        self.tune(engine, new)
        self._safeguards = safeguards
        if engine.reader.plausibility is not None:
            engine.reader.plausibility.factor = new.plausible_velocity

    def _try_load(self, engine: T, robot: Robot) -> None:
        """Raise ValueError where the robot could hold itself before, but not with this load."""
        before = self.holding(engine, engine.robot)[0].copy()
        check_holding(self._output.joints, before, *self.holding(engine, robot))

    def prepare(self, engine: T, joints: Sequence[str]) -> None:
        """What watches, loads, and the messages. For `adopt`.

        Raises ValueError, and then changes nothing, for parameters that do not fit the joints, and where the robot
        could hold itself still so far and cannot with this engine.
        """
        try:
            safeguards = Safeguards(self.params, joints)
        except ValueError as error:
            raise BuildError(f"parameter {error}") from None
        dropped = self._payloads.apply_to([engine.robot])
        efforts, limits = self.holding(engine, engine.robot)
        if self.engine is not None and self._output.joints == list(joints):
            check_holding(joints, self.holding(self.engine, self.engine.robot)[0], efforts, limits)
        else:  # nothing is known of what the limits are worth
            check_holding(joints, np.zeros(len(joints)), efforts, np.full(len(joints), np.inf))
        if self.engine is not None:
            safeguards.continues(self._safeguards)
        self._safeguards = safeguards
        engine.reader.plausibility = Plausibility(
            engine.reader.names,
            [(each.limits.lower, each.limits.upper, each.limits.velocity) for each in engine.model.joints],
            [joint.kind.name == "continuous" for joint in engine.model.joints],
            factor=self.params.plausible_velocity,
        )
        self._motions.abandon()
        for problem in dropped.values():
            self.get_logger().warning(problem)
        self._payloads.forget(dropped)
        self._output = EffortOutput(joints)
        if self.hand_over is not None:
            by = self.hand_over.standing_by if self.engine is not None else self.starts_standing_by
            self.hand_over.begin(self._output.joints, by)

    def silent(self, engine: T, reason: str) -> None:
        super().silent(engine, reason)
        self._safeguards.reset()
        if self.hand_over is not None:
            self.hand_over.continuation.end()

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        begin = time.monotonic_ns()
        if self.building:
            self.poll()
        engine = self.engine if self.active else self.silence.engine
        if engine is None:
            return
        steady, now = 1e-9 * begin, self.now()
        state_time, names, position, velocity, effort = self._raw_states.read(raw)
        timeout = round(self.params.state_timeout * SECOND)
        late = now - state_time if state_time else 0
        if problem := staleness(state_time, now, self.params.state_timeout):
            self._refuse_state(problem)
            return
        if not state_time:
            if self._heartbeat.since_stall(begin) < min(timeout, QUEUE):
                self._refuse_state("joint state without a stamp: it may be old, for this process stood still")
                return
            state_time = now
        reader, safeguards = engine.reader, self._safeguards
        if state_time < reader.stamp - SECOND:
            self._motions.abandon()
            self.clock_was_set_back(engine)  # what was to come has no time any more
            safeguards.reset()
        if not reader.read(names, position, velocity, state_time):
            self._refuse_state(reader.problem, reader.implausible)
            held = self.silence.engine
            if held is not None and held is not engine and held.reader.read(names, position, velocity, state_time):
                self.silence.answer(held.reader)
            return
        if self.silence.reason and not (self.active and self.silence.returns):
            return self.silence.answer(reader)
        if self.silence.owns and not self.silence.reason and self._barks(steady, now):
            self._after_gap(engine, steady)
        if safeguards.watches_efforts:
            measured = reader.arranged(effort)[self.commanded_joints(engine)]
            if problem := safeguards.implausible(measured, state_time):
                self._refuse_state(f"joint state refused: {problem}", True)
                return
        output = self._output
        efforts = output.numbers
        try:
            self.respond(engine, reader, now, efforts)
            if self.hand_over is not None and not self._commands_now(self.hand_over, engine, state_time, efforts):
                self._last_arrival = now
                return
        except (ValueError, ArithmeticError) as error:
            self._refuse_state(f"no torque: {error}")
            self.silence.answer(reader)
            return
        if safeguards.limits_rates:
            safeguards.limit(efforts, state_time, self.effort_limits(engine))
        # the process may have been stopped meanwhile
        oldest = begin + timeout - late if timeout else math.inf
        if time.monotonic_ns() > oldest:
            self._refuse_state(
                f"stale torque: it was ready more than {self.params.state_timeout:g} s after its joint state"
            )
            return
        self._commands.publish(output.command)
        self.commanding, self.silence.owns = engine, True
        self.watchdog.feed(steady, now)
        if self.silence.reason:
            self.silence.speaks_again()
        self._implausible = 0
        self._answered += 1
        safeguards.commanded(efforts, state_time)
        # what the command need not wait for; the middleware may have taken long to write that
        if self._efforts.get_subscription_count() and time.monotonic_ns() <= oldest:
            self._efforts.publish(output.named(state_time, "" if self.hand_over is None else self.hand_over.mark))
        output.cut_off(self.saturated(engine), safeguards.limited)
        self.answered(engine)
        self._moved_on(engine, now)

    def _commands_now(self, hand_over: HandOver, engine: T, time: int, efforts: Array) -> bool:
        """Whether this node commands; changes efforts where it takes over. Raises ValueError or ArithmeticError."""
        if hand_over.taking:
            last = hand_over.last()
            rest = self.continue_from(engine, engine.reader, last, efforts)  # where it raises, the other goes on
            hand_over.take()
            hand_over.continuation.begin(rest, time)
            efforts[:] = np.clip(last, -self.effort_limits(engine), self.effort_limits(engine))
            self._safeguards.reset()
            self.get_logger().info("has taken over")
        elif hand_over.standing_by:
            self.stands_by(engine)
            return False
        elif hand_over.continuation.active:
            hand_over.continuation.add(efforts, time, self.effort_limits(engine))
        return True

    def yield_to_another(self) -> None:
        """Another node has taken over: this one commands nothing, and nothing in place of it."""
        self.silence.owns = False
        if self.engine is not None:
            self._motions.abandon()
            self._safeguards.reset()
            self.stands_by(self.engine)

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        super().report(status)
        engine = self.engine
        if engine is None:
            return
        if engine.reader.differentiated:
            joints = ", ".join(engine.reader.differentiated)
            status.warn(f"no measured velocity, found by differentiation: {joints}")
        self._output.report(status)
