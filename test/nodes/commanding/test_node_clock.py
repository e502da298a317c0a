# SPDX-License-Identifier: Apache-2.0
"""Time of a guard in a slow simulation: commands that come once in 0.1 s of the wall clock have no gaps there."""

from __future__ import annotations

from types import SimpleNamespace

from helpers.nodes.ros_nodes import needs_ros

pytestmark = needs_ros


def test_time_goes_as_the_slower_of_two_clocks_and_never_back(monkeypatch):
    from rbd_dynamics.control.safety.command_gate import CommandGate
    from rbd_dynamics.nodes.commanding import node_clock

    wall, simulated = [100.0], [5_000_000_000]
    monkeypatch.setattr(node_clock.time, "monotonic", lambda: wall[0])
    node = SimpleNamespace(get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=simulated[0])))
    clock, gate = node_clock.NodeClock(node), CommandGate()

    def passes(seconds, share):
        before = clock.lapse()
        wall[0] += seconds
        simulated[0] += round(1e9 * share * seconds)
        return clock.lapse() - before

    assert abs(passes(2.0, 0.01) - 2.0) < 1e-9  # real time
    clock.simulated = True
    clock.lapse()
    assert abs(passes(2.0, 0.01) - 0.02) < 1e-9
    assert abs(passes(2.0, 5.0) - 2.0) < 1e-9
    assert passes(2.0, 0.0) == 0.0  # it stands still
    assert passes(2.0, -1.0) == 0.0  # it was set back
    gate.good(clock.lapse())
    for _ in range(101):  # commands at 1 kHz of a simulation of a hundredth of real time
        passes(0.1, 0.01)
        assert not gate.good(clock.lapse())
    assert gate.opens(clock.lapse())
