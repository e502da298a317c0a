# SPDX-License-Identifier: Apache-2.0
"""Recordings of an arm of two joints on a trajectory, with its description."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from helpers.recorded.bags import START, Content, Message, write_ros2
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.replay import Settings

RATE, NAMES = 100.0, ("shoulder", "elbow")
INERTIAL = (
    "<inertial><origin xyz='0 0 0.2'/><mass value='{}'/>"
    "<inertia ixx='0.02' iyy='0.02' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial>"
)
URDF = f"""<robot name="arm"><link name="base"/>
<link name="upper">{INERTIAL.format(2.0)}</link><link name="lower">{INERTIAL.format(1.0)}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint></robot>"""
SETTINGS = Settings(cutoff=8.0)


def messages(count=1200, offset=0.0, begin=START, noise=0.02, seed=1):
    """Of the arm on a trajectory, with an offset of the elbow's torque, N m."""
    t = np.arange(count) / RATE
    w, phase = np.array([1.3, 2.1]), np.array([0.0, 1.0])
    x = w * t[:, None] + phase
    q, v, a = np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)
    tau = Robot(load_urdf(URDF), backend="reference").inverse_dynamics(q, v, a)
    tau = tau + np.array([0.0, offset]) + noise * np.random.default_rng(seed).normal(size=q.shape)
    stamps = begin + np.rint(t * 1e9).astype(np.int64)
    return [Message(int(s), NAMES, *numbers) for s, *numbers in zip(stamps, q, v, tau)]


def bag(path: Path, **parts) -> Path:
    return write_ros2(path, Content({"/joint_states": messages(**parts)}, {"/robot_description": URDF}))
