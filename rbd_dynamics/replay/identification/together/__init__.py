# SPDX-License-Identifier: Apache-2.0
"""One fit over many recordings: inertias that all robots of a kind share, friction of each one, and loads."""

from rbd_dynamics.replay.identification.together.identifier import TogetherIdentifier
from rbd_dynamics.replay.identification.together.results import Recorded, TogetherResult, Transfer

__all__ = ["Recorded", "TogetherIdentifier", "TogetherResult", "Transfer"]
