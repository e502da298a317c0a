# SPDX-License-Identifier: Apache-2.0
"""Environments for Gymnasium over `BatchSimulation`: `Reaching` for many robots at once, `ReachingEnv` for one.

Importing this registers `rbd_dynamics/Reaching-v0` with Gymnasium. Raises ModuleNotFoundError where that is not
installed.
"""

from rbd_dynamics.common.extras import needed

try:
    import gymnasium
except ModuleNotFoundError:
    raise ModuleNotFoundError(needed("gymnasium"), name="gymnasium") from None

from rbd_dynamics.gymnasium.reaching import Reaching, ReachingEnv

__all__ = ["Reaching", "ReachingEnv"]

gymnasium.register(
    "rbd_dynamics/Reaching-v0",
    entry_point="rbd_dynamics.gymnasium:ReachingEnv",
    vector_entry_point="rbd_dynamics.gymnasium:Reaching",
)
