# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics_server`: dynamics of the robot as services, one state or a whole trajectory in a call."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sensor_msgs.msg import JointState

from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.control.terms import FRICTION
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.common import SET_PAYLOAD
from rbd_dynamics.nodes.interface.dynamics_server import DYNAMICS_SERVER, DynamicsServerParameters
from rbd_dynamics.nodes.interface.tables import Service
from rbd_dynamics.nodes.managed.description_text import Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import LATEST
from rbd_dynamics.nodes.managed.payload import PayloadService
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.server import constrained_services, contact_services, dynamics_services
from rbd_dynamics.nodes.server.fill_trajectory import FillRequest
from rbd_dynamics.nodes.server.known_sets import KnownSets
from rbd_dynamics.nodes.server.server_engine import ServerEngine, build_engine
from rbd_dynamics.nodes.wire.slow_services import Begin

PLANNING, FILLING = "planning", "filling"  # threads for trajectories: of what may take minutes, and what does not
FILLED = 10  # times as many points are filled as are planned
#: fills the response to a request, whose types are the service's
Answer = Callable[[ServerEngine, Any, Any], None]
#: looks at a request and gives what fills the response, in another thread
Plan = Callable[[ServerEngine, DynamicsServerParameters, Any, Any], Callable[[], None]]


class DynamicsServerNode(ManagedNode[DynamicsServerParameters, ServerEngine]):
    """Every request is answered: with numbers, or with success = false and what is wrong with it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(DYNAMICS_SERVER, **options)
        self.payload: PayloadService[ServerEngine] = PayloadService(self, lambda engine: engine.robots)
        self.parts.append(self.payload)
        self._counts = {"answered": 0, "refused": 0}
        for name, times in ((PLANNING, 1), (FILLING, FILLED)):
            largest = partial(self._largest_trajectory, times)
            self.entities.compute_in_thread(name, largest=largest, bound="parameter 'most_trajectory_points' allows")

    @staticmethod
    def build(model: Model, params: DynamicsServerParameters, progress: Progress) -> ServerEngine:
        return build_engine(model, params, progress)

    def adopt(self, engine: ServerEngine) -> None:
        self.payload.move_to(engine)
        old = self.engine
        if old is not None and old.reader and engine.reader and old.reader.names == engine.reader.names:
            engine.reader = old.reader  # the same joints: they stand where they stood
        self._use_terms(engine, self.params)  # they may have changed meanwhile

    def needs_another(self, new: DynamicsServerParameters) -> bool:
        """Another engine is needed where friction begins or ceases to act."""
        return (FRICTION in new.terms) != (FRICTION in self.params.terms)

    def parameters_changed(self, engine: ServerEngine, new: DynamicsServerParameters) -> None:
        self._use_terms(engine, new)

    @staticmethod
    def _use_terms(engine: ServerEngine, params: DynamicsServerParameters) -> None:
        """Unless another engine is needed for them: until it is there, all answers are this one's."""
        if engine.fits(params.terms):
            engine.terms = params.terms

    def open(self) -> None:
        from rbd_dynamics.nodes.server import kinematics_services, trajectory_services
        from rbd_dynamics_interfaces import srv

        self.entities.subscribe(JointState, "joint_states", self._on_joint_state, LATEST)
        for service in DYNAMICS_SERVER.services:
            kind = getattr(srv, service.kind.rpartition("/")[2])
            name = service.name.removeprefix("~/")
            plans = (getattr(room, name, None) for room in (kinematics_services, trajectory_services))
            long: Plan | None = next(filter(None, plans), None)
            if long is not None:
                self.entities.serve_slow(kind, service.name, self._begin(long, kind.Response), thread=PLANNING)
            elif service.name == "~/fill_trajectory_efforts":
                self.entities.serve_slow(kind, service.name, self._fill, thread=FILLING, read=self._read_fill)
            elif service is not SET_PAYLOAD:
                self.entities.serve(kind, service.name, self._guard(self._of(service)))

    def _of(self, service: Service) -> Answer:
        """What answers it: the function of its name."""
        name = service.name.removeprefix("~/")
        held: constrained_services.Answer | None = getattr(constrained_services, name, None)
        if held is not None:
            return self._constrained(held)
        touching: contact_services.Answer | None = getattr(contact_services, name, None)
        if touching is not None:
            return self._in_contact(touching)
        answer: Answer = getattr(dynamics_services, name)
        return answer

    def _guard(self, answer: Answer) -> Callable[[Any, Any], Any]:
        """A service callback that turns every exception into success = false and its message."""

        def callback(request: Any, response: Any) -> Any:
            return self._answered(response, lambda: answer(self._ready_engine(), request, response))

        return callback

    def _begin(self, plan: Plan, kind: type) -> Begin:
        """The same of a service that computes apart: the request is looked at here, the rest is done elsewhere."""

        def begin(request: Any) -> Callable[[], Any]:
            response = kind()

            def planned() -> Callable[[], Any]:
                work = plan(self._ready_engine(), self.params, request, response)
                return lambda: self._answered(response, work)

            return self._begun(kind, planned)

        return begin

    def _begun(self, kind: type, prepare: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
        """What `prepare` returns; what cannot be prepared is refused."""
        try:
            return prepare()
        except Exception as error:
            refusal = self._refusal(kind, error)
            return lambda: refusal

    def _read_fill(self, raw: bytes) -> FillRequest | Exception:
        try:
            return FillRequest(raw, FILLED * self.params.most_trajectory_points)
        except Exception as error:  # told by the response
            return error

    def _fill(self, request: FillRequest | Exception) -> Callable[[], Any]:
        """Begin a request of `fill_trajectory_efforts`, whose response is bytes."""
        from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

        kind = FillTrajectoryEfforts.Response

        def prepare() -> Callable[[], Any]:
            if isinstance(request, Exception):
                raise request
            work = request.begin(self._ready_engine())

            def answered() -> Any:
                try:
                    filled = work()
                except Exception as error:
                    return self._refusal(kind, error)
                self._counts["answered"] += 1
                return filled

            return answered

        return self._begun(kind, prepare)

    def _ready_engine(self) -> ServerEngine:
        """Raises ValueError where there is none now."""
        self.poll()
        if self.engine is None or not self.active:
            raise ValueError("the server is not active" if self.engine else self.description.problem)
        return self.engine

    def _answered(self, response: Any, work: Callable[[], None]) -> Any:
        """The response, filled by the work; or another one with why it is not."""
        try:
            work()
        except Exception as error:
            return self._refusal(type(response), error)
        response.success = True
        self._counts["answered"] += 1
        return response

    def _refusal(self, kind: type, error: Exception) -> Any:
        """A response that says what is wrong."""
        self._counts["refused"] += 1
        if isinstance(error, (ValueError, KeyError, ArithmeticError)):
            return kind(success=False, message=message_of(error), **getattr(error, "fields", {}))
        self.get_logger().error("".join(traceback.format_exception(error)))  # a fault of ours: say so, and live on
        return kind(success=False, message=f"internal error: {type(error).__name__}: {error}")

    def _largest_trajectory(self, times: int) -> int:
        """Bytes of a request with so many times as many points as there may be, each with all that it may hold."""
        engine = self.engine
        joints = len(engine.model.joints) if engine is not None else 1
        return self.params.largest_message + times * self.params.most_trajectory_points * (64 + 4 * 8 * joints)

    def _constrained(self, answer: constrained_services.Answer) -> Answer:
        """A service that has its constraints ready; a form of rows that is new waits for the compiler."""

        def service(engine: ServerEngine, request: Any, response: Any) -> None:
            x = constrained_services.ConstrainedRequest(engine.model, engine.prefix, engine.known, request)
            self._make_ready(engine.known, x.constraints, x.constraints)
            answer(engine.moving, x, request, response)

        return service

    def _in_contact(self, answer: contact_services.Answer) -> Answer:
        """Likewise, with contacts."""

        def service(engine: ServerEngine, request: Any, response: Any) -> None:
            x = contact_services.ContactRequest(engine.model, engine.prefix, engine.known_contacts, request)
            self._make_ready(engine.known_contacts, x.contacts, x.contacts.rows)
            answer(engine.moving, x, request, response)

        return service

    def _make_ready(self, known: KnownSets[Any, Any], chosen: Any, rows: ConstraintSet) -> None:
        if not known.is_ready(chosen):
            names = ", ".join(rows.row_names)
            self.get_logger().info(f"constraint rows of a new form: a call waits for the compiler ({names})")
            known.make_ready(chosen)

    # --- the rest ---------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        """Remember where joints are that a trajectory does not name."""
        if self.engine is not None and self.engine.reader is not None:
            now = self.get_clock().now().nanoseconds
            self.engine.reader.read(message.name, message.position, message.velocity, now)

    def report(self, status: Status) -> None:
        status.values["requests answered"] = self._counts["answered"]
        status.values["requests refused"] = self._counts["refused"]


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(DynamicsServerNode, DYNAMICS_SERVER, args))


if __name__ == "__main__":
    main()
