# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node that is in use: accepted as a whole or not at all, and set back where what they want fails."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter as RosParameter

from rbd_dynamics.nodes import parameters
from rbd_dynamics.nodes.described_node import DescribedNode
from rbd_dynamics.nodes.description import P, check_text, check_whole_text, message_of
from rbd_dynamics.nodes.engines import E
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.rclpy_private import given_parameters


class TunableNode(DescribedNode[P, E]):
    """`params` are the parameters as they are now."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface.executable, **options)
        values = parameters.declare(self, interface.parameters)
        for name in given_parameters(self):
            if not self.has_parameter(name):
                self.get_logger().warning(f"there is no parameter {name!r}: it is ignored")
        self.params = interface.parameter_set.of(values)
        if hasattr(self, "add_pre_set_parameters_callback"):  # Humble has none, and takes exact types only
            table = interface.parameters
            self.add_pre_set_parameters_callback(lambda changes: parameters.converted(table, changes))
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.configured = False
        self._agreed = self.params  # what the engine works with: where a build fails, they become so again
        self._proven_description: str | None = None  # the parameter when an engine was last made
        self._setting_back = False

    # --- what a node says about itself ------------------------------------------------------------

    def needs_another(self, new: P) -> bool:
        """Whether these parameters want another engine, made aside and taken over between two cycles."""
        return False

    def go_with_another(self, new: P) -> Collection[str]:
        """Names of parameters whose values would be wrong for the engine in use, while another is built for these."""
        return ()

    def parameters_changed(self, engine: E, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError where they do not fit it."""

    def time_source_changed(self, simulated: bool) -> None:
        """Called where parameter use_sim_time changes at run time, just before the clock does."""

    def apply_meanwhile(self, new: P, apply: Callable[[P], None]) -> None:
        """While another engine is built let the one in use have what changes now, for a build can take minutes.

        apply: to the engine in use; raises ValueError or ArithmeticError, and then changes nothing. What does not fit
        that engine is in force with the next one, as is what goes with another.
        """
        later = self.go_with_another(new)
        changed = [
            each.name
            for each in new.table()
            if each.name not in later and getattr(new, each.name) != getattr(self.params, each.name)
        ]
        if not changed:
            return
        try:
            apply(replace(self._agreed, **{name: getattr(new, name) for name in changed}))
        except (ValueError, ArithmeticError) as error:
            names = ", ".join(changed)
            self.get_logger().warning(f"{names}: in force once the build under way has ended: {message_of(error)}")

    # --- changes ----------------------------------------------------------------------------------

    def _on_set_parameters(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        """All of the changes, or none: nothing is refused after something has been taken."""
        if self._setting_back:
            return SetParametersResult(successful=True)
        try:
            new = self.params.changed(changes, self.configured)
            described = new.robot_description != self.params.robot_description
            if described:
                self._check_description(new)
            if self.engine is not None:
                self.parameters_changed(self.engine, new)
        except (ValueError, KeyError, ArithmeticError) as error:
            return SetParametersResult(successful=False, reason=message_of(error))
        except Exception as error:  # a fault of ours: say so, and live on
            self.get_logger().error(traceback.format_exc())
            return SetParametersResult(successful=False, reason=f"internal error: {type(error).__name__}: {error}")
        another = self.configured and (self.needs_another(new) or (self.engine is None and not self.building))
        self.params = new
        if described and self.configured and new.robot_description:
            self.take_description(new.robot_description)
        elif another and self._description:
            self.take_description(self._description)
        elif not self.building:
            self._agreed = new
        else:  # it stays also where the build fails, if it goes with what there is then
            later = self.go_with_another(new)
            with suppress(ValueError):
                self._agreed = self._agreed.changed([each for each in changes if each.name not in later], False)
        if described and self.configured and not new.robot_description:
            self.return_to_topic()
        for change in changes:
            if change.name == "use_sim_time":
                self.time_source_changed(bool(change.value))
        return SetParametersResult(successful=True)

    def _check_description(self, new: P) -> None:
        """What can be told of another one without keeping torques waiting. Raises ValueError."""
        text, what = new.robot_description, "robot_description: "
        if not self.configured:
            if text:
                check_whole_text(text, new.largest_description, what)
        elif text or (self.engine is not None and self._agreed.robot_description):
            check_text(text, what)

    def _adopt(self, engine: E) -> None:
        super()._adopt(engine)
        self._agreed = self.params
        self._proven_description = self.params.robot_description

    def set_back(self) -> list[str]:
        was = self.params.robot_description
        if self.engine is None:
            new = self.params
            if self._description == new.robot_description:
                new, self._description = replace(new, robot_description=self._agreed.robot_description), ""
        else:
            if self._description is self._topic_description:
                self._topic_description = ""  # it is not tried again
            new, self._description = self._agreed, self._adopted_description
            try:
                self.parameters_changed(self.engine, new)
            except (ValueError, KeyError, ArithmeticError) as error:  # it keeps what it works with
                self.get_logger().error(f"parameters are not set back: {message_of(error)}")
        changed = self._go_back_to(new)
        if was and not new.robot_description:
            self.return_to_topic()
        return changed

    def set_back_description(self) -> list[str]:
        """The node cannot be configured: the parameter is again what it was when it could, if ever it was."""
        proven = self._proven_description
        return [] if proven is None else self._go_back_to(replace(self.params, robot_description=proven))

    def _go_back_to(self, new: P) -> list[str]:
        """Names of the parameters that were not so."""
        different = [each for each in new.table() if getattr(new, each.name) != getattr(self.params, each.name)]
        self.params = new
        self._setting_back = True
        try:
            self.set_parameters([parameters.as_ros(each, getattr(new, each.name)) for each in different])
        finally:
            self._setting_back = False
        return [each.name for each in different]
