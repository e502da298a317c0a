# SPDX-License-Identifier: Apache-2.0
"""What a replay shows: a page to explore in a browser, and pictures."""

from rbd_dynamics.replay.report.motion import DrawnRobot, drawn_robot
from rbd_dynamics.replay.report.page import write_html, write_scripts
from rbd_dynamics.replay.report.pictures import write_pictures

__all__ = ["DrawnRobot", "drawn_robot", "write_html", "write_pictures", "write_scripts"]
