# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the nodes share."""

from __future__ import annotations

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import Ros

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    with Ros(tmp_path_factory.mktemp("ros")) as ros:
        yield ros


@pytest.fixture(scope="module")
def robot():
    """The arm whose description most nodes get."""
    return Robot(load_urdf(ARM))
