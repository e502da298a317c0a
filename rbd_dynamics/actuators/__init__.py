# SPDX-License-Identifier: Apache-2.0
"""What moves the joints: motors and gears, elastic joints, rotors. Imported when first used.

- `Motor`: torque constant, gear, efficiency, friction, and the torque that is left at a speed;
- `DrivenRobot`: dynamics of links and motors behind elastic joints, with the rotors' gyroscopic terms as an option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.actuators.driven_robot import DrivenRobot, ElasticMotion
    from rbd_dynamics.actuators.motor import Motor, load_motors, with_motors
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["DrivenRobot", "ElasticMotion", "Motor", "load_motors", "with_motors"]
