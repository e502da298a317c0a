# SPDX-License-Identifier: Apache-2.0
"""Energy: where did it go?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question

if TYPE_CHECKING:
    from rbd_dynamics.replay.signals.segmentation import Segment
    from rbd_dynamics.replay.study import Study
    from rbd_dynamics.replay.torques.comparison import Prediction
    from rbd_dynamics.replay.torques.energy import Energy


class EnergyQuestion(Question):
    name = "energy"
    place = "motion"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--energy", action=argparse.BooleanOptionalAction, default=True, help="power and work")

    def identifier(self, study: Study) -> Energy:
        from rbd_dynamics.replay.torques.energy import Energy

        return Energy(study.robot, study.names, study.terms)

    def feed(self, identifier: Energy, segment: Segment, prediction: Prediction) -> None:
        identifier.add(segment, prediction)

    def section(self, found: Found) -> str:
        heads = ["joint", "mean power, W", "largest, W", "work in, J", "work out, J", "by the model, J"]
        keys = ("mean_power", "largest_power", "work_in", "work_out", "predicted_work")
        rows = [[escape(joint["name"]), *(number(joint[key]) for key in keys)] for joint in found["joints"]]
        text = f"The energy of the model changed by {number(found['change'])} J"
        if found["work"] is not None:
            text = (
                f"The joints did {number(found['work'])} J of work; the energy of the model changed by "
                f"{number(found['change'])} J; {number(found['lost'])} J were lost to friction, or to the model's "
                "errors"
            )
        return f"<section><h2>Energy</h2><p>{text}.</p>{table(heads, rows)}</section>"
