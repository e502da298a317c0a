# SPDX-License-Identifier: Apache-2.0
"""What nodes that control a tool have in common: they take over from each other, and command all of the joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.nodes.hand_over import HandOver
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.tool import ToolParameters
from rbd_dynamics.nodes.tool_engine import TE
from rbd_dynamics.nodes.torque_node import TorqueNode

P = TypeVar("P", bound=ToolParameters)


class ToolNode(TorqueNode[P, TE]):
    """Every complete joint state is answered by the law of one tool."""

    #: parameters for which another engine is built, each with those whose values only go with its value
    BUILT: ClassVar[Mapping[str, Collection[str]]]

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self.hand_over = HandOver(self, self.may_take_over, self.yield_to_another)

    def may_take_over(self) -> None:
        """Raise ValueError with the reason where the node cannot go on with another's efforts."""
        raise NotImplementedError

    def needs_another(self, new: P) -> bool:
        return any(getattr(new, name) != getattr(self.params, name) for name in self.BUILT)

    def go_with_another(self, new: P) -> Collection[str]:
        changed = [name for name in self.BUILT if getattr(new, name) != getattr(self._agreed, name)]
        return {each for name in changed for each in self.BUILT[name]}

    @property
    def starts_standing_by(self) -> bool:
        return self.params.standby

    def commanded_joints(self, engine: TE) -> slice | NDArray[np.intp]:
        return engine.joints

    def effort_limits(self, engine: TE) -> NDArray[np.float64]:
        return engine.controller.effort_limits[engine.joints]

    def saturated(self, engine: TE) -> NDArray[np.bool_]:
        out = engine.output
        return np.zeros(len(engine.joints), dtype=bool) if out is None else (out.tau != out.wanted)[engine.joints]
