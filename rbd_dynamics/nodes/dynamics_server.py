# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics_server`: dynamics of the robot as services, one state or a whole trajectory in a call."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sensor_msgs.msg import JointState

from rbd_dynamics.control.terms import FRICTION, inverse_dynamics_terms
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes import constrained_services, process
from rbd_dynamics.nodes.constrained_services import forward_dynamics, hybrid_dynamics, inverse_dynamics
from rbd_dynamics.nodes.description import Prefix, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.fill_trajectory import filled_trajectory
from rbd_dynamics.nodes.interface import DYNAMICS_SERVER, Interface
from rbd_dynamics.nodes.managed_node import ManagedNode, check_common
from rbd_dynamics.nodes.messages import JOINT_STATES
from rbd_dynamics.nodes.payload import Payloads, PayloadService
from rbd_dynamics.nodes.samples import Layout, flat, wrenches
from rbd_dynamics.robot import Robot

KERNELS = (
    "inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix", "coriolis", "gravity", "friction",
    "kinetic_energy", "potential_energy", "inverse_dynamics_f_ext", "forward_dynamics_f_ext", "hybrid_dynamics_f_ext",
)  # fmt: skip


@dataclass
class Engine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    prefix: Prefix
    reader: JointStateReader | None  # of joints that a JointState can carry
    known: constrained_services.KnownConstraints


