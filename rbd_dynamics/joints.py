# SPDX-License-Identifier: Apache-2.0
"""Joint kinds: revolute, prismatic, ..., floating, and what one of your own is made from (`model.joints`)."""

from rbd_dynamics.model.joints import *  # noqa: F403
from rbd_dynamics.model.joints import __all__ as __all__
