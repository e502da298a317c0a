# SPDX-License-Identifier: Apache-2.0
"""The base of every node: life cycle, parameters, robot description and diagnostics in one place.

A node says what it makes of a robot model (`build`, which may take long and runs aside) and how it takes
the result over (`adopt`, between two callbacks). `engine` is what it works with: all of one model, never
half of a new one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes import parameters
from rbd_dynamics.nodes.answering import always, answer_always
from rbd_dynamics.nodes.build import Build
from rbd_dynamics.nodes.description import BuildError, P, Progress, check_text, message_of
from rbd_dynamics.nodes.diagnostics import Diagnostics, Status
from rbd_dynamics.nodes.engines import E
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.large_texts import LargeTexts
from rbd_dynamics.nodes.rclpy_private import given_parameters

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
POLL_PERIOD = 0.05  # s: how soon a new description is taken over while nothing else happens
T = TypeVar("T")


class ManagedNode(LifecycleNode, Generic[P, E]):
    """A life-cycle node around one robot, with parameters P and an engine E; options are rclpy's."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface.executable, **options)
        answer_always(self)
        values = parameters.declare(self, interface.parameters)
        for name in given_parameters(self):
            if not self.has_parameter(name):
                self.get_logger().warning(f"there is no parameter {name!r}: it is ignored")
        self.params = interface.parameter_set.of(values)
        if hasattr(self, "add_pre_set_parameters_callback"):  # Humble has none, and takes exact types only
            table = interface.parameters
            self.add_pre_set_parameters_callback(lambda changes: parameters.converted(table, changes))
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.engine: E | None = None
        self.active = False
        self._configured = self._finalized = False
        self._entities: list[tuple[Callable[[Any], object], Any]] = []
        self._build: Build[P, E] | None = None  # under way
        self._waiting: str | bytes | None = None  # the next description, while a build is under way
        self._description: str | bytes = ""  # the latest
        self._texts: LargeTexts | None = None  # of the topic
        self._description_problem = "no robot_description yet"
        self._adopted_description: str | bytes = ""  # what the engine was made of
        self._agreed = self.params  # what the engine works with: where a build fails, they become so again
        self._setting_back = False
        self._failed = ""  # the last transition, and why
        self._refused: dict[str, int] = {}
        self._diagnostics = Diagnostics(self, interface.executable, self._report)

    # --- what a node says about itself ------------------------------------------------------------

    @staticmethod
    def build(model: Model, params: P, progress: Progress) -> E:
        """What the node needs for a model, kernels compiled. Runs in another process, then in another thread."""
        raise NotImplementedError

    def adopt(self, engine: E) -> None:
        """Take over what `build` has made; `self.engine` still is the old one, or None."""

    def open(self) -> None:
        """Make publishers, subscriptions and services, with `subscribe`, `serve`, `publish_on`."""

    def activated(self) -> None:
        """Called on activation."""

    def needs_another(self, new: P) -> bool:
        """Whether these parameters want another engine, made aside and taken over between two cycles."""
        return False

    def parameters_changed(self, engine: E, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError where they do not fit it."""

    def report(self, status: Status) -> None:
        """Add to the diagnostics."""

    def time_source_changed(self, simulated: bool) -> None:
        """Called where parameter use_sim_time changes at run time, just before the clock does."""

    # --- entities ---------------------------------------------------------------------------------

    def publish_on(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> Publisher:
        return self.keep(self.create_publisher(kind, topic, qos), self.destroy_publisher)

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile | int = 10,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
    ) -> None:
        """Messages of at most `largest()` bytes, by default `largest_message`; raw: as these bytes.

        What is larger is refused before a Python object is made of it, which takes longer than all else.
        """

        take = self.bounded(kind, topic, callback, raw=raw, largest=largest)
        self.keep(self.create_subscription(kind, topic, take, qos, raw=True), self.destroy_subscription)

    def bounded(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        *,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
    ) -> Callable[[bytes], None]:
        """A callback of a raw subscription, which does what `subscribe` says."""

        def take(data: bytes) -> None:
            most = self.params.largest_message if largest is None else largest()
            if len(data) > most:
                self.refuse(f"message on {topic} refused: more than {most} bytes")
                return
            if raw:
                callback(data)
                return
            try:
                message = deserialize_message(data, kind)
            except (RuntimeError, ValueError, MemoryError) as error:
                self.refuse(f"message on {topic} refused: it cannot be read: {type(error).__name__}")
                return
            callback(message)

        return take

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        self.keep(self.create_service(kind, name, always(self, callback, faults=True)), self.destroy_service)

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """A timer of wall time, whatever use_sim_time says."""
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.keep(self.create_timer(period, callback, clock=clock), self.destroy_timer)

    def keep(self, entity: T, destroy: Callable[[T], object]) -> T:
        """An entity that is destroyed when the node is cleaned up."""
        self._entities.append((destroy, entity))
        return entity

    def refuse(self, reason: str) -> None:
        """Note that some input was not used: counted in the diagnostics, logged at most once a second."""
        if len(self._refused) >= 20 and reason not in self._refused:
            self._refused.clear()
        self._refused[reason] = self._refused.get(reason, 0) + 1
        self.get_logger().warning(reason, throttle_duration_sec=1.0)

    # --- life cycle -------------------------------------------------------------------------------

    def start(self) -> None:
        """Configure and activate at once, unless a life-cycle manager does."""
        if self.params.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def leave(self) -> None:
        """The process was asked to end: begin what has to be done before."""

    @property
    def leaving(self) -> bool:
        """That is not done yet; callbacks go on meanwhile."""
        return False

    def finish(self) -> None:
        """Before the node is destroyed."""
        self.active = False
        self._abandon_build()

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
        text = self._description = self.params.robot_description
        self._agreed = self.params
        try:
            if text:
                self._adopt(self._build_of(text).run())
            else:
                self._listen_to_descriptions()
                self.get_logger().info("waiting for robot_description")
            self.open()
            self.every(POLL_PERIOD, self.poll)
            self._configured = True
        except Exception:
            self._clean_up()
            raise

    def _activate(self) -> None:
        self.activated()
        self.active = True
        self.get_logger().info("active")

    def _deactivate(self) -> None:
        self.active = False

    def _clean_up(self) -> None:
        self.active = self._configured = False
        self._abandon_build()
        for destroy, entity in reversed(self._entities):
            destroy(entity)
        self._entities.clear()
        self._texts = None
        self.engine = None
        self._description_problem = "no robot_description yet"

    # --- robot description ------------------------------------------------------------------------

    def _listen_to_descriptions(self) -> None:
        try:
            self._texts = LargeTexts(
                self, "robot_description", LATCHED,
                largest=lambda: self.params.largest_description,
                bound="parameter 'largest_description'",
                refuse=self.refuse,
            )  # fmt: skip
        except (OSError, ImportError, AttributeError, TypeError) as error:
            self.get_logger().warning(f"a large description may delay torques here: {error}")
            self.subscribe(String, "robot_description", self._on_description, LATCHED)
        else:
            self.keep(self._texts, LargeTexts.close)

    def _on_description(self, message: String) -> None:
        self._take_published(message.data)

    def _take_published(self, text: str | bytes) -> None:
        if self.params.robot_description:
            self.refuse("topic robot_description ignored: the parameter of that name has been set")
        else:
            self.take_description(text)

    def take_description(self, text: str | bytes) -> None:
        """Begin to use another description; the old one stays in use until the new one is ready."""
        self._description = text
        if self._build is not None:  # it is out of date
            self._waiting = text
            self._build.cancel()
            return
        self._build = self._build_of(text)
        self._build.start()

    def _build_of(self, text: str | bytes) -> Build[P, E]:
        in_use = self.active and self.engine is not None
        return Build(text, self.params, self.build, self._log_progress, self._log_warning, in_use=in_use)

    def poll(self) -> None:
        """Begin with what has come, and take over what has been built meanwhile. Called between two cycles."""
        if self._texts is not None and (latest := self._texts.latest()) is not None:
            self._take_published(latest)
        build = self._build
        if build is None or not build.done:
            return
        self._build = None
        if self._waiting is not None:  # this one is out of date
            text, self._waiting = self._waiting, None
            self.take_description(text)
            return
        try:
            self._adopt(build.result())
        except (BuildError, ValueError, KeyError, ArithmeticError) as error:
            kept = "" if self.engine is None else "; the one before stays in use"
            changed = self._set_back()
            back = f"; set back: {', '.join(changed)}" if changed else ""
            self._description_problem = f"{message_of(error)}{kept}{back}"
            self.get_logger().error(self._description_problem)

    def _adopt(self, engine: E) -> None:
        self.adopt(engine)
        self.engine = engine
        self._adopted_description, self._agreed = self._description, self.params
        self._description_problem = ""
        self.get_logger().info(f"ready for {engine.model.name!r}: {', '.join(engine.model.joint_names)}")

    @property
    def building(self) -> bool:
        """Another engine is under way."""
        return self._build is not None

    def _abandon_build(self) -> None:
        build, self._build, self._waiting = self._build, None, None
        if build is not None:
            build.abandon()

    def _log_warning(self, message: str) -> None:
        self.get_logger().warning(message)

    def _log_progress(self, name: str, number: int, total: int) -> None:
        self.get_logger().info(f"kernel {number} of {total}: {name}")

    # --- parameters -------------------------------------------------------------------------------

    def _on_set_parameters(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        """All of the changes, or none: nothing is refused after something has been taken."""
        if self._setting_back:
            return SetParametersResult(successful=True)
        try:
            new = self.params.changed(changes, self._configured)
            described = self._configured and new.robot_description != self.params.robot_description
            if described:
                check_text(new.robot_description, "robot_description: ")
            if self.engine is not None:
                self.parameters_changed(self.engine, new)
        except (ValueError, KeyError, ArithmeticError) as error:
            return SetParametersResult(successful=False, reason=message_of(error))
        except Exception as error:  # a fault of ours: say so, and live on
            self.get_logger().error(traceback.format_exc())
            return SetParametersResult(successful=False, reason=f"internal error: {type(error).__name__}: {error}")
        another = self._configured and (self.needs_another(new) or (self.engine is None and not self.building))
        self.params = new
        if described:
            self.take_description(new.robot_description)
        elif another and self._description:
            self.take_description(self._description)
        elif not self.building:
            self._agreed = new
        else:  # it stays also where the build fails, if it goes with what there is then
            with suppress(ValueError):
                self._agreed = self._agreed.changed(changes, False)
        for change in changes:
            if change.name == "use_sim_time":
                self.time_source_changed(bool(change.value))
        return SetParametersResult(successful=True)

    def _set_back(self) -> list[str]:
        """After a build that failed: parameters are again what the engine works with. Names of those that were not."""
        if self.engine is None:
            new = self.params
            if self._description == new.robot_description:
                new, self._description = replace(new, robot_description=self._agreed.robot_description), ""
        else:
            new, self._description = self._agreed, self._adopted_description
            try:
                self.parameters_changed(self.engine, new)
            except (ValueError, KeyError, ArithmeticError) as error:  # it keeps what it works with
                self.get_logger().error(f"parameters are not set back: {message_of(error)}")
        different = [each for each in new.table() if getattr(new, each.name) != getattr(self.params, each.name)]
        self.params = new
        self._setting_back = True
        try:
            self.set_parameters([parameters.as_ros(each, getattr(new, each.name)) for each in different])
        finally:
            self._setting_back = False
        return [each.name for each in different]

    # --- diagnostics ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """Of the life cycle, as ROS 2 names it."""
        if self._finalized:
            return "finalized"
        return "active" if self.active else "inactive" if self._configured else "unconfigured"

    def _report(self, status: Status) -> None:
        status.values["state"] = self.state
        if self._failed:
            status.error(self._failed)
        if self.building:
            status.warn("compiling for a new robot_description or task")
        if self._description_problem and self._configured:
            (status.error if self.engine is None else status.warn)(self._description_problem)
        if self.engine is not None:
            status.values["robot"] = self.engine.model.name
        self.report(status)
        for reason, count in self._refused.items():
            status.warn(f"{reason} ({count} times)")
        status.values["refused inputs"] = sum(self._refused.values())
        self._refused.clear()
