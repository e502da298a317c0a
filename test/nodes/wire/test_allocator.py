# SPDX-License-Identifier: Apache-2.0
"""What large messages took is the system's again: a node stays as large as it was."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import joint_trajectory, needs_ros, wait_until

SIZE, COUNT = 5_000_000, 12
MB = 1e6

#: in heaps that threads share, in the order that keeps most: what comes later lies behind what is freed
BURST = """
import ctypes, sys, threading
from rbd_dynamics.nodes.wire.allocator import give_back
if sys.argv[1] == "back":
    assert give_back()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def private():
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty")) / 1e3
def burst():
    libc.free(libc.malloc(20_000_000))  # from now on glibc takes blocks of this size from heaps
    for _ in range(5):
        large = libc.malloc(5_000_000)
        ctypes.memset(large, 1, 5_000_000)
        small.append(libc.malloc(100))
        ctypes.memset(small[-1], 1, 100)
        freed.append(large)
small, freed, before = [], [], private()
for _ in range(4):
    thread = threading.Thread(target=burst)
    thread.start()
    thread.join()
for block in freed:
    libc.free(block)
print(private() - before)
"""

BARE = """
import rclpy
from rclpy.lifecycle import LifecycleNode
rclpy.init()
node = LifecycleNode("bare")
print("there", flush=True)
rclpy.spin(node)
"""


def private(pid):
    """MB that the process has written; what it maps of files counts for it alone only where nobody else does."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.findall(r"^Private_Dirty:\s+(\d+) kB", text, re.MULTILINE)[0]) / 1e3


def kept(mode):
    done = subprocess.run([sys.executable, "-c", BURST, mode], capture_output=True, text=True, timeout=120, check=True)
    return float(done.stdout)


def test_freed_blocks_are_the_systems_again():
    assert kept("back") < 5.0
    if kept("as it is") < 50.0:
        pytest.skip("here the C library gives back by itself: nothing is shown")


class TestNode:
    pytestmark = needs_ros

    def test_bursts_of_large_messages_leave_a_node_as_it_was(self, ros):
        """But for the queue's places, once."""
        from rclpy.duration import Duration
        from trajectory_msgs.msg import JointTrajectory

        from rbd_dynamics.nodes.managed.messages import WISHES

        with ros.start("feedforward", {"robot_description": ARM}, name="bursting", afresh=True) as node:
            node.is_active()
            trajectories = ros.publisher(JointTrajectory, "bursting/joint_trajectory", COUNT)
            large = joint_trajectory([f"{'x' * 90}{k:010d}" for k in range(SIZE // 100)], [(1.0, [0.0] * 3)])
            begin, places = private(node.process.pid), (WISHES.depth + 2) * SIZE / MB
            for _ in range(3):
                for _ in range(COUNT):
                    trajectories.publish(large)
                wait_until(lambda: trajectories.wait_for_all_acked(Duration(seconds=0)), "that all have come")
                wait_until(lambda: private(node.process.pid) < begin + places, "a node as small as before")
            assert "refused" in node.log

    def test_a_node_is_little_larger_than_one_that_does_nothing(self, ros, tmp_path, monkeypatch):
        """Also the first one for a robot: what compiles is a process of its own, LLVM's library is shared by all."""
        monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))
        bare = subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True)
        try:
            assert bare.stdout.readline() == "there\n"
            with ros.start("feedforward", {"robot_description": ARM}, name="lean", afresh=True) as node:
                node.is_active()
                assert private(node.process.pid) - private(bare.pid) < 40.0
        finally:
            bare.kill()
            bare.wait()
            bare.stdout.close()
