# SPDX-License-Identifier: Apache-2.0
"""A node around one robot: of its description it makes an engine, aside, and takes that over between two callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from std_msgs.msg import String

from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.build import Build
from rbd_dynamics.nodes.build_queue import BuildQueue
from rbd_dynamics.nodes.description import BuildError, P, Progress, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import E
from rbd_dynamics.nodes.entity_node import EntityNode
from rbd_dynamics.nodes.large_texts import LargeTexts
from rbd_dynamics.nodes.messages import LATCHED

NONE_YET = "no robot_description yet"


class DescribedNode(EntityNode[P], Generic[P, E]):
    """`engine` is what the node works with: all of one model, never half of a new one."""

    def __init__(self, executable: str, **options: Any) -> None:
        super().__init__(executable, **options)
        self.engine: E | None = None
        self.active = False
        self._builds: BuildQueue[P, E] = BuildQueue(self._build_of)
        self._description: str | bytes = ""  # the latest
        self._adopted_description: str | bytes = ""  # what the engine was made of
        self._topic_description: str | bytes = ""  # the topic's latest, whether it counted or not
        self._description_problem = NONE_YET
        self._texts: LargeTexts | None = None  # of the topic
        self._tellers: list[Callable[[], None]] = []

    # --- what a node says about itself ------------------------------------------------------------

    @staticmethod
    def build(model: Model, params: P, progress: Progress) -> E:
        """What the node needs for a model, kernels compiled. Runs in another process, then in another thread."""
        raise NotImplementedError

    def adopt(self, engine: E) -> None:
        """Take over what `build` has made; `self.engine` still is the old one, or None."""

    def set_back(self) -> list[str]:
        """A build has failed: parameters are again what the engine works with. Names of those that were not."""
        return []

    def when_adopted(self, tell: Callable[[], None]) -> None:
        """Call it after each `adopt`, until the node is cleaned up."""
        self._tellers.append(self.keep(tell, self._tellers.remove))

    # --- descriptions -----------------------------------------------------------------------------

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
        self._topic_description = text
        if self.params.robot_description:
            self.refuse("topic robot_description ignored: the parameter of that name has been set")
        else:
            self.take_description(text)

    def take_description(self, text: str | bytes) -> None:
        """Begin to use another description; the old one stays in use until the new one is ready."""
        self._description = text
        self._builds.take(text)

    def return_to_topic(self) -> None:
        """The parameter is empty again: the topic's latest text counts, which came while it was not."""
        if self._topic_description and self._topic_description is not self._adopted_description:
            self.take_description(self._topic_description)
            return
        self._description = self._adopted_description
        self._builds.drop()
        if self.engine is None:
            self._description_problem = NONE_YET

    def use_description(self, text: str) -> None:
        """Wait until this one is in use. Raises BuildError."""
        self._description = text
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
            changed = self.set_back()
            back = f"; set back: {', '.join(changed)}" if changed else ""
            self._description_problem = f"{message_of(error)}{kept}{back}"
            self.get_logger().error(self._description_problem)

    @property
    def building(self) -> bool:
        """Another engine is under way."""
        return self._builds.under_way is not None

    def forget_robot(self) -> None:
        """No description, no engine, and nothing under way."""
        self._builds.abandon()
        self.destroy_entities()
        self._texts = None
        self.engine = None
        self._description = self._adopted_description = self._topic_description = ""
        self._description_problem = NONE_YET

    def report_robot(self, status: Status, *, wanted: bool) -> None:
        """For the diagnostics. wanted: there should be one."""
        if self.building:
            status.warn("compiling for a new robot_description or task")
        if self._description_problem and wanted:
            (status.error if self.engine is None else status.warn)(self._description_problem)
        if self.engine is not None:
            status.values["robot"] = self.engine.model.name

    def _adopt(self, engine: E) -> None:
        self.adopt(engine)
        self.engine = engine
        self._adopted_description = self._description
        self._description_problem = ""
        for tell in self._tellers:
            tell()
        self.get_logger().info(f"ready for {engine.model.name!r}: {', '.join(engine.model.joint_names)}")

    def _build_of(self, text: str | bytes) -> Build[P, E]:
        in_use = self.active and self.engine is not None
        return Build(text, self.params, self.build, self._log_progress, self._log_warning, in_use=in_use)

    def _log_warning(self, message: str) -> None:
        self.get_logger().warning(message)

    def _log_progress(self, name: str, number: int, total: int) -> None:
        self.get_logger().info(f"kernel {number} of {total}: {name}")