class DynamicsServerNode(ManagedNode):
    """Every request is answered: with numbers, or with success = false and what is wrong with it."""

    INTERFACE: ClassVar[Interface] = DYNAMICS_SERVER

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._payloads = Payloads()
        self._counts = {"answered": 0, "refused": 0}

    def check(self, values: dict[str, Any]) -> None:
        check_common(values)

    def build(self, model: Model, values: dict[str, Any], progress: Callable[..., None]) -> Engine:
        robot = Robot(model)
        robot.compile(*KERNELS, progress=progress)
        prefix = Prefix(values["tf_prefix"], model)
        reader = None
        if model.nq == model.nv == len(model.joints):
            names = [prefix.outside(name) for name in model.joint_names]
            reader = JointStateReader(names, [], initial=model.neutral())
        known = constrained_services.KnownConstraints(values["constraints_file"], robot, prefix)
        known.compile(progress=progress)
        return Engine(model, robot, prefix, reader, known)

    def adopt(self, engine: Engine) -> None:
        for problem in self._payloads.apply_to(engine.robot):
            self.get_logger().warning(problem)

    def open(self) -> None:
        from rbd_dynamics_interfaces import srv

        self.subscribe(JointState, "joint_states", self._on_joint_state, JOINT_STATES)
        for kind, name, answer in (
            (srv.InverseDynamics, "inverse_dynamics", self._inverse_dynamics),
            (srv.ForwardDynamics, "forward_dynamics", self._forward_dynamics),
            (srv.HybridDynamics, "hybrid_dynamics", self._hybrid_dynamics),
            (srv.ConstrainedInverseDynamics, "constrained_inverse_dynamics", self._constrained(inverse_dynamics)),
            (srv.ConstrainedForwardDynamics, "constrained_forward_dynamics", self._constrained(forward_dynamics)),
            (srv.ConstrainedHybridDynamics, "constrained_hybrid_dynamics", self._constrained(hybrid_dynamics)),
            (srv.DynamicsTerms, "dynamics_terms", self._dynamics_terms),
            (srv.FillTrajectoryEfforts, "fill_trajectory_efforts", self._fill_trajectory),
        ):
            self.serve(kind, f"~/{name}", self._guard(answer))
        PayloadService(self, self._payloads, lambda: [self.engine.robot])

    def _guard(self, answer: Callable[[Engine, Any, Any], None]) -> Callable[[Any, Any], Any]:
        """A service callback that turns every exception into success = false and its message."""

        def callback(request: Any, response: Any) -> Any:
            self.poll()
            try:
                if self.engine is None or not self.active:
                    raise ValueError("the server is not active" if self.engine else self._description_problem)
                answer(self.engine, request, response)
                response.success = True
                self._counts["answered"] += 1
                return response
            except (ValueError, KeyError, ArithmeticError) as error:
                message, fields = message_of(error), getattr(error, "fields", {})
            except Exception as error:  # a fault of ours: say so, and live on
                self.get_logger().error(traceback.format_exc())
                message, fields = f"internal error: {type(error).__name__}: {error}", {}
            self._counts["refused"] += 1
            refusal = type(response)(success=False, message=message, **fields)
            return refusal

        return callback

    # --- services ---------------------------------------------------------------------------------

    def _inverse_dynamics(self, engine: Engine, request: Any, response: Any) -> None:
        layout = Layout(engine.model, request.joint_names, engine.prefix)
        q = layout.positions(request.positions)
        v = layout.rates("velocities", request.velocities, len(q))
        a = layout.rates("accelerations", request.accelerations, len(q))
        f_ext = wrenches(request.external_wrenches, len(q), engine.prefix)
        terms = list(request.terms) or self.values["terms"]
        response.efforts = layout.flat(inverse_dynamics_terms(engine.robot, q, v, a, terms, f_ext=f_ext))
        response.joint_names = layout.names

    def _forward_dynamics(self, engine: Engine, request: Any, response: Any) -> None:
        layout = Layout(engine.model, request.joint_names, engine.prefix)
        q = layout.positions(request.positions)
        v = layout.rates("velocities", request.velocities, len(q))
        tau = layout.rates("efforts", request.efforts, len(q)) - self._friction(engine, v)
        f_ext = wrenches(request.external_wrenches, len(q), engine.prefix)
        response.accelerations = layout.flat(engine.robot.forward_dynamics(q, v, tau, f_ext=f_ext))
        response.joint_names = layout.names

    def _hybrid_dynamics(self, engine: Engine, request: Any, response: Any) -> None:
        layout = Layout(engine.model, request.joint_names, engine.prefix)
        q = layout.positions(request.positions)
        v = layout.rates("velocities", request.velocities, len(q))
        prescribed = layout.flags("prescribed", request.prescribed)
        a = np.where(prescribed, layout.rates("accelerations", request.accelerations, len(q)), 0.0)
        tau = np.where(prescribed, 0.0, layout.rates("efforts", request.efforts, len(q)))
        f_ext = wrenches(request.external_wrenches, len(q), engine.prefix)
        friction = self._friction(engine, v)
        a_all, moving = engine.robot.hybrid_dynamics(q, v, a, tau - friction, prescribed, f_ext=f_ext)
        tau_all = np.where(prescribed, moving + friction, tau)
        response.accelerations, response.efforts = layout.flat(a_all), layout.flat(tau_all)
        response.joint_names = layout.names

    def _dynamics_terms(self, engine: Engine, request: Any, response: Any) -> None:
        layout = Layout(engine.model, request.joint_names, engine.prefix)
        q = layout.positions(request.positions)
        v = layout.rates("velocities", request.velocities, len(q))
        robot = engine.robot
        response.mass_matrix = layout.flat_matrices(robot.mass_matrix(q))
        response.coriolis = layout.flat(robot.coriolis(q, v))
        response.gravity = layout.flat(robot.gravity(q))
        response.friction = layout.flat(self._friction(engine, v))
        response.kinetic_energy = flat(robot.kinetic_energy(q, v))
        response.potential_energy = flat(robot.potential_energy(q))
        response.joint_names = layout.names

    def _fill_trajectory(self, engine: Engine, request: Any, response: Any) -> None:
        terms = list(request.terms) or self.values["terms"]
        response.trajectory = filled_trajectory(request, engine.robot, engine.reader, engine.prefix, terms)

    def _constrained(self, answer: Callable[..., None]) -> Callable[[Engine, Any, Any], None]:
        def service(engine: Engine, request: Any, response: Any) -> None:
            x = constrained_services.ConstrainedRequest(engine.model, engine.prefix, engine.known, request)
            if not engine.known.is_ready(x.constraints):
                rows = ", ".join(x.constraints.row_names)
                self.get_logger().info(f"constraint rows of a new form: a call waits for the compiler ({rows})")
                engine.known.make_ready(x.constraints)
            answer(engine.robot, x, request, response, self._friction(engine, x.v))

        return service

    def _friction(self, engine: Engine, v: np.ndarray) -> np.ndarray:
        """Friction torque (N, nv), zero where this server does not model friction."""
        if FRICTION not in self.values["terms"]:
            return np.zeros_like(v)
        return engine.robot.friction_torque(v)

    # --- the rest ---------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        """Where joints are that a trajectory does not name."""
        if self.engine is not None and self.engine.reader is not None:
            now = self.get_clock().now().nanoseconds
            self.engine.reader.read(message.name, message.position, message.velocity, now)

    def report(self, status: Status) -> None:
        status.values["requests answered"] = self._counts["answered"]
        status.values["requests refused"] = self._counts["refused"]
        if self._payloads.mass:
            status.values["payload, kg"] = f"{self._payloads.mass:g}"


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(process.run(DynamicsServerNode, args))


if __name__ == "__main__":
    main()
