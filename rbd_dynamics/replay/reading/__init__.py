# SPDX-License-Identifier: Apache-2.0
"""Recordings of joint states: files in, arrays out."""

from rbd_dynamics.replay.reading.choosing import JointStateTopic
from rbd_dynamics.replay.reading.decoding import JointStates
from rbd_dynamics.replay.reading.recording import Recording
from rbd_dynamics.replay.reading.storage import RecordingError

__all__ = ["JointStateTopic", "JointStates", "Recording", "RecordingError"]
