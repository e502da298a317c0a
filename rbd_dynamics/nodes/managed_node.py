# SPDX-License-Identifier: Apache-2.0
"""The base of every node: its life cycle and its diagnostics.

A node says what it makes of a robot model (`build`, which may take long and runs aside) and how it takes
the result over (`adopt`, between two callbacks). `engine` is what it works with.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from rbd_dynamics.nodes.description import BuildError, P, message_of
from rbd_dynamics.nodes.diagnostics import Diagnostics, Status
from rbd_dynamics.nodes.engines import E
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.tunable_node import TunableNode

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR
POLL_PERIOD = 0.05  # s: how soon a new description is taken over while nothing else happens


class ManagedNode(TunableNode[P, E]):
    """A life-cycle node around one robot, with parameters P and an engine E; options are rclpy's."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._finalized = False
        self._failed = ""  # the last transition, and why
        self._diagnostics = Diagnostics(self, interface.executable, self._report)

    # --- what a node says about itself ------------------------------------------------------------

    def open(self) -> None:
        """Make publishers, subscriptions and services, with `subscribe`, `serve`, `publish_on`."""

    def activated(self) -> None:
        """Called on activation."""

    def report(self, status: Status) -> None:
        """Add to the diagnostics."""

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
        self._builds.abandon()

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
        self._agreed = self.params
        try:
            if self.params.robot_description:
                self._configure_with(self.params.robot_description)
            else:
                self._listen_to_descriptions()
                topic = self.resolve_topic_name("robot_description")
                self.get_logger().info(f"waiting for robot_description: on topic {topic}, or as the parameter")
            self.open()
            self.every(POLL_PERIOD, self.poll)
            self.configured = True
        except Exception:
            self._clean_up()
            raise

    def _configure_with(self, text: str) -> None:
        try:
            self.use_description(text)
        except BuildError as error:
            if not (changed := self.set_back_description()):
                raise
            raise BuildError(f"{error}; set back: {', '.join(changed)}") from None

    def _activate(self) -> None:
        self.activated()
        self.active = True
        self.get_logger().info("active")

    def _deactivate(self) -> None:
        self.active = False

    def _clean_up(self) -> None:
        self.active = self.configured = False
        self.forget_robot()

    # --- diagnostics ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """Of the life cycle, as ROS 2 names it."""
        if self._finalized:
            return "finalized"
        return "active" if self.active else "inactive" if self.configured else "unconfigured"

    def _report(self, status: Status) -> None:
        status.values["state"] = self.state
        if self._failed:
            status.error(self._failed)
        self.report_robot(status, wanted=self.configured)
        self.report(status)
        self.report_refused(status)
