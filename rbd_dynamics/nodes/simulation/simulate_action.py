# SPDX-License-Identifier: Apache-2.0
"""Action `~/simulate` of the simulator: rollouts of any length, apart from the live simulation."""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.constraints import ConstraintSet, load_constraints
from rbd_dynamics.nodes.managed.description_text import message_of
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import SECOND, nanoseconds
from rbd_dynamics.nodes.managed.payload import Payloads, attach
from rbd_dynamics.nodes.simulation.fair_lock import FairLock
from rbd_dynamics.nodes.simulation.simulator_engine import SimulatorEngine
from rbd_dynamics.simulation.rollout import Sample, check_times, rollout
from rbd_dynamics.simulation.simulation import INTEGRATORS, Simulation

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.action import Simulate

Array = NDArray[np.float64]
FEEDBACK_SAMPLES = 20  # at least so many samples between two feedbacks
MOST_NUMBERS = 10_000_000  # of a result: a message of 80 MB
MOST_GOALS = 8  # at a time
STEPS = (1e-6, 0.1)  # s, shortest and longest, as of the node's parameter
POLL_PERIOD = 0.05  # s: how soon a cancel is seen that the rollout does not see
PATIENCE = 0.2  # s that a rollout has to end by itself, with what it has done


class _Goal:
    """One that is worked at: since when it is cancelled (s, 0: it is not), and its result, once it has one."""

    def __init__(self, handle: ServerGoalHandle, work: Callable[[_Goal], None]) -> None:
        self.handle, self.key = handle, bytes(handle.goal_id.uuid)
        self.cancelled = 0.0
        self.result: Any = None
        self.thread = threading.Thread(target=work, args=(self,), name="simulate", daemon=True)

    @property
    def ends(self) -> bool:
        """Nobody wants more of it: a handle whose result is sent no longer tells that it was cancelled."""
        return self.result is not None or self.handle.is_cancel_requested


class SimulateAction:
    """The action server of a simulator node; each goal has a thread of its own, and a simulation.

    Parameters:
        payloads: what the live simulation carries besides the loads of its parameters.
    """

    def __init__(self, node: ManagedNode[Any, SimulatorEngine], payloads: Payloads) -> None:
        from rbd_dynamics_interfaces.action import Simulate

        self._node, self._payloads, self._kind = node, payloads, Simulate
        self._lock = threading.Lock()
        self._running: dict[bytes, _Goal] = {}  # have a thread at work
        self._ended: dict[bytes, _Goal] = {}  # have a result that is not sent yet
        self._stopping = threading.Event()
        self._computing = FairLock()
        self._server = ActionServer(
            node, Simulate, "~/simulate", self._finish, goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted, cancel_callback=lambda _: CancelResponse.ACCEPT,
        )  # fmt: skip
        node.entities.every(POLL_PERIOD, self._end_cancelled)

    def destroy(self) -> None:
        """Stop what is under way. What a compiler is at is left behind."""
        self._stopping.set()
        deadline = time.monotonic() + 5.0 * PATIENCE
        for goal in list(self._running.values()):
            goal.thread.join(max(0.0, deadline - time.monotonic()))
        self._server.destroy()

    def _on_goal(self, request: Simulate.Goal) -> GoalResponse:
        """Everything is accepted while there is a robot: what is wrong is said in the result."""
        ready = self._node.engine is not None and self._node.active
        goals = list(self._running.values())  # with those that were cancelled and still compile
        if sum(goal.result is None for goal in goals) >= MOST_GOALS or len(goals) >= 2 * MOST_GOALS:
            self._node.refuse(f"~/simulate: a goal was refused while {MOST_GOALS} are under way")
            ready = False
        return GoalResponse.ACCEPT if ready else GoalResponse.REJECT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        engine = self._node.engine
        assert engine is not None  # `_on_goal` looked
        goal = _Goal(handle, partial(self._work, engine))
        self._running[goal.key] = goal
        goal.thread.start()

    def _work(self, engine: SimulatorEngine, goal: _Goal) -> None:
        """Do the rollout, in a thread; then the executor is asked to send the result."""
        result = self._kind.Result()
        try:
            self._roll(goal, engine, result)
        except (ValueError, KeyError, ArithmeticError) as error:
            result.message = message_of(error)
        except Exception as error:  # a fault of ours: say so, and live on
            if self._stopping.is_set():  # the server that feedback went to is gone
                return
            self._node.get_logger().error(traceback.format_exc())
            result.message = f"internal error: {type(error).__name__}: {error}"
        finally:
            del self._running[goal.key]
        self._end(goal, result)

    def _end_cancelled(self) -> None:
        """Answer for goals whose thread does not see that they are cancelled: it compiles, or reads a long text."""
        now = time.monotonic()
        for goal in list(self._running.values()):
            if goal.handle.is_cancel_requested:
                goal.cancelled = goal.cancelled or now
                if now - goal.cancelled > PATIENCE:
                    self._end(goal, self._kind.Result(message="cancelled; what was under way could not be interrupted"))

    def _end(self, goal: _Goal, result: Simulate.Result) -> None:
        """The first result counts."""
        with self._lock:
            if goal.result is not None or self._stopping.is_set():
                return
            goal.result = result
            self._ended[goal.key] = goal
        goal.handle.execute()

    def _finish(self, handle: ServerGoalHandle) -> Simulate.Result:
        result = self._ended.pop(bytes(handle.goal_id.uuid)).result
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.success:
            handle.succeed()
        else:
            handle.abort()
        return result

    def _roll(self, of: _Goal, engine: SimulatorEngine, result: Simulate.Result) -> None:
        handle, goal = of.handle, of.handle.request
        simulation = _simulation(engine, goal)
        for robot, _ in simulation.robots:
            for frame, load in (*engine.loads, *self._payloads.loads):
                attach(robot, frame, load)
        names = list(goal.joint_names) or engine.joints
        result.trajectory = JointTrajectory(joint_names=list(engine.joints))
        constraints = simulation.constraints
        result.row_names = list(constraints.row_names) if constraints is not None else []
        efforts = _efforts(engine, goal.efforts, simulation.model.nv)
        _place(engine, simulation, goal, names)
        each = 4 * len(engine.joints) + len(result.row_names)
        samples = check_times(simulation.options.step, goal.duration, goal.sample_period)
        if samples * each > MOST_NUMBERS:
            raise ValueError(
                f"sample_period {goal.sample_period:g} gives {samples} samples of {each} numbers: "
                f"at most {MOST_NUMBERS // max(each, 1)} fit into a result"
            )

        def ends() -> bool:
            return self._stopping.is_set() or of.ends

        with self._computing.taken() as turn:

            def stop() -> bool:
                turn.offer()
                return ends()

            steps = rollout(simulation, efforts, goal.duration, goal.sample_period, stop=stop)
            for count, sample in enumerate(steps):
                result.trajectory.points.append(_point(engine, sample))
                result.multipliers.extend(sample.multipliers.tolist())
                if count == 0:
                    result.energy_start = sample.energy
                result.energy_end = sample.energy
                result.worst_violation = max(result.worst_violation, sample.violation)
                if count % FEEDBACK_SAMPLES == 0:
                    feedback = self._kind.Feedback()
                    feedback.time, feedback.energy = sample.time, sample.energy
                    feedback.fraction = sample.time / goal.duration
                    handle.publish_feedback(feedback)
        if ends():
            result.message = f"cancelled at {sample.time:.6g} s"
            return
        result.success = True


