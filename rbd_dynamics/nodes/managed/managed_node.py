# SPDX-License-Identifier: Apache-2.0
"""The base of every node: its life cycle and its diagnostics.

A node says what it makes of a robot model (`build`, which may take long and runs aside) and how it takes
the result over (`adopt`, between two callbacks). `engine` is what it works with. What else it does is in its parts.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Generic

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.service import Service
from rclpy.subscription import Subscription

from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.managed.adopted_description import AdoptedDescription
from rbd_dynamics.nodes.managed.answering import answer_always
from rbd_dynamics.nodes.managed.description_text import BuildError, P, Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Diagnostics, Status
from rbd_dynamics.nodes.managed.engines import E
from rbd_dynamics.nodes.managed.entities import Entities
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.managed.tuning import Tuning

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR
POLL_PERIOD = 0.05  # s: how soon a new description is taken over while nothing else happens


class ManagedNode(LifecycleNode, Generic[P, E]):
    """A life-cycle node around one robot, with parameters P and an engine E; options are rclpy's.

    Attributes:
        entities: its publishers, subscriptions, services and timers, from configuration to cleanup.
        tuning: its parameters.
        description: the robot it works with.
        parts: what it is made of besides, in the order in which they are told of anything.
    """

    #: parameters for which another engine is built, each with those whose values only go with its value
    BUILT: ClassVar[Mapping[str, Collection[str]]] = {}

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        self.entities = Entities(self, lambda: self.params.largest_message)  # rclpy asks for it at once
        self.parts: list[Part] = []
        self.answering: tuple[Callable[[int], None], ...] = ()  # the parts' `answered`, of those that have one
        self.active = self.configured = False
        self._waits = False  # for a robot, to be activated with it
        super().__init__(interface.executable, **options)
        answer_always(self)
        self.description: AdoptedDescription[P, E] = AdoptedDescription(self, self)
        self.tuning: Tuning[P, E] = Tuning(self, interface, self, self.description)
        self._finalized = False
        self._failed = ""  # the last transition, and why
        self._diagnostics = Diagnostics(self, interface.executable, self.report_all)

    @property
    def params(self) -> P:
        """The parameters as they are now."""
        return self.tuning.params

    @property
    def engine(self) -> E | None:
        """What the node works with: all of one model, never half of a new one."""
        return self.description.engine

    @property
    def building(self) -> bool:
        """Another engine is under way."""
        return self.description.building

    def refuse(self, reason: str) -> None:
        """Note that some input was not used: see `Refusals`."""
        self.entities.refuse(reason)

    def poll(self) -> None:
        """Begin with what has come, and take over what is ready. Called between two cycles."""
        self.description.poll()
        if self._waits and self.engine is not None:
            self._waits = False
            self.trigger_activate()

    # --- what a node says about itself ------------------------------------------------------------

    @staticmethod
    def build(model: Model, params: P, progress: Progress) -> E:
        """What the node needs for a model, kernels compiled. Runs in another process, then in another thread."""
        raise NotImplementedError

    def adopt(self, engine: E) -> None:
        """Take over what `build` has made; `self.engine` still is the old one, or None."""

    def open(self) -> None:
        """Make publishers, subscriptions and services, with `entities`; those of the parts are there."""

    def activated(self) -> None:
        """Called on activation, after the parts."""

    def report(self, status: Status) -> None:
        """Add to the diagnostics, after the parts."""

    def needs_another(self, new: P) -> bool:
        """Whether these parameters want another engine, made aside and taken over between two cycles."""
        return any(getattr(new, name) != getattr(self.params, name) for name in self.BUILT)

    def go_with_another(self, new: P) -> Collection[str]:
        """Names of parameters whose values would be wrong for the engine in use, while another is built for these."""
        changed = [name for name in self.BUILT if getattr(new, name) != getattr(self.tuning.agreed, name)]
        return {each for name in changed for each in self.BUILT[name]}

    def parameters_changed(self, engine: E, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError where they do not fit it."""

    def time_source_changed(self, simulated: bool) -> None:
        """Called where parameter use_sim_time changes at run time, just before the clock does."""

    def adopted(self) -> None:
        """What was taken over is in use."""
        self.tuning.adopted()

    def set_back(self) -> list[str]:
        """A build has failed: parameters are again what the engine works with. Names of those that were not."""
        return self.tuning.set_back()

    # --- what no executor takes -------------------------------------------------------------------

    @property
    def services(self) -> Iterator[Service]:
        """Those of the executor."""
        return (each for each in super().services if not self.entities.takes(each))

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Those of the executor."""
        return (each for each in super().subscriptions if not self.entities.takes(each))

    def destroy_service(self, service: Service) -> bool:
        self.entities.release(service)
        return bool(super().destroy_service(service))

    def destroy_subscription(self, subscription: Subscription) -> bool:
        self.entities.release(subscription)
        return bool(super().destroy_subscription(subscription))

    # --- life cycle -------------------------------------------------------------------------------

    def start(self) -> None:
        """Configure, and activate as soon as there is a robot, unless a life-cycle manager does both."""
        if not self.params.autostart:
            return
        self._waits = True
        if self.trigger_configure() == SUCCESS:
            self.poll()

    def leave(self) -> None:
        """The process was asked to end: begin what has to be done before."""
        self._end("the process was asked to end")

    @property
    def leaving(self) -> bool:
        """That is not done yet; callbacks go on meanwhile."""
        return any(part.leaving for part in self.parts)

    def finish(self) -> None:
        """End all that is under way, before the node is destroyed."""
        self.entities.close()
        self._end("the process ends")
        for part in self.parts:
            part.close()
        self.active = False
        self.description.abandon()

    def _end(self, reason: str) -> None:
        for part in self.parts:
            part.ends(reason)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._guarded("configure", self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._guarded("activate", self._activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._guarded("deactivate", self._deactivate, ERROR)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._guarded("clean up", self._clean_up, ERROR)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._finalized = True
        return self._guarded("shut down", self._clean_up)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._end("a transition failed")
        return self._guarded("recover", self._clean_up)

    def _guarded(
        self, what: str, action: Callable[[], None], failed: TransitionCallbackReturn = FAILURE
    ) -> TransitionCallbackReturn:
        """failed: what an exception means. Of what shall end it is an error, which cleans up: it must not go on."""
        try:
            action()
        except BuildError as error:
            self._failed = f"cannot {what}: {error}"
            self.get_logger().error(self._failed)
            return failed
        except Exception as error:
            self._failed = f"cannot {what}: internal error: {type(error).__name__}: {message_of(error)}"
            self.get_logger().error(f"cannot {what}: {traceback.format_exc()}")
            return failed
        if what != "recover":  # where that was needed, why is still to be told
            self._failed = ""
        return SUCCESS

    def _configure(self) -> None:
        self.tuning.agreed = self.params
        try:
            if self.params.robot_description:
                self._configure_with(self.params.robot_description)
            else:
                self.description.listen()
                topic = self.resolve_topic_name("robot_description")
                self.get_logger().info(f"waiting for robot_description: on topic {topic}, or as the parameter")
                if not self._waits:
                    self.description.wait(self.params.description_timeout, topic)
            for part in self.parts:
                part.open()
            self.open()
            self.entities.every(POLL_PERIOD, self.poll)
            self.configured = True
        except Exception:
            self._clean_up()
            raise

    def _configure_with(self, text: str) -> None:
        try:
            self.description.use(text)
        except BuildError as error:
            if not (changed := self.tuning.set_back_description()):
                raise
            raise BuildError(f"{error}; set back: {', '.join(changed)}") from None

    def _activate(self) -> None:
        if self.engine is None:
            raise BuildError(self.description.problem)
        self.answering = tuple(part.answered for part in self.parts if type(part).answered is not Part.answered)
        for part in self.parts:
            part.activated()
        self.activated()
        self.active = True
        self.get_logger().info("active")

    def _deactivate(self) -> None:
        self._end("deactivated")
        self.active = False

    def _clean_up(self) -> None:
        self._waits = False
        self._end("shut down" if self._finalized else "cleaned up")
        self.active = self.configured = False
        self.description.abandon()
        self.entities.destroy()
        self.description.forget()

    # --- diagnostics ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the life cycle, as ROS 2 names it."""
        if self._finalized:
            return "finalized"
        return "active" if self.active else "inactive" if self.configured else "unconfigured"

    def report_all(self, status: Status) -> None:
        """The whole report of the node and its parts."""
        status.values["state"] = self.state
        if self._failed:
            status.error(self._failed)
        self.description.report(status, wanted=self.configured)
        for part in self.parts:
            part.report(status)
        self.report(status)
        self.entities.report(status)
