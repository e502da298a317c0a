# SPDX-License-Identifier: Apache-2.0
"""The whole way from a description to a model that can be trusted, on a simulated robot that hides its truth.

    found = rehearsal.rehearse(model, rehearsal.hide(model, seed=1), "tool0", folder)
    print(found.before, found.after, found.best)      # tracking errors, rad or m

Excited, recorded, replayed, identified, corrected, and run again with feedforward: what can be done to a robot of this
kind, with these delays and this noise, before it is done to a real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.replay.rehearsal.hidden_robot import HiddenRobot, hide
    from rbd_dynamics.replay.rehearsal.loop import Plan, Rehearsal, rehearse
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["HiddenRobot", "Plan", "Rehearsal", "hide", "rehearse"]
