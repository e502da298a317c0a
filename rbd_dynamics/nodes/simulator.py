# SPDX-License-Identifier: Apache-2.0
"""Node `simulator`: effort commands in, joint states out, in real time."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.simulator import SIMULATOR, SimulatorParameters
from rbd_dynamics.nodes.managed.description_text import Progress
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import RECORDED, SECOND, flat
from rbd_dynamics.nodes.managed.payload import PayloadService
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.simulation.simulate_action import SimulateAction
from rbd_dynamics.nodes.simulation.simulator_engine import SimulatorEngine, build_engine
from rbd_dynamics.simulation.simulation import SimulationDiverged

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.srv import Step

Array = NDArray[np.float64]
LONGEST_LAG = 0.1  # s of wall time: what is missed beyond is not made up for
PATIENCE = 2.0  # s of wall time: how long a simulation in lockstep waits for a command


class SimulatorNode(ManagedNode[SimulatorParameters, SimulatorEngine]):
    """Steps the simulation as wall time passes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(SIMULATOR, **options)
        self.payload: PayloadService[SimulatorEngine] = PayloadService(self, lambda engine: engine.robots)
        self.parts.append(self.payload)
        self._paused = False
        self._diverged = ""
        self._lag = self._waited = 0.0  # s: what was left out; in lockstep, for commands since time was counted anew
        self._unanswered = False  # in lockstep, the last joint state
        self._commands = 0
        self._answered, self._published = False, 0.0  # the last joint state: by a command; wall time
        self._reported = (0.0, 0)  # wall time and steps at the last report
        self._anchor = (0.0, 0, 0)  # wall time, steps, stamp (ns): from where time is counted

    @staticmethod
    def build(model: Model, params: SimulatorParameters, progress: Progress) -> SimulatorEngine:
        return build_engine(model, params, progress)

    def adopt(self, engine: SimulatorEngine) -> None:
        self.payload.move_to(engine)
        if self.engine is not None:  # another robot at the same time
            engine.simulation.steps = self.engine.simulation.steps
            engine.simulation.reset()
        self._index = {name: k for k, name in enumerate(engine.joints)}
        self._message = JointState(name=engine.joints)
        self._diverged = ""
        self._restart_time(engine.simulation.steps)

    def open(self) -> None:
        self._states = self.entities.publish_on(JointState, "joint_states", RECORDED)
        self._wrenches: Publisher | None = None
        if self.params.wrench_frame:
            self._wrenches = self.entities.publish_on(WrenchStamped, "~/wrench")
        self._noise = np.random.default_rng(self.params.inertia_seed)
        self._clock_publisher = self.entities.publish_on(ClockMessage, "/clock") if self.params.publish_clock else None
        self.entities.subscribe(Float64MultiArray, "~/commands", self._on_commands)
        self.entities.subscribe(JointState, "~/effort", self._on_effort)
        self.entities.serve(Trigger, "~/reset", self._on_reset)
        self.entities.serve(SetBool, "~/pause", self._on_pause)
        try:
            from rbd_dynamics_interfaces.srv import Step
        except ImportError:
            self.get_logger().warning("rbd_dynamics_interfaces is not built: no service step")
        else:
            self.entities.serve(Step, "~/step", self._on_step)
            self.entities.keep(SimulateAction(self, self.payload.payloads), SimulateAction.destroy)
        period = 1.0 / self.params.publish_rate / self.params.real_time_factor
        self.entities.every(period, self._on_timer)

    def activated(self) -> None:
        if self.engine is not None:
            self._restart_time(self.engine.simulation.steps)

    # --- time -------------------------------------------------------------------------------------

    def _restart_time(self, steps: int) -> None:
        """Count from here: wall time, steps, and the stamp that this moment has."""
        step = round(self.params.step * SECOND)
        now, self._waited = time.time_ns(), 0.0
        self._anchor = (time.monotonic(), steps, steps * step if self.params.publish_clock else now)

    def _on_timer(self) -> None:
        if self.building:
            self.poll()
        engine = self.engine
        if engine is None or not self.active or self._paused or self._diverged:
            return
        if self._is_waiting(engine):
            return
        wall, first, _ = self._anchor
        elapsed = (time.monotonic() - wall) * self.params.real_time_factor
        due = int(elapsed / self.params.step) - (engine.simulation.steps - first)
        each = max(1, round(1.0 / self.params.publish_rate / self.params.step))
        if due * self.params.step > LONGEST_LAG * self.params.real_time_factor:
            if self.params.lockstep and not self._answered and not engine.simulation.braked:
                self._unanswered = True
                self._waited += time.monotonic() - self._published
            late = due * self.params.step - self._waited * self.params.real_time_factor
            self._lag += max(0.0, late)
            self._advance(engine, each)
            self._restart_time(engine.simulation.steps)
        elif not self.params.lockstep:
            self._advance(engine, due)
        elif due >= each:
            self._advance(engine, each)

    def _is_waiting(self, engine: SimulatorEngine) -> bool:
        """The simulation is in lockstep, and the answer to the last joint state has not come yet."""
        if not self.params.lockstep or engine.simulation.braked or self._answered:
            return False
        return time.monotonic() - self._published < PATIENCE

    def _advance(self, engine: SimulatorEngine, steps: int) -> int:
        """Do some steps and publish; the number done. A diverged state is never published."""
        if steps <= 0:
            return 0
        before = engine.simulation.steps
        try:
            engine.simulation.advance(steps)
        except SimulationDiverged as error:
            self._diverged = f"simulation stopped: {error}"
            self.get_logger().error(f"{self._diverged}; call ~/reset")
        else:
            self._publish(engine)
        return engine.simulation.steps - before

    def _publish(self, engine: SimulatorEngine) -> None:
        simulation, message = engine.simulation, self._message
        _, first, stamp = self._anchor
        stamp += round((simulation.steps - first) * self.params.step * SECOND)
        message.header.stamp = Time(nanoseconds=stamp).to_msg()
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=message.header.stamp))
        if self._wrenches is not None:
            self._publish_wrench(engine, self._wrenches, message.header.stamp)
        self._answered, self._published = False, time.monotonic()
        message.position = flat(simulation.q[engine.q_index])
        message.velocity = flat(simulation.v[engine.dofs])
        message.effort = flat(simulation.tau[engine.dofs])
        self._states.publish(message)

    def _publish_wrench(self, engine: SimulatorEngine, publisher: Publisher, stamp: TimeMessage) -> None:
        """What constraints and contacts exert on the robot at the sensor, before the joint state that goes with it."""
        total = self.params.wrench_noise * self._noise.standard_normal(6)
        total[:3] *= 0.1  # of a sensor of that size
        for sensor, multipliers in engine.sensors:
            total = total + sensor.wrench(engine.simulation.q, multipliers())
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, self.params.wrench_frame
        torque, force = message.wrench.torque, message.wrench.force
        torque.x, torque.y, torque.z, force.x, force.y, force.z = total.tolist()
        publisher.publish(message)

    # --- commands ---------------------------------------------------------------------------------

    def _on_commands(self, message: Float64MultiArray) -> None:
        engine = self.engine
        if engine is None or not self.active:
            return
        efforts = np.asarray(message.data)
        if len(efforts) != len(engine.joints):
            self.refuse(f"commands has {len(efforts)} efforts for {len(engine.joints)} joints")
        else:
            self._command(engine, efforts, engine.dofs)

    def _on_effort(self, message: JointState) -> None:
        engine = self.engine
        if engine is None or not self.active:
            return
        unknown = [name for name in message.name if name not in self._index]
        if unknown:
            self.refuse(f"effort: there is no joint {unknown[0]!r}")
        elif len(message.effort) != len(message.name):
            self.refuse(f"effort has {len(message.effort)} efforts for {len(message.name)} joints")
        elif message.name:
            self._command(engine, np.asarray(message.effort), engine.dofs[[self._index[name] for name in message.name]])

    def _command(self, engine: SimulatorEngine, efforts: Array, dofs: NDArray[np.intp]) -> None:
        if not np.isfinite(efforts).all():
            self.refuse("a commanded effort is not finite")
            return
        engine.simulation.command(efforts, dofs)
        self._commands += 1
        if self.params.lockstep and not self._answered:
            self._waited += time.monotonic() - self._published
        self._answered, self._unanswered = True, False
        if self.params.lockstep:
            self._on_timer()  # it may be due already

    # --- services ---------------------------------------------------------------------------------

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.engine is not None
        response.message = "" if response.success else "there is no robot yet"
        if self.engine is not None:
            self.engine.simulation.reset()
            self._diverged = ""
            self._restart_time(self.engine.simulation.steps)
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._paused and not request.data and self.engine is not None:
            self._restart_time(self.engine.simulation.steps)
        self._paused = request.data
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _on_step(self, request: Step.Request, response: Step.Response) -> Step.Response:
        engine, problem = self.engine, self._diverged
        if engine is None:
            problem = "there is no robot yet"
        elif not self.active:
            problem = "the simulator is not active"
        elif not self._paused:
            problem = "the simulation is running: pause it first"
        if engine is None or problem:
            response.success, response.message = False, problem
            return response
        response.steps = self._advance(engine, max(1, request.steps))
        response.success, response.message = not self._diverged, self._diverged
        response.time = self._message.header.stamp
        return response

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        if self.engine is None:
            return
        simulation = self.engine.simulation
        wall, steps = self._reported
        self._reported = (time.monotonic(), simulation.steps)
        factor = (simulation.steps - steps) * self.params.step / max(self._reported[0] - wall, 1e-9)
        status.values["real time factor"] = f"{factor:.3f}" if wall else "unknown"
        status.values["simulated time, s"] = f"{simulation.time:.3f}"
        status.values["commands per second"] = self._commands
        status.values["motion"] = "paused" if self._paused else "braked" if simulation.braked else "free"
        if self._diverged:
            status.error(self._diverged)
        if self._lag > LONGEST_LAG * self.params.real_time_factor:
            status.warn(f"too slow for real time: {self._lag:.3f} s left out")
        if self._unanswered:
            status.warn(
                f"no command came within {PATIENCE:g} s of the last joint state (lockstep): has the controller stopped?"
            )
        if simulation.timed_out:
            status.warn("no commands: all efforts are zero")
        self._commands, self._lag = 0, 0.0


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(SimulatorNode, SIMULATOR, args))


if __name__ == "__main__":
    main()
