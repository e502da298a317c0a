# SPDX-License-Identifier: Apache-2.0
"""Of a call with several parameters of which one is refused none takes effect, whichever they are."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.shapes import described
from helpers.nodes.ros_nodes import needs_ros, wait_until
from helpers.nodes.standing_robot import StandingRobot

from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.interface.torque import TorqueParameters

pytestmark = needs_ros
#: cannot hold the robot, unless it holds itself (`terms` without gravity), which is seen when they are tried
REFUSED = {"effort_limits": [1e-3]}
#: where the posture is one, the efforts pull for as long as the robot stands beside it
GIVEN = {
    "robot_description": described("chain", 7), "tool_frame": "l7", "plausible_velocity": 0.0, "transition_time": 0.0,
    "path_tolerance": [0.0], "effort_rate_limits": [0.0], "hold_load": False,
    "state_timeout": 10.0,
}  # fmt: skip
JOINTS, BENT = [f"j{k}" for k in range(1, 8)], np.array([0.3, 0.5, -0.4, 0.8, 0.2, 0.6, -0.3])
TORQUE_NODES = {
    node.executable: {each.name: each for each in node.parameters}
    for node in INTERFACES
    if issubclass(node.parameter_set, TorqueParameters)
}


def another(parameter, value):
    """A value that is not this one, good or not; None: there is none."""
    if parameter.choices:
        others = [choice for choice in parameter.choices if choice not in (value if parameter.is_array else [value])]
        found = others[0] if others else None
        return [found] if parameter.is_array and found else found
    if parameter.kind == "bool":
        return not value
    if parameter.kind == "int":
        return value + 1
    if parameter.kind == "double":
        return 0.9 * value if 0.0 < value < np.inf else 0.1
    if parameter.kind == "double_array":
        return [0.9 * x + 0.01 for x in value] or [0.1] * len(JOINTS)
    return None


@pytest.mark.parametrize("executable", TORQUE_NODES)
def test_whatever_comes_with_what_is_refused_takes_no_effect(ros, executable):
    table = TORQUE_NODES[executable]
    given = {name: value for name, value in GIVEN.items() if name in table}
    if executable == "feedforward":  # no gains by default
        given |= {"kp": [20.0], "kd": [2.0]}
    with ros.start(executable, given, name=f"whole_{executable}") as node:
        node.is_active()
        with StandingRobot(ros, node, JOINTS, BENT, stamped=True) as robot:
            held = np.array(robot.efforts[-1].effort)
            robot.stands_at(BENT + 0.02)
            wait_until(lambda: np.abs(robot.efforts[-1].effort - held).max() > 0.1, "efforts that pull")
            robot.goes_on()
            before, tried = robot.efforts[-1].effort, 0
            for name, parameter in table.items():
                value = another(parameter, given.get(name, parameter.default))
                if not parameter.dynamic or name in {*REFUSED, "terms"} or value is None:
                    continue
                if ros.set_together(node.name, **{name: value}, **REFUSED).successful:  # another law is built first
                    wait_until(lambda: robot.get("effort_limits") == [], f"{name} set back")
                robot.goes_on(3)
                np.testing.assert_allclose(robot.efforts[-1].effort, before, rtol=1e-12, err_msg=name)
                tried += 1
            assert tried > 20
