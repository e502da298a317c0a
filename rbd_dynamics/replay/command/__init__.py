# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics replay`: recordings in, tables and reports out. What is heavy is imported when it is needed."""

from rbd_dynamics.replay.command.arguments import add_replay
from rbd_dynamics.replay.command.kinds import known_load

__all__ = ["add_replay", "known_load"]
