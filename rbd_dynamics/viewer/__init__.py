# SPDX-License-Identifier: Apache-2.0
"""A robot to look at: a page that works in any browser, without a network, and in notebooks.

page = show("robot.urdf")
page.save("robot.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.viewer.page import RobotPage, show
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["RobotPage", "show"]
