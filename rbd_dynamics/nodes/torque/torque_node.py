# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states by torques have in common: one cycle, and the parts that take part in it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import Decoder, decoded
from rbd_dynamics.control.safety.softening import ALL, Shares
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.commanding.controller_watch import ControllerWatch
from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.commanding.silence import Silence
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.managed.acceptance import Acceptance
from rbd_dynamics.nodes.managed.description_text import BuildError, message_of
from rbd_dynamics.nodes.managed.engines import T
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import SECOND, plausibility_of
from rbd_dynamics.nodes.managed.payload import PayloadService, check_holding
from rbd_dynamics.nodes.torque.alone import Alone
from rbd_dynamics.nodes.torque.effort_output import EffortOutput
from rbd_dynamics.nodes.torque.hand_over import HandOver
from rbd_dynamics.nodes.torque.in_command import InCommand
from rbd_dynamics.nodes.torque.motions import Motions
from rbd_dynamics.nodes.torque.safeguards import Bounds, Safeguards
from rbd_dynamics.nodes.torque.state_input import StateInput
from rbd_dynamics.nodes.torque.transition import Transition
from rbd_dynamics.nodes.torque.trial import Feedback, Trial
from rbd_dynamics.nodes.torque.watching import Watching
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
P = TypeVar("P", bound=TorqueParameters)


