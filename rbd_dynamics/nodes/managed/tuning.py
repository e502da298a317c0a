# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node that is in use: accepted as a whole or not at all, and set back where what they want fails."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, Protocol

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter as RosParameter

from rbd_dynamics.nodes.interface import Interface, parameters
from rbd_dynamics.nodes.managed.adopted_description import AdoptedDescription
from rbd_dynamics.nodes.managed.description_text import P, check_text, check_whole_text, message_of
from rbd_dynamics.nodes.managed.engines import E
from rbd_dynamics.nodes.wire.rclpy_private import given_parameters


class Tunable(Protocol):
    """What is asked of the node."""

    configured: bool

    def needs_another(self, new: Any) -> bool:
        """Whether these parameters want another engine, made aside and taken over between two cycles."""

    def go_with_another(self, new: Any) -> Collection[str]:
        """Names of parameters whose values would be wrong for the engine in use, while another is built for these."""

    def parameters_changed(self, engine: Any, new: Any) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError where they do not fit it."""

    def time_source_changed(self, simulated: bool) -> None:
        """Parameter use_sim_time changes at run time; called just before the clock does."""


class Tuning(Generic[P, E]):
    """Declares the parameters of an interface at a node.

    Attributes:
        params: as they are now.
        agreed: what the engine works with: where a build fails, they become so again.
    """

    def __init__(
        self, node: LifecycleNode, interface: Interface[P], tunable: Tunable, description: AdoptedDescription[P, E]
    ) -> None:
        self._node, self._tunable, self._description = node, tunable, description
        values = parameters.declare(node, interface.parameters)
        for name in given_parameters(node):
            if not node.has_parameter(name):
                node.get_logger().warning(f"there is no parameter {name!r}: it is ignored")
        self.params = self.agreed = interface.parameter_set.of(values)
        self._proven: str | None = None  # the parameter robot_description when an engine was last made
        self._setting_back = False
        self._unfit: frozenset[str] = frozenset()  # of the last change, what the engine in use could not have
        if hasattr(node, "add_pre_set_parameters_callback"):  # Humble has none, and takes exact types only
            table = interface.parameters
            node.add_pre_set_parameters_callback(lambda changes: parameters.converted(table, changes))
        node.add_on_set_parameters_callback(self._on_set_parameters)

    def apply_meanwhile(self, new: P, apply: Callable[[P], None]) -> None:
        """While another engine is built let the one in use have what changes now, for a build can take minutes.

        apply: to the engine in use; raises ValueError or ArithmeticError, and then changes nothing. What does not fit
        that engine is in force with the next one, as is what goes with another.
        """
        later = self._tunable.go_with_another(new)
        changed = [
            each.name
            for each in new.table()
            if each.name not in later and getattr(new, each.name) != getattr(self.params, each.name)
        ]
        try:  # where nothing changes, a change that was refused after all is undone
            apply(replace(self.agreed, **{name: getattr(new, name) for name in changed}))
        except (ValueError, ArithmeticError) as error:
            self._unfit = frozenset(changed)
            with suppress(ValueError, ArithmeticError):
                apply(self.agreed)
            names = ", ".join(changed)
            self._node.get_logger().warning(
                f"{names}: in force once the build under way has ended: {message_of(error)}"
            )

    # --- changes ----------------------------------------------------------------------------------

    def _on_set_parameters(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        """All of the changes, or none: nothing is refused after something has been taken."""
        if self._setting_back:
            return SetParametersResult(successful=True)
        node, description, configured = self._tunable, self._description, self._tunable.configured
        self._unfit = frozenset()
        try:
            new = self.params.changed(changes, configured)
            described = new.robot_description != self.params.robot_description
            if described:
                self._check_description(new)
            if description.engine is not None:
                node.parameters_changed(description.engine, new)
        except (ValueError, KeyError, ArithmeticError) as error:
            return SetParametersResult(successful=False, reason=message_of(error))
        except Exception as error:  # a fault of ours: say so, and live on
            self._node.get_logger().error(traceback.format_exc())
            return SetParametersResult(successful=False, reason=f"internal error: {type(error).__name__}: {error}")
        lacks = description.engine is None and not description.building
        another = configured and (node.needs_another(new) or lacks)
        self.params = new
        if described and configured and new.robot_description:
            description.take(new.robot_description)
        elif another and description.text:
            description.take(description.text)
        elif not description.building:
            self.agreed = new
        else:  # it stays also where the build fails, if it goes with what there is then
            later = {*node.go_with_another(new), *self._unfit}
            with suppress(ValueError):
                self.agreed = self.agreed.changed([each for each in changes if each.name not in later], False)
        if described and configured and not new.robot_description:
            description.return_to_topic()
        for change in changes:
            if change.name == "use_sim_time":
                node.time_source_changed(bool(change.value))
        return SetParametersResult(successful=True)

    def _check_description(self, new: P) -> None:
        """What can be told of another one without keeping torques waiting. Raises ValueError."""
        text, what = new.robot_description, "robot_description: "
        if not self._tunable.configured:
            if text:
                check_whole_text(text, new.largest_description, what)
        elif text or (self._description.engine is not None and self.agreed.robot_description):
            check_text(text, what)

    def adopted(self) -> None:
        """An engine is in use that was made with these parameters."""
        self.agreed = self.params
        self._proven = self.params.robot_description

    def set_back(self) -> list[str]:
        """A build has failed: parameters are again what the engine works with. Names of those that were not."""
        was, description = self.params.robot_description, self._description
        if description.engine is None:
            new = self.params
            if description.text == new.robot_description:
                new = replace(new, robot_description=self.agreed.robot_description)
                description.drop_failed()
        else:
            description.drop_failed()
            new = self.agreed
            try:
                self._tunable.parameters_changed(description.engine, new)
            except (ValueError, KeyError, ArithmeticError) as error:  # it keeps what it works with
                self._node.get_logger().error(f"parameters are not set back: {message_of(error)}")
        changed = self._go_back_to(new)
        if was and not new.robot_description:
            description.return_to_topic()
        return changed

    def set_back_description(self) -> list[str]:
        """The node cannot be configured: the parameter is again what it was when it could, if ever it was."""
        proven = self._proven
        return [] if proven is None else self._go_back_to(replace(self.params, robot_description=proven))

    def _go_back_to(self, new: P) -> list[str]:
        """Names of the parameters that were not so."""
        different = [each for each in new.table() if getattr(new, each.name) != getattr(self.params, each.name)]
        self.params = new
        self._setting_back = True
        try:
            self._node.set_parameters([parameters.as_ros(each, getattr(new, each.name)) for each in different])
        finally:
            self._setting_back = False
        return [each.name for each in different]
