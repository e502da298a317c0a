# SPDX-License-Identifier: Apache-2.0
"""Another robot description on the topic, while a node commands the robot: is it the same robot?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from std_srvs.srv import Trigger

from rbd_dynamics.nodes.managed.description_text import Doubt
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import POLL_PERIOD, ManagedNode
from rbd_dynamics.nodes.managed.messages import publishers_of
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]
TOPIC = "robot_description"
LARGEST_STEP = 0.1  # of a joint's effort limit, of the efforts that hold the robot: a heavier change is agreed to


class Acceptance(Part):
    """Refuses a description of the topic that may be of another robot, until somebody agrees to it.

    It may be where it has another name, where several nodes publish descriptions, and where what holds the robot would
    change by more than a tenth of a joint's effort limit. It is taken by the service `~/accept_description`, and once
    the node is inactive. Who sets the parameter has agreed.
    """

    def __init__(self, node: ManagedNode[Any, Any]) -> None:
        self._node = node
        node.description.doubt = self._check

    def open(self) -> None:
        self._node.entities.serve(Trigger, "~/accept_description", self._on_request)
        self._node.entities.every(POLL_PERIOD, self._take_when_inactive)

    def check_step(self, names: list[str], before: Array, after: Array, limits: Array) -> None:
        """Raise `Doubt` where the efforts that hold the robot would change by too much.

        Parameters:
            names: of the joints.
            before, after: efforts that hold it still, with the description in use and the other one (joints), N m or N.
            limits: of the efforts, the smaller ones (joints).
        """
        if not self._node.description.unasked:
            return
        steps = np.abs(after - before)
        wrong = steps > LARGEST_STEP * limits
        if wrong.any():
            k = int(np.argmax(steps / np.maximum(limits, 1e-9)))
            self._refuse(
                f"the effort that holds joint {names[k]!r} would change from {before[k]:.4g} to {after[k]:.4g}, by "
                f"more than {LARGEST_STEP:.0%} of its limit {limits[k]:.4g}"
            )

    def _check(self, engine: Any) -> None:
        used = self._node.engine
        assert used is not None
        if engine.model.name != used.model.name:
            self._refuse(f"it is of robot {engine.model.name!r}, the one in use of {used.model.name!r}")
        if engine.reader.names != used.reader.names:
            self._refuse("its joints are others than those of the one in use")
        if len(names := publishers_of(self._node, TOPIC)) > 1:
            self._refuse(f"{len(names)} nodes publish descriptions: {', '.join(names)}")

    def _refuse(self, why: str) -> None:
        service = self._node.resolve_service_name("~/accept_description")
        raise Doubt(
            f"another robot_description is refused: {why}. To take it over call {service}, or deactivate this node"
        )

    def _on_request(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        description = self._node.description
        response.success = bool(description.refused)
        if response.success:
            description.agree()
            response.message = "it is taken over as soon as it is read and compiled"
        else:
            response.message = "no robot_description has been refused"
        return response

    def _take_when_inactive(self) -> None:
        if self._node.description.refused and not self._node.active:
            self._node.description.agree()

    def report(self, status: Status) -> None:
        if self._node.params.robot_description or not self._node.configured:
            return
        if len(names := publishers_of(self._node, TOPIC)) > 1:
            status.warn(f"{len(names)} nodes publish {TOPIC}: {', '.join(names)}")
