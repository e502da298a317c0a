# SPDX-License-Identifier: Apache-2.0
"""What a node commands at the moment when it falls silent: by the state that it has, as long as that is fresh."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from helpers.models.arms import ARM

from rbd_dynamics.control.safety.safe_stop import RATE, SafeStop
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.nodes.commanding.silence import FRESH, Silence
from rbd_dynamics.robot import Robot

Q, V = np.array([0.3, -0.4, 0.05]), np.array([0.2, -0.3, 0.01])


@pytest.mark.parametrize(
    ("age", "share"), [(0.0, 1.0), (0.9 * FRESH, 1.0), (2.0 * FRESH, 0.5 * np.exp(-2.0 * RATE * FRESH))]
)
def test_a_fresh_state_is_damped_wholly_and_an_old_one_by_half_of_what_is_left(age, share):
    sent, robot = [], Robot(load_urdf(ARM))
    stop = SafeStop(robot)
    engine = SimpleNamespace(safe_stop=stop, reader=SimpleNamespace(stamp=1, q=Q, v=V))
    node = SimpleNamespace(
        active=True, engine=engine,
        get_logger=lambda: SimpleNamespace(warning=lambda text: None),
        create_timer=lambda *period, clock: None,
    )  # fmt: skip
    silence = Silence(node, on_state=lambda raw: None, state_age=lambda now: age, forget=lambda reason: None)
    silence.publisher = SimpleNamespace(publish=sent.append)
    silence.owns = True
    silence.fall("for a test")
    damping = stop.torque_at(Q, V) - stop.torque_at(Q, np.zeros(3))
    assert damping @ V < 0.0
    held = np.array(sent[0].data) - robot.gravity(Q)
    np.testing.assert_allclose(held, share * damping, rtol=1e-9)
    silence.fall("once more")
    assert len(sent) == 1
