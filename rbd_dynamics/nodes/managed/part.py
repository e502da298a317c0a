# SPDX-License-Identifier: Apache-2.0
"""What a node is made of: parts that own their state, and do something at some moments of the node's life."""

from __future__ import annotations

from rbd_dynamics.nodes.managed.diagnostics import Status


class Part:
    """A part of a node; all of this is optional. Nobody but the part itself reads or sets its private attributes."""

    def open(self) -> None:
        """The node is being configured: make publishers, subscriptions, services and timers."""

    def activated(self) -> None:
        """The node is about to be active."""

    def answered(self, now: int) -> None:
        """A command in answer to a joint state is out; `now` is the node's time, ns. Of nodes that command."""

    def silent(self, reason: str) -> None:
        """The node commands nothing in answer any more: forget what was planned. Of nodes that command."""

    def ends(self, reason: str) -> None:
        """The node is about to be deactivated, to be cleaned up or to end, as `reason` says; it may be told twice."""

    @property
    def leaving(self) -> bool:
        """The process was asked to end, and what the part does then is not done yet."""
        return False

    def report(self, status: Status) -> None:
        """Add to the diagnostics."""

    def close(self) -> None:
        """The process ends."""
