# SPDX-License-Identifier: Apache-2.0
"""Node `guard`: passes a torque node's commands on, and leaves the robot safe when they stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from rbd_dynamics.control.safety.command_gate import CommandCheck, CommandGate
from rbd_dynamics.control.safety.safe_stop import OLDEST, SafeStop
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.commanding.commanders import Commanders
from rbd_dynamics.nodes.commanding.heartbeat import Heartbeat
from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.commanding.silence import Silence
from rbd_dynamics.nodes.commanding.transit import Transit
from rbd_dynamics.nodes.commanding.watchdog import Watchdog
from rbd_dynamics.nodes.interface.guard import GUARD, GuardParameters
from rbd_dynamics.nodes.managed.acceptance import Acceptance
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import COMMANDS, SECOND, plausibility_of, staleness
from rbd_dynamics.nodes.managed.payload import PayloadService
from rbd_dynamics.nodes.managed.state_publishers import StatePublishers
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.wire.raw_joint_state import RawJointStates
from rbd_dynamics.robot import Robot

COMMANDED = "~/unguarded_commands"  # what the guard passes on
WATCH = 0.01  # s: how often it is looked whether commands still come
QUEUE = 50_000_000  # ns: a command may be late, and after a standstill of this process as a state without a stamp
PLAIN = b"\0\1\0\0" + bytes(8)  # how a message begins whose array has no layout: CDR, little endian
COUNT, NUMBERS = slice(12, 16), 20  # where their count is in it, and where they begin


@dataclass
class GuardEngine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    safe_stop: SafeStop
    check: CommandCheck
    reader: JointStateReader
    prefix: Prefix

    def tune(self, params: GuardParameters) -> None:
        """What may change while it runs. Raises ValueError, and then changes nothing."""
        self.safe_stop.tune(params.stop_options, terms=params.terms, effort_limits=params.effort_limits)
        self.check = CommandCheck(self.check.joints, self.safe_stop.limits)
        self.reader.longest_age = params.state_timeout
        if self.reader.plausibility is not None:
            self.reader.plausibility.factor = params.plausible_velocity


class GuardNode(ManagedNode[GuardParameters, GuardEngine]):
    """Every good command is passed on; without one for `command_timeout` the robot is held and let go."""

    def __init__(self, **options: Any) -> None:
        super().__init__(GUARD, **options)
        self.clock = NodeClock(self)
        self.silence: Silence[GuardEngine] = Silence(
            self, on_state=self.on_joint_state, state_age=self.state_age, forget=lambda reason: None
        )
        self.payload: PayloadService[GuardEngine] = PayloadService(self, lambda engine: [engine.robot])
        self.acceptance = Acceptance(self)
        self.commanders = Commanders(self, COMMANDED, lambda: self.payload.payloads.loads, self._keep_out)
        self.state_publishers = StatePublishers(self)
        self.parts += [self.silence, self.clock, self.acceptance, self.payload, self.commanders, self.state_publishers]
        self._raw_states, self._heartbeat, self._watchdog = RawJointStates(), Heartbeat(), Watchdog()
        self._transit = Transit()
        self._state_time = 0.0  # monotonic, of the last good one
        self._gate = CommandGate()
        self._bad = (0.0, "")  # the last command that was not passed on: monotonic time, reason
        self._passed = 0
        self.entities.take_in_threads(self.silence.largest_text)

    @staticmethod
    def build(model: Model, params: GuardParameters, progress: Progress) -> GuardEngine:
        prefix = Prefix(params.tf_prefix, model)
        robot = Robot(model)
        progress("feedforward", 1, 1)
        safe_stop = SafeStop(robot, joints=[prefix.inside(name) for name in params.joints])
        required = [prefix.outside(name) for name in safe_stop.joints]
        names = [prefix.outside(name) for name in model.joint_names]
        reader = JointStateReader(
            names,
            required,
            missing_velocity=params.missing_velocity,
            initial=model.start_position(),
            plausibility=plausibility_of(model.joints, names, params.plausible_velocity),
        )
        engine = GuardEngine(model, robot, safe_stop, CommandCheck(required, [0.0]), reader, prefix)
        engine.tune(params)
        return engine

    def adopt(self, engine: GuardEngine) -> None:
        old = self.engine
        if old is not None and old.reader.names == engine.reader.names:
            old.reader.plausibility, engine.reader = engine.reader.plausibility, old.reader
            self._check_step(old, engine)
        self.state_publishers.watch(engine.reader)
        self.payload.move_to(engine)
        engine.tune(self.params)  # they may have changed meanwhile
        self._gate.options = self.params.gate_options

    def _check_step(self, old: GuardEngine, engine: GuardEngine) -> None:
        """Raise BuildError where it may be another robot: by what the same loads make of both."""
        if not self.description.unasked:
            return
        self.payload.payloads.apply_to([engine.robot])
        q, names = engine.reader.q, engine.safe_stop.joints
        held = [engine.model.joint(name).v_index for name in names]
        limits = np.minimum(old.safe_stop.limits, engine.safe_stop.limits)
        self.acceptance.check_step(list(names), old.robot.gravity(q)[held], engine.robot.gravity(q)[held], limits)

    def time_source_changed(self, simulated: bool) -> None:
        self.clock.simulated = simulated

    def parameters_changed(self, engine: GuardEngine, new: GuardParameters) -> None:
        engine.tune(new)
        self._gate.options = new.gate_options

    def open(self) -> None:
        self.entities.subscribe(
            Float64MultiArray, COMMANDED, self.on_command, COMMANDS, raw=True, urgent=True, dated=True
        )
        self.entities.serve(Trigger, "~/resume", self._on_resume)
        self.entities.every(WATCH, self._watch)

    def activated(self) -> None:
        self._gate = CommandGate(options=self.params.gate_options)

    def state_age(self, now: float) -> float:
        """How old the last good state is, s."""
        return now - self._state_time

    # --- commands ---------------------------------------------------------------------------------

    def on_command(self, raw: bytes, written: int) -> None:
        if self.building:
            self.poll()
        engine, silence = self.engine, self.silence
        if engine is None or not self.active:
            return
        now = time.monotonic()
        if silence.owns and self._heartbeat.since_stall(time.monotonic_ns()) < QUEUE:
            return  # it may have waited since before
        numbers = _numbers(raw)
        if self._is_refused(engine.check.problem(numbers) or self._late(written)):
            return
        lapse = self.clock.lapse()
        if not self.commanders.pass_now(now, self._gate.good(lapse), lapse):
            return
        if silence.reason and not (silence.returns and self._gate.opens(lapse)):
            return
        if self._is_refused(self._late(written)):  # again: it may have waited for a processor here
            return
        silence.send(engine, raw, owns=bool(numbers.any()))  # zeros for all leave the robot alone
        self._passed += 1
        self._watchdog.feed(now, self.clock.simulated_now or 0)

    def _late(self, written: int) -> str:
        """What is wrong with a command that came late; empty: it did not."""
        late = self._transit.lateness(written, time.time_ns(), time.monotonic_ns())
        return f"it came {1e-9 * late:.3g} s late" if late > QUEUE else ""

    def _is_refused(self, problem: str) -> bool:
        if problem:
            self._bad = (time.monotonic(), problem)
            self.refuse(f"command not passed on: {problem}")
        return bool(problem)

    def _watch(self) -> None:
        """Do commands come? By the steady clock."""
        now, timeout = time.monotonic(), self.params.command_timeout
        self._heartbeat.beat()
        if self.active:
            self.commanders.look(now)
        if not self.active or not self.silence.owns or self.silence.reason:
            return
        if self._heartbeat.since_stall(time.monotonic_ns()) < 2 * QUEUE:
            return
        if not self._watchdog.barks(now, timeout, self.clock.simulated_now):
            return
        when, problem = self._bad
        what = f"none was good: {problem}" if when > self._watchdog.done else "they have stopped"
        reason = f"no good command for {now - self._watchdog.done:.3g} s: {what}"
        shut = self._gate.stopped(self.clock.lapse())
        if shut:
            reason += f"; more than {self.params.most_silences} times within a minute: call ~/resume"
        self.silence.fall(reason, returns=not shut)

    def _on_resume(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.active
        if not self.active:
            response.message = "the node is not active"
        elif not self._gate.shut:
            response.message = "nothing to resume: commands pass as soon as they are good"
        else:
            self._gate.reset()
            self.commanders.accept()
            self.silence.returns = True
            response.message = "commands pass again as soon as they are good"
        return response

    def _keep_out(self, stranger: str) -> None:
        self._gate.shut = True
        self.silence.fall(stranger)

    # --- states -----------------------------------------------------------------------------------

    def on_joint_state(self, raw: bytes) -> None:
        engine = self.engine if self.active else self.silence.engine
        if engine is None:
            return
        now = self.clock.now()
        stamp, names, position, velocity, _ = self._raw_states.read(raw)
        if not stamp and self._heartbeat.since_stall(time.monotonic_ns()) < QUEUE:
            return  # it may have waited since before
        reader = engine.reader
        if problem := staleness(stamp, now, self.params.state_timeout):
            reader.heed(names, position, velocity, stamp, (now - stamp) / SECOND)
            return self.refuse(problem)
        if not reader.read(names, position, velocity, stamp or now):
            if self.silence.stopping and reader.fast is not None:
                self.silence.damp(*reader.fast)
            return None if reader.doubted and not reader.implausible else self.refuse(reader.problem)
        self._state_time = time.monotonic()
        if self.silence.stopping:
            self.silence.answer(reader)

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        status.values["commands passed on per second"] = self._passed
        if self.active and self.engine is not None:
            if not self._passed and not self.silence.reason:
                status.warn("no command passed on" + ("" if self.entities.refused else ": none arrives"))
            age = self.state_age(time.monotonic())
            if age > OLDEST and self.params.on_silence == "gravity":
                seen = f"for {age:.3g} s" if self._state_time else "yet"
                status.error(f"no joint state {seen}: the robot could not be held")
        self._passed = 0


def _numbers(raw: bytes) -> NDArray[np.float64]:
    """The numbers of a serialised Float64MultiArray."""
    count = len(raw) - NUMBERS >> 3
    if raw.startswith(PLAIN) and len(raw) == NUMBERS + 8 * count and raw[COUNT] == count.to_bytes(4, "little"):
        return np.frombuffer(raw, "<f8", count, NUMBERS)
    return np.array(deserialize_message(raw, Float64MultiArray).data)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(GuardNode, GUARD, args))


if __name__ == "__main__":
    main()