class TorqueNode(ManagedNode[P, T]):
    """Every complete joint state is answered by one effort message, or by none and a reason.

    Attributes:
        hand_over: of nodes that take over from each other; None of others.
    """

    #: parameters that stiffness and damping follow from
    GAINS: ClassVar[tuple[str, ...]] = ()
    #: contact is part of what the law is for: that the robot does not move as torques would move it is no sign
    meets_contact = False
    #: where trajectories come, and as what
    trajectories: tuple[type, str] = (JointTrajectory, "~/joint_trajectory")

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self.clock = NodeClock(self)
        self.silence: Silence[T] = Silence(
            self, on_state=self.on_joint_state, state_age=lambda now: self.watching.since_answer(now),
            forget=self.forget_plans,
        )  # fmt: skip
        self.states = StateInput(self, self._end_control)
        self.watching = Watching(self, self.clock, self.states, self.silence, lambda: self.lets_another_command)
        self.motions: Motions[T] = Motions(self, self, self.clock)
        self.controller = ControllerWatch(self, lambda: self.output.joints, self._let_go)
        self.in_command = InCommand(self, self, self._out_of_command, lambda: self.controller.problem)
        self.transition = Transition(lambda: self.params.transition_time)
        self.safeguards = Safeguards()
        self.output = EffortOutput(self.entities)
        self.trial = Trial(self, self, lambda: self.watching.period, lambda: self.watching.first_period)
        self.acceptance = Acceptance(self)
        self.payload: PayloadService[T] = PayloadService(
            self, lambda engine: [engine.robot], self._try_load, self.transition.changed
        )
        self.hand_over: HandOver | None = None
        self.parts += [
            Alone(self),
            self.silence,
            self.clock,
            self.states,
            self.states.publishers,
            self.watching,
            self.motions,
            self.controller,
            self.in_command,
            self.transition,
            self.safeguards,
            self.output,
            self.trial,
            self.acceptance,
            self.payload,
        ]
        self.entities.take_in_threads(self.silence.largest_text)

    # --- what a node says about itself ------------------------------------------------------------

    def tune(self, engine: T, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError, and then changes nothing."""
        raise NotImplementedError

    def tuned(self, engine: T, new: P) -> None:
        """The parameters were tried and are in force: end what does not fit them, begin what nothing takes back."""

    def respond(self, engine: T, reader: JointStateReader, now: int, efforts: Array) -> None:
        """The wanted motion and the law: fill `efforts` for the state that was read.

        Raises ValueError or ArithmeticError where there is none to be given.
        """
        raise NotImplementedError

    def answered(self, engine: T) -> None:
        """The command is out: what is published beside it, where anybody listens."""

    def lets_go(self, engine: T) -> bool:
        """Efforts have to change faster than is usual for small joints: a tool pushes against nothing, or too much, or
        joints come near their velocity limits."""
        return False

    def changes_together(self, engine: T) -> bool:
        """The change of all efforts is shortened in proportion where one may not change as fast as it is to."""
        return False

    def holding(self, engine: T, robot: Robot) -> tuple[Array, Array]:
        """Efforts that hold a robot still where this one is, and their limits, both as messages order them.

        robot: the engine's, or one with another load. Raises ArithmeticError where they are not finite.
        """
        raise NotImplementedError

    def feedback(self, engine: T, robot: Robot) -> Feedback | None:
        """Stiffness and damping of the joints under the law that is in use; None of a law that judges its own.

        robot: the engine's, or one with another load.
        """
        return None

    def soften(self, engine: T, shares: Shares) -> None:
        """Use so much of the law's stiffness and damping from now on, whatever the parameters say.

        For laws whose `feedback` is judged.
        """
        raise NotImplementedError

    def wanted_rates(self, engine: T) -> Array | None:
        """Velocities of the joints that the motion wants, as messages order them; None: they are to stand."""
        return None

    def silent(self, engine: T, reason: str) -> None:
        """The node falls silent: the law forgets what was planned."""

    def clock_was_set_back(self, engine: T) -> None:
        """What was to come has no time any more."""

    def moved(self, engine: T) -> tuple[Array, Array]:
        """Measured position and velocity of what trajectories move. Raises TrajectoryError where there is none."""
        raise NotImplementedError

    def decoder(self, engine: T) -> Decoder:
        """What reads trajectories, for a motion that begins now."""
        return decoded

    def motion_limits(self, engine: T, now: int) -> MotionLimits:
        """What trajectories may not exceed."""
        raise NotImplementedError

    def may_take_over(self) -> None:
        """Raise ValueError with the reason where the node cannot go on with another's efforts."""
        raise NotImplementedError

    def stands_by(self, engine: T) -> None:
        """A state is not answered, because another node commands."""

    def continue_from(self, engine: T, last: Array, efforts: Array) -> Array:
        """Go on with another's last efforts; of them, what the law does not go on with itself (joints).

        efforts: what the law gives for the state that was read. Raises ValueError or ArithmeticError.
        """
        return last - efforts

    # --- one cycle --------------------------------------------------------------------------------

    def on_joint_state(self, raw: bytes) -> None:
        """State -> fresh, whole, plausible? -> silent? -> in command? -> motion, law -> who? -> limits -> effort."""
        begin = time.monotonic_ns()
        if self.description.building:
            self.poll()
        engine = self.description.engine if self.active else self.silence.engine
        if engine is None:
            return self.watching.heard(self.states.stamp_of(raw))
        steady, now, timeout = 1e-9 * begin, self.clock.now(), self.tuning.params.state_timeout
        # a state that is fresh, whole and plausible
        reader = engine.reader
        state = self.states.fresh(reader, raw, begin, now, timeout)
        if state is None:
            return
        stamp = state[0]
        if stamp < reader.stamp - SECOND:
            self._set_back(engine)
        if not self.states.whole(reader, state):
            if reader.fast is not None and self.silence.engine is engine:
                return self.silence.damp(*reader.fast)
            return self.silence.answer_also(engine, *state[1:4], stamp)
        # silent: gravity and damping in place of the law
        if self.silence.reason and not (self.active and self.silence.returns):
            return self.silence.answer(reader)
        if self.silence.owns and not self.silence.reason and self.watching.too_late(steady, now, timeout):
            self._after_gap(steady)
        if self.safeguards.watches_efforts:
            measured = reader.arranged(state[4])[engine.commanded]
            if problem := self.safeguards.implausible(measured, stamp):
                return self.states.refuse(f"joint state refused: {problem}", True)
        if self.trial.pending and not self.lets_another_command and not self._begins(engine):
            return None
        self.trial.look(engine)
        # in command? If not, the robot is held where it is
        self.in_command.look(engine, state[4], stamp)
        if self.in_command.reason:
            self.silent(engine, self.in_command.reason)
        elif not self.lets_another_command:
            self.trial.watch(engine)
        # the wanted motion and the law; who of two commands
        efforts = self.output.numbers
        try:
            self.respond(engine, reader, now, efforts)
            if self.hand_over is not None and not self.hand_over.commands(engine, efforts, stamp):
                self.motions.last_arrival = now
                return
        except (ValueError, ArithmeticError) as error:
            self.states.refuse(f"no torque: {error}")
            return self.silence.answer(reader)
        # transition, limits, and the effort
        if self.transition.active:
            self.transition.change_over(efforts, stamp, engine.effort_limits)
        if self.safeguards.limits_rates:
            self.safeguards.limit(
                efforts, stamp, engine.effort_limits,
                urgent=self.lets_go(engine), together=self.changes_together(engine),
            )  # fmt: skip
        oldest = begin + round(timeout * SECOND) - (now - stamp) if timeout else math.inf
        if time.monotonic_ns() > oldest:  # the process may have been stopped meanwhile
            return self.states.refuse(f"stale torque: it was ready more than {timeout:g} s after its joint state")
        self.silence.send(engine, self.output.command)
        self._after(engine, stamp, steady, now, oldest)

    def _after(self, engine: T, stamp: int, steady: float, now: int, oldest: float) -> None:
        """What the command need not wait for; the middleware may have taken long to write that."""
        self.watching.feed(steady, now, stamp)
        self.safeguards.commanded(self.output.numbers, stamp)
        self.transition.commanded(self.output.numbers)
        self.in_command.commanded(self.output.numbers)
        if self.output.is_heard and time.monotonic_ns() <= oldest:
            self.output.tell(stamp, "" if self.hand_over is None else self.hand_over.mark)
        self.output.cut_off(engine.saturated, self.safeguards.limited)
        self.answered(engine)
        for answered in self.answering:
            answered(now)

    def _begins(self, engine: T) -> bool:
        """Whether the robot can be held where it is; else control ends before it has begun."""
        if self.controller.undecided:
            return False
        try:
            self.trial.begin(engine)
        except (ValueError, ArithmeticError) as error:
            self._end_control(str(error))
            return False
        return True

    def _set_back(self, engine: T) -> None:
        """The clock of the states was."""
        self.motions.abandon()
        self.clock_was_set_back(engine)
        self.safeguards.reset()

    def _after_gap(self, steady: float) -> None:
        """A state that can be answered, before the gap was noticed: the node itself stood still, or they came late."""
        reason = f"no answer for {self.watching.since_answer(steady):.3g} s"
        self.forget_plans(reason)
        self.get_logger().warning(f"{reason}: held where it is now", throttle_duration_sec=1.0)

    # --- silence ----------------------------------------------------------------------------------

    def forget_plans(self, reason: str) -> None:
        """The node falls silent: all its parts and the law forget what was planned."""
        for part in self.parts:
            part.silent(reason)
        if self.engine is not None:
            self.silent(self.engine, reason)

    def _out_of_command(self, reason: str) -> None:
        self.motions.silent(reason)
        if self.engine is not None:
            self.silent(self.engine, reason)

    def _end_control(self, reason: str) -> None:
        self.silence.fall(reason)
        self.trigger_deactivate()
        self.active = False  # whatever became of the transition

    def _let_go(self, reason: str) -> None:
        """The controller moves other joints: what would hold the robot is wrong there as well."""
        if self.silence.owns and self.engine is not None:
            self.output.numbers[:] = 0.0
            self.silence.send(self.engine, self.output.command, owns=False)
        self._end_control(reason)

    def time_source_changed(self, simulated: bool) -> None:
        if simulated != self.clock.simulated:
            self.clock.simulated = simulated
            self.motions.refuse_plan("the clock has changed")
            if self.engine is not None:
                self.clock_was_set_back(self.engine)  # what was to come has no time any more

    # --- robots, loads and parameters -------------------------------------------------------------

    def prepare(self, engine: T, joints: Sequence[str]) -> None:
        """What watches, loads, and the messages. For `adopt`.

        Raises ValueError, and then changes nothing, for parameters that do not fit the joints, and where the robot
        could hold itself still so far and cannot with this engine.
        """
        try:
            bounds = Bounds.of(joints, self.params)
        except ValueError as error:
            raise BuildError(f"parameter {error}") from None
        dropped = self.payload.payloads.apply_to([engine.robot])
        efforts, limits = self.holding(engine, engine.robot)
        if self.engine is not None and self.output.joints == list(joints):
            before, limits_before = self.holding(self.engine, self.engine.robot)
            check_holding(joints, before, efforts, limits)
            self.acceptance.check_step(list(joints), before, efforts, np.minimum(limits, limits_before))
            if self.active:  # else nothing is commanded, and the rate of the states is not known
                self.trial.check(engine, self.trial.standing(self.engine))
        else:  # nothing is known of what the limits are worth
            check_holding(joints, np.zeros(len(joints)), efforts, np.full(len(joints), np.inf))
        self.safeguards.use(bounds, engine.effort_limits)
        engine.reader.plausibility = plausibility_of(
            engine.model.joints, engine.reader.names, self.params.plausible_velocity
        )
        engine.reader.longest_age = self.params.state_timeout
        self.states.publishers.watch(engine.reader)
        self.motions.abandon()
        for problem in dropped.values():
            self.get_logger().warning(problem)
        self.payload.payloads.forget(dropped)
        if self.output.joints == list(joints):
            self.transition.changed()
        else:
            self.transition.use(len(joints))
            self.in_command.use(joints)
        self.output.use(joints)
        if self.hand_over is not None:
            self.hand_over.use(joints, first=self.engine is None)

    def parameters_changed(self, engine: T, new: P) -> None:
        bounds = Bounds.of(self.output.joints, new)
        before, shares = self.trial.standing(engine), engine.shares
        others = any(getattr(new, name) != getattr(self.params, name) for name in self.GAINS)
        if others:
            engine.shares = ALL
        try:
            self.tune(engine, new)
            self.trial.check(engine, before)
        except (ValueError, ArithmeticError):
            engine.shares = shares
            try:
                self.tune(engine, self.params)  # whatever of it was taken before that was found
            except (ValueError, ArithmeticError) as error:
                self.get_logger().error(f"parameters are not set back: {message_of(error)}")
            raise
        if others:
            self.trial.gains_are_set()
        self.tuned(engine, new)
        self.transition.changed()
        self.safeguards.use(bounds, engine.effort_limits)
        if engine.reader.plausibility is not None:
            engine.reader.plausibility.factor = new.plausible_velocity
        engine.reader.longest_age = new.state_timeout

    def _try_load(self, engine: T, robot: Robot) -> None:
        """Raise ValueError where the robot could hold itself before, but not with this load, or would swing with it."""
        self.trial.check(engine, self.trial.standing(engine), robot)

    # --- motions, and taking over from another node -----------------------------------------------

    def poll(self) -> None:
        super().poll()
        self.motions.poll()

    def offer_hand_over(self, standby: Callable[[], bool]) -> None:
        """Take over from others, and let them take over. standby: whether the node starts on standby when activated."""
        self.hand_over = HandOver(self, self, standby)
        self.parts.append(self.hand_over)

    def may_move(self) -> None:
        """Raise TrajectoryError where no motion may begin now."""
        if self.lets_another_command:
            raise TrajectoryError("another node commands")
        if self.silence.reason:
            raise TrajectoryError(f"the node is silent: {self.silence.reason}")
        if self.in_command.reason:
            raise TrajectoryError(f"not in command: {self.in_command.reason}")

    @property
    def lets_another_command(self) -> bool:
        """It answers no states, as it should."""
        return self.hand_over is not None and self.hand_over.standing_by

    def take_over(self, engine: T, last: Array, efforts: Array) -> Array:
        """Go on with another's last efforts, as `hand_over.Successor` says."""
        if self.trial.pending:
            self.trial.begin(engine)
        rest = self.continue_from(engine, last, efforts)
        self.safeguards.reset()
        self.transition.silent("")
        return rest

    def yields(self) -> None:
        """Another node has taken over: this one commands nothing, and nothing in place of it."""
        self.silence.owns = False
        if self.engine is not None:
            self.motions.abandon()
            self.safeguards.reset()
            self.in_command.silent("another node commands")
            self.stands_by(self.engine)
