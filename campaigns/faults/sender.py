# SPDX-License-Identifier: Apache-2.0
"""Sends joint states, and wrenches, at a rate, in a process of its own: nothing that the campaign does delays them."""

from __future__ import annotations

import struct
import time
from typing import Any

import numpy as np

from campaigns.faults.robot import JOINTS, TOOL, Motion

RING = 1 << 16  # stamps that are remembered
LATENESS_KEPT = 2.0  # s
#: what a stamp's last three digits, in ns, say of a state; one that is early is good once its time has come near
GOOD, OTHER, EARLY, REFUSED = 0, 1, 5, 7


def send(space: str, rate: float, motion: Motion, ring: Any, control: Any, with_wrench: bool) -> None:
    """Until control[0] is 1. control[1]: pause while it is set. control[2]: force that the sensor feels, N.

    ring: RING stamps of what was sent, their number, and by how much this process was late of late, ns.
    """
    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from rclpy.qos import qos_profile_sensor_data
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node(f"sender_{space}")
    states = node.create_publisher(JointState, f"/{space}/joint_states", qos_profile_sensor_data)
    wrenches = node.create_publisher(WrenchStamped, f"/{space}/wrench", qos_profile_sensor_data)
    probe = np.arange(1.0, 8.0)
    message = bytearray(serialize_message(JointState(name=list(JOINTS), position=probe, velocity=probe + 10.0)))
    at = [message.find(struct.pack("<7d", *numbers)) for numbers in (probe, probe + 10.0)]
    wrench = WrenchStamped()
    wrench.header.frame_id = TOOL
    period, count = 1.0 / rate, 0
    latest, noted = 0.0, 0.0
    due = time.monotonic()
    while not control[0]:
        due += period
        now = time.monotonic()
        wait = due - now
        if -wait > latest or now - noted > LATENESS_KEPT:
            latest, noted = max(-wait, 0.0), now
            ring[RING + 1] = int(latest * 1e9)
        if wait > 0.0:
            time.sleep(wait)
            latest = max(latest, time.monotonic() - due)
            ring[RING + 1] = int(latest * 1e9)
        elif wait < -0.1:
            due = time.monotonic()  # the machine was busy
        if control[1]:
            continue
        stamp = time.time_ns() // 1000 * 1000
        q, v = motion.state(stamp)
        struct.pack_into("<iI", message, 4, stamp // 10**9, stamp % 10**9)
        struct.pack_into("<7d", message, at[0], *q)
        struct.pack_into("<7d", message, at[1], *v)
        if with_wrench:
            wrench.header.stamp.sec, wrench.header.stamp.nanosec = divmod(stamp, 10**9)
            wrench.wrench.force.z = -control[2] * (1.0 + 0.02 * np.sin(40.0 * q[0]))
            wrenches.publish(wrench)
        ring[count % RING] = stamp
        count += 1
        ring[RING] = count
        states.publish(bytes(message))
    node.destroy_node()
    rclpy.try_shutdown()
