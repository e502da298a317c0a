# SPDX-License-Identifier: Apache-2.0
"""The robot that a node works with: of a description an engine is made, aside, and taken over between two callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, Protocol

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import String

from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.building.build import Build
from rbd_dynamics.nodes.building.build_queue import BuildQueue
from rbd_dynamics.nodes.managed.description_text import BuildError, Doubt, P, Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import E
from rbd_dynamics.nodes.managed.entities import Entities
from rbd_dynamics.nodes.managed.messages import LATCHED
from rbd_dynamics.nodes.process.stopping import stop_requested
from rbd_dynamics.nodes.wire.large_texts import LargeTexts

LOOK = 0.02  # s: how often it is looked for a text that is waited for
NONE_YET = "no robot_description yet"


class Adopter(Protocol):
    """What is asked of the node."""

    active: bool

    @property
    def entities(self) -> Entities: ...

    @property
    def params(self) -> Any: ...

    def build(self, model: Model, params: Any, progress: Progress) -> Any:
        """What the node needs for a model, kernels compiled. A function that others can import: see `Build`."""

    def adopt(self, engine: Any) -> None:
        """Take over what `build` has made."""

    def adopted(self) -> None:
        """It is in use now."""

    def set_back(self) -> list[str]:
        """A build has failed: parameters are again what the engine works with. Names of those that were not."""


class AdoptedDescription(Generic[P, E]):
    """The description that is in use, of those that come on the topic or as the parameter, and what it was made to.

    Attributes:
        engine: what the node works with: all of one model, never half of a new one; None until there is one.
        text: the latest description, in use or not.
        problem: why it is not in use; empty where it is.
        doubt: of nodes that command a robot: raises BuildError where an engine may be of another one, and nobody has
            agreed to it.
        refused: what was refused for that; empty: nothing.
    """

    def __init__(self, node: LifecycleNode, adopter: Adopter) -> None:
        self._node, self._adopter = node, adopter
        self.engine: E | None = None
        self.text: str | bytes = ""
        self.problem = NONE_YET
        self.doubt: Callable[[E], None] = lambda engine: None
        self.refused: str | bytes = ""
        self._agreed: str | bytes = ""  # a text of the topic that somebody has agreed to
        self._builds: BuildQueue[P, E] = BuildQueue(self._build_of)
        self._adopted: str | bytes = ""  # what the engine was made of
        self._published: str | bytes = ""  # the topic's latest, whether it counted or not
        self._texts: LargeTexts | None = None  # of the topic
        self._tellers: list[Callable[[], None]] = []

    def when_adopted(self, tell: Callable[[], None]) -> None:
        """Call it whenever another engine is in use, until the node is cleaned up."""
        self._tellers.append(self._adopter.entities.keep(tell, self._tellers.remove))

    # --- descriptions -----------------------------------------------------------------------------

    def listen(self) -> None:
        """Listen to the topic robot_description."""
        try:
            self._texts = LargeTexts(
                self._node, "robot_description", LATCHED,
                largest=lambda: self._adopter.params.largest_description,
                bound="parameter 'largest_description'",
                refuse=self._adopter.entities.refuse,
            )  # fmt: skip
        except (OSError, ImportError, AttributeError, TypeError) as error:
            self._node.get_logger().warning(f"a large description may delay torques here: {error}")
            self._adopter.entities.subscribe(String, "robot_description", self._on_message, LATCHED)
        else:
            self._adopter.entities.keep(self._texts, LargeTexts.close)

    def _on_message(self, message: String) -> None:
        self._take_published(message.data)

    def _take_published(self, text: str | bytes) -> None:
        self._published = text
        if self._adopter.params.robot_description:
            self._adopter.entities.refuse("topic robot_description ignored: the parameter of that name has been set")
        else:
            self.take(text)

    def take(self, text: str | bytes) -> None:
        """Begin to use another description; the old one stays in use until the new one is ready.

        Nobody agrees any more to one that was refused before.
        """
        self.text, self.refused = text, ""
        self._builds.take(text)

    def agree(self) -> None:
        """Take over what was refused."""
        self._agreed = self._published = self.refused
        self.take(self._agreed)

    @property
    def unasked(self) -> bool:
        """What is being taken over came on the topic, while another robot is commanded, and nobody has agreed to it."""
        in_use = self._adopter.active and self.engine is not None
        from_topic = self.text is self._published and self.text is not self._agreed
        return in_use and from_topic and self.text != self._adopted

    def return_to_topic(self) -> None:
        """The parameter is empty again: the topic's latest text counts, which came while it was not."""
        if self._published and self._published is not self._adopted:
            self.take(self._published)
            return
        self.text = self._adopted
        self._builds.drop()
        if self.engine is None:
            self.problem = NONE_YET

    def wait(self, seconds: float, topic: str) -> None:
        """Wait for the topic's text until it is in use; 0: not at all. Raises BuildError.

        Only where no executor is needed for that: see `listen`.
        """
        if not seconds or self._texts is None:
            return
        end = time.monotonic() + seconds
        while (text := self._texts.latest()) is None:
            if time.monotonic() > end or stop_requested.wait(LOOK):
                raise BuildError(f"no robot_description on topic {topic} within {seconds:g} s (description_timeout)")
        self._published = text
        self.use(text)

    def use(self, text: str | bytes) -> None:
        """Wait until this one is in use. Raises BuildError."""
        self.text = text
        self._adopt(self._build_of(text).run())

    def poll(self) -> None:
        """Begin with what has come, and take over what has been built meanwhile. Called between two cycles."""
        if self._texts is not None and (latest := self._texts.latest()) is not None:
            self._take_published(latest)
        build = self._builds.finished()
        if build is None:
            return
        try:
            self._adopt(build.result())
        except (BuildError, ValueError, KeyError, ArithmeticError) as error:
            kept = "" if self.engine is None else "; the one before stays in use"
            changed = self._adopter.set_back()
            back = f"; set back: {', '.join(changed)}" if changed else ""
            self.problem = f"{message_of(error)}{kept}{back}"
            self._node.get_logger().error(self.problem)

    @property
    def building(self) -> bool:
        """Another engine is under way."""
        return self._builds.under_way is not None

    def drop_failed(self) -> None:
        """What is in use counts again; a text of the topic that could not be used is not tried again."""
        if self.text is self._published:
            self._published = ""
        self.text = self._adopted

    def abandon(self) -> None:
        """Nothing is under way any more."""
        self._builds.abandon()

    def forget(self) -> None:
        """No description, no engine, and nothing under way."""
        self.abandon()
        self._texts = None
        self.engine = None
        self.text = self._adopted = self._published = self.refused = self._agreed = ""
        self.problem = NONE_YET

    def report(self, status: Status, *, wanted: bool) -> None:
        """Add to the diagnostics. wanted: there should be a robot."""
        if self.building:
            status.warn("compiling for a new robot_description or task")
        if self.problem and wanted:
            (status.error if self.engine is None or self.refused else status.warn)(self.problem)
        if self.engine is not None:
            status.values["robot"] = self.engine.model.name

    def _adopt(self, engine: E) -> None:
        try:
            if self.unasked:
                self.doubt(engine)
            self._adopter.adopt(engine)
        except Doubt:
            self.refused = self.text
            raise
        self.engine = engine
        self._adopted = self.text
        self.problem = self.refused = self._agreed = ""
        for tell in self._tellers:
            tell()
        self._node.get_logger().info(f"ready for {engine.model.name!r}: {', '.join(engine.model.joint_names)}")
        self._adopter.adopted()

    def _build_of(self, text: str | bytes) -> Build[P, E]:
        in_use = self._adopter.active and self.engine is not None
        node = self._adopter
        return Build(text, node.params, node.build, self._log_progress, self._log_warning, in_use=in_use)

    def _log_warning(self, message: str) -> None:
        self._node.get_logger().warning(message)

    def _log_progress(self, name: str, number: int, total: int) -> None:
        self._node.get_logger().info(f"kernel {number} of {total}: {name}")