def _simulation(engine: SimulatorEngine, goal: Simulate.Goal) -> Simulation:
    """A simulation like the live one, with what the goal wants differently."""
    live = engine.simulation
    options = replace(live.options, start_braked=False, command_timeout=0.0)
    if goal.step != 0.0:
        if not STEPS[0] <= goal.step <= STEPS[1]:
            raise ValueError(
                f"step {goal.step} must be {STEPS[0]:g} to {STEPS[1]:g} s, or 0: that of the live simulation"
            )
        options = replace(options, step=goal.step)
    if goal.integrator:
        if goal.integrator not in INTEGRATORS:
            raise ValueError(f"integrator {goal.integrator!r} is not one of {', '.join(INTEGRATORS)}")
        options = replace(options, integrator=goal.integrator)
    constraints = live.constraints
    if goal.constraints_yaml:
        more = load_constraints(goal.constraints_yaml + "\n", live.model)
        own = () if constraints is None else constraints.constraints
        constraints = ConstraintSet(live.model, (*own, *more.constraints), stabilization=more.stabilization)
    return Simulation(live.model, q=live.start, options=options, constraints=constraints, contacts=live.contacts)


def _place(engine: SimulatorEngine, simulation: Simulation, goal: Simulate.Goal, names: list[str]) -> None:
    """Put the simulation into the goal's first state, or into the live one's."""
    simulation.q, simulation.v = engine.simulation.q.copy(), engine.simulation.v.copy()
    columns = _columns(engine, names, "joint_names")
    for what, numbers, index, state in (
        ("positions", goal.positions, engine.q_index, simulation.q),
        ("velocities", goal.velocities, engine.dofs, simulation.v),
    ):
        given = np.asarray(numbers, dtype=float)
        if given.size == 0:
            continue
        if given.size != len(names):
            raise ValueError(f"{what} has {given.size} numbers for {len(names)} joints")
        if not np.isfinite(given).all():
            raise ValueError(f"{what} is not finite")
        state[index[columns]] = given
    if len(goal.positions) and not len(goal.velocities):
        simulation.v[:] = 0.0


def _columns(engine: SimulatorEngine, names: list[str], what: str) -> list[int]:
    place = {name: k for k, name in enumerate(engine.joints)}
    for name, count in Counter(names).items():
        if name not in place:
            raise ValueError(f"{what}: the simulator has no joint {name!r}; it has {', '.join(engine.joints)}")
        if count > 1:
            raise ValueError(f"{what}: joint {name!r} is named twice")
    return [place[name] for name in names]


def _efforts(engine: SimulatorEngine, message: JointTrajectory, nv: int) -> Callable[[float], Array]:
    """Held from each point until the next one; nothing before the first."""
    dofs = engine.dofs[_columns(engine, list(message.joint_names), "efforts")]
    times, rows = [], np.zeros((len(message.points) + 1, nv))
    for k, point in enumerate(message.points):
        if len(point.effort) != len(dofs):
            raise ValueError(f"efforts: point {k} has {len(point.effort)} efforts for {len(dofs)} joints")
        rows[k + 1, dofs] = point.effort
        times.append(1e-9 * nanoseconds(point.time_from_start))
    if not np.isfinite(rows).all():
        raise ValueError("efforts: an effort is not finite")
    if any(late <= early for early, late in zip(times, times[1:])):
        raise ValueError("efforts: points must be in the order of time_from_start")
    starts = np.array(times)
    return lambda t: rows[int(np.searchsorted(starts, t + 1e-9, side="right"))]


def _point(engine: SimulatorEngine, sample: Sample) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint()
    point.positions, point.velocities = sample.q[engine.q_index].tolist(), sample.v[engine.dofs].tolist()
    point.accelerations, point.effort = sample.a[engine.dofs].tolist(), sample.tau[engine.dofs].tolist()
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(sample.time * SECOND), SECOND)
    return point
