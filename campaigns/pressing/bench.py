# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller` without ROS: its own methods, on an engine that it builds itself, and nothing in between."""

from __future__ import annotations

import logging
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.pressing.cases import X
from campaigns.pressing.plant import PERIOD
from rbd_dynamics.control.motion.trajectory import Point, Waypoints
from rbd_dynamics.nodes.hybrid_controller import HybridControllerNode
from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters
from rbd_dynamics.nodes.managed.messages import plausibility_of
from rbd_dynamics.nodes.tool.hybrid_engine import HybridEngine, build_engine
from rbd_dynamics.nodes.tool.wrench_input import WrenchInput, desired_force
from rbd_dynamics.nodes.torque.safeguards import Bounds, Safeguards
from rbd_dynamics.nodes.torque.transition import Transition

Array = NDArray[np.float64]
LONGEST_REFUSED = 200  # characters


class Bench:
    """Answers joint states by efforts as the node does, in the order of the model's joints.

    What asks for messages, services and other processes is left out; what the node decides is the node's own code.
    """

    left_alone = 300  # periods, in which the safe stop holds the arm

    respond = HybridControllerNode.respond
    tune = HybridControllerNode.tune
    tuned = HybridControllerNode.tuned
    adopt = HybridControllerNode.adopt
    activated = HybridControllerNode.activated
    silent = HybridControllerNode.silent
    moved = HybridControllerNode.moved
    motion_limits = HybridControllerNode.motion_limits
    lets_go = HybridControllerNode.lets_go
    changes_together = HybridControllerNode.changes_together
    soften = HybridControllerNode.soften
    _on_engage = HybridControllerNode._on_engage

    def __init__(self, model: rbd.Model, params: HybridControllerParameters) -> None:
        self.params, self.engine, self.active = params, None, True
        self.clock = SimpleNamespace(now=lambda: self.now)
        self.now, self.watching = 0, SimpleNamespace(period=PERIOD)
        self.in_command = SimpleNamespace(reason="")
        self.lets_another_command = self.building = False
        self._errors, self._task_state = [0.0, 0.0], None
        self.wrench = WrenchInput(self, self.clock)  # type: ignore[arg-type]
        self.transition = Transition(lambda: self.params.transition_time)
        self.safeguards = Safeguards()
        self.refused: list[str] = []
        self.silence, self.ended, self._implausible = "", False, 0
        self._names = list(model.joint_names)
        self._install(model)

    # --- what the node's methods ask of a node ----------------------------------------------------

    def poll(self) -> None: ...

    def get_logger(self) -> logging.Logger:
        return logging.getLogger("pressing")

    def _say_mode(self, engine: HybridEngine) -> None: ...

    def needs_another(self, new: HybridControllerParameters) -> bool:
        """Only placements, gains and limits are changed here."""
        return False

    def prepare(self, engine: HybridEngine, joints: list[str]) -> None:
        first = self.engine is None
        self.safeguards.use(Bounds.of(joints, self.params), engine.effort_limits)
        if first:
            self.transition.use(len(joints))
        else:
            self.transition.changed()
        engine.reader.plausibility = plausibility_of(
            engine.model.joints, engine.reader.names, self.params.plausible_velocity
        )
        engine.reader.longest_age = self.params.state_timeout

    # --- what is done to it -----------------------------------------------------------------------

    def _install(self, model: rbd.Model) -> None:
        engine = build_engine(model, self.params, lambda *_: None)
        self.adopt(engine)
        self.engine = engine

    def describe(self, model: rbd.Model) -> None:
        """Another robot description has come."""
        old = self.engine
        self._install(model)
        assert old is not None and self.engine is not None
        for frame, load in old.robot.payloads.items():
            self.engine.robot.set_payload(frame, load.mass)

    def set(self, **changes: Any) -> None:
        """Change parameters; what is refused is kept in `refused`."""
        assert self.engine is not None
        try:
            changed = [SimpleNamespace(name=name, value=value) for name, value in changes.items()]
            new = self.params.changed(changed, configured=True)  # type: ignore[arg-type]
            self.tune(self.engine, new)
            self.tuned(self.engine, new)
        except (ValueError, ArithmeticError, KeyError) as error:
            self.refused.append(str(error)[:LONGEST_REFUSED])
            return
        self.params = new
        self.transition.changed()
        self.safeguards.use(Bounds.of(list(self.engine.model.joint_names), new), self.engine.effort_limits)

    def carry(self, mass: float) -> None:
        """Another payload (kg) at the tool frame."""
        assert self.engine is not None
        self.engine.robot.set_payload(self.engine.task.tool_frame, mass)
        self.transition.changed()

    def engage(self, wanted: bool) -> None:
        response = SimpleNamespace(success=False, message="")
        self._on_engage(SimpleNamespace(data=wanted), response)  # type: ignore[arg-type]
        if not response.success:
            self.refused.append(response.message[:LONGEST_REFUSED])

    def wish(self, wrench: Array) -> None:
        """A desired wrench (m, f)."""
        assert self.engine is not None
        try:
            self.engine.supervisor.desired[:] = desired_force(wrench, "desired wrench", self.engine)
        except ValueError as error:
            self.refused.append(str(error)[:LONGEST_REFUSED])

    def move(self, ways: dict[int, float], speed: float) -> None:
        """Task rows by so much (m or rad) from where they are, all in the time that the way takes at the speed."""
        engine = self.engine
        assert engine is not None
        try:
            theta, rate = self.moved(engine)
            engine.motion.limits = self.motion_limits(engine, self.now)
            points = Waypoints.of(list(engine.motion.joints), way(theta, ways, speed), positions=True)
            engine.motion.follow(points, self.now, self.now, theta, rate)
        except (ValueError, RuntimeError) as error:
            self.refused.append(str(error)[:LONGEST_REFUSED])

    def reactivate(self) -> None:
        """Deactivated, and active again."""
        assert self.engine is not None
        self.transition.activated()
        self.safeguards.activated()
        self.activated()

    def answer(self, stamp: int, q: Array | None, v: Array, wrench: Array | None) -> Array | None:
        """Efforts for a state (None: none has come), after a wrench (m, f), if one has; None: nothing is commanded."""
        engine = self.engine
        assert engine is not None
        self.now = stamp
        if wrench is not None:
            self.wrench.take(wrench, stamp)
        reader, time = engine.reader, 1e-9 * stamp
        if q is None:
            if not self.silence and time - 1e-9 * reader.stamp > self.params.state_timeout:
                self._fall_silent("no joint states", time)
            return engine.safe_stop.blind(time) if self.silence else None
        if not reader.read(self._names, q, v, stamp):
            self._implausible += 1
            if self._implausible == self.params.most_refused:
                self._fall_silent(f"{reader.problem}", time)
                self.ended = True
            return engine.safe_stop.blind(time) if self.silence else None
        self._implausible = 0
        if self.ended:
            return engine.safe_stop.answer(time, reader.q, reader.v)
        self.silence = ""
        efforts = np.zeros(len(engine.joints))
        try:
            self.respond(engine, reader, stamp, efforts)
        except (ValueError, ArithmeticError) as error:
            self.refused.append(str(error)[:LONGEST_REFUSED])
            return None
        if self.transition.active:
            self.transition.change_over(efforts, stamp, engine.effort_limits)
        if self.safeguards.limits_rates:
            self.safeguards.limit(
                efforts, stamp, engine.effort_limits,
                urgent=self.lets_go(engine), together=self.changes_together(engine),
            )  # fmt: skip
        self.safeguards.commanded(efforts, stamp)
        self.transition.commanded(efforts)
        return efforts

    def _fall_silent(self, reason: str, time: float) -> None:
        engine = self.engine
        assert engine is not None
        reader = engine.reader
        for part in (self.transition, self.safeguards):
            part.silent(reason)
        self.silent(engine, reason)
        self.silence = reason
        engine.safe_stop.begin(time, reader.q, reader.v, age=time - 1e-9 * reader.stamp)

    @property
    def mode(self) -> str:
        assert self.engine is not None
        return "hold" if self.silence else self.engine.supervisor.mode

    @property
    def reason(self) -> str:
        assert self.engine is not None
        return f"silent: {self.silence}" if self.silence else self.engine.supervisor.reason

    @property
    def most_force(self) -> float:
        """N: the wanted force is no larger than what can be let go in time."""
        assert self.engine is not None
        return float(self.engine.supervisor.contact.bound.min())

    @property
    def wanted_force(self) -> float:
        """N, that it presses with now, on its way to what is desired; nan where it does not press."""
        assert self.engine is not None
        contact = self.engine.supervisor.contact
        presses = self.mode == "press" and not contact.approaching
        return float(contact.force[contact.unilateral].sum()) if presses else math.nan

    @property
    def drifts(self) -> bool:
        """It says that the sensor drifts."""
        assert self.engine is not None
        return bool(self.engine.supervisor.contact.drift.told)

    @property
    def motion_problem(self) -> str:
        assert self.engine is not None
        return self.engine.motion.problem


def way(theta: Array, ways: dict[int, float], speed: float) -> list[Point]:
    """From task rows on: a quarter second to the speed, then steady, and a quarter second to rest."""
    along = math.hypot(*(way for row, way in ways.items() if row >= X))
    ramp, seconds = 0.25, max(along, *(abs(way) for row, way in ways.items() if row < X), 0.0) / speed
    offset = np.zeros(len(theta))
    for row, way in ways.items():
        offset[row] = way
    at_full = offset / max(seconds, 1e-3)
    steady, still = max(seconds - ramp, 1e-3), (0.0 * theta).tolist()
    return [
        Point(ramp, (theta + 0.5 * ramp * at_full).tolist(), at_full.tolist(), still),
        Point(ramp + steady, (theta + (0.5 * ramp + steady) * at_full).tolist(), at_full.tolist(), still),
        Point(2 * ramp + steady, (theta + (ramp + steady) * at_full).tolist(), still, still),
    ]
